#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the tests of ca-nfs-agent share: a machine made of files (--root) whose server's replies are
a file too (--replies), a server that states prices there, a file system that never answers, and the
agent with what it says.
"""
import ctypes
import os
import random
import re
import signal
import struct
import subprocess
import threading
import time
import traceback

import e2e

HERE = os.path.dirname(os.path.realpath(__file__))
MOUNT = "/mnt/n"
NFS = f"36 35 0:47 / {MOUNT} rw,noatime - nfs server:/export rw,vers=3,rsize=1048576\n"
IN_OPEN, IN_CLOSE, IN_CREATE, IN_DELETE = 0x20, 0x10, 0x100, 0x200  # inotify(7)
# s: for what comes at once, as a rule.
LONG = 60
# Often asked; but a machine that is busy with other things for a second must not end prices.
QUICK = ("--interval", "0.25", "--answer", "4")
# The same for one that others may keep from the processors, as a test at idle priority; and s for what takes seconds.
PATIENT = ("--answer", "60")
AT_IDLE = 240
# (min_ratio, KiB of read-ahead) once the agent has turned both, for a server that is dear
TURNED = (50, 16)
# The program of the specification
CODEC = {}


def load_codec():
    with open(f"{HERE}/../../doc/fsstat-prices.md", encoding="utf-8") as document:
        exec(re.search(r"^```python\n(.*?)^```", document.read(), re.M | re.S)[1], CODEC)


def priced(write, readahead):
    tfiles, _, afiles = CODEC["encode"](6553600, 6000000, 6000000, write, readahead,
                                        random.randint(1, 3))
    return f"{tfiles} {afiles}\n"


class Machine:
    """What the agent sees of a machine, in a directory."""

    def __init__(self, work, name):
        self.root = f"{work}/{name}"
        for directory in ("proc/self", "proc/sys/vm", "sys/class/bdi/0:47", "run", "mnt/n"):
            os.makedirs(f"{self.root}/{directory}", exist_ok=True)
        self.write("proc/self/mountinfo", NFS)
        self.ample_memory()
        for knob, value in (("sys/class/bdi/0:47/min_ratio", 0),
                            ("sys/class/bdi/0:47/read_ahead_kb", 128),
                            ("proc/sys/vm/dirty_background_ratio", 10),
                            ("proc/sys/vm/dirty_ratio", 20)):
            self.write(knob, f"{value}\n")
        self.replies = f"{self.root}/replies"
        self.reply("6553600 6000000\n")

    def write(self, name, text):
        with open(f"{self.root}/{name}.new", "w", encoding="ascii") as file:
            file.write(text)
        os.rename(f"{self.root}/{name}.new", f"{self.root}/{name}")

    def ample_memory(self):
        self.write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n")
        self.dirty(1000)

    def dirty(self, pages):
        self.write("proc/vmstat", f"nr_free_pages 1000000\nnr_active_file 1\nnr_inactive_file 1\n"
                                  f"nr_dirty {pages}\nnr_writeback 0\nnr_dirty_threshold 400000\n"
                                  "nr_dirty_background_threshold 200000\n")

    def reply(self, text):
        self.write("replies", text)

    def knob(self, name):
        with open(f"{self.root}/{name}", encoding="ascii") as file:
            return int(file.read() or -1)  # empty: just being written

    @property
    def min_ratio(self):
        return self.knob("sys/class/bdi/0:47/min_ratio")

    @property
    def read_ahead(self):
        return self.knob("sys/class/bdi/0:47/read_ahead_kb")

    @property
    def flush_point(self):
        return (self.knob("proc/sys/vm/dirty_background_ratio"),
                self.knob("proc/sys/vm/dirty_ratio"))

    @property
    def knobs(self):
        return self.min_ratio, self.read_ahead

    def turns(self, seconds=LONG):
        """Whether the agent turns both meanwhile."""
        return e2e.wait_for(lambda: self.knobs == TURNED, seconds)

    def untouched(self):
        return (self.knobs, self.flush_point) == ((0, 128), (10, 20))

    def pipe_for_replies(self):
        """Who asks waits for ever."""
        os.mkfifo(f"{self.root}/fifo")
        os.rename(f"{self.root}/fifo", self.replies)

    def looks(self, count, seconds=LONG):
        """Waits until the agent has looked so often what is mounted."""
        opens = Opens(f"{self.root}/proc/self/mountinfo")
        return e2e.wait_for(lambda: opens.count() >= count, seconds)

    def command(self, agent, *arguments):
        return [agent, "--root", self.root, "--replies", self.replies, *arguments]


class Root(Machine):
    """... whose agent has that directory for its root: what is installed there."""

    def command(self, agent, *arguments):
        return ["chroot", self.root, agent, "--replies", "/replies", *arguments]


class Server(threading.Thread):
    """States prices in the replies' file, twenty times a second."""

    def __init__(self, machine, write=0.0, readahead=0.0):
        super().__init__(daemon=True)
        self.machine, self.prices = machine, (write, readahead)
        self.stopping = threading.Event()
        self.start()

    def run(self):
        while not self.stopping.wait(0.05):
            self.machine.reply(priced(*self.prices))

    def stop(self):
        self.stopping.set()
        self.join()


