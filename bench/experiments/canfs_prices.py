# SPDX-License-Identifier: LGPL-3.0-or-later
"""Figures 5 and 6 of CA-NFS with clients that obey: prices under a growing load, and wrong k."""
import contextlib

import link as links
import plot
from experiments import rounds
from experiments.canfs_bed import (DEFER, FREE, FREE_CPU, NO_ACTS, PAPER, group, hold, lay_out, load,
                                   measure, server_of, total, ways)
from experiments.experiment import Experiment, Outcome


def into_memory(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


@contextlib.contextmanager
def link_of(mbit):
    """A link without a limit, which `mbit` is to be; the server's settings with it, and the clients'."""
    link = links.Link()
    link.up()
    try:
        yield link, {"Network_Interface": link.interface, "Network_Capacity": mbit}, \
            ("--link", int(mbit * 1e6 / 8))
    finally:
        link.down()


def over_link(bed, mbit, specs, cached, ra, options):
    """canfs' results of clients behind a link of `mbit`, who find the files `cached` in the server's
    memory."""
    with link_of(mbit) as (link, own, theirs), bed.disk(size_mb=2048) as disk:
        lay_out(bed, disk, specs)
        with server_of(bed, disk, "ra", NO_ACTS, {**own, **ra}) as server:
            for path in cached:
                into_memory(f"{disk.mount}/{path}/d00/f000000")
            link.limit(mbit)
            return load(bed, disk, server, "ca prices", specs, (*options, *theirs), link.server,
                        link.inside)


def clients(n):
    return "1 client" if n == 1 else f"{n} clients"


class Prices(Experiment):
    """Parts a, b and e, f with clients that obey; c, d are bench/figure5's."""
    name = "c5"
    paper = f"{PAPER}, figure 5"
    did = "Four clients, one after another, at 50 MB/s each over a gigabit link; random reads of " \
        "growing spans of a disk: throughput and price."
    ours = "The same over a link of 400 Mbit/s, which the clients know; and twelve threads " \
        "that read 8 KB at random, each 42 ms after the last, so that the queue is as long as a " \
        "read takes, of spans 16 times the client's memory (4 MiB) and more. A writer beside " \
        "them shows who backs off. Memory (c, d) is bench/figure5's: it needs a server with " \
        "little." + FREE_CPU + "."
    paper_figure = "the price rises to near 1 as the link fills, throughput stays; so for the disk"
    seconds_quick, seconds_full = 56, 400
    needs = ("ip", "tc")
    columns = (("load", "series", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("reads/s", "reads_s", "{:.0f}"), ("price", "heard", "{:.2f}"),
               ("the writer heard", "price", "{:.2f}"), ("writer defers", "defers", "{:.2f}"))
    LINK = 400  # Mbit/s
    SPANS, SPANS_QUICK = (64, 128, 256, 1024), (64, 256, 1024)  # MiB
    spans = SPANS
    WRITER = "name=writer,work=seqwrite,size=256M,io=64K,background=1,"

    def network(self, bed, step):
        rate = int(0.4 * self.LINK * 1e6 / 8)
        specs = [f"name=r{n},work=seqread,clients={n},size=48M,io=64K,rate={rate},"
                 f"start={(n + 1) * step * 1000},dir=r{n}" for n in range(4)]
        specs += [f"{self.WRITER}rate=2000000,clients=4"]
        return over_link(bed, self.LINK, specs, [f"r{n}/c{n:02}" for n in range(4)], {},
                         ("--memory", "8M", "--seconds", 5 * step))

    @staticmethod
    def of_step(found, first, last):
        """What the seconds from first to last were in the mean."""
        histories = [c["history"] for c in found["clients"]]
        seconds = range(first + 1, min(last, histories[0]["seconds"]))
        mean = len(seconds) or 1
        writer = histories[-1]
        return {"mb_s": sum(h["read_mb"][s] for h in histories for s in seconds) / mean,
                "price": sum(writer["price"][s] for s in seconds) / mean,
                "heard": max(sum(h["price"][s] for s in seconds) / mean for h in histories),
                "defers": sum(writer["way"][s] == DEFER for s in seconds) / mean}

    def disk(self, bed, span, seconds):
        specs = [f"name=reader,work=randread,clients=0,threads=12,size={span}M,io=8K,think=42000",
                 f"{self.WRITER}rate=500000,clients=1"]
        found = measure(bed, "ca prices", specs, ("--memory", "4M", "--seconds", seconds))
        readers = {**found, "clients": found["clients"][:1]}  # who defers asks seldom
        first, last = seconds // 2 - 1, found["clients"][0]["history"]["seconds"]
        return {**self.of_step(found, first, last),
                "heard": self.of_step(readers, first, last)["heard"],
                "reads_s": group(found, "reader")["ops_s"]}

    def once(self, bed, name):
        step = 4 if bed.quick else 10
        if name != "network":
            return self.disk(bed, int(name.split()[1]), 9 if bed.quick else 20)
        found = self.network(bed, step)
        return {f"{n} {key}": value for n in range(5)
                for key, value in self.of_step(found, n * step, (n + 1) * step).items()}

    def run(self, bed):
        self.spans = self.SPANS_QUICK if bed.quick else self.SPANS
        done = rounds.run(bed, ["network", *(f"span {s} MiB" for s in self.spans)],
                          lambda name, _: self.once(bed, name))
        points = [{"series": clients(n), **{key: done.interval("network", f"{n} {key}")
                                               for key in ("mb_s", "price", "heard", "defers")}}
                  for n in range(5)]
        points += [done.point(s, "mb_s", "reads_s", "price", "heard", "defers")
                   for s in done.series() if s != "network"]
        by = {p["series"]: {k: v["median"] for k, v in p.items() if isinstance(v, dict)}
              for p in points}
        wrong = self.wrong(by)
        text = "price with 1 to 4 clients " + ", ".join(
            f"{by[clients(n)].get('heard', 0):.2f}" for n in range(1, 5)) + "; of spans " + \
            ", ".join(f"{by[f'span {s} MiB'].get('heard', 0):.2f}" for s in self.spans)
        told = "; ".join(f"{name}: {p.get('mb_s', 0):.1f} MB/s read, the writer defers "
                         f"{100 * p.get('defers', 0):.0f} % of the time" for name, p in by.items())
        return Outcome(points, "not reproduced" if wrong else "reproduced",
                       f"{'; '.join(wrong)} ({told})" if wrong else "", text)

    def wrong(self, by):
        steps = [by[clients(n)] for n in range(1, 5)]
        spans = [by[f"span {s} MiB"] for s in self.spans]
        one, three, four = steps[0], steps[2], steps[3]
        asked = {"the link's price with four clients is below 0.9": four["heard"] >= 0.9,
                 "with one client it is above 0.3": one["heard"] <= 0.3,
                 "the link's price does not rise with each client":
                     rises(steps, "heard", strictly=False),
                 "four clients get less than three": four["mb_s"] >= 0.95 * three["mb_s"],
                 "the writer does not back off": four["defers"] >= 0.5,
                 "the disk's price does not rise with each span": rises(spans, "heard"),
                 "reads a second do not fall with each span": rises(spans[::-1], "reads_s"),
                 "the disk's price is above 0.3 at the least span": spans[0]["heard"] <= 0.3,
                 "the disk's price is below 0.5 at the largest": spans[-1]["heard"] >= 0.5}
        return [what for what, good in asked.items() if not good]

    def draw(self, outcome, path):
        plot.bars(path, self.paper, "price (mean, of the client that heard the highest)", {
            p["series"]: p["heard"] for p in outcome.points if p["heard"]})


def rises(points, key, strictly=True):
    pairs = list(zip(points, points[1:]))
    return all(b[key] > a[key] or (b[key] == a[key] and not strictly) for a, b in pairs)


def mean_of(*ratios):
    """Of intervals, as one without a range; None where one of them is missing."""
    if None in ratios:
        return None
    mean = sum(r["median"] for r in ratios) / len(ratios)
    return {"median": mean, "low": mean, "high": mean, "marked": any(r["marked"] for r in ratios)}


class Sensitivity(Experiment):
    """k of the server's resources and of the clients' memory, one at a time."""
    name = "c6"
    paper = f"{PAPER}, figure 6"
    did = "Two clients read and write a file of 2 GB; k of one resource is wrong by orders."
    ours = "The running system, a reader at random and a writer on each of two clients, in " \
        "which the disk is what is short; for the network's k both over a link of 400 Mbit/s, " \
        "and the readers in order, of what the server has in memory: then the link is half " \
        "full, and the disk is not. Clients have so little memory (24 MB, 8) that it is full of " \
        "what they put off before anything counts: putting off is no loss by itself. The model " \
        "(bench/sweep_k) has more works." + FREE
    paper_figure = "small errors of k do not matter, orders of magnitude do; the disk and the " \
        "network most"
    seconds_quick, seconds_full = 75, 2400
    needs = ("ip", "tc")
    columns = (("k of", "resource", "{}"), ("k", "k", "{}"), ("reads/s", "reads_s", "{:.0f}"),
               ("MB/s written", "written_mb_s", "{:.1f}"), ("defers", "defer_share", "{:.2f}"),
               ("price", "price", "{:.2f}"), ("of the default", "of_default", "{:.2f}"))
    DEFAULTS = {"disk": 100, "memory": 10, "client": 10000, "network": 1000}
    SWEPT = {"disk": (1, 10, 30, 300, 1e6, 1e9), "memory": (3, 30, 1e4, 1e9),
             "client": (3e3, 1, 1e6, 1e9), "network": (1000, 300, 1, 10, 1e6, 1e9)}
    SWEPT_QUICK = {"disk": (30, 1, 1e6), "memory": (1e9,), "client": (1e6,), "network": (1000, 1)}
    SMALL, LARGE = 4, 100   # times too large or too small
    SAME, LESS = 0.95, 0.9  # of the default: no matter; notably less
    LINK = 400  # Mbit/s

    @classmethod
    def error(cls, resource, k):
        """How many times k is too large or too small."""
        return max(k / cls.DEFAULTS[resource], cls.DEFAULTS[resource] / k)

    @staticmethod
    def base(name):
        """What it is compared with: the network has a scene of its own."""
        return "network 1000" if name.startswith("network") else "default"

    def once(self, bed, name):
        resource, _, k = name.partition(" ")
        ra = {f"K_{resource.capitalize()}": int(float(k))} if resource in (
            "disk", "memory", "network") else {}
        size = "128M" if bed.quick else "256M"
        linked = resource == "network"
        writer = "name=writer,work=seqwrite,clients=0-1,size=256M,io=64K,rate=" \
            f"{4000000 if linked else 15000000}"
        options = ["--memory", "8M" if linked else "24M", "--warmup", 3,
                   "--seconds", 5 if bed.quick else 40]
        options += ["--k-dirty", k] if resource == "client" else []
        if linked:
            specs = ["name=reader,work=seqread,clients=0-1,size=128M,io=64K,rate=11000000,dir=r",
                     writer]
            found = over_link(bed, self.LINK, specs, ("r/c00", "r/c01"), ra, options)
        else:
            specs = [f"name=reader,work=randread,clients=0-1,size={size},io=8K,count=0", writer]
            found = measure(bed, "ca prices", specs, options, ra=ra)
        return {"reads_s": group(found, "reader")["operations"]["read"]["ops_s"],
                "written_mb_s": total(found, "saved_mb") / found["seconds"], **ways(found)}

    def run(self, bed):
        swept = self.SWEPT_QUICK if bed.quick else self.SWEPT
        names = ["default"] + [f"{r} {k:g}" for r, ks in swept.items() for k in ks]
        done = rounds.run(bed, names, lambda name, _: self.once(bed, name))
        points = []
        for name in done.series():
            resource, _, k = name.partition(" ")
            score = mean_of(*(done.ratio(name, self.base(name), key)
                              for key in ("reads_s", "written_mb_s")))
            points.append({**done.point(name, "reads_s", "written_mb_s", "defer_share", "price"),
                           "resource": resource, "k": k or "-", "of_default": score})
        scores = {p["series"]: p["of_default"]["median"] for p in points if p["of_default"]}
        text = "of the defaults: " + ", ".join(f"{name} {s:.2f}" for name, s in scores.items()
                                               if name != self.base(name))
        return hold(Outcome(points, "reproduced", "", text, {"scores": scores}), self.claims(scores))

    def claims(self, scores):
        """Small errors cost nothing; large ones of disk and network do, and more than others'."""
        far, near = {}, []
        for name, score in scores.items():
            resource, _, k = name.partition(" ")
            if name == self.base(name):
                continue
            error = self.error(resource, float(k))
            if error <= self.SMALL:
                near.append(score)
            elif error >= self.LARGE:
                far[resource] = min(score, far.get(resource, score))
        others = min((far[r] for r in ("memory", "client") if r in far), default=1)
        best = max(scores.values(), default=9)
        asked = {"the defaults are not within a tenth of the best k": 0.9 * best <= 1,
                 "a small error costs more than a twentieth, or was not measured":
                     bool(near) and min(near) >= self.SAME}
        for resource in ("disk", "network"):
            score = far.get(resource, 1)
            asked[f"orders of magnitude of the {resource}'s k leave {score:.2f}"] = score <= self.LESS
            asked[f"the {resource} does not matter more than memory ({score:.2f}, {others:.2f})"] = \
                score < others
        return asked

    def draw(self, outcome, path):
        plot.bars(path, self.paper, "of the defaults (mean of reads and writes)",
                  {p["series"]: p["of_default"] for p in outcome.points if p["of_default"]})
