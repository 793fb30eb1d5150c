# SPDX-License-Identifier: LGPL-3.0-or-later
"""Macklem, "Lessons Learned Tuning the 4.3BSD Reno Implementation of the NFS Protocol" (USENIX, winter
1991): which transport serves NFS over which network, and what it costs. Those of the server's disk are
in macklem_disk.py, what he left as further work and today's questions in macklem_today.py.
"""
import csv
import glob
import os
import resource
import statistics
import tempfile

import machine
import plot
from experiments import macklem_bed as base
from experiments import macklem_disk, macklem_today, rounds
from experiments.experiment import Experiment, Outcome
from experiments.macklem_bed import DYNAMIC, FIXED, TCP

PAPER = "Macklem 1991"
SAME = 1.15  # two means of round trips that differ by no more count as equal


class Curves(Experiment):
    """Mean round trip over the offered load, over one link, of one mix. What the link lost is counted over all
    rounds, and told beside them: those of another run are not in it."""
    goes_on = False
    configuration = mix = ""
    rates_quick = rates_full = ()
    seconds_point = 3, 30  # quick, full
    seconds_quick, seconds_full = 38, 3600
    columns = (("transport", "series", "{}"), ("calls/s offered", "rate", "{}"),
               ("mean RTT ms", "rtt", "{:.2f}"), ("sent again %", "again", "{:.2f}"))

    def claims(self, done, rates):
        """({text: whether it holds}, ours in one line)"""
        raise NotImplementedError

    def run(self, bed):
        rates = self.rates_quick if bed.quick else self.rates_full
        seconds = self.seconds_point[not bed.quick]
        with base.cached(bed) as server, base.link(bed, self.configuration) as at:
            done = base.curves(bed, server, at, base.MIXES[self.mix], rates, seconds)
        claims, figure = self.claims(done, rates)
        found, why = base.verdict(claims)
        traced = f"{base.sent_again(done, rates)}; {base.rto_of(done, rates)}; " \
            + base.lost_on(at.counted)
        return Outcome(base.points(done, rates), found, why and f"{why}; {traced}", figure,
                       {"link": at.counted, "hops": at.hops})

    def draw(self, outcome, path):
        curves = {name: [(p["rate"], p["rtt"]) for p in outcome.points if p["series"] == name]
                  for name in base.TRANSPORTS}
        plot.lines(path, f"{self.name}: {self.mix} mix, {self.configuration}", "calls/s offered",
                   "mean RTT, ms", curves)


def _lan_claims(done, rates):
    """The two ways of UDP shall be alike, so that what they differ by at a load is what chance does: TCP
    must be behind by more."""
    both = base.mean_ratio(done, DYNAMIC, FIXED, rates)
    behind = [base.mean_ratio(done, TCP, udp, rates) for udp in (FIXED, DYNAMIC)]
    chance = max(base.worst_ratio(done, *pair, rates) for pair in ((FIXED, DYNAMIC), (DYNAMIC, FIXED)))
    return ({"the way of setting the RTO matters": 1 / SAME <= both <= SAME,
             f"TCP is {min(behind):.2f} x UDP, and UDP's two ways differ by up to {chance:.2f} x at a "
             "load": min(behind) > chance},
            f"RTO A+4D {both:.2f} x RTO 1 s, TCP {behind[0]:.2f} x")


class LanLookup(Curves):
    name, paper = "m1", f"{PAPER}, graph 1"
    configuration, mix = "lan", "lookup"
    seconds_point = 2, 30
    seconds_quick = 29
    rates_quick, rates_full = (50, 400, 1500), (25, 50, 100, 200, 400, 800, 1600, 2400)
    did = "Nhfsstone, lookups only, on one Ethernet: mean RTT over the load, by transport."
    ours = "The same, open loop, over an emulated Ethernet of 10 Mbit/s (bench/linkemu), Linux' TCP."
    paper_figure = "both ways of UDP alike; TCP 7 ms more, until the server is loaded"

    def claims(self, done, rates):
        return _lan_claims(done, rates)


class LanRead(LanLookup):
    name, paper = "m2", f"{PAPER}, graph 2"
    mix = "read"
    rates_quick, rates_full = (20, 80, 160), (10, 20, 40, 60, 80, 120, 160, 200, 240)
    did = "Nhfsstone, half lookups and half reads of 8 KB, on one Ethernet."
    paper_figure = "both ways of UDP alike; TCP 10 ms more, until the server is loaded"


