#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""test/e2e/processes.py: what is read of a process that may end at any moment."""
import builtins
import os
import subprocess
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import processes  # noqa: E402


class Processes(unittest.TestCase):
    def setUp(self):
        self.process = subprocess.Popen(["sleep", "60"])
        self.addCleanup(self.end)

    def end(self):
        self.process.kill()
        self.process.wait()

    def test_one_that_lives(self):
        self.assertTrue(processes.lives(self.process.pid))
        self.assertIn(self.process.pid, processes.children_of(os.getpid()))

    def test_one_that_nobody_has_waited_for(self):
        self.process.kill()
        self.assertTrue(processes.wait_for(lambda: not processes.lives(self.process.pid), 30))
        self.assertIn("State:\tZ", processes.proc_text(self.process.pid, "status"))

    def test_one_that_has_ended(self):
        self.end()
        self.assertFalse(processes.lives(self.process.pid))
        self.assertEqual(processes.children_of(self.process.pid), [])

    def test_one_that_ends_between_open_and_read(self):
        plain = builtins.open

        def slow(*arguments, **more):
            file = plain(*arguments, **more)
            self.end()
            return file

        with mock.patch("builtins.open", slow):
            self.assertEqual(processes.proc_text(self.process.pid, "stat"), "")
            self.assertFalse(processes.lives(self.process.pid))


if __name__ == "__main__":
    unittest.main()
