#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/papers gateways: which works there are above which storage, and what their figures are judged by."""
import sys
import threading
import types
import unittest

sys.dont_write_bytecode = True

from bench_modules import BENCH  # noqa: E402, F401
from experiments import gateway_bed, gateway_cost, gateway_prices, gateways, rounds  # noqa: E402
from experiments.gateway_bed import priced  # noqa: E402


def named(name):
    return next(e for e in gateways.EXPERIMENTS if e.name == name)


def done_of(experiment, **changed):
    """Rounds in which each work has what is wanted, but for WORK_SERVER=(MB/s, moved[, busy]), one of them a
    round."""
    made = []
    for work in gateways.WORKS:
        stock = 10.0
        usual = {"stock": (stock, 1.0), "tuned": (stock, 1.0), "ra": (stock * experiment.wanted[work], 1.0)}
        for server, pair in usual.items():
            figures = changed.pop(f"{work}_{server}", [pair])
            made += [{"run": 0, "series": f"{work} {server}", "round": number + 1,
                      "figures": dict(zip(("mb_s", "moved", "busy"), (*of, .5))),
                      "circumstances": {"steal_percent": 0, "marked": False}}
                     for number, of in enumerate(figures)]
    assert not changed, changed
    return rounds.Rounds(made)


class Works(unittest.TestCase):
    def test_every_row_has_its_experiment(self):
        found = {e.name: (e.kind.fsal_name, getattr(e, "storage", type(e).__name__)) for e in gateways.EXPERIMENTS}
        self.assertEqual(found, {
            "g1": ("CEPH", "disk"), "g2": ("GLUSTER", "disk"), "g3": ("CEPH", "latency"),
            "g4": ("GLUSTER", "latency"), "g5": ("CEPH", "memory"), "g6": ("GLUSTER", "memory"),
            "g7": ("CEPH", "Prices"), "g8": ("GLUSTER", "Prices"), "g9": ("CEPH", "Cost"), "g10": ("GLUSTER", "Cost")})
        for (kind, storage), wanted in gateways.WANTED.items():
            self.assertEqual(len(wanted), len(gateways.WORKS), (kind, storage))
            self.assertIn(storage, gateway_bed.STORAGES)
        self.assertEqual(named("g5").wanted["stride8"], 1.8)
        self.assertEqual({named(f"g{n}").wanted["random8ko32"] for n in range(1, 7)}, {.98})

    def test_small_ones_are_read_as_often_as_tells_something(self):
        for storage in gateway_bed.STORAGES:
            for quick in (True, False):
                works = gateways.works_of(storage, quick)
                self.assertEqual(list(works), list(gateways.WORKS))
                one, many = (int(works[n].arguments[works[n].arguments.index("--count") + 1])
                             for n in ("random8k", "random8ko32"))
                self.assertGreaterEqual(many, one)
                self.assertLessEqual(one, 300 if quick and storage != "memory" else 8000)
                laid_out = {w.set: w.bytes_laid_out() for w in works.values()}
                self.assertLessEqual(sum(laid_out.values()), 600 << 20, storage)  # of 1 GiB of memory


