#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Verdicts over baselines, what the kernel's server as a guest is told, and who may be measured."""
import os
import sys
import types
import unittest

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

import disks  # noqa: E402
import knfsd  # noqa: E402
import servers  # noqa: E402
from experiments import baselines, rounds  # noqa: E402


def done(**mb_s):
    """Rounds of the work seq1: {server: [MB/s of each round]}."""
    calm = {"marked": False}
    disk = {key: 100 for key in baselines.DISK_COUNTERS}
    return rounds.Rounds([
        {"series": f"seq1 {server}", "round": n, "circumstances": calm,
         "figures": {"mb_s": value, "cpu_us": 50, "requests": 5000, "disk": disk}}
        for server, values in mb_s.items() for n, value in enumerate(values)])


class Verdicts(unittest.TestCase):
    def test_better_than_stock(self):
        verdict, why, figure = baselines.judged(done(stock=[10] * 3, bfq=[40] * 3, ra=[80] * 3),
                                                ["seq1"], ["stock", "bfq", "ra"])
        self.assertEqual((verdict, why), ("better", ""))
        self.assertIn("8.00 x stock (2.00 x bfq)", figure)

    def test_stock_is_named_once_where_it_is_the_best_of_the_others(self):
        self.assertEqual(baselines.judged(done(stock=[10] * 3, ra=[10] * 3), ["seq1"],
                                          ["stock", "ra"])[2], "seq1 1.00 x stock")

    def test_how_little_schedulers_have_to_order_is_said(self):
        for e in baselines.EXPERIMENTS:
            e = e() if isinstance(e, type) else e
            if e.name != "bg":
                self.assertIn("takes 128 requests at once", e.ours)
                self.assertEqual("The guest's drive takes 1 at once" in e.ours, e.name in ("b1", "bw"))
        self.assertIn("takes 32 at once", baselines.queues("queue32", True))

    def test_each_server_has_words(self):
        self.assertEqual(baselines.in_words({"stock": {}, "ra": {}}),
                         "stock Ganesha, the plugin with its defaults")
        self.assertEqual(set(baselines.WORDS), {*baselines.GANESHA, *baselines.KERNEL})

    def test_a_guest_that_is_slower_than_its_disk_is_no_rival(self):
        found = done(stock=[10] * 3, knfsd=[30], ra=[90] * 3)
        for memory, text in ((40, "9.00 x stock; the guest's own speed, and not compared: seq1 knfsd"),
                             (400, "9.00 x stock (3.00 x knfsd)")):
            for r in found.records:
                if r["series"] == "seq1 knfsd":
                    r["figures"]["memory_mb_s"] = memory
            told = baselines.judged(found, ["seq1"], ["stock", "knfsd", "ra"])[2]
            self.assertEqual(told, f"seq1 {text}")

    def test_as_good_as_stock(self):
        found = baselines.judged(done(stock=[100] * 3, ra=[98] * 3), ["seq1"], ["stock", "ra"])
        self.assertEqual(found[0], "reproduced")

    def test_below_says_what_the_disk_did(self):
        verdict, why, _ = baselines.judged(done(stock=[100] * 3, ra=[90] * 3), ["seq1"],
                                           ["stock", "ra"])
        self.assertEqual(verdict, "not reproduced")
        self.assertIn("seq1 0.90 x stock (at the disk, x stock: commands 1.00", why)
        self.assertIn("processor 1.00", why)

    def test_a_dear_read_is_called_so(self):
        found = done(stock=[100] * 3, ra=[110] * 3)
        for r in found.records:
            r["figures"]["cpu_us"] = 60 if r["series"] == "seq1 ra" else 50
        verdict, why, _ = baselines.judged(found, ["seq1"], ["stock", "ra"])
        self.assertEqual(verdict, "not reproduced")
        self.assertIn("1.10 x stock, but too much processor time a READ (at the disk", why)

    def verdict(self, ra, cpu=(50,) * 3):
        found = done(stock=[100] * len(ra), ra=list(ra))
        for r in found.records:
            if r["series"] == "seq1 ra":
                r["figures"]["cpu_us"] = cpu[r["round"]]
        return baselines.judged(found, ["seq1"], ["stock", "ra"])

    def test_rounds_on_both_sides_of_the_bound_tell_nothing(self):
        for ra in ((96, 98, 99), (92, 96, 98), (96.9, 120, 130)):
            verdict, why, _ = self.verdict(ra)
            self.assertEqual(verdict, "not told", ra)
            self.assertIn(f"seq1 {ra[1] / 100:.2f} x stock ({ra[0] / 100:.2f} to {ra[2] / 100:.2f} in 3 rounds)",
                          why)

    def test_few_rounds_tell_nothing(self):
        for ra in ((92,), (100,), (300, 300)):
            verdict, why, _ = self.verdict(ra, (50,) * 3)
            self.assertEqual(verdict, "not told", ra)
            self.assertIn("(one round)" if len(ra) < 2 else f" in {len(ra)} rounds)", why)

    def test_better_is_what_the_whole_interval_says(self):
        self.assertEqual(self.verdict((102, 130, 140))[0], "reproduced")
        self.assertEqual(self.verdict((104, 130, 140))[0], "better")

    def test_processor_time_on_both_sides_of_its_bound_is_called_not_told(self):
        verdict, why, figure = self.verdict((110,) * 3, (45, 60, 70))
        self.assertEqual((verdict, why), ("better", ""))
        self.assertIn("processor time a READ cannot be told from 1.05 x stock's: seq1 1.20 (0.90 to "
                      "1.40 in 3 rounds)", figure)
        self.assertNotIn("processor", self.verdict((110,) * 3, (50, 51, 52))[2])
        self.assertEqual(self.verdict((110,) * 3, (53, 60, 70))[0], "not reproduced")

    def test_few_reads_tell_nothing_of_processor_time(self):
        found = done(stock=[100] * 3, ra=[110] * 3)
        for r in found.records:
            r["figures"].update(requests=300, cpu_us=60 if r["series"] == "seq1 ra" else 50)
        verdict, _, figure = baselines.judged(found, ["seq1"], ["stock", "ra"])
        self.assertEqual(verdict, "better")
        self.assertIn("cannot be told from 1.05 x stock's: seq1 1.20", figure)

    def test_a_surely_slower_one_is_worse_than_one_that_is_not_told(self):
        found = done(stock=[100] * 3, ra=[90] * 3)
        found.records += [{**r, "series": r["series"].replace("seq1", "seq8"),
                           "figures": {**r["figures"], "mb_s": r["figures"]["mb_s"] + r["round"] * 3}}
                          if "ra" in r["series"] else {**r, "series": "seq8 stock"}
                          for r in found.records]
        for r in found.records:
            if r["series"] == "seq8 ra":
                r["figures"]["mb_s"] += 5
        verdict, why, _ = baselines.judged(found, ["seq1", "seq8"], ["stock", "ra"])
        self.assertEqual(verdict, "not reproduced")
        self.assertIn("seq1 0.90 x stock (at", why)
        self.assertIn("not told: seq8 0.98 x stock (0.95 to 1.01 in 3 rounds)", why)

    def test_a_work_without_rounds_is_no_verdict(self):
        self.assertEqual(baselines.judged(done(stock=[1]), ["seq1"], ["stock", "ra"])[0],
                         "not run")

    def test_a_guest_has_one_client(self):
        for name, kind, may in (("apart4", "knfsd", False), ("apart4", "ra", True),
                                ("seq8", "knfsd", True)):
            work = baselines.make(name, 64 << 20, 10)
            self.assertEqual(baselines.may_serve({"kind": kind}, work), may)
        self.assertTrue(baselines.may_serve({}, baselines.make("apart4", 64 << 20, 10)))

    def test_names_differ_and_disks_exist(self):
        listed = baselines.EXPERIMENTS
        self.assertEqual(len({e.name for e in listed}), len(listed))
        for reads in (e for e in listed if isinstance(e, baselines.Reads)):
            self.assertIn(reads.model, disks.MODELS)


