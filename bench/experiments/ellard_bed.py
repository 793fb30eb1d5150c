# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of Ellard & Seltzer share: their benchmark, their server, and how a figure
of ours is held against one of theirs.

Their disks are modelled: as fast as the paper's figure 3 makes them (256 MB in 5.97 s by IDE, in
8.54 by SCSI), of 7,200 and 10,000 revolutions, with seeks and caches of such drives. A disk of
today is faster than their clients' 8 KiB READs: no elevator then finds the next one in its queue.
The SCSI drive's queue is fair, as theirs: a command waits FAIR_MS at most; mechdisk's own firmware
goes by positioning time alone.

Their benchmark reads 256 MB by n readers of 256/n MB each, and counts until the last is done. Their
server is ours with nothing of its own: the paper's rules and table (Rules, Table_Probes), two
clusters of 64 KiB ahead at most, as FreeBSD 4, and an elevator without any bound on waiting (the
loop device of a modelled disk takes every request at once, so that the kernel's I/O scheduler has
nothing to order). Their clients had eight nfsiods and asked for 8 KiB at a time over UDP.

A claim is a figure of the paper with the range in which ours counts as the same. A verdict follows
from claims alone: reproduced where all hold; better where, beside that, the plugin's defaults are
nowhere below the best of the paper's curves; else not reproduced, with the claims that do not hold
and what the disk and the server counted meanwhile.
"""
import concurrent.futures
import contextlib
import dataclasses
import os
import subprocess
import sys
import time

from experiments import rounds
from experiments.experiment import NotRun, Outcome

KIB = 1024
MIB = 1024 * KIB
READERS = (1, 2, 4, 8, 16, 32)
READERS_QUICK = (1, 8, 32)
BLOCK = 8 * KIB         # of their NFS READs
OUTSTANDING = 2         # of each reader: the one it waits for, and one of read-ahead
CLUSTER = 64 * KIB
AHEAD = 2 * CLUSTER
# FreeBSD's table had 64 places and 4 probes. By our hash such a one ejects none of 32 files, but
# theirs was "too small to support more than a few readers": so a file has one place of those 64.
OLD_TABLE = {"Table_Size": 64, "Table_Probes": 1}
NEW_TABLE = {"Table_Size": 1017, "Table_Probes": 32}  # theirs, as it went into FreeBSD
NEVER = 600000         # ms, the most that Max_Wait can be
DISKS = {"ide": {"rpm": 7200, "seek_min": 2, "seek_max": 20, "rate_outer": 44, "rate_inner": 28,
                 "look_ahead": 256, "segments": 8},
         "scsi": {"rpm": 10000, "seek_min": 0.6, "seek_max": 11, "rate_outer": 32,
                  "rate_inner": 21, "look_ahead": 512, "segments": 8}}
FAIR_MS = 10           # longest wait in their drive's queue
CURSORS = 8             # of a file; "a small and constant number"
BETTER = 0.97           # of the best of the paper's curves, at each point


def paper(heuristic="default", depth=1, scheduler="elevator"):
    """Their server: the parameters of the export's block."""
    return {"Heuristic": heuristic, "Rules": "paper", "Seq_Threshold": 2, "Match_Requests": 0,
            "Chunk_Min": CLUSTER, "Chunk_Max": CLUSTER,
            "Window_Init": CLUSTER, "Window_Max": AHEAD, "Prefetch_Step": CLUSTER,
            "Price_Readahead": "false", "Max_Wait": NEVER, "Scheduler": scheduler,
            "Queue_Depth": depth}


def table(new=False):
    """... and of the global one."""
    return {**(NEW_TABLE if new else OLD_TABLE), "Cursors_Per_File": CURSORS}


def readers(bed):
    return READERS_QUICK if bed.quick else READERS


def so_many(n):
    return "one reader" if n == 1 else f"{n} readers"


def total(bed):
    """Bytes that all readers of a run read together."""
    return (32 if bed.quick else 256) * MIB


