#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of Macklem's paper compute without servers: means of ratios, verdicts, the order
of arrival."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from experiments import macklem_bed as base  # noqa: E402
from experiments import macklem, macklem_today, rounds  # noqa: E402

CALM = {"marked": False}


def rounds_of(values):
    """{series: {rate: mean round trip}}, one round."""
    return rounds.Rounds([{"run": 0, "series": name, "round": 1, "circumstances": CALM,
                           "figures": {f"rtt_{rate}": rtt for rate, rtt in curve.items()}}
                          for name, curve in values.items()])


class Ratios(unittest.TestCase):
    def test_the_mean_is_geometric(self):
        done = rounds_of({"a": {10: 2.0, 20: 8.0}, "b": {10: 1.0, 20: 2.0}})
        self.assertAlmostEqual(base.mean_ratio(done, "a", "b", (10, 20)), 8 ** 0.5)
        self.assertEqual(base.worst_ratio(done, "a", "b", (10, 20)), 4)

    def test_a_rate_that_nobody_answered_is_left_out(self):
        done = rounds_of({"a": {10: 2.0, 20: None}, "b": {10: 1.0, 20: 2.0}})
        self.assertAlmostEqual(base.mean_ratio(done, "a", "b", (10, 20)), 2)
        self.assertIsNone(base.mean_ratio(done, "a", "b", (20,)))


class Verdicts(unittest.TestCase):
    def test_all_claims_must_hold(self):
        self.assertEqual(base.verdict({"x": True, "y": True}), ("reproduced", ""))
        self.assertEqual(base.verdict({"x": True, "y": False}), ("not reproduced", "y"))

    def test_a_lan_as_the_papers(self):
        done = rounds_of({base.FIXED: {1: 10.0}, base.DYNAMIC: {1: 10.5}, base.TCP: {1: 17.0}})
        claims, _ = macklem.LanLookup().claims(done, (1,))
        self.assertEqual(base.verdict(claims)[0], "reproduced")

    def test_a_ring_as_the_papers(self):
        done = rounds_of({base.FIXED: {1: 40.0, 2: 90.0}, base.DYNAMIC: {1: 30.0, 2: 40.0},
                          base.TCP: {1: 31.0, 2: 42.0}})
        claims, _ = macklem.RingRead().claims(done, (1, 2))
        self.assertEqual(base.verdict(claims)[0], "reproduced")


class Arrivals(unittest.TestCase):
    def test_in_order(self):
        found = macklem_today.Arrivals.judge([(1, 0), (2, 4096), (3, 8192)])
        self.assertEqual((found["behind_percent"], found["most_kib"], found["missed"]), (0, 0, 0))

    def test_behind_and_missed(self):
        found = macklem_today.Arrivals.judge([(1, 0), (2, 8192), (3, 4096), (5, 12288)])
        self.assertEqual((found["behind_percent"], found["most_kib"]), (25, 4))
        self.assertEqual(found["missed"], 1)


if __name__ == "__main__":
    unittest.main()
