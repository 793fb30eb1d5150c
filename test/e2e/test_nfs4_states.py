#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NFSv4.1 READs in the disk's queue: test_nfs4_states.py PLUGIN MECHDISK [TEST...]

What it proves: READs that carry an open state are queued, charged to their client, fetched ahead and
answered with the right bytes as those of NFSv3 are. While they wait their file is closed, opened for writing too, its export
is removed, their client cuts the connection and comes back as another instance (so that the server
throws its states away), or the server is told to end: each READ of a client that is still there gets
an answer, right bytes or an error, and the server goes on, or ends cleanly. In a queue that is full for
their client they wait as long as Full_Wait says, and are told to come again then.
"""
import random
import socket
import struct
import sys

import control_client
import e2e
import modelled_disk
import nfs3
import nfs4

FILES, FILE_SIZE, UNIT = 4, 16 << 20, 8192
MANY = 48  # READs in the queue; with what goes on beside them, less than a session's slots


def serve(work, path, plugin, exports=1):
    listed = [{"id": n, "path": path, "pseudo": f"/e{n}", "protocols": "3, 4",
               "params": {"Queue_Depth": 1}} for n in range(1, exports + 1)]
    e2e.drop_caches()
    return e2e.Server("ra", listed, work, plugin, ra="Full_Threads = 128;").start()


def scattered(count, seed):
    return [at * UNIT for at in random.Random(seed).sample(range(FILE_SIZE // UNIT), count)]


class Flight:
    """READs of scattered places, sent and not yet answered."""

    def __init__(self, client, number, fh, stateid, count=MANY):
        self.client, self.number = client, number
        self.before = control_client.stats()["reads"]
        self.at = {client.send(*client.read_operations(fh, stateid, at, UNIT)): at
                   for at in scattered(count, number)}

    def in_the_queue(self):
        """Waits until the server has begun with all of them and most wait for the disk, which is
        stopped: a CLOSE that comes now overtakes none."""
        wanted = self.before + len(self.at)
        here = e2e.wait_for(lambda: control_client.stats()["reads"] >= wanted, 60, 0.01)
        e2e.check(here, "all READs have reached the plugin", control_client.stats())
        queue_is_long()

    def land(self, others=()):
        """Takes all answers; ({status: READs}, places with wrong bytes, answers by xid of others)."""
        statuses, wrong, answers, others = {}, [], {}, set(others)
        while self.at or others:
            xid, status, reply = self.client.receive()
            if xid in others:
                others.remove(xid)
                answers[xid] = status, reply
                continue
            at = self.at.pop(xid)
            statuses[status] = statuses.get(status, 0) + 1
            data = self.client.data(status, reply)
            if status == nfs3.OK and data != e2e.pattern(self.number, at, UNIT):
                wrong.append(at)
        return statuses, wrong, answers


def queue_is_long(reads=MANY // 2):
    done, seen = control_client.wait_for_stats(
        lambda d: d["queued_demand"] >= reads, 60, "device", 0.01)
    e2e.check(done, "so many READs wait in the queue", seen)


def queued(server, *flight):
    """A Flight of which most wait in the queue: until that is seen the disk stands still."""
    server.disk.stop()
    begun = Flight(*flight)
    queue_is_long()
    server.disk.go_on()
    return begun


def opened(client, number, export="e1", access=nfs4.FOR_READ):
    status, fh, stateid = client.open(f"/{export}/f{number}", access)
    e2e.check(status == nfs3.OK, f"OPEN of f{number}", status)
    return fh, stateid


def queued_and_right(server):
    what = "READs with an open state"
    client = nfs4.Client(server)
    before = control_client.stats()
    fh, stateid = opened(client, 0)
    flight = queued(server, client, 0, fh, stateid)
    statuses, wrong, _ = flight.land()
    e2e.check(statuses == {nfs3.OK: MANY} and not wrong, f"{what}: right bytes", (statuses, wrong))
    bad, step = [], 65536
    for at in range(0, FILE_SIZE, step):
        status, reply = client.call(*client.read_operations(fh, stateid, at, step))
        if status != nfs3.OK or client.data(status, reply) != e2e.pattern(0, at, step):
            bad.append((at, status))
    e2e.check(not bad, f"{what}: a stream's bytes are right", bad[:5])
    now = control_client.stats()
    e2e.check(now["demand"] - before["demand"] >= MANY // 2, f"{what}: queued", (before, now))
    e2e.check(now["prefetched_bytes"] - before["prefetched_bytes"] >= FILE_SIZE // 4,
              f"{what}: fetched ahead", (before, now))
    flows = control_client.ask(command="clients")["devices"][0]["flows"]
    mine = [f for f in flows if f["client"] == e2e.HOST and f["export"] == 1]
    e2e.check(len(mine) == 1 and mine[0]["served_demand"] >= MANY // 2
              and mine[0]["served_prefetch"] > 0, f"{what}: charged to their client", flows)
    client.close()


def closed_meanwhile(server):
    what = "CLOSE while READs are queued"
    client = nfs4.Client(server)
    fh, stateid = opened(client, 1)
    server.disk.stop()
    flight = Flight(client, 1, fh, stateid)
    flight.in_the_queue()
    closing = client.send(*client.close_operations(fh, stateid))
    server.disk.go_on()
    statuses, wrong, answers = flight.land([closing])
    e2e.check(answers[closing][0] == nfs3.OK, f"{what}: is done", answers[closing])
    e2e.check(statuses == {nfs3.OK: MANY} and not wrong, f"{what}: they bring right bytes",
              (statuses, wrong))
    opened(client, 1)
    client.close()


def opened_meanwhile(server):
    """The state's descriptor is replaced by one for reading and writing."""
    what = "OPEN for writing while READs are queued"
    client = nfs4.Client(server)
    fh, stateid = opened(client, 2)
    server.disk.stop()
    flight = Flight(client, 2, fh, stateid)
    flight.in_the_queue()
    opening = client.send(*client.open_operations(["e1", "f2"], nfs4.FOR_BOTH))
    server.disk.go_on()
    statuses, wrong, answers = flight.land([opening])
    e2e.check(answers[opening][0] == nfs3.OK, f"{what}: is done", answers[opening])
    e2e.check(statuses == {nfs3.OK: MANY} and not wrong, f"{what}: they bring right bytes",
              (statuses, wrong))
    client.close()


