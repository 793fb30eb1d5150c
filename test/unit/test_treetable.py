#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The tables of what bench/trees measured: ratios round by round, what is asked of which work, and
what does not count."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

import treetable  # noqa: E402
import testbed  # noqa: E402, F401
import treeworks  # noqa: E402

CALM = {"steal_percent": 1.0, "marked": False, "read_again_pages": 0}
BUSY = {"steal_percent": 12.0, "marked": True, "read_again_pages": 0}


def record(work, server, rate, beside=CALM, **more):
    return {"work": work, "server": server, "layout": "fresh", "solid": False, "rate": rate,
            "files": 8000, "worst_ms": 100.0, "disk_mb": 10.0, "circumstances": beside,
            "ra_stats": {}, **more}


class Tables(unittest.TestCase):
    def test_ratios_are_of_rounds(self):
        records = [record("tree", "stock", 100.0), record("tree", "stock", 200.0),
                   record("tree", "ra", 190.0), record("tree", "ra", 380.0)]
        text = treetable.table(records)
        self.assertIn("| tree, fresh | 8000 | ra | 285.0 (190.0 to 380.0) | 1.90 |", text)
        self.assertIn("x stock at least 1.8 | met |", text)
        self.assertEqual(len(text.splitlines()), 4)

    def test_what_is_missed_says_by_how_much(self):
        text = treetable.table([record("tree", "stock", 100.0), record("tree", "ra", 170.0)])
        self.assertIn("MISSED: 1.70", text)

    def test_bytes_are_bounded_from_above(self):
        records = [record("tenth", "stock", 100.0), record("tenth", "ra", 100.0, disk_mb=11.0)]
        self.assertIn("met; MISSED: 1.10", treetable.table(records))

    def test_disturbed_rounds_do_not_count_beside_others(self):
        records = [record("tree", "stock", 100.0), record("tree", "stock", 100.0),
                   record("tree", "ra", 10.0, BUSY), record("tree", "ra", 200.0)]
        self.assertIn("| 200.0 | 2.00 |", treetable.table(records))

    def test_each_place_has_its_limit(self):
        for layout, solid, limits in (("fresh", False, [1.8]), ("aged", False, [1.15]),
                                      ("fresh", True, [1.0])):
            found = treetable.targets_of(record("tree", "ra", 1.0, layout=layout, solid=solid))
            self.assertEqual([limit for measure, _, limit in found if measure == "x stock"], limits)

    def test_listings_take_long(self):
        text = treetable.table([record("ls", "stock", 0.25), record("ls", "ra", 0.5)])
        self.assertIn("| 0.250 |", text)
        self.assertIn("| 0.500 | 2.00 |", text)

    def test_the_works_are_those_of_the_program(self):
        for work, *_ in treetable.TARGETS:
            self.assertIn(work, treeworks.WORKS)


if __name__ == "__main__":
    unittest.main()
