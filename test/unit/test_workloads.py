#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The named workloads and servers and the verdicts of bench/compare, and those of bench/figure5."""
import os
import sys
import types
import unittest

sys.dont_write_bytecode = True

from bench_modules import BENCH, program  # noqa: E402
import disktime  # noqa: E402
import isolation  # noqa: E402
import plot  # noqa: E402
import servers  # noqa: E402
import workloads  # noqa: E402

NFSBENCH_WORKS = {"seq", "stride", "shared", "random", "reorder", "mixed",
                  "backward", "records", "tiles", "cursors", "ends",
                  "write", "oltp", "fsstat", "clients"}


def run(work, server, mb_s, **more):
    return {"work": work, "server": server, "mb_s": mb_s, **more}


def argument(work, option):
    return work.arguments[work.arguments.index(option) + 1]


class Works(unittest.TestCase):
    def test_every_group_and_target_names_works_that_exist(self):
        for name in workloads.expand(",".join(workloads.GROUPS)) \
                + [t[0] for t in workloads.TARGETS + workloads.AIMS]:
            work = workloads.make(name)
            self.assertIn(argument(work, "--work"), NFSBENCH_WORKS)
            self.assertGreater(work.bytes_laid_out(), 0)

    def test_names_carry_their_numbers(self):
        self.assertEqual(argument(workloads.make("mixed8+4"), "--random-readers"), "4")
        self.assertEqual(workloads.make("seq32").file_size, 8 * workloads.MIB)
        self.assertEqual(workloads.make("random4kx3").files, 3)
        for name, files, at_once in (("random8k", 1, 1), ("random8ko32", 1, 32), ("random8kx4o2", 4, 2)):
            work = workloads.make(name, random_count=300)
            self.assertEqual((work.files, argument(work, "--outstanding"), argument(work, "--count")),
                             (files, str(at_once), "300"))
        begin = workloads.make("begin16")
        self.assertEqual((begin.files, argument(begin, "--size")), (16, str(16 * 256 * 1024)))

    def test_works_within_one_file(self):
        for name, key, value in (("backward4k", "--request", 4096), ("forward4k", "--request", 4096),
                                 ("sparse64k2m", "--every", 2 << 20),
                                 ("sparse64k1m", "--record", 64 << 10),
                                 ("ior47008", "--request", 47008), ("ior47008", "--record", 47008),
                                 ("backsparse8k64k", "--every", 64 << 10),
                                 ("tiles8x8", "--tiles", 8), ("cursors2000", "--stride", 2000)):
            work = workloads.make(name)
            self.assertEqual(argument(work, key), str(value))
            self.assertEqual(work.files, 1)
        for name in ("tiles8x4", "ior47009", "sparse65k64k", "cursors20", "sparse64k0m"):
            with self.assertRaises(ValueError):
                workloads.make(name)

    def test_ends_of_files(self):
        for name, pieces in (("ends4", ["4K@4K", "16K@24K", "8K@48K"]), ("last4", ["4K@4K"])):
            work = workloads.make(name)
            self.assertEqual((work.files, argument(work, "--files")), (64, "64"))
            self.assertEqual(argument(work, "--readers"), "4")
            self.assertEqual(argument(work, "--pieces").split(","), pieces)
        tails = argument(workloads.make("tails1"), "--pieces").split(",")
        self.assertEqual((len(tails), tails[0], tails[-1]), (16, "4K@4K", "4K@64K"))
        self.assertEqual(workloads.make("ends2").set, workloads.make("tails1").set)
        self.assertEqual(workloads.make("ends2", size=11 * workloads.MIB).files, 2)
        for name, size in (("ends3", 11), ("ends1", 1), ("ends0", 256), ("last257", 4096)):
            with self.assertRaises(ValueError):
                workloads.make(name, size=size * workloads.MIB)

    def test_workloads_that_write(self):
        for name, first, files in (("write1+1", 0, 1), ("lazy2+1", 0, 2), ("mixed4+1w2", 5, 2)):
            work = workloads.make(name)
            self.assertEqual(work.writers[:2], (first, files))
            self.assertEqual(work.written, 512 * workloads.MIB)
        self.assertIn("--no-commit", workloads.make("lazy1+1").arguments)
        self.assertNotIn("--no-commit", workloads.make("write1+1").arguments)
        self.assertEqual([workloads.make(n).memory for n in ("write1+1", "lazy1+1", "seq1")],
                         ["small", "ample", "host"])
        self.assertEqual(workloads.make("mixed4+1").written, 0)

    def test_the_reader_alone_reads_what_it_reads_beside_a_writer(self):
        alone, beside = workloads.make("write0+1"), workloads.make("write1+1")
        self.assertEqual(alone.set, beside.set)
        self.assertEqual(argument(alone, "--count"), argument(beside, "--count"))
        self.assertEqual(argument(alone, "--first-file"), "1")

    def test_oltp_clients_divide_the_same_bytes(self):
        for n in (1, 4, 12, 23, 32):
            work = workloads.make(f"oltp{n}")
            self.assertAlmostEqual(work.files * work.file_size, 2048 * workloads.MIB,
                                   delta=workloads.MIB)
            self.assertTrue(work.rewrites)
        self.assertNotEqual(workloads.make("oltp1").set,
                            workloads.make("seq1", size=2048 * workloads.MIB).set)

    def test_workloads_share_their_sets(self):
        self.assertEqual(workloads.make("stride2").set, workloads.make("seq1").set)
        self.assertEqual(workloads.make("mixed8+1").set, workloads.make("mixed8+4").set)

    def test_bad_names_are_refused(self):
        for name in ("", "seq", "seq0", "seq257", "stride", "mixed8", "mixed0+1",
                     "mixed4+1w0", "write0+0", "reorder101", "seq8 ", "random8", "random8ko0",
                     "fair0", "fair0+1", "fair65"):
            with self.assertRaises(ValueError, msg=name):
                workloads.make(name)

    def test_expand_keeps_order_and_drops_repetitions(self):
        self.assertEqual(workloads.expand("two,seq2,one"), ["seq2", "seq1"])