class RingLookup(Curves):
    name, paper = "m3", f"{PAPER}, graph 3"
    configuration, mix = "80mbit", "lookup"
    rates_quick, rates_full = (25, 100, 200), (25, 50, 100, 150, 200, 300)
    did = "Lookups across two Ethernets, an 80 Mbit/s token ring and two routers, with others on them."
    ours = "The same over emulated hops with bursts of others; how much others sent then is not known."
    paper_figure = "TCP stable; UDP with A+4D as good or better; UDP with 1 s erratic"

    def claims(self, done, rates):
        dynamic = base.mean_ratio(done, DYNAMIC, TCP, rates)
        fixed = base.worst_ratio(done, FIXED, DYNAMIC, rates)
        return ({"A+4D is worse than TCP": dynamic <= SAME,
                 "RTO 1 s is not worse than A+4D": fixed > SAME},
                f"A+4D {dynamic:.2f} x TCP; RTO 1 s up to {fixed:.1f} x A+4D")


class RingRead(RingLookup):
    name, paper = "m4", f"{PAPER}, graph 4"
    mix = "read"
    rates_quick, rates_full = (10, 40, 80), (5, 10, 20, 30, 40, 60, 80, 100)
    did = "Half lookups and half reads of 8 KB over the same way."


class SerialLookup(RingLookup):
    name, paper = "m5", f"{PAPER}, graph 5"
    configuration = "56kbit"
    rates_quick, rates_full = (3, 10, 20), (1, 2, 4, 6, 8, 10, 12, 15, 18, 21)
    seconds_point = 4, 60
    seconds_quick, seconds_full = 60, 6000
    did = "Lookups over a line of 56 kbit/s: reads of 8 KB would take more than a second each."
    ours = "The same over emulated hops."
    paper_figure = "RTO 1 s worse than both; A+4D often equal to TCP, at times unstable"

    def claims(self, done, rates):
        dynamic = base.mean_ratio(done, DYNAMIC, TCP, rates)
        fixed = {name: base.mean_ratio(done, FIXED, name, rates) for name in (DYNAMIC, TCP)}
        return ({"A+4D is worse than TCP": dynamic <= SAME,
                 **{f"RTO 1 s is {ratio:.2f} x {name}, not worse": ratio > SAME
                    for name, ratio in fixed.items()}},
                f"A+4D {dynamic:.2f} x TCP; RTO 1 s {fixed[DYNAMIC]:.2f} x A+4D, {fixed[TCP]:.2f} x TCP")


