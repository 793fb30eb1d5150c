#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Traces that are made, and those out of nfsdump's text: nfsreplay (the only argument) takes both."""
import collections
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from bench_modules import BENCH, program  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DIRECTORY = os.path.join(BENCH, "nfsreplay")
SAMPLE = os.path.join(HERE, "sample.nfsdump")
NFSREPLAY = None

make_trace = program("nfsreplay/make-trace")
from_nfsdump = program("nfsreplay/from-nfsdump")
import nfsdump  # noqa: E402  found by what these two put into sys.path
import testbed  # noqa: E402, F401  finds what the others import
from experiments import rounds, traces  # noqa: E402
import tracetext  # noqa: E402


def run(*command):
    return subprocess.run(command, check=False, text=True, capture_output=True, timeout=60)


def refused(text):
    """Why nfsreplay does not take a trace, "" when it does."""
    with tempfile.NamedTemporaryFile("w", suffix=".trace", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = run(NFSREPLAY, "--plan", file.name)
    return done.stderr if done.returncode else ""


def converted(lines):
    """(text of the trace, what was left out)"""
    left_out, converter = collections.Counter(), from_nfsdump.Converter()
    for exchange in nfsdump.exchanges(lines, left_out):
        try:
            converter.convert(exchange)
        except from_nfsdump.LeftOut as reason:
            left_out[str(reason)] += 1
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        tracetext.write(file, (), *converter.before(), converter.lines)
        file.seek(0)
        return file.read(), left_out


class Made(unittest.TestCase):
    def test_the_shipped_one_is_what_its_command_makes(self):
        with open(f"{DIRECTORY}/small.trace", encoding="utf-8") as file:
            text = file.read()
        arguments = text.splitlines()[1].split("make-trace ")[1].split()
        self.assertEqual(run(f"{DIRECTORY}/make-trace", *arguments).stdout, text)

    def test_days_are_taken_and_differ_by_seed(self):
        days = [run(f"{DIRECTORY}/make-trace", "--seed", str(seed), "--seconds", "8").stdout
                for seed in range(3)]
        self.assertEqual([refused(day) for day in days], [""] * 3)
        self.assertEqual(len(set(days)), 3)

    def test_actors_can_be_left_out(self):
        for kind in ("users", "builders", "pages", "data"):
            others = [x for k in ("users", "builders", "pages", "data") if k != kind
                      for x in (f"--{k}", "0")]
            day = run(f"{DIRECTORY}/make-trace", "--seconds", "5", *others).stdout
            self.assertEqual(refused(day), "", kind)

    def test_bad_measures_are_told(self):
        for option, value, said in (("--users", "201", "from 0 to 200"), ("--seed", "x", "4294967295"),
                                    ("--seconds", "0", "from 1 to 86400")):
            done = run(f"{DIRECTORY}/make-trace", option, value)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


class FromNfsdump(unittest.TestCase):
    def setUp(self):
        with open(SAMPLE, encoding="utf-8") as file:
            self.lines = file.readlines()

    def test_the_sample(self):
        text, left_out = converted(self.lines)
        self.assertEqual(refused(text), "")
        for line in ("file handles/d1/inbox 200000", "file handles/f2 73728",
                     "0.0003 c45 read handles/d1/inbox 0 32768 took=1500",
                     "0.0099 c46 lookup handles/d1/inbox.lock took=200 status=2",
                     "0.0129 c46 write handles/d1/inbox 200000 3121 stable=file took=4500",
                     "1.0219 c47 fsstat . took=100"):
            self.assertIn(line + "\n", text)
        self.assertEqual(left_out, {"a call repeated": 1, "getattr answered with status 70": 1,
                                    "readlink": 1, "NFSv2": 1, "a line that is none of nfsdump": 1,
                                    "a call without an answer": 1,
                                    "time went back: taken as that of the line above": 1})

    def test_the_program(self):
        done = run(f"{DIRECTORY}/from-nfsdump", "--from", "0.5", "--operations", "2", SAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 operations of 1 clients", done.stderr)
        self.assertEqual(run(f"{DIRECTORY}/from-nfsdump", "/dev/null").returncode, 1)

    def test_whatever_is_missing_what_comes_out_is_taken(self):
        draw = random.Random(1)
        kept = 0
        for _ in range(120):
            lines = [line for line in self.lines * 2 if draw.random() < 0.8]
            for _ in range(draw.randrange(4)):
                at = draw.randrange(len(lines))
                words = lines[at].split(" ")
                other = draw.choice(self.lines).split(" ")
                i = draw.randrange(len(words))
                words[i] = draw.choice(other)
                lines[at] = " ".join(words)
            text, _ = converted(lines)
            kept += len(text.splitlines())
            if text.count("\n") > 1 and "\n0 " in text:
                self.assertEqual(refused(text), "", text)
        self.assertGreater(kept, 60 * 10)


def replayed(read_ms, **more):
    """The figures of one round."""
    return {"elapsed_s": 9.0, "requests_s": 5.0, "late_ms": 0.1, "cpu_s": 1.0, "read_ms": read_ms,
            "read_p99_ms": 2 * read_ms, **more}


class Verdicts(unittest.TestCase):
    """Of bench/papers t1 and t2: no kind of operation below 0.97 of stock or tuned."""

    def outcome(self, **of_server):
        of_server = {"tuned": of_server.get("stock"), **of_server}
        records = [{"series": name, "round": 1, "circumstances": {"marked": False}, "figures": f}
                   for name, f in of_server.items()]
        return traces.AsRecorded().outcome(rounds.Rounds(records))

    def test_worse_is_by_more_than_noise(self):
        self.assertTrue(traces.worse(9.6, 10))
        self.assertFalse(traces.worse(9.8, 10))
        self.assertFalse(traces.worse(0.10, 0.19))

    def test_worse_is_by_more_than_chance(self):
        self.assertTrue(traces.worse(5, 6.2, 1.1))
        self.assertFalse(traces.worse(5, 6.2, 1.3))
        few = {name: replayed(ms, create_ms=create, create_error=0.6)
               for name, ms, create in (("stock", 8.0, 5.0), ("ra", 4.0, 6.2))}
        found = self.outcome(**few)
        self.assertEqual((found.verdict, found.figure), (
            "better", "speed of answers x stock: read 2.00; may be chance, x stock: create "
            "0.81; speed of answers x tuned: read 2.00; may be chance, x tuned: create 0.81"))
        few["ra"]["create_ms"] = 7.0
        found = self.outcome(**few)
        self.assertEqual(found.verdict, "not reproduced")
        self.assertIn("create 7.00 ms, stock 5.00", found.why)

    def test_faster_reads_are_better(self):
        found = self.outcome(stock=replayed(8.0), ra=replayed(4.0))
        self.assertEqual((found.verdict, found.more["gains"]["stock"]), ("better", {"read": 2.0}))
        self.assertIn("read 2.00", found.figure)

    def test_better_is_by_more_than_noise(self):
        found = self.outcome(stock=replayed(8.0), ra=replayed(7.5))
        self.assertEqual(found.verdict, "reproduced")
        few = {name: replayed(ms, read_error=2.5) for name, ms in (("stock", 8.0), ("ra", 4.0))}
        self.assertEqual(self.outcome(**few).verdict, "reproduced")
        self.assertEqual(self.outcome(stock=replayed(0.15), ra=replayed(0.07)).verdict, "reproduced")

    def test_a_round_alone_must_show_more_than_several(self):
        one = self.outcome(stock=replayed(22.0), tuned=replayed(14.36), ra=replayed(9.05))
        self.assertEqual(one.verdict, "reproduced")
        for last, verdict in ((5.2, "reproduced"), (8.0, "better")):
            records = [{"series": name, "round": n, "circumstances": {"marked": False},
                        "figures": replayed(ms)}
                       for n, tuned in ((1, 14.4), (2, 9.0), (3, last))
                       for name, ms in (("stock", 2 * tuned), ("tuned", tuned), ("ra", 5.0))]
            self.assertEqual(traces.AsRecorded().outcome(rounds.Rounds(records)).verdict, verdict)

    def test_what_ties_with_tuned_is_not_better(self):
        found = self.outcome(stock=replayed(22.58), tuned=replayed(7.18), ra=replayed(7.32))
        self.assertEqual(found.verdict, "reproduced")
        self.assertIn("x tuned: read 0.98", found.figure)

    def test_heaps_of_late_requests_do_not_tell_it_from_tuned(self):
        of = {"stock": replayed(31.3, read_error=1.2), "tuned": replayed(9.07, read_error=0.5),
              "ra": replayed(10.06, read_error=0.5)}
        self.assertEqual(self.outcome(**of).verdict, "reproduced")
        of["ra"] = replayed(18.0, read_error=0.5)
        self.assertIn("read 18.00 ms, tuned 9.07", self.outcome(**of).why)
        of["ra"] = replayed(35.0, read_error=0.5)
        self.assertIn("read 35.00 ms, stock 31.30", self.outcome(**of).why)

    def test_what_is_slower_than_tuned_is_worse(self):
        found = self.outcome(stock=replayed(22.58), tuned=replayed(5.0), ra=replayed(7.32))
        self.assertEqual(found.verdict, "not reproduced")
        self.assertIn("read 7.32 ms, tuned 5.00", found.why)

    def test_an_open_loop_is_judged_from_when_a_request_was_due(self):
        row = {"count": 100, "latency_ms": {"mean": 1, "p99": 2, "error": 0.1},
               "waited_ms": {"mean": 11, "p99": 900, "error": 4}}
        told = {"elapsed_s": 2, "total": {"late_ms": {"mean": 10}, "count": 100},
                "operations": {"read": row}, "clients": {"pc": row}}
        found = traces.figures(told, traces.AsRecorded.judged)
        self.assertEqual((found["read_ms"], found["read_p99_ms"], found["pc client"]), (11, 900, 11))
        self.assertEqual(traces.figures(told, traces.AsFast.judged)["read_ms"], 1)

    def test_what_cannot_be_told_apart_is_no_ratio(self):
        found = self.outcome(stock=replayed(8.0, lookup_ms=0.15), ra=replayed(4.0, lookup_ms=0.23))
        self.assertEqual(found.figure,
                         "speed of answers x stock: read 2.00; within 0.1 ms of stock's: lookup; "
                         "speed of answers x tuned: read 2.00; within 0.1 ms of tuned's: lookup")

    def test_processors_are_told_by_the_request(self):
        self.assertEqual(traces.at_processors((100.0, 50.0, 7), (300.0, 90.0, 27), 10),
                         {"cpu_us": 20.0, "waited_us": 4.0, "switches": 2.0})
        ran, _, times = traces.scheduled(os.getpid())
        self.assertGreater(ran, 0)
        self.assertGreater(times, 0)

    def test_what_is_slower_is_named(self):
        found = self.outcome(stock=replayed(8.0, write_ms=1.0), ra=replayed(4.0, write_ms=2.0))
        self.assertEqual((found.verdict, found.why),
                         ("not reproduced", "write 2.00 ms, stock 1.00; write 2.00 ms, tuned 1.00. "
                                            "tuned: ; stock: ; ra: "))

    def test_without_a_round_nothing_is_said(self):
        self.assertEqual(self.outcome(stock=replayed(8.0)).verdict, "not run")


if __name__ == "__main__":
    NFSREPLAY = sys.argv.pop(1)
    unittest.main()
