# SPDX-License-Identifier: LGPL-3.0-or-later
"""The machine's memory as a server's: how much dirty data the kernel keeps before it writes.

    machine.keep_settings()         # once: from now on the end of this process restores them
    machine.set_memory("small")     # or "ample", or "host": as they were
    machine.describe()              # the machine and the code, for what is kept of a measurement

The settings (vm.dirty_*) are the whole machine's, not a namespace's: of two measurements at once
the first changes them, the other goes on with what it finds, and says so. A child process holds the
reading end of a pipe whose writing end is ours; it writes the old settings back when that closes,
which it does at our exit, at an exception, and when we are killed; then it lets go of the lock.
"""
import fcntl
import os
import platform
import re
import signal
import subprocess
import sys
import time

import e2e

MIB = 1024 * 1024
SETTINGS = ("dirty_background_bytes", "dirty_bytes", "dirty_background_ratio", "dirty_ratio",
            "dirty_expire_centisecs", "dirty_writeback_centisecs")
EXPIRY = {"dirty_expire_centisecs": 3000, "dirty_writeback_centisecs": 500}  # the kernel's own
MEMORY = {
    "small": {"dirty_background_bytes": 32 * MIB, "dirty_bytes": 128 * MIB, **EXPIRY},
    "ample": {"dirty_background_ratio": 10, "dirty_ratio": 20, **EXPIRY},
}
NAMES = ("host", *MEMORY)

# A lock that namespaces share and that leaves no file: a directory of the kernel's.
LOCK = "/sys/class/bdi"

HERE = os.path.dirname(os.path.abspath(__file__))

_kept = None
_told = set()


def cpu_seconds(pid):
    """Processor time of all threads of a process, to the nanosecond (Linux's per-process clock)."""
    return time.clock_gettime((~pid << 3) | 2)


def _first(path, pattern):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(pattern, file.read(), re.M)
        return found[1].strip().strip('"') if found else None
    except OSError:
        return None


def _said(*command):
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    except OSError:
        return None
    return told.stdout.strip() or None


def commit():
    """The code's, "-dirty" behind it where files differ; None outside of a repository."""
    return _said("git", "describe", "--always", "--dirty", "--exclude", "*")


def describe():
    """What a reader must know of the machine to judge a figure; None where it cannot be told."""
    memory = _first("/proc/meminfo", r"^MemTotal:\s+(\d+)")
    version = re.search(r"V([\d.]+)", _said("ganesha.nfsd", "-v") or "")
    return {"cpu": _first("/proc/cpuinfo", r"^(?:model name|Processor)\s*:\s*(.+)"),
            "processors": os.cpu_count(), "memory_mb": int(memory) // 1024 if memory else None,
            "kernel": platform.release(), "architecture": platform.machine(),
            "distribution": _first("/etc/os-release", r"^PRETTY_NAME=(.+)"),
            "ganesha": version and version[1], "commit": commit()}


def _read():
    values = {}
    for name in SETTINGS:
        with open(f"/proc/sys/vm/{name}", encoding="ascii") as file:
            values[name] = int(file.read())
    return values


def _write(values):
    """Bytes and ratio exclude each other: setting one clears the other, so 0 is not written."""
    for name, value in values.items():
        if value:
            with open(f"/proc/sys/vm/{name}", "w", encoding="ascii") as file:
                file.write(str(value))


def _guard(settings, reader):
    """The child: waits for the end of its parent, restores, ends. In a session of its own, so that
    who kills all of the parent's leaves it."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(reader, 1):
        pass
    _write(settings)


def _say_once(text):
    if text not in _told:
        _told.add(text)
        print(f"vm.dirty_*: {text}", file=sys.stderr, flush=True)


def _lock():
    """The settings are ours alone: a descriptor that holds the lock, None when they are another's."""
    lock = os.open(LOCK, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    except BlockingIOError:
        os.close(lock)
        return None


def keep_settings():
    """Remembers the settings; the end of this process brings them back, whatever it is. False: they
    are another measurement's."""
    global _kept
    if _kept is not None:
        return True
    lock = _lock()
    if lock is None:
        return False
    _kept = _read()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(writer)
            _guard(_kept, reader)
        finally:
            os._exit(0)
    os.close(reader)
    os.close(lock)  # the child has it

    def restore():
        os.close(writer)
        os.waitpid(child, 0)

    e2e.at_exit(restore)
    return True


def set_memory(name):
    """False when the settings stay as they are, for a reason that is said."""
    if name not in NAMES:
        raise ValueError(f"memory {name}: must be of {', '.join(NAMES)}")
    if _kept is None and name == "host":
        return True
    try:
        if keep_settings():
            _write(MEMORY.get(name, _kept))
            return True
        _say_once("another measurement on this machine changes them: left as it has them")
    except OSError as error:  # in a container /proc/sys may only be read
        _say_once(f"left as they are: {error.strerror}")
    return False
