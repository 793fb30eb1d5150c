# SPDX-License-Identifier: LGPL-3.0-or-later
"""Gateways: the plugin above CephFS and GlusterFS, beside the stock FSALs and beside these with
the best settings that their own client libraries have. The clusters are those of the tests
(test/clusters), on this machine.

    bench/papers gateways       # or g1, g2 (a modelled disk below), g3, g4 (2 ms of latency),
                                # g5, g6 (in memory, no latency), g7, g8 (the price of the disk),
                                # g9, g10 (what a random READ costs)

`moved` is what the gateway had from the cluster over what its clients read, counted at the
network: all but the replies to them, and what acknowledges these, is the cluster's. The cluster's own
headers are in it: of 8 KiB they are a share that stock has too, so no more than that is asked there.
Clients, gateway and cluster share this machine's processors, and where data lies in memory these are what there is
to share out: how busy they were is told.
"""
import plot
import testbed
import workloads
from experiments import gateway_bed, gateway_cost, gateway_prices, rounds
from experiments.experiment import Experiment, Outcome
from experiments.gateway_bed import CEPH, GLUSTER, HEADERS, MIB

WORKS = ("seq1", "seq8", "stride2", "stride8", "reorder10", "random8k", "random8ko32")
SERVERS = ("stock", "tuned", "ra")
# Of the stock FSAL, in the order of WORKS.
WANTED = {("CEPH", "disk"): (1, 5, 9, 8, 1, .98, .98), ("GLUSTER", "disk"): (1, 7, 6, 8, 1.2, .98, .98),
          ("CEPH", "latency"): (3.5, 1.1, 4, 4, 1, .98, .98), ("GLUSTER", "latency"): (6, 1.5, 5, 5, 1, .98, .98),
          ("CEPH", "memory"): (1, 1, 1.8, 1.8, 1, .98, .98), ("GLUSTER", "memory"): (1, 1, 1, 1, 1, .98, .98)}
# Where a disk is below, of the best own settings too.
BEST, BEST_WANTED = ("seq8", "stride2", "stride8"), 1
MOVED_MOST = 1.05
BUSY = .85  # of the processors' time: of a short load the beginning, too, is in it
SIZE_MIB = {"disk": (64, 256), "latency": (64, 256), "memory": (256, 256)}  # quick, full
# In memory what is wanted of strides comes from a file of 64 MiB: in one of 256 the stock client's read-ahead
# comes further with two of them.
STRIDED_MIB = {"memory": 64}
SECONDS = {("CEPH", "disk"): (130, 1800), ("GLUSTER", "disk"): (170, 1200), ("CEPH", "latency"): (70, 900),
           ("GLUSTER", "latency"): (110, 700), ("CEPH", "memory"): (60, 400), ("GLUSTER", "memory"): (100, 500)}
RANDOM = {"disk": (300, 1000), "latency": (300, 1000), "memory": (8000, 8000)}
AT_ONCE = 10  # where no disk is below so many times the READs where 32 are outstanding, or it is over at once