def client_gone(server):
    """The new instance of the client confirms itself, and the states of the old one go."""
    what = "a client gone with READs queued"
    old = nfs4.Client(server, "vanishing", 1)
    fh, stateid = opened(old, 3)
    queued(server, old, 3, fh, stateid)
    old.rpc.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    old.close()
    new = nfs4.Client(server, "vanishing", 2)
    fh, stateid = opened(new, 3)
    statuses, wrong, _ = Flight(new, 3, fh, stateid).land()
    e2e.check(statuses == {nfs3.OK: MANY} and not wrong, f"{what}: back, it reads right bytes",
              (statuses, wrong))
    new.close()


def export_removed(server):
    what = "an export removed with READs queued"
    client, other = nfs4.Client(server, "on-e2"), nfs4.Client(server, "on-e1")
    fh, stateid = opened(other, 0)
    flight = queued(server, client, 1, *opened(client, 1, "e2"))
    server.exports.pop()
    server.reload(40)
    statuses, wrong, _ = flight.land()
    e2e.check(sum(statuses.values()) == MANY and not wrong, f"{what}: each has an answer",
              (statuses, wrong))
    e2e.note(f"{what}: statuses {statuses}")
    statuses, wrong, _ = Flight(other, 0, fh, stateid).land()
    e2e.check(statuses == {nfs3.OK: MANY} and not wrong, f"{what}: another export goes on",
              (statuses, wrong))
    client.close()
    other.close()


def with_params(server, **params):
    for export in server.exports:
        export["params"] = {"Queue_Depth": 1, **params}
    server.reload(40)


def full_queue(server):
    what = "READs with an open state, more than may be queued"
    client = nfs4.Client(server)
    fh, stateid = opened(client, 3)
    with_params(server, Queue_Limit=16, Full_Wait=10000)
    e2e.drop_caches()
    statuses, wrong, _ = Flight(client, 3, fh, stateid).land()
    e2e.check(statuses == {nfs3.OK: MANY} and not wrong, f"{what}: wait for room", (statuses, wrong))
    device = control_client.stats("devices")[0]
    e2e.check(device["full_waits"] > 0, f"{what}: some did", device)
    with_params(server, Queue_Limit=16, Full_Wait=0)
    e2e.drop_caches()
    statuses, wrong, _ = Flight(client, 3, fh, stateid).land()
    e2e.check(set(statuses) == {nfs3.OK, nfs3.JUKEBOX} and sum(statuses.values()) == MANY
              and not wrong, f"{what}, with Full_Wait = 0: DELAY", (statuses, wrong))
    with_params(server)
    client.close()


TESTS = {f.__name__: f for f in (queued_and_right, closed_meanwhile, opened_meanwhile, client_gone,
                                 full_queue, export_removed)}


def end_while_queued(server):
    client = nfs4.Client(server)
    queued(server, client, 2, *opened(client, 2))
    e2e.check(server.stop() == 0, "SIGTERM with READs queued: ends cleanly",
              server.log_text()[-3000:])
    client.close()


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    e2e.enter()
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, sys.argv[2], 512)
    e2e.make_files(disk.mount, FILES, FILE_SIZE)
    disk.timing(True)
    server = serve(work, disk.mount, plugin, 2)
    server.disk = disk
    for name in sys.argv[3:] or TESTS:
        e2e.drop_caches()
        TESTS[name](server)
        e2e.check(server.alive(), f"{name}: the server lives", server.log_text()[-3000:])
    e2e.drop_caches()
    end_while_queued(server)
    e2e.finish()


if __name__ == "__main__":
    main()
