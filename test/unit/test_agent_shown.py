#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""How the experiments of ca-nfs-agent are judged, with made-up figures, and what is read of a
guest's kernel."""
import contextlib
import os
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from experiments import agent, agent_bed, agent_costs, rounds  # noqa: E402
import guest_client  # noqa: E402

CALM = {"marked": False}
STATS = """device rootfs mounted on / with fstype rootfs
device server:/srv mounted on /mnt/nfs with fstype nfs statvers=1.1
	opts:	rw,vers=3
	age:	7
	events:	1 2 3
	bytes:	4096 8192 0 0 65536 8192 16 2
	per-op statistics
	       NULL: 1 1 0 44 24 0 0 1 0
	       READ: 12 12 0 1 2 3 4 5 0
	      WRITE: 3 3 0 1 2 3 4 5 0
device server:/srv mounted on /mnt/other with fstype nfs statvers=1.1
	bytes:	1 1 0 0 1 1 1 1
"""


def rounds_of(**series):
    """{series: [a figure "x" of each round]}"""
    return rounds.Rounds([{"run": 0, "series": name, "round": n, "circumstances": CALM,
                           "figures": {"x": value}}
                          for name, values in series.items() for n, value in enumerate(values)])


class Pairs(unittest.TestCase):
    """The agent is off and on in turns, each first in turn, and no work reads what another has read."""

    def test_the_turns(self):
        made, slept = [], []

        class At:
            on = None

            def __init__(self):
                self.guests = [types.SimpleNamespace(call=self.call)]

            @contextlib.contextmanager
            def agents(self, arguments):
                self.on = arguments
                yield
                self.on = None

            def call(self, _, number, **more):
                made.append((self.on, number))
                return 2.0 if self.on is None else 2.0 + number / 10
        kept, agent_costs.time = agent_costs.time, types.SimpleNamespace(sleep=slept.append)
        try:
            found = agent_costs.pairs(At(), ("--x",), 2)
        finally:
            agent_costs.time = kept
        self.assertEqual(made, [(None, 0), (("--x",), 1), (("--x",), 3), (None, 2)])
        self.assertEqual(slept, [agent_bed.SETTLE] * 2)
        self.assertEqual(found, [(2.0, 2.1), (2.0, 2.3)])

    def test_a_pair_is_compared_with_itself(self):
        found = agent_costs.paired([(1.0, 1.1), (2.0, 2.2), (4.0, 2.0)])
        self.assertAlmostEqual(found["ratio"], 1.1)
        self.assertEqual((found["off_s"], found["on_s"]), (2.0, 2.0))


class Possible(unittest.TestCase):
    """The bound of a6 beside a disk that is counted through, second by second."""

    def test_a_writer_that_always_writes(self):
        for reading, kept in ((0.26, 0.85), (0.1, 1), (0.4, 0.5)):
            period = 1 / kept  # of the reader's alone
            left = period - 2 * reading
            gaps, slices = agent_costs.most_beside(reading, 1, kept)
            self.assertAlmostEqual(gaps, left / period / (1 - reading))
            self.assertAlmostEqual(slices, (1 - kept) / (1 - reading))

    def test_one_that_works_between(self):
        reading, writing, kept = 0.26, 0.8, 0.85
        gaps = agent_costs.most_beside(reading, writing, kept)[0]
        rate = gaps * (1 - reading)
        own = rate * (1 - writing)  # of the time; the reader is alone in it
        disk = rate * writing
        beside = (1 - disk / (1 - own)) / 2 / reading  # reads in the rest of it, of those alone
        self.assertAlmostEqual(own + (1 - own) * beside, kept)

    def test_longer_ways_leave_less(self):
        found = [agent_costs.most_beside(0.26, 0.8, 0.85, ways)[0] for ways in (2, 2.5, 3)]
        self.assertEqual(found, sorted(found, reverse=True))
        self.assertEqual(found[0], agent_costs.most_beside(0.26, 0.8, 0.85)[0])
        self.assertLess(agent_costs.most_beside(0.26, 1, 0.85, 5)[0], 1e-6)

    def test_it_is_told(self):
        done = rounds.Rounds([
            {"run": 0, "series": "interactive alone", "round": 1, "circumstances": CALM,
             "figures": {"reads_s": 33.0, "busy": 0.264}},
            {"run": 0, "series": "backup alone", "round": 1, "circumstances": CALM,
             "figures": {"backup_mb_s": 76.0, "busy": 0.8}},
            {"run": 0, "series": "RA on", "round": 1, "circumstances": CALM,
             "figures": {"ways_ms": 21.0}}])
        text, kept = agent_costs.Weights().also(done)
        self.assertIn("8.0 ms", text)
        self.assertIn("21.0 ms", text)
        self.assertEqual(set(kept["possible"]), {"gaps", "slices"})
        self.assertIsNone(agent_costs.Weights().also(rounds_of(off=[1])))


