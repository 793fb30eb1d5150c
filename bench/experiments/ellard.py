# SPDX-License-Identifier: LGPL-3.0-or-later
"""Ellard & Seltzer, NFS Tricks and Benchmarking Traps (FREENIX 2003): eight figures and a table.

What they have in common, and how a verdict is found, is in ellard_bed.py.
"""
import contextlib
import functools
import statistics

import plot
from experiments.ellard_bed import (CURSORS, DISKS, EJECTING_TABLE, KIB, MIB, NEW_TABLE,
                                    client_apart, curves_of, fill, lay_out, local, nfs, over,
                                    paper, readers, sweep, table, their_disk)
from experiments.ellard_claims import (ALIKE, ANY, FASTER, SAME, SLOWER, Claim, about, judge,
                                       near, so_many)
from experiments.experiment import Experiment

PAPER = "Ellard & Seltzer 2003, "
REORDERED = 6      # percent of a client's READs, the most that theirs did over UDP
REORDERED_BUSY = 10  # ... and clients that are busy, in their traces
LOOPS = 4          # of a busy client
FEW = 4            # readers, up to which figures 6 and 7 have no differences
FEW_QUICK = (FEW, 8, 16)
SETS, SETS_QUICK = 3, 2  # of files with other handles: which of them share a place is luck
STRIDES = (2, 4, 8)
UDP = ("--transport", "udp")
ASSUMED = " The drive's queue is assumed to be fair (no command waits more than 10 ms), as the " \
    "paper found theirs; with mechdisk's own, by positioning time, it gains in place of losing."
TCP = ()
COLUMNS = (("curve", "curve", "{}"), ("readers", "x", "{}"), ("MB/s", "mb_s", "{:.1f}"),
           ("seeks/MB", "seeks_mb", "{:.2f}"))


class Readers(Experiment):
    """A figure of curves over readers."""
    columns = COLUMNS

    def draw(self, outcome, path):
        plot.lines(path, self.paper, "concurrent readers", "MB/s", curves_of(outcome.points),
                   log=True)


@contextlib.contextmanager
def zones(bed, counts, name):
    """A disk, and its files in the outermost and in the innermost quarter: (disk, outer, inner)."""
    with their_disk(bed, name) as disk:
        outer = lay_out(bed, disk, counts, "outer")
        fill(disk, 0.75)
        yield disk, outer, lay_out(bed, disk, counts, "inner")


class Zcav(Readers):
    name = "e1"
    paper = PAPER + "figure 1"
    did = "Two disks in four partitions each: local readers in the outermost and the innermost."
    ours = "Files lie in the outermost and the innermost quarter of one file system on each disk."
    paper_figure = "outer zones 1.2 to 2 times as fast as inner ones, at any number of readers"
    seconds_quick, seconds_full = 36, 1500

    def run(self, bed):
        points, claims = [], []
        for name in DISKS:
            with zones(bed, readers(bed), name) as (disk, outer, inner):
                sets = {f"{name}, outer": outer, f"{name}, inner": inner}
                found, more = sweep(bed, sets, readers(bed), lambda curve, n, sets=sets, disk=disk:
                                    local(bed, disk, sets[curve][n]))
            points += more
            claims += [found.claim(f"{name}: outer over inner", "1.2 to 2",
                                   (f"{name}, outer", f"{name}, inner"), n, 1.2, 2)
                       for n in readers(bed)]
        return judge(points, claims)


