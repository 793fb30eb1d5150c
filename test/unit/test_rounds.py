#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/experiments/rounds.py: intervals against known values, and which rounds count, with a clock
and a /proc of the test's own."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from experiments import rounds  # noqa: E402


class Intervals(unittest.TestCase):
    def test_coverage_is_that_of_the_tables(self):
        # Conover, Practical Nonparametric Statistics: intervals of a median by the sign test
        for n, k, percent in ((5, 1, 93.75), (6, 1, 96.88), (9, 2, 96.09), (10, 2, 97.85),
                              (15, 4, 96.48), (20, 6, 95.86)):
            self.assertAlmostEqual(100 * rounds.coverage(n, k), percent, places=2)

    def test_the_narrowest_that_covers_enough(self):
        found = rounds.median_interval(range(1, 11))
        self.assertEqual((found["median"], found["low"], found["high"]), (5.5, 2, 9))
        found = rounds.median_interval([30, 10, 20, 60, 50, 40])
        self.assertEqual((found["median"], found["low"], found["high"]), (35, 10, 60))
        self.assertEqual(found["coverage"], 0.9688)

    def test_too_few_give_their_range_and_say_what_it_covers(self):
        found = rounds.median_interval([3, 1, 2, 5, 4])
        self.assertEqual((found["median"], found["low"], found["high"]), (3, 1, 5))
        self.assertEqual(found["coverage"], 0.9375)
        one = rounds.median_interval([7])
        self.assertEqual((one["low"], one["high"], one["coverage"]), (7, 7, 0))

    def test_of_nothing_there_is_none(self):
        self.assertIsNone(rounds.median_interval([]))
        self.assertIsNone(rounds.median_interval([None]))


