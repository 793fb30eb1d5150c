# SPDX-License-Identifier: LGPL-3.0-or-later
"""A recorded day, replayed: the same small trace against stock, tuned and ra (doc/traces.md).

The trace is made (bench/nfsreplay/make-trace), for nothing recorded may be shipped; whoever has a capture
replays that, see doc/traces.md.
"""
import glob
import json
import math
import os
import shutil
import subprocess

import machine
import plot
from experiments import rounds
from experiments.experiment import HERE, Experiment, Outcome

SERVERS = ("stock", "tuned", "ra")
NOT_BELOW = 0.97   # of stock: the least that any kind of operation may get
TOLD_APART_MS = 0.1  # a smaller difference is the machine's, not the server's
ERRORS = 2          # of two means, standard ones: so far apart they may be by chance
ANSWERS_LEAST = 50  # of a kind, to say anything about it
MAX_TIME = 300      # seconds of one replay
MAKE_TRACE = os.path.join(os.path.dirname(HERE), "nfsreplay", "make-trace")


def replay(program, server, directory, trace, out, arguments):
    """One replay: nfsreplay's JSON. RuntimeError where it was not as the trace has it."""
    done = subprocess.run(
        [program, "--export", server.exports[0]["path"], "--dir", directory, "--port",
         str(server.port), "--mount-port", str(server.mport), "--from", "127.0.1.1", "--json", out,
         "--quiet", "--max-time", str(MAX_TIME), *arguments, trace],
        capture_output=True, text=True, check=False, timeout=MAX_TIME + 60)
    if done.returncode:
        raise RuntimeError(f"nfsreplay: {done.stderr.strip() or done.returncode}")
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def figures(told):
    """Of a replay: its time, and by kind of operation the mean and the 99th percentile in ms."""
    found = {"elapsed_s": told["elapsed_s"], "late_ms": told["total"]["late_ms"]["mean"],
             "requests_s": told["total"]["count"] / told["elapsed_s"]}
    for kind, row in told["operations"].items():
        if row["count"] >= ANSWERS_LEAST:
            found[f"{kind}_ms"] = row["latency_ms"]["mean"]
            found[f"{kind}_p99_ms"] = row["latency_ms"]["p99"]
            found[f"{kind}_error"] = row["latency_ms"]["error"]
    for client, row in told["clients"].items():
        found[f"{client} client"] = row["latency_ms"]["mean"]
    return found


def worse(stock_ms, ours_ms, chance_ms=0):
    """Whether a kind of operation is below NOT_BELOW of stock, by more than can be told apart and
    than chance may do."""
    return stock_ms < NOT_BELOW * ours_ms and ours_ms - stock_ms > max(TOLD_APART_MS, chance_ms)


def chance(done, kind):
    """How far apart (ms) chance may put the means of a kind: a few of its answers wait long, and
    where there are few, one more of them in the same load makes a difference."""
    errors = [(done.median(name, f"{kind}_error") or 0) for name in ("stock", "ra")]
    counted = min((done.interval(name, f"{kind}_ms") or {"rounds": 1})["rounds"]
                  for name in ("stock", "ra"))
    return ERRORS * math.hypot(*errors) / math.sqrt(counted)


DISK = {"seeks": ("seeks", 1, "{:.0f} seeks"), "read_mb": ("read_bytes", 1e6, "{:.0f} MB read"),
        "written_mb": ("write_bytes", 1e6, "{:.0f} written"),
        "busy_s": ("busy_ms", 1000, "{:.1f} s busy")}


def scheduled(pid):
    """Of all threads of a process: (us on a processor, us that they waited for one, how often they
    got one)."""
    threads = [open_text(path).split() for path in glob.glob(f"/proc/{pid}/task/*/schedstat")]
    ran, waited, times = (sum(int(t[i]) for t in threads if t) for i in range(3))
    return ran / 1000, waited / 1000, times


