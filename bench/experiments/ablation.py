# SPDX-License-Identifier: LGPL-3.0-or-later
"""What each mechanism is worth: the plugin with one of them off at a time, over the main table.

A row is a mechanism, a column a work; the figure is what is left without it, as a part of what the
plugin reaches with all of them in the same round: 1 means that it does nothing there, 0.5 that half
of the throughput is its doing. Of latencies and times more than 1 is worse.
"""
import os
import re

import plot
from experiments import rounds
from experiments.comparing import TOP, compare
from experiments.experiment import Experiment, Outcome

PARAMETERS = os.path.join(TOP, "src", "fsal_ra", "params.def")
ONE_MIB, TWELVE_MIB = 1 << 20, 12 << 20


def fixed(size):
    return {"Chunk_Min": size, "Chunk_Max": size}


# (name, the mechanism, what turns it off: parameters of either block by name, or None where none
# does)
MECHANISMS = (
    ("slowdown", "SlowDown: a jump halves the count", {"Heuristic": "strict"}),
    ("cursors", "several cursors a file", {"Heuristic": "slowdown"}),
    ("any-order", "a run may start in any order", {"Rules": "ordered"}),
    ("streak", "a young run beside random reads must be longer", {"Rules": "streakless"}),
    ("lengths", "how far readers go says how much is fetched", {"Rules": "endless"}),
    ("chunk1m", "chunks as long as a seek is dear: 1 MiB instead", fixed(ONE_MIB)),
    ("chunk12m", "the same: 12 MiB instead", fixed(TWELVE_MIB)),
    ("elevator", "turns: the elevator instead", {"Scheduler": "elevator"}),
    ("ncscan", "turns: N-step C-SCAN instead", {"Scheduler": "ncscan"}),
    ("joining", "reads join the prefetch that brings their bytes", None),
    ("writeback", "write-back in turns with reads", {"Writeback": "false"}),
    ("pacing", "replies to writes delayed while memory is short", {"Write_Delay_Max": 0}),
    ("prices", "read-ahead obeys its price", {"Price_Readahead": "false"}),
    ("paper", "all rules that are not Ellard & Seltzer's", {
        "Rules": "paper", "Seq_Threshold": 2, "Match_Requests": 0, "Chunk_Min": 65536,
        "Chunk_Max": 65536, "Price_Readahead": "false", "Scheduler": "elevator"}),
    ("all", "all of it: no read-ahead, no turns, no write-back", {
        "Heuristic": "off", "Scheduler": "elevator", "Writeback": "false", "Write_Delay_Max": 0,
        "Price_Readahead": "false"}),
)
ALWAYS = {"joining": ": it is how the queue reads nothing twice (src/sched/join.c)"}
# (command, the mechanisms that are turned off in it). Each is turned off at least where it has something
# to do: streams beside a random reader; disorder, strides and a reader that goes backward; beginnings of
# files, which others follow (none, for how far readers go; four streams, for the price); writes.
COMPARE, PREVIEWS = "bench/compare --servers ra --work", "bench/previews --streams"
BEGINNINGS = ("lengths", "prices")
FULL = ((f"{COMPARE} table,backward32k,mixed8+1,write1+1", tuple(name for name, _, _ in MECHANISMS)),
        (f"{PREVIEWS} 0", BEGINNINGS), (f"{PREVIEWS} 4", BEGINNINGS))
SMALL = "--size 64M --mixed-size 24M --mixed-seconds 4 --random-count 300"
SHORT = "--previews 100 --stream-mb 160 --seconds 5"
QUICK = ((f"{COMPARE} seq8,mixed8+1 {SMALL}", ("streak", "chunk1m", "chunk12m", "elevator", "ncscan",
                                               "paper", "all")),
         (f"{COMPARE} reorder10,stride8 {SMALL}", ("slowdown", "cursors", "any-order", "paper", "all")),
         (f"{COMPARE} backward32k --size 16M", ("any-order",)),
         (f"{PREVIEWS} 0 {SHORT}", ("lengths",)), (f"{PREVIEWS} 4 {SHORT}", ("prices",)),
         (f"{COMPARE} write1+1 {SMALL}", ("elevator", "writeback", "pacing", "all")))
