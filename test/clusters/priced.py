# SPDX-License-Identifier: LGPL-3.0-or-later
"""The price of a cluster's storage, as its gateway shows it, while one reader has the storage and
while other clients of the cluster's own use it up.

    path = priced.lay_out(cluster)
    seen = priced.course(gateway, cluster.another_client(), path)      # a Course

The tests judge it (others.py), and bench/papers makes figures of it.
"""
import dataclasses
import os
import random
import threading
import time

import control_client
import e2e
import gateway

SIZE, READ = 96 << 20, 32768
FOLLOWS_S = 3  # within so many the price has followed
WAITED_S = 4 * FOLLOWS_S  # at most, for that
IDLE, BUSY = 0.05, 0.3
OTHERS = 12
CALM_S = 4  # of one reader alone, until what is calm is learnt; then so many are looked at
BUSY_S = 3  # that are looked at once it is dear


def resource(name):
    """What the gateway says of one of the cluster's; {}: nothing."""
    answer = control_client.ask(command="prices") or {}
    for device in answer.get("devices", ()):
        for told in device.get("resources", ()):
            if told["resource"] == name:
                return told
    return {}


def price():
    """That of the cluster's storage, on the gateway."""
    return resource("disk").get("price")


def lay_out(cluster):
    """One file whose parts no cache has."""
    native, path = cluster.native, f"{cluster.path.rstrip('/')}/priced"
    file = native.open(path, create=True)
    for at in range(0, SIZE, 4 << 20):
        native.write(file, at, b"p" * (4 << 20))
    native.settle(file)
    native.shut(file)
    return path


class Scattered(threading.Thread):
    """Reads of a file's parts in no order, none twice, until stop() or the end."""

    def __init__(self, read, parts):
        super().__init__(daemon=True)
        self.read, self.parts, self.stopping = read, parts, threading.Event()
        self.reads, self.broken = 0, ""

    def run(self):
        try:
            for part in self.parts:
                if self.stopping.is_set():
                    return
                self.read(part * READ, READ)
                self.reads += 1
        except OSError as error:
            self.broken = str(error)

    def stop(self):
        self.stopping.set()
        self.join(60)


@dataclasses.dataclass
class Course:
    """Prices with one reader, and once they were dear; seconds until they rose above BUSY and fell
    below IDLE, None: not within WAITED_S. How many READs there were, and why readers ended."""
    idle: list
    rose: float
    busy: list
    fell: float
    reads: int = 0
    others_reads: int = 0
    broken: str = ""

    def in_words(self):
        return (f"one reader alone {sorted(self.idle)}, saturated above {BUSY} after {self.rose} s "
                f"and then {self.busy}, afterwards below {IDLE} after {self.fell} s; READs "
                f"{self.reads}, {self.others_reads} of others {self.broken}")


def follows(condition):
    """Seconds until it holds, or None."""
    began = time.monotonic()
    done = e2e.wait_for(lambda: condition(price() or 0), WAITED_S, step=0.1)
    return time.monotonic() - began if done else None


def looked_at(seconds):
    """The prices in the seconds to come."""
    found = []
    e2e.wait_for(lambda: found.append(price() or 0), seconds, step=0.25)
    return found


def course(server, other, path):
    """What the price does while one reader has the storage, and OTHERS of another client's use it
    up."""
    client = gateway.client(server)
    _, fh = client.lookup(os.path.basename(path))
    parts = random.Random(3).sample(range(SIZE // READ), SIZE // READ)
    light = Scattered(lambda at, n: client.read(fh, at, n), parts[::2])
    light.start()
    time.sleep(CALM_S)
    idle = looked_at(CALM_S)
    file, rest = other.open(path), parts[1::2]
    heavy = [Scattered(lambda at, n: other.read(file, at, n), rest[n::OTHERS])
             for n in range(OTHERS)]
    for reader in heavy:
        reader.start()
    rose = follows(lambda p: p > BUSY)
    busy = looked_at(BUSY_S)
    for reader in heavy:
        reader.stop()
    fell = follows(lambda p: p < IDLE)
    light.stop()
    other.shut(file)
    client.close()
    return Course(idle, rose, busy, fell, light.reads, sum(r.reads for r in heavy), light.broken)