class Noticed:
    """Counts what happens to a file, or to files in a directory, by inotify."""

    def __init__(self, path, counted, between=0):
        libc = ctypes.CDLL(None)
        self.counted, self.seen, self.fd = counted, 0, libc.inotify_init1(os.O_NONBLOCK)
        # with others in between, for the kernel makes one of two equal events
        if self.fd < 0 or libc.inotify_add_watch(self.fd, path.encode(), counted | between) < 0:
            raise OSError("no inotify")

    def count(self):
        try:
            events = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            events = b""
        while events:
            _, mask, _, name = struct.unpack_from("iIII", events)
            events = events[16 + name:]
            self.seen += mask == self.counted
        return self.seen


class Opens(Noticed):
    """How often a file is opened."""

    def __init__(self, path):
        super().__init__(path, IN_OPEN, IN_CLOSE)


class Creations(Noticed):
    """How many files are made in a directory."""

    def __init__(self, path):
        super().__init__(path, IN_CREATE, IN_DELETE)


class Agent:
    def __init__(self, machine, agent, *arguments, mounts=(MOUNT,), environment=None):
        self.lines = []
        self.process = subprocess.Popen(machine.command(agent, *QUICK, *arguments, *mounts),
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **(environment or {})})
        e2e.at_exit(lambda: e2e.end_process(self.process))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def said(self, text):
        return any(text in line for line in list(self.lines))

    def waits(self, text, seconds=LONG):
        return e2e.wait_for(lambda: self.said(text), seconds)

    def said_after(self, text, seen):
        return any(text in line for line in list(self.lines)[seen:])

    def count(self, text):
        return sum(text in line for line in list(self.lines))

    def children(self):
        return e2e.children_of(self.process.pid)

    def end(self, number=signal.SIGTERM):
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(LONG)
        self.reader.join(5)
        return time.monotonic() - began

    @property
    def text(self):
        return "\n".join(self.lines)


def run(command):
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONG)


def machine_ratio_is(machine, value):
    return lambda: machine.min_ratio == value


def at_once(tests, *arguments):
    def run_one(test):
        try:
            test(*arguments)
        except Exception:
            e2e.check(False, f"{test.__name__} runs to its end", traceback.format_exc())

    threads = [threading.Thread(target=run_one, args=(test,)) for test in tests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class HungMount(threading.Thread):
    """A FUSE file system at `where` that takes the requests to open its directory and to look names
    up, and never answers: who waits for it cannot be killed, as who waits for a page under write-back
    to a server that is gone."""

    LOOKUP, FORGET, GETATTR, INIT, OPENDIR = 1, 2, 3, 26, 27

    def __init__(self, where):
        super().__init__(daemon=True)
        self.hangs = threading.Event()
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0"
        if libc.mount(b"hung", where.encode(), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount of fuse")
        e2e.at_exit(self.end)
        self.where = where
        self.start()

    def run(self):
        while True:
            try:
                request = os.read(self.device, 1 << 17)
            except OSError:
                return
            _, opcode, unique = struct.unpack_from("<IIQ", request)
            if opcode == self.INIT:
                self._answer(unique, struct.pack("<IIIIHHI40x", 7, 31, 0, 0, 0, 0, 1 << 16))
            elif opcode == self.GETATTR:
                attributes = struct.pack("<6Q10I", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0,
                                         4096, 0)
                self._answer(unique, struct.pack("<QII", 60, 0, 0) + attributes)
            elif opcode in (self.OPENDIR, self.LOOKUP):
                self.hangs.set()
            elif opcode != self.FORGET:
                os.write(self.device, struct.pack("<IiQ", 16, -38, unique))  # ENOSYS

    def _answer(self, unique, body):
        os.write(self.device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)

    def end(self):
        """Whoever waits gets an error."""
        subprocess.run(["umount", "-f", "-l", self.where], check=False, capture_output=True)