# (title, work, figure of bench/compare's rounds)
FIGURES = (
    *((work, work, "mb_s") for work in ("seq1", "seq2", "seq8", "seq32", "stride2", "stride4",
                                        "stride8", "reorder10", "backward32k", "random8k",
                                        "mixed8+1")),
    ("mixed8+1 p99", "mixed8+1", "random_p99_ms"),
    ("write1+1 reads/s", "write1+1", "random_requests_s"),
    ("write1+1 p99", "write1+1", "random_p99_ms"),
    ("write1+1 COMMIT", "write1+1", "committed_s"),
    ("previews/s", "previews0", "previews_s"),
    ("previews/s beside 4", "previews4", "previews_s"),
    ("... their MB/s", "previews4", "mb_s"),
)
MORE_IS_BETTER = ("mb_s", "random_requests_s", "previews_s")
# Of what is reached with it: less is left without it where it is worth something. One small round
# of each, as in quick runs, varies by more than the few percent that many rounds can tell.
WORTH, WORTH_QUICK = 0.97, 0.85


def known():
    """Names of parameters that the plugin has."""
    with open(PARAMETERS, encoding="utf-8") as table:
        return set(re.findall(r"^RA_\w+\(\w+, (\w+),", table.read(), re.M))


def variants(mechanisms=MECHANISMS):
    """{name: settings} of those that can be turned off."""
    names = known()
    return {name: off for name, _, off in mechanisms if off and set(off) <= names}


def is_worth(point, worth=WORTH):
    """Whether without it something is surely less: the whole interval says so."""
    for title, _, key in FIGURES:
        left = point.get(title)
        if left and (left["high"] < worth if key in MORE_IS_BETTER
                     else left["low"] > 1 / worth):
            return True
    return False


class Ablation(Experiment):
    name = "ablation"
    paper = "each mechanism off in turn"
    words = {"reproduced": "each is worth something", "not reproduced": "not each is"}
    did = "-"
    ours = "The plugin as shipped beside the plugin with one mechanism off, in the same rounds. " \
        "What is left without it, as a part of what is reached with it; of p99 and COMMIT more " \
        "than 1 is worse."
    paper_figure = "-"
    seconds_quick, seconds_full = 117, 3 * 3600
    servers = goes_on = False  # bench/compare has its own, and goes on by itself
    columns = (("off", "series", "{}"), ("mechanism", "mechanism", "{}"), ("by", "by", "{}"),
               *((title, title, "{:.2f}") for title, _, _ in FIGURES))

    def run(self, bed):
        off, done = variants(), rounds.Rounds([])
        for command, names in QUICK if bed.quick else FULL:
            more = []
            for name in (n for n in names if n in off):
                settings = ",".join(f"{k}={v}" for k, v in off[name].items())
                more += ["--variant", f"{name}:{settings}"]
            done += compare(bed, command, more)[1]
        return self.outcome(self.points(done, off), off, WORTH_QUICK if bed.quick else WORTH)

    @staticmethod
    def points(done, off):
        """A row of each mechanism, with what is left where it was turned off."""
        points = []
        for name, mechanism, settings in MECHANISMS:
            point = {"series": name, "mechanism": mechanism,
                     "by": f"no parameter turns it off{ALWAYS.get(name, '')}" if name not in off else
                     ", ".join(f"{k} = {v}" for k, v in settings.items())}
            for title, work, key in FIGURES:
                if name in off and f"{work} {name}" in done.series():
                    point[title] = done.ratio(f"{work} {name}", f"{work} ra", key)
            points.append(point)
        return points

    @staticmethod
    def outcome(points, off, worth=WORTH):
        idle = [p["series"] for p in points if p["series"] in off and not is_worth(p, worth)]
        missing = [p["series"] for p in points if p["series"] not in off]
        why = f"without worth on these works: {', '.join(idle)}" if idle else ""
        if missing:
            why += f"{'; ' if why else ''}not measured: {', '.join(missing)}"
        return Outcome(points, "not reproduced" if idle else "reproduced", why,
                       f"{len(off) - len(idle)} of {len(off)} mechanisms are worth more than "
                       f"{100 * (1 - worth):.0f} % somewhere")

    def draw(self, outcome, path):
        titles = [t for t, _, key in FIGURES if key == "mb_s"]
        plot.bars(path, "what is left of the throughput without a mechanism", "of the plugin's",
                  {p["series"]: {t: p[t] for t in titles if p.get(t)} for p in outcome.points
                   if any(p.get(t) for t in titles)})


EXPERIMENTS = [Ablation]
