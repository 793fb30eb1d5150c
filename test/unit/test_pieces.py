#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Experiments made in pieces: those that say so come to the same outcome by rounds that an earlier run
has kept as JSON, whatever of them it had, as by rounds of their own, and make none of them again."""
import contextlib
import dataclasses
import json
import os
import sys
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

import testbed  # noqa: E402, F401
import experiments  # noqa: E402
from experiments import baselines, blind, canfs, ellard, rounds  # noqa: E402
from experiments.experiment import Bed  # noqa: E402

FILES = types.SimpleNamespace(args=["--dir", "set"], directory="/m/set", files=1, size=1 << 20)
CALM = {"steal_percent": 0.0, "seconds": 1.0}


@contextlib.contextmanager
def nothing(*_, **__):
    yield types.SimpleNamespace(mount="/m", work="/w", renew=lambda: None, modelled=True, stats=dict)


class World(Bed):
    """Without disks and servers; `figures` counts what was measured."""

    def __init__(self, count, earlier=()):
        super().__init__(True, count, say=lambda text: None)
        self.watch = types.SimpleNamespace(look=lambda: None, between=lambda *_: dict(CALM),
                                           clock=lambda: 0)
        self.earlier = rounds.Earlier(json.loads(json.dumps(list(earlier))))
        self.made = 0
        self.disk = self.server = nothing
        self.layout = lambda *_, **__: FILES
        self.load = lambda *_: {"total": {"mb_s": self.figure()}}

    def figure(self):
        """Another each time, as measurements are."""
        self.made += 1
        return 50.0 + self.made * 7 % 13

    def read(self, *_, **__):
        """The figures of a READ experiment, as ellard_bed and baselines have them."""
        rate = self.figure()
        return {"mb_s": rate, "p99_ms": 1 / rate, "cpu_us": rate, "seeks_mb": 1 / rate,
                "busy_percent": rate, "command_kb": rate, "evictions": None, "demand": 3, "seeks": 9,
                "finish_s": [1.0 + n for n in range(8)], "memory_mb_s": 900.0, "requests": 5000,
                "committed_s": rate,
                "random_requests_s": rate, "random_p99_ms": rate, "all_done_s": rate,
                "disk": dict.fromkeys(baselines.DISK_COUNTERS, 3)}


PATCHED = {ellard: ("nfs", "local"), baselines: ("measured",)}


@contextlib.contextmanager
def without_disks(bed):
    with contextlib.ExitStack() as stack:
        def put(where, name, what):
            stack.enter_context(unittest.mock.patch.object(where, name, what))

        for module, names in PATCHED.items():
            for name in names:
                put(module, name, bed.read)
        put(ellard, "their_disk", nothing)
        put(ellard, "zones", lambda bed, counts, name: contextlib.nullcontext(
            (None, dict.fromkeys(counts, FILES), dict.fromkeys(counts, FILES))))
        put(ellard, "lay_out", lambda bed, disk, counts, *_, **__: dict.fromkeys(counts, FILES))
        put(baselines, "possible", lambda bed, settings, disk: settings)
        put(baselines, "lay_out", lambda *_: {})
        put(baselines.ageing, "describe", lambda pieces: "fresh")
        put(baselines.servers, "missing", lambda *_: None)
        put(canfs.Compared, "once", lambda self, bed, column: {self.metric: bed.figure()})
        yield


def outcome(experiment, bed):
    with without_disks(bed):
        return json.loads(json.dumps(dataclasses.asdict(experiment.run(bed).check())))


def cheap():
    """The experiments whose measuring can be made up here."""
    found = [*ellard.EXPERIMENTS, *baselines.EXPERIMENTS, canfs.Burst, canfs.Webserver]
    return [e() if isinstance(e, type) else e for e in found]


class Pieces(unittest.TestCase):
    def test_kept_rounds_give_the_same_outcome(self):
        for experiment in cheap():
            with self.subTest(experiment.name):
                self.assertTrue(experiment.goes_on)
                whole = World(2)
                wanted = outcome(experiment, whole)
                self.assertGreater(whole.made, 1)
                again = World(2, whole.records)
                self.assertEqual(outcome(experiment, again), wanted)
                self.assertEqual(again.made, 0)

    def test_of_a_part_the_rest_is_made(self):
        for experiment in cheap():
            with self.subTest(experiment.name):
                whole = World(2)
                outcome(experiment, whole)
                kept = whole.records[:len(whole.records) // 2]
                rest = World(2, kept)
                outcome(experiment, rest)
                self.assertEqual(len(rest.records), len(whole.records))
                for r in json.loads(json.dumps(kept)):
                    self.assertIn(r, rest.records)

    def test_a_sixth_round_needs_five_of_an_earlier_run(self):
        experiment = next(e for e in cheap() if e.name == "b2")
        five = World(5)
        outcome(experiment, five)
        six = World(6, five.records)
        outcome(experiment, six)
        self.assertEqual(five.made, 5 * six.made)


class WhoGoesOn(unittest.TestCase):
    def test_all_but_those_that_count_beside_their_rounds(self):
        found, _ = experiments.catalogue()
        still = {name for name, e in found.items() if not e.goes_on}
        called = {name for name, e in found.items() if e.module in ("ablation", "measured")}
        self.assertEqual(still, called | {"m1", "m2", "m3", "m4", "m5", "m7"})

    def test_a_blind_one_is_judged_by_its_records(self):
        self.assertTrue(blind.Blind.goes_on)


if __name__ == "__main__":
    unittest.main()