class Verdicts(unittest.TestCase):
    def results(self, ra):
        runs = [run("seq1", "stock", 100.0), run("seq2", "stock", 20.0),
                run("seq2", "stock", 40.0), run("seq2", "stock", 30.0),
                run("seq2", "ra", ra, slowest_fastest=1.1)]
        return plot.Results(runs, ["stock", "ra"], ["seq1", "seq2"])

    def test_ratios_are_of_medians(self):
        self.assertEqual(self.results(96.0).measure("seq2", "ra", "x stock"), 3.2)
        self.assertEqual(self.results(96.0).measure("seq2", "ra", "x single"), 0.96)
        self.assertIsNone(self.results(96.0).measure("seq2", "ra", "x tuned"))

    def test_met_and_missed(self):
        self.assertEqual([v["met"] for v in self.results(96.0).verdicts()], [True, True, True])
        self.assertEqual([v["met"] for v in self.results(80.0).verdicts()], [True, False, True])

    def test_failed_runs_do_not_count(self):
        results = self.results(96.0)
        results.runs.append(run("seq2", "ra", 1.0, failed="mismatch"))
        self.assertEqual(results.value("seq2", "ra", "mb_s"), 96.0)

    def test_marked_runs_count_only_where_there_are_no_others(self):
        marked = {"circumstances": {"marked": True}}
        runs = [run("seq1", "ra", 1.0, **marked), run("seq1", "ra", 2.0),
                run("seq1", "stock", 3.0, **marked)]
        self.assertEqual([r["mb_s"] for r in plot.counted(runs)], [2.0, 3.0])

    def test_of_marked_runs_alone_nothing_is_told(self):
        marked = {"circumstances": {"marked": True}}
        runs = [run("seq1", "stock", 100.0, **marked), run("seq2", "stock", 20.0),
                run("seq2", "ra", 80.0, slowest_fastest=1.1)]
        results = plot.Results(plot.counted(runs), ["stock", "ra"], ["seq1", "seq2"])
        self.assertEqual({v["measure"]: v["met"] for v in results.verdicts()},
                         {"x stock": True, "x single": None, "slowest/fastest": True})
        self.assertIn("not told", plot.verdict_table(results))
        self.assertNotIn("MISSED", plot.verdict_table(results))
        table = plot.table(results)
        self.assertIn("100.0*", table)
        self.assertNotIn("20.0*", table)
        self.assertIn("* others had the processors", table)
        self.assertNotIn("*", plot.table(self.results(96.0)))

    def test_only_the_plugin_is_judged(self):
        runs = [run("seq1", name, 100.0) for name in (*servers.NAMES, "variant")]
        results = plot.Results(runs, [r["server"] for r in runs], ["seq1"])
        self.assertEqual([v["server"] for v in results.verdicts()], ["ra", "variant"])

    def test_fairness_of_many_is_an_aim(self):
        runs = [run("seq32", "ra", 1.0, slowest_fastest=10.2)]
        self.assertIn("not met", plot.verdict_table(plot.Results(runs, ["ra"], ["seq32"])))

    def test_oltp_against_its_peak(self):
        runs = [run(f"oltp{n}", "ra", 1.0, ops_s=ops) for n, ops in ((1, 80.0), (4, 200.0),
                                                                     (32, 190.0))]
        results = plot.Results(runs, ["ra"], ["oltp1", "oltp4", "oltp32"])
        self.assertEqual(results.measure("oltp32", "ra", "ops/s x peak"), 0.95)
        self.assertEqual([v["met"] for v in results.verdicts()], [True])

    def test_files_a_second_are_shown(self):
        runs = [run("ends1", "ra", 1.0, files_s=61.26), run("seq1", "ra", 1.0, files_s=None)]
        text = plot.table(plot.Results(runs, ["ra"], ["ends1", "seq1"]))
        self.assertIn("files/s", text)
        self.assertIn("61.3", text)

    def test_aims_are_no_misses(self):
        runs = [run("write1+1", "stock", 1.0, random_requests_s=10.0),
                run("write1+1", "ra", 1.0, random_requests_s=30.0)]
        results = plot.Results(runs, ["stock", "ra"], ["write1+1"])
        text = plot.verdict_table(results)
        self.assertIn("not met", text)
        self.assertNotIn("MISSED", text)

    def test_tables(self):
        text = plot.table(self.results(96.0))
        self.assertIn("96.0", text)
        self.assertIn("met", plot.verdict_table(self.results(96.0)))
        self.assertTrue(plot.table(self.results(96.0), True).startswith("| work"))


