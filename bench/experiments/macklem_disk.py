# SPDX-License-Identifier: LGPL-3.0-or-later
"""Macklem's experiments with a disk behind the server: the default mix and lookups against other
servers (graphs 8 and 9), and what a client's write policy costs (table 5)."""
import glob
import math
import os
import subprocess
import time

import knfsd
import machine
import plot
from experiments import macklem_bed as base
from experiments import rounds
from experiments.experiment import Experiment, Outcome

PAPER = "Macklem 1991"
LESS = 0.97  # of another server's mean round trip: less than that counts as better
FILES, SIZE = 64, 2 * base.MIB
# counters of the modelled disk, and what they are
DISK = {"reads": "reads", "writes": "writes", "seeks": "seeks", "busy_ms": "ms busy"}


class Servers(Experiment):
    """Mean round trip over the load of one mix, by server."""
    mix = ""
    kinds = ()
    beside = None  # a server that a quick run measures once only, so that nothing is told of it
    rates_quick = rates_full = ()
    seconds_point = 6, 40  # quick, full
    rounds_quick = 3
    columns = (("server", "series", "{}"), ("calls/s offered", "rate", "{}"),
               ("mean RTT ms", "rtt", "{:.2f}"), ("p99 ms", "p99", "{:.1f}"))

    def run(self, bed):
        rates = self.rates_quick if bed.quick else self.rates_full
        lack = knfsd.lacking() if "knfsd" in self.kinds else None
        kinds = [k for k in self.kinds if k != "knfsd" or not lack]
        self.ours = type(self).ours + (f" Left out here, the kernel's server: {lack}." if lack else "")
        with bed.disk(size_mb=1024) as disk:
            bed.layout(disk, FILES, SIZE)
            os.symlink("f0000", f"{disk.mount}/set/link0000")
            done = base.with_means(self._measure(bed, disk, kinds, rates), rates)
        ratios = {other: done.ratio("ra", other, "rtt_all") for other in kinds if other != "ra"}
        judged = {o: r for o, r in ratios.items() if not (bed.quick and o == self.beside)}
        found, why = base.verdict({self._told(other, ratio): self._is_less(ratio)
                                   for other, ratio in judged.items()})
        figure = "mean RTT " + ", ".join(f"{rounds.in_words(r)} x {other}" for other, r in ratios.items())
        points = [{"series": name, "rate": rate, "rtt": done.interval(name, f"rtt_{rate}"),
                   "p99": done.interval(name, f"p99_{rate}")} for name in kinds for rate in rates]
        traced = self.traced(done, kinds, max(rates))
        return Outcome(points, found, why and f"{why}; {traced}", figure,
                       {"without": lack, "traced": traced, "ratios": ratios})

    @staticmethod
    def _is_less(ratio):
        return base.side(ratio) < 0 and ratio["median"] <= LESS

    @staticmethod
    def _told(other, ratio):
        """In words, where it is not less."""
        side = base.side(ratio)
        return {0: "no difference can be told", 1: "worse", -1: "hardly less"}[side] \
            + f": {rounds.in_words(ratio)} x {other}"

    def _rounds(self, bed):
        return max(bed.rounds, self.rounds_quick) if bed.quick else bed.rounds

    def _measure(self, bed, disk, kinds, rates):
        def once(name, number):
            for path in glob.glob(f"{disk.mount}/set/[cw]*"):
                os.remove(path)
            os.sync()
            with bed.server(name, disk) as server:
                if name != "knfsd":
                    bed.cold(disk)
                figures = self._load(bed, disk, server, rates, number)
            if name == "ra":
                figures["ahead_kib"] = server.final_stats().get("prefetched_bytes", 0) / base.KIB
            return figures

        fewer = [k for k in kinds if bed.quick and k == self.beside]
        done = rounds.run(bed, [k for k in kinds if k not in fewer], once, self._rounds(bed))
        if fewer:
            done += rounds.run(bed, fewer, once)
        return base.must_have_ended(done, bed)

    def _load(self, bed, disk, server, rates, number):
        """Of each rate: round trips, those by operation as [count, mean], what the disk did for it, and
        the server's processor time."""
        seconds = self.seconds_point[not bed.quick]
        figures = {}
        for rate in rates:
            before, cpu = disk.stats(), machine.cpu_seconds(server.pid)
            found = base.offered(bed, server, self.mix, rate, seconds, more=[
                "--files", FILES, "--size", SIZE, "--order-seed", 1 + number])
            after, cpu = disk.stats(), machine.cpu_seconds(server.pid) - cpu
            figures[f"rtt_{rate}"] = found["total"]["mean"]
            figures[f"p99_{rate}"] = found["total"]["p99"]
            figures[f"ops_{rate}"] = {op: [row["count"], row["mean"]]
                                      for op, row in found.get("ops", {}).items()}
            figures[f"cpu_us_{rate}"] = 1e6 * cpu / max(1, found["issued"])
            for key in DISK:
                figures[f"{key}_{rate}"] = after.get(key, 0) - before.get(key, 0)
        return figures

    def traced(self, done, kinds, rate):
        """In words, of counters: which calls took the servers' time, and what they had the disk do."""
        return f"at {rate} calls/s " + "; ".join(
            f"{name}: {self.by_operation(done, name, rate)}, at the disk " + ", ".join(
                f"{done.median(name, f'{key}_{rate}') or 0:.0f} {word}" for key, word in DISK.items())
            + f", processor {done.median(name, f'cpu_us_{rate}') or 0:.0f} us a call" for name in kinds) \
            + f"; the plugin fetched {done.median('ra', 'ahead_kib') or 0:.0f} KiB ahead"

    @staticmethod
    def by_operation(done, name, rate):
        """The three operations that took most of the time, with the mean round trip of each."""
        sums = {}
        for ops in done.values(name, f"ops_{rate}"):
            for op, (count, mean) in ops.items():
                n, ms = sums.get(op, (0, 0))
                sums[op] = n + count, ms + count * mean
        most = sorted(sums, key=lambda op: sums[op][1], reverse=True)[:3]
        return ", ".join(f"{op} {sums[op][1] / max(1, sums[op][0]):.2f} ms" for op in most)

    def draw(self, outcome, path):
        names = list(dict.fromkeys(p["series"] for p in outcome.points))
        plot.lines(path, f"{self.name}: {self.mix} mix", "calls/s offered", "mean RTT, ms",
                   {n: [(p["rate"], p["rtt"]) for p in outcome.points if p["series"] == n]
                    for n in names})


