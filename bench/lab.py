#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The laboratory: a modelled disk with a file system on it, and servers, for measurements.

    lab.enter_namespace()                  # network and mount namespaces of our own, once, first
    with lab.Disk(size_mb=4096) as disk:   # mechdisk, loop device with direct I/O, ext4 or XFS
        ... lay files out in disk.mount; disk.timing(True)
        with lab.Server("ra", disk.mount, fsal={"Scheduler": "turns"}, plugin=PATH) as server:
            disk.drop_caches()
            ... load server.port, server.mport

The namespaces, processes and their end are those of the end-to-end tests (test/e2e/e2e.py).
Whatever was started is ended at exit, also after an exception or a signal.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "e2e"))

import e2e  # noqa: E402

WBT_USEC = 75000  # write-back throttling as on a rotating disk


class LabUnavailable(Exception):
    """Something the laboratory needs cannot be had here; the text says what."""


def enter_namespace():
    """Runs this program again in namespaces of its own, where it returns."""
    e2e.enter()


def _run(*command):
    """Its output; LabUnavailable with its error text when it fails or is not there."""
    try:
        return e2e.run(*command).strip()
    except FileNotFoundError as error:
        raise LabUnavailable(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        text = (error.stderr or "").strip().splitlines()
        raise LabUnavailable(f"{' '.join(command[:3])}: {text[-1] if text else error}") from error


def _quietly(*command):
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Disk:
    """A mechanical disk of `size_mb` MiB whose drive orders up to `queue` requests itself (1: no
    tagged queue), with a fresh file system. Timing is off until timing(True): free layout."""

    def __init__(self, size_mb=4096, fs="ext4", queue=1, read_ahead_kb=128,
                 scheduler="mq-deadline", workdir=None, mechdisk="mechdisk"):
        if fs not in ("ext4", "xfs"):
            raise ValueError(f"file system {fs}: must be ext4 or xfs")
        self.size_mb, self.fs, self.queue = size_mb, fs, queue
        self.read_ahead_kb, self.scheduler = read_ahead_kb, scheduler
        self.workdir, self.mechdisk = workdir, mechdisk
        self.work = self.process = self.loop = self.mount = self.dev = None

    def up(self):
        for device in ("/dev/fuse", "/dev/loop-control"):
            if not os.path.exists(device):
                raise LabUnavailable(f"there is no {device}")
        self.work = tempfile.mkdtemp(prefix="ra-lab-", dir=self.workdir or "/var/tmp")
        e2e.at_exit(self.down)
        os.mkdir(f"{self.work}/fuse")
        os.mkdir(f"{self.work}/fs")
        try:
            self.process = subprocess.Popen(
                [self.mechdisk, "--size", str(self.size_mb), "--depth", str(self.queue),
                 f"{self.work}/fuse"], stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise LabUnavailable(f"cannot run {self.mechdisk}: {error.strerror}") from error
        if not e2e.wait_for(lambda: os.path.exists(f"{self.work}/fuse/disk")
                            or self.process.poll() is not None, 10) \
                or self.process.poll() is not None:
            raise LabUnavailable("mechdisk does not start: " + self.process.stderr.read().strip())
        self.ctl("timing off")
        self.loop = _run("losetup", "-f", "--show", "--direct-io=on", f"{self.work}/fuse/disk")
        self.dev = os.path.basename(self.loop)
        if self.fs == "ext4":
            # one flex group: the files begin at the outer edge, where every set starts equal
            _run("mkfs.ext4", "-q", "-F", "-G", "256", "-E",
                 "lazy_itable_init=0,lazy_journal_init=0", self.loop)
        else:
            _run("mkfs.xfs", "-q", "-f", self.loop)
        _run("mount", "-o", "noatime", self.loop, f"{self.work}/fs")
        self.mount = f"{self.work}/fs"
        self.tune("rotational", 1)
        self.set_scheduler()
        self.set_read_ahead(self.read_ahead_kb)

    def down(self):
        """Undoes up(), as far as it came; may be called again."""
        if self.mount:
            _quietly("umount", self.mount)
        if self.loop:
            _quietly("losetup", "-d", self.loop)
        if self.work:
            _quietly("umount", "-l", f"{self.work}/fuse")
        if self.process:
            e2e.end_process(self.process)
            self.process.stderr.close()
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)
        self.mount = self.loop = self.process = self.work = None

    def __enter__(self):
        self.up()
        return self

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
        """The kernel's I/O scheduler, None: the disk's own. Under BFQ the kernel turns write-back
        throttling off, and it stays off: BFQ has its own means."""
        self.tune("scheduler", name or self.scheduler)
        throttle = f"/sys/block/{self.dev}/queue/wbt_lat_usec"
        if name != "bfq" and os.path.exists(throttle):
            self.tune("wbt_lat_usec", WBT_USEC)

    def _bdi(self, name):
        with open(f"/sys/block/{self.dev}/dev", encoding="ascii") as file:
            return f"/sys/class/bdi/{file.read().strip()}/{name}"

    def has_strict_limit(self):
        return all(os.path.exists(self._bdi(n)) for n in ("strict_limit", "max_bytes"))

    def set_strict_limit(self, limit):
        """At most `limit` bytes of the device's data dirty, 0: no limit of its own. The kernel
        makes a share of the present vm.dirty_* out of it: set those first."""
        if not self.has_strict_limit():
            return
        values = {"max_bytes": limit, "strict_limit": 1} if limit else \
            {"strict_limit": 0, "max_ratio": 100}
        for name, value in values.items():
            with open(self._bdi(name), "w", encoding="ascii") as file:
                file.write(str(value))


class PlainDirectory:
    """Stands in for Disk where it cannot be modelled: a directory on whatever disk is below."""

    def __init__(self, path):
        self.parent = path
        self.mount = None

    def up(self):
        self.mount = tempfile.mkdtemp(prefix="ra-compare-", dir=self.parent)

    def down(self):
        if self.mount:
            shutil.rmtree(self.mount, ignore_errors=True)
        self.mount = None

    def timing(self, on):
        pass

    def stats(self):
        return {}

    def drop_caches(self):
        e2e.drop_caches()

    def has_scheduler(self, _):
        return False

    def has_strict_limit(self):
        return False

    def set_scheduler(self, name=None):
        pass

    def set_strict_limit(self, limit):
        pass

    def set_read_ahead(self, kib):
        pass


class Server(e2e.Server):
    """ganesha.nfsd exporting `path` at its own name: stock over `sub`, or RA over it with `fsal`
    in the export's block and `ra` in the global one."""

    default_params = {}

    def __init__(self, kind="stock", path=None, fsal=None, ra=None, plugin=None, sub="VFS",
                 workdir=None, extra_conf=""):
        self.own_work = tempfile.mkdtemp(prefix="ra-server-", dir=workdir or "/var/tmp")
        e2e.at_exit(lambda: shutil.rmtree(self.own_work, ignore_errors=True))
        export = {"id": 1, "path": path, "pseudo": path, "sub": sub, "params": fsal or {}}
        block = " ".join(f"{name} = {value};" for name, value in (ra or {}).items())
        super().__init__(kind, [export], self.own_work, plugin, ra=block, extra=extra_conf)

    @property
    def pid(self):
        return self.process.pid

    @property
    def log_path(self):
        return self.log

    def stop(self, seconds=30):
        """The exit status: 0 is a clean end."""
        return super().stop(seconds)

    def final_stats(self):
        """What the plugin logged at its end; {} without."""
        return self.stats() or {}

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def _read_rate(path):
    """MB/s of dd, direct and in sequence."""
    start = time.monotonic()
    _run("dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct")
    return os.path.getsize(path) / 1e6 / (time.monotonic() - start)


def selftest(mechdisk):
    """A 1 GiB disk from end to end: rate, counters, trace, an injected error. The exit status."""
    with Disk(size_mb=1024, mechdisk=mechdisk) as disk:
        path = os.path.join(disk.mount, "file")
        _run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", "count=256", "conv=fsync")
        disk.drop_caches()
        disk.ctl(f"trace {disk.work}/trace.csv")
        disk.ctl("stats reset")
        disk.timing(True)
        rate = _read_rate(path)
        stats = disk.stats()
        disk.ctl("trace off")
        with open(f"{disk.work}/trace.csv", encoding="ascii") as file:
            traced = sum(1 for _ in file) - 1
        print(f"sequential direct read of {path}: {rate:.0f} MB/s, {stats['reads']} commands "
              f"({traced} traced), {stats['lookahead_hits']} from look-ahead, "
              f"{stats['seeks']} seeks, {stats['seek_ms']:.0f} ms seeking")
        disk.ctl(f"error read 0 {1 << 30}")
        try:
            _read_rate(path)
            failed = False
        except LabUnavailable:
            failed = True
        disk.ctl("error clear")
        good = 90 < rate < 160 and traced >= stats["reads"] > 0 and failed
        print("ok" if good else "FAILED: 90 to 160 MB/s, every command traced and an injected "
              "error that is seen were expected")
        return 0 if good else 1


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] != "selftest":
        print("usage: lab.py selftest [MECHDISK]", file=sys.stderr)
        return 2
    enter_namespace()
    try:
        return selftest(sys.argv[2] if len(sys.argv) > 2 else "mechdisk")
    except LabUnavailable as error:
        print(f"lab: {error}", file=sys.stderr)
        return e2e.SKIP


if __name__ == "__main__":
    sys.exit(main())