class Machine:
    """A /proc and a clock; a measurement takes 10 s, of which others have `stolen` percent."""

    def __init__(self, stolen=()):
        self.directory = tempfile.TemporaryDirectory(prefix="rounds-")
        self.now, self.ticks, self.taken, self.calls = 0.0, 0, 0, 0
        self.stolen, self.slept, self.evicted = list(stolen), 0, 0
        self.damon = False
        self.write()

    def file(self, path, text):
        path = os.path.join(self.directory.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def write(self):
        idle = self.ticks - self.taken
        self.file("proc/stat", f"cpu  0 0 0 {idle} 0 0 0 {self.taken} 0 0\ncpu0 1 1\n")
        self.file("proc/vmstat", f"pgsteal_kswapd {self.evicted}\npgsteal_direct 0\n"
                                 f"pgsteal_file {self.evicted}\nworkingset_refault_file 7\n")
        self.file("proc/loadavg", "1.50 0 0 1/1 1\n")
        if self.damon:
            self.file("sys/kernel/mm/damon/admin/kdamonds/0/pid", "77\n")
            self.file("proc/77/schedstat", f"{int(self.now * 1e6)} 0 0\n")

    def pass_by(self, seconds, percent):
        self.now += seconds
        self.ticks += int(1000 * seconds)
        self.taken += int(10 * seconds * percent)
        self.write()

    def once(self):
        self.calls += 1
        self.evicted += 100
        self.pass_by(10, self.stolen.pop(0) if self.stolen else 0)
        return {"mb_s": 100 + self.calls}

    def sleep(self, seconds):
        self.slept += seconds
        self.pass_by(seconds, 0)

    def watch(self):
        return rounds.Watch(self.directory.name, lambda: self.now, self.sleep)


class WithMachine(unittest.TestCase):
    def machine(self, stolen=()):
        found = Machine(stolen)
        self.addCleanup(found.directory.cleanup)
        return found


class Undisturbed(WithMachine):
    def test_a_quiet_round_is_made_once(self):
        machine = self.machine([4.9])
        figures, beside = rounds.undisturbed(machine.once, watch=machine.watch())
        self.assertEqual(figures, {"mb_s": 101})
        self.assertEqual((beside["tries"], beside["marked"]), (1, False))
        self.assertAlmostEqual(beside["steal_percent"], 4.9)
        self.assertEqual((beside["evicted_pages"], beside["read_again_pages"]), (100, 0))
        self.assertEqual((beside["seconds"], beside["load_average"]), (10, 1.5))
        self.assertEqual(beside["damon_threads"], 0)
        self.assertEqual(machine.slept, 0)

    def test_a_disturbed_round_is_made_again(self):
        machine, said = self.machine([30, 0]), []
        figures, beside = rounds.undisturbed(machine.once, said.append, machine.watch())
        self.assertEqual(figures, {"mb_s": 102})
        self.assertEqual((beside["tries"], beside["marked"]), (2, False))
        self.assertEqual(said, ["steal 30.0 %, again"])
        self.assertEqual(machine.slept, rounds.CALM_WINDOW)  # calm at the first look

    def test_and_marked_when_it_always_is(self):
        machine = self.machine([10] * 99)
        _, beside = rounds.undisturbed(machine.once, watch=machine.watch())
        self.assertEqual((beside["tries"], beside["marked"]), (rounds.TRIES, True))
        self.assertEqual(machine.calls, rounds.TRIES)

    def test_what_is_stolen_from_the_loads_counts_by_itself(self):
        machine = self.machine()
        watch = machine.watch()

        def once():
            machine.pass_by(40, 0)  # a server's start, a disk that is waited for
            for stolen in (9, 7):
                with watch.load():
                    machine.pass_by(2, stolen)
            return {}

        beside = rounds.undisturbed(once, watch=watch, tries=1)[1]
        self.assertAlmostEqual(beside["steal_percent"], 8)
        self.assertTrue(beside["marked"])
        self.assertAlmostEqual(watch.busy(), .08)  # of the loads alone; else the processors were idle
        beside = rounds.undisturbed(machine.once, watch=watch, tries=1)[1]
        self.assertEqual((beside["steal_percent"], beside["marked"]), (0, False))
        self.assertEqual(watch.busy(), 0)  # there was no load

    def test_the_processors_are_busy_where_they_are_not_idle(self):
        machine = self.machine()
        watch = machine.watch()
        machine.file("proc/stat", "cpu  7 0 3 90 10 0 0 0 0 0\n")
        with watch.load():
            machine.file("proc/stat", "cpu  120 0 60 110 20 0 0 0 0 0\n")
        self.assertAlmostEqual(watch.busy(), .85)

    def test_what_failed_is_not_made_again(self):
        machine = self.machine([30, 0])
        figures, beside = rounds.undisturbed(lambda: {**machine.once(), "failed": "wrong bytes"},
                                             watch=machine.watch())
        self.assertEqual((figures["failed"], machine.calls, beside["marked"]), ("wrong bytes", 1, True))

    def test_but_what_was_only_too_slow(self):
        late = ("nfsbench: not done after 60 s (--max-time)", "nfsbench: no answer for 60 s (--stall)",
                "each alone: killed after 120 s", "killed after 360 s")
        for told, calls in [(text, 2) for text in late] + [(late[0] + "; the server died", 1),
                                                           ("nfsbench: f0001: wrong bytes", 1)]:
            machine, failed = self.machine([30, 0]), [told]
            figures, beside = rounds.undisturbed(
                lambda: {**machine.once(), "failed": failed.pop() if failed else None}, watch=machine.watch())
            self.assertEqual((machine.calls, figures["failed"]), (calls, None if calls == 2 else told))
        machine = self.machine([0, 0])  # by itself
        rounds.undisturbed(lambda: {**machine.once(), "failed": late[0]}, watch=machine.watch())
        self.assertEqual(machine.calls, 1)

    def test_what_is_made_again_is_bounded_in_all(self):
        machine, spare = self.machine([10] * 99), rounds.Spare(25)
        calls = []
        for _ in range(3):
            beside = rounds.undisturbed(machine.once, watch=machine.watch(), spare=spare)[1]
            self.assertTrue(beside["marked"])
            calls.append(beside["tries"])
        # 2 s of calm and 10 of the round: two of them fit, then none
        self.assertEqual(calls, [3, 1, 1])
        machine = self.machine()
        rounds.undisturbed(machine.once, watch=machine.watch(), spare=spare)
        self.assertEqual(machine.calls, 1)

    def test_waiting_for_calm_is_bounded(self):
        machine = self.machine()
        machine.sleep = lambda seconds: machine.pass_by(seconds, 50)
        machine.watch().calm()
        self.assertEqual(machine.now, rounds.CALM_MOST)

    def test_damon_is_told(self):
        machine = self.machine()
        machine.damon = True
        machine.write()
        beside = rounds.undisturbed(machine.once, watch=machine.watch())[1]
        self.assertEqual((beside["damon_threads"], beside["damon_ran_ms"]), (1, 10))

    def test_a_machine_that_tells_nothing(self):
        with tempfile.TemporaryDirectory() as empty:
            beside = rounds.undisturbed(lambda: {}, watch=rounds.Watch(empty))[1]
        self.assertEqual((beside["steal_percent"], beside["marked"]), (0, False))
        self.assertIsNone(beside["load_average"])


class Bed:
    def __init__(self, machine, count):
        self.rounds, self.watch, self.tries = count, machine.watch(), rounds.TRIES
        self.records, self.failures, self.said = [], [], []

    def say(self, text):
        self.said.append(text)


def record(series, number, marked=False, **figures):
    return {"series": series, "round": number, "figures": figures,
            "circumstances": {"marked": marked}}


class Rounds(WithMachine):
    def test_series_take_turns(self):
        machine, order = self.machine(), []
        bed = Bed(machine, 2)

        def once(name, number):
            order.append((name, number))
            return machine.once()

        done = rounds.run(bed, ["a", "b", "c"], once)
        self.assertEqual(order, [("a", 0), ("b", 0), ("c", 0), ("b", 1), ("c", 1), ("a", 1)])
        self.assertEqual(bed.records, done.records)
        self.assertEqual(done.series(), ["a", "b", "c"])
        self.assertEqual(done.values("a", "mb_s"), [101, 106])
        self.assertIn("[1/6, 50 s left] round 1 a: mb_s 101", bed.said)

    def test_earlier_rounds_stand_unless_failed_and_marked_ones_come_last(self):
        machine, made = self.machine(), []
        bed, kept = Bed(machine, 2), []
        bed.earlier = rounds.Earlier(
            [{**record("a", 1, x=1), "run": 0}, {**record("b", 1, True, x=2), "run": 0},
             {"run": 0, "series": "a", "round": 2, "failed": "x"},
             {**record("b", 2, x=4), "run": 1}])
        bed.keep = lambda: kept.append(len(bed.records))

        def once(name, number):
            made.append((name, number))
            return machine.once()

        done = rounds.run(bed, ["a", "b"], once)
        self.assertEqual(made, [("b", 1), ("a", 1), ("b", 0)])
        self.assertEqual(len(done.records), 4)
        self.assertEqual(bed.records, done.records)
        self.assertEqual(kept, [3, 4, 4])
        self.assertEqual(done.values("a", "x"), [1])

    def test_no_round_is_begun_that_would_end_too_late(self):
        machine = self.machine()
        bed = Bed(machine, 3)
        bed.end = machine.watch().clock() + 25  # each takes 10 s
        with self.assertRaises(rounds.Unfinished) as caught:
            rounds.run(bed, ["a"], lambda name, number: machine.once())
        self.assertIn("2 of 3 rounds", str(caught.exception))
        self.assertEqual(len(bed.records), 2)

    def test_where_time_is_short_disturbed_rounds_come_last(self):
        machine, made = self.machine([20, 0, 0, 0, 20]), []
        bed = Bed(machine, 2)
        bed.end = 1000

        def once(name, number):
            made.append((name, number))
            return machine.once()

        done = rounds.run(bed, ["a", "b"], once)
        self.assertEqual(made, [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 0), ("a", 0)])
        self.assertEqual([r["circumstances"]["marked"] for r in done.records], [False] * 4)
        self.assertEqual(machine.slept, 0)

    def pieces(self, stolen, seconds, most=30):
        """What is there after pieces of that length of an experiment of two rounds, and of how many. Each
        round of 10 s has so many percent of steal."""
        machine, kept = self.machine([stolen] * 999), []
        for n in range(1, most + 1):
            bed = Bed(machine, 2)
            bed.earlier, bed.end = rounds.Earlier(kept), machine.now + seconds
            bed.keep = lambda bed=bed: kept.__setitem__(slice(None), bed.records)
            try:
                return rounds.run(bed, ["a", "b"], lambda name, number: machine.once()), n, machine.calls
            except rounds.Unfinished:
                kept[:] = bed.records
        return None, most, machine.calls

    def test_pieces_come_to_an_end_under_steady_steal(self):
        for seconds in (10, 35, 1000):
            done, _, calls = self.pieces(20, seconds)
            self.assertEqual(calls, 4 * rounds.TRIES)
            self.assertEqual([(r["circumstances"]["marked"], r["circumstances"]["tries"]) for r in done.records],
                             [(True, rounds.TRIES)] * 4)
        self.assertEqual(self.pieces(0, 10)[1:], (4, 4))

    def test_a_disturbed_try_is_kept_until_a_later_one_takes_its_place(self):
        machine, kept = self.machine([20, 20, 0]), []
        bed = Bed(machine, 1)
        bed.end = 1000
        bed.keep = lambda: kept.append([r["circumstances"]["marked"] for r in bed.records])
        done = rounds.run(bed, ["a"], lambda name, number: machine.once())
        self.assertEqual(kept, [[True], [True], [False]])
        self.assertEqual((done.values("a", "mb_s"), bed.records[0]["circumstances"]["tries"]), ([103], 3))

    def test_of_two_that_are_kept_the_better_counts(self):
        good, bad = record("a", 1, x=1), record("a", 1, True, x=2)
        for both in ([good, bad], [bad, good]):
            earlier = rounds.Earlier([{**r, "run": 0} for r in both])
            self.assertEqual(earlier.of({"run": 0, "series": "a", "round": 1})["figures"], {"x": 1})

    def test_a_failed_round_stops_no_other(self):
        machine = self.machine()
        bed = Bed(machine, 2)

        def once(name, number):
            if (name, number) == ("a", 0):
                raise RuntimeError("nfsbench: mismatch")
            return machine.once()

        done = rounds.run(bed, ["a", "b"], once)
        self.assertEqual(len(done.records), 4)
        self.assertEqual(bed.failures, ["a, round 1: RuntimeError: nfsbench: mismatch"])
        self.assertEqual(done.interval("a", "mb_s")["rounds"], 1)

    def test_cells_of_two_calls_are_told_apart(self):
        machine = self.machine()
        bed = Bed(machine, 1)
        for _ in range(2):
            rounds.run(bed, ["a"], lambda name, number: machine.once())
        self.assertEqual([r["run"] for r in bed.records], [0, 1])

    def test_marked_rounds_do_not_count_beside_others(self):
        done = rounds.Rounds([record("a", 1, True, x=900), record("a", 2, x=10),
                              record("a", 3, x=20), record("b", 1, True, x=5)])
        self.assertEqual(done.interval("a", "x")["median"], 15)
        self.assertFalse(done.interval("a", "x")["marked"])
        self.assertTrue(done.interval("b", "x")["marked"])
        self.assertEqual(done.point("a", "x", "y", readers=8)["readers"], 8)
        self.assertIsNone(done.point("a", "x", "y")["y"])

    def test_ratios_are_of_each_round(self):
        done = rounds.Rounds([record("a", n, x=2 * n) for n in range(1, 4)]
                             + [record("b", n, n == 3, x=n) for n in range(1, 4)])
        found = done.ratio("a", "b", "x")
        self.assertEqual((found["low"], found["median"], found["high"]), (2, 2, 2))
        self.assertEqual((found["rounds"], found["marked"]), (2, False))
        self.assertIsNone(done.ratio("a", "c", "x"))

    def test_disturbed_cells(self):
        records = [{**record("a", 1, True), "run": 0}, {**record("a", 2), "run": 0},
                   {**record("a", 1, True), "run": 1}, {"series": "f", "round": 1, "run": 1,
                                                        "failed": "x"}]
        self.assertEqual(rounds.disturbed(records), [(1, "a")])


if __name__ == "__main__":
    unittest.main()
