# SPDX-License-Identifier: LGPL-3.0-or-later
"""Programs that a test or a measurement starts, and the undoing of all that it did.

What is handed to at_exit() is undone in reverse order once clean_up() is called: at the end, after
an exception, and at a signal (place.settle sees to that).
"""
import os
import signal
import socket
import subprocess
import tempfile
import time

HOST = "127.0.0.1"
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_undo = []  # called in reverse order at exit


def at_exit(action):
    _undo.append(action)


def _complain(error):
    try:
        print(f"# clean-up: {error}", flush=True)
    except OSError:
        pass  # who would have read it has ended


def clean_up():
    for sig in ENDS:
        signal.signal(sig, signal.SIG_IGN)  # all of it, or the rest stays
    while _undo:
        try:
            _undo.pop()()
        except Exception as error:  # the rest must be undone too
            _complain(error)


def run(*command, **kw):
    return subprocess.run(command, check=True, text=True, capture_output=True, **kw).stdout


def wait_for(condition, seconds, step=0.05):
    """True as soon as condition() is, False when `seconds` have passed."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def proc_text(process, name):
    """The text of /proc/PROCESS/NAME; "" where it has ended, also between open() and read(): then
    the kernel says ESRCH."""
    try:
        with open(f"/proc/{process}/{name}", encoding="ascii", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children_of(process):
    """Their numbers; of those that its first thread made."""
    return [int(child) for child in proc_text(process, f"task/{process}/children").split()]


def lives(process):
    """Also a process that nobody has waited for yet is dead."""
    state = proc_text(process, "stat").rpartition(")")[2].split()[:1]
    return bool(state) and state[0] not in ("Z", "X")


def answers(port):
    try:
        socket.create_connection((HOST, port), timeout=1).close()
        return True
    except OSError:
        return False


def end_process(process, seconds=10):
    """SIGTERM, then SIGKILL; the exit status, or None when it had to be killed."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
    return process.returncode


def temporary(prefix, parent=None):
    """A new directory in `parent`, or else where $TMPDIR says, or in /var/tmp: images are large."""
    return tempfile.mkdtemp(prefix=prefix, dir=parent or os.environ.get("TMPDIR") or "/var/tmp")