def lay_out(bed, disk, counts, name="n", size=None):
    """{n: n files of equal size}, of `size` bytes in all."""
    return {n: bed.layout(disk, n, (size or total(bed)) // n, f"{name}{n}") for n in counts}


def their_disk(bed, name, queue=False):
    """"ide", or "scsi" with its queue or without. All sets of files lie in its outer quarter."""
    settings = {"queue": 32, "age": FAIR_MS} if queue else {}
    return bed.disk(size_mb=1536 if bed.quick else 8192, **DISKS[name], **settings)


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
    return {"disk_bytes": read, "seeks": after["seeks"] - before["seeks"],
            "commands": after["reads"] - before["reads"],
            "queued_most": after.get("queue_max", 0),
            "busy_percent": (after["busy_ms"] - before["busy_ms"]) / 10 / seconds,
            "seeks_mb": (after["seeks"] - before["seeks"]) / max(1, read / 1e6),
            "command_kb": read / 1e3 / max(1, after["reads"] - before["reads"])}


def local(bed, disk, work):
    """The readers on the server itself, a dd each: MB/s until the last is done, when each was."""
    def one(number):
        subprocess.run(["dd", f"if={work.directory}/f{number:04d}", "of=/dev/null", "bs=64K",
                        "status=none"], check=True)
        return time.monotonic() - began

    bed.cold(disk)
    before, began = disk.stats(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(work.files) as pool:
        ends = sorted(pool.map(one, range(work.files)))
    return {"mb_s": work.files * work.size / 1e6 / ends[-1], "finish_s": ends,
            **counted(disk, before, ends[-1])}


def nfs(bed, disk, work, fsal=None, ra=None, arguments=(), beside=None):
    """The readers over NFS: the same figures. `beside(server)`: a context around the load. Of two
    `arguments` of one name the last holds."""
    own = ["--work", "seq", "--readers", work.files] if "--work" not in arguments else []
    udp = "udp" in arguments
    with bed.server("ra", disk, fsal=fsal, ra=ra, udp=udp) as server:
        bed.cold(disk)
        with beside(server) if beside else contextlib.nullcontext():
            before = disk.stats()
            found = bed.load(server, [*own, *work.args, "--request", BLOCK,
                                      "--outstanding", OUTSTANDING, *arguments])
            did = counted(disk, before, found["elapsed_s"])
    stats = server.final_stats()
    return {"mb_s": found["total"]["mb_s"], **did,
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
        parts = (("busy_percent", "disk {:.0f} % busy"), ("seeks_mb", "{:.2f} seeks/MB"),
                 ("command_kb", "{:.0f} KB a command"), ("evictions", "{:.0f} ejections"),
                 ("demand", "{:.0f} READs to the disk"))
        said = [text.format(self.value(curve, x, key)) for key, text in parts
                if self.value(curve, x, key) is not None]
        return f"{self.name(curve, x)}: {', '.join(said)}"


def sweep(bed, curves, along, once, *keys, times=None):
    """(Curves, their points): `once(curve, x)` at each x of `along` for each of the curves, in as
    many rounds as the bed says, or `times`."""
    where = {Curves.name(c, x): (c, x) for x in along for c in curves}
    done = rounds.run(bed, where, lambda name, _: once(*where[name]), times)
    keys = ("mb_s", "seeks_mb", *keys)
    return Curves(done), [done.point(n, *keys, curve=c, x=x) for n, (c, x) in where.items()]


@dataclasses.dataclass
class Claim:
    """A figure of the paper, ours, and between what ours is the same."""
    text: str
    theirs: str
    value: float
    low: float = 0
    high: float = float("inf")

    def holds(self):
        return self.value is not None and self.low <= self.value <= self.high

    def missed(self):
        """In words, of one that does not hold."""
        text = self.text.removesuffix(":")
        if self.value is None:
            return f"{text}: not measured"
        asked = f"at least {self.low:g}" if self.high == float("inf") else \
            f"{self.low:g} to {self.high:g}" if self.low else f"at most {self.high:g}"
        return f"{text} is {self.value:.2f}, {asked} was to be expected"

    def __str__(self):
        ours = "not measured" if self.value is None else f"{self.value:.2f}"
        return f"{self.text} {ours} (paper: {self.theirs})"


def judge(points, claims, causes=(), ours=None):
    """The Outcome. `ours`: figures of the plugin's defaults over the best of the paper's curves."""
    missed = [c for c in claims if not c.holds()]
    verdict = "not reproduced" if missed else "reproduced"
    figure = "; ".join(str(c) for c in claims)
    ours = [v for v in ours or [] if v is not None]
    if ours:
        figure += f"; the plugin's defaults {min(ours):.2f} to {max(ours):.2f} x that"
        if not missed and min(ours) >= BETTER and max(ours) > 1 / BETTER:
            verdict = "better"
    why = "; ".join(c.missed() for c in missed)
    if missed and causes:
        why += f". Counted meanwhile: {'; '.join(causes)}"
    return Outcome(points, verdict, why, figure,
                   {"claims": [dict(dataclasses.asdict(c), holds=c.holds()) for c in claims]})


def curves_of(points, key="mb_s"):
    """{curve: [(x, interval)]} for plot.lines."""
    found = {}
    for p in points:
        if p.get(key):
            found.setdefault(p["curve"], []).append((p["x"], p[key]))
    return found