class DefaultMix(Servers):
    name, paper = "m8", f"{PAPER}, graph 8"
    mix, kinds, beside = "default", ("ra", "stock", "knfsd"), "knfsd"
    rates_quick, rates_full = (120,), (20, 40, 80, 120, 160)
    did = "Nhfsstone's default mix on two servers on one machine: 4.3BSD Reno and Ultrix."
    ours = ("The default mix, WRITEs on the disk when answered, on the modelled disk: ours, stock VFS, and "
            "the kernel's server in a guest, which a quick run measures once and does not judge. Files "
            "cold at first; another server goes first in each round.")
    paper_figure = "Reno well below Ultrix at all loads"
    seconds_quick, seconds_full = 65, 4500


class LookupMix(Servers):
    name, paper = "m9", f"{PAPER}, graph 9"
    mix, kinds = "lookup", ("ra", "stock")
    rates_quick, rates_full = (3000,), (250, 500, 1000, 2000, 4000, 6000)
    did = "Lookups only on two servers: 4.3BSD Reno, with a name cache, and Ultrix."
    ours = ("The same on ours and stock VFS, started anew for each round, in turns. They have one name "
            "cache, the core's. The kernel's server runs in a guest, whose processor is slower: where "
            "nothing waits for a disk it is not compared.")
    paper_figure = "Reno well below Ultrix; the name cache explains a small part of it"
    seconds_point = 1, 40
    rounds_quick = 6
    seconds_quick, seconds_full = 32, 2000


# ---- table 5 ----

POLICIES = {  # options of bench/canfs's client, and whether each write() waits until it is on the disk
    "write through": (("--slots", 4), True),
    "async, 4": (("--slots", 4), False),
    "async, 16": (("--slots", 16), False),
    "delayed": (("--slots", 4, "--no-eager"), False),
    "no consistency": (("--slots", 4, "--no-eager", "--lazy-close"), False),
}
LOCAL = "local"
SIZES = {"no data": 0, "10 KB": 10 * base.KIB, "100 KB": 100 * base.KIB}
NAME = "create-delete"


