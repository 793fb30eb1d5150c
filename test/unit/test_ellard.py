#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/experiments/ellard.py: verdicts follow from figures. Each experiment is run with made-up
ones: the paper's own must be called reproduced, others not, with the reason."""
import contextlib
import gzip
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from experiments import ellard, ellard_bed, ellard_time, rounds  # noqa: E402
from experiments.ellard_claims import Claim, judge, near  # noqa: E402


class Bed:
    """Looks like that of bench/papers, and does nothing."""
    quick, rounds = True, 1

    def __init__(self):
        self.records, self.failures, self.said = [], [], []
        self.laid_out = []
        self.watch = types.SimpleNamespace(
            clock=lambda: 0, calm=lambda: None, look=lambda: None,
            between=lambda before, after: {"steal_percent": 0})
        self.say = self.said.append

    @contextlib.contextmanager
    def disk(self, **settings):
        yield types.SimpleNamespace(rpm=settings["rpm"], queue=settings.get("queue", 1))

    def layout(self, disk, files, size, name="set"):
        self.laid_out.append((files, size))
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


def ends(fsal, rpm):
    if fsal.get("Scheduler") == "elevator" and fsal["Queue_Depth"] == 1:
        step = 0.7 if rpm == 7200 else 0.9
        return [1.04 + step * k for k in range(8)]
    step = 0.05 if fsal.get("Queue_Depth") == 32 else 0.1
    return [10 + step * k for k in range(8)]


class Verdicts(unittest.TestCase):
    def run_all(self, mb_s):
        """{name: Outcome} with MB/s by `mb_s(work, fsal, arguments, over_nfs, ra)`."""
        def local(_, __, work):
            return figures(mb_s(work, {}, (), False, {}))

        def nfs(_, __, work, fsal=None, ra=None, arguments=(), **more):
            return figures(mb_s(work, fsal or {}, arguments, True, ra or {}), evictions=3,
                           demand=7, finish_s=ends(fsal or {}, work.disk.rpm))

        found = {}
        with mock.patch.multiple(ellard, local=local, nfs=nfs, fill=lambda *_: None):
            for experiment in ellard.EXPERIMENTS:
                bed = Bed()
                found[experiment.name] = experiment().run(bed).check()
                self.assertEqual(bed.failures, [])
        return found

    def test_the_papers_figures_are_reproduced(self):
        def mb_s(work, fsal, arguments, over_nfs, ra):
            if arguments == ellard.Policies.LIKE_LOCAL and fsal.get("Scheduler") == "ncscan":
                return 7
            if arguments == ellard.Policies.LIKE_LOCAL and fsal.get("Queue_Depth") == 32:
                return 6.9
            value = in_paper(work, fsal, arguments, over_nfs)
            if ra.get("Table_Size") == 1017:
                value = in_paper(work, {}, arguments, over_nfs)
            if ellard.REORDERED_BUSY in arguments:
                value = in_paper(work, {**fsal, "Heuristic": "always"}, arguments, over_nfs)
            return value

        for name, outcome in self.run_all(mb_s).items():
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
                self.assertEqual(outcome.verdict, "not reproduced")
                self.assertRegex(outcome.why, r"was to be expected")
                self.assertRegex(outcome.why, r"By the disk's trace: .*30.0 MB/s")


