#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/previews and bench/trees: servers that end badly, READs that fail, turns, and what is kept, with
servers and clients that are made up."""
import json
import os
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True

from bench_modules import program  # noqa: E402
import testbed  # noqa: E402


class Ends(unittest.TestCase):
    def server(self, status):
        class Server(testbed.Server):
            def __init__(self):
                self.stopped = 0

            def start(self, seconds=30):
                return self

            def stop(self, seconds=30):
                self.stopped += 1
                return status

            def log_text(self):
                return "assertion failed"

        return Server()

    def test_one_that_ends_badly_is_a_failure(self):
        with self.assertRaisesRegex(RuntimeError, "-6:\nassertion failed"), self.server(-6):
            pass
        with self.assertRaisesRegex(RuntimeError, "had to be killed:\nassertion failed"), self.server(None):
            pass
        with self.server(0) as good:
            pass
        self.assertEqual(good.stopped, 1)

    def test_what_failed_before_is_told_instead(self):
        bad = self.server(-6)
        with self.assertRaises(ZeroDivisionError), bad:
            raise ZeroDivisionError
        self.assertEqual(bad.stopped, 1)


class Client:
    """Of previews: a stream yields one block a millisecond."""
    status = 0

    def __init__(self, *_, **__):
        pass

    def lookup(self, name, _=None):
        return 0, name

    def stream(self, handle, size, request=65536):
        for at in range(0, size, request):
            time.sleep(0.001)
            yield at, self.status if handle.startswith("p") else 0, b"x" * request

    def close(self):
        pass


class Previews(unittest.TestCase):
    def load(self, status=0):
        previews = program("previews")
        options = types.SimpleNamespace(seconds=5, streams=1, stream_mb=64, previews=3, preview_kb=64,
                                        apart=False)
        with unittest.mock.patch.object(previews.nfs3, "Client", type("Of", (Client,), {"status": status})):
            return previews.Load(None, "/x", options)

    def test_a_read_that_fails_is_told(self):
        self.assertIn("status 5", self.load(5).broken[0])
        self.assertEqual(self.load().broken, [])

    def test_it_ends_with_the_list_of_files(self):
        load = self.load()
        self.assertEqual(len(load.waits), 3)
        self.assertLess(load.seconds, 2)
        self.assertLess(load.streamed, 32 << 20)


class Trees(unittest.TestCase):
    def test_what_was_measured_is_kept_whatever_comes(self):
        trees, order = program("trees"), []

        def measure(_, __, setting, ___, ____, _____):
            order.append(setting)
            if len(order) == 4:
                raise RuntimeError("the server died")
            return {"rate": 1.0, "disk_mb": 1.0, "disk_reads": 1, "worst_ms": 1.0}

        with tempfile.TemporaryDirectory() as directory:
            options = types.SimpleNamespace(runs=2, tries=1, layout="fresh", solid=False,
                                            json=f"{directory}/trees.json")
            with unittest.mock.patch.object(trees, "measure", measure), \
                    self.assertRaisesRegex(RuntimeError, "died"):
                trees.compare_one(options, None, {"stock": "stock", "ra": "ra"}, "tree", None, [])
            with open(options.json, encoding="utf-8") as file:
                kept = json.load(file)
        self.assertEqual(order, ["stock", "ra", "ra", "stock"])
        self.assertEqual([r["server"] for r in kept], ["stock", "ra", "ra"])


if __name__ == "__main__":
    unittest.main()
