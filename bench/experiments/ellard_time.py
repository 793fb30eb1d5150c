# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the modelled disk's time went to, by its trace (mechdisk: time_ms,op,offset,length,service_ms,
seek_bytes) and its counters.

Of a command that moved the arm, what its bytes do not take at the rate of their zone is seeking: the
arm's way, and the wait for the sector. All else of the commands' time is transferring. The rest of
the run no command was there: the drive may read ahead then, for the place where it has read last.

Traces of the last round are kept beside the experiment's results, in NAME.traces.
"""
import contextlib
import gzip
import os
import shutil
import statistics
import types

import disktime

WAYS = ("seek_percent", "transfer_percent", "idle_percent")


def rate(model, share):
    """Bytes a ms under the head, where that share of the disk lies before it."""
    return 1000 * (model["rate-outer"] + share * (model["rate-inner"] - model["rate-outer"]))


def spent(lines, model, size, seconds):
    """Of the trace's lines: percent of these seconds that went to each way, how far the arm moved
    (median, MB), and how long no command was there between two (median, ms)."""
    seeking = busy = 0.0
    ways, pauses, done = [], [], None
    for at, _, offset, length, took, distance in lines:
        at, took, distance = float(at), float(took), int(distance)
        busy += took
        if distance:
            moved = took - int(length) / rate(model, int(offset) / size)
            seeking += max(0.0, moved)
            ways.append(distance / 1e6)
        if done is not None and at > done:
            pauses.append(at - done)
        done = max(at + took, done or 0)
    whole = 10 * seconds
    return {"seek_percent": seeking / whole, "transfer_percent": (busy - seeking) / whole,
            "idle_percent": max(0.0, 100 - busy / whole),
            "seek_way_mb": statistics.median(ways) if ways else 0,
            "pause_ms": statistics.median(pauses) if pauses else 0}


def keep(path, prefix, name):
    """A trace beside the results, of the run of that name; without a prefix nowhere."""
    if not prefix:
        return
    os.makedirs(f"{prefix}.traces", exist_ok=True)
    with open(path, "rb") as file, \
            gzip.open(f"{prefix}.traces/{name.replace('/', '-')}.csv.gz", "wb") as kept:
        shutil.copyfileobj(file, kept)


@contextlib.contextmanager
def traced(bed, disk):
    """The disk's trace around a load; `.spent(seconds)` afterwards. What is in the file then are the
    commands of the load alone."""
    path = os.path.join(disk.work, "ellard.csv")
    found = types.SimpleNamespace()
    disk.ctl(f"trace {path}")
    try:
        yield found
    finally:
        disk.ctl("trace off")
    keep(path, bed.prefix, f"{getattr(bed, 'at_work', '')}, {disk.model['rpm']} rpm")
    lines = list(disktime.commands(path))
    found.spent = lambda seconds: spent(lines, disk.model, disk.size_mb << 20, seconds)


def told(value):
    """In words, of `value(key)`."""
    ways = [value(key) for key in WAYS]
    if None in ways:
        return ""
    text = f"{ways[0]:.0f} % seeking"
    if value("seek_way_mb"):
        text += f" ({value('seek_way_mb'):.1f} MB a way)"
    text += f", {ways[1]:.0f} % transferring, {ways[2]:.0f} % without a command"
    if ways[2] >= 5 and value("pause_ms"):
        text += f" ({value('pause_ms'):.2f} ms each time)"
    return text
