#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Cold caches: asked for each file, again where pages were in use, an error where it cannot be proved,
and kept with each round."""
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

import testbed  # noqa: E402
import cold  # noqa: E402
from experiments import experiment, rounds  # noqa: E402


class Disk:
    """Counts what is asked of it; time passes on it or not."""

    def __init__(self, mount):
        self.mount, self.drops, self.timed = mount, 0, True

    def drop_caches(self):
        assert not self.timed
        self.drops += 1

    def timing(self, on):
        self.timed = on


class Cold(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="cold-")
        self.addCleanup(directory.cleanup)
        self.disk = Disk(directory.name)
        os.mkdir(f"{directory.name}/below")
        for name in ("a", "below/b", ".hidden"):
            with open(f"{directory.name}/{name}", "w", encoding="ascii") as file:
                file.write("x")
        os.symlink("nowhere", f"{directory.name}/link")
        os.mkfifo(f"{directory.name}/fifo")

    def told(self, *answers):
        """fincore answers so, one call after the other: (bytes of each file, exit status)."""
        left = list(answers)

        def run(command, **how):
            self.asked = how["input"].split("\0")
            found, status = left.pop(0)
            return types.SimpleNamespace(returncode=status, stderr="no such file",
                                         stdout="".join(f"{n}\n" for n in found))

        for patch in (unittest.mock.patch.object(subprocess, "run", run),
                      unittest.mock.patch.object(cold.shutil, "which", lambda name: name)):
            patch.start()
            self.addCleanup(patch.stop)

    def test_each_file_is_asked_for(self):
        self.told(([0, 0, 0], 0))
        self.assertEqual(cold.start(self.disk), {"left_bytes": 0, "files": 3, "tries": 1})
        self.assertEqual(sorted(os.path.basename(p) for p in self.asked), [".hidden", "a", "b"])
        self.assertTrue(self.disk.timed)
        self.assertEqual(self.disk.drops, 2)  # what asking brought goes too

    def test_pages_in_use_go_with_the_next_try(self):
        self.told(([0, 4096, 0], 0), ([0, 0, 0], 0))
        self.assertEqual(cold.start(self.disk)["tries"], 2)

    def test_what_stays_is_an_error(self):
        self.told(*[([0, 4096, 0], 0)] * cold.TRIES)
        with self.assertRaisesRegex(RuntimeError, "4096 bytes"):
            cold.start(self.disk)
        self.assertTrue(self.disk.timed)

    def test_what_cannot_be_asked_is_an_error(self):
        for answer, text in ((([], 123), "exit status 123: no such file"), (([0, 0], 0), "2 of 3")):
            with self.subTest(text):
                self.told(answer)
                with self.assertRaisesRegex(RuntimeError, text):
                    cold.start(self.disk)

    def test_without_the_program_nothing_is_measured(self):
        with unittest.mock.patch.object(cold.shutil, "which", lambda name: None), \
                self.assertRaisesRegex(testbed.TestbedUnavailable, "util-linux-extra"):
            cold.start(self.disk)

    def test_a_guests_disk_is_not_here(self):
        self.disk.lent = True
        self.assertTrue(cold.start(self.disk)["lent"])
        self.assertEqual(self.disk.drops, 0)

    def test_it_is_kept_with_each_round(self):
        bed = experiment.Bed(True, rounds=2, say=lambda text: None)
        bed.watch = types.SimpleNamespace(look=lambda: None, clock=lambda: 0, calm=lambda most: None,
                                          between=lambda *_: {"steal_percent": next(steal)})
        steal = iter([9, 0, 0])  # the first is made again: of it nothing is kept

        def once(name, number):
            for _ in range(2):
                self.told(([0, 0, 0], 0))
                bed.cold(self.disk)
            if number:
                raise RuntimeError("no server")
            return {"mb_s": 1}

        rounds.run(bed, ["ra"], once)
        self.assertEqual([len(r["cold"]) for r in bed.records], [2, 2])
        self.assertEqual(bed.records[0]["cold"][0], {"left_bytes": 0, "files": 3, "tries": 1})


if __name__ == "__main__":
    unittest.main()
