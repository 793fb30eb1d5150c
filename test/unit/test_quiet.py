#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""test/e2e/quiet.py: which measurements are made again, and which claims fail, with looks of the
test's own."""
import contextlib
import io
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import e2e  # noqa: E402
import quiet  # noqa: E402


class Judge(unittest.TestCase):
    def judge(self, measured, stolen=(), waited=(), **more):
        """(measurements made, claims that held, claims that failed, text); each takes 10 s, of which
        others have `stolen` percent, and in which threads wait for so much."""
        made, now = [], [0.0, 0, 0, 0.0]
        stolen, waited = list(stolen), list(waited)

        def measure():
            made.append(measured[len(made)])
            now[0] += 10
            now[1] += stolen.pop(0) if stolen else 0
            now[2] += 100
            now[3] += 10 * (waited.pop(0) if waited else 0)
            return made[-1]

        count, failed, text = e2e._count, e2e._failed, io.StringIO()
        with contextlib.redirect_stdout(text):
            quiet.judge("rate", measure, lambda n: [(n > 1, "is above 1", n)],
                        looks=lambda: quiet.Look(*now), **more)
        failed = e2e._failed - failed
        return made, e2e._count - count - failed, failed, text.getvalue()

    def test_what_holds_is_measured_once(self):
        self.assertEqual(self.judge([2, 0])[:3], ([2], 1, 0))
        self.assertEqual(self.judge([2, 0], [50])[:3], ([2], 1, 0))

    def test_what_fails_undisturbed_fails_at_once(self):
        self.assertEqual(self.judge([0, 2], [5], [0.7])[:3], ([0], 0, 1))

    def test_what_fails_disturbed_is_measured_again(self):
        self.assertEqual(self.judge([0, 2], [6])[:3], ([0, 2], 1, 0))
        self.assertEqual(self.judge([0, 2], (), [0.71])[:3], ([0, 2], 1, 0))
        self.assertEqual(self.judge([0, 0, 2], [50])[:3], ([0, 0], 0, 1))

    def test_what_the_measurement_names_disturbs_too(self):
        made, held, failed, text = self.judge([0, 2], disturbs=lambda n: "a disk went away")
        self.assertEqual((made, held, failed), ([0, 2], 1, 0))
        self.assertIn("; a disk went away", text)
        self.assertEqual(self.judge([0, 0, 0, 2], disturbs=lambda n: "others")[:3],
                         ([0, 0, 0], 0, 1))

    def test_always_stolen_is_not_judged(self):
        made, held, failed, text = self.judge([0, 0, 0, 2], [6, 50, 90])
        self.assertEqual((made, held, failed), ([0, 0, 0], 0, 0))
        self.assertIn("is above 1: not judged: 3 times more than 5 %", text)

    def test_sometimes_stolen(self):
        self.assertEqual(self.judge([0, 0, 0, 2], [40, 4, 60], [1, 1, 1])[:3], ([0, 0, 0, 2], 1, 0))
        self.assertEqual(self.judge([0, 0, 0, 0, 2], [40, 4, 60, 70], [1] * 4)[:3],
                         ([0, 0, 0, 0], 0, 0))

    def test_always_crowded_fails(self):
        self.assertEqual(self.judge([0, 0, 0, 2], (), [1, 1, 1])[:3], ([0, 0, 0], 0, 1))
        self.assertEqual(self.judge([0] * 5 + [2], [50, 50], [1] * 5)[:3], ([0] * 5, 0, 1))

    def test_nothing_measured(self):
        self.assertEqual(self.judge([None, 2], [50])[:3], ([None], 0, 0))

    def test_looks(self):
        before = quiet.look()
        steal, crowded = quiet.between(before, quiet.look())
        self.assertTrue(0 <= steal <= 100 and 0 <= crowded)


if __name__ == "__main__":
    unittest.main()