def open_text(path):
    """What is there, nothing where the thread has ended."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def at_processors(before, after, requests):
    """The same of two looks, a request."""
    return {key: (b - a) / requests
            for key, a, b in zip(("cpu_us", "waited_us", "switches"), before, after)}


def at_disk(before, after):
    return {key: (after[name] - before[name]) / unit for key, (name, unit, _) in DISK.items()}


def traced(done):
    """In words: what the disk did, and which clients got less than with stock."""
    told = [f"{name}: " + ", ".join(form.format(done.median(name, key))
                                    for key, (_, _, form) in DISK.items() if done.median(name, key))
            for name in done.series()]
    slower = []
    for key in sorted({k for r in done.records for k in r.get("figures", {})
                       if k.endswith(" client")}):
        stock, ours = done.median("stock", key), done.median("ra", key)
        if stock and ours and worse(stock, ours):
            slower.append(f"{key.removesuffix(' client')} {ours:.1f} ms ({stock:.1f})")
    if slower:
        told.append(f"clients that wait longer than with stock: {', '.join(slower)}")
    return "; ".join(told)


class Replayed(Experiment):
    """One made day at one pace."""
    TRACES = "traces as of Ellard, Ledlie, Malkani & Seltzer, FAST 2003"
    did = "-"
    paper_figure = "-"
    words = {"reproduced": "as stock", "not reproduced": "worse than stock"}
    pace, measures_quick, measures_full = (), (), ()

    def run(self, bed):
        program, number = bed.program("nfsreplay"), [0]
        measures = self.measures_quick if bed.quick else self.measures_full
        with bed.disk(size_mb=4096) as disk:
            trace, out = f"{disk.work}/day.trace", f"{disk.work}/day.json"
            with open(trace, "w", encoding="utf-8") as file:
                subprocess.run([MAKE_TRACE, *map(str, measures)], stdout=file, check=True)

            def once(name, _):
                number[0] += 1
                self.lay_out(program, disk, trace, f"day{number[0]}")
                with bed.server(name, disk) as server:
                    bed.cold(disk)
                    cpu, before = machine.cpu_seconds(server.pid), disk.stats()
                    threads = scheduled(server.pid)
                    told = replay(program, server, f"day{number[0]}", trace, out, self.pace)
                    return {**figures(told), "cpu_s": machine.cpu_seconds(server.pid) - cpu,
                            **at_processors(threads, scheduled(server.pid),
                                            told["total"]["count"]),
                            **at_disk(before, disk.stats())}

            done = rounds.run(bed, list(SERVERS), once)
        return self.outcome(done)

    @staticmethod
    def lay_out(program, disk, trace, name):
        """The day's files, fresh, on the disk; those of the replay before are gone."""
        disk.timing(False)
        for old in os.listdir(disk.mount):
            if old.startswith("day"):
                shutil.rmtree(f"{disk.mount}/{old}")
        os.sync()
        subprocess.run([program, "--prepare", f"{disk.mount}/{name}", trace], check=True)
        os.sync()
        disk.renew()
        disk.timing(True)

    def outcome(self, done):
        kinds = sorted({key for name in SERVERS for r in done.records
                        if r["series"] == name for key in r.get("figures", {})
                        if key.endswith("_ms") and not key.endswith("_p99_ms") and key != "late_ms"})
        clients = sorted({key for r in done.records for key in r.get("figures", {})
                          if key.endswith(" client")})
        points = [done.point(s, "elapsed_s", "requests_s", "late_ms", "cpu_s", "cpu_us",
                             "waited_us", "switches", *kinds,
                             *(k.replace("_ms", "_p99_ms") for k in kinds), *clients)
                  for s in done.series()]
        medians = {k[:-3]: (done.median("stock", k), done.median("ra", k)) for k in kinds}
        medians = {k: pair for k, pair in medians.items() if all(pair)}
        bad = [f"{k} {ra:.2f} ms, stock {stock:.2f}" for k, (stock, ra) in medians.items()
               if worse(stock, ra, chance(done, k))]
        gains = {k: stock / ra for k, (stock, ra) in medians.items()}
        if not gains:
            return Outcome(points, "not run", "no server replayed the trace", "-")
        says = self.speeds(done, medians, gains)
        return Outcome(points, "not reproduced" if bad else
                       "better" if gains.get("read", 0) > 1 else "reproduced",
                       f"{'; '.join(bad)}. {traced(done)}" if bad else "",
                       "; ".join(says), {"gains": gains})

    @staticmethod
    def speeds(done, medians, gains):
        """In words: those that can be told apart from stock's, and those that cannot, and why."""
        alike = {k for k, (stock, ra) in medians.items() if abs(stock - ra) <= TOLD_APART_MS}
        unsure = {k for k, (stock, ra) in medians.items()
                  if k not in alike and abs(stock - ra) <= chance(done, k)}

        def ratios(kinds):
            return ", ".join(f"{kind} {gains[kind]:.2f}"
                             for kind in sorted(kinds, key=lambda kind: -gains[kind]))

        apart, says = gains.keys() - alike - unsure, []
        if apart:
            says.append(f"speed of answers x stock: {ratios(apart)}")
        if unsure:
            says.append(f"too few answers to tell: {ratios(unsure)}")
        if alike:
            says.append(f"within {TOLD_APART_MS:g} ms of stock's: {', '.join(sorted(alike))}")
        return says

    def draw(self, outcome, path):
        plot.bars(path, self.ours, "READ, ms in the mean",
                  {p["series"]: p["read_ms"] for p in outcome.points if p.get("read_ms")})