class Verdicts(unittest.TestCase):
    def outcome(self, name="g5", streams=None, **changed):
        experiment = named(name)
        return experiment.outcome(done_of(experiment, **changed), streams).check()

    def test_as_wanted(self):
        for name in ("g1", "g2", "g3", "g4", "g5", "g6"):
            found = self.outcome(name, 147.0 if name in ("g1", "g2") else None)
            self.assertEqual((found.verdict, found.why), ("reproduced", ""), name)
            self.assertIn("stride2", found.figure)

    def test_one_row_that_is_short_is_named_with_its_figures(self):
        found = self.outcome(stride2_ra=[(11.9, 1.0)])
        self.assertEqual(found.verdict, "not reproduced")
        self.assertEqual(found.why, "stride2: 1.19 x stock (one round), wanted 1.8")

    def test_rounds_on_both_sides_do_not_tell(self):
        found = self.outcome(seq8_stock=[(10, 1)] * 3, seq8_ra=[(9.6, 1), (9.7, 1), (10.3, 1)])
        self.assertEqual(found.verdict, "not told")
        self.assertIn("seq8: 0.97 x stock (0.96 to 1.03 in 3 rounds)", found.why)
        found = self.outcome(seq8_stock=[(10, 1)] * 3, seq8_ra=[(9.6, 1), (9.7, 1), (9.8, 1)])
        self.assertEqual(found.verdict, "not reproduced")

    def test_above_a_disk_the_best_own_settings_count_too(self):
        found = self.outcome("g1", 147.0, seq8_tuned=[(60, 1)])
        self.assertEqual(found.why, "seq8: 0.83 x tuned (one round), wanted 1")
        self.assertEqual(self.outcome("g3", seq8_tuned=[(60, 1)]).verdict, "reproduced")

    def test_more_than_the_disk_has_is_told_so(self):
        found = self.outcome("g2", 147.0, seq1_stock=[(134, 1)], seq1_ra=[(134, 1)],
                             reorder10_stock=[(134, 1)], reorder10_ra=[(134, 1)])
        self.assertEqual(found.why, "reorder10: 1.00 x stock (one round), wanted 1.2 "
                                    "(161 MB/s, where one reader has 134 and the disk 147)")
        self.assertEqual(found.more, {"disk_mb_s": 147.0})
        self.assertEqual(named("g4").outcome(done_of(named("g4"), seq8_ra=[(14, 1)])).why,
                         "seq8: 1.40 x stock (one round), wanted 1.5")

    def test_busy_processors_are_told(self):
        self.assertEqual(self.outcome("g4", seq8_ra=[(14, 1, .97)]).why,
                         "seq8: 1.40 x stock (one round), wanted 1.5 (this machine's processors were 97% busy)")
        self.assertEqual(self.outcome("g4", seq8_ra=[(14, 1, .8)]).why, "seq8: 1.40 x stock (one round), wanted 1.5")

    def test_what_is_moved(self):
        self.assertEqual(self.outcome(seq8_ra=[(10, 1.05)]).verdict, "reproduced")
        self.assertEqual(self.outcome(seq8_ra=[(10, 1.06)]).why,
                         "seq8: moved 1.06 of what is read, wanted 1.05 or stock's 1.00")
        # a cluster's headers are a share of 8 KiB that stock has too
        self.assertEqual(self.outcome(random8k_ra=[(10, 1.08)], random8k_stock=[(10, 1.08)]).verdict,
                         "reproduced")
        self.assertEqual(self.outcome(random8k_ra=[(10, 1.2)], random8k_stock=[(10, 1.08)]).verdict,
                         "not reproduced")

    def test_a_work_without_a_round(self):
        found = named("g5").outcome(rounds.Rounds([]))
        self.assertEqual(found.check().verdict, "not reproduced")
        self.assertIn("seq1: no round", found.why)


def gateway_that_ends(stop, gone, sleeps=False, kind="ra"):
    cluster = types.SimpleNamespace(forget_ended=lambda: gone.append(True), sleeps_at_end=sleeps)
    process = types.SimpleNamespace(terminate=lambda: None)
    return types.SimpleNamespace(stop=stop, cluster=cluster, process=process, kind=kind)


class Ends(unittest.TestCase):
    def test_is_over_before_the_next(self):
        gone, ends = [], gateway_bed.Ends()
        ends.stop(gateway_that_ends(lambda: 0, gone))
        self.assertEqual(gone, [True])

    def test_of_those_that_sleep_is_not_waited_for(self):
        gone, ends, awake = [], gateway_bed.Ends(), threading.Event()
        for _ in range(ends.MOST - 1):
            ends.stop(gateway_that_ends(lambda: 0 if awake.wait(60) else None, gone, sleeps=True))
        self.assertEqual(gone, [])
        awake.set()
        ends.wait()
        self.assertEqual(len(gone), ends.MOST - 1)

    def test_so_many_sleep_at_most(self):
        gone, ends = [], gateway_bed.Ends()
        for _ in range(ends.MOST):
            ends.stop(gateway_that_ends(lambda: 0, gone, sleeps=True))
        self.assertEqual((len(gone), ends.ending), (ends.MOST, []))

    def test_a_bad_one_is_told(self):
        with self.assertRaisesRegex(RuntimeError, "a gateway's end: its exit status is 139"):
            gateway_bed.Ends().stop(gateway_that_ends(lambda: 139, []))
        ends = gateway_bed.Ends()
        with self.assertRaisesRegex(RuntimeError, "it had to be killed"):
            ends.stop(gateway_that_ends(lambda: None, [], sleeps=True))
            ends.wait()
        ends.wait()  # told once

    def test_ganesha_s_own_layer_may_crash(self):
        gateway_bed.Ends().stop(gateway_that_ends(lambda: -11, [], kind="null"))