class Client:
    """The reference client, told what to do line by line (bench/canfs/script.h)."""

    def __init__(self, canfs, server, options):
        self.process = subprocess.Popen(
            [str(c) for c in (canfs, "--server", "127.0.0.1", "--port", server.port, "--mount-port",
                              server.mport, "--export", server.exports[0]["path"], "--script",
                              "--clients", 1, "--rsize", base.BLOCK, "--wsize", base.BLOCK, *options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, commands):
        """What it answers to each. It has all at once: between looks for more it waits for its server."""
        self.process.stdin.write("".join(f"0 {command}\n" for command in commands))
        self.process.stdin.flush()
        answers = [self.process.stdout.readline().split() for _ in commands]
        for command, answer in zip(commands, answers):
            if not answer or answer[0] != "ok":
                raise RuntimeError(f"canfs: {command}: {' '.join(answer) or 'it ended'}")
        return [answer[1:] for answer in answers]

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def create_delete(client, size, waits):
    """One file: made, written in blocks, closed, opened, read, closed, deleted (Ousterhout 1990). Seconds."""
    commands = [f"create {NAME}"]
    for at in range(0, size, base.BLOCK):
        commands.append(f"write {NAME} {at} {min(base.BLOCK, size - at)} 1")
        commands += [f"fsync {NAME}"] * waits
    commands += [f"close {NAME}", f"open {NAME}"]
    commands += [f"read {NAME} 0 {size} 1"] * bool(size)
    commands += [f"close {NAME}", f"remove {NAME}"]
    began = time.monotonic()
    client(commands)
    return time.monotonic() - began


def create_delete_here(directory, size):
    began = time.monotonic()
    path = os.path.join(directory, NAME)
    with open(path, "wb") as file:
        file.write(bytes(size))
    with open(path, "rb") as file:
        file.read()
    os.remove(path)
    return time.monotonic() - began


class CreateDelete(Experiment):
    name, paper = "mt5", f"{PAPER}, table 5"
    did = "Create-Delete: a file is made, written, closed, read and deleted, by write policy and size."
    ours = ("The same by the reference client of bench/canfs (page cache, write-behind), blocks of 8 KiB, on "
            "the modelled disk: write through waits after each block, asynchronous has 4 or 16 calls under "
            "way, delayed sends at close, without consistency close sends nothing. Its WRITEs are NFSv3's, "
            "unstable with a COMMIT at close; the paper's protocol had each on the disk when answered.")
    paper_figure = ("ms for 100 KB: local 1170, write through 2401, async 1940 to 2094, delayed 2230, "
                    "without consistency 329")
    seconds_quick, seconds_full = 5, 900
    columns = (("policy", "series", "{}"), *((f"{size}, ms", size, "{:.1f}") for size in SIZES))
    PAPER_MS = {"async, 4": 1940, "async, 16": 2094, "delayed": 2230, "no consistency": 329}
    THROUGH = "write through", 2401
    WITHIN = 1.5  # x the paper's gain, either way

    def run(self, bed):
        times = 6 if bed.quick else 25
        with bed.disk(size_mb=512) as disk:
            os.chmod(disk.mount, 0o777)
            disk.timing(True)
            with bed.server("ra", disk) as server:
                def once(name, _):
                    figures = {}
                    for size, n in SIZES.items():
                        figures[size], calls = self._mean(bed, server, disk, name, n, times)
                    return {**figures, "writes": calls[1], "commits": calls[2]}  # of the largest

                done = base.must_have_ended(rounds.run(bed, [LOCAL, *POLICIES], once), bed)
        through, ms = self.THROUGH
        gains = {name: done.ratio(through, name, "100 KB")["median"] for name in self.PAPER_MS}
        claims = {f"{name} {gain:.2f} x as fast as write through, the paper's {ms / self.PAPER_MS[name]:.2f}":
                  1 / self.WITHIN <= gain * self.PAPER_MS[name] / ms <= self.WITHIN
                  for name, gain in gains.items()}
        found, why = base.verdict(claims)
        figure = "100 KB, x as fast as write through: " + ", ".join(
            f"{name} {gain:.2f}" for name, gain in gains.items())
        return Outcome([done.point(name, *SIZES) for name in done.series()], found,
                       why and f"{why} ({self._calls(done)})", figure)

    @staticmethod
    def _calls(done):
        """In words: what the policies send for a file of 100 KB."""
        return "WRITEs and COMMITs a file of 100 KB: " + "; ".join(
            f"{name} {done.median(name, 'writes'):.0f} and {done.median(name, 'commits'):.0f}"
            for name in POLICIES)

    @staticmethod
    def _mean(bed, server, disk, name, size, times):
        """(ms, [READs, WRITEs, COMMITs]) of a file."""
        calls = [0, 0, 0]
        if name == LOCAL:
            took = [create_delete_here(disk.mount, size) for _ in range(times)]
        else:
            options, waits = POLICIES[name]
            client = Client(bed.program("canfs"), server, options)
            try:
                took = [create_delete(client, size, waits) for _ in range(times)]
                calls = [int(n) / times for n in client(["counts"])[0][:3]]
            finally:
                client.end()
        return 1000 * math.fsum(took) / len(took), calls

    def draw(self, outcome, path):
        plot.bars(path, f"{self.name}: create, write, read, delete", "ms a file",
                  {size: {p["series"]: p[size] for p in outcome.points} for size in SIZES})


EXPERIMENTS = [DefaultMix, LookupMix, CreateDelete]
