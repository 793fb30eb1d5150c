# SPDX-License-Identifier: LGPL-3.0-or-later
"""The blind set: works that no default was tuned on, run last and reported whatever they say.

They are what file servers meet beside the works of bench/workloads.py: requests and files of odd
sizes, programs that map files, streams at a fixed rate, users who think, several exports, writers
that append and commit. Nothing here may ever become the reason for a default.
"""
import time

import plot
from experiments import rounds
from experiments.experiment import Experiment, Outcome, machine

KIB = 1024
MIB = 1024 * KIB
# Of stock: the least that any work may get, and from where on it is better. One small round, as in
# quick runs, varies by more than six do.
NOT_BELOW, NOT_BELOW_QUICK = 0.97, 0.9
BETTER, BETTER_QUICK = 1.0, 1.1
SECONDS_FULL, SECONDS_QUICK = 20, 6  # of a load that lasts a given time


def queue_of(done):
    """In words: what the plugin's queue did in its first round, by its own counters at the end."""
    for stats in done.values("ra", "stats"):
        for d in stats.get("devices", ())[:1]:
            each = d["prefetch_bytes"] / max(1, d["served_prefetch"]) / MIB
            written = d["writeback_bytes"] / max(1, d["served_writeback"]) / MIB
            return (f"its queue served {d['served_prefetch']} fetches ahead of {each:.1f} MiB in the "
                    f"mean, {d['served_demand']} reads and {d['served_writeback']} write-backs of "
                    f"{written:.1f} MiB; half of them waited {d['wait_p50_us'] / 1e3:.0f} ms at "
                    f"most, the longest {d['wait_max_us'] / 1e3:.0f} ms")
    return "it has no counters of its queue"


def over(interval, whole):
    """The interval as a part of a number."""
    return {**interval, **{key: interval[key] / whole for key in ("median", "low", "high")}}


def must_have_lasted(loads, results, seconds):
    """RuntimeError where one of several loads that shall last so long had read its files before: the others
    would have had the disk for themselves from then on."""
    for arguments, result in zip(loads, results):
        end = result["total"]["first_end_s"]
        if len(loads) > 1 and "--duration" in arguments and end < 0.99 * seconds:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: it ended after {end:.1f} of {seconds} s")


