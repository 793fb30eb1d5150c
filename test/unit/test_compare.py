#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/compare and those who call it: disturbed rounds, what is kept of a run that is cut off, and
going on from there, with servers and disks that are made up."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True

from bench_modules import program  # noqa: E402
import testbed  # noqa: E402, F401
import keeping  # noqa: E402
import nfsload  # noqa: E402
from experiments import comparing, experiment, measured  # noqa: E402


class Stolen:
    """A watch that says so much steal of one measurement after the other."""

    def __init__(self, *percent):
        self.percent = list(percent)

    def look(self):
        return None

    def between(self, *_):
        return {"steal_percent": self.percent.pop(0)}

    def calm(self, most=None):
        pass

    @staticmethod
    def clock():
        return 0


class Disturbed(unittest.TestCase):
    def measured(self, steal, rounds):
        """(measurements, of what each gets alone, records) of so many rounds."""
        compare = program("compare")
        compare.say = lambda text: None
        plan = compare.Comparison.__new__(compare.Comparison)
        plan.alone, plan.records, plan.watch = {}, [], Stolen(*steal)
        plan.options, plan.tell = types.SimpleNamespace(tries=2, json=None), lambda record: None
        calls, alone = [], []

        def measure(work, name, number):
            calls.append(number)
            if (work.name, name) not in plan.alone:
                alone.append(number)
                plan.alone[work.name, name] = len(calls)
            return {"mb_s": len(calls)}

        plan.measure = measure
        for number in range(rounds):
            plan.measure_undisturbed(types.SimpleNamespace(name="fair2"), "ra", number)
        return calls, alone, plan.records

    def test_a_disturbed_round_is_made_again(self):
        calls, alone, records = self.measured([0, 9, 0], 2)
        self.assertEqual((calls, alone), ([0, 1, 1], [0]))
        self.assertEqual([r["mb_s"] for r in records], [1, 3])
        self.assertEqual([r["circumstances"]["tries"] for r in records], [1, 2])

    def test_so_is_what_each_got_alone(self):
        calls, alone, records = self.measured([9, 9, 0, 0], 3)
        self.assertEqual((calls, alone), ([0, 0, 1, 2], [0, 0, 1]))
        self.assertEqual([r["circumstances"]["marked"] for r in records], [True, False, False])


