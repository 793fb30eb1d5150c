# SPDX-License-Identifier: LGPL-3.0-or-later
"""The figures of doc/measurements.md: which commands make each block, and how it is shown.

    sudo bench/papers measured && bench/papers --page

A block is what stands between <!-- figures: NAME begin --> and end. `Compared` is made by one or
more calls of bench/compare, whose rounds are the block's; `Walked` of bench/trees, in a quick run
with fewer files; `Told` by a program whose words are shown
(but for its progress), run once in all, and again while others have the processors. In its command PLUGIN and
MECHDISK are what was built, PNG is the block's picture.
"""
import json
import os
import re
import shutil
import tempfile

import plot
import treetable
from experiments import rounds
from experiments.comparing import call, compare
from experiments.experiment import Experiment, Outcome


class Measured(Experiment):
    """A block of doc/measurements.md."""
    servers = goes_on = False  # what it calls has namespaces and rounds of its own

    def __init__(self, name, commands, minutes, picture=None, finish=None):
        """`picture`: where it belongs in doc; `finish`: the work whose finish it shows."""
        self.name, self.commands, self.picture, self.finish = name, commands, picture, finish
        self.paper = f"doc/measurements.md: {'; '.join(commands)}"
        self.seconds_quick, self.seconds_full = 10 * minutes, 60 * minutes

    def outcome(self, more):
        return Outcome([], "reproduced", "", "see doc/measurements.md",
                       {"kind": type(self).__name__, "picture": self.picture, "calls": more})


def at_least(command, rounds_asked):
    """The command with no work of its --runs-of in fewer rounds."""
    return re.sub(r"(?<= --runs-of )(\S+):(\d+)",
                  lambda m: f"{m[1]}:{max(int(m[2]), rounds_asked)}", command)


class Compared(Measured):
    def run(self, bed):
        found = []
        for command in (at_least(c, bed.rounds) for c in self.commands):
            stored, _ = compare(bed, command)
            found.append({"command": command, **{key: stored[key] for key in (
                "title", "servers", "works", "targets", "runs")}})
        return self.outcome(found)

    def draw(self, outcome, path):
        one = outcome.more["calls"][0]
        if self.finish:
            plot.finish_chart(results_of(one), self.finish, path)
        elif self.picture:
            plot.chart(results_of(one), path, one["title"], one["servers"])


class Walked(Measured):
    def __init__(self, name, commands, minutes, small=True):
        """`small`: a quick run has fewer files."""
        super().__init__(name, commands, minutes)
        self.small = small

    def run(self, bed):
        found = []
        for number, command in enumerate(self.commands):
            if bed.quick and self.small:
                command = re.sub(r" --files \d+|$", "", command) + f" --files {QUICK_FILES}"
            with tempfile.TemporaryDirectory(prefix="measured-") as directory:
                path = os.path.join(directory, "trees.json")
                call(command, ["--runs", str(bed.rounds), "--tries", str(bed.tries), "--json", path])
                with open(path, encoding="utf-8") as file:
                    records = json.load(file)
            bed.records += [{**r, "run": number} for r in treetable.rounds_of(records).records]
            found.append({"command": command, "records": records})
        return self.outcome(found)


class Told(Measured):
    def __init__(self, name, commands, minutes, picture=None, statuses=(0,), quick=None):
        """`statuses`: with which a program ends that has told its figures, good ones or not; `quick`: the commands of
        a quick run, and their minutes, where the others take as long however small it is."""
        super().__init__(name, commands, minutes, picture)
        self.statuses = statuses
        self.quick = commands
        if quick:
            self.quick, self.seconds_quick = quick[0], 60 * quick[1]

    def run(self, bed):
        found = []
        self.drawn = os.path.join(tempfile.mkdtemp(prefix="measured-"), "picture.png")
        for number, command in enumerate(self.quick if bed.quick else self.commands):
            known = {"PNG": self.drawn, "PLUGIN": lambda: bed.plugin, "MECHDISK":
                     lambda: bed.mechdisk}
            words = [known.get(word, word) for word in command.split()]
            words = [word() if callable(word) else word for word in words]
            text, beside = rounds.undisturbed(lambda w=words: call(w, (), self.statuses), bed.say,
                                              bed.watch, bed.tries)
            bed.records.append({"run": number, "series": command, "round": 1,
                                "circumstances": beside})
            found.append({"command": command, "text": text})
        return self.outcome(found)

    def draw(self, outcome, path):
        if os.path.exists(self.drawn):
            shutil.move(self.drawn, path)
        shutil.rmtree(os.path.dirname(self.drawn))


def results_of(one):
    return plot.Results(plot.counted(one["runs"]), list(one["servers"]), one["works"])


def without_progress(name, text):
    """What a program told, but for the lines that say how far it was, or what all its counters were."""
    lines = text.rstrip().splitlines()
    return "\n".join(x for x in lines if name not in SHOW_PROGRESS or not PROGRESS.match(x))


def render(stored):
    """The block's text."""
    parts = []
    for one in stored["outcome"]["more"]["calls"]:
        parts.append(f"    {'sudo ' if stored['outcome']['more']['kind'] != 'Told' else ''}"
                     f"{one['command']}")
        if "records" in one:
            parts.append(treetable.table(one["records"]))
            continue
        if "text" in one:
            parts.append("```\n" + without_progress(stored["name"], one["text"]) + "\n```")
            continue
        results = results_of(one)
        parts += [plot.table(results, True), plot.coverage_text(results) + "."]
        parts += filter(None, [plot.client_table(results, True),
                               plot.verdict_table(results, True)])
    if stored["outcome"]["more"]["picture"]:
        parts.append(f"![{stored['name']} as a chart]({stored['outcome']['more']['picture']})")
    return "\n\n".join(parts)


