# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of Ellard & Seltzer share: their disks, their benchmark and their server.

Their disks are modelled: as fast as the paper's figure 3 makes them (256 MB in 5.97 s by IDE, in
8.54 by SCSI), of 7,200 and 10,000 revolutions, with seeks and caches of such drives. A disk of
today is faster than their clients' 8 KiB READs: no elevator then finds the next one in its queue.
The SCSI drive's queue is fair, as theirs: a command waits FAIR_MS at most; mechdisk's own firmware
goes by positioning time alone.

Their benchmark reads 256 MB by n readers of 256/n MB each, and counts until the last is done. A
quick run reads less, by 16 readers at most: 32 of them would do little more than start. Their
server is ours with nothing of its own: the paper's rules and table (Rules, Table_Probes), two
clusters of 64 KiB ahead at most, as FreeBSD 4, and an elevator without any bound on waiting (the
loop device of a modelled disk takes every request at once, so that the kernel's I/O scheduler has
nothing to order). Their clients had eight nfsiods and asked for 8 KiB at a time over UDP.

The verdicts are in ellard_claims.py, and what the disk's time went to in ellard_time.py.
"""
import concurrent.futures
import contextlib
import dataclasses
import functools
import os
import subprocess
import sys
import time

from experiments import ellard_time, rounds
from experiments.ellard_claims import Claim, so_many
from experiments.experiment import NotRun

KIB = 1024
MIB = 1024 * KIB
READERS = (1, 2, 4, 8, 16, 32)
READERS_QUICK = (1, 8, 16)
LEAST = 4 * MIB         # of a reader
BLOCK = 8 * KIB         # of their NFS READs
OUTSTANDING = 2         # of each reader: the one it waits for, and one of read-ahead
CLUSTER = 64 * KIB
AHEAD = 2 * CLUSTER
# The paper calls the table small and its probes few; FreeBSD 4 had 64 places and 4 probes. By our
# hash, which spreads evenly, such a one ejects none of 16 files, and of 32 some in one of 8 sets.
PAPER_TABLE = {"Table_Size": 64, "Table_Probes": 4}
NEW_TABLE = {"Table_Size": 1017, "Table_Probes": 32}  # theirs, as it went into FreeBSD
# One that ejects as often as "too small to support more than a few readers" asks: two files eject
# each other where both have the same one of 64 places.
EJECTING_TABLE = {"Table_Size": 64, "Table_Probes": 1}
NEVER = 600000         # ms, the most that Max_Wait can be
DISKS = {"ide": {"rpm": 7200, "seek_min": 2, "seek_max": 20, "rate_outer": 44, "rate_inner": 28,
                 "look_ahead": 256, "segments": 8},
         "scsi": {"rpm": 10000, "seek_min": 0.6, "seek_max": 11, "rate_outer": 32,
                  "rate_inner": 21, "look_ahead": 512, "segments": 8}}
FAIR_MS = 10           # longest wait in their drive's queue
CURSORS = 8             # of a file; "a small and constant number"


def paper(heuristic="default", depth=1, scheduler="elevator"):
    """Their server: the parameters of the export's block."""
    return {"Heuristic": heuristic, "Rules": "paper", "Seq_Threshold": 2, "Match_Requests": 0,
            "Chunk_Min": CLUSTER, "Chunk_Max": CLUSTER,
            "Window_Init": CLUSTER, "Window_Max": AHEAD, "Prefetch_Step": CLUSTER,
            "Price_Readahead": "false", "Max_Wait": NEVER, "Scheduler": scheduler,
            "Queue_Depth": depth}


def table(places=None):
    """... and of the global one; the paper's table where no other is named."""
    return {**(places or PAPER_TABLE), "Cursors_Per_File": CURSORS}


def readers(bed, quick=READERS_QUICK):
    return quick if bed.quick else READERS


def total(bed, n):
    """Bytes that n readers read together. Fewer than LEAST each would be their start, not their
    reading."""
    return max(32 * MIB, n * LEAST) if bed.quick else 256 * MIB


