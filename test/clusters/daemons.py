# SPDX-License-Identifier: LGPL-3.0-or-later
"""Daemons of a cluster as children of a test: they end with it, whatever becomes of it.

Each is told to stay in the foreground, and the kernel kills it when the test is gone
(PR_SET_PDEATHSIG). What starts children of its own that leave it (glusterd its bricks) gets a
namespace of processes.
"""
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import e2e  # noqa: E402

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """The cluster cannot be had here; the text says why."""


def need(package, *programs):
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program in programs:
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed (package {package})")


def need_fsal(name, package=None):
    """Ganesha's FSAL of that name, which is a package of its own."""
    library = f"libfsal{name.lower()}.so"
    if not any(path.endswith(f"/{library}") for path in e2e.distribution_fsals()):
        raise Unavailable(f"{library} is not installed (package {package or f'nfs-ganesha-{name.lower()}'})")


def _die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Daemon:
    """One of a cluster's processes. `apart`: in a namespace of processes, all of which is
    killed."""

    def __init__(self, log, *command, apart=False):
        self.log, self.command = log, command
        if apart:
            # The shell takes leave of those whose parents ended before them: a brick that was
            # killed must be gone, or glusterd takes it for running.
            self.command = ("unshare", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
                            '"$@" & wait $!', "bash", *command)
        self.process = None

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=_die_with_parent)
        e2e.at_exit(self.kill)
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds=20):
        if self.process:
            e2e.end_process(self.process, seconds)
        self.process = None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]


def asked_by_socket(path, prefix):
    """What one of Ceph's daemons answers at its administrator's socket."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(path)
        channel.sendall(json.dumps({"prefix": prefix}).encode() + b"\0")
        with channel.makefile("rb") as answer:
            return json.loads(answer.read(int.from_bytes(answer.read(4), "big")))


def await_or_tell(condition, seconds, what, *daemons):
    """Unavailable, with what the daemons said, where CONDITION does not come or one of them
    ends."""
    end = time.monotonic() + seconds
    while not condition():
        gone = [d for d in daemons if not d.alive()]
        if gone or time.monotonic() > end:
            told = "\n".join(d.said() for d in gone or daemons)
            raise Unavailable(f"{what}: not within {seconds} s\n{told}")
        time.sleep(0.1)