class BesideWriter(unittest.TestCase):
    @staticmethod
    def text(stock, ra):
        return baselines.BesideWriter.commit_text(rounds.Rounds([
            {"series": f"w {server}", "round": 1, "circumstances": {"marked": False},
             "figures": {"committed_s": seconds, "random_requests_s": reads}}
            for server, (seconds, reads) in (("stock", stock), ("ra", ra))]), "w")

    def test_what_the_writer_waits_for_is_told(self):
        self.assertEqual(self.text((1.0, 10), (1.5, 40)), "its COMMIT takes +500 ms, 1.50 x stock's: "
                         "10.0 ms for each of the 50 reads more that are answered meanwhile")
        self.assertEqual(self.text((2.0, 10), (1.0, 40)), "its COMMIT takes -1000 ms, 0.50 x stock's")


class Guest(unittest.TestCase):
    @staticmethod
    def server(**model):
        disk = types.SimpleNamespace(model=model, fs="ext4", scheduler="mq-deadline", mount="/m")
        return knfsd.Server(disk, read_ahead_kb=2560)

    def test_its_drive_orders_as_many_requests_as_the_modelled_one(self):
        self.assertEqual(self.server(depth=1).depth(), 1)
        self.assertEqual(self.server(depth=32).depth(), 32)
        self.assertEqual(self.server(depth=32, spindles=8).depth(), knfsd.QUEUE_MAX)

    def test_what_it_is_told(self):
        told = self.server(solid=1).settings()
        self.assertEqual((told["rotational"], told["read_ahead_kb"], told["scheduler"]),
                         (0, 2560, "mq-deadline"))

    def test_a_plain_directory_has_no_guest(self):
        plain = types.SimpleNamespace(modelled=False)
        self.assertIsNotNone(servers.missing({"kind": "knfsd"}, plain))


if __name__ == "__main__":
    unittest.main()
