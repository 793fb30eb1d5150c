#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Disk errors: test_errors.py MECHDISK PLUGIN

A file system on the modelled disk; some ranges of one file are made unreadable where they lie on
the disk. As with stock VFS, READs of a bad range fail and others bring the right bytes; read-ahead
into a bad range is counted and reaches no client. Where the kernel keeps a file in large folios
(ext4 from Linux 6.16), one bad block makes its whole folio unreadable, and how large that is
depends on the read-ahead that made it: beside the bad ranges RA may fail no more often than stock.
"""
import sys

import e2e
import modelled_disk
import nfs3

FILE_SIZE = 24 << 20
REQUEST = 32768
# Bad ranges of the file: offset, length in bytes. The first reader meets the first by read-ahead.
BAD = ((6 << 20, 65536), ((13 << 20) + 131072, 65536), (FILE_SIZE - REQUEST, REQUEST))


def spoil(path, disk):
    """Page by page, for a range may cross extents."""
    for offset, length in BAD:
        for at in range(offset, offset + length, 4096):
            disk.ctl(f"error read {modelled_disk.physical(path, at)} 4096")


def read_all(server, outstanding, order):
    """{offset: status} of every READ of the file; wrong bytes are failures of the test."""
    client = nfs3.Client(server, "/e1", timeout=60)
    status, fh = client.lookup("f0")
    seen, wrong = {}, []
    for start in order:
        status, data = client.read(fh, start, REQUEST) if outstanding == 1 else (None, b"")
        if status is not None:
            seen[start] = (status, len(data))
            if status == nfs3.OK and data != e2e.pattern(0, start, len(data)):
                wrong.append(start)
    if outstanding > 1:
        for start, status, data in client.stream(fh, FILE_SIZE, REQUEST, outstanding):
            seen[start] = (status, len(data))
            if status == nfs3.OK and data != e2e.pattern(0, start, len(data)):
                wrong.append(start)
    client.close()
    return seen, wrong


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
        results[what] = read_all(server, outstanding, order)
    e2e.check(server.alive(), f"{kind}: the server is alive", server.log_text()[-2000:])
    e2e.check(server.stop() == 0, f"{kind}: ends cleanly", server.log_text()[-2000:])
    return results, server.stats()


def is_bad(offset):
    return any(start < offset + REQUEST and offset < start + length for start, length in BAD)


def compare(what, expected, wrong_stock, seen, wrong):
    failed = {kind: {o for o, (status, _) in got.items() if status != nfs3.OK}
              for kind, got in (("stock", expected), ("RA", seen))}
    beside = {kind: sorted(o for o in offsets if not is_bad(o))
              for kind, offsets in failed.items()}
    bad = sorted(o for o in expected if is_bad(o))
    other = [f"{o}: stock {expected[o]}, RA {seen.get(o)}" for o in bad
             if expected[o] != seen.get(o)]
    e2e.note(f"{what}: {len(bad)} READs of bad ranges; failed beside them: "
             f"stock {len(beside['stock'])}, RA {len(beside['RA'])}")
    e2e.check(bad and all(expected[o][0] == nfs3.IO for o in bad),
              f"{what}: the disk has errors", expected)
    e2e.check(not other, f"{what}: READs of bad ranges end as with stock", "\n".join(other[:10]))
    e2e.check(len(beside["RA"]) <= len(beside["stock"]), f"{what}: no failures are added", beside)
    e2e.check(not wrong and not wrong_stock, f"{what}: the bytes are right", wrong)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    mechdisk = sys.argv[1]
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter(("filefrag",))
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, mechdisk, 256)
    path = disk.mount
    e2e.make_files(path, 2, FILE_SIZE)
    e2e.drop_caches()
    spoil(f"{path}/f0", disk)
    disk.timing(True)  # seeks that cost nothing would make RA take it for flash
    stock, _ = run_kind("stock", work, path, plugin)
    ra, stats = run_kind("ra", work, path, plugin)
    for what, _, _ in orders():
        compare(what, *stock[what], *ra[what])
    e2e.note(f"RA_STATS {stats}")
    e2e.check((stats or {}).get("prefetch_errors", 0) > 0, "prefetch errors are counted", stats)
    disk.ctl("error clear")
    e2e.finish()


if __name__ == "__main__":
    main()
