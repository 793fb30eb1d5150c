#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A disk that stops answering: test_stalled_disk.py MECHDISK PLUGIN [SECONDS]

What it proves: while the disk below one export hangs for SECONDS (5), in the middle of READs,
write-back and COMMITs, clients of another export on another disk get all their answers, new clients
can mount, ractl answers; afterwards every waiting call is answered, the bytes are right, nothing
crashed and nothing is left queued. A COMMIT may be told to come again, for the turn beside it hangs,
and its data is safe in the end all the same. The modelled disk hangs because its process is stopped.
"""
import sys
import threading
import time

import control_client
import e2e
import nfs3
import quiet
import server_configs
import verifying_client

SIZE_MB = 512
FILES, FILE_SIZE = 8, 16 << 20
PATIENT = 2.0  # seconds that an answer of the other disk may take


class Clock(threading.Thread):
    """A client of the other export: reads, writes, COMMITs and looks up, and notes how long."""

    def __init__(self, server, export):
        super().__init__(daemon=True)
        self.server, self.export, self.stopping = server, export, threading.Event()
        self.longest, self.calls, self.failed = 0.0, 0, []
        self.start()

    def timed(self, call, *arguments):
        began = time.monotonic()
        answer = call(*arguments)
        self.longest = max(self.longest, time.monotonic() - began)
        self.calls += 1
        return answer

    def run(self):
        try:
            client = nfs3.Client(self.server, self.export)
            _, out = client.create("clock")
            while not self.stopping.wait(0.01):
                self.round(client, out)
            client.close()
        except Exception as error:  # whatever it is, the test must not pass
            self.failed.append(repr(error))

    def round(self, client, out):
        number = self.calls % 2
        at = self.calls % 64 * 65536
        status, fh = self.timed(client.lookup, f"f{number}")
        got = self.timed(client.read, fh, at, 65536)
        wrote = self.timed(client.write, out, at, e2e.pattern(9, at, 65536))
        done = self.timed(client.commit, out).status
        if (status, got[0], wrote, done) != (0, 0, 0, 0) or got[1] != e2e.pattern(number, at, 65536):
            self.failed.append((at, status, got[0], wrote, done))


def others_go_on(server, clock, seconds):
    """While the disk is stopped: how often new clients and ractl were answered, and how many calls the
    other disk's client had."""
    end = time.monotonic() + seconds
    rounds, before = 0, clock.calls
    while time.monotonic() < end:
        fresh = nfs3.Client(server, "/e2")
        status, fh = fresh.lookup("f0")
        right = status == nfs3.OK and fresh.read(fh, 0, 4096)[1] == e2e.pattern(0, 0, 4096)
        fresh.close()
        if not right or control_client.ask(command="devices") is None:
            e2e.check(False, "stopped: new clients and ractl are answered", status)
            break
        rounds += 1
        time.sleep(0.1)  # a pace, nothing is awaited
    return rounds, clock.calls - before


def stall(place, server, load, clock, seconds):
    """(rounds, calls, longest) of those that do not need the disk while it is stopped."""
    readers, writers = load
    clock.longest = 0.0
    place.disk.stop()
    try:
        rounds, calls = others_go_on(server, clock, seconds)
    finally:
        place.disk.go_on()
    e2e.note(f"stopped for {seconds} s: {clock.calls} calls of the other disk's client, the longest "
             f"{clock.longest * 1000:.0f} ms")
    e2e.check(rounds and calls, "stopped: those of the other disk are served", (rounds, calls))
    seen = rounds, calls, clock.longest
    reads, commits = readers.reads, sum(w.commits for w in writers.writers)
    e2e.check(e2e.wait_for(lambda: readers.reads > reads + 200 and
                           sum(w.commits for w in writers.writers) > commits + 3, 120),
              "it goes on: so do its clients", (readers.reads - reads, readers.broken))
    return seen


def go_on_as_ever(seen):
    rounds, calls, longest = seen
    return [(rounds > 1, "new clients and ractl are answered", rounds),
            (calls > 20, "the other disk's clients go on", calls),
            (longest < PATIENT, f"none of them took {PATIENT} s", longest)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    seconds = float(sys.argv[3]) if sys.argv[3:] else 5
    e2e.enter()
    place = server_configs.Place(sys.argv[1], plugin, SIZE_MB)
    other = e2e.loop_export(place.work, 128 << 20, "other")
    e2e.make_files(place.mount, FILES, FILE_SIZE)
    e2e.make_files(other, 2, 4 << 20)
    e2e.drop_caches()
    listed = [{"id": 1, "path": place.mount, "pseudo": "/e1"},
              {"id": 2, "path": other, "pseudo": "/e2"}]
    server = server_configs.server(server_configs.named("ra"), listed, place.work, plugin).start()
    place.servers.append(server)
    place.disk.timing(True)
    readers = e2e.Readers(server, "/e1", FILES, FILE_SIZE)
    writers = verifying_client.Writers(server, "/e1", cells=4096, may_delay=True).start()
    clock = Clock(server, "/e2")
    for number in range(2):
        moving = e2e.wait_for(lambda: readers.reads > 100 and
                              all(w.commits for w in writers.writers), 120)
        e2e.check(moving, f"before stop {number + 1}: clients get on", readers.reads)
        quiet.judge("stopped", lambda: stall(place, server, (readers, writers), clock, seconds),
                    go_on_as_ever)
    for one in (clock, readers):
        one.stopping.set()
    writers.finish()
    readers.stop()
    clock.join(60)
    e2e.check(not clock.failed, "the other disk: every answer was right", clock.failed[:3])
    e2e.check(not readers.wrong and not readers.errors() and not readers.broken,
              "every READ was right", (readers.wrong[:3], readers.errors(), readers.broken))
    e2e.note(f"COMMITs told to come again: {sum(w.delayed for w in writers.writers)}")
    e2e.check(not writers.failed and not writers.statuses(), "every WRITE and COMMIT was right",
              (writers.failed, writers.statuses()))
    wait = control_client.wait_for_stats(lambda d: not d["running"] + d["queued_demand"], 60,
                                         "device")
    e2e.check(wait[0], "nothing is left queued", wait[1])
    server_configs.ends_well(server, "after a disk that stopped")
    place.remount()
    wrong = writers.differences(place.mount, writers.levels("sent"))
    e2e.check(not wrong, "every byte is on the disk", "\n".join(wrong[:10]))
    place.close()
    e2e.finish()


if __name__ == "__main__":
    main()
