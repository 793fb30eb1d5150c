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
            "blocked": 3, "blocked_s": scale, "under_way": 4, "under_way_s": scale, "last_end_s": began + 10 * scale,
            "held_s": began + scale,
            "operations": {k: {"ops_s": 10 / scale, "latency_ms": latency} for k in OPERATIONS}})
    history = {"seconds": SECONDS, "way": [1] * SECONDS, **{s: [0.5] * SECONDS for s in SERIES}}
    clients = 1 + max(int(g.get("clients", "0").split("-")[-1]) for g in parsed)
    client = {"believed": True, "hit_rate": 0.95 if scale < 1 else 0.7, "first_blocked_s": began + 5 / scale ** 5,
              "calls": {"commit": 7}, "saved_mb": 10 / scale, "history": history,
              "ways_s": {"send": 1, "defer": 2, "accelerate": 3}}
    return {"seconds": 10.0, "groups": groups, "clients": [client] * clients,
            "write_back": {"committed": [100] * 5 + [0] * 55, "kept": [0] * 60}}


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
            mock.patch.object(rounds.Watch, "_ticks", lambda self: rounds.NO_TICKS), \
            mock.patch.object(canfs_prices, "over_link", lambda bed, mbit, specs, *more: made_up(
                specs, 1)):
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
        for experiment in (canfs.Copy, canfs.Defer, canfs.Fileserver, canfs.Accelerate,
                           canfs.Webserver):
            with self.subTest(name=experiment.name):
                self.assertIn(outcome(experiment, True, 0.7)[1].verdict, ("reproduced", "better"))
                worse = outcome(experiment, True, 1.1)[1]
                self.assertEqual(worse.verdict, "not reproduced")
                self.assertIn("0.91", worse.figure)

    def test_a_loss_is_the_servers_or_the_prices(self):
        def one(self, bed, column, clients, laid=None):
            server = 0.8 if "no acts" in column or column.startswith("ca prices") else 1
            prices = 0.9 if column == "ca prices" else 1
            return {"ops_s": 100 * server * prices, "stat_ms": 30 / server ** 10, "close_ms": None}

        with mock.patch.object(canfs.Fileserver, "one", one):
            why = outcome(canfs.Fileserver, True, 1)[1].why
        self.assertIn("0.80 x plain stock there; prices make 0.90 x of that, and without deferral "
                      "1.00 x. There a stat takes 279 ms instead of 30.", why)

    def test_a_burst_must_be_blocked_later_too(self):
        self.assertIn("5.95 times as late", outcome(canfs.Burst, True, 0.7)[1].figure)
        self.assertEqual(outcome(canfs.Burst, True, 0.7)[1].verdict, "better")
        later = outcome(canfs.Burst, True, 0.8)[1]
        self.assertEqual(later.verdict, "not reproduced")
        self.assertIn("blocked first 3.05 times as late", later.why)

    def test_re_reads_need_their_hits_and_a_writer_that_is_not_slower(self):
        def changed(**figures):
            once = canfs.Accelerate.figures
            with mock.patch.object(canfs.Accelerate, "figures", lambda self, found: {
                    **once(self, found), **(figures if found["groups"][0]["ops_s"] > 110 else {})}):
                return outcome(canfs.Accelerate, True, 0.7)[1]

        self.assertIn(changed().verdict, ("reproduced", "better"))
        for figures in ({"writer_s": 11}, {"hit_rate": 0.89}, {"hit_rate": 0.9, "writer_s": 10.3}):
            self.assertEqual(changed(**figures).verdict, "not reproduced", figures)

    def test_reads_are_timed_by_a_clock(self):
        found = made_up(["name=reader,work=randread", "name=writer,work=seqwrite"], 1)
        self.assertEqual(canfs.Accelerate().figures(found)["time_s"], 2000)

    def test_oltp_needs_a_server_that_plain_clients_overwhelm(self):
        def with_23(stock, ours):
            def one(self, bed, column, clients, laid=None):
                much = 1200 * {12: 1, 23: ours if column == "ca all" else stock}[clients]
                return {"ops_s": much / clients}

            with mock.patch.object(canfs.Oltp, "one", one):
                return outcome(canfs.Oltp, True, 1)[1]

        self.assertEqual(with_23(0.8, 1.0).verdict, "better")
        for stock in (1.0, 0.95):  # which may be chance
            self.assertIn("NFS does not fall", with_23(stock, 1.2).why)
        self.assertIn("CA-NFS falls", with_23(0.6, 0.8).why)
        self.assertIn("less than 1.02 x", with_23(0.985, 0.99).why)

    def test_what_is_under_way_at_the_end_need_not_wait_for_the_disk(self):
        def timing_beside(script):
            turned = []
            disk = types.SimpleNamespace(timing=turned.append)
            return canfs_bed.run_canfs(["sh", "-c", script], disk, 5), turned

        self.assertEqual(timing_beside("echo over; sleep 0.1"), ((0, mock.ANY), [False, True]))
        (status, why), turned = timing_beside("echo wrong >&2; exit 3")
        self.assertEqual((status, why, turned[-1]), (3, "wrong", True))

    def test_only_who_must_know_of_prices_waits_for_them(self):
        for experiment in (canfs.Defer, canfs.Burst):
            specs = {}

            def load(bed, disk, server, column, asked, *_):
                specs[column] = asked
                return made_up(asked, 1)

            with mock.patch.object(canfs_bed, "scene", nowhere), \
                    mock.patch.object(canfs_bed, "load", load):
                one = experiment()
                figures = {c: one.once(Bed(True), c) for c in ("plain stock", "ca all")}
            self.assertIn("start=0", specs["plain stock"][0])
            self.assertIn("start=4000", specs["ca all"][0])
            self.assertEqual(figures["plain stock"].get("writer_s"), figures["ca all"].get("writer_s"))

    def test_small_errors_of_k_and_large_ones(self):
        good = {"default": 1, "disk 30": 0.98, "disk 1": 0.7, "memory 1e+09": 0.95, "network 1000": 1,
                "network 1": 0.8}
        claims = canfs_prices.Sensitivity().claims
        self.assertTrue(all(claims(good).values()))
        for wrong in ({"disk 30": 0.9}, {"disk 1": 0.92}, {"network 1": 0.95}, {"memory 1e+09": 0.75},
                      {"disk 1": 1.2}):
            self.assertFalse(all(claims({**good, **wrong}).values()), wrong)
        self.assertFalse(all(claims({k: v for k, v in good.items() if k != "network 1"}).values()))
        self.assertFalse(all(claims({}).values()))

    def test_the_disk_price_is_what_readers_hear(self):
        """Who defers makes no calls and asks seldom: its price is of another time."""
        found = made_up(["name=reader,work=randread,clients=0", "name=writer,work=seqwrite,clients=1"], 1)
        old = {**found["clients"][1]["history"], "price": [1] * SECONDS}
        found["clients"] = [found["clients"][0], {**found["clients"][1], "history": old}]
        with mock.patch.object(canfs_prices, "measure", lambda *_: found):
            figures = canfs_prices.Prices().disk(None, 64, 9)
        self.assertEqual((figures["heard"], figures["price"]), (0.5, 1))

    def test_prices_must_rise_step_by_step(self):
        rises = canfs_prices.rises
        self.assertTrue(rises([{"p": 0.1}, {"p": 0.2}, {"p": 0.9}], "p"))
        self.assertFalse(rises([{"p": 0.1}, {"p": 1}, {"p": 1}], "p"))
        self.assertTrue(rises([{"p": 0.1}, {"p": 1}, {"p": 1}], "p", strictly=False))
        self.assertFalse(rises([{"p": 0.1}, {"p": 1}, {"p": 0.9}], "p", strictly=False))

    @staticmethod
    def evenly(first, last, pages=100):
        """So many pages a second from then to then."""
        return [pages if first <= s < last else 0 for s in range(60)]

    def written_back(self, plain, ours, marked=()):
        """Figure 8's outcome where they are (committed, kept) by seconds; `marked`: of rounds."""
        def one(self, bed, column, clients, laid=None):
            committed, kept = plain if column.startswith("plain") else ours
            return {"ops_s": 1, "write_back": {"committed": committed, "kept": kept}}

        def undisturbed(once, *more):
            numbers[0] += 1
            return once(), {"marked": numbers[0] in marked, "steal_percent": 0, "seconds": 1}

        numbers = [0]
        with mock.patch.object(canfs.WriteBack, "one", one), \
                mock.patch.object(rounds, "undisturbed", undisturbed):
            return outcome(canfs.WriteBack, True, 1)[1]

    def test_write_back_is_early_with_nfs_and_even_with_ca(self):
        none, early, even = [0] * 60, (self.evenly(0, 4), [0] * 60), (self.evenly(0, 30), [0] * 60)
        self.assertEqual(self.written_back(early, even).verdict, "reproduced")
        self.assertIn("not all", self.written_back((self.evenly(3, 15), none), even).why)
        self.assertIn("from evenly", self.written_back(early, (self.evenly(0, 4), none)).why)
        self.assertIn("fullest", self.written_back((self.evenly(0, 12, 1), none),
                                                   (self.evenly(0, 9, 1), none)).why)

    def test_pages_that_are_kept_count(self):
        """Half of all is still kept: of the committed alone it would be a curve to the end."""
        curve = canfs_works.surviving(self.evenly(0, 10, 10), [0] * 9 + [100] + [0] * 50)
        self.assertAlmostEqual(curve[9], 0.5)
        self.assertAlmostEqual(curve[59], 0.5)
        self.assertIsNone(canfs_works.within(curve, 0.99))
        self.assertEqual(canfs_works.within(curve, 0.5), 10)
        # who was kept for three seconds says nothing of the fourth
        curve = canfs_works.surviving([0, 0, 0, 50] + [0] * 56, [0, 0, 50] + [0] * 57)
        self.assertAlmostEqual(curve[3], 1)
        self.assertEqual(canfs_works.surviving([0] * 60, [0] * 60), [])

    def test_marked_rounds_count_where_there_are_no_others(self):
        early, even = (self.evenly(0, 4), [0] * 60), (self.evenly(0, 30), [0] * 60)
        found = self.written_back(early, even, marked=(3,))
        self.assertEqual([p["pages"] for p in found.points], [800, 3000])
        found = self.written_back(early, even, marked=(1, 4))
        self.assertEqual(found.verdict, "not reproduced")
        self.assertEqual(found.points[0]["pages"], None)
        self.assertEqual(found.more["marked"], ["plain stock, lazy close"])

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