def works_of(storage, quick):
    """The Workloads, by name."""
    which = 0 if quick else 1
    size, count = SIZE_MIB[storage][which] * MIB, RANDOM[storage][which]
    more = AT_ONCE if storage == "latency" else 1
    strided = STRIDED_MIB.get(storage, size // MIB) * MIB
    return {name: workloads.make(name, strided if name.startswith("stride") else size,
                                 random_count=count * (more if name == "random8ko32" else 1))
            for name in WORKS}


class Gateways(Experiment):
    """One cluster, one kind of storage below."""
    did = "No paper: what a gateway gains."
    words = {"reproduced": "as wanted", "better": "as wanted", "not reproduced": "not as wanted"}
    columns = (("work", "work", "{}"), ("server", "server", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("moved / read", "moved", "{:.2f}"), ("processors busy", "busy", "{:.2f}"))

    def __init__(self, name, kind, storage):
        self.name, self.kind, self.storage = name, kind, storage
        self.paper = f"Gateways: FSAL_{kind.fsal_name}, {gateway_bed.STORAGES[storage]}"
        self.ours = ("The stock FSAL, the same with the best settings of its client library, and "
                     "the plugin with its defaults above it, over NFSv3.")
        self.wanted = dict(zip(WORKS, WANTED[kind.fsal_name, storage]))
        self.paper_figure = "wanted: " + ", ".join(
            f"{work} {x:g} x" for work, x in self.wanted.items()) + " stock" + (
                f"; {', '.join(BEST)} no less than the best own settings" if storage == "disk" else "") \
            + f"; moved at most {MOVED_MOST:g} x what is read, or what stock moves"
        self.seconds_quick, self.seconds_full = SECONDS[kind.fsal_name, storage]

    def run(self, bed):
        work = testbed.e2e.work_directory()
        cluster, disk = gateway_bed.cluster_above(bed, self.kind, self.storage, work)
        works = works_of(self.storage, bed.quick)
        gateway_bed.lay_out(bed, cluster, work, works.values())
        streams, ends = None, gateway_bed.Ends()
        if disk:
            disk.timing(True)
            streams = gateway_bed.streams_mb_s(disk)

        def once(series, _):
            name, server = series.split()
            return self._measure(bed, cluster, work, works[name], server, ends)

        done = rounds.run(bed, [f"{w} {s}" for w in WORKS for s in SERVERS], once)
        ends.wait()
        return self.outcome(done, streams)

    @staticmethod
    def _measure(bed, cluster, work, one, name, ends):
        server = gateway_bed.started(bed, cluster, work, name)
        total, moved = gateway_bed.measured(bed, server, one.arguments, ends)
        read, calls = total["bytes"], total["requests"]
        return {"mb_s": total["mb_s"], "moved": (moved - read - HEADERS * calls) / read, "busy": bed.watch.busy()}

    def outcome(self, done, streams=None):
        """`streams`: MB/s of the disk below, None: there is none."""
        points = [done.point(f"{w} {s}", "mb_s", "moved", "busy", work=w, server=s)
                  for w in WORKS for s in SERVERS]
        short, untold = [], []
        for work, server, wanted in self._asked():
            ratio = done.ratio(f"{work} ra", f"{work} {server}", "mb_s")
            if not ratio:
                short.append(f"{work}: no round")
            elif round(ratio["median"], 2) < wanted:
                text = f"{work}: {rounds.in_words(ratio, f' x {server}')}, wanted {wanted:g}"
                if server == "stock":
                    text += beyond(done, wanted * done.median(f"{work} stock", "mb_s"), streams) \
                        or no_time(done, work)
                (untold if round(ratio["high"], 2) >= wanted else short).append(text)
        short += filter(None, (moved_too_much(done, work) for work in WORKS))
        verdict = "not reproduced" if short else "not told" if untold else "reproduced"
        return Outcome(points, verdict, "; ".join(short + untold), self._figure(done),
                       {"disk_mb_s": streams})

    def _asked(self):
        """(work, server, how many times that server's MB/s)"""
        yield from ((work, "stock", wanted) for work, wanted in self.wanted.items())
        if self.storage == "disk":
            yield from ((work, "tuned", BEST_WANTED) for work in BEST)

    def _figure(self, done):
        def times(works, server):
            ratios = {work: done.ratio(f"{work} ra", f"{work} {server}", "mb_s") for work in works}
            return ", ".join(f"{work} {ratio['median']:.{2 if ratio['median'] < 2 else 1}f} x"
                             for work, ratio in ratios.items() if ratio) + f" {server}"
        moved = [m for m in (done.median(f"{work} ra", "moved") for work in WORKS) if m is not None]
        return times(WORKS, "stock") + (f"; {times(BEST, 'tuned')}" if self.storage == "disk" else "") \
            + (f"; moved at most {max(moved):.2f}" if moved else "")

    def draw(self, outcome, path):
        groups = {}
        for p in outcome.points:
            if p["mb_s"]:
                groups.setdefault(p["work"], {})[p["server"]] = p["mb_s"]
        plot.bars(path, self.paper, "MB/s", groups)


def beyond(done, wanted, streams):
    """Whether so many MB/s are more than the disk below has, or gives to one reader whoever serves him;
    `streams`: what it has, None: no disk is below."""
    if not streams:
        return ""
    most = max(done.median(f"seq1 {server}", "mb_s") or 0 for server in SERVERS)
    return f" ({wanted:.0f} MB/s, where one reader has {most:.0f} and the disk {streams:.0f})" \
        if wanted > min(most, streams) else ""


def no_time(done, work):
    """Whether the machine, on which clients, gateway and cluster are, had no more of its processors to give."""
    busy = done.median(f"{work} ra", "busy")
    return f" (this machine's processors were {busy:.0%} busy)" if busy and busy >= BUSY else ""


def moved_too_much(done, work):
    """In words; None: it is not, or nobody knows."""
    ours, stock = (done.median(f"{work} {server}", "moved") for server in ("ra", "stock"))
    if ours is None or round(ours, 2) <= max(MOVED_MOST, round(stock or 0, 2)):
        return None
    return f"{work}: moved {ours:.2f} of what is read, wanted {MOVED_MOST:g}" + (
        f" or stock's {stock:.2f}" if stock else "")


EXPERIMENTS = [*(Gateways(name, kind, storage) for name, kind, storage in (
    ("g1", CEPH, "disk"), ("g2", GLUSTER, "disk"), ("g3", CEPH, "latency"), ("g4", GLUSTER, "latency"),
    ("g5", CEPH, "memory"), ("g6", GLUSTER, "memory"))),
    gateway_prices.Prices("g7", CEPH), gateway_prices.Prices("g8", GLUSTER),
    gateway_cost.Cost("g9", CEPH), gateway_cost.Cost("g10", GLUSTER)]