class Verdicts(unittest.TestCase):
    def verdict(self, done, *asked):
        return agent_bed.outcome(done, asked, ("x",), done.series()).check()

    def test_at_least_and_at_most(self):
        least = agent_bed.Asked("reads", "x", of="on", by="off", least=1.35)
        most = agent_bed.Asked("time", "x", of="on", by="off", most=1.02)
        for values, of_least, of_most in (([1.34], "not reproduced", "not reproduced"),
                                          ([1.35], "reproduced", "not reproduced"),
                                          ([1.02], "not reproduced", "reproduced"),
                                          ([1.4, 1.5], "better", "not reproduced"),
                                          ([1.0, 1.01], "not reproduced", "better")):
            done = rounds_of(on=values, off=[1.0] * len(values))
            self.assertEqual(self.verdict(done, least).verdict, of_least, values)
            self.assertEqual(self.verdict(done, most).verdict, of_most, values)

    def test_the_worst_decides_and_is_told(self):
        good = agent_bed.Asked("good", "x", of="on", least=1)
        bad = agent_bed.Asked("bad", "x", of="on", most=1)
        found = self.verdict(rounds_of(on=[2.0]), good, bad)
        self.assertEqual(found.verdict, "not reproduced")
        self.assertIn("bad 2 (at most 1 asked)", found.why)
        self.assertNotIn("good", found.why)
        self.assertIn("good 2", found.figure)

    def test_a_column_that_failed_is_not_met(self):
        found = self.verdict(rounds_of(off=[1.0]), agent_bed.Asked("x", "x", by="off", least=1))
        self.assertEqual(found.verdict, "not reproduced")
        self.assertIn("no figure", found.why)

    def test_each_names_columns_that_there_are(self):
        for experiment in agent.EXPERIMENTS:
            for asked in experiment.asked:
                self.assertIn(asked.of, experiment.columns_of, experiment.name)
                self.assertIn(asked.by, (None, *experiment.columns_of), experiment.name)
                self.assertNotEqual(asked.least is None, asked.most is None, asked.what)

    def test_what_a_quick_run_has(self):
        for experiment in agent.EXPERIMENTS:
            columns, asked = experiment().chosen(True)
            self.assertTrue(set(experiment.columns_quick) <= set(experiment.columns_of))
            self.assertTrue(columns and asked, experiment.name)
            used = {name for a in asked for name in (a.of, a.by)}
            self.assertTrue("RA on" not in columns or "RA on" in used, experiment.name)
            columns, asked = experiment().chosen(False)
            self.assertEqual((columns, asked), (list(experiment.columns_of), list(experiment.asked)))

    def test_what_is_left_for_a_backup(self):
        w = agent_costs.Weights
        figures = {w.ALONE: {"busy": 0.5}, w.BACKUP: {"backup_mb_s": 80.0},
                   "RA on": {"backup_mb_s": 30.0}}
        done = rounds.Rounds([{"run": 0, "series": name, "round": 1, "circumstances": CALM,
                               "figures": dict(f)} for name, f in figures.items()])
        w().add(done)
        self.assertAlmostEqual(done.median("RA on", "of_left"), 0.75)


class Kernel(unittest.TestCase):
    def test_mountstats(self):
        found = guest_client.parse_mountstats(STATS, "/mnt/nfs")
        self.assertEqual((found["programs_read"], found["server_read"]), (4096, 65536))
        self.assertEqual(found["ops"], {"NULL": 1, "READ": 12, "WRITE": 3})
        self.assertIsNone(guest_client.parse_mountstats(STATS, "/mnt"))


if __name__ == "__main__":
    unittest.main()
