# SPDX-License-Identifier: LGPL-3.0-or-later
"""Figures 5 and 6 of CA-NFS with clients that obey: prices under a growing load, and wrong k."""
import link as links
import plot
from experiments import rounds
from experiments.canfs_bed import (DEFER, NO_ACTS, PAPER, group, lay_out, load, measure,
                                   server_of, total, ways)
from experiments.experiment import Experiment, Outcome


def into_memory(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def clients(n):
    return "1 client" if n == 1 else f"{n} clients"


class Prices(Experiment):
    """Parts a, b and e, f with clients that obey; c, d are bench/figure5's."""
    name = "c5"
    paper = f"{PAPER}, figure 5"
    did = "Four clients, one after another, at 50 MB/s each over a gigabit link; random reads of " \
        "growing spans of a disk: throughput and price."
    ours = "The same over a link of 400 Mbit/s, and 16 random readers; a writer of 2 MB/s beside " \
        "them shows who backs off. Memory (c, d) is bench/figure5's: it needs a server with little."
    paper_figure = "the price rises to near 1 as the link fills, throughput stays; so for the disk"
    seconds_quick, seconds_full = 70, 400
    needs = ("ip", "tc")
    columns = (("load", "series", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("reads/s", "reads_s", "{:.0f}"), ("price", "price", "{:.2f}"),
               ("writer defers", "defers", "{:.2f}"))
    LINK = 400  # Mbit/s
    SPANS, SPANS_QUICK = (1, 16, 256, 1024), (1, 64, 1024)  # MiB
    spans = SPANS
    WRITER = "name=writer,work=seqwrite,size=256M,io=64K,rate=2000000,background=1,clients="

    def network(self, bed, step):
        rate = int(0.4 * self.LINK * 1e6 / 8)
        specs = [f"name=r{n},work=seqread,clients={n},size=48M,io=64K,rate={rate},"
                 f"start={(n + 1) * step * 1000},dir=r{n}" for n in range(4)] + [self.WRITER + "4"]
        link = links.Link()
        link.up()
        with bed.disk(size_mb=2048) as disk:
            lay_out(bed, disk, specs)
            ra = {"Network_Interface": link.interface, "Network_Capacity": self.LINK}
            with server_of(bed, disk, "ra", NO_ACTS, ra) as server:
                for n in range(4):
                    into_memory(f"{disk.mount}/r{n}/c{n:02}/d00/f000000")
                link.limit(self.LINK)
                found = load(bed, disk, server, "ca prices", specs, ("--memory", "8M", "--seconds",
                                                              5 * step), link.server, link.inside)
        link.down()
        return found

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
        specs = [f"name=reader,work=randread,clients=0,threads=16,size={span}M,io=8K",
                 self.WRITER + "1"]
        found = measure(bed, "ca prices", specs, ("--memory", "1M", "--seconds", seconds))
        return {**self.of_step(found, seconds // 2 - 1, found["clients"][0]["history"]["seconds"]),
                "reads_s": group(found, "reader")["ops_s"]}

    def once(self, bed, name):
        step = 4 if bed.quick else 10
        if name != "network":
            return self.disk(bed, int(name.split()[1]), 9 if bed.quick else 30)
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
        four, three, one = (by[clients(n)] for n in (4, 3, 1))
        small, large = (by[f"span {s} MiB"] for s in (self.spans[0], self.spans[-1]))
        asked = {"the link's price with four clients is below 0.9": four["heard"] >= 0.9,
                 "with one client it is above 0.3": one["heard"] <= 0.3,
                 "four clients get less than three": four["mb_s"] >= 0.95 * three["mb_s"],
                 "the writer does not back off": four["defers"] >= 0.5,
                 "the disk's price does not rise with the span": large["heard"] > small["heard"],
                 "the disk's price is below 0.5": large["heard"] >= 0.5}
        return [what for what, good in asked.items() if not good]

    def draw(self, outcome, path):
        plot.bars(path, self.paper, "price (mean, of the client that heard the highest)", {
            p["series"]: p["heard"] for p in outcome.points if p["heard"]})


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
    ours = "The running system, a reader at random and a writer on each of two clients; the " \
        "model (bench/sweep_k) has more works and resources."
    paper_figure = "small errors of k do not matter, orders of magnitude do; the disk most"
    seconds_quick, seconds_full = 60, 2400
    columns = (("k of", "resource", "{}"), ("k", "k", "{}"), ("reads/s", "reads_s", "{:.0f}"),
               ("MB/s written", "written_mb_s", "{:.1f}"),
               ("of the default", "of_default", "{:.2f}"))
    SWEPT = {"disk": (1, 10, 1000, 1e9), "memory": (1, 100, 1e9), "client": (1, 100, 1e6)}
    SWEPT_QUICK = {"disk": (1, 1000), "memory": (1e9,), "client": (1e6,)}

    def once(self, bed, name):
        resource, _, k = name.partition(" ")
        ra = {f"K_{resource.capitalize()}": int(float(k))} if resource in ("disk", "memory") else {}
        size = "128M" if bed.quick else "256M"
        specs = [f"name=reader,work=randread,clients=0-1,size={size},io=8K,count=0",
                 "name=writer,work=seqwrite,clients=0-1,size=256M,io=64K,rate=15000000"]
        options = ["--memory", "64M", "--warmup", 2, "--seconds", 5 if bed.quick else 40]
        options += ["--k-dirty", k] if resource == "client" else []
        found = measure(bed, "ca prices", specs, options, ra=ra)
        return {"reads_s": group(found, "reader")["ops_s"],
                "written_mb_s": total(found, "saved_mb") / found["seconds"], **ways(found)}

    def run(self, bed):
        swept = self.SWEPT_QUICK if bed.quick else self.SWEPT
        names = ["default"] + [f"{r} {k:g}" for r, ks in swept.items() for k in ks]
        done = rounds.run(bed, names, lambda name, _: self.once(bed, name))
        points = []
        for name in done.series():
            reads = done.ratio(name, "default", "reads_s")
            writes = done.ratio(name, "default", "written_mb_s")
            resource, _, k = name.partition(" ")
            points.append({**done.point(name, "reads_s", "written_mb_s", "defer_share"),
                           "resource": resource, "k": k or "-",
                           "of_default": mean_of(reads, writes)})
        scores = {p["series"]: p["of_default"]["median"] for p in points if p["of_default"]}
        best = max(scores.values())
        good = scores.get("default", 0) / best
        return Outcome(points, "reproduced" if good >= 0.9 else "not reproduced",
                       "" if good >= 0.9 else f"the defaults reach {good:.2f} of the best k",
                       f"the defaults reach {good:.2f} of the best k; the worst "
                       f"{min(scores.values()) / best:.2f}", {"scores": scores})

    def draw(self, outcome, path):
        plot.bars(path, self.paper, "of the defaults (mean of reads and writes)",
                  {p["series"]: p["of_default"] for p in outcome.points if p["of_default"]})
