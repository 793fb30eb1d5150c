#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A layout of bench/ageing.py leaves the same places free each time, whatever the file system does in
the background: what is measured on it can be measured again.

usage: test_ageing.py MECHDISK
"""
import os
import sys

import e2e
import modelled_disk

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

import ageing  # noqa: E402
import disktime  # noqa: E402

DISK_MB, FILE = 640, 24 << 20  # bytes of the file that is laid out
LAYOUTS = ("xfs aged", "ext4 aged", "xfs inner")
TIMES = 2
# At least, where a fresh file system gives one: an XFS of xfsprogs 6.13 gives 6, one of 6.1 far more.
PIECES = 4


def places(work, mechdisk, fs, layout):
    """The extents of a file on a fresh disk that was prepared so."""
    disk = modelled_disk.for_test(work, mechdisk, DISK_MB, fs=fs)
    try:
        ageing.prepare(disk, layout, FILE)
        path = f"{disk.mount}/file"
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, FILE)
        os.sync()
        return disktime.extents(path)
    finally:
        disk.down()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[-1])
    e2e.enter()
    work = e2e.work_directory()
    for what in LAYOUTS:
        found = [places(work, sys.argv[1], *what.split()) for _ in range(TIMES)]
        e2e.check(all(f == found[0] for f in found), f"{what}: the same places each time",
                  [f"{len(f)} extents, the first at {f[0][0]}" for f in found])
        if "aged" in what:
            e2e.check(len(found[0]) >= PIECES, f"{what}: in pieces", len(found[0]))
    e2e.finish()


if __name__ == "__main__":
    main()