class Blind(Experiment):
    """One work over stock, tuned (not with --quick) and ra. `sets`: (name, files, bytes of each) to lay out.
    `better`: figures, 1 where more is better, -1 where less is."""
    did = paper_figure = "-"
    words = {"reproduced": "as stock", "not reproduced": "worse"}
    seconds_quick, seconds_full = 13, 420
    sets = ()
    better = {"mb_s": 1}
    writes = False
    columns = (("server", "series", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("small files' MB/s", "small_mb_s", "{:.1f}"),
               ("requests/s", "requests_s", "{:.1f}"), ("commits/s", "commits_s", "{:.2f}"),
               ("p99 ms", "p99_ms", "{:.1f}"),
               ("worst ms", "worst_ms", "{:.0f}"), ("seeks", "seeks", "{:.0f}"),
               ("disk busy", "disk_busy", "{:.2f}"),
               ("disk bytes/byte", "disk_per_byte", "{:.2f}"), ("CPU s", "cpu_s", "{:.2f}"))

    def loads(self, seconds, mount):
        """Arguments of nfsbench, a list for each that runs at the same time. `mount`: the disk's,
        by which exports are named."""
        raise NotImplementedError

    def figures(self, results):
        """Of the results of the loads."""
        total = results[0]["total"]
        return {"mb_s": total["mb_s"], "p99_ms": total["latency_ms"]["p99"]}

    def settings(self, disk):
        """More of bed.server."""
        return {}

    def run(self, bed):
        seconds = SECONDS_QUICK if bed.quick else SECONDS_FULL
        names = ["stock", "ra"] if bed.quick else ["stock", "tuned", "ra"]
        with bed.disk(size_mb=4096) as disk:
            for name, files, size in self.sets:
                bed.layout(disk, files, size, name)

            def once(kind, _):
                if self.writes:
                    disk.renew()
                with bed.server(kind, disk, **self.settings(disk)) as server:
                    bed.cold(disk)
                    before, cpu = disk.stats(), machine.cpu_seconds(server.pid)
                    began = time.monotonic()
                    loads = self.loads(seconds, disk.mount)
                    results = bed.together(server, loads)
                    took = time.monotonic() - began
                    must_have_lasted(loads, results, seconds)
                    after, cpu = disk.stats(), machine.cpu_seconds(server.pid) - cpu
                moved = sum(r["total"]["bytes"] for r in results)
                return {**self.figures(results), "cpu_s": cpu,
                        "seeks": after["seeks"] - before["seeks"],
                        "disk_busy": (after["busy_ms"] - before["busy_ms"]) / 1e3 / took,
                        "disk_seeking": (after["seek_ms"] - before["seek_ms"]) / 1e3 / took,
                        "stats": server.final_stats(),  # of the plugin: what its turns did
                        "disk_per_byte": (after["read_bytes"] - before["read_bytes"]) / moved}

            return self.judge(rounds.run(bed, names, once), bed.quick)

    def judge(self, done, quick=False):
        least, better = (NOT_BELOW_QUICK, BETTER_QUICK) if quick else (NOT_BELOW, BETTER)
        gains = {key: done.ratio("ra", "stock", key) for key in self.better}
        if None in gains.values():
            raise RuntimeError("no round of stock and ra to compare")
        good = [k for k, g in gains.items() if (g["low"] > better if self.better[k] > 0
                                                else g["high"] < 1 / better)]
        bad = [k for k, g in gains.items() if (g["median"] < least if self.better[k] > 0
                                               else g["median"] > 1 / least)]

        def counted(server):
            return f"{done.median(server, 'seeks'):.0f} seeks, " \
                f"{done.median(server, 'disk_busy'):.2f} of the time busy, " \
                f"{done.median(server, 'disk_per_byte'):.2f} bytes read for each that clients moved"

        text = ", ".join(f"{k} {g['median']:.2f} x stock" for k, g in gains.items())
        why = "" if not bad else \
            f"worse than stock: {', '.join(bad)}; of the disk {counted('ra')} against " \
            f"{counted('stock')}; {queue_of(done)}"
        keys = [key for _, key, _ in self.columns[1:]]
        return Outcome([done.point(s, *keys) for s in done.series()],
                       "not reproduced" if bad else "better" if good else "reproduced", why, text,
                       {"gains": gains})

    def draw(self, outcome, path):
        """What it is judged by, over stock's: a gain of one is shown beside a loss of another."""
        titles = {k: t for t, k, _ in self.columns}
        stock = next(p for p in outcome.points if p["series"] == "stock")
        groups = {titles[key]: {p["series"]: over(p[key], stock[key]["median"])
                                for p in outcome.points if p[key]}
                  for key in self.better if stock[key] and stock[key]["median"]}
        plot.bars(path, f"{self.name}: {self.paper}", "x stock", groups)


class OddSizes(Blind):
    name = "blind1"
    paper = "odd request sizes"
    ours = "Four readers of 24 KiB at a time, three outstanding each. It fits no chunk."
    sets = (("set", 4, 48 * MIB),)

    def loads(self, seconds, mount):
        return [["--work", "seq", "--readers", 4, "--dir", "set", "--size", 4 * 48 * MIB,
                 "--request", 24 * KIB, "--outstanding", 3]]


class MappedFile(Blind):
    name = "blind2"
    paper = "a mapped file, 4 KiB at a time"
    ours = "Three runs through a mapped file, 4 KiB at a time. One fault waits for the other."
    sets = (("set", 1, 48 * MIB),)

    def loads(self, seconds, mount):
        return [["--work", "stride", "--stride", 3, "--dir", "set", "--size", 48 * MIB,
                 "--request", 4 * KIB, "--outstanding", 1]]


class Sizes(Blind):
    name = "blind3"
    paper = "files of three sizes at once"
    ours = "Files of 256 KiB, 4 MiB and 64 MiB, read whole by 128, 8 and 2 readers at once."
    sets = (("small", 128, 256 * KIB), ("middle", 8, 4 * MIB), ("large", 2, 64 * MIB))
    better = {"mb_s": 1, "small_mb_s": 1}

    def loads(self, seconds, mount):
        return [["--work", "seq", "--readers", n, "--dir", name, "--size", n * size]
                for name, n, size in self.sets]

    def figures(self, results):
        ends = [r["total"]["last_end_s"] for r in results]
        return {"mb_s": sum(r["total"]["bytes"] for r in results) / 1e6 / max(ends),
                "small_mb_s": results[0]["total"]["mb_s"],
                "p99_ms": max(r["total"]["latency_ms"]["p99"] for r in results)}


class Video(Blind):
    name = "blind4"
    paper = "video beside a copy"
    ours = "Eight video streams of 8 Mbit/s each beside a copy, which reads one file and writes " \
        "another. The streams' worst wait is what a viewer sees."
    sets = (("video", 8, 32 * MIB), ("copy", 1, 512 * MIB))
    better = {"worst_ms": -1, "mb_s": 1}

    def loads(self, seconds, mount):
        return [["--work", "seq", "--readers", 8, "--dir", "video", "--size", 8 * 32 * MIB,
                 "--outstanding", 2, "--rate", 32, "--duration", seconds],
                ["--work", "seq", "--dir", "copy", "--size", 512 * MIB, "--duration", seconds],
                ["--work", "clients", "--dir", "copy", "--duration", seconds, "--client",
                 f"writer,work=write,request={256 * KIB},outstanding=4,size={512 * MIB},"
                 f"commit={32 * MIB}"]]

    def figures(self, results):
        return {"mb_s": results[1]["total"]["mb_s"],
                "p99_ms": results[0]["total"]["latency_ms"]["p99"],
                "worst_ms": results[0]["total"]["latency_ms"]["max"]}

    writes = True

    def settings(self, disk):
        return {"memory": "small"}


class Office(Blind):
    name = "blind5"
    paper = "users who think beside a backup"
    ours = "Twenty-four users who read 8 KiB twice a second each beside a " \
        "backup that reads all in sequence."
    sets = (("users", 24, 32 * MIB), ("backup", 1, 2048 * MIB))
    better = {"p99_ms": -1, "mb_s": 1}

    def loads(self, seconds, mount):
        return [["--work", "random", "--readers", 24, "--dir", "users", "--size", 32 * MIB,
                 "--request", 8 * KIB, "--outstanding", 1, "--rate", 2, "--duration", seconds,
                 "--count", 1024],
                ["--work", "seq", "--dir", "backup", "--size", 2048 * MIB, "--duration", seconds]]

    def figures(self, results):
        total = results[0]["total"]
        return {"mb_s": results[1]["total"]["mb_s"], "requests_s": total["requests_s"],
                "p99_ms": total["latency_ms"]["p99"], "worst_ms": total["latency_ms"]["max"]}


class Exports(Blind):
    name = "blind6"
    paper = "two exports of one disk"
    ours = "Two exports of one disk. Four streams of 48 KiB on one, two random readers of 16 KiB " \
        "on the other."
    sets = (("streams", 4, 512 * MIB), ("other", 2, 128 * MIB))
    better = {"mb_s": 1, "requests_s": 1}

    def settings(self, disk):
        path = f"{disk.mount}/other"
        return {"exports": [{"id": 2, "path": path, "pseudo": path, "params": {}}]}

    def loads(self, seconds, mount):
        return [["--work", "seq", "--readers", 4, "--dir", "streams", "--size", 4 * 512 * MIB,
                 "--request", 48 * KIB, "--duration", seconds],
                ["--work", "clients", "--duration", seconds, "--client",
                 f"one,work=random,flows=2,request={16 * KIB},outstanding=1,size={128 * MIB},"
                 f"export={mount}/other"]]

    def figures(self, results):
        total = results[1]["clients"][0]
        return {"mb_s": results[0]["total"]["mb_s"], "requests_s": total["requests_s"],
                "p99_ms": total["latency_ms"]["p99"]}


class Appenders(Blind):
    name = "blind7"
    paper = "writers that append and commit"
    ours = "Four writers that append 16 KiB at a time and commit each MiB beside three streams, " \
        "on a server with little memory."
    sets = (("set", 3, 640 * MIB),)
    better = {"mb_s": 1, "commits_s": 1}

    writes = True

    def settings(self, disk):
        return {"memory": "small"}

    def loads(self, seconds, mount):
        return [["--work", "seq", "--readers", 3, "--dir", "set", "--size", 3 * 640 * MIB,
                 "--duration", seconds],
                ["--work", "clients", "--dir", "set", "--duration", seconds, "--client",
                 f"log,work=write,flows=4,request={16 * KIB},outstanding=2,size={128 * MIB},"
                 f"commit={MIB}"]]

    def figures(self, results):
        client = results[1]["clients"][0]
        return {"mb_s": results[0]["total"]["mb_s"],
                "commits_s": client["commits"] / (client["to_s"] - client["from_s"]),
                "p99_ms": results[0]["total"]["latency_ms"]["p99"]}


class LargeRequests(Blind):
    name = "blind8"
    paper = "requests of 1 MiB"
    ours = "Two readers of 1 MiB at a time, sixteen outstanding each, as with rsize=1048576."
    sets = (("set", 2, 192 * MIB),)

    def loads(self, seconds, mount):
        return [["--work", "seq", "--readers", 2, "--dir", "set", "--size", 2 * 192 * MIB,
                 "--request", MIB, "--outstanding", 16]]


class Disorder(Blind):
    name = "blind9"
    paper = "far out of order"
    ours = "One reader with forty percent of its requests up to 32 places out of order."
    sets = (("set", 1, 128 * MIB),)

    def loads(self, seconds, mount):
        return [["--work", "reorder", "--percent", 40, "--distance", 32, "--dir", "set",
                 "--size", 128 * MIB, "--outstanding", 8]]


class ManyPlaces(Blind):
    name = "blind10"
    paper = "many places of one file"
    ours = "Eleven readers of one file from eleven places, 20 KiB at a time."
    sets = (("set", 1, 128 * MIB),)

    def loads(self, seconds, mount):
        return [["--work", "shared", "--readers", 11, "--spread", "--dir", "set",
                 "--size", 128 * MIB, "--request", 20 * KIB, "--duration", seconds]]


EXPERIMENTS = [OddSizes, MappedFile, Sizes, Video, Office, Exports, Appenders, LargeRequests,
               Disorder, ManyPlaces]