class Claims(unittest.TestCase):
    def test_range(self):
        self.assertTrue(Claim("x", "2", 1.5, 1.5, 3).holds())
        self.assertFalse(Claim("x", "2", 1.49, 1.5, 3).holds())
        self.assertFalse(Claim("x", "2", None, 0).holds())

    def test_a_number_has_a_tolerance_both_ways(self):
        low, high = near(1.62)
        self.assertTrue(Claim("x", "1.62", 1.5, low, high).holds())
        for value in (1.4, 5.52):
            self.assertFalse(Claim("x", "1.62", value, low, high).holds())

    def test_better_only_where_all_hold_and_ours_is_nowhere_below(self):
        good = Claim("good", "1", 1.0, 0.9, 1.1)
        bad = Claim("bad", "1", 2.0, 0.9, 1.1, ("seeks",))
        self.assertEqual(judge([], [good]).verdict, "reproduced")
        self.assertEqual(judge([], [good], [0.98, 1.5]).verdict, "better")
        self.assertEqual(judge([], [good], [0.90, 1.5]).verdict, "reproduced")
        self.assertEqual(judge([], [good], [1.0, 1.01]).verdict, "reproduced")
        found = judge([], [good, bad], [2.0])
        self.assertEqual(found.verdict, "not reproduced")
        self.assertEqual(found.why, "bad is 2.00, 0.9 to 1.1 was to be expected. "
                                    "By the disk's trace: seeks")

    def test_more_gain_is_better_and_never_reproduced(self):
        gain = near(1.5)
        self.assertEqual(judge([], [Claim("gain", "1.5", 3, *gain, more=True)]).verdict, "better")
        self.assertEqual(judge([], [Claim("gain", "1.5", 3, *gain)]).verdict, "not reproduced")
        self.assertEqual(judge([], [Claim("gain", "1.5", 1, *gain, more=True)]).verdict,
                         "not reproduced")

    def strides(self, default, cursor):
        def nfs(_, __, ___, fsal=None, **____):
            return figures({"default": default, "cursor": cursor}.get(
                (fsal or {}).get("Heuristic"), cursor))

        with mock.patch.multiple(ellard, nfs=nfs):
            return ellard.Strides().run(Bed()).verdict

    def test_a_gain_over_a_default_slower_than_theirs_is_no_gain(self):
        self.assertEqual(self.strides(10, 40), "better")
        self.assertEqual(self.strides(3, 12), "not reproduced")

    def test_a_reader_of_a_quick_run_reads_more_than_its_start(self):
        for experiment in ellard.EXPERIMENTS:
            bed = Bed()
            with mock.patch.multiple(ellard, local=lambda *_: figures(1), fill=lambda *_: None,
                                     nfs=lambda *_, **__: figures(1, finish_s=[1.0] * 8)):
                experiment().run(bed)
            self.assertGreaterEqual(min(size for _, size in bed.laid_out), ellard_bed.LEAST)

    def test_the_papers_table_is_that_of_all_figures_but_of_its_own(self):
        self.assertEqual(ellard_bed.table()["Table_Probes"], 4)
        for experiment in ellard.EXPERIMENTS:
            nfs = mock.Mock(return_value=figures(1))
            with mock.patch.multiple(ellard, local=lambda *_: figures(1), fill=lambda *_: None,
                                     nfs=nfs):
                experiment().run(Bed())
            probes = {(call.kwargs.get("ra") or {}).get("Table_Probes")
                      for call in nfs.call_args_list} - {None}
            self.assertEqual(probes, {"e1": set(), "e7": {1, 32}}.get(experiment.name, {4}))


class Time(unittest.TestCase):
    """What the disk's time went to."""
    MODEL = {"rate-outer": 40, "rate-inner": 20}

    def test_a_trace(self):
        lines = [["0.0", "read", "0", "400000", "15.0", "2000000"],      # 10 ms of bytes
                 ["20.0", "read", "400000", "200000", "5.0", "0"],       # none before it for 5 ms
                 ["25.0", "read", "1000000", "200000", "10.0", "400000"]]  # half of the way: 30
        found = ellard_time.spent(lines, self.MODEL, 2000000, 0.05)
        self.assertAlmostEqual(found["seek_percent"], 100 * (5 + 10 - 200 / 30) / 50)
        self.assertAlmostEqual(found["idle_percent"], 40)
        self.assertAlmostEqual(sum(found[way] for way in ellard_time.WAYS), 100)
        self.assertEqual((found["seek_way_mb"], found["pause_ms"]), (1.2, 5))

    def test_in_words(self):
        found = {"seek_percent": 60.2, "transfer_percent": 20, "idle_percent": 19.8,
                 "seek_way_mb": 4.2, "pause_ms": 0.25}
        self.assertEqual(ellard_time.told(found.get),
                         "60 % seeking (4.2 MB a way), 20 % transferring, "
                         "20 % without a command (0.25 ms each time)")
        self.assertEqual(ellard_time.told({}.get), "")

    def test_traces_are_kept_by_the_name_of_the_run(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/trace"
            with open(path, "w", encoding="ascii") as file:
                file.write("time_ms\n1.0\n")
            ellard_time.keep(path, None, "nowhere")
            ellard_time.keep(path, f"{directory}/e8", "default, 2, 7200 rpm")
            self.assertEqual(os.listdir(f"{directory}/e8.traces"), ["default, 2, 7200 rpm.csv.gz"])
            with gzip.open(f"{directory}/e8.traces/default, 2, 7200 rpm.csv.gz", "rt") as file:
                self.assertEqual(file.read(), "time_ms\n1.0\n")

    def test_of_nothing(self):
        found = ellard_time.spent([], self.MODEL, 2000000, 1)
        self.assertEqual(found["idle_percent"], 100)


class Server(unittest.TestCase):
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
