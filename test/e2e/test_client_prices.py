#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""To each client its own price: test_client_prices.py MECHDISK NFSBENCH PLUGIN RACTL

Clients come from addresses of their own and ask by FSSTAT while a modelled disk is loaded: one that
weighs more is told less, one that has used the disk for longer is told more than one that just
came, one that has used nothing is told the disk's plain price; when the disk is idle all are told
the same. ractl shows what they are told, and why.
"""
import json
import re
import subprocess
import sys
import time

import e2e
import modelled_disk
import nfs3
import quiet
from test_prices import CODEC, load_codec

LIGHT, HEAVY, LATE, STRANGER = (f"127.0.0.{n}" for n in (11, 12, 13, 14))
INTERVAL = 500  # ms
MEMORY = 5  # s
LEAST = 4  # moments at which all are asked
LOAD = "work=random,outstanding=8,request=8K,size=128M"


class Askers:
    """Each address asks for the price of read-ahead by itself: no memory is in it."""

    def __init__(self, server, export, ractl):
        self.ractl = ractl
        self.clients = {a: nfs3.Client(server, export, source=a)
                        for a in (LIGHT, HEAVY, LATE, STRANGER)}

    def told(self, address):
        status, counts = self.clients[address].fsstat()
        found = CODEC["decode"](counts["tfiles"], counts["afiles"]) if status == nfs3.OK else None
        return found[1] if found else -1

    def shown(self):
        """The device of `ractl prices`, with its clients by their address."""
        device = json.loads(e2e.run(self.ractl, "--json", "prices"))["devices"][0]
        device["clients"] = {c["client"]: c for c in device.get("clients", ())}
        return device

    def once(self):
        """What all are told at one moment, and what ractl shows for that; None where a new price
        came between."""
        before = self.shown()
        told = {a: self.told(a) for a in self.clients}
        after = self.shown()
        one = before["age_ms"] <= after["age_ms"] < before["age_ms"] + INTERVAL
        # those of the clients come a moment before the device's
        same = all(before["clients"].get(a, {}).get("readahead_price") == c["readahead_price"]
                   for a, c in after["clients"].items())
        return (told, after) if one and same else None

    def over(self, seconds):
        """once(), as often as it can be in this time; on a slow machine for longer, for LEAST."""
        found, begun = [], time.monotonic()
        while time.monotonic() < begun + seconds or (
                len(found) < LEAST and time.monotonic() < begun + 30):
            found += filter(None, [self.once()])
            time.sleep(0.05)
        return found


def mean(samples, address):
    return sum(told[address] for told, _ in samples) / max(len(samples), 1)


def near(told, shown):
    """Within what 8 bits can tell."""
    return abs(told - shown) <= 0.0176 * shown + 0.00016


class Load:
    """Random reads from some addresses, for so many seconds, in the background."""

    def __init__(self, nfsbench, server, mount, addresses, seconds, first=0):
        e2e.drop_caches()
        command = [nfsbench, "--port", str(server.port), "--mount-port", str(server.mport),
                   "--export", mount, "--dir", "files", "--work", "clients", "--duration",
                   str(seconds), "--quiet"]
        for n, address in enumerate(addresses, first):
            command += ["--client", f"c{n},from={address},first={n},{LOAD}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        e2e.at_exit(lambda: e2e.end_process(self.process))

    def ended(self, what):
        output, _ = self.process.communicate(timeout=120)
        e2e.check(self.process.returncode == 0, f"{what}: all READs are answered", output)


def idle_processor(work):
    """What else this machine computes makes no price."""
    with open(f"{work}/stat", "w", encoding="ascii") as file:
        file.write("cpu  100 0 0 1000 0 0 0 0\n")
    e2e.run("mount", "--bind", f"{work}/stat", "/proc/stat")
    e2e.at_exit(lambda: e2e.run("umount", "/proc/stat"))


def as_ractl_shows(samples, what):
    """Who is not in the table is told the device's price."""
    def right(told, device):
        rows = device["clients"]
        return all(near(told[a], rows.get(a, device)["readahead_price"]) for a in told)

    e2e.check(len(samples) >= LEAST, f"{what}: there was time to ask", len(samples))
    wrong = [sample for sample in samples if not right(*sample)]
    e2e.check(not wrong, f"{what}: FSSTAT tells each client what ractl shows", wrong[:1])