def lay_out(bed, disk, counts, name="n", size=None):
    """{n: n files of equal size}, of `size` bytes in all."""
    return {n: bed.layout(disk, n, (size or total(bed, n)) // n, f"{name}{n}") for n in counts}


def their_disk(bed, name, queue=False, sets=1):
    """"ide", or "scsi" with its queue or without. All files, in so many sets, lie in its outer
    quarter."""
    settings = {"queue": 32, "age": FAIR_MS} if queue else {}
    return bed.disk(size_mb=(1536 if bed.quick else 8192) * sets, **DISKS[name], **settings)


def fill(disk, share):
    """Takes the room up to that share of the disk, from its outer edge on, and writes nothing."""
    room = os.statvfs(disk.mount)
    used = (room.f_blocks - room.f_bfree) * room.f_frsize
    length = int(disk.size_mb * MIB * share) - used
    with open(f"{disk.mount}/filler", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, length)
    os.sync()


def counted(disk, before, seconds):
    """What the disk did in these seconds, for a figure and to trace its cause."""
    after = disk.stats()
    read = after["read_bytes"] - before["read_bytes"]
    reads = max(1, after["reads"] - before["reads"])
    return {"disk_bytes": read, "seeks": after["seeks"] - before["seeks"],
            "commands": after["reads"] - before["reads"],
            "ahead_percent": 100 * (after["lookahead_hits"] - before["lookahead_hits"]) / reads,
            "queued_most": after.get("queue_max", 0),
            "busy_percent": (after["busy_ms"] - before["busy_ms"]) / 10 / seconds,
            "seeks_mb": (after["seeks"] - before["seeks"]) / max(1, read / 1e6),
            "command_kb": read / 1e3 / reads}


def local(bed, disk, work):
    """The readers on the server itself, a dd each: MB/s until the last is done, when each was."""
    def one(number):
        subprocess.run(["dd", f"if={work.directory}/f{number:04d}", "of=/dev/null", "bs=64K",
                        "status=none"], check=True)
        return time.monotonic() - began

    bed.cold(disk)
    with ellard_time.traced(bed, disk) as trace:
        before, began = disk.stats(), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(work.files) as pool:
            ends = sorted(pool.map(one, range(work.files)))
        did = counted(disk, before, ends[-1])
    return {"mb_s": work.files * work.size / 1e6 / ends[-1], "finish_s": ends, **did,
            **trace.spent(ends[-1])}


def nfs(bed, disk, work, fsal=None, ra=None, arguments=(), beside=None):
    """The readers over NFS: the same figures. `beside(server)`: a context around the load. Of two
    `arguments` of one name the last holds."""
    own = ["--work", "seq", "--readers", work.files] if "--work" not in arguments else []
    udp = "udp" in arguments
    with bed.server("ra", disk, fsal=fsal, ra=ra, udp=udp) as server:
        bed.cold(disk)
        with beside(server) if beside else contextlib.nullcontext(), \
                ellard_time.traced(bed, disk) as trace:
            before = disk.stats()
            found = bed.load(server, [*own, *work.args, "--request", BLOCK,
                                      "--outstanding", OUTSTANDING, *arguments])
            did = counted(disk, before, found["elapsed_s"])
    stats = server.final_stats()
    return {"mb_s": found["total"]["mb_s"], **did, **trace.spent(found["elapsed_s"]),
            "finish_s": sorted(r["end_s"] for r in found["readers"]),
            **{key: stats.get(name) for key, name in (("evictions", "table_evictions"),
                                                      ("demand", "demand"), ("chunks", "chunks"))}}


@contextlib.contextmanager
def client_apart(server, loops=0):
    """The server on all processors but the last, where the client is, beside so many endless loops:
    as on a machine of its own, on which other programs run."""
    last = max(os.sched_getaffinity(0))
    rest = os.sched_getaffinity(0) - {last}
    if not rest:
        raise NotRun("one processor: client and server cannot be kept apart")
    for thread in os.listdir(f"/proc/{server.pid}/task"):
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread), rest)
    os.sched_setaffinity(0, {last})
    busy = []
    try:
        for _ in range(loops):
            busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        os.sched_setaffinity(0, rest | {last})
        for loop in busy:
            loop.kill()
            loop.wait()


def over(above, below):
    """The ratio, None where one of the two is not there."""
    return above / below if above is not None and below else None


@dataclasses.dataclass
class Curves:
    """Rounds over curves and the numbers along them."""
    done: rounds.Rounds

    @staticmethod
    def name(curve, x):
        return f"{curve}, {x}"

    def value(self, curve, x, key="mb_s"):
        return self.done.median(self.name(curve, x), key)

    def ratio(self, curve, other, x, key="mb_s"):
        found = self.done.ratio(self.name(curve, x), self.name(other, x), key)
        return found and found["median"]

    def told(self, curve, x):
        """What was counted there, in words."""
        value = functools.partial(self.value, curve, x)
        parts = (("seeks_mb", "{:.2f} seeks/MB"), ("command_kb", "{:.0f} KB a command"),
                 ("ahead_percent", "{:.0f} % of them begin in the drive's look-ahead"),
                 ("evictions", "{:.0f} ejections"), ("demand", "{:.0f} READs to the disk"))
        said = [text.format(value(key)) for key, text in parts if value(key) is not None]
        if value("mb_s") is not None:
            said = [f"{value('mb_s'):.1f} MB/s", ellard_time.told(value), *said]
        return f"{self.name(curve, x)}: {', '.join(filter(None, said))}"

    def claim(self, text, theirs, curves, x, low, high, key="mb_s", **more):
        """Of the ratio of two curves at x."""
        return Claim(f"{text}, {so_many(x)}:", theirs, self.ratio(*curves, x, key), low, high,
                     tuple(self.told(c, x) for c in curves), **more)

    def along(self, text, theirs, curve, xs, low, high):
        """... of one curve at the second of two x over that at the first."""
        first, second = xs
        return Claim(f"{text}, {so_many(second)} over {so_many(first)}:", theirs,
                     over(self.value(curve, second), self.value(curve, first)), low, high,
                     tuple(self.told(curve, x) for x in xs))


def sweep(bed, curves, along, once, *keys, times=None, sets=1):
    """(Curves, their points): `once(curve, x)` at each x of `along` for each of the curves, in as
    many rounds as the bed says, or `times`. With several sets of files `once(curve, x, set)`: a
    round has the next one for all curves, and there are as many rounds at least."""
    where = {Curves.name(c, x): (c, x) for x in along for c in curves}

    def one(name, number):
        bed.at_work = name
        return once(*where[name], *([number % sets] if sets > 1 else []))

    done = rounds.run(bed, where, one, max(times or bed.rounds, sets))
    keys = ("mb_s", "seeks_mb", *keys)
    return Curves(done), [done.point(n, *keys, curve=c, x=x) for n, (c, x) in where.items()]


def curves_of(points, key="mb_s"):
    """{curve: [(x, interval)]} for plot.lines."""
    found = {}
    for p in points:
        if p.get(key):
            found.setdefault(p["curve"], []).append((p["x"], p[key]))
    return found
