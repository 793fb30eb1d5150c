# SPDX-License-Identifier: LGPL-3.0-or-later
"""Watching a server's prices: by ractl, as an operator, and out of FSSTAT, as a client.

    watch = Watch(ractl, socket, counter, fsstat); … ; samples = watch.stop()

`counter` returns bytes sent so far; `fsstat` is the command line of an nfsbench that writes the
prices it decodes to a file (--prices FILE). A sample is a dict: time (of time.monotonic()), mb_s,
write and readahead (prices), fsstat_write and fsstat_readahead (the last ones heard, None before),
and by the name of a resource its (utilization, price).
"""
import bisect
import json
import os
import subprocess
import tempfile
import threading
import time

INTERVAL = 0.2  # seconds between two samples
FSSTAT_RATE = 5  # calls a second


class Watch(threading.Thread):
    def __init__(self, ractl, socket, counter, fsstat):
        super().__init__(daemon=True)
        self.command = [ractl, "--socket", socket, "--json", "prices"]
        self.counter = counter
        self.samples = []
        self.failed = None
        self.ending = threading.Event()
        self.prices = tempfile.mkstemp(prefix="ra-prices-")[1]
        self.client = subprocess.Popen([*fsstat, "--work", "fsstat", "--outstanding", "1",
                                        "--rate", str(FSSTAT_RATE), "--count", "1000000",
                                        "--prices", self.prices, "--max-time", "86400",
                                        "--quiet"], stderr=subprocess.DEVNULL)
        self.start()

    def _look(self, before):
        """A sample, None before the server has computed its first prices."""
        answer = json.loads(subprocess.run(self.command, check=True, capture_output=True,
                                           text=True).stdout)
        device = answer["devices"][0] if answer["devices"] else {}
        if "write_price" not in device:
            return None
        sample = {"time": time.monotonic(), "bytes": self.counter(),
                  "write": device["write_price"], "readahead": device["readahead_price"]}
        for r in device["resources"]:
            sample[r["resource"]] = (r["utilization"], r["price"])
        sample["mb_s"] = (sample["bytes"] - before["bytes"]) / 1e6 \
            / (sample["time"] - before["time"]) if before else 0.0
        return sample

    def run(self):
        try:
            while not self.ending.wait(INTERVAL):
                sample = self._look(self.samples[-1] if self.samples else None)
                if sample:
                    self.samples.append(sample)
        except (OSError, ValueError, LookupError, subprocess.CalledProcessError) as error:
            self.failed = f"ractl prices: {error} {getattr(error, 'stderr', '') or ''}".strip()

    def _heard(self):
        """(times, prices) of the FSSTAT answers that carried some."""
        times, prices = [], []
        with open(self.prices, encoding="ascii") as file:
            for line in file:
                fields = line.strip().split(",")
                if len(fields) == 3 and fields[1] != "-":
                    times.append(float(fields[0]))
                    prices.append((float(fields[1]), float(fields[2])))
        return times, prices

    def stop(self):
        """The samples; `failed` says why there are no more of them."""
        self.ending.set()
        self.join()
        self.client.terminate()
        self.client.wait()
        times, prices = self._heard()
        os.unlink(self.prices)
        for sample in self.samples:
            at = bisect.bisect(times, sample["time"])
            sample["fsstat_write"], sample["fsstat_readahead"] = \
                prices[at - 1] if at else (None, None)
        return self.samples
