#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A file read in other orders than its own: test_orders.py MECHDISK NFSBENCH PLUGIN

What it proves, on a modelled disk and with the settings as shipped: read backward, by large and by small
requests; a part of each record, aligned and not; by tiles, as of a matrix; and at many places at once by
many clients, a file is fetched ahead of its readers, every byte is right, and what lies between the
parts that are read is left on the disk.

How fast that is, bench/compare shows ("within").
"""
import collections
import json
import subprocess
import sys

import control_client
import e2e
import modelled_disk
import quiet

SIZE = 128 << 20
METADATA = 1 << 20  # bytes that the disk may read of its own
# What is asked for of a file of that size, as nfsbench is told; what part of that must be fetched ahead, and how
# much the disk may read of what was asked for. Orders are recognised by their first reads, which nobody fetched.
ORDERS = {
    "backward, 32 KiB": (["--work", "backward", "--size", SIZE, "--request", "32K"], 0.8, 1.05),
    "backward, 4 KiB": (["--work", "backward", "--size", SIZE // 8, "--request", "4K"], 0.8, 1.3),
    "64 KiB of each MiB": (["--work", "records", "--size", SIZE, "--record", "64K", "--every", "1M",
                            "--request", "32K"], 0.5, 1.3),
    "47,008 bytes of each MiB": (["--work", "records", "--size", SIZE, "--record", 47008,
                                  "--every", "1M", "--request", 47008], 0.5, 1.3),
    "47,008 bytes of each MiB, from the end": (["--work", "records", "--size", SIZE, "--record", 47008, "--from-end",
                                                "--every", "1M", "--request", 47008], 0.5, 1.3),
    "tiles of 8 by 8": (["--work", "tiles", "--tiles", 8, "--every", "1M", "--size", SIZE,
                         "--request", "32K"], 0.5, 1.1),
    "64 clients at 512 places": (["--work", "cursors", "--stride", 512, "--readers", 64, "--size", SIZE,
                                  "--request", "32K"], 0.3, 1.1),
}


# What was seen of one order: whether every byte was right, bytes asked for, fetched ahead, read by the disk; and how
# often the machine took pages away meanwhile, which are then read again.
Seen = collections.namedtuple("Seen", "right asked fetched read evicted")


def once(bench, server, disk, arguments):
    """What is Seen, of a cold file."""
    disk.drop_caches()
    evicted = e2e.evictions()
    before, fetched = disk.stats(), control_client.stats("counters")["prefetched_bytes"]
    command = [bench, "--port", server.port, "--mount-port", server.mport, "--export", disk.mount,
               "--dir", "files", "--outstanding", 4, "--json", f"{disk.workdir}/load.json", "--quiet", *arguments]
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, timeout=200)
    if done.returncode:
        e2e.note(done.stderr)
        return Seen(False, 0, 0, 0, 0)
    with open(f"{disk.workdir}/load.json", encoding="utf-8") as file:
        asked = sum(reader["bytes"] for reader in json.load(file)["readers"])
    right = control_client.settled()
    fetched = control_client.stats("counters")["prefetched_bytes"] - fetched
    return Seen(right, asked, fetched,
                disk.stats()["read_bytes"] - before["read_bytes"], e2e.evictions() - evicted)


def judge(bench, server, disk, name):
    arguments, ahead, most = ORDERS[name]

    def claims(seen):
        e2e.note(f"{name}: {seen.asked} bytes, {seen.fetched} of them fetched ahead, {seen.read} "
                 "read by the disk")
        e2e.check(seen.right, f"{name}: every byte right")
        return [(seen.fetched >= ahead * seen.asked, "it is fetched ahead", seen),
                (seen.read <= most * seen.asked + METADATA, "and no more than is read", seen)]

    def disturbs(seen):
        return "pages were taken away" if seen.evicted else None

    quiet.judge(name, lambda: once(bench, server, disk, arguments), claims, disturbs=disturbs)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.splitlines()[0])
    mechdisk, bench = sys.argv[1:3]
    plugin = e2e.plugin_from(sys.argv[3:], "")
    e2e.enter(needed=(bench,))
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, mechdisk, 512)
    e2e.run("mkdir", f"{disk.mount}/files")
    e2e.run(bench, "--layout", f"{disk.mount}/files", "--files", "1", "--size", str(SIZE), "--quiet")
    disk.timing(True)
    for name in ORDERS:
        server = e2e.Server("ra", [{"id": 1, "path": disk.mount, "pseudo": disk.mount}], work,
                            plugin).start()
        judge(bench, server, disk, name)
        e2e.check(server.stop() == 0, f"{name}: the server ends cleanly",
                  server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
