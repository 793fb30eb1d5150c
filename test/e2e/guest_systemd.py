# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a guest with systemd as process 1 can do, for guest_worker.py: units are installed, started
and shown, mounts made by fstab, /run is filled, and the memory of a slice taken.
"""
import os
import shutil
import subprocess
import sys
import time

from guest_client import mount_options

FILLER = "/run/filler"
LONG = 300  # s: systemd's own patience is shorter
PIECE = 64 << 10


def _run(command):
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONG)
    return done.returncode, done.stdout + done.stderr


def install(files):
    """{where: what}; then systemd looks at its units again. In the guest's own directories only."""
    for where, source in files.items():
        os.makedirs(os.path.dirname(where), exist_ok=True)
        if os.path.lexists(where):  # as a link to the machine's own
            os.unlink(where)
        shutil.copy(source, where)
    return systemctl(["daemon-reload"])


def write(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def make_directory(path):
    os.makedirs(path, exist_ok=True)


def text(path):
    """"" where there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def exists(path):
    return os.path.exists(path)


def systemctl(words):
    """(exit status, what it says)"""
    return _run(["systemctl", "--no-pager", "--no-ask-password", *words])


def show(unit, properties):
    """{property: its text}"""
    lines = systemctl(["show", "-p", ",".join(properties), unit])[1].splitlines()
    return dict(line.partition("=")[::2] for line in lines)


def said(unit):
    """Its lines in the journal."""
    return _run(["journalctl", "--no-pager", "-o", "cat", "-u", unit])[1]


def kill(unit, number):
    os.kill(int(show(unit, ["MainPID"])["MainPID"]), number)


def list_mount(port, mport, export, at, option):
    """Its line in fstab, by which mount(8) makes it when told to."""
    os.makedirs(at, exist_ok=True)
    options = mount_options(port, mport, f"noauto,{option}")
    write("/etc/fstab", f"{os.environ['SERVER']}:{export} {at} nfs {options} 0 0\n")


def automount(port, mport, export, at, option, idle):
    """Its line in fstab, and systemd waits for whoever uses it first; unmounted where nobody has for so many
    seconds. (exit status, what systemctl says)"""
    wanted = f"noauto,x-systemd.automount,x-systemd.idle-timeout={idle},{option}"
    with open("/etc/fstab", "a", encoding="utf-8") as file:
        file.write(f"{os.environ['SERVER']}:{export} {at} nfs {mount_options(port, mport, wanted)} 0 0\n")
    systemctl(["daemon-reload"])
    return systemctl(["start", at.strip("/").replace("/", "-") + ".automount"])


def is_mounted(at):
    """NFS; without using it."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return any(f" {at} " in line and " - nfs " in line for line in file)


def read(path):
    with open(path, "rb") as file:
        return len(file.read(PIECE))


def mount(at):
    status, why = _run(["mount", at])
    if status:
        raise OSError(f"mount {at}: {why}")


def use(stop, at):
    """A program that writes a file, which stays open, and reads another. In a process of its own:
    with a file that a child of ours has for a moment, NFS sends what is held back at its exec()."""
    with subprocess.Popen([sys.executable, "-B", os.path.realpath(__file__), at]) as program:
        stop.wait()
        program.terminate()


def write_and_read(at):
    """320 KB/s of each."""
    with (open(f"{at}/written", "wb", buffering=0) as out,
          open(f"{at}/f0", "rb", buffering=0) as file):
        while True:
            out.write(os.urandom(PIECE))
            if out.tell() >= 64 * PIECE:
                out.seek(0)
            if not file.read(PIECE):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                file.seek(0)
            time.sleep(0.2)


def fill_run():
    """To its last page; what is left, in bytes."""
    with open(FILLER, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    left = os.statvfs("/run")
    return left.f_bavail * left.f_frsize


def free_run():
    os.unlink(FILLER)


# ---- the memory of a slice ---------------------------------------------------------------------

TAKEN = "/run/taken"
TAKE = f"import time; taken = b'x' * {32 << 20}; open('{TAKEN}', 'w'); time.sleep({10 * LONG})"


def squeeze(held):
    """A program in the slice takes memory; then it may have 1 MiB more. Returns its limit."""
    _run(["systemd-run", "--unit=take", f"--slice={held}", sys.executable, "-c", TAKE])
    end = time.monotonic() + LONG
    while not exists(TAKEN) and time.monotonic() < end:
        time.sleep(0.1)
    limit = int(text(f"/sys/fs/cgroup/{held}/memory.current")) + (1 << 20)
    systemctl(["set-property", "--runtime", held, f"MemoryMax={limit}"])
    return limit


def relax(held):
    systemctl(["set-property", "--runtime", held, "MemoryMax=infinity"])
    systemctl(["stop", "take.service"])


if __name__ == "__main__":
    write_and_read(sys.argv[1])