class Cost(unittest.TestCase):
    def judged(self, *us):
        made = [{"run": 0, "series": s, "round": number + 1, "figures": {"us": of, "mb_s": 30.0},
                 "circumstances": {"steal_percent": 0, "marked": False}}
                for number, each in enumerate(us) for s, of in zip(gateway_cost.SERVERS, each)]
        return named("g9").outcome(rounds.Rounds(made)).check()

    def test_a_layer_costs_little(self):
        found = self.judged((400, 402, 404, 408))
        self.assertEqual((found.verdict, found.figure),
                         ("reproduced", "null 1.00 x stock, off 1.01 x stock, ra 1.02 x stock"))
        self.assertEqual(self.judged((400, 402, 404, 412)).why, "1.03 x stock (one round), wanted 1.02")

    def test_rounds_on_both_sides(self):
        self.assertEqual(self.judged(*[(400, 400, 400, us) for us in (404, 412, 420)]).verdict, "not told")
        self.assertEqual(named("g9").outcome(rounds.Rounds([])).verdict, "not run")

    def test_of_a_read_all_processors_time_is_counted(self):
        bench = types.SimpleNamespace(load=lambda *_: ({"total": {"requests": 500, "mb_s": 5.0}}, None))
        watch, gone = rounds.Watch(), []
        bed = types.SimpleNamespace(bench=lambda: bench, watch=watch)
        ticks = iter(((0, 0, 0), (10, 60, 100)))
        watch._ticks = lambda: next(ticks)
        found = gateway_cost.measure(bed, gateway_that_ends(lambda: 0, gone), types.SimpleNamespace(arguments=[]),
                                     gateway_bed.Ends())
        self.assertEqual((found, gone), ({"us": 1e6 * 30 / rounds.TICKS_S / 500, "mb_s": 5.0}, [True]))


class Headers(unittest.TestCase):
    def test_of_each_read_are_no_part_of_what_is_moved(self):
        read, calls, sent = 8192 * 100, 100, []
        bench = types.SimpleNamespace(load=lambda *_: (sent.append(2 * read + calls * gateway_bed.HEADERS), (
            {"total": {"bytes": read, "requests": calls, "mb_s": 5.0}}, None))[1])
        watch = rounds.Watch()
        watch._ticks = lambda: rounds.NO_TICKS
        bed = types.SimpleNamespace(bench=lambda: bench, watch=watch)
        gone = []
        server = gateway_that_ends(lambda: 0, gone)
        kept = gateway_bed.started, gateway_bed.bytes_moved
        gateway_bed.started, gateway_bed.bytes_moved = lambda *_: server, lambda: sum(sent)
        try:
            found = gateways.Gateways._measure(bed, None, "", types.SimpleNamespace(arguments=[]), "ra",
                                                gateway_bed.Ends())
        finally:
            gateway_bed.started, gateway_bed.bytes_moved = kept
        self.assertEqual({key: found[key] for key in ("mb_s", "moved")}, {"mb_s": 5.0, "moved": 1.0})
        self.assertLessEqual(found["busy"], 1)
        self.assertEqual(gone, [True])


class Price(unittest.TestCase):
    def judged(self, *seen):
        made = [{"run": 0, "series": gateway_prices.SERIES, "round": number + 1,
                 "figures": gateway_prices.figures(s), "circumstances": {"steal_percent": 0, "marked": False}}
                for number, s in enumerate(seen)]
        return named("g7").outcome(rounds.Rounds(made)).check()

    def course(self, idle=(0.001, 0.002), rose=1.5, busy=(0.4, 0.5), fell=0.5, broken=""):
        return priced.Course(list(idle), rose, list(busy), fell, 100, 1000, broken)

    def test_it_follows(self):
        found = self.judged(self.course(), self.course(rose=2.0))
        self.assertEqual(found.verdict, "reproduced")
        self.assertEqual(found.points[0]["up_s"]["median"], 1.75)

    def test_what_it_does_not_do_is_named(self):
        for wrong, text in (({"idle": (0.06, 0.07)}, "the price with one reader"),
                            ({"rose": None}, "until it is above 0.3: 12.00"), ({"rose": 3.5}, "until it is above"),
                            ({"busy": (0.2, 0.3)}, "while others use"), ({"fell": 4}, "until it is below")):
            found = self.judged(self.course(**wrong))
            self.assertEqual(found.verdict, "not reproduced", wrong)
            self.assertIn(text, found.why)

    def test_rounds_on_both_sides(self):
        self.assertEqual(self.judged(self.course(rose=2), self.course(rose=9)).verdict, "not told")

    def test_a_reader_that_ended_is_a_failure(self):
        with self.assertRaises(RuntimeError):
            gateway_prices.figures(self.course(broken="timed out"))
        self.assertEqual(named("g8").outcome(rounds.Rounds([])).verdict, "not run")


if __name__ == "__main__":
    unittest.main()