def all_the_same(askers, what):
    e2e.check(e2e.wait_for(lambda: len({askers.told(a) for a in askers.clients}) == 1, 30),
              f"{what}: all are told the same", askers.shown())


def by_weight(bench, askers, what):
    load = Load(*bench, (LIGHT, HEAVY), 10)
    time.sleep(3)
    samples = askers.over(5)
    rows = askers.shown()["clients"]
    text = e2e.run(askers.ractl, "prices")
    load.ended(what)
    if not e2e.check({LIGHT, HEAVY} <= set(rows) and rows[HEAVY]["weight"] == 400
                     and rows[LIGHT]["weight"] == 100, f"{what}: ractl shows both", rows):
        return None
    e2e.check(re.search(rf"{HEAVY} +- +400 ", text), f"{what}: ractl prices, for people", text)
    as_ractl_shows(samples, what)
    return samples, rows


def told_by_weight(seen):
    samples, rows = seen
    light, heavy, stranger = (mean(samples, a) for a in (LIGHT, HEAVY, STRANGER))
    e2e.note(f"told {light:.3f} and {heavy:.3f}, a stranger {stranger:.3f}")
    return [(rows[HEAVY]["ratio"] < rows[LIGHT]["ratio"], "ractl shows how they stand", rows),
            (light > 1.2 * heavy and heavy > 0.01, "the heavier is told less, and not nothing",
             (light, heavy, rows))]


def by_use(bench, askers, what):
    time.sleep(3 * MEMORY)  # what was used before is nearly forgotten
    first = Load(*bench, (LIGHT,), 12)
    time.sleep(6)
    alone = askers.over(2)
    late = Load(*bench, (LATE,), 4, first=2)
    time.sleep(1.5)
    both = askers.over(2)
    late.ended("the late one")
    first.ended("the first")
    as_ractl_shows(both, what)
    return alone, both


def told_by_use(seen):
    alone, both = seen
    alone, plain = mean(alone, LIGHT), mean(alone, STRANGER)
    long, short = mean(both, LIGHT), mean(both, LATE)
    e2e.note(f"told {long:.3f} and {short:.3f}")
    return [(abs(alone - plain) < 0.1 * plain, "one alone: it is told the disk's price, or nearly",
             (alone, plain)),
            (long > 1.1 * short, "who has used the disk for longer is told more", both[:1])]


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__.splitlines()[0])
    mechdisk, nfsbench, plugin, ractl = sys.argv[1:5]
    plugin = e2e.plugin_from([plugin], "")
    load_codec()
    e2e.enter(needed=(nfsbench,))
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, mechdisk, 1536)
    e2e.run("mkdir", f"{disk.mount}/files")
    e2e.run(nfsbench, "--layout", f"{disk.mount}/files", "--files", "3", "--size", "128M",
            "--quiet")
    disk.timing(True)
    idle_processor(work)
    server = e2e.Server("ra", [{"id": 1, "path": disk.mount, "pseudo": disk.mount}], work, plugin,
                        ra=f"Price_Interval = {INTERVAL}; Price_Memory = {MEMORY}; "
                        f"CLIENT {{ Clients = {HEAVY}; Weight = 400; }}").start()
    bench = nfsbench, server, disk.mount
    askers = Askers(server, disk.mount, ractl)

    def judge(what, measure, claims):
        quiet.judge(what, lambda: measure(bench, askers, what), claims)

    all_the_same(askers, "at the start")
    judge("weights 1 and 4", by_weight, told_by_weight)
    all_the_same(askers, "when all is done")
    judge("one since 10 s, one since 3", by_use, told_by_use)
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
