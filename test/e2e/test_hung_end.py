#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Exports that go while their disk hangs: test_hung_end.py MECHDISK PLUGIN

What it proves: with a READ that hangs below each of several exports of one disk, SIGHUP removes them within
one Drain_Timeout and a moment for each, not within two for each; and when the disk goes on the server ends
cleanly. SIGTERM goes the same way through the plugin, but the server first waits for threads of its own that
hang, as the one does that was first at the disk.
"""
import os
import sys
import time

import control_client
import e2e
import nfs3
import server_configs

EXPORTS, SIZE = 6, 4 << 20
DRAIN = 2.0  # seconds


def directories(mount):
    for number in range(EXPORTS):
        os.makedirs(f"{mount}/d{number}", exist_ok=True)
        e2e.make_files(f"{mount}/d{number}", 1, SIZE)


def listed(mount, numbers):
    return [{"id": n + 1, "path": f"{mount}/d{n}", "pseudo": f"/d{n}"} for n in numbers]


def hang(place, server, numbers):
    """The clients of the exports, a READ of each of which hangs."""
    clients = []
    for number in numbers:
        client = nfs3.Client(server, f"/d{number}", timeout=60)
        _, fh = client.lookup("f0")
        e2e.check(client.read(fh, 0, 4096)[1] == e2e.pattern(0, 0, 4096), f"/d{number} is read")
        clients.append((client, fh))
    place.disk.stop()
    for client, fh in clients:
        client.nfs.send(nfs3.READ, client.read_body(fh, SIZE // 2, 65536))
    waits = control_client.wait_for_stats(
        lambda d: d["running"] + d["queued_demand"] >= len(clients), 30, "device")
    e2e.check(waits[0], "each export has a READ that hangs", waits[1])
    return clients


def took(done, began, most, what):
    e2e.wait_for(done, 60, 0.02)
    seconds = time.monotonic() - began
    e2e.note(f"{what}: {seconds:.1f} s")
    e2e.check(seconds < most, f"{what}: within {most} s", f"{seconds:.1f} s")


def serve(place, numbers):
    server = e2e.Server("ra", listed(place.mount, numbers), place.work, place.plugin,
                        ra=f"Drain_Timeout = {int(DRAIN * 1000)};").start()
    place.servers.append(server)
    e2e.drop_caches()
    return server


def removed(place):
    """SIGHUP, with a file that has one export of them left."""
    server = serve(place, range(EXPORTS))
    clients = hang(place, server, range(1, EXPORTS))
    server.exports = listed(place.mount, [0])
    before = server.log_text().count("Reread exports complete")
    server.write_config()
    began = time.monotonic()
    server.sighup()
    try:
        took(lambda: server.log_text().count("Reread exports complete") > before, began, 3 * DRAIN,
             f"SIGHUP: {EXPORTS - 1} exports go")
    finally:
        place.disk.go_on()
    for client, _ in clients:
        client.close()
    server_configs.ends_well(server, "after SIGHUP")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter()
    place = server_configs.Place(sys.argv[1], plugin, 128)
    directories(place.mount)
    removed(place)
    place.close()
    e2e.finish()


if __name__ == "__main__":
    main()