def of_client(mb_s, **more):
    latency = {"count": 1, "p50": 1, "p99": 1, "max": 1}
    return {"mb_s": mb_s, "requests_s": mb_s, "from_s": 1, "to_s": 3, "commits": 0,
            "latency_ms": latency, "windows_mb": [mb_s, mb_s], **more}


class Clients(unittest.TestCase):
    """Works of several clients: what each got over what it gets alone on its share."""

    def test_works_name_every_file_once(self):
        for name in workloads.GROUPS["fair"] + workloads.GROUPS["isolation"]:
            work = workloads.make(name)
            files = [f for c in work.clients for f in c.files()]
            self.assertEqual(len(files), len(set(files)))
            laid_out = {n for first, count, _ in work.sets for n in range(first, first + count)}
            self.assertLessEqual({n for letter, n in files if letter == "f"},
                                 laid_out if work.clients else set())

    def test_groups_of_a_client_add_up_and_weights_count(self):
        clients = [isolation.Client("weight", 1, 100), isolation.Client("weight", 2, 300)]
        together = isolation.merge({"clients": [
            of_client(10, name="weight1.0"), of_client(5, name="weight1.1"),
            of_client(45, name="weight2.0")]})
        alone = {"weight1": {"mb_s": 60, "requests_s": 1}, "weight2": {"mb_s": 60, "requests_s": 1}}
        one, three = isolation.judge(clients, together, alone)
        self.assertAlmostEqual(one["mb_s"], 15)
        self.assertAlmostEqual(one["R"], 1)
        self.assertAlmostEqual(three["R"], 1)

    def test_rest_of_a_flooder(self):
        records = [{"work": "flood", "server": "ra", "run": 1, "clients": [
            {"shape": "big", "of_alone": 0.72, "mb_s": 3, "entitled": 0.5, "time_share": 0.8},
            {"shape": "small", "of_alone": 0.2, "mb_s": 1, "entitled": 0.5, "time_share": 0.2}]}]
        self.assertAlmostEqual(isolation.measure(records, "flood", "ra", "big:of_rest"), 0.9)
        self.assertAlmostEqual(isolation.measure(records, "flood", "ra", "small:share_error"), 0.6)
        self.assertIsNone(isolation.measure(records, "flood", "stock", "big:of_rest"))

    def test_weights_are_told_and_floors_have_an_export(self):
        rules, second = isolation.shares_config(workloads.make("weights3").clients, "/m")
        self.assertIn("CLIENT { Clients = 127.0.0.13; Weight = 400; }", rules)
        self.assertIsNone(second)
        rules, second = isolation.shares_config(workloads.make("floor16").clients, "/m")
        self.assertEqual(("", {"path": "/m/sets", "floor": 40}), (rules, second))
        floor, other = workloads.make("floor16").clients[:2]
        self.assertIn(",export=/m/sets,dir=SET", floor.arguments("/m", "SET")[1])
        self.assertNotIn("export", other.arguments("/m", "SET")[1])


    def test_failed_runs_do_not_count(self):
        def of(number, mb_s, **more):
            return {"work": "fair2", "server": "ra", "run": number, "mb_s": mb_s, **more,
                    "clients": isolation.judge([isolation.Client("stream", 1)], {
                        "stream1": {**of_client(mb_s), "worst_ms": mb_s}}, None)}

        results = plot.Results([of(1, 40), of(2, 2, failed="mismatch")], ["ra"], ["fair2"])
        self.assertEqual(results.measure("fair2", "ra", "stream:worst_ms"), 40)
        self.assertIn("40.0", plot.client_table(results))