class CutOff(unittest.TestCase):
    """Three works of two sets, two servers, two rounds: twelve measurements."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="compare-")
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "found.json")
        self.compare = program("compare")
        self.compare.say = lambda text: None
        for name, made_up in (("commit", lambda: self.commit),
                              ("describe", lambda: {"commit": self.commit})):
            self.addCleanup(setattr, self.compare.machine, name,
                            getattr(self.compare.machine, name))
            setattr(self.compare.machine, name, made_up)
        self.compare.make_disk = lambda options: types.SimpleNamespace(
            up=lambda: None, down=self.down)
        self.commit, self.downs = "abc", 0

    def down(self):
        self.downs += 1

    def options(self, *more):
        before = sys.argv
        sys.argv = ["compare", "--work", "seq1,seq2,cached4k", "--servers", "stock,tuned",
                    "--runs", "2", "--json", self.path, *more]
        try:
            return self.compare.parse_options("-")
        finally:
            sys.argv = before

    def run_until(self, end, *more):
        """(exit status, what it measured) of a run that after so many measurements ends by that."""
        options, measured = self.options(*more), []
        plan = self.compare.Comparison(options, None)
        plan.watch = Stolen(*[0] * 99)
        plan.leave_out_impossible = plan.lay_out = lambda sharing: None

        def measure(work, name, number):
            key = (work.name, name, number + 1)
            if end and len(measured) == end[0]:
                raise end[1]
            measured.append(key)
            return {"work": work.name, "server": name, "run": number + 1, "mb_s": 5.0}

        plan.measure = measure
        earlier = self.compare.kept_before(options, plan.described)
        if earlier:
            plan.go_on(earlier)
        with contextlib.redirect_stdout(io.StringIO()) as told:
            status = self.compare.measure_and_report(options, plan)
        self.told = told.getvalue()
        return status, measured

    def kept(self):
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)

    def test_a_whole_run_says_so(self):
        self.assertEqual(self.run_until(None)[0], 0)
        self.assertEqual(len(self.kept()["runs"]), 12)
        self.assertIsNone(self.kept()["incomplete"])
        self.assertNotIn("INCOMPLETE", self.told)

    def test_works_may_have_rounds_of_their_own(self):
        measured = self.run_until(None, "--runs-of", "seq2,cached4k:3")[1]
        self.assertEqual({work: sum(key[0] == work for key in measured)
                          for work in ("seq1", "seq2", "cached4k")},
                         {"seq1": 4, "seq2": 6, "cached4k": 6})
        self.assertIn("median of 2 rounds, 3 of seq2, 3 of cached4k", self.told)
        for wrong in ("seq2", "seq2:0", "sequel:3"):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                self.options("--runs-of", wrong)

    def test_a_signal_leaves_what_was_measured(self):
        for status in (130, 143):
            self.assertEqual(self.run_until((5, SystemExit(status)))[0], status)
            self.assertEqual(len(self.kept()["runs"]), 5)
            self.assertEqual(self.kept()["incomplete"], "interrupted")
            self.assertIn("INCOMPLETE, 5 of 12", self.told)
            self.assertIn("seq1", self.told)
        self.assertGreater(self.downs, 1)

    def test_of_nothing_nothing_is_kept(self):
        self.assertEqual(self.run_until((0, SystemExit(143)))[0], 143)
        self.assertFalse(os.path.exists(self.path))

    def test_whatever_ends_it_the_measurements_are_there(self):
        with self.assertRaises(ZeroDivisionError):
            self.run_until((3, ZeroDivisionError()))
        self.assertEqual(len(self.kept()["runs"]), 3)
        self.assertTrue(self.kept()["incomplete"])

    def test_one_failure_does_not_hide_another(self):
        record = {}
        for text in ("not done", "the server died"):
            keeping.add_failure(record, text)
        self.assertEqual(record["failed"], "not done; the server died")

    def test_a_measurement_that_fails_stops_no_other(self):
        status, measured = self.run_until((11, RuntimeError("no server")))
        self.assertEqual((status, len(measured)), (1, 11))
        self.assertIn("no server", self.kept()["runs"][11]["failed"])
        self.assertIsNone(self.kept()["incomplete"])

    def test_a_set_that_fails_stops_no_other(self):
        whole = self.compare.Comparison.measure_set

        def measure_set(plan, sharing):
            if sharing[0].name == "seq2":
                raise RuntimeError("the disk is too small")
            whole(plan, sharing)

        self.compare.Comparison.measure_set = measure_set
        status, measured = self.run_until(None)
        self.assertEqual((status, {key[0] for key in measured}), (1, {"seq1", "cached4k"}))
        self.assertIn("too small", self.kept()["incomplete"])

    def test_a_later_run_goes_on(self):
        first = self.run_until((5, SystemExit(143)))[1]
        status, second = self.run_until(None, "--go-on")
        self.assertEqual((status, len(second)), (0, 7))
        self.assertFalse(set(first) & set(second))
        self.assertEqual(len(self.kept()["runs"]), 12)
        self.assertIsNone(self.kept()["incomplete"])
        self.assertEqual(self.run_until(None, "--go-on"), (0, []))

    def test_with_more_rounds_or_from_nothing_too(self):
        self.assertEqual(len(self.run_until(None, "--go-on")[1]), 12)
        self.assertEqual(len(self.run_until(None, "--go-on", "--runs", "3")[1]), 6)

    def test_what_failed_or_was_disturbed_is_made_again(self):
        self.run_until(None)
        stored = self.kept()
        stored["runs"][3]["failed"] = "no"
        stored["runs"][4]["circumstances"]["marked"] = True
        keeping.write(self.path, stored)
        self.assertEqual(len(self.run_until(None, "--go-on")[1]), 2)

    def test_other_code_or_another_disk_is_refused(self):
        self.run_until((5, SystemExit(143)))
        for more, commit in ((("--disk", "fast"), "abc"), (("--size", "64M"), "abc"), ((), "xyz")):
            self.commit = commit
            with self.assertRaises(SystemExit) as refused:
                self.run_until(None, "--go-on", *more)
            self.assertIn(self.path, str(refused.exception))
        self.assertEqual(len(self.kept()["runs"]), 5)

    def test_so_is_another_build_of_it(self):
        found = {"commit": "abc-dirty", "built": {"libfsalra.so": "1", "nfsbench": "2"}}
        stored = {"machine": found, "options": {}, "runs": []}
        for built, reason in (({"libfsalra.so": "1", "nfsbench": "2"}, None), ({"nfsbench": "2"}, None),
                              ({"libfsalra.so": "9", "nfsbench": "2"}, "another build: libfsalra.so")):
            told = keeping.reason_against(stored, {}, {"commit": "abc-dirty", "built": built})
            self.assertEqual(told and told[-len(reason or ""):], reason)
        del found["built"]
        self.assertIn("which build", keeping.reason_against(stored, {}, {"commit": "abc-dirty", "built": {}}))

    def test_the_build_is_kept_with_what_it_measured(self):
        plan = self.compare.Comparison(self.options("--nfsbench", __file__), None)
        self.assertEqual(list(plan.described["built"]), ["nfsbench"])
        self.assertEqual(len(plan.described["built"]["nfsbench"]), 64)

    def test_what_cannot_be_kept_is_told(self):
        full = OSError(28, "No space left on device")
        with unittest.mock.patch.object(keeping, "write", side_effect=full):
            status, made = self.run_until(None)
        self.assertEqual((status, len(made)), (1, 12))
        self.assertIn("seq1", self.told)
        self.assertIn("NOT KEPT: [Errno 28] No space left", self.told)

    def test_another_file_is_refused(self):
        for text in ("", "[]", "{}", "{\"runs\": 1"):
            with open(self.path, "w", encoding="ascii") as file:
                file.write(text)
            with self.assertRaises(SystemExit):
                self.compare.kept_before(self.options("--go-on"), {"commit": self.commit})


class Called(unittest.TestCase):
    """comparing.compare() above a bench/compare that is made up."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="called-")
        self.addCleanup(directory.cleanup)
        self.bed = experiment.Bed(True, say=lambda text: None)
        self.bed.prefix = os.path.join(directory.name, "e9")
        self.calls, before = [], comparing.call
        self.addCleanup(setattr, comparing, "call", before)

    def call_that(self, end, incomplete, n):
        def call(command, more, statuses):
            self.calls.append(list(more))
            stored = {"command": " ".join([command, *more]), "incomplete": incomplete,
                      "options": {}, "machine": self.bed.described,
                      "runs": [{"work": "seq1", "server": "ra", "run": 1 + i, "mb_s": 1,
                                "circumstances": {"marked": False}} for i in range(n)]}
            keeping.write(more[list(more).index("--json") + 1], stored)
            if end:
                raise end
        comparing.call = call

    def test_rounds_of_one_that_is_cut_off_are_the_beds(self):
        self.call_that(SystemExit(143), "interrupted", 3)
        with self.assertRaises(SystemExit):
            comparing.compare(self.bed, "bench/compare --work seq1")
        self.assertEqual(len(self.bed.records), 3)

    def test_another_call_goes_on_where_it_may(self):
        self.call_that(SystemExit(143), "interrupted", 3)
        for go_on, command, expected in (
                (False, "seq1", False), (True, "seq1", True), (True, "seq2", False)):
            self.bed.records, self.bed.go_on = [], go_on
            with self.assertRaises(SystemExit):
                comparing.compare(self.bed, f"bench/compare --work {command}")
            self.assertEqual("--go-on" in self.calls[-1], expected)

    def test_what_does_not_count_is_kept_aside_and_why_is_told(self):
        said = []
        self.bed.say, self.bed.go_on = said.append, True
        self.call_that(None, None, 2)
        for built, command, reason in (({}, "seq1", None), ({"nfsbench": "other"}, "seq1", "another build: nfsbench"),
                                       ({}, "seq2", "another command: bench/compare --work seq1")):
            self.bed.records, self.bed.described = [], {"commit": "abc", "built": {"nfsbench": "1", **built}}
            del said[:]
            comparing.compare(self.bed, f"bench/compare --work {command}")
            self.assertIn(reason or "", " ".join(said))
            self.assertEqual(os.path.exists(f"{self.bed.prefix}.part0.before"), bool(reason))
        self.bed.forget_parts()
        self.assertEqual(os.listdir(os.path.dirname(self.bed.prefix)), [])

    def test_a_whole_one_leaves_nothing_beside(self):
        self.call_that(None, None, 2)
        stored, done = comparing.compare(self.bed, "bench/compare --work seq1")
        self.assertEqual((len(stored["runs"]), done.series()), (2, ["seq1 ra"]))
        self.bed.forget_parts()
        self.assertEqual(os.listdir(os.path.dirname(self.bed.prefix)), [])

    def test_one_that_is_incomplete_is_a_failure(self):
        self.call_that(None, "set x: too small", 2)
        comparing.compare(self.bed, "bench/compare --work seq1")
        self.assertIn("too small", self.bed.failures[0])