SHOW_PROGRESS = ("soak",)
PROGRESS = re.compile(r"# +\d+ of \d+ s: |# RA_STATS ")
QUICK_FILES = 1500  # of a walk: of a wide directory
OFF = "Seq_Max=65535,Seq_Threshold=65535"
POLICIES = "--variant elevator:Scheduler=elevator --variant ncscan:Scheduler=ncscan " \
    f"--variant elevator_off:Scheduler=elevator,{OFF} --variant ncscan_off:Scheduler=ncscan,{OFF}"
COMPARE, TREES = "bench/compare", "bench/trees"
BESIDE = "--servers stock,tuned,ra"
EXPERIMENTS = [
    Compared("table-q1", [f"{COMPARE} --work table"], 30, "table.png"),
    Compared("table-q32", [f"{COMPARE} --work table --servers stock,ra --drive-queue 32"], 20),
    Compared("table-xfs", [f"{COMPARE} --work table --servers stock,ra --fs xfs"], 20),
    Compared("cached", [f"{COMPARE} --work cached --servers stock,ra --runs 10"], 10),
    Told("read-cost", ["bench/read_cost"], 20),
    Compared("read-time", [
        f"{COMPARE} --servers stock,ra --runs 8 --work random8k,seq1,stride2,cached4k,cached64k "
        "--random-count 500",
        f"{COMPARE} --servers stock,ra --runs 8 --work random8kx32 --random-count 50 --size 128M",
        f"{COMPARE} --servers stock,ra --runs 8 --work seq1,random8k,random8kx32 --disk flash "
        "--random-count 4000"], 20),
    Told("table-lookup", ["build-release/bench/bench_heur_table/bench_heur_table"], 1),
    Compared("order", [f"{COMPARE} --work mixed --servers stock,ra",
                       f"{COMPARE} --work mixed --servers stock,ra --drive-queue 32"], 20),
    Compared("policies", [f"{COMPARE} --work seq8 --servers ra {POLICIES}"], 8, "figure3.png",
             "seq8"),
    Compared("max-wait", [f"{COMPARE} --work seq1,seq32,seq64 --servers ra "
                          "--variant wait1s:Max_Wait=1000"], 10),
    Compared("isolation", [f"{COMPARE} --work isolation --servers stock,bfq,ra"], 180),
    Compared("apart", [f"{COMPARE} --work apart1+1 --servers stock,ra --disk {disk}"
                       for disk in ("default", "nojoin", "slowwrite", "queue32", "fast")]
             + [f"{COMPARE} --work random8k,random8kx4,random8kx32,random8kx128 --servers "
                "stock,ra --disk queue32"], 60),
    Told("tradeoff", ["bench/tradeoff --values 30,65,130,300 --png PNG"], 60, "tradeoff.png"),
    # a writer alone is as fast as the place of its file on the disk, which is another each time
    Compared("writes", [f"{COMPARE} --work write1+1,mixed4+1w2 --servers stock,ra,bfq,strict "
                        "--runs-of write1+1:3",
                        f"{COMPARE} --work write1+0 --servers stock,ra --runs-of write1+0:12",
                        f"{COMPARE} --work write0+1,lazy1+1 --servers stock,ra",
                        f"{COMPARE} --work oltp1,oltp12,oltp32 --servers stock,ra"], 120),
    Told("prices-network", ["bench/figure5 --parts calls,network,cpu --step 6 --png PNG"], 3,
         "figure5-network.png"),
    Told("prices-memory-disk", ["bench/figure5 --parts memory,disk --step 6 --png PNG"], 4,
         "figure5-memory-disk.png"),
    Compared("fsstat", [f"{COMPARE} --work fsstat --servers stock,ra"], 5),
    Walked("trees", [f"{TREES} --work tree,random,tenth {BESIDE}",
                     f"{TREES} --work tree --layout aged {BESIDE}"], 30),
    # four directories: what one job brings of the first says little of the others
    Walked("trees-wide", [f"{TREES} --work wide,widename,quarters --layout aged --files 6000 "
                          "--servers stock,ra",
                          f"{TREES} --work widerandom,widetenth --layout aged --files 1500 "
                          f"{BESIDE}"], 60, small=False),
    Walked("trees-others", [f"{TREES} --work ls {BESIDE}", f"{TREES} --work beside {BESIDE}",
                            f"{TREES} --work tree,wide --solid {BESIDE}"], 20),
    Walked("trees-guest", [f"{TREES} --work tar,grep,rsync,find {BESIDE}"], 40),
    Compared("within", [f"{COMPARE} --work within {BESIDE}",
                        f"{COMPARE} --work seq1,sparse64k1m,ior47008,tiles8x8,cursors2000 "
                        "--servers stock,ra --disk raid4"], 20),
    Compared("ends", [f"{COMPARE} --work ends {BESIDE}"], 8),
    Compared("heads", [f"{COMPARE} --work heads --servers stock,ra --size 1G --disk {disk}"
                       for disk in ("default", "queue32", "raid4", "flash")], 15),
    Told("previews", ["bench/previews", "bench/previews --apart"], 15),
    Told("guest", ["test/e2e/test_guest.py PLUGIN MECHDISK 256"], 5),
    Told("soak", ["scripts/soak --minutes 60 --seed 7"], 65, quick=(["scripts/soak --minutes 10 --seed 7"], 12)),
    Told("coverage", ["scripts/coverage"], 5, statuses=(0, 1)),
    Compared("demo", [f"{COMPARE} --work demo --servers stock,ra --max-time 60 --random-count 500"], 15,
             "demo.png"),
]
