# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a server uses over time: memory (MiB), descriptors, threads; a thread of its own looks.

    usage = Usage(pid)
    ...
    usage.growth()      # the most of each, beyond the first look
"""
import collections
import os
import threading
import time

Look = collections.namedtuple("Look", "memory descriptors threads")


class Usage:
    def __init__(self, pid, interval=0.1):
        self.pid, self.interval = pid, interval
        self.first = self.most = self.now()
        self.looks = [(time.monotonic(), self.first)]
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def now(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            told = dict(line.split(":", 1) for line in f if ":" in line)
        return Look(int(told["VmRSS"].split()[0]) >> 10, len(os.listdir(f"/proc/{self.pid}/fd")),
                    int(told["Threads"]))

    def _look(self):
        while not self.stopping.wait(self.interval):
            try:
                seen = self.now()
            except (OSError, KeyError):  # it has ended
                return
            self.most = Look(*map(max, self.most, seen))
            self.looks.append((time.monotonic(), seen))

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def growth(self):
        self.stop()
        return Look(*(most - first for most, first in zip(self.most, self.first)))

    def typical(self, begin, end):
        """The middle of what was seen in a part of the time, as shares of it (0 to 1)."""
        part = self.looks[int(len(self.looks) * begin):max(int(len(self.looks) * end), 1)]
        part = part or self.looks[-1:]
        return Look(*(sorted(values)[len(values) // 2] for values in
                      zip(*(look for _, look in part))))