class Words(unittest.TestCase):
    @staticmethod
    def told(experiment, quick=False):
        bed = types.SimpleNamespace(plugin="/a b/libfsalra.so", mechdisk="/c d/mechdisk", say=None,
                                    watch=Stolen(0), tries=1, records=[], quick=quick)
        return experiment.run(bed).more["calls"][0]["text"]

    def test_a_path_may_have_blanks(self):
        self.assertEqual(comparing.call(["printf", "%s", "a b"]), "a b")
        self.assertEqual(comparing.call("printf %s", ["a b"]), "a b")
        self.assertEqual(self.told(measured.Told("x", ["printf [%s] PLUGIN MECHDISK"], 1)),
                         "[/a b/libfsalra.so][/c d/mechdisk]")

    def test_what_takes_as_long_however_small_has_quick_commands(self):
        experiment = measured.Told("x", ["printf an_hour"], 65, quick=(["printf minutes"], 12))
        self.assertEqual((self.told(experiment), self.told(experiment, True)), ("an_hour", "minutes"))
        self.assertEqual((experiment.seconds_full, experiment.seconds_quick), (3900, 720))
        self.assertEqual(self.told(measured.Told("x", ["printf %s same"], 1), True), "same")

    def test_progress_is_not_shown(self):
        text = "#    10 of 600 s: 7 calls\nok 1\n# a while later 3 threads\n# RA_STATS {}\n"
        self.assertEqual(measured.without_progress("soak", text), "ok 1\n# a while later 3 threads")
        self.assertEqual(measured.without_progress("guest", text), text.rstrip())

    def test_no_work_has_fewer_rounds_than_are_asked(self):
        command = "bench/compare --work a,b --runs-of a,b:3 --servers ra"
        self.assertEqual(measured.at_least(command, 1), command)
        self.assertEqual(measured.at_least(command, 6), command.replace(":3", ":6"))