class DiskTime(unittest.TestCase):
    def test_time_goes_to_whose_place_it_was(self):
        trace = disktime.Trace.__new__(disktime.Trace)
        trace.began = 0
        # (begin, seconds, offset); a's second follows so soon that the pause is a's, c is nobody's
        trace._commands = lambda: [(0.9, 0.2, 0), (1.105, 0.095, 4096), (1.2, 0.4, 1 << 20),
                                   (1.7, 0.1, 1 << 30), (1.9, 0.5, 1 << 20)]
        found, extents = {"a": [(0, 8192)], "b": [(1 << 20, 2 << 20)]}, disktime.extents
        disktime.extents = found.get
        try:
            shares, busy = trace.shares({"a": "A", "b": "B"}, 1, 2)
        finally:
            disktime.extents = extents
        self.assertAlmostEqual(shares["A"], 0.2 / 0.7)
        self.assertAlmostEqual(shares["B"], 0.5 / 0.7)
        self.assertAlmostEqual(busy, 0.8)


class Servers(unittest.TestCase):
    def test_a_variant_may_hold_parameters_of_either_block(self):
        found = self.settings("ra", ["fast:Max_Wait=9,price_sample=20,Cursors_Per_File=7"])["fast"]
        self.assertEqual(found["ra"], {"price_sample": "20", "Cursors_Per_File": "7"})
        self.assertEqual(found["fsal"], {"Queue_Depth": "1", "Max_Wait": "9"})

    def settings(self, names, variants=(), beside=()):
        options = types.SimpleNamespace(
            servers=names, variant=list(variants), beside=list(beside), ra_option=["Queue_Depth=1"], ra_block=[],
            read_ahead_kb=128, tuned_read_ahead_kb=2560)
        return servers.settings(options)

    def test_each_is_what_its_name_says(self):
        found = self.settings("stock,tuned,ra,bfq,strict", ["fast:Max_Wait=9"])
        self.assertEqual(list(found), ["stock", "tuned", "ra", "bfq", "strict", "fast"])
        self.assertEqual(found["tuned"]["read_ahead_kb"], 2560)
        self.assertEqual(found["bfq"]["scheduler"], "bfq")
        self.assertNotIn("scheduler", found["stock"])
        self.assertEqual(found["strict"]["strict"], 8 * workloads.MIB)
        self.assertEqual(found["fast"]["fsal"], {"Queue_Depth": "1", "Max_Wait": "9"})

    def test_what_the_kernel_lacks_is_named(self):
        disk = types.SimpleNamespace(has_scheduler=lambda name: False,
                                     has_strict_limit=lambda: False)
        found = self.settings("stock,bfq,strict")
        self.assertIsNone(servers.missing(found["stock"], disk))
        self.assertIn("bfq", servers.missing(found["bfq"], disk))
        self.assertIn("strict_limit", servers.missing(found["strict"], disk))

    def test_bad_names_end_the_program(self):
        for names, variants in (("stok", ()), ("stock", ("ra:Max_Wait=1",)), ("stock", ("x",))):
            with self.assertRaises(SystemExit):
                self.settings(names, variants)

    def test_another_build_beside(self):
        here = os.path.abspath(__file__)
        found = self.settings("ra", beside=(f"old:{here}",))
        self.assertEqual(found["old"]["plugin"], here)
        self.assertEqual(found["old"]["fsal"], found["ra"]["fsal"])
        for wrong in ("old", f"ra:{here}", "old:/nowhere/libfsalra.so"):
            with self.assertRaises(SystemExit):
                self.settings("ra", beside=(wrong,))


class Figure5(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.figure5 = program("figure5")

    def verdict(self, rises, falls):
        """Of a pulse from 10 to 20 s, with the price 1 from `rises` until `falls`."""
        samples = []
        for tenth in range(250):
            price = 1.0 if rises <= tenth / 10 < falls else 0.001
            samples.append({"time": tenth / 10, "disk": (price, price), "write": price,
                            "fsstat_write": price * 1.01})
        return self.figure5.verdict("disk", types.SimpleNamespace(samples=samples,
                                                                  pulse=(10.0, 20.0)))

    def test_in_time(self):
        found = self.verdict(11.5, 22.5)
        self.assertTrue(found["met"])
        self.assertAlmostEqual(found["up"], 1.5)
        self.assertAlmostEqual(found["down"], 2.5)
        self.assertEqual(found["fsstat"], 1.0)

    def test_too_late_or_never(self):
        self.assertFalse(self.verdict(12.5, 22.5)["met"])
        self.assertFalse(self.verdict(11.5, 23.5)["met"])
        self.assertIsNone(self.verdict(30.0, 31.0)["up"])
        self.assertFalse(self.verdict(8.0, 22.5)["met"])  # dear while nothing went on


if __name__ == "__main__":
    unittest.main()
