# SPDX-License-Identifier: LGPL-3.0-or-later
"""Whose the disk's time was, measured at the disk: each command's service time, by its place.

    trace = Trace(disk); ... the load ...; shares = trace.shares(owners, begin, end)

owners is {path: name}. The places of a file are asked for afterwards, when what was written has
found its place; so the files must not be truncated in between. What is in none of the files
(journal, metadata) belongs to nobody. The disk is never shared in time: with a drive queue too,
it serves one command after another. A pause between two commands for one client is that client's:
the drive reads ahead for it in the meantime.
"""
import bisect
import csv
import os
import re
import time

import testbed


def extents(path):
    """(first byte, byte after the last) on the device, by filefrag's blocks of 4 KiB."""
    found = []
    for line in testbed.run("filefrag", "-b4096", "-v", path).splitlines():
        m = re.match(r"\s*\d+:\s+\d+\.\.\s*\d+:\s+(\d+)\.\.\s*(\d+):", line)
        if m:
            found.append((int(m[1]) << 12, int(m[2]) + 1 << 12))
    return found


def commands(path):
    """The lines of mechdisk's trace, as texts: time_ms, op, offset, length, service_ms, seek_bytes."""
    with open(path, encoding="ascii") as file:
        lines = csv.reader(file)
        next(lines)
        yield from lines


PAUSE_MOST = 0.01  # seconds; a longer one is idleness


class Trace:
    def __init__(self, disk):
        self.disk, self.path = disk, os.path.join(disk.work, "disktime.csv")
        before = time.monotonic()
        disk.ctl(f"trace {self.path}")
        self.began = (before + time.monotonic()) / 2

    def stop(self):
        self.disk.ctl("trace off")

    def shares(self, owners, begin, end):
        """({name: share of the time that went to any of them}, share of the interval that the disk
        was busy) between two times of CLOCK_MONOTONIC."""
        places = sorted((start, stop, name) for path, name in owners.items()
                        for start, stop in extents(path))
        starts = [p[0] for p in places]
        spent, busy = dict.fromkeys(owners.values(), 0.0), 0.0
        before, done = None, begin
        for at, length, offset in self._commands():
            i = bisect.bisect_right(starts, offset) - 1
            owner = places[i][2] if i >= 0 and offset < places[i][1] else None
            if owner == before and at - done < PAUSE_MOST:
                length, at = length + at - done, done
            took = min(at + length, end) - max(at, begin)
            before, done = owner, at + length
            if took <= 0:
                continue
            busy += took
            if owner:
                spent[owner] += took
        whole = sum(spent.values())
        return ({n: t / whole for n, t in spent.items()} if whole else {}), busy / (end - begin)

    def _commands(self):
        """(when it began, seconds it took, offset) of each."""
        for at, _, offset, _, took, _ in commands(self.path):
            yield self.began + float(at) / 1e3, float(took) / 1e3, int(offset)