class Built(unittest.TestCase):
    """Which of several builds is measured."""

    RELEASE = ("CMAKE_BUILD_TYPE:STRING=RelWithDebInfo\nCMAKE_C_FLAGS:STRING=\nRA_ASSERT:BOOL=OFF\n"
               "RA_SHARED_LINES:BOOL=OFF\n")

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="built-")
        self.addCleanup(directory.cleanup)
        self.top, self.age = directory.name, 0
        for patch in (unittest.mock.patch.object(nfsload, "HERE", f"{self.top}/bench"),
                      unittest.mock.patch.dict(os.environ, RA_BUILD="")):
            patch.start()
            self.addCleanup(patch.stop)

    def build(self, name, cache):
        """Older than those that were built before. The program."""
        self.age += 1
        program = f"{self.top}/{name}/bench/nfsbench"
        os.makedirs(os.path.dirname(program))
        with open(f"{self.top}/{name}/CMakeCache.txt", "w", encoding="utf-8") as file:
            file.write(cache)
        with open(program, "w", encoding="utf-8"):
            pass
        os.utime(program, (1000 - self.age, 1000 - self.age))
        return program

    def test_only_one_as_packages_are_is_measured(self):
        for name, old, new in (
                ("build/asan", "C_FLAGS:STRING=", "C_FLAGS:STRING=-O1 -fsanitize=address"),
                ("build/checked", "RA_ASSERT:BOOL=OFF", "RA_ASSERT:BOOL=ON"),
                ("build/typed", "RA_ASSERT:BOOL=OFF", "RA_ASSERT:UNINITIALIZED=1"),
                ("build-coverage", "C_FLAGS:STRING=", "C_FLAGS:STRING=-O0 --coverage"),
                ("build-sharedlines", "RA_SHARED_LINES:BOOL=OFF", "RA_SHARED_LINES:BOOL=ON"),
                ("build-debug", "RelWithDebInfo", "Debug")):
            self.build(name, self.RELEASE.replace(old, new))
        with self.assertRaises(SystemExit) as none:
            nfsload.find_built("nfsbench", None)
        self.assertIn("as packages are", str(none.exception))
        release = self.build("build/release", self.RELEASE)
        self.build("build-old", self.RELEASE)
        self.assertEqual(nfsload.find_built("nfsbench", None), release)

    def test_where_it_was_built_does_not_matter(self):
        def built(directory, answer):
            path = f"{self.top}/{directory}"
            os.makedirs(path)
            with open(f"{path}/a.c", "w", encoding="ascii") as file:
                file.write(f"int answer = {answer}; int main(void) {{ return answer; }}\n")
            subprocess.run(["cc", "-g", "-Wl,--build-id", "-o", "program", "a.c"], cwd=path, check=True)
            return nfsload.hashes({"program": f"{path}/program"})

        self.assertEqual(built("one", 42), built("another/and/longer", 42))
        self.assertNotEqual(built("third", 43), built("fourth", 42))

    def test_one_that_is_named_is_the_only_one(self):
        self.build("build-release", self.RELEASE)
        mine = self.build("mine", self.RELEASE)
        with unittest.mock.patch.dict(os.environ, RA_BUILD=f"{self.top}/mine"):
            self.assertEqual(nfsload.find_built("nfsbench", None), mine)
        with unittest.mock.patch.dict(os.environ, RA_BUILD=f"{self.top}/none"), \
                self.assertRaises(SystemExit):
            nfsload.find_built("nfsbench", None)
        self.assertEqual(nfsload.find_built("nfsbench", mine), mine)


if __name__ == "__main__":
    unittest.main()