class TaggedQueue(Readers):
    name = "e2"
    paper = PAPER + "figure 2"
    did = "Local readers on the SCSI disk, its tagged queue switched on and off."
    ours = "The drive orders up to 32 commands by itself, or serves them as they come. Locally, " \
        "and over NFS, where the server's elevator stands for the kernel's: the loop device of a " \
        "modelled disk takes all requests at once, so that the kernel orders none. So the local " \
        "curves are shown only, and the verdict is of NFS." + ASSUMED
    paper_figure = "from 8 readers on 15 MB/s with, 27 without; one reader the same in both, and " \
        "without the queue many almost as fast as one"
    seconds_quick, seconds_full = 52, 1800

    def run(self, bed):
        counts = readers(bed)
        with their_disk(bed, "scsi") as plain, their_disk(bed, "scsi", queue=True) as tagged:
            sets = [(disk, lay_out(bed, disk, counts)) for disk in (plain, tagged)]
            curves = {"local, no queue": (0, None), "local, queue": (1, None),
                      "NFS, no queue": (0, paper(depth=1)), "NFS, queue": (1, paper(depth=32)),
                      "defaults, no queue": (0, {}), "defaults, queue": (1, {})}

            def once(curve, n):
                place, fsal = curves[curve]
                disk, works = sets[place]
                if fsal is None:
                    return local(bed, disk, works[n])
                return nfs(bed, disk, works[n], fsal=fsal, ra=table() if fsal else None)

            found, points = sweep(bed, curves, counts, once, "queued_most")
        pair = "NFS, queue", "NFS, no queue"
        claims = [found.claim("NFS: queue over none", "the same", pair, 1, *near(1)),
                  *(found.claim("NFS: queue over none", "0.56", pair, n, *near(0.56))
                    for n in counts if n >= 8),
                  found.along("NFS, no queue", "almost equal", pair[1], (1, counts[-1]),
                              *near(1))]
        return judge(points, claims,
                     [found.ratio("defaults, no queue", "NFS, no queue", n) for n in counts])


