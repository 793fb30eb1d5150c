#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Disk errors: test_errors.py MECHDISK PLUGIN

A file system on the modelled disk; some ranges of one file are made unreadable where they lie on
the disk. As with stock VFS, READs of a bad range fail and others bring the right bytes; read-ahead
into a bad range is counted and reaches no client. Where the kernel keeps a file in large folios
(ext4 from Linux 6.16), one bad block makes its whole folio unreadable, and how large that is
depends on the read-ahead that made it, and so on when each READ comes: beside the bad ranges a READ may
fail where the page cache has such a folio, so that a local program's read fails there too, and it is
no larger than the kernel's read-ahead for stock makes them.
"""
import os
import sys

import e2e
import modelled_disk
import nfs3

FILE_SIZE = 24 << 20
REQUEST = 32768
READ_AHEAD = 128 << 10  # of the kernel, as it is by default
# Bad ranges of the file: offset, length in bytes. The first reader meets the first by read-ahead.
BAD = ((6 << 20, 65536), ((13 << 20) + 131072, 65536), (FILE_SIZE - REQUEST, REQUEST))


def spoil(path, disk):
    """Page by page, for a range may cross extents."""
    for offset, length in BAD:
        for at in range(offset, offset + length, 4096):
            disk.ctl(f"error read {modelled_disk.physical(path, at)} 4096")


class Reads:
    """What came of the READs of a file, by offset."""

    def __init__(self, path):
        self.path = path
        self.statuses, self.wrong, self.added = {}, [], []

    def saw(self, start, status, data):
        self.statuses[start] = (status, len(data))
        if status == nfs3.OK and data != e2e.pattern(0, start, len(data)):
            self.wrong.append(start)
        if status != nfs3.OK and not is_bad(start) and self.can_be_read(start):
            self.added.append(start)

    def can_be_read(self, start):
        """By a local program, from the same page cache."""
        with open(self.path, "rb", buffering=0) as file:
            try:
                return len(os.pread(file.fileno(), REQUEST, start)) == REQUEST
            except OSError:
                return False

    def failed_beside(self):
        return [o for o, (status, _) in self.statuses.items() if status != nfs3.OK and not is_bad(o)]


def read_all(server, path, outstanding, order):
    client, seen = nfs3.Client(server, "/e1", timeout=60), Reads(f"{path}/f0")
    _, fh = client.lookup("f0")
    if outstanding == 1:
        for start in order:
            seen.saw(start, *client.read(fh, start, REQUEST))
    else:
        for start, status, data in client.stream(fh, FILE_SIZE, REQUEST, outstanding):
            seen.saw(start, status, data)
    client.close()
    return seen


def orders():
    forward = range(0, FILE_SIZE, REQUEST)
    return (("in order, one at a time", 1, forward),
            ("in order, 4 outstanding", 4, ()),
            ("stride 4", 1, range(0, FILE_SIZE, 4 * REQUEST)),
            ("backwards", 1, tuple(reversed(forward))))


def run_kind(kind, work, path, plugin):
    listed = [{"id": 1, "path": path, "pseudo": "/e1", "params": {"Heuristic": "cursor"}}]
    results = {}
    server = e2e.Server(kind, listed, work, plugin).start()
    for what, outstanding, order in orders():
        e2e.drop_caches()
        results[what] = read_all(server, path, outstanding, order)
    e2e.check(server.alive(), f"{kind}: the server is alive", server.log_text()[-2000:])
    e2e.check(server.stop() == 0, f"{kind}: ends cleanly", server.log_text()[-2000:])
    return results, server.stats()


def is_bad(offset, length=REQUEST):
    return any(start < offset + length and offset < start + size for start, size in BAD)


def compare(what, stock, ra):
    bad = sorted(o for o in stock.statuses if is_bad(o))
    other = [f"{o}: stock {stock.statuses[o]}, RA {ra.statuses.get(o)}" for o in bad
             if stock.statuses[o] != ra.statuses.get(o)]
    beside = {"stock": stock.failed_beside(), "RA": ra.failed_beside()}
    far = [o for o in beside["RA"] if not is_bad(o - o % READ_AHEAD, READ_AHEAD)]
    e2e.note(f"{what}: {len(bad)} READs of bad ranges; failed beside them: "
             f"stock {len(beside['stock'])}, RA {len(beside['RA'])}")
    e2e.check(bad and all(stock.statuses[o][0] == nfs3.IO for o in bad),
              f"{what}: the disk has errors", stock.statuses)
    e2e.check(not other, f"{what}: READs of bad ranges end as with stock", "\n".join(other[:10]))
    e2e.check(not ra.added and not far, f"{what}: no failures are added",
              f"{beside}, of RA's could be read: {ra.added}, far from bad ranges: {far}")
    e2e.check(not stock.added, f"{what}: nor does stock add any", stock.added)
    e2e.check(not ra.wrong and not stock.wrong, f"{what}: the bytes are right",
              (stock.wrong, ra.wrong))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    mechdisk = sys.argv[1]
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter(("filefrag",))
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, mechdisk, 256, read_ahead_kb=READ_AHEAD >> 10)
    path = disk.mount
    e2e.make_files(path, 2, FILE_SIZE)
    e2e.drop_caches()
    spoil(f"{path}/f0", disk)
    disk.timing(True)  # seeks that cost nothing would make RA take it for flash
    stock, _ = run_kind("stock", work, path, plugin)
    ra, stats = run_kind("ra", work, path, plugin)
    for what, _, _ in orders():
        compare(what, stock[what], ra[what])
    e2e.note(f"RA_STATS {stats}")
    e2e.check((stats or {}).get("prefetch_errors", 0) > 0, "prefetch errors are counted", stats)
    disk.ctl("error clear")
    e2e.finish()


if __name__ == "__main__":
    main()
