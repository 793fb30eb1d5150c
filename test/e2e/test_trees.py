#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Walks over trees of small files: test_trees.py PLUGIN

Directories are walked in several orders: every byte is right, and most files are there before they
are asked for. What happens to files that were fetched ahead (written, removed, renamed) is seen at
once. A server, and an export, end in the middle of walks; opens by chance fetch next to nothing.
"""
import os
import random
import struct
import sys
import threading

import control_client
import e2e
import nfs3
import quiet

DIRS, FILES, WIDE = 12, 20, 300
REQUEST = 32 << 10
LISTED, READDIR = 600, 16  # files with long names, that make a directory large; the procedure


def content(directory, number, version=0):
    """Of a few hundred bytes to some 40 KiB."""
    size = 300 + (directory * 7919 + number * 104729) % 40000
    return (f"{directory}/{number}/{version} ".encode() * (size // 4))[:size]


def names(directory):
    return [f"f{n:04d}" for n in range(WIDE if directory == DIRS else FILES)]


def make_tree(top):
    for directory in range(DIRS + 1):
        os.makedirs(f"{top}/tree/d{directory:02d}")
        for number, name in enumerate(names(directory)):
            with open(f"{top}/tree/d{directory:02d}/{name}", "wb") as file:
                file.write(content(directory, number))
    for directory in ("many0", "many1"):
        os.makedirs(f"{top}/{directory}")
        for number in range(LISTED):
            os.mknod(f"{top}/{directory}/{number:0200d}")
    os.mkfifo(f"{top}/tree/d00/pipe")
    os.symlink("f0000", f"{top}/tree/d00/link")


def start(work, path, plugin):
    # where others have the processors these are dear, and less is fetched
    params = {"Queue_Depth": 1, "Price_Readahead": "false"}
    server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1", "params": params}],
                        work, plugin).start()
    e2e.drop_caches()
    return server


def find(client, *path):
    fh = client.root
    for name in path:
        fh = client.lookup(name, fh)[1]
    return fh


def read_file(client, directory, name):
    """All of it; None where a call failed."""
    status, fh = client.lookup(name, directory)
    data = b""
    while status == nfs3.OK:
        status, part = client.read(fh, len(data), REQUEST)
        data += part
        if len(part) < REQUEST:
            return data if status == nfs3.OK else None
    return None


def walk(client, directory, order, top="tree"):
    """Whether all was right."""
    fh = find(client, top, f"d{directory:02d}")
    return all(read_file(client, fh, f"f{n:04d}") == content(directory, n) for n in order)


def counted(before):
    after = control_client.stats("counters")
    return {name: after[name] - before[name] for name in after}


def all_is_accounted():
    """Of one look: a sweep between two would have moved some."""
    def add_up(seen):
        counters = seen["counters"]
        return counters["planned_bytes"] == (counters["used_bytes"] + counters["wasted_bytes"] +
                                             counters["unfetched_bytes"] +
                                             seen["engine"]["unread_bytes"])

    right, seen = control_client.wait_for_stats(add_up, 60, None)
    e2e.check(right, "what was planned is used, wasted, unread or not fetched", seen)


def walks(server):
    """What a new server counted of a walk over directories in turn, and of one over a wide one."""
    client, before = nfs3.Client(server, "/e1"), control_client.stats("counters")
    right = all(walk(client, d, range(FILES)) for d in range(DIRS))
    in_turn = counted(before)
    e2e.check(right, "directories in turn: every byte right")
    order, before = list(range(WIDE)), control_client.stats("counters")
    random.Random(1).shuffle(order)
    e2e.check(walk(client, DIRS, order), "a wide one in no order: every byte right")
    wide = counted(before)
    control_client.settled()
    all_is_accounted()
    client.close()
    return in_turn, wide


def fetched_before(seen):
    in_turn, wide = seen
    return [(in_turn["used_bytes"] > 0 and in_turn["demand"] < DIRS * FILES / 2,
             "most files were there before they were asked for", in_turn),
            (wide["demand"] < WIDE * 0.75, "half of it was fetched for the other half", wide)]


def make_by_client(client, top):
    """The tree, but for the wide directory, by NFS."""
    made = [client.mkdir(top)]
    for directory in range(DIRS):
        made.append(client.mkdir(f"d{directory:02d}", made[0][1]))
        below = made[-1][1]
        for number, name in enumerate(names(directory)):
            made.append(client.create(name, below))
            client.write(made[-1][1], 0, content(directory, number))
            client.commit(made[-1][1])
    e2e.check(not any(status for status, _ in made), f"{top} is made")


def known_before(server):
    """What is counted of a walk over files that the server itself made, and over the same when a new server knew
    them first by their handles: it has them in its cache, whose names it never asked for, or only later."""
    top, client = f"made{server.port}", nfs3.Client(server, "/e1")
    make_by_client(client, top)
    fhs = [client.lookup(name, find(client, top, f"d{d:02d}"))[1]
           for d in range(DIRS) for name in names(d)]
    found = []
    for what in ("made here", "known by handle"):
        e2e.drop_caches()
        before = control_client.stats("counters")
        e2e.check(all(walk(client, d, range(FILES), top) for d in range(DIRS)),
                  f"files {what}: every byte right")
        found.append(counted(before))
        client.close()
        if what == "made here":
            server.stop()
            client = nfs3.Client(server.start(), "/e1")
            e2e.check(not any(client.getattr(fh) for fh in fhs), "files are known by their handles")
    return found


def known_are_fetched(seen):
    return [(one["used_bytes"] > 0 and one["demand"] < DIRS * FILES / 2,
             f"most files {what} were there before they were asked for", one)
            for what, one in zip(("made here", "known by handle"), seen)]


def changes(server, path):
    """The first files are read, so that the others are fetched; then these change."""
    e2e.drop_caches()
    client = nfs3.Client(server, "/e1")
    walk(client, 3, range(8))
    control_client.settled()
    fh, here = find(client, "tree", "d03"), f"{path}/tree/d03"
    _, written = client.lookup("f0010", fh)
    client.write(written, 0, b"new" * 50)
    with open(f"{here}/other", "wb") as file:
        file.write(content(3, 11, version=1))
    os.rename(f"{here}/other", f"{here}/f0011")
    os.unlink(f"{here}/f0012")
    os.rename(f"{here}/f0013", f"{here}/g0013")
    data = read_file(client, fh, "f0010")
    e2e.check(data[:150] == b"new" * 50 and data[150:] == content(3, 10)[150:],
              "a file written after it was fetched")
    fresh = nfs3.Client(server, "/e1")
    e2e.check(read_file(fresh, fh, "g0013") == content(3, 13), "one that has another name")
    e2e.check(walk(fresh, 3, range(14, FILES)), "and the walk goes on")
    fresh.close()
    client.close()


def fetched_of_listing(client, name, seconds):
    """Whether something is fetched ahead of a client that lists the directory."""
    def asked():
        return control_client.stats("devices")[0]["submitted_prefetch"]

    _, fh = client.lookup(name)
    control_client.settled()
    before = asked()
    client.nfs.call(READDIR, nfs3.opaque(fh) + bytes(16) + struct.pack(">I", 32768))
    return e2e.wait_for(lambda: asked() > before, seconds)


def listings(server):
    client = nfs3.Client(server, "/e1")
    e2e.check(fetched_of_listing(client, "many0", 60), "inodes are fetched ahead of a listing")
    control_client.ask(command="heuristic", name="off")
    e2e.check(not fetched_of_listing(client, "many1", 1), "and none with Heuristic = off")
    control_client.ask(command="heuristic", name="cursor")
    client.close()


def opens_by_chance(server):
    e2e.drop_caches()
    client, before = nfs3.Client(server, "/e1"), control_client.stats("counters")
    chance, right = random.Random(2), True
    for _ in range(60):
        n = chance.randrange(WIDE)
        right &= walk(client, DIRS, [n])
    control_client.settled()
    found = counted(before)
    e2e.check(right and found["prefetched_bytes"] <= found["read_bytes"] / 20,
              "opens by chance fetch next to nothing", found)
    client.close()


class Walkers:
    """Threads that walk for as long as the server answers."""

    def __init__(self, server, count):
        self.wrong = 0
        self.threads = [threading.Thread(target=self._walk, args=(server, n)) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def _walk(self, server, seed):
        chance = random.Random(seed)
        try:
            client = nfs3.Client(server, "/e1", timeout=20)
            while True:
                directory = chance.choice([4, 5, 6, 7, 8, DIRS])
                fh = find(client, "tree", f"d{directory:02d}")
                for n, name in enumerate(names(directory)):
                    data = read_file(client, fh, name)
                    if data is None:
                        return
                    self.wrong += data != content(directory, n)
        except (OSError, IndexError):
            pass  # the server is gone

    def join(self):
        for thread in self.threads:
            thread.join()
        return self.wrong


def ends_in_the_middle(work, path, plugin):
    for seconds in (0.1, 0.4):
        server = start(work, path, plugin)
        walkers = Walkers(server, 4)
        e2e.wait_for(lambda: control_client.stats("counters")["read_bytes"] > 1000000 * seconds, 20)
        e2e.drop_caches()
        status = server.stop()
        e2e.check(status == 0, "a server ends in the middle of walks", server.log_text()[-2000:])
        e2e.check(walkers.join() == 0, "and all that it answered was right")


def export_goes(work, path, plugin):
    """... and comes back, while it is walked."""
    listed = [{"id": n, "path": where, "pseudo": f"/e{n}", "params": {"Queue_Depth": 1}}
              for n, where in ((1, path), (2, f"{path}/tree/d01"))]
    server = e2e.Server("ra", listed, work, plugin).start()
    first = server.exports[0]
    for number in range(3):
        e2e.drop_caches()
        before = control_client.stats("counters")["read_bytes"]
        walkers = Walkers(server, 4)
        e2e.wait_for(lambda before=before:
                     control_client.stats("counters")["read_bytes"] > before + 300000, 20)
        e2e.drop_caches()
        server.exports = listed[1:]
        server.reload()
        e2e.check(walkers.join() == 0 and server.alive(), f"export gone {number}: all was right",
                  server.log_text()[-2000:])
        server.exports = [first, *listed[1:]]
        server.reload()
        client = nfs3.Client(server, "/e1")
        e2e.check(walk(client, 2, range(FILES)), f"export back {number}: it is walked again")
        client.close()
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter(("findmnt",))
    work = e2e.work_directory()
    path = e2e.loop_export(work, 128 << 20, rotating=True)
    make_tree(path)
    servers = []

    def measure():
        for server in servers[-1:]:
            server.stop()
        servers.append(start(work, path, plugin))
        return walks(servers[-1])

    quiet.judge("walks", measure, fetched_before)
    server = servers[-1]
    changes(server, path)
    opens_by_chance(server)
    listings(server)
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])

    def measure_known():
        with_them = start(work, path, plugin)
        seen = known_before(with_them)
        with_them.stop()
        return seen

    quiet.judge("files known before", measure_known, known_are_fetched)
    ends_in_the_middle(work, path, plugin)
    export_goes(work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