def cpu_of(pid):
    """Of a process: us of processor time, us of them in the kernel (by ticks), switches of threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[12])
    switches = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path, encoding="ascii") as file:
            switches += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return (1e6 * machine.cpu_seconds(pid), 1e6 * ticks / os.sysconf("SC_CLK_TCK"), switches)


def machine_us():
    """us that this machine's processors were not idle, less what ended children of this process used: the
    clients' programs. Interrupts, which no process has, are in it, of both ends, and the link's process."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq = (int(n) for n in file.readline().split()[1:8])
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (1e6 * (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
            - 1e6 * (children.ru_utime + children.ru_stime))


class ServerCpu(Experiment):
    name, paper = "m6", f"{PAPER}, graph 6"
    did = "The server's processor under the read mix, over UDP and TCP."
    ours = ("Processor time a call over an emulated link of 1 Gbit/s: of the server process; and of the whole "
            "machine less the client's program, as the paper counted idle time. The latter has the "
            "interrupts, where datagrams are put together and TCP lives, but those of the client, which is on "
            "this machine, and the link too: only what both say is told.")
    paper_figure = "TCP takes about 20 % more than UDP (7 ms a READ at 0.9 MIPS)"
    seconds_quick, seconds_full = 21, 1500
    columns = (("server and transport", "series", "{}"), ("calls/s offered", "rate", "{}"),
               ("server process us a call", "cpu_us", "{:.1f}"),
               ("of these in the kernel", "kernel_us", "{:.1f}"),
               ("switches a call", "switches", "{:.2f}"),
               ("machine less client us a call", "machine_us", "{:.0f}"))
    RATES = (200, 800)
    MORE = 1.05  # x UDP: less is called equal

    def run(self, bed):
        kinds = ("ra",) if bed.quick else ("ra", "stock")
        total = rounds.Rounds([])
        for kind in kinds:
            total += self._measure(bed, kind)
        most = max(self.RATES)
        process, whole = (total.ratio("ra TCP", "ra UDP", f"{key}_{most}") for key in ("us", "machine"))
        claims = {f"TCP takes {ratio['median']:.2f} x UDP's processor {where}": ratio["median"] > self.MORE
                  for ratio, where in ((process, "in the server process"), (whole, "on the machine"))}
        found, why = base.verdict(claims)
        figure = (f"TCP {process['median']:.2f} x UDP at {most} calls/s in the server process, "
                  f"{whole['median']:.2f} x on the machine less the client")
        return Outcome([{"series": name, "rate": rate, **{
            key: total.interval(name, f"{short}_{rate}") for key, short in (
                ("cpu_us", "us"), ("kernel_us", "kernel"), ("switches", "switches"),
                ("machine_us", "machine"))}}
                        for name in total.series() for rate in self.RATES],
                       found, why and f"{why}: {self._traced(total)}", figure,
                       {"process": process, "machine": whole})

    def _traced(self, total):
        """Where the processor's time went, by transport."""
        most = max(self.RATES)
        return f"at {most} calls/s " + "; ".join(
            f"{name} {total.median(name, f'us_{most}'):.0f} us a call, "
            f"{total.median(name, f'kernel_{most}'):.0f} of them in the kernel, with "
            f"{total.median(name, f'switches_{most}'):.1f} switches of threads; on the machine "
            f"{total.median(name, f'machine_{most}'):.0f} us"
            for name in total.series())

    def _measure(self, bed, kind):
        seconds = 4 if bed.quick else 20
        with base.cached(bed, kind) as server, base.link(bed, "gigabit") as at:
            def once(name, number):
                transport = "tcp" if name.endswith("TCP") else "udp-dynamic"
                figures = {}
                for rate in self.RATES:
                    before = (*cpu_of(server.pid), machine_us())
                    found = base.offered(bed, server, "read-lookup", rate, seconds, transport, at,
                                         ["--order-seed", 1 + number])
                    took = [b - a for a, b in zip(before, (*cpu_of(server.pid), machine_us()))]
                    for key, value in zip(("us", "kernel", "switches", "machine"), took):
                        figures[f"{key}_{rate}"] = value / found["issued"]
                return figures

            return base.must_have_ended(rounds.run(bed, [f"{kind} UDP", f"{kind} TCP"], once), bed)

    def draw(self, outcome, path):
        groups = {f"{rate} calls/s": {p["series"]: p["cpu_us"] for p in outcome.points
                                      if p["rate"] == rate} for rate in self.RATES}
        plot.bars(path, f"{self.name}: server's processor, read mix", "us a call", groups)


class Trace(Experiment):
    name, paper = "m7", f"{PAPER}, graph 7"
    did = "A trace of RTT and of RTO = A+4D of reads."
    ours = "The same of READs of 8 KiB in the read mix over the emulated 80 Mbit/s way."
    paper_figure = "the RTO stays above nearly all round trips and follows them"
    seconds_quick, seconds_full = 12, 120
    goes_on = False  # as Curves
    RATE = 40
    BELOW = 0.95  # share of round trips that must be
    CONSTANT = 1000  # ms, the RTO until something was measured

    def run(self, bed):
        seconds = 10 if bed.quick else 60
        with base.cached(bed) as server, base.link(bed, "80mbit") as at, \
                tempfile.TemporaryDirectory(prefix="ra-m7-", dir="/var/tmp") as work:
            path = os.path.join(work, "trace.csv")

            def once(_, number):
                told = base.offered(bed, server, "read-lookup", self.RATE, seconds, "udp-dynamic",
                                    at, ["--udp-trace", path, "--order-seed", 1 + number])
                return self._judge(path, told["transport"].get("late", 0))

            done = rounds.run(bed, [DYNAMIC], once, 1)
        found = done.records[0]["figures"]
        traced = f"{found['again']:.1f} % of READs were sent again, {found['needless']:.1f} % " \
            f"though nothing was lost; {base.lost_on(at.counted)}"
        good, why = base.verdict({"round trips beyond the RTO are common":
                                  found["below"] >= self.BELOW})
        figure = (f"{100 * found['below']:.1f} % of answers that were not lost came within the RTO; "
                  "medians of round trip and RTO "
                  f"{found['rtt_ms']:.1f} and {found['rto_ms']:.1f} ms")
        return Outcome([{"series": "READ", "rtt": found["rtt_ms"], "rto": found["rto_ms"]}], good,
                       why and f"{why}: {traced}", figure, {"trace": found["trace"]})

    @staticmethod
    def _judge(path, late):
        """`late`: answers of calls that were answered already, and so had been sent again needlessly."""
        with open(path, encoding="ascii") as file:
            rows = [(float(at), float(rtt), float(rto), int(sendings))
                    for at, kind, rtt, rto, sendings in csv.reader(file) if kind == "read"]
        once = [r for r in rows if r[3] == 1]
        return {"below": sum(r[1] <= r[2] for r in once) / max(1, len(once) + late),
                "needless": 100 * late / max(1, len(rows)),
                "again": 100 * (1 - len(once) / max(1, len(rows))),
                "rtt_ms": statistics.median(r[1] for r in once),
                "rto_ms": statistics.median(r[2] for r in once),
                "trace": [(round(at - rows[0][0], 4), rtt, rto, n) for at, rtt, rto, n in rows]}

    def draw(self, outcome, path):
        trace = [row for row in outcome.more["trace"] if row[3] == 1 and row[2] < self.CONSTANT]
        plot.lines(path, f"{self.name}: round trips of READs and RTO = A+4D", "seconds", "ms",
                   {"RTT": [(t, rtt) for t, rtt, _, _ in trace],
                    "RTO": [(t, rto) for t, _, rto, _ in trace]}, marker="")


class ReadRates(Experiment):
    name, paper = "mt1", f"{PAPER}, table 1"
    did = "Read rate of a large file, with one block of read-ahead, over three ways and transports."
    ours = ("READs of 8 KiB, two outstanding, over the emulated ways; the rate is that of the whole load, the "
            "first READs, which teach the RTO, with it. The loss on the 80 Mbit/s way is calibrated so that "
            "UDP with RTO 1 s keeps the paper's share of its LAN rate; the others' rates are found.")
    paper_figure = ("KB/s on LAN, 80 Mbit, 56 kbit: RTO A+4D 202, 154, 6.21; RTO 1 s 198, 117, 1.77; "
                    "TCP 177, 106, 6.38")
    seconds_quick, seconds_full = 80, 3600
    columns = (("way", "way", "{}"), ("transport", "series", "{}"), ("KB/s", "kb_s", "{:.2f}"),
               ("READs sent again", "again", "{:.0f}"))
    WAYS = {"lan": 2 * base.MIB, "80mbit": 4 * base.MIB, "56kbit": 72 * base.KIB}
    MOST = 300  # seconds of a load: at the paper's slowest rate the full one takes 167
    KB_S = {"lan": {DYNAMIC: 202, FIXED: 198, TCP: 177}, "80mbit": {DYNAMIC: 154, FIXED: 117, TCP: 106},
            "56kbit": {DYNAMIC: 6.21, FIXED: 1.77, TCP: 6.38}}  # the paper's table

    def run(self, bed):
        found, all_points = {}, []
        with base.cached(bed, files=1, size=16 * base.MIB) as server:
            for way, size in self.WAYS.items():
                size = size if bed.quick else 4 * size
                with base.link(bed, way) as at:
                    found[way] = self._rates(bed, server, at, size)
                all_points += [found[way].point(name, "kb_s", "again", way=way)
                               for name in base.TRANSPORTS]
        ratio = {way: {name: done.ratio(name, FIXED, "kb_s")["median"] for name in (DYNAMIC, TCP)}
                 for way, done in found.items()}
        good, why = base.verdict(self._claims(ratio))
        kept = found["80mbit"].median(FIXED, "kb_s") / found["lan"].median(FIXED, "kb_s")
        traced = "READs sent again: " + "; ".join(
            f"{p['way']}, {p['series']} {p['again']['median']:.0f}" for p in all_points if p["again"])
        figure = "; ".join(f"{way}: A+4D {r[DYNAMIC]:.2f} x RTO 1 s, TCP {r[TCP]:.2f} x"
                           for way, r in ratio.items()) + f"; RTO 1 s keeps {kept:.2f} over 80mbit"
        return Outcome(all_points, good, why and f"{why}; {traced}", figure, {"kept": kept})

    def _claims(self, ratio):
        """Each rate beside that of RTO 1 s must be the paper's, neither less nor more by SAME."""
        claims = {}
        for way, of_paper in self.KB_S.items():
            for name in (DYNAMIC, TCP):
                paper, ours = of_paper[name] / of_paper[FIXED], ratio[way][name]
                claims[f"{way}: {name} {ours:.2f} x RTO 1 s, the paper's {paper:.2f}"] = \
                    1 / SAME <= ours / paper <= SAME
        return claims

    def _rates(self, bed, server, at, size):
        def once(name, number):
            got = base.load(bed, server, [
                "--work", "seq", "--size", size, "--request", base.BLOCK, "--outstanding", 2,
                "--order-seed", 1 + number, "--transport", base.TRANSPORTS[name]], at, self.MOST)
            return {"kb_s": 1000 * got["total"]["mb_s"],
                    "again": got["transport"].get("retransmitted", 0)}

        return base.must_have_ended(rounds.run(bed, base.TRANSPORTS, once), bed)

    def draw(self, outcome, path):
        best = {p["way"]: max(q["kb_s"]["median"] for q in outcome.points
                              if q["way"] == p["way"] and q["kb_s"])
                for p in outcome.points}
        groups = {way: {p["series"]: p["kb_s"]["median"] / best[way] for p in outcome.points
                        if p["way"] == way and p["kb_s"]} for way in best}
        plot.bars(path, f"{self.name}: read rate", "of the best over that way", groups)


EXPERIMENTS = [LanLookup, LanRead, RingLookup, RingRead, SerialLookup, ServerCpu, Trace, ReadRates,
               *macklem_disk.EXPERIMENTS, *macklem_today.EXPERIMENTS]
