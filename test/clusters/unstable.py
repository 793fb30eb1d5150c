# SPDX-License-Identifier: LGPL-3.0-or-later
"""Writers who never COMMIT: what a part of test_cluster.py does."""
import os
import random
import threading
import time

import control_client
import e2e
import gateway
import priced
import quiet
from shared import HEAVY, LIGHT, Reader, mean
from told import fsstat_price

WRITERS, EACH, WRITE = 8, 16 << 20, 1 << 18
ASKING = "127.0.0.4"  # a client that only asks for prices
MOST = 16 << 20  # Unstable_Max; 2 MiB for each file
SECONDS = 3  # of the reader alone
SLOW_S = 0.4  # beside writers without a bound: 0.7 to 1.8 s
FULL = 0.4  # of what may be not stable, at least, by the price of memory: a mean of half a second
CODED = 0.02  # of a price: what 8 bits cannot tell


class Writer(threading.Thread):
    """Writes a file of its own, UNSTABLE, and COMMITs nothing."""

    def __init__(self, server, name):
        super().__init__(daemon=True)
        self.client = gateway.client(server, source=HEAVY, timeout=120)
        self.status, self.fh = self.client.create(name)
        self.data = os.urandom(WRITE)
        self.start()

    def run(self):
        for at in range(0, EACH, WRITE):
            self.status = self.status or self.client.write(self.fh, at, self.data)


class Prices:
    """What is said of memory, and what a client that has used nothing is told a write costs: now and
    then looked at."""

    def __init__(self, server):
        self.client = gateway.client(server, source=ASKING)
        self.memory, self.told = [], []

    def look(self):
        memory = priced.resource("memory")
        _, counts = self.client.fsstat()
        found = fsstat_price.decode(counts["tfiles"], counts["afiles"])
        if memory and found and memory == priced.resource("memory"):
            self.memory.append(memory)
            self.told.append((memory["price"], found[0]))

    def fullest(self):
        return max((m["utilization"] for m in self.memory), default=0)

    def too_low(self):
        """Prices that are less than that of memory: (memory, told)."""
        return [(memory, told) for memory, told in self.told if told < memory * (1 - CODED) - 1e-3]


def beside_writers(bed, path):
    """(the reader's READs alone, beside the writers; the most that was not stable, now and then
    looked at; the prices before the writers, and beside them)"""
    bed.cluster.drop_caches()
    server = bed.gateway()
    parts = random.Random(6).sample(range(priced.SIZE // priced.READ), priced.SIZE // priced.READ)
    light = Reader(server, os.path.basename(path), LIGHT, parts)
    time.sleep(SECONDS)
    alone = len(light.took)
    before, prices = Prices(server), Prices(server)
    before.look()
    writers = [Writer(server, f"greedy{n}") for n in range(WRITERS)]
    most = 0
    while any(w.is_alive() for w in writers):
        most = max(most, control_client.stats("writing")["unstable_bytes"])
        prices.look()
        time.sleep(0.02)
    took = light.took[:]
    light.stop()
    wrong = [w.status for w in writers if w.status]
    e2e.check(not wrong and not light.broken, "unstable: all was written and read",
              f"{wrong} {light.broken}")
    same = all(w.client.read(w.fh, EACH - WRITE, WRITE) == (0, w.data) for w in writers)
    e2e.check(same, "unstable: ... and is read again")
    for writer in writers:
        writer.client.close()
    beside = sorted(took[alone:])
    e2e.note(f"unstable: a reader's READs take {mean(took[:alone]) * 1e3:.1f} ms alone, beside "
             f"{WRITERS} writers {mean(beside) * 1e3:.1f} ms, at most {beside[-1] * 1e3:.0f}; "
             f"{most >> 10} KiB were not stable at most; of memory {before.fullest():.3f} was in use "
             f"alone, beside them {prices.fullest():.3f} at most")
    for asked in before, prices:
        asked.client.close()
    gateway.ends_well(server, "unstable")
    return took[:alone], beside, most, prices


def unstable(bed):
    """What was written and is not stable stays within Unstable_Max though nobody COMMITs, and a
    reader is served; and what there is of it is in the price of writes."""
    path = priced.lay_out(bed.cluster)
    quiet.judge("unstable", lambda: beside_writers(bed, path), lambda seen: [
        (0 < seen[2] <= MOST, "no more than Unstable_Max is not stable", seen[2]),
        (seen[1][-1] < SLOW_S, "no READ waits for long", seen[1][-3:]),
        (seen[3].fullest() > FULL, "it makes memory dear", seen[3].memory[-3:]),
        (seen[3].told and not seen[3].too_low(), "... and clients are told", seen[3].too_low()[:3])],
        tries=2)
