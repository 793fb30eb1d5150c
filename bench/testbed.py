#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The testbed: a modelled disk with a file system on it, and servers, for measurements.

    testbed.enter_namespace()                  # network and mount namespaces of our own, once, first
    with testbed.Disk(size_mb=4096) as disk:   # mechdisk, loop device, ext4 or XFS
        ... lay files out in disk.mount; disk.timing(True)
        with testbed.Server("ra", disk.mount, fsal={"Scheduler": "turns"}, plugin=PATH) as server:
            disk.drop_caches()
            ... load server.port, server.mport

The disk is that of the end-to-end tests (test/e2e/modelled_disk.py), as are namespaces, processes
and their end (test/e2e/place.py, processes.py). Whatever was started is ended at exit, also after
an exception or a signal.
"""
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "e2e"))

import e2e  # noqa: E402
import handles  # noqa: E402
import place  # noqa: E402
from modelled_disk import Disk, Unavailable as TestbedUnavailable, run  # noqa: E402, F401


def enter_namespace(shared=False):
    """Runs this program again in namespaces of its own, where it returns. SHARED: where there are
    none it goes on in the machine's. Where servers cannot run it says why, and ends."""
    try:
        place.settle(shared=shared)
    except place.Unable as reason:
        name = os.path.basename(sys.argv[0])
        print(f"{name}: no servers can be measured here: {reason}", file=sys.stderr)
        sys.exit(e2e.SKIP)


def drop_file(path):
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def bad_end(status):
    """How a server ended, by what its stop() returned; None: well."""
    return "it had to be killed" if status is None else f"its exit status is {status}" if status else None


class PlainDirectory:
    """Stands in for Disk where it cannot be modelled: a directory on whatever disk is below."""

    def __init__(self, path):
        self.parent = path
        self.modelled = False
        self.mount = None

    def up(self):
        lacking = handles.lacking(self.parent)
        if lacking:
            raise TestbedUnavailable(f"{self.parent}: {lacking}")
        self.mount = tempfile.mkdtemp(prefix="ra-compare-", dir=self.parent)
        e2e.at_exit(self.down)

    def down(self):
        if self.mount:
            shutil.rmtree(self.mount, ignore_errors=True)
        self.mount = None

    def renew(self):
        pass

    def timing(self, on):
        pass

    def stats(self):
        return {}

    def drop_caches(self):
        """Of all the machine; where that is not permitted, of the files here."""
        try:
            e2e.drop_caches()
        except OSError:
            for directory, _, names in os.walk(self.mount):
                for name in names:
                    drop_file(os.path.join(directory, name))

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

    def __init__(self, kind="stock", path=None, fsal=None, ra=None, plugin=None, sub="VFS",
                 workdir=None, extra_conf="", exports=(), ra_rules=""):
        """`exports`: more of them, as of e2e.Server; `ra_rules`: blocks within the global one."""
        self.own_work = e2e.temporary("ra-server-", workdir)
        e2e.at_exit(lambda: shutil.rmtree(self.own_work, ignore_errors=True))
        export = {"id": 1, "path": path, "pseudo": path, "sub": sub, "params": fsal or {}}
        block = " ".join(f"{name} = {value};" for name, value in (ra or {}).items()) + ra_rules
        super().__init__(kind, [export, *exports], self.own_work, plugin, ra=block,
                         extra=extra_conf)

    @property
    def pid(self):
        return self.process.pid

    def stop(self, seconds=30):
        """The exit status: 0 is a clean end; None: it had to be killed."""
        return super().stop(seconds)

    def final_stats(self):
        """What the plugin logged at its end; {} without."""
        return self.stats() or {}

    def __enter__(self):
        return self.start()

    def end(self, seconds=30):
        """Stops it. RuntimeError where it ends badly."""
        bad = bad_end(self.stop(seconds))
        if bad:
            raise RuntimeError(f"the server's end: {bad}:\n{self.log_text()[-1000:]}")

    def __exit__(self, problem, *_):
        if problem:
            self.stop()
        else:
            self.end()


def _read_rate(path):
    """MB/s of dd, direct and in sequence."""
    start = time.monotonic()
    run("dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct")
    return os.path.getsize(path) / 1e6 / (time.monotonic() - start)


def selftest(mechdisk):
    """A 1 GiB disk from end to end: rate, counters, trace, an injected error. The exit status."""
    with Disk(size_mb=1024, mechdisk=mechdisk) as disk:
        path = os.path.join(disk.mount, "file")
        run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", "count=256", "conv=fsync")
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
        except TestbedUnavailable:
            failed = True
        disk.ctl("error clear")
        good = 90 < rate < 160 and traced >= stats["reads"] > 0 and failed
        print("ok" if good else "FAILED: 90 to 160 MB/s, every command traced and an injected "
              "error that is seen were expected")
        return 0 if good else 1


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] != "selftest":
        print("usage: testbed.py selftest [MECHDISK]", file=sys.stderr)
        return 2
    enter_namespace()
    try:
        return selftest(sys.argv[2] if len(sys.argv) > 2 else "mechdisk")
    except TestbedUnavailable as error:
        print(f"testbed: {error}", file=sys.stderr)
        return e2e.SKIP


if __name__ == "__main__":
    sys.exit(main())
