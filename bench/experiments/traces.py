# SPDX-License-Identifier: LGPL-3.0-or-later
"""A recorded day, replayed: the same small trace against stock, tuned and ra (doc/traces.md).

The trace is made (bench/nfsreplay/make-trace), for nothing recorded may be shipped; whoever has a capture
replays that, see doc/traces.md.

A user waits from when a request is due. Where requests go at their recorded times whatever was answered
one that stalls keeps others from being sent: they are judged by that wait, due to answer, for the time
from sending on would hide the stall. Where each waits for the answers before it nothing is due earlier
than it can be sent, but for names that others still use: these are judged from sending on.

Each kind of operation is held against stock and against tuned: worse where it is NOT_BELOW of one of
them by more than chance; better where READs are faster than with both, by more than chance and by so
much (gain_least) that another round would not say otherwise: what is late comes in heaps, one stall for
many, so that rounds are further apart than the standard error of one says.
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
AGAINST = SERVERS[:2]
NOT_BELOW = 0.97   # of both: the least that any kind of operation may get
# READ against tuned has been 0.95 and 1.59 in two rounds of the same. So a round alone must show twice as
# fast; each of ROUNDS_SURE rounds a tenth.
GAIN_ALONE, GAIN_EACH, ROUNDS_SURE = 2, 1.1, 3
# ... and a round's mean was so many standard errors of one further from others' as its answers say: 3 to
# 8, by server.
HEAPS = 5
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


def figures(told, judged="waited_ms"):
    """Of a replay: its time, and by kind of operation the mean and the 99th percentile in ms of what it
    is judged by."""
    found = {"elapsed_s": told["elapsed_s"], "late_ms": told["total"]["late_ms"]["mean"],
             "requests_s": told["total"]["count"] / told["elapsed_s"]}
    for kind, row in told["operations"].items():
        if row["count"] >= ANSWERS_LEAST:
            found[f"{kind}_ms"] = row[judged]["mean"]
            found[f"{kind}_p99_ms"] = row[judged]["p99"]
            found[f"{kind}_error"] = row[judged]["error"]
    for client, row in told["clients"].items():
        found[f"{client} client"] = row[judged]["mean"]
    return found


def worse(other_ms, ours_ms, chance_ms=0):
    """Whether a kind of operation is below NOT_BELOW of another server's, by more than can be told
    apart and than chance may do."""
    return other_ms < NOT_BELOW * ours_ms and ours_ms - other_ms > max(TOLD_APART_MS, chance_ms)


def gain_least(rounds_made):
    return GAIN_EACH if rounds_made >= ROUNDS_SURE else GAIN_ALONE


def faster(done, kind, other, heaps=1):
    """Whether it is faster than with another server, by more than that and than noise."""
    gain = done.ratio(other, "ra", f"{kind}_ms")
    if not gain or gain["low"] < gain_least(gain["rounds"]):
        return False
    apart = done.median(other, f"{kind}_ms") - done.median("ra", f"{kind}_ms")
    return apart > max(TOLD_APART_MS, chance(done, kind, other, heaps))


def chance(done, kind, other="stock", heaps=1):
    """How far apart (ms) chance may put the means of a kind: a few of its answers wait long, and
    where there are few, one more of them in the same load makes a difference. `heaps`: so much
    further where they come in heaps."""
    errors = [(done.median(name, f"{kind}_error") or 0) for name in (other, "ra")]
    counted = min((done.interval(name, f"{kind}_ms") or {"rounds": 1})["rounds"]
                  for name in (other, "ra"))
    return heaps * ERRORS * math.hypot(*errors) / math.sqrt(counted)


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
    words = {"reproduced": "as stock and tuned, or as the faster of them",
             "not reproduced": "worse than stock or tuned", "better": "better than stock and tuned"}
    judged, heaps = "waited_ms", HEAPS
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
                    return {**figures(told, self.judged), "cpu_s": machine.cpu_seconds(server.pid) - cpu,
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
        medians = {name: self.beside(done, kinds, name) for name in AGAINST}
        if not all(medians.values()):
            return Outcome(points, "not run", "stock, tuned and ra did not all replay the trace", "-")
        bad = [f"{k} {ra:.2f} ms, {name} {other:.2f}" for name, pairs in medians.items()
               for k, (other, ra) in pairs.items() if worse(other, ra, self.chance(done, k, name))]
        better = all(faster(done, "read", name, self.heaps) for name in AGAINST)
        gains = {name: {k: other / ra for k, (other, ra) in pairs.items()}
                 for name, pairs in medians.items()}
        says = [text for name in AGAINST
                for text in self.speeds(done, name, medians[name], gains[name])]
        return Outcome(points, "not reproduced" if bad else "better" if better else "reproduced",
                       f"{'; '.join(bad)}. {traced(done)}" if bad else "",
                       "; ".join(says), {"gains": gains})

    @staticmethod
    def beside(done, kinds, other):
        """{kind: (ms with the other server, ms with ra)}"""
        found = {k[:-3]: (done.median(other, k), done.median("ra", k)) for k in kinds}
        return {k: pair for k, pair in found.items() if all(pair)}

    def chance(self, done, kind, name):
        """Stock, which is far off, is held to the narrower one: nothing may be slower than that."""
        return chance(done, kind, name, 1 if name == "stock" else self.heaps)

    def speeds(self, done, name, medians, gains):
        """In words: those that can be told apart from that server's, and those that cannot, and
        why."""
        alike = {k for k, (other, ra) in medians.items() if abs(other - ra) <= TOLD_APART_MS}
        unsure = {k for k, (other, ra) in medians.items()
                  if k not in alike and abs(other - ra) <= self.chance(done, k, name)}

        def ratios(kinds):
            return ", ".join(f"{kind} {gains[kind]:.2f}"
                             for kind in sorted(kinds, key=lambda kind: -gains[kind]))

        apart, says = gains.keys() - alike - unsure, []
        if apart:
            says.append(f"speed of answers x {name}: {ratios(apart)}")
        if unsure:
            says.append(f"may be chance, x {name}: {ratios(unsure)}")
        if alike:
            says.append(f"within {TOLD_APART_MS:g} ms of {name}'s: {', '.join(sorted(alike))}")
        return says

    def draw(self, outcome, path):
        plot.bars(path, self.ours, "READ, ms in the mean",
                  {p["series"]: p["read_ms"] for p in outcome.points if p.get("read_ms")})


class AsRecorded(Replayed):
    """Open loop."""
    name = "t1"
    paper = f"{Replayed.TRACES}, at their recorded times"
    ours = "A made day of mail, builds, web and data at its recorded times (open loop); times are from " \
        "when a request was due to its answer."
    seconds_quick, seconds_full = 43, 1500
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
    ours = "A made day of mail, builds, web and data, each client as fast as it is answered; times are " \
        "from when a request was sent to its answer."
    seconds_quick, seconds_full = 30, 900
    columns = (("server", "series", "{}"), ("s", "elapsed_s", "{:.1f}"),
               ("requests/s", "requests_s", "{:.0f}"), ("READ ms", "read_ms", "{:.2f}"),
               ("READ p99", "read_p99_ms", "{:.1f}"), ("WRITE ms", "write_ms", "{:.2f}"),
               ("LOOKUP ms", "lookup_ms", "{:.2f}"), ("GETATTR ms", "getattr_ms", "{:.2f}"),
               ("a request: CPU us", "cpu_us", "{:.0f}"), ("waits for it, us", "waited_us", "{:.0f}"),
               ("switches", "switches", "{:.2f}"))
    pace, judged, heaps = ("--pace", "fast"), "latency_ms", 1
    measures_quick, measures_full = AsRecorded.measures_quick, AsRecorded.measures_full


EXPERIMENTS = [AsRecorded, AsFast]