class AsRecorded(Replayed):
    """Open loop."""
    name = "t1"
    paper = f"{Replayed.TRACES}, at their recorded times"
    ours = "A made day of mail, builds, web and data at its recorded times (open loop)."
    seconds_quick, seconds_full = 50, 1500
    columns = (("server", "series", "{}"), ("READ ms", "read_ms", "{:.2f}"),
               ("READ p99", "read_p99_ms", "{:.1f}"), ("WRITE ms", "write_ms", "{:.2f}"),
               ("LOOKUP ms", "lookup_ms", "{:.2f}"), ("GETATTR ms", "getattr_ms", "{:.2f}"),
               ("a builder, ms", "builder0 client", "{:.2f}"),
               ("data, ms", "analysis client", "{:.2f}"), ("late ms", "late_ms", "{:.2f}"))
    measures_quick = ("--seconds", 12, "--data", 160, "--pages", 1500, "--users", 8)
    measures_full = ("--seconds", 60, "--data", 768, "--pages", 4000, "--users", 12)


class AsFast(Replayed):
    """Each client as fast as it is answered."""
    name = "t2"
    paper = f"{Replayed.TRACES}, as fast as they are answered"
    ours = "A made day of mail, builds, web and data, each client as fast as it is answered."
    seconds_quick, seconds_full = 40, 900
    columns = (("server", "series", "{}"), ("s", "elapsed_s", "{:.1f}"),
               ("requests/s", "requests_s", "{:.0f}"), ("READ ms", "read_ms", "{:.2f}"),
               ("READ p99", "read_p99_ms", "{:.1f}"), ("WRITE ms", "write_ms", "{:.2f}"),
               ("LOOKUP ms", "lookup_ms", "{:.2f}"), ("GETATTR ms", "getattr_ms", "{:.2f}"),
               ("a request: CPU us", "cpu_us", "{:.0f}"), ("waits for it, us", "waited_us", "{:.0f}"),
               ("switches", "switches", "{:.2f}"))
    pace = ("--pace", "fast")
    measures_quick, measures_full = AsRecorded.measures_quick, AsRecorded.measures_full


EXPERIMENTS = [AsRecorded, AsFast]
