#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The experiments of CA-NFS on made-up results: each runs through, quick and full, its verdict
follows from the figures, and its works are such as bench/canfs takes (CANFS, if built)."""
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

import testbed  # noqa: E402, F401
from experiments import canfs, canfs_bed, canfs_prices, canfs_works, page, rounds  # noqa: E402
from experiments.experiment import Bed  # noqa: E402

CANFS = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ""
SERIES = ("price", "price_readahead", "bid", "worth", "unsaved_mb", "limit_mb", "read_mb",
          "written_mb", "saved_mb", "blocked_s", "blocked")
OPERATIONS = ("open", "create", "read", "write", "append", "fsync", "close", "stat", "remove")
SECONDS = 49


def made_up(specs, scale):
    """What canfs tells of such groups, all times `scale` times as long."""
    dice = random.Random(5).random
    parsed = [dict(part.split("=") for part in spec.split(",")) for spec in specs]
    groups = []
    for g in parsed:
        began = int(g.get("start", 0)) / 1000
        latency = {key: scale * (1 + dice()) for key in ("mean", "p50", "p90", "p99", "max")}
        groups.append({
            "name": g.get("name", g["work"]), "ops_s": 100 / scale, "mb": 100 / scale,
            "blocked": 3, "blocked_s": scale, "last_end_s": began + 10 * scale,
            "held_s": began + scale,
            "operations": {k: {"ops_s": 10 / scale, "latency_ms": latency} for k in OPERATIONS}})
    history = {"seconds": SECONDS, "way": [1] * SECONDS, **{s: [0.5] * SECONDS for s in SERIES}}
    clients = 1 + max(int(g.get("clients", "0").split("-")[-1]) for g in parsed)
    cdf = [min(1, s / 20 / scale) for s in range(1, 61)]
    client = {"believed": True, "hit_rate": 0.5, "saved_mb": 10 / scale, "history": history,
              "ways_s": {"send": 1, "defer": 2, "accelerate": 3}}
    return {"seconds": 10.0, "groups": groups, "clients": [client] * clients,
            "write_back_cdf": cdf, "write_back": {"committed": [100] * 5 + [0] * 55, "kept": [0] * 60}}


@contextlib.contextmanager
def nowhere(bed, column, specs, ra=None, laid=None, **disk):
    canfs_bed.kind_of(column)
    yield types.SimpleNamespace(mount="/x", stats=lambda: {
        "read_bytes": 1, "write_bytes": 2, "seeks": 3}), None


def outcome(experiment, quick, scale):
    """Of the experiment where `scale` belongs to the CA columns."""
    def load(bed, disk, server, column, specs, *more):
        return made_up(specs, scale if column.startswith("ca") else 1)

    bed = Bed(quick, 2, say=lambda text: None)
    with mock.patch.object(canfs_bed, "scene", nowhere), \
            mock.patch.object(canfs_works, "laid_out", lambda *_, **__: contextlib.nullcontext()), \
            mock.patch.object(canfs_bed, "load", load), \
            mock.patch.object(rounds.Watch, "_steal", lambda self: (0, 0)), \
            mock.patch.object(canfs_prices.Prices, "network", lambda self, bed, step: made_up(
                [f"work=seqread,clients={n}" for n in range(5)], 1)):
        found = experiment().run(bed).check()
    return bed, found


class Experiments(unittest.TestCase):
    def test_each_runs_through(self):
        for experiment in canfs.EXPERIMENTS:
            for quick in (True, False):
                with self.subTest(name=experiment.name, quick=quick):
                    bed, found = outcome(experiment, quick, 0.7)
                    self.assertEqual(bed.failures, [])
                    self.assertTrue(found.figure)
                    self.assertTrue(page.table(experiment.columns, found.points))

    def test_verdicts_follow_from_the_figures(self):
        for experiment in (canfs.Copy, canfs.Defer, canfs.Fileserver, canfs.Burst,
                           canfs.Webserver, canfs.Oltp):
            with self.subTest(name=experiment.name):
                self.assertIn(outcome(experiment, True, 0.7)[1].verdict, ("reproduced", "better"))
                worse = outcome(experiment, True, 1.1)[1]
                self.assertEqual(worse.verdict, "not reproduced")
                self.assertIn("0.91", worse.figure)
        self.assertEqual(outcome(canfs.WriteBack, True, 1.4)[1].verdict, "reproduced")
        self.assertEqual(outcome(canfs.WriteBack, True, 1.0)[1].verdict, "not reproduced")

    def test_the_rule(self):
        def gain(median, low, count):
            return {"median": median, "low": low, "high": 9, "rounds": count}

        self.assertEqual(canfs_bed.judge(gain(1.3, 1.25, 6), 1.2), "better")
        self.assertEqual(canfs_bed.judge(gain(1.3, 1.3, 1), 1.2), "reproduced")
        self.assertEqual(canfs_bed.judge(gain(1.2, 1.1, 6), 1.2), "reproduced")
        self.assertEqual(canfs_bed.judge(gain(1.19, 1.1, 6), 1.2), "not reproduced")
        self.assertEqual(canfs_bed.judge(None, 1.2), "not reproduced")

    @unittest.skipUnless(os.path.exists(CANFS), "canfs was not built")
    def test_works_are_such_as_canfs_takes(self):
        said = {}

        def measure(bed, column, specs, options=(), ra=None, **disk):
            said[(*specs, *map(str, options), *canfs_bed.kind_of(column)[1])] = specs
            return {**made_up(specs, 1), "disk": {}}

        with mock.patch.object(canfs_bed, "measure", measure), \
                mock.patch.object(canfs_works, "measure", measure), \
                mock.patch.object(canfs_prices, "measure", measure):
            for experiment in canfs.EXPERIMENTS:
                outcome(experiment, True, 1)
        self.assertGreater(len(said), 15)
        with tempfile.TemporaryDirectory() as place:
            for words, specs in said.items():
                options = words[len(specs):]
                done = subprocess.run([CANFS, "--layout", f"{place}/no-such", *options,
                                       *canfs_bed.groups_of(specs)], capture_output=True,
                                      text=True, check=False)
                self.assertIn("No such file", done.stderr, words)


if __name__ == "__main__":
    unittest.main()