class Policies(Experiment):
    name = "e3"
    paper = PAPER + "figure 3"
    did = "Eight local readers of 32 MB each; elevator and N-step C-SCAN in the kernel, with and " \
        "without the SCSI disk's queue: when the k-th of them was done."
    ours = "Over NFS, the policies being the server's, by four requests of 32 KiB at a time, so " \
        "that readers are faster than the disk, as local ones are. The drive's queue: the server " \
        "hands on 32 at once. Beside them turns, the plugin's default policy, with its defaults." \
        + ASSUMED
    paper_figure = "elevator: last 5.7 x the first (IDE), 7.2 (SCSI); N-CSCAN below 1.2, at less " \
        "than half the throughput; with the drive's queue fairer than N-CSCAN and slower still"
    seconds_quick, seconds_full = 30, 600
    columns = (("policy", "curve", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("first done, s", "first_s", "{:.2f}"), ("last done, s", "last_s", "{:.2f}"),
               ("last/first", "last_first", "{:.2f}"), ("seeks/MB", "seeks_mb", "{:.2f}"))
    READERS = 8
    LIKE_LOCAL = ("--request", 32 * KIB, "--outstanding", 4)

    def run(self, bed):
        cases = {"ide, elevator": (0, paper()), "ide, N-CSCAN": (0, paper(scheduler="ncscan")),
                 "ide, turns": (0, {}),
                 "scsi, elevator": (1, paper()), "scsi, N-CSCAN": (1, paper(scheduler="ncscan")),
                 "scsi, elevator, queue": (2, paper(depth=32)), "scsi, turns, queue": (2, {})}
        with their_disk(bed, "ide") as ide, their_disk(bed, "scsi") as scsi, \
                their_disk(bed, "scsi", queue=True) as tagged:
            size = (64 if bed.quick else 256) * MIB
            sets = [(disk, lay_out(bed, disk, [self.READERS], size=size)[self.READERS])
                    for disk in (ide, scsi, tagged)]

            def once(curve, _):
                place, fsal = cases[curve]
                found = nfs(bed, *sets[place], fsal=fsal, ra=table() if fsal else None,
                            arguments=self.LIKE_LOCAL)
                ends = found["finish_s"]
                return {**found, "first_s": ends[0], "last_s": ends[-1],
                        "last_first": ends[-1] / ends[0],
                        **{f"done_{k + 1}": end for k, end in enumerate(ends)}}

            found, points = sweep(bed, cases, [self.READERS], once, "first_s", "last_s",
                                  "last_first", *(f"done_{k + 1}" for k in range(self.READERS)))
        outcome = judge(points, self.claims(found))
        spread = found.value("ide, turns", self.READERS, "last_first")
        gain = found.ratio("ide, turns", "ide, elevator", self.READERS)
        if spread and gain:
            outcome.figure += f"; turns: {spread:.2f} at {gain:.2f} x the elevator's throughput"
        return outcome

    def claims(self, found):
        """The queue is held against N-CSCAN, as in the paper: fairer, and slower still."""
        def of(curve):
            return Claim(f"{curve}: last over first", theirs[curve],
                         found.value(curve, self.READERS, "last_first"), *ranges[curve],
                         (found.told(curve, self.READERS),))

        def ratio(text, theirs, *pair, key="mb_s", high=1.0):
            return found.claim(text, theirs, pair, self.READERS, 0, high, key)

        theirs, ranges, claims = {}, {}, []
        for disk, unfair in (("ide", 5.7), ("scsi", 7.2)):
            elevator, ncscan = f"{disk}, elevator", f"{disk}, N-CSCAN"
            theirs.update({elevator: f"{unfair:g}", ncscan: "below 1.2"})
            ranges.update({elevator: near(unfair), ncscan: (1, 1.2)})
            claims += [of(elevator), of(ncscan), ratio(f"{disk}, N-CSCAN over elevator, MB/s",
                                                       "below 0.5", ncscan, elevator, high=0.5)]
        queue = "scsi, elevator, queue", "scsi, N-CSCAN"
        return claims + [
            ratio("scsi, queue over N-CSCAN, last over first", "below 1", *queue, key="last_first"),
            ratio("scsi, queue over N-CSCAN, MB/s", "below 1", *queue),
            ratio("scsi, queue over elevator, MB/s", "below 0.5", queue[0], "scsi, elevator",
                  high=0.5)]

    def draw(self, outcome, path):
        curves = {p["curve"]: [(k + 1, p[f"done_{k + 1}"]) for k in range(self.READERS)]
                  for p in outcome.points}
        plot.lines(path, self.paper, "readers done", "seconds", curves)


class Transport(Readers):
    """Figures 4 and 5: their server over one transport, beside local readers and the other one."""
    transport, other, beside = UDP, TCP, "over TCP"
    ours = "Requests as their clients'; the network is the loopback device. Zones of the IDE " \
        "disk, the queue of the SCSI one."

    def curves(self, bed, sets, tagged):
        """{curve: (disk, works, fsal, ra, arguments), or without a server (disk, works)}"""
        disk, outer, inner = sets
        own = (paper(), table(), self.transport)
        return {"ide, outer": (disk, outer, *own), "ide, inner": (disk, inner, *own),
                "scsi, queue": (*tagged, paper(depth=32), table(), self.transport),
                "ide, defaults": (disk, outer, {}, None, self.transport),
                "ide, local": (disk, outer),
                f"ide, {self.beside}": (disk, outer, paper(), table(), self.other)}

    def run(self, bed):
        counts = readers(bed)
        with zones(bed, counts, "ide") as sets, their_disk(bed, "scsi", queue=True) as tagged:
            curves = self.curves(bed, sets, (tagged, lay_out(bed, tagged, counts, "outer")))

            def once(curve, n):
                disk, works, *rest = curves[curve]
                if not rest:
                    return local(bed, disk, works[n])
                fsal, ra, transport = rest
                return nfs(bed, disk, works[n], fsal=fsal, ra=ra, arguments=transport)

            found, points = sweep(bed, curves, counts, once)
        return judge(points, self.claims(found, counts),
                     [found.ratio("ide, defaults", "ide, outer", n) for n in counts])


class OverUdp(Transport):
    name = "e4"
    paper = PAPER + "figure 4"
    did = "Readers over UDP, in outer and inner partitions of both disks, with and without the " \
        "drive's queue."
    paper_figure = "drops quickly as readers increase, to about half of the local file system's; " \
        "better than TCP for few readers and not for many; zones still visible"
    seconds_quick, seconds_full = 60, 2400

    @staticmethod
    def claims(found, counts):
        """Loosely held, for the paper has no number: how far UDP drops (to three quarters at least),
        how much better than TCP it is for few, and how much slower it may be for many (in some cases
        it was)."""
        of_local, over_tcp = ("ide, outer", "ide, local"), ("ide, outer", "ide, over TCP")
        return [found.along("ide, outer", "drops quickly", "ide, outer", (1, counts[-1]), 0, 0.75),
                *(found.claim("of local", "about 0.5", of_local, n, *about(0.5))
                  for n in counts if n > 1),
                *(found.claim("over TCP", "substantially better", over_tcp, n, 1.1, ANY)
                  for n in counts if n <= 2),
                found.claim("over TCP", "no advantage", over_tcp, counts[-1], 0.8, 1 + SAME),
                *(found.claim("outer over inner", "visible", ("ide, outer", "ide, inner"), n,
                              *FASTER) for n in counts)]


class OverTcp(Transport):
    name = "e5"
    paper = PAPER + "figure 5"
    did = "The same over TCP."
    paper_figure = "relatively constant as readers increase, parallel to the local file system " \
        "and always significantly slower, about half"
    seconds_quick, seconds_full = 55, 2400
    transport, other, beside = TCP, UDP, "over UDP"

    @staticmethod
    def claims(found, counts):
        """Loosely held, for the paper has no number: how constant is relatively constant. How much
        slower than the local file system it is it says of both transports: about half."""
        curve = [v for v in (found.value("ide, outer", n) for n in counts) if v]
        return [Claim("least over most along the readers:", "relatively constant",
                      over(min(curve, default=None), max(curve, default=None)), 0.7, 1,
                      tuple(found.told("ide, outer", n) for n in counts)),
                *(found.claim("of local", "always significantly slower, about 0.5",
                              ("ide, outer", "ide, local"), n, *about(0.5)) for n in counts)]


def reorder(n, percent):
    """A client whose nfsiods deliver some of its READs out of order; one at a time, so that nobody
    else does."""
    return [*UDP, "--work", "reorder", "--readers", n, "--percent", percent, "--outstanding", 1]


class Always(Readers):
    name = "e6"
    paper = PAPER + "figure 6"
    did = "The default heuristic and read-ahead always, over UDP, on an idle client and one that " \
        "also runs four endless loops."
    ours = f"{REORDERED} % of the READs out of order, the most that their clients did over UDP, " \
        f"and {REORDERED_BUSY} % of the busy one's, as in their traces; it shares its processor " \
        "with four loops, and the server has the others. The table is FreeBSD's, so that what makes a difference here "\
        "is the order of READs: of 16 files it ejects none (figure 7 has those that do)."
    paper_figure = "no difference up to four readers, then they diverge; less so on the busy client"
    seconds_quick, seconds_full = 58, 1500

    def run(self, bed):
        counts = readers(bed, FEW_QUICK)
        clients = {"idle": (0, REORDERED), "busy": (LOOPS, REORDERED_BUSY)}
        curves = {f"{heuristic}, {client}": (heuristic, client) for client in clients
                  for heuristic in ("always", "default")}
        with their_disk(bed, "ide") as disk:
            works = lay_out(bed, disk, counts)

            def once(curve, n):
                heuristic, client = curves[curve]
                loops, percent = clients[client]
                return nfs(bed, disk, works[n], fsal=paper(heuristic), ra=table(),
                           arguments=reorder(n, percent),
                           beside=functools.partial(client_apart, loops=loops))

            found, points = sweep(bed, curves, counts, once, "evictions")
        return judge(points, [claim for n in counts for claim in self.claims(found, n)])

    @staticmethod
    def claims(found, n):
        """Of n readers. A gap on the busy client that is smaller is one nearer to 1, not beyond."""
        idle, busy = (("default, " + client, "always, " + client) for client in ("idle", "busy"))
        if n <= FEW:
            return [found.claim("default over always, idle", "1", idle, n, *ALIKE)]
        gap = found.ratio(*idle, n)
        return [found.claim("default over always, idle", "diverge", idle, n, *SLOWER),
                Claim(f"the busy client's over that, {so_many(n)}:", "a smaller gap",
                      over(found.ratio(*busy, n), gap), 1, (1 + SAME) / (gap or 1),
                      tuple(found.told(c, n) for c in (*busy, *idle)))]


class SlowDown(Readers):
    name = "e7"
    paper = PAPER + "figure 7"
    did = "Default and SlowDown with FreeBSD's nfsheur table and an enlarged one, beside " \
        "read-ahead always, over UDP."
    ours = f"{REORDERED} % of the READs out of order. The new table has 1017 places, of which a " \
        "file may have 32, as FreeBSD's got then. FreeBSD's old one, 64 places of which a file may " \
        "have 4, ejects none of 16 files by our hash, nor of 32 in most cases: the figure needs one " \
        "that does. So a file may have one of the 64 here, and those that share it eject each " \
        f"other, which is luck: rounds are over {SETS} sets of files (quick: {SETS_QUICK}), in each " \
        "all curves the same."
    paper_figure = "with the new table as always, SlowDown or not; with the old one slower with " \
        "more than four readers, SlowDown or not"
    seconds_quick, seconds_full = 125, 3000
    columns = (*COLUMNS, ("ejections", "evictions", "{:.0f}"))
    # To read ahead always theirs asked no table, so that no ejection could hinder it.
    CURVES = {"always": ("always", NEW_TABLE), "SlowDown, new table": ("slowdown", NEW_TABLE),
              "default, new table": ("default", NEW_TABLE),
              "SlowDown, old table": ("slowdown", EJECTING_TABLE),
              "default, old table": ("default", EJECTING_TABLE), "plugin's defaults": None}

    def run(self, bed):
        counts, sets = readers(bed, FEW_QUICK), SETS_QUICK if bed.quick else SETS
        with their_disk(bed, "ide", sets=sets) as disk:
            works = [lay_out(bed, disk, counts, f"set{s}n") for s in range(sets)]

            def once(curve, n, number):
                case, arguments, work = self.CURVES[curve], reorder(n, REORDERED), works[number][n]
                if not case:
                    return nfs(bed, disk, work, arguments=arguments)
                return nfs(bed, disk, work, fsal=paper(case[0]), ra=table(case[1]),
                           arguments=arguments)

            found, points = sweep(bed, self.CURVES, counts, once, "evictions", sets=sets)

        def of_always(curve, n):
            alike = n <= FEW or curve.endswith("new table")
            return found.claim(f"{curve} over always", "1" if alike else "below 1",
                               (curve, "always"), n, *(ALIKE if alike else SLOWER))

        return judge(points, [of_always(curve, n) for n in counts for curve in self.CURVES
                              if curve not in ("always", "plugin's defaults")],
                     [found.ratio("plugin's defaults", "SlowDown, new table", n) for n in counts])


class Strides(Experiment):
    name = "e8"
    paper = PAPER + "figure 8"
    did = "One reader of a 256 MB file by 2, 4 and 8 strides over UDP: default against cursors, " \
        "on both disks."
    SIZE_QUICK, SIZE = 32 * MIB, 64 * MIB
    ours = f"A file of {SIZE // MIB} MB (quick: {SIZE_QUICK // MIB}). It has {CURSORS} cursors, " \
        "as many as there are strides at most. What the drives read ahead by themselves is " \
        f"assumed (IDE {DISKS['ide']['look_ahead']} KB, SCSI {DISKS['scsi']['look_ahead']}, in " \
        f"{DISKS['ide']['segments']} places each), and default, which asks for one block at a " \
        "time, lives of it. The gain is judged, not the MB/s: a larger one counts only where both " \
        "are as fast as in table 1."
    paper_figure = "cursors 1.50, 1.81, 2.41 x default (IDE), 1.62, 1.81, 1.72 x (SCSI)"
    seconds_quick, seconds_full = 48, 1800
    columns = (("disk", "disk", "{}"), ("heuristic", "curve", "{}"), ("strides", "x", "{}"),
               ("MB/s", "mb_s", "{:.1f}"), ("seeks/MB", "seeks_mb", "{:.2f}"))
    CURVES = {"default": "default", "cursor": "cursor", "plugin's defaults": None}
    GAIN = {"ide": (1.50, 1.81, 2.41), "scsi": (1.62, 1.81, 1.72)}
    # MB/s of table 1: a larger gain is a gain only where both are as fast as theirs.
    MB_S = {"ide": {"default": (7.66, 7.83, 5.26), "cursor": (11.49, 14.15, 12.66)},
            "scsi": {"default": (9.49, 8.52, 8.21), "cursor": (15.39, 15.38, 14.12)}}

    @staticmethod
    def times(_):
        return None  # as many rounds as the bed says

    def run(self, bed):
        points, claims, ours = [], [], []
        for name in DISKS:
            with their_disk(bed, name) as disk:
                work = bed.layout(disk, 1, self.SIZE_QUICK if bed.quick else self.SIZE)

                def once(curve, n, disk=disk, work=work):
                    case = self.CURVES[curve]
                    return nfs(bed, disk, work, fsal=paper(case) if case else {},
                               ra=table() if case else None,
                               arguments=[*UDP, "--work", "stride", "--stride", n])

                found, more = sweep(bed, self.CURVES, STRIDES, once, times=self.times(bed))
            points += [dict(p, disk=name, **self.spread(found, p)) for p in more]
            claims += [self.claim(found, name, place) for place in range(len(STRIDES))]
            ours += [found.ratio("plugin's defaults", "cursor", n) for n in STRIDES]
        return judge(points, claims, ours)

    def claim(self, found, disk, place):
        """Of one number of strides. Both curves as fast as in table 1: more than its gain is more
        for the reader, too."""
        n, gain, pair = STRIDES[place], self.GAIN[disk][place], ("cursor", "default")
        fast = all((found.value(c, n) or 0) >= self.MB_S[disk][c][place] for c in pair)
        return Claim(f"{disk}, {n} strides: cursors over default", f"{gain:.2f}",
                     found.ratio(*pair, n), *near(gain),
                     tuple(f"{disk}: {found.told(c, n)}" for c in pair), fast)

    @staticmethod
    def spread(_, __):
        """What else a point tells."""
        return {}

    def draw(self, outcome, path):
        plot.bars(path, self.paper, "MB/s", {
            f"{name}, s={n}": {p["curve"]: p["mb_s"] for p in outcome.points
                               if (p["disk"], p["x"]) == (name, n) and p["mb_s"]}
            for name in DISKS for n in STRIDES})


class StrideTable(Strides):
    name = "et1"
    paper = PAPER + "table 1"
    did = "The mean of ten such reads, and their standard deviation."
    ours = "The same reads again, ten of each, all from cold caches; quick: two, of 12 MB. Judged as " \
        "figure 8."
    SIZE_QUICK = 12 * MIB
    seconds_quick, seconds_full = 36, 3000
    CURVES = {"default": "default", "cursor": "cursor"}
    TIMES_QUICK, TIMES = 2, 10
    columns = (("disk", "disk", "{}"), ("heuristic", "curve", "{}"), ("strides", "x", "{}"),
               ("mean MB/s", "mean", "{:.2f}"), ("standard deviation", "deviation", "{:.2f}"),
               ("reads", "reads", "{}"))
    paper_figure = "IDE: default 7.66, 7.83, 5.26 MB/s, cursors 11.49, 14.15, 12.66; SCSI: 9.49, " \
        "8.52, 8.21 and 15.39, 15.38, 14.12"

    def times(self, bed):
        return self.TIMES_QUICK if bed.quick else self.TIMES

    @staticmethod
    def spread(found, point):
        interval = found.done.interval(found.name(point["curve"], point["x"]), "mb_s")
        values = found.done.values(found.name(point["curve"], point["x"]), "mb_s")
        if not interval:
            return {"reads": 0}
        beside = {"marked": interval["marked"]}
        mean, deviation = statistics.mean(values), statistics.pstdev(values)
        return {"mean": {"median": mean, "low": mean, "high": mean, **beside},
                "deviation": {"median": deviation, "low": deviation, "high": deviation, **beside},
                "reads": len(values)}


EXPERIMENTS = [Zcav, TaggedQueue, Policies, OverUdp, OverTcp, Always, SlowDown, Strides,
               StrideTable]
