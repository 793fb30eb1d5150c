# SPDX-License-Identifier: LGPL-3.0-or-later
"""The modelled disk, brought up: mechdisk, a loop device with direct I/O, and a file system.

    with modelled_disk.Disk(size_mb=4096) as d:   # in a test: d = modelled_disk.for_test(...)
        ... lay files out in d.mount; d.timing(True) ...
        d.drop_caches(); print(d.stats())

The tests and the measurements (bench/testbed.py) share it. Timing is off until timing(True): laying
files out is free. Call e2e.enter() first: mounts belong in a namespace of our own.
"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess

import dirty_share
import e2e

WBT_USEC = 75000  # write-back throttling as on a rotating disk
LOOP_CTL_REMOVE = 0x4C81
# ext4 with one flex group: files begin at the outer edge, where every set starts equal; directories
# are spread by a hash, which is the same each time.
HASH_SEED = "6d656368-6469-736b-0000-000000000001"
MKFS = {"ext4": ("mkfs.ext4", "-q", "-F", "-b", "4096", "-G", "256",
                 "-E", f"lazy_itable_init=0,lazy_journal_init=0,hash_seed={HASH_SEED}"),
        "xfs": ("mkfs.xfs", "-q", "-f"),
        "btrfs": ("mkfs.btrfs", "-q", "-f", "-d", "single", "-m", "single")}


class Unavailable(Exception):
    """Something the disk needs cannot be had here; the text says what."""


def run(*command):
    """Its output; Unavailable with its error text when it fails or is not there."""
    try:
        return e2e.run(*command).strip()
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        text = (error.stderr or "").strip().splitlines()
        raise Unavailable(f"{' '.join(command[:3])}: {text[-1] if text else error}") from error


def _quietly(*command):
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode


class Disk:
    """A mechanical disk of `size_mb` MiB whose drive orders up to `queue` requests itself (1: no
    tagged queue), with a fresh file system, anybody's to write, in .mount. What is written goes
    into the file `record` too, see power_cut.py. `model`: more options of mechdisk, by
    name."""

    def __init__(self, size_mb=4096, fs="ext4", queue=1, read_ahead_kb=128,
                 scheduler="mq-deadline", workdir=None, mechdisk="mechdisk", record=None,
                 options="", model=None):
        if fs not in MKFS:
            raise ValueError(f"file system {fs}: must be one of {', '.join(MKFS)}")
        self.size_mb, self.fs = size_mb, fs
        self.model = {"size": size_mb, "depth": queue, **(model or {})}
        self.read_ahead_kb, self.scheduler = read_ahead_kb, scheduler
        self.workdir, self.mechdisk, self.record = workdir, mechdisk, record
        self.options = f"noatime,{options}".strip(",")  # of mount
        self.modelled, self.lent = True, False
        self.work = self.process = self.loop = self.mount = self.dev = None

    def up(self):
        for device in ("/dev/fuse", "/dev/loop-control"):
            if not os.path.exists(device):
                raise Unavailable(f"there is no {device}")
        self.work = e2e.temporary("ra-disk-", self.workdir)
        e2e.at_exit(self.down)
        os.mkdir(f"{self.work}/fuse")
        os.mkdir(f"{self.work}/fs")
        self._start_drive()
        self.ctl("timing off")
        if self.record:
            self.ctl(f"record {self.record}")
        try:
            self._attach()
        except OSError as error:  # as where /sys may only be read
            raise Unavailable(f"{error.filename}: {error.strerror}") from error
        run(*MKFS[self.fs], self.loop)
        self._mount()
        os.chmod(self.mount, 0o777)
        return self

    def _attach(self):
        self.loop = run("losetup", "-f", "--show", "--direct-io=on", f"{self.work}/fuse/disk")
        self.dev = os.path.basename(self.loop)
        self.tune("rotational", 0 if self.model.get("solid") else 1)
        self.set_scheduler()
        self.set_read_ahead(self.read_ahead_kb)  # last: the kernel raises it when limits change

    def _detach(self):
        """The device goes with all that was set of it, for it would keep that for its next user."""
        try:
            dirty_share.DirtyShare(self.dev).reset()
        except OSError as error:
            dirty_share.tell_once(f"{self.dev} keeps its settings: {error}")
        _quietly("losetup", "-d", self.loop)
        self.loop = None
        with open("/dev/loop-control", "rb") as control:
            try:
                fcntl.ioctl(control, LOOP_CTL_REMOVE, int(self.dev.removeprefix("loop")))
            except OSError:
                pass  # somebody took it in the meantime, or has yet to let it go

    def _mount(self):
        run("mount", "-o", self.options, self.loop, f"{self.work}/fs")
        self.mount = f"{self.work}/fs"

    def renew(self):
        """The same files on a new block device. The kernel remembers how fast a device was written
        to and which share of all writing it had, and makes the next writer wait accordingly."""
        self.ctl("timing off")
        run("umount", self.mount)
        self._detach()
        self._attach()
        self._mount()
        self.ctl("timing on")

    @property
    def file(self):
        """The medium, as mechdisk shows it: for who brings a block device of his own."""
        return f"{self.work}/fuse/disk"

    def lend(self):
        """To another user of .file, until take_back(): nothing of it is mounted or cached here."""
        self.timing(False)
        run("umount", self.mount)
        self._detach()
        self.lent = True
        self.timing(True)

    def take_back(self):
        self.timing(False)
        self._attach()
        self._mount()
        self.lent = False
        self.timing(True)

    def _start_drive(self):
        try:
            self.process = subprocess.Popen(
                [self.mechdisk, *(f"--{k}={v}" for k, v in self.model.items()),
                 f"{self.work}/fuse"], stderr=subprocess.PIPE, text=True,
                start_new_session=True)  # ^C is ours: the disk must outlive what is on it
        except OSError as error:
            raise Unavailable(f"cannot run {self.mechdisk}: {error.strerror}") from error
        if not e2e.wait_for(lambda: os.path.exists(f"{self.work}/fuse/disk")
                            or self.process.poll() is not None, 60) \
                or self.process.poll() is not None:
            raise Unavailable("mechdisk does not start: " + self.process.stderr.read().strip())

    def stop(self):
        """The disk answers nothing more, as one that hangs, until go_on(): then all of it."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def down(self):
        """Undoes up(), as far as it came; may be called again."""
        if self.process:
            self.go_on()
        if self.loop:
            self._make_haste()
        if self.mount and _quietly("umount", self.mount):
            _quietly("umount", "-l", self.mount)
        if self.loop:
            self._detach()
        if self.work:
            _quietly("umount", "-l", f"{self.work}/fuse")
        if self.process:
            e2e.end_process(self.process)
            self.process.stderr.close()
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)
        self.mount = self.loop = self.process = self.work = None

    def _make_haste(self):
        """umount need not wait for a slow disk."""
        try:
            self.ctl("timing off")
        except OSError:
            pass  # it ended by itself

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def tune(self, name, value):
        """Sets queue/NAME of the block device; RuntimeError when the kernel keeps another value."""
        path = f"/sys/block/{self.dev}/queue/{name}"
        with open(path, "w", encoding="ascii") as file:
            file.write(str(value))
        with open(path, encoding="ascii") as file:
            now = file.read().strip()
        if now != str(value) and f"[{value}]" not in now:
            raise RuntimeError(f"{path} is {now} after writing {value}")

    def ctl(self, command):
        """A command of mechdisk (bench/mechdisk/control.c)."""
        with open(f"{self.work}/fuse/ctl", "w", encoding="ascii") as file:
            file.write(command + "\n")

    def stats(self):
        with open(f"{self.work}/fuse/stats", encoding="ascii") as file:
            return json.load(file)

    def timing(self, on):
        self.ctl("timing on" if on else "timing off")

    def set_read_ahead(self, kib):
        """The kernel fixes it when a file is opened: restart the server after changing it."""
        self.tune("read_ahead_kb", kib)

    def drop_caches(self):
        e2e.drop_caches()

    def has_scheduler(self, name):
        with open(f"/sys/block/{self.dev}/queue/scheduler", encoding="ascii") as file:
            return name in file.read().replace("[", " ").replace("]", " ").split()

    def set_scheduler(self, name=None):
        """The kernel's I/O scheduler, None: the disk's own. Under BFQ without write-back throttling,
        as by the kernel's default: BFQ has its own means."""
        self.tune("scheduler", name or self.scheduler)
        if os.path.exists(f"/sys/block/{self.dev}/queue/wbt_lat_usec"):
            self.tune("wbt_lat_usec", 0 if name == "bfq" else WBT_USEC)

    def has_strict_limit(self):
        return dirty_share.DirtyShare(self.dev).has_limit()

    def set_strict_limit(self, limit):
        """At most `limit` bytes of the device's data dirty, of the present vm.dirty_*: set those
        first. 0: no limit of its own, and all of the machine's as far as others leave it."""
        share = dirty_share.DirtyShare(self.dev)
        if not limit:
            share.all()
        elif share.has_limit():
            share.limit(limit)


def physical(path, offset):
    """Where a byte of the file lies on the device, by filefrag's table of 4 KiB blocks."""
    for line in e2e.run("filefrag", "-b4096", "-v", path).splitlines():
        m = re.match(r"\s*\d+:\s+(\d+)\.\.\s*(\d+):\s+(\d+)\.\.", line)
        if m and int(m[1]) <= offset >> 12 <= int(m[2]):
            return (int(m[3]) + (offset >> 12) - int(m[1])) << 12
    raise RuntimeError(f"{path}: no extent at {offset}")


def for_test(work, mechdisk, megabytes, **more):
    """A disk for a test, which is skipped where it cannot be had."""
    try:
        return Disk(megabytes, workdir=work, mechdisk=mechdisk, **more).up()
    except Unavailable as reason:
        e2e.skip(str(reason))
