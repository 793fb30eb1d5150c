#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/experiments/ellard.py: verdicts follow from figures. Each experiment is run with made-up
ones: the paper's own must be called reproduced, others not, with the reason."""
import contextlib
import os
import sys
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from experiments import ellard, ellard_bed, rounds  # noqa: E402
from experiments.ellard_bed import Claim, judge  # noqa: E402


class Bed:
    """Looks like that of bench/papers, and does nothing."""
    quick, rounds = True, 1

    def __init__(self):
        self.records, self.failures, self.said = [], [], []
        self.watch = types.SimpleNamespace(
            clock=lambda: 0, calm=lambda: None, look=lambda: None,
            between=lambda before, after: {"steal_percent": 0})
        self.say = self.said.append

    @contextlib.contextmanager
    def disk(self, **settings):
        yield types.SimpleNamespace(rpm=settings["rpm"], queue=settings.get("queue", 1))

    def layout(self, disk, files, size, name="set"):
        return types.SimpleNamespace(files=files, size=size, directory=name, disk=disk)


def figures(mb_s, **more):
    return {"mb_s": mb_s, "seeks_mb": 1, "command_kb": 64, "finish_s": [1.0] * 8, **more}


def in_paper(work, fsal, arguments, over_nfs):
    """MB/s as of the paper's figures, roughly."""
    n, many = work.files, work.files >= 8
    heuristic, depth = fsal.get("Heuristic"), fsal.get("Queue_Depth")
    if "--stride" in arguments:
        place = ellard.STRIDES.index(arguments[arguments.index("--stride") + 1])
        name = "ide" if work.disk.rpm == 7200 else "scsi"
        return 7 * ellard.Strides.GAIN[name][place] if heuristic == "cursor" else 7
    value = 30 if work.directory.startswith("outer") or "n" in work.directory[:1] else 20
    if work.disk.queue > 1 and many:
        value *= 0.56
    if over_nfs:
        value *= 0.5 if many else 0.9 if "udp" in arguments else 0.5
    if heuristic in ("default", "slowdown") and depth == 1 and "reorder" in arguments and many:
        value *= 0.8
    return value + n * 1e-9


def ends(fsal):
    if fsal.get("Scheduler") == "elevator" and fsal["Queue_Depth"] == 1:
        return [1.04 + 0.7 * k for k in range(8)]
    return [10 + 0.1 * k for k in range(8)]


class Verdicts(unittest.TestCase):
    def run_all(self, mb_s):
        """{name: Outcome} with MB/s by `mb_s(work, fsal, arguments, over_nfs, ra)`."""
        def local(_, __, work):
            return figures(mb_s(work, {}, (), False, {}))

        def nfs(_, __, work, fsal=None, ra=None, arguments=(), **more):
            return figures(mb_s(work, fsal or {}, arguments, True, ra or {}), evictions=3,
                           demand=7, finish_s=ends(fsal or {}))

        found = {}
        with mock.patch.multiple(ellard, local=local, nfs=nfs, fill=lambda *_: None):
            for experiment in ellard.EXPERIMENTS:
                bed = Bed()
                found[experiment.name] = experiment().run(bed).check()
                self.assertEqual(bed.failures, [])
        return found

    def test_the_papers_figures_are_reproduced(self):
        def mb_s(work, fsal, arguments, over_nfs, ra):
            if fsal.get("Scheduler") == "ncscan" or (fsal.get("Queue_Depth") == 32
                                                     and work.directory == "n8"):
                return 7
            value = in_paper(work, fsal, arguments, over_nfs)
            if ra.get("Table_Size") == 1017:
                value = in_paper(work, {}, arguments, over_nfs)
            if ellard.REORDERED_BUSY in arguments:
                value = in_paper(work, {**fsal, "Heuristic": "always"}, arguments, over_nfs)
            return value

        for name, outcome in self.run_all(mb_s).items():
            if name == "e5":
                continue  # constant over TCP, where e4 falls over UDP
            with self.subTest(name):
                self.assertIn(outcome.verdict, ("reproduced", "better"), outcome.why)
                self.assertTrue(outcome.points and outcome.figure)

    def test_rounds_that_fail_leave_claims_unmeasured(self):
        failing = mock.Mock(side_effect=RuntimeError("not cold"))
        with mock.patch.multiple(ellard, local=failing, nfs=failing, fill=lambda *_: None):
            for experiment in ellard.EXPERIMENTS:
                outcome = experiment().run(Bed()).check()
                self.assertEqual(outcome.verdict, "not reproduced")
                self.assertIn("not measured", outcome.why)

    def test_where_nothing_makes_a_difference_nothing_is_reproduced(self):
        for name, outcome in self.run_all(lambda *_: 30).items():
            with self.subTest(name):
                if name != "e5":
                    self.assertEqual(outcome.verdict, "not reproduced")
                    self.assertRegex(outcome.why, r"was to be expected")


class Claims(unittest.TestCase):
    def test_range(self):
        self.assertTrue(Claim("x", "2", 1.5, 1.5, 3).holds())
        self.assertFalse(Claim("x", "2", 1.49, 1.5, 3).holds())
        self.assertFalse(Claim("x", "2", None, 0).holds())

    def test_better_only_where_all_hold_and_ours_is_nowhere_below(self):
        good, bad = Claim("good", "1", 1.0, 0.9, 1.1), Claim("bad", "1", 2.0, 0.9, 1.1)
        self.assertEqual(judge([], [good]).verdict, "reproduced")
        self.assertEqual(judge([], [good], ours=[0.98, 1.5]).verdict, "better")
        self.assertEqual(judge([], [good], ours=[0.90, 1.5]).verdict, "reproduced")
        self.assertEqual(judge([], [good], ours=[1.0, 1.01]).verdict, "reproduced")
        found = judge([], [good, bad], ["seeks"], [2.0])
        self.assertEqual(found.verdict, "not reproduced")
        self.assertEqual(found.why, "bad is 2.00, 0.9 to 1.1 was to be expected. "
                                    "Counted meanwhile: seeks")

    def test_the_server_of_the_paper_is_made_of_parameters_that_exist(self):
        with open(os.path.join(os.path.dirname(ellard.__file__), "..", "..", "src", "fsal_ra",
                               "params.def"), encoding="utf-8") as file:
            table = file.read()
        for scope, names in (("EXPORT", ellard_bed.paper()), ("MODULE", ellard_bed.table())):
            for name in names:
                self.assertRegex(table, rf"RA_\w+\({scope}, {name},")
        self.assertTrue(rounds.ROUNDS_FULL >= 5)


if __name__ == "__main__":
    unittest.main()
