#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Power cuts with large files: test_power_cuts.py MECHDISK PLUGIN [--all] [CASE...]

What it proves: what a COMMIT promised is on the disk after a cut also where the files are large,
written in order with COMMITs of ranges behind the writer, scattered over a file that is there, or
over a sparse one, with small files beside them, each committed at once; on ext4 in each of its data
modes, on XFS and btrfs. That write-back and COMMIT went the ways meant, by turns and straight to
fsync, is asserted by the plugin's counters. A promise is noted with the length that
the record of the disk had then (test_writeback.py has small files, and servers killed).

A CASE is FILESYSTEM[:CONFIG]; --all runs each file system with each of server_configs.CONFIGS.
"""
import os
import random
import sys
import time

import control_client
import e2e
import power_cut
import server_configs
import verifying_client

SIZE_MB = 512
CELLS = (64 << 20) // verifying_client.CELL  # of each file
MIB = (1 << 20) // verifying_client.CELL  # in cells
RANGE = 8 * MIB  # of a partial COMMIT
CUTS = 6
SECONDS = 120  # longest time of writing
SLOWLY = 30  # longest time at the disk's own pace, until COMMITs went the ways that are looked at
FILE_SYSTEMS = {"ext4": ("ext4", "data=ordered"), "ext4-writeback": ("ext4", "data=writeback"),
                "ext4-journal": ("ext4", "data=journal"), "xfs": ("xfs", ""),
                "btrfs": ("btrfs", "")}
# btrfs by name or with --all: there stock VFS too loses what COMMIT promised in one run of some
# twenty (1 of 18, RA 3 of 25), so that a failure would say nothing of the plugin.
EVERYDAY = ("ext4:stock", "ext4", "ext4:eager", "ext4:heaps", "ext4:parts", "ext4-writeback",
            "ext4-journal", "xfs")
# Nothing is written out before a COMMIT, which is one of its range only.
PARTS = server_configs.named("idle")._replace(name="parts")
PARTS = PARTS._replace(export={**PARTS.export, "Commit_Part": "true"})
# Where all goes out at once no COMMIT finds enough for a turn (COMMIT_LITTLE): here it does, of a
# heap that is written out, at once, when it has so much.
HEAPS = server_configs.named("eager")._replace(name="heaps", module={})
HEAPS = HEAPS._replace(export={**HEAPS.export, "Writeback_Delay": 30000,
                               "Writeback_Chunk": 2 << 20})
OWN = {config.name: config for config in (PARTS, HEAPS)}


class InOrder(verifying_client.Writer):
    """Writes its file in order; behind it COMMITs of the last range, and now and then of all."""

    def send_new(self):
        file = self.files[0]
        if file.at >= 2 * RANGE and file.at % RANGE == 0 and not self.told:
            self.told = True
            whole = self.random.random() < 0.2
            # of what lies further behind: what was just written stays dirty
            self.send_commit(file, *((0, 0) if whole else (file.at - 2 * RANGE, RANGE)))
            return
        self.told = False
        self.write_new(file, file.at, verifying_client.RUN)
        file.at = (file.at + verifying_client.RUN) % file.cells

    told = False


class Scattered(verifying_client.Writer):
    """Short writes at random places: of a file laid out before (number 2), of a sparse one (3)."""

    def send_new(self):
        file = self.random.choice(self.files)
        if self.random.random() < 0.02:
            self.send_commit(file)
            return
        count = self.random.choice((8, 16, 32))
        # a few places of each MiB only, so that holes stay
        first = self.random.randrange(file.cells // MIB) * MIB + self.random.randrange(8) * 64
        self.write_new(file, first, count)


class Small(verifying_client.Writer):
    """Writes small files, one after the other, and commits each when all of it is answered."""
    CELLS = 2 * verifying_client.RUN
    FILES = range(4, 4 + verifying_client.OUTSTANDING)  # one has always something to send

    def send_new(self):
        for file in self.files:
            if file.at == file.cells and not file.flying:
                file.at = 0
                self.files.remove(file)
                self.files.append(file)
                self.send_commit(file)
                return
        file = next(f for f in self.files if f.at < f.cells)
        self.write_new(file, file.at, verifying_client.RUN)
        file.at += verifying_client.RUN


class Load(verifying_client.Writers):
    """Those three writers, and what was promised when."""

    def __init__(self, server, record):
        super().__init__(server, "/e1", count=0)
        files = [verifying_client.File(n, CELLS) for n in (1, 2, 3)]
        self.in_order = InOrder(server, "/e1", files[:1], 1)
        self.scattered = Scattered(server, "/e1", files[1:], 2)
        small = [verifying_client.File(n, Small.CELLS) for n in Small.FILES]
        self.small = Small(server, "/e1", list(small), 3)
        self.writers, self.files = [self.in_order, self.scattered, self.small], files + small
        self.record, self.taken, self.noted, self.cells = record, [], 0, 0
        for writer in self.writers:
            writer.promised = self.promised

    def promised(self):
        """Not of each: a copy of all levels takes its time."""
        now = time.monotonic()
        if now < self.noted:
            return
        self.noted = now + 0.25
        safe = self.levels("safe")
        self.cells = sum(map(bool, sum(safe.values(), [])))
        self.taken.append((os.path.getsize(self.record), safe, self.levels("sent")))

    def enough(self):
        return self.cells > CELLS // 2 and len(self.taken) >= CUTS and \
            self.in_order.commits >= 3 and self.scattered.commits >= 4

    def some(self):
        taken = sorted(self.taken, key=lambda moment: moment[0])
        chosen = random.Random(3).sample(taken[:-1], min(CUTS - 1, len(taken) - 1))
        return sorted(chosen, key=lambda moment: moment[0]) + taken[-1:]


def lay_out(path, number):
    """Version 0 everywhere, which is what a hole reads as, but with blocks on the disk."""
    with open(f"{path}/c{number}", "wb") as f:
        for _ in range(CELLS // MIB):
            f.write(bytes(1 << 20))
        os.fsync(f.fileno())


def ways_of(config, place):
    """Counters of the ways that COMMITs should go with these settings, and what each tells."""
    wanted = {}
    if config.server == "ra" and config.name != "off" and place.queues:
        if config.name != "eager":
            wanted["commits"] = "COMMITs waited for turns"
        if "Commit_Part" in config.export:
            wanted["part_commits"] = "COMMITs were of a part"
    return wanted


def ways_gone(config, place):
    wanted = ways_of(config, place)
    seen = control_client.stats("writing") if wanted else {}
    return all(seen[counter] > 0 for counter in wanted)


def counters_tell(stats, config, place, what):
    """The ways that COMMIT and write-back should have gone."""
    if config.server != "ra":
        return
    e2e.note(f"{what}: RA_STATS {stats}")
    for counter, way in ways_of(config, place).items():
        e2e.check(stats.get(counter, 0) > 0, f"{what}: {way}", stats)
    if config.name == "off" or not place.queues:
        return
    # A file that is not known has no turns either.
    e2e.check(stats.get("direct_commits", 0) + stats.get("untracked_writes", 0) > 0,
              f"{what}: COMMITs went straight to fsync", stats)
    e2e.check(stats.get("writeback_bytes", 0) >= 4 << 20, f"{what}: write-back had turns", stats)


def cut_and_compare(place, load, fs, what):
    cuts = power_cut.PowerCuts(place.record, SIZE_MB << 20, e2e.temporary("cuts-", place.work), fs)
    wrong, chosen = [], load.some()
    for number, (at, safe, sent) in enumerate(chosen):
        with cuts.mounted(at, keep=0.5 * (number % 2)) as path:
            wrong += load.differences(path, safe, sent)
    cuts.close()
    e2e.check(not wrong, f"{what}: what COMMIT promised is on the disk ({len(chosen)} cuts of "
              f"{len(load.taken)} promises)", "\n".join(wrong[:10]))


def case(mechdisk, plugin, name, config):
    what, (fs, options) = f"{name}, {config.name}", FILE_SYSTEMS[name]
    place = server_configs.Place(mechdisk, plugin, SIZE_MB, fs, record="record", options=options)
    lay_out(place.mount, 2)
    place.disk.timing(True)
    server = place.serve(config)
    place.queues = "demand reads queued" in server.log_text()
    load = Load(server, place.record).start()
    e2e.wait_for(lambda: len(load.taken) >= 2 or load.failed, SECONDS)
    e2e.wait_for(lambda: ways_gone(config, place) or load.failed, SLOWLY)
    place.disk.timing(False)  # some at its pace, the rest need not take so long
    e2e.check(e2e.wait_for(lambda: load.failed or load.enough() and ways_gone(config, place),
                           SECONDS),
              f"{what}: enough was written, in all ways, within {SECONDS} s",
              [load.cells, load.in_order.commits, load.scattered.commits, load.failed])
    e2e.note(f"{what}: {load.cells} cells promised by {len(load.taken)} COMMITs")
    load.finish()
    e2e.check(not load.failed and not load.statuses(), f"{what}: no call failed",
              (load.failed, load.statuses()))
    server_configs.ends_well(server, what)
    counters_tell(server.stats() or {}, config, place, what)
    place.remount()
    wrong = load.differences(place.mount, load.levels("sent"))
    e2e.check(not wrong, f"{what}: every byte is on the disk", "\n".join(wrong[:10]))
    place.close()
    cut_and_compare(place, load, fs, what)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    mechdisk, plugin = sys.argv[1], e2e.plugin_from(sys.argv[2:], "")
    wanted = sys.argv[3:] or EVERYDAY
    if "--all" in wanted:
        wanted = [f"{fs}:{c.name}" for fs in FILE_SYSTEMS for c in server_configs.CONFIGS]
    e2e.enter(("mkfs.xfs", "mkfs.btrfs"))
    for text in wanted:
        name, _, config = text.partition(":")
        began = time.monotonic()
        settings = OWN.get(config) or server_configs.named(config or "ra")
        case(mechdisk, plugin, name, settings)
        e2e.note(f"{text}: {time.monotonic() - began:.1f} s")
    e2e.finish()


if __name__ == "__main__":
    main()
