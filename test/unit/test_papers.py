#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/papers: names and groups, what is kept of an experiment that runs, fails or cannot run, and
the pages made of it."""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True

from bench_modules import BENCH, load, program  # noqa: E402
import experiments  # noqa: E402
import testbed  # noqa: E402, F401
import compare_options  # noqa: E402
import servers  # noqa: E402
import workloads  # noqa: E402
from experiments import ablation, blind, measured, page, rounds  # noqa: E402
from experiments.experiment import Experiment, NotRun, Outcome  # noqa: E402

CALM = {"steal_percent": 1.0, "marked": False, "read_again_pages": 0}
BUSY = {"steal_percent": 12.0, "marked": True, "read_again_pages": 0}
MACHINE = {"cpu": "Example", "processors": 2, "memory_mb": 4096, "kernel": "6.1", "architecture":
           "x86_64", "distribution": "Debian", "ganesha": "4.3", "commit": "abc1234"}


class Small(Experiment):
    """Two servers; how it ends is set by the test."""
    name, module, paper = "e9", "ellard", "A paper 1999, figure 9"
    did, ours, paper_figure = "Something.", "Something else.", "3 times"
    servers = False
    columns = (("server", "series", "{}"), ("MB/s", "mb_s", "{:.1f}"))
    error, verdict, why = None, "reproduced", ""

    def run(self, bed):
        done = rounds.run(bed, ["stock", "ra"], lambda name, number: {"mb_s": 10.0 + number})
        if self.error:
            raise self.error
        return Outcome([done.point(s, "mb_s") for s in done.series()], self.verdict, self.why,
                       "3.5 times")

    def draw(self, outcome, path):
        with open(path, "wb") as file:
            file.write(b"a picture")


class Names(unittest.TestCase):
    def setUp(self):
        self.found = {}
        for name, module in (("e1", "ellard"), ("et1", "ellard"), ("c2", "canfs"),
                             ("order", "measured"), ("blind1", "blind")):
            self.found[name] = type("Named", (Experiment,), {"name": name, "module": module})()

    def names(self, *wanted):
        return [e.name for e in experiments.choose(self.found, wanted)]

    def test_names_groups_and_all(self):
        self.assertEqual(self.names("c2", "e1"), ["e1", "c2"])
        self.assertEqual(self.names("e"), ["e1", "et1"])
        self.assertEqual(self.names("blind", "ellard"), ["e1", "et1", "blind1"])
        self.assertEqual(self.names("d"), ["order"])
        self.assertEqual(self.names(), ["e1", "et1", "c2", "blind1"])

    def test_unknown_names_tell_what_there_is(self):
        with self.assertRaises(experiments.Unknown) as caught:
            self.names("e1", "e77")
        for text in ("e77", "et1", "blind1", "e (ellard)"):
            self.assertIn(text, str(caught.exception))

    def test_every_experiment_is_complete(self):
        found, broken = experiments.catalogue()
        self.assertEqual(broken, {})
        self.assertEqual(list(found)[-1][:5], "blind")
        for e in found.values():
            for key in ("paper", "did", "ours", "paper_figure"):
                self.assertTrue(getattr(e, key) or e.module == "measured", f"{e.name}: no {key}")
            self.assertLess(0, e.seconds_quick, e.name)

    def test_the_program_refuses(self):
        for arguments, text in ((["e77"], "no such experiment"), (["--rounds", "0"], "1 to 100"),
                                (["--seconds", "9"], "10 to 1000000")):
            done = subprocess.run([os.path.join(BENCH, "papers"), *arguments], text=True,
                                  capture_output=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)


class Listed(unittest.TestCase):
    def test_estimates_stand_beside_what_it_took(self):
        papers = program("papers")
        both = [type("Of", (Small,), {"name": name, "seconds_quick": 50, "seconds_full": 600})()
                for name in ("e8", "e9")]
        with tempfile.TemporaryDirectory() as out:
            last = papers.listing(both, out).splitlines()[-1]
            self.assertEqual(last.split(), ["all", "2", "min", "20", "min"])
            kept = stored_of(quick=True, rounds_asked=1, seconds=130)
            for name, more, told in (("e9", {}, "took: 1 of 2"), ("e8", {"seconds": 1}, "took: 2 of 2"),
                                     ("e8", {"rounds_asked": 5}, "took: 1 of 2"),
                                     ("e8", {"quick": False}, "took: 1 of 2")):
                with open(f"{out}/{name}.json", "w", encoding="utf-8") as file:
                    json.dump({**kept, **more}, file)
                self.assertIn(told, papers.listing(both, out).splitlines()[-1])
            self.assertEqual(papers.listing(both, out).splitlines()[-1].split()[1:5],
                             ["2", "min", "3", "min"])

    def test_one_made_in_pieces_took_as_long_as_its_rounds(self):
        papers = program("papers")
        rounds_made = [{"circumstances": {"seconds": 40}}, {"failed": "x"}, {"circumstances": {"seconds": 30}}]
        with tempfile.TemporaryDirectory() as out:
            with open(f"{out}/e9.json", "w", encoding="utf-8") as file:
                json.dump(stored_of(quick=True, rounds_asked=1, seconds=9, rounds=rounds_made), file)
            self.assertEqual(papers.took(Small(), out), 70)


class Kept(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="papers-")
        self.addCleanup(directory.cleanup)
        self.out, self.said = directory.name, []
        self.papers = program("papers")
        self.papers.say = self.said.append
        quiet = unittest.mock.patch.object(rounds, "is_marked", lambda circumstances: False)
        quiet.start()
        self.addCleanup(quiet.stop)
        self.options = argparse.Namespace(out=self.out, quick=True, rounds=3, go_on=False,
                                          seconds=None)

    def test_what_is_made_again_takes_no_longer_than_is_waited_for(self):
        spares = []

        def run(experiment, bed):
            spares.append(bed.spare.seconds)
            return Small.run(experiment, bed)

        for self.options.quick in (True, False):
            self.run_one(run=run)
        self.assertEqual(spares, [Small.seconds_quick, rounds.TRIES * Small.seconds_full])
        self.assertEqual(self.papers.PATIENCE, rounds.TRIES + 1)

    def run_one(self, **how):
        experiment = type("Shaped", (Small,), how)()
        bed_of = self.papers.frame.Bed
        self.papers.frame.Bed = lambda quick, count, spare: bed_of(
            quick, count, self.said.append, spare=spare)
        try:
            return self.papers.run_here(experiment, self.options)
        finally:
            self.papers.frame.Bed = bed_of

    def kept(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file)

    def test_one_that_runs(self):
        self.assertEqual(self.run_one(), 0)
        stored = self.kept("e9.json")
        self.assertEqual(stored["outcome"]["verdict"], "reproduced")
        self.assertEqual(stored["outcome"]["points"][1]["mb_s"]["median"], 11)
        self.assertEqual(len(stored["rounds"]), 6)
        self.assertIn("steal_percent", stored["rounds"][0]["circumstances"])
        self.assertIn("processors", stored["machine"])
        self.assertEqual(sorted(os.listdir(self.out)), ["e9.json", "e9.png"])

    def test_one_that_fails_keeps_its_rounds_and_what_was_before(self):
        self.run_one()
        self.assertEqual(self.run_one(error=KeyError("mb_s")), 1)
        self.assertEqual(self.kept("e9.json")["outcome"]["verdict"], "reproduced")
        stored = self.kept("e9.failed.json")
        self.assertIn("KeyError", stored["failed"])
        self.assertEqual(len(stored["rounds"]), 6)
        self.run_one()
        self.assertNotIn("e9.failed.json", os.listdir(self.out))

    def test_one_that_is_interrupted_keeps_its_rounds(self):
        for error, status in ((SystemExit(143), 143), (KeyboardInterrupt(), 130),
                              (SystemExit("no such program"), 1)):
            self.assertEqual(self.run_one(error=error), status)
            stored = self.kept("e9.failed.json")
            self.assertIn("incomplete", stored["failed"])
            self.assertEqual(len(stored["rounds"]), 6)

    def test_what_is_there_need_not_be_made_again(self):
        there = self.papers.is_there
        self.assertFalse(there(Small(), self.options))
        self.run_one()
        self.assertTrue(there(Small(), self.options))
        for key, value in (("quick", False), ("rounds", 4)):
            other = argparse.Namespace(**{**vars(self.options), key: value})
            self.assertFalse(there(Small(), other))
        self.run_one(error=SystemExit(143))
        self.assertTrue(there(Small(), self.options))

    def pieces(self, **how):
        """The rounds that two runs make, the first cut off behind its fourth."""
        made, cut = [], [True]

        def run(experiment, bed):
            def once(name, number):
                if len(made) == 4 and cut and cut.pop():
                    raise SystemExit(143)
                made.append((name, number))
                return {"mb_s": float(len(made))}

            done = rounds.run(bed, ["stock", "ra"], once)
            return Outcome([done.point(s, "mb_s") for s in done.series()], "reproduced")

        shaped = {"goes_on": True, "run": run, **how}
        self.assertEqual(self.run_one(**shaped), 143)
        self.options = argparse.Namespace(**{**vars(self.options), "go_on": True})
        self.assertEqual(self.run_one(**shaped), 0)
        return made

    def test_one_that_was_cut_off_goes_on_within_itself(self):
        made = self.pieces()
        self.assertEqual(len(made), len(set(made)))
        self.assertEqual(sorted(r["figures"]["mb_s"] for r in self.kept("e9.json")["rounds"]),
                         [1, 2, 3, 4, 5, 6])
        self.assertEqual(sorted(os.listdir(self.out)), ["e9.json", "e9.png"])

    def test_one_that_keeps_more_than_figures_begins_anew(self):
        self.assertEqual(len(self.pieces(goes_on=False)), 10)

    def test_rounds_of_other_code_or_size_are_not_taken(self):
        self.run_one(error=SystemExit(143), goes_on=True)
        path = os.path.join(self.out, "e9")
        for changed in ({}, {"quick": False}):
            self.options = argparse.Namespace(**{**vars(self.options), "go_on": True, **changed})
            found = self.papers.earlier(type("Of", (Small,), {"goes_on": True}), self.options, path)
            self.assertEqual(len(found.records), 0 if changed else 6)
        self.assertIn("e9.failed.json: earlier rounds do not count: it was made with --quick", self.said[-1])
        described = {**self.papers.frame.described(), "commit": "other"}
        with unittest.mock.patch.object(self.papers.frame, "described", lambda: described):
            self.options.quick = True
            self.assertFalse(self.papers.earlier(
                type("Of", (Small,), {"goes_on": True}), self.options, path).records)
        self.assertIn("this is other", self.said[-1])

    def test_each_program_that_an_experiment_starts_tells_its_build(self):
        started = set()
        for path in glob.glob(os.path.join(BENCH, "experiments", "*.py")):
            with open(path, encoding="utf-8") as file:
                started |= set(re.findall(r'\.program\("([^"]*)"\)', file.read()))
        self.assertIn("canfs", started)
        with tempfile.TemporaryDirectory() as top:
            for name in started:
                with open(os.path.join(top, name), "w", encoding="ascii") as file:
                    file.write(name)
            with open(os.path.join(top, "CMakeCache.txt"), "w", encoding="ascii") as file:
                file.write("CMAKE_BUILD_TYPE:STRING=RelWithDebInfo\n")
            with unittest.mock.patch.dict(os.environ, RA_BUILD=top):
                self.assertEqual(set(self.papers.frame.described.__wrapped__()["built"]), started)

    def test_without_time_for_a_round_it_ends_before_it(self):
        self.options.seconds = 10

        def run(experiment, bed):
            bed.end = bed.watch.clock() - 1
            return Small.run(experiment, bed)

        self.assertEqual(self.run_one(run=run), self.papers.LATER)
        self.assertIn("0 of 6 rounds", self.kept("e9.failed.json")["failed"])

    def test_one_that_is_cut_off_before_its_first_round_loses_none(self):
        def cut(experiment, bed):
            raise SystemExit(143)

        self.run_one(error=SystemExit(143), goes_on=True)
        self.options.go_on = True
        self.assertEqual(self.run_one(run=cut, goes_on=True), 143)
        self.assertEqual(len(self.kept("e9.failed.json")["rounds"]), 6)

    def test_nor_those_of_a_part_that_it_does_not_come_to(self):
        def run(experiment, bed):
            for _ in range(2):
                done = rounds.run(bed, ["ra"], lambda name, number: {"mb_s": 1.0}, 1)
                if experiment.error:
                    raise experiment.error
            return Outcome([done.point("ra", "mb_s")], "reproduced")

        self.run_one(run=run)
        os.rename(f"{self.out}/e9.json", f"{self.out}/e9.failed.json")
        self.options.go_on = True
        self.assertEqual(self.run_one(run=run, error=SystemExit(143)), 143)
        self.assertEqual([r["run"] for r in self.kept("e9.failed.json")["rounds"]], [0, 1])

    def test_one_that_cannot_run(self):
        self.assertEqual(self.run_one(error=NotRun("no such module")), 77)
        self.assertEqual(self.kept("e9.json")["outcome"]["why"], "no such module")
        self.assertEqual(self.run_one(needs=("no-such-program",)), 77)

    def test_a_verdict_is_one_of_them_and_has_a_why(self):
        for how in ({"verdict": "splendid"}, {"verdict": "not reproduced"}):
            self.assertEqual(self.run_one(**how), 1)
        self.assertEqual(self.run_one(verdict="not reproduced", why="the disk has a queue"), 0)


def stored_of(name="e9", beside=CALM, **more):
    records = [{"run": 0, "series": "ra", "round": n, "figures": {"mb_s": 5},
                "circumstances": beside} for n in (1, 2)]
    return {"name": name, "module": "ellard", "quick": False, "date": "2026-11-22T10:00:00Z",
            "machine": MACHINE, "failures": [], "failed": None, "marked_rounds": 0, "rounds": records,
            "outcome": {"points": [{"series": "ra", "mb_s": {"median": 5, "low": 4, "high": 6}},
                                   {"series": "stock", "mb_s": None}], "verdict": "better",
                        "why": "", "figure": "118.7 MB/s", "more": {}}, **more}


class Papers(unittest.TestCase):
    def test_a_section_has_all_that_is_known(self):
        text = page.papers([Small()], {"e9": stored_of()}, {"e9"})
        for part in ("Something else.", "3 times", "**Ours:** 118.7 MB/s.", "**Verdict: better.**",
                     "| ra | 5.0 (4.0 to 6.0) |", "![e9: A paper 1999, figure 9](papers/e9.png)",
                     "2026-11-22; commit abc1234; 2 measurements in 2 rounds, steal at most 1.0 %",
                     "Measured on: Example, 2 processors",
                     "| [e9](#e9-a-paper-1999-figure-9) |", page.TITLES["ellard"]):
            self.assertIn(part, text)
        self.assertIn("\n1 better.\n", text)

    def test_what_was_measured_is_described_as_it_was(self):
        text = page.papers([Small()], {"e9": stored_of(ours="Stock and ra here.")}, set())
        self.assertIn("**Here.** Stock and ra here.", text)
        self.assertNotIn("Something else.", text)

    def test_no_text_breaks_a_table(self):
        stored = stored_of()
        stored["outcome"]["figure"] = "a | b\nc"
        self.assertIn("| better | a \\| b c |", page.papers([Small()], {"e9": stored}, set()))

    def test_no_figure_of_a_disturbed_round(self):
        text = page.papers([Small()], {"e9": stored_of(beside=BUSY)}, {"e9"})
        self.assertIn("disturbed", text)
        for part in ("118.7", "5.0 (4.0", "e9.png"):
            self.assertNotIn(part, text)

    def test_what_was_not_run_says_so(self):
        self.assertIn("Not made in this run: e9.", page.papers([Small()], {}, set()))
        stored = stored_of(outcome={"points": [], "verdict": "not run", "why": "no such module",
                                    "figure": "", "more": {}})
        self.assertIn("**Verdict: not run:** no such module.",
                      page.papers([Small()], {"e9": stored}, set()))

    def test_what_was_not_run_again_stays(self):
        other = Small()
        other.name = "e8"
        both = [other, Small()]
        before = page.papers(both, {"e8": stored_of("e8", quick=True), "e9": stored_of()}, {"e8"})
        unable = stored_of("e8", outcome={"points": [], "verdict": "not run", "why": "no such module",
                                          "figure": "", "more": {}})
        for kept in ({"e9": stored_of()}, {"e8": unable, "e9": stored_of()}):
            text = page.papers(both, kept, set(), before)
            for part in ("| [e8](#e8-a-paper-1999-figure-9) |", "![e8: A paper", "\n2 better.\n",
                         "Of an earlier run, whose commit each section names: e8.",
                         "1 of them were made by `--quick`", "; quick; 2 measurements"):
                self.assertIn(part, text)
            self.assertNotIn("Not made in this run", text)
            self.assertEqual(page.papers(both, kept, set(), text), text)
        anew = page.papers(both, {"e8": stored_of("e8"), "e9": stored_of()}, set(), before)
        self.assertNotIn("earlier run", anew)
        self.assertNotIn("![e8", anew)

    def test_quick_ones_are_called_so_and_rows_are_short(self):
        stored = stored_of(quick=True)
        stored["outcome"]["figure"] = "word " * 100
        text = page.papers([Small()], {"e9": stored}, set())
        self.assertIn("All of them were made by `--quick`", text)
        self.assertIn("word word … |", text)

    def test_one_that_failed_says_how(self):
        stored = stored_of(failed="Traceback\nKeyError: 'mb_s'\n", outcome=None)
        text = page.papers([Small()], {"e9": stored}, set())
        self.assertIn("**Verdict: failed:** KeyError: 'mb_s'.", text)

    def test_one_disturbed_series_marks_the_verdict_and_is_not_shown(self):
        stored = stored_of()
        stored["outcome"]["points"] += [{"series": "tuned", "mb_s": {
            "median": 77.7, "low": 77.7, "high": 77.7, "marked": True}}]
        stored["rounds"].append({**stored["rounds"][0], "series": "tuned", "circumstances": BUSY})
        text = page.papers([Small()], {"e9": stored}, {"e9"})
        for part in ("| tuned | disturbed |", "**Verdict: better\\*.** Others had up to 12 %",
                     "1 of 2 series (tuned).", "| ra | 5.0 (4.0 to 6.0) |", "e9.png"):
            self.assertIn(part, text)
        for part in ("118.7", "77.7"):
            self.assertNotIn(part, text)

    def test_sentences(self):
        for text, told in (("118 MB/s", "118 MB/s."), ("the same.", "the same."), ("", "")):
            self.assertEqual(page.sentence(text), told)

    def test_marked_rounds_beside_others_are_left_out(self):
        stored = stored_of()
        stored["rounds"].append({**stored["rounds"][0], "round": 3, "circumstances": BUSY})
        self.assertIsNone(page.disturbed(stored))
        self.assertIn("2 measurements in 2 rounds, steal at most 1.0 %", page.provenance(stored))

    def test_series_are_no_rounds(self):
        stored = stored_of()
        stored["rounds"] = [{**stored["rounds"][0], "series": series} for series in ("stock", "ra")]
        self.assertIn("2 measurements in 1 round, steal", page.provenance(stored))
        stored["rounds"].append({**stored["rounds"][0], "run": 1})
        self.assertIn("3 measurements in 1 round, steal", page.provenance(stored))


BEFORE = "# Title\n<!-- figures: cached begin -->\nold\n<!-- figures: cached end -->\nend\n"


def compared(beside):
    runs = [{"work": "seq1", "server": s, "run": n, "mb_s": v, "circumstances": beside}
            for s, v in (("stock", 100.0), ("ra", 120.0)) for n in (1, 2)]
    call = {"command": "bench/compare --work seq1", "title": "t",
            "servers": {"stock": "", "ra": ""}, "works": ["seq1"], "targets": [], "runs": runs}
    records = [{"run": 0, "series": f"seq1 {r['server']}", "round": r["run"],
                "circumstances": beside} for r in runs]
    return stored_of("cached", module="measured", rounds=records, outcome={
        "points": [], "verdict": "reproduced", "why": "", "figure": "",
        "more": {"kind": "Compared", "picture": None, "calls": [call]}})


class Measurements(unittest.TestCase):
    def test_a_block_is_made_of_what_is_kept(self):
        text, said = page.measurements(BEFORE, {"cached": compared(CALM)})
        self.assertEqual(said, [])
        self.assertTrue(text.startswith("# Title\n") and text.endswith("end -->\nend\n"))
        self.assertNotIn("old", text)
        for part in ("commit abc1234", "    sudo bench/compare --work seq1", "| seq1 | ra ",
                     "120.0", "50.0 % (2 rounds)"):
            self.assertIn(part, text)
        self.assertEqual(page.measurements(text, {"cached": compared(CALM)})[0], text)

    def test_disturbed_ones_leave_the_old(self):
        text, said = page.measurements(BEFORE, {"cached": compared(BUSY)})
        self.assertIn("old\n<!-- figures: cached end", text)
        self.assertIn("disturbed", said[0])

    def test_an_old_block_that_does_not_say_what_it_is_of_is_marked(self):
        orphan = BEFORE.replace("cached", "nobody")
        text, _ = page.measurements(BEFORE + orphan, {})
        self.assertEqual(text.count("begin -->\n*From an earlier commit, kept for the record:"), 2)
        self.assertEqual(text.count("No experiment makes it."), 1)
        self.assertEqual(text.count("\nold\n"), 2)
        self.assertEqual(page.unproven(text), ["cached", "nobody"])
        self.assertEqual(page.measurements(text, {})[0], text)
        made, _ = page.measurements(text, {"cached": compared(CALM)})
        self.assertEqual(page.unproven(made), ["nobody"])
        self.assertEqual(page.measurements(made, {})[0], made)

    def test_without_a_place_or_without_figures_it_says_so(self):
        said = page.measurements(BEFORE, {"order": {**compared(CALM), "name": "order"}})[1]
        self.assertEqual(len(said), 2)

    def test_every_block_has_its_command(self):
        names = [e.name for e in measured.EXPERIMENTS]
        self.assertEqual(len(names), len(set(names)))
        for e in measured.EXPERIMENTS:
            for command in e.commands:
                program = command.split()[0]
                if not program.startswith("build"):
                    self.assertTrue(os.access(os.path.join(BENCH, "..", program), os.X_OK), command)

    def test_every_command_has_options_that_there_are(self):
        class Parsed(Exception):
            pass

        def parse(self, *_):
            known, more = parse_known(self)
            if more and not self.prog.startswith("tradeoff"):  # which hands them on
                self.error(f"unknown: {more}")
            raise Parsed(known)

        parse_known = argparse.ArgumentParser.parse_known_args
        for e in measured.EXPERIMENTS:
            for command in e.commands:
                program, *words = command.split()
                if not program.startswith("bench/"):
                    continue
                with unittest.mock.patch.object(argparse.ArgumentParser, "parse_args", parse), \
                        unittest.mock.patch.object(argparse.ArgumentParser, "parse_known_args",
                                                   parse), \
                        unittest.mock.patch.object(sys, "argv", [program, *words]), \
                        self.assertRaises(Parsed) as parsed:
                    load(os.path.join(BENCH, "..", program)).main()
                if program == "bench/compare":
                    options = parsed.exception.args[0]
                    for name in workloads.expand(options.work):
                        compare_options.make_work(name, options)
                    self.assertTrue(servers.settings(options), command)

    def test_every_command_has_its_place(self):
        with open(os.path.join(BENCH, "..", "doc", "measurements.md"), encoding="utf-8") as file:
            text = file.read()
        for e in measured.EXPERIMENTS:
            self.assertIn(f"<!-- figures: {e.name} begin -->", text)
            self.assertIn(f"<!-- figures: {e.name} end -->", text)

    def test_words_are_shown_as_they_are(self):
        stored = compared(CALM)
        stored["outcome"]["more"].update(
            kind="Told", calls=[{"command": "bench/x", "text": "a  1\n"}])
        self.assertIn("```\na  1\n```", measured.render(stored))


class Ablations(unittest.TestCase):
    def points(self, low, high):
        return [{"series": "turns", "seq8": {"median": low, "low": low, "high": high}},
                {"series": "joining"}]

    def test_worth_is_what_the_whole_interval_says(self):
        for low, high, verdict in ((0.5, 0.9, "reproduced"), (0.9, 1.02, "not reproduced")):
            found = ablation.Ablation.outcome(self.points(low, high), {"turns": {}})
            self.assertEqual(found.verdict, verdict)
            self.assertIn("not measured: joining", found.why)
            found.check()

    def test_latencies_are_worse_when_more(self):
        self.assertTrue(ablation.is_worth({"mixed8+1 p99": {"low": 1.2, "high": 1.5}}))
        self.assertFalse(ablation.is_worth({"mixed8+1 p99": {"low": 0.5, "high": 0.9}}))

    def test_a_quick_run_turns_each_off_somewhere(self):
        can = {name for name, _, off in ablation.MECHANISMS if off}
        self.assertEqual({n for _, names in ablation.QUICK for n in names}, can)
        self.assertEqual({n for _, names in ablation.FULL for n in names if n in can}, can)

    def test_each_is_turned_off_where_it_must_act(self):
        for part in (ablation.QUICK, ablation.FULL):
            for name, work in (("lengths", "previews --streams 0"), ("prices", "previews --streams 4"),
                               ("any-order", "backward32k"), ("pacing", "write1+1"),
                               ("cursors", "stride8"), ("elevator", "mixed8+1")):
                works = [c.replace("table", "stride8") for c, names in part if name in names]
                self.assertTrue(any(work in c for c in works), f"{name}: {works}")

    def test_fewer_previews_are_worse(self):
        self.assertTrue(ablation.is_worth({"previews/s": {"low": 0.2, "high": 0.3}}))
        self.assertFalse(ablation.is_worth({"previews/s": {"low": 1.2, "high": 1.3}}))

    def test_a_row_has_the_works_in_which_it_was_turned_off(self):
        done = rounds.Rounds([
            {"run": 0, "series": f"{work} {name}", "round": 1, "circumstances": {"marked": False},
             "figures": {"mb_s": value}}
            for work, name, value in (("seq8", "ra", 100), ("seq8", "streak", 50),
                                      ("reorder10", "ra", 10), ("reorder10", "cursors", 8))])
        rows = {p["series"]: p for p in ablation.Ablation.points(done, ablation.variants())}
        self.assertEqual(rows["streak"]["seq8"]["median"], 0.5)
        self.assertEqual(rows["cursors"]["reorder10"]["median"], 0.8)
        self.assertNotIn("seq8", rows["cursors"])

    def test_each_is_turned_off_by_parameters_that_there_are(self):
        names = ablation.known()
        for name, _, off in ablation.MECHANISMS:
            self.assertLessEqual(set(off or ()), names, name)


class Blinds(unittest.TestCase):
    def judge(self, ours, better, quick=False):
        done = rounds.Rounds([
            {"run": 0, "series": s, "round": n, "circumstances": {"marked": False},
             "figures": {"mb_s": v, "worst_ms": v, "seeks": 1, "disk_busy": 1,
                         "disk_per_byte": 1}}
            for s, v in (("stock", 100.0), ("tuned", 100.0), ("ra", ours)) for n in range(6)])
        work = blind.Blind()
        work.better = {better[0]: better[1]}
        return work.judge(done, quick).check().verdict

    def test_one_small_round_tells_less(self):
        self.assertEqual([self.judge(v, ("mb_s", 1), True) for v in (120.0, 105.0, 95.0, 85.0)],
                         ["better", "reproduced", "reproduced", "not reproduced"])

    def test_loads_that_are_measured_beside_each_other_last_as_long(self):
        def beside(*ends):
            return [["--work", "seq", "--duration", 20]] * len(ends), [
                {"total": {"first_end_s": end}} for end in ends]

        blind.must_have_lasted(*beside(20.0, 20.3), 20)
        blind.must_have_lasted(*beside(12.0), 20)
        loads, results = beside(17.4, 20.1)
        with self.assertRaisesRegex(RuntimeError, "17.4 of 20 s"):
            blind.must_have_lasted(loads, results, 20)
        blind.must_have_lasted([["--work", "seq"], loads[1]], results, 20)

    def test_their_files_suffice_at_the_disks_rate(self):
        for work, load in ((blind.Office(), 1), (blind.Exports(), 0), (blind.Appenders(), 0)):
            words = work.loads(blind.SECONDS_FULL, "/x")[load]
            self.assertGreater(words[words.index("--size") + 1], 100e6 * blind.SECONDS_FULL)

    def test_a_loss_is_drawn_beside_a_gain(self):
        def one(value):
            return {"median": value, "low": value, "high": value}
        points = [{"series": s, "mb_s": one(m), "commits_s": one(c)}
                  for s, m, c in (("stock", 10.0, 8.0), ("ra", 40.0, 4.0))]
        with unittest.mock.patch.object(blind.plot, "bars") as bars:
            blind.Appenders().draw(Outcome(points, "better"), "x.png")
        groups = bars.call_args[0][3]
        self.assertEqual({t: g["ra"]["median"] for t, g in groups.items()},
                         {"MB/s": 4.0, "commits/s": 0.5})

    def test_better_as_stock_or_worse(self):
        self.assertEqual([self.judge(v, ("mb_s", 1)) for v in (120.0, 98.0, 90.0)],
                         ["better", "reproduced", "not reproduced"])
        self.assertEqual([self.judge(v, ("worst_ms", -1)) for v in (80.0, 102.0, 110.0)],
                         ["better", "reproduced", "not reproduced"])


class Pages(unittest.TestCase):
    def test_both_pages_are_written(self):
        with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as doc:
            for stored in (stored_of(), compared(CALM)):
                with open(f"{out}/{stored['name']}.json", "w", encoding="utf-8") as file:
                    json.dump(stored, file)
            failed = json.dumps(stored_of(failed="x", outcome=None))
            for path, text in ((f"{out}/e9.png", "png"), (f"{out}/e9.failed.json", failed),
                               (f"{doc}/measurements.md", BEFORE)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(page.write_pages(out, [Small()], doc), 0)
            self.assertEqual(sorted(os.listdir(doc)), ["measurements.md", "papers", "papers.md"])
            self.assertEqual(os.listdir(f"{doc}/papers"), ["e9.png"])

    def test_what_others_left_there_is_left_out(self):
        with tempfile.TemporaryDirectory() as out:
            for name, text in (("e9", json.dumps(stored_of())), ("compared", '[{"work": "seq1"}]'),
                               ("other", '{"work": "seq1"}'), ("cut", '{"name": ')):
                with open(f"{out}/{name}.json", "w", encoding="utf-8") as file:
                    file.write(text)
            with unittest.mock.patch("sys.stderr") as said:
                self.assertEqual(list(page.load(out)), ["e9"])
            lines = "".join(call.args[0] for call in said.write.call_args_list)
            for name in ("compared", "other", "cut"):
                self.assertIn(f"{out}/{name}.json: not written by bench/papers: left out", lines)

    def test_of_nothing_no_page_is_made(self):
        self.assertEqual(page.write_pages("/nowhere", [], "/nowhere"), 1)


if __name__ == "__main__":
    unittest.main()
