# SPDX-License-Identifier: LGPL-3.0-or-later
"""The cluster's time among clients: what a part of test_cluster.py does."""
import os
import random
import threading
import time

import control_client
import e2e
import gateway
import priced
import quiet

MANY, LIGHT, HEAVY = 24, "127.0.0.2", "127.0.0.3"
SECONDS = 6  # of each measurement


class Reader(threading.Thread):
    """A client at `source` that reads the file's parts one after the other until stop()."""

    def __init__(self, server, name, source, parts):
        super().__init__(daemon=True)
        self.client = gateway.client(server, source=source)
        _, self.fh = self.client.lookup(name)
        self.parts, self.stopping = parts, threading.Event()
        self.took, self.broken = [], ""
        self.start()

    def run(self):
        try:
            for part in self.parts:
                if self.stopping.is_set():
                    return
                began = time.monotonic()
                status, data = self.client.read(self.fh, part * priced.READ, priced.READ)
                if status or data != b"p" * priced.READ:
                    self.broken = f"status {status}, {len(data)} bytes"
                    return
                self.took.append(time.monotonic() - began)
        except OSError as error:
            self.broken = str(error)

    def stop(self):
        self.stopping.set()
        self.join(60)
        self.client.close()


def mean(times):
    return sum(times) / max(1, len(times))


def flows():
    """What the gateway has counted, by client."""
    told = control_client.ask(command="clients") or {}
    return {f["client"]: f for d in told.get("devices", ()) for f in d["flows"]}


def with_and_without(bed, path):
    """(mean ms of the light client alone; beside the heavy one; READs of both; what was counted)"""
    bed.cluster.drop_caches()
    server, name = bed.gateway(), os.path.basename(path)
    parts = random.Random(5).sample(range(priced.SIZE // priced.READ), priced.SIZE // priced.READ)
    light = Reader(server, name, LIGHT, parts[::2])
    time.sleep(SECONDS / 2)
    alone = len(light.took)
    rest = parts[1::2]
    heavy = [Reader(server, name, HEAVY, rest[n::MANY]) for n in range(MANY)]
    time.sleep(SECONDS / 4)  # a burst at first: until they are told apart
    both = len(light.took)
    time.sleep(SECONDS)
    counted = flows()
    others = sum(len(r.took) for r in heavy)
    for reader in heavy + [light]:
        reader.stop()
    broken = [r.broken for r in heavy + [light] if r.broken]
    e2e.check(not broken, "shares: every READ was right", broken[:3])
    seen = (mean(light.took[:alone]) * 1e3, mean(light.took[both:]) * 1e3, len(light.took), others,
            counted)
    e2e.note(f"shares: the light client's READs take {seen[0]:.1f} ms alone, {seen[1]:.1f} ms "
             f"beside {MANY} at a time of the other; READs {seen[2]} and {others}")
    gateway.ends_well(server, "shares")
    return seen


def counted_claims(seen):
    *_, light, heavy, flows_of = seen
    served = {who: flows_of.get(who, {}).get("served_demand", 0) for who in (LIGHT, HEAVY)}
    return [(served[LIGHT] > 0 and served[HEAVY] > heavy / 2, "READs are counted for who asked",
             f"{served} of {light} and {heavy}")]


def share_claims(seen):
    alone, beside, *_ = seen
    return counted_claims(seen) + [
        (beside < 5 * alone, f"{MANY} READs of another do not stand before each", (alone, beside))]


def shares(bed):
    """READs that go straight to the cluster are counted for who asked, and one client's many do not
    keep another's few from it."""
    path = priced.lay_out(bed.cluster)
    quiet.judge("shares", lambda: with_and_without(bed, path),
                share_claims if bed.disk else counted_claims, tries=2)
