# SPDX-License-Identifier: LGPL-3.0-or-later
"""The same scene with the stock server and with RA, each over a file system of its own, and what the
clients and the local programs saw of it, compared.

A scene is a function of a Side. It does what it does through side.client and, behind the server's
back, below side.path, and tells side.saw() all that must agree: statuses, counts, bytes.
"""
import collections
import os
import zlib

import e2e
import nfs3

HOT = 3  # READs of a place before it counts as hot
PIECE = 32768

Kind = collections.namedtuple("Kind", "name server rotating params")
KINDS = (Kind("stock", "stock", True, {}), Kind("RA", "ra", True, {"Heuristic": "cursor"}),
         Kind("RA on flash", "ra", False, {}))


class Side:
    """One server, its directory, and what was seen of them."""

    def __init__(self, kind, path, server):
        self.kind, self.path, self.server = kind, path, server
        self.client, self.seen = None, []

    def local(self, name):
        return f"{self.path}/{name}"

    def saw(self, what, *values):
        self.seen.append((what, *values))

    def make(self, name, size, number=0):
        """A file on disk and not in memory; its handle. Its bytes are e2e.pattern(number, ...)."""
        path = self.local(name)
        with open(path, "wb") as file:
            file.write(e2e.pattern(number, 0, size))
            file.flush()
            os.fsync(file.fileno())
        self.drop(name)
        return self.handle(name)

    def handle(self, name):
        status, fh = self.client.lookup(name)
        if status != nfs3.OK:
            raise ConnectionError(f"{self.kind.name}: LOOKUP of {name}: status {status}")
        return fh

    def drop(self, name, offset=0, length=0):
        with open(self.local(name), "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), offset, length, os.POSIX_FADV_DONTNEED)

    def read(self, what, fh, offset=0, count=PIECE, client=None):
        """A READ whose answer must agree."""
        got = (client or self.client).read_whole(fh, offset, count)
        size = got.attributes and got.attributes.size
        self.saw(f"{what}: READ {count} at {offset}", got.status, got.count, got.eof, size,
                 zlib.crc32(got.data))
        return got

    def heat(self, fh, size, what="hot"):
        """In order from the disk, with read-ahead, and then again and again out of memory."""
        for _ in range(HOT):
            for offset in range(0, size, PIECE):
                self.read(what, fh, offset)


def sides(work, plugin, more="", protocols="3", kinds=KINDS, megabytes=64, options="loop",
          lock=False):
    """A Side of each kind, serving. lock: the locking protocol of NFSv3 too."""
    made = []
    for number, kind in enumerate(kinds):
        path = e2e.loop_export(work, megabytes << 20, f"x{e2e.Server.next_port}-{number}",
                               options, kind.rotating)
        listed = [{"id": at, "path": path, "pseudo": f"/e{at}", "squash": squash, "more": more,
                   "protocols": protocols, "params": kind.params}
                  for at, squash in ((1, "none"), (2, "root_squash"))]
        server = e2e.Server(kind.server, listed, work, plugin, lock_manager=lock).start()
        made.append(Side(kind, path, server))
    return made


def differences(reference, side):
    """What the two saw otherwise, and how many it is not."""
    pairs = list(zip(reference.seen, side.seen))
    other = [f"{a[0]}: stock {a[1:]}, {side.kind.name} {b[1:] if a[0] == b[0] else b}"
             for a, b in pairs if a != b]
    if len(reference.seen) != len(side.seen):
        other.append(f"stock saw {len(reference.seen)} things, {side.kind.name} {len(side.seen)}")
    return other


def play(scene, all_sides, what):
    """The scene with each, and the verdict."""
    for side in all_sides:
        side.seen = []
        side.client = nfs3.Client(side.server, "/e1")
        scene(side)
        side.client.close()
    for side in all_sides[1:]:
        other = differences(all_sides[0], side)
        e2e.check(side.seen and not other,
                  f"{what}: {side.kind.name} answers as stock, {len(side.seen)} times",
                  "\n".join(other[:10]))


def end(all_sides, what):
    """Cleanly."""
    for side in all_sides:
        e2e.check(side.server.alive() and side.server.stop() == 0,
                  f"{what}: {side.kind.name} ends cleanly", side.server.log_text()[-2000:])
        e2e.run("umount", side.path)


def kill(all_sides):
    """Where the stock server does not end cleanly either."""
    for side in all_sides:
        side.server.kill()
        e2e.run("umount", side.path)
