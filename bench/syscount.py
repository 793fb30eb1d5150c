# SPDX-License-Identifier: LGPL-3.0-or-later
"""System calls, context switches and page faults of a running server.

    with syscount.Trace(server.pid, file) as trace: load(n)
    trace.calls()              # {"preadv": 1000, "futex wake": 12, …}
    before = syscount.switches(server.pid); load(n)
    syscount.switches(server.pid) - before    # {"voluntary switches": …, "processor us": …, …}

strace stops the server at each call, which moves its threads' meetings: futexes are counted under
it, but how often threads truly slept is read from /proc in a load without it. Threads that neither
take requests nor read are not counted: the plugin's own loops, and housekeeping.
"""
import collections
import os
import re
import signal
import subprocess
import time

# Only a thread that serves READs makes one of these.
SERVING = {"epoll_wait", "recvmsg", "recvfrom", "sendmsg", "writev", "pread64", "preadv", "preadv2"}
FUTEX = re.compile(r"FUTEX_(WAIT|WAKE|CMP_REQUEUE|REQUEUE|LOCK_PI|UNLOCK_PI)")
UNNAMED = {"syscall_0x1c3": "cachestat"}  # by an older strace
LINE = re.compile(r"(\d+)\s+(\w+)\((.*)")


class Trace:
    """strace of all threads of a process, into a file."""

    def __init__(self, pid, path):
        self.pid, self.path, self.process = pid, path, None

    def __enter__(self):
        self.process = subprocess.Popen(
            ["strace", "-f", "-p", str(self.pid), "-o", self.path, "-s", "0", "-e", "signal=none"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not self.attached():
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise RuntimeError(f"strace cannot attach to process {self.pid}")
            time.sleep(0.05)
        return self

    def attached(self):
        """Whether every thread of the process has strace as its tracer."""
        tasks = os.listdir(f"/proc/{self.pid}/task")
        return all(_status(self.pid, task).get("TracerPid") == self.process.pid for task in tasks)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(20)

    def calls(self):
        """How often each was made, by the threads that serve READs."""
        threads = collections.defaultdict(collections.Counter)
        with open(self.path, encoding="utf-8", errors="replace") as log:
            for text in log:
                match = LINE.match(text)
                if match:
                    threads[match[1]][_name(match[2], match[3])] += 1
        total = collections.Counter()
        for made in threads.values():
            if made.keys() & SERVING:
                total.update(made)
        return total


def _name(call, arguments):
    """futex by its operation."""
    operation = FUTEX.search(arguments) if call == "futex" else None
    return f"futex {operation[1].lower()}" if operation else UNNAMED.get(call, call)


def _status(pid, task):
    """The numbers of /proc/PID/task/TASK/status; {} of a thread that has gone."""
    try:
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
            pairs = (line.split(":", 1) for line in file if ":" in line)
            return {key: int(value) for key, value in pairs if value.strip().isdigit()}
    except (FileNotFoundError, ProcessLookupError):
        return {}


def _ran(pid, task):
    """(name without its number, us of processor) of a thread; ("", 0) of one that has gone."""
    try:
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii", errors="replace") as file:
            name = re.sub(r"[-_]?\d+$", "", file.read().strip())
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            return name, int(file.read().split()[0]) / 1000
    except (FileNotFoundError, ProcessLookupError):
        return "", 0.0


def switches(pid):
    """A Counter of context switches, page faults and us of processor until now, of all threads; the
    first and the last also by the threads' names. The server's own are all ganesha.nfsd."""
    total = collections.Counter()
    for task in os.listdir(f"/proc/{pid}/task"):
        status = _status(pid, task)
        name, ran = _ran(pid, task)
        total["processor us"] += ran
        total[f"processor us: {name}"] += ran
        total[f"voluntary: {name}"] += status.get("voluntary_ctxt_switches", 0)
        total["voluntary switches"] += status.get("voluntary_ctxt_switches", 0)
        total["involuntary switches"] += status.get("nonvoluntary_ctxt_switches", 0)
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    total["page faults"] = int(fields[7]) + int(fields[9])
    return total
