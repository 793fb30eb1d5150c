#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The disk reads what is asked for, and no more: test_fetched.py PLUGIN

A stream is read as far as the middle of its file. What the disk has read by then is what was fetched
ahead, what the client waited for and what came along with that, whatever the kernel's read_ahead_kb is: chunks are brought by the
kernel's own read-ahead (kernel_windows.h), which would go on behind them if it were let. What it brought
stays in memory, where it is counted; what the disk read besides was metadata, or read again after the machine
had taken it away.

What has just been fetched the machine may take away before it is read. Who then reads waits in our queue
for the disk, as for whatever is not in memory.
"""
import collections
import ctypes
import mmap
import os
import random
import sys

import control_client
import e2e
import nfs3
import quiet

FILES, SIZE, READ = 2, 64 << 20, 24 << 20  # bytes; how far each file is read
REQUEST = 32 << 10
METADATA = 256 << 10  # bytes: inodes, directories, extents
READ_AHEAD_KB = (0, 128, 1000, 4096)
AHEAD, TAKEN = 8 << 20, 40  # bytes fetched ahead, at least; reads of what was taken away


# Bytes: those that the disk read, those in memory then, fetched ahead, waited for or come along at most.
Fetched = collections.namedtuple("Fetched", "right idle read kept ahead waited evicted")


class Loop:
    """The loop device below a directory."""

    def __init__(self, where):
        name = os.path.basename(e2e.run("findmnt", "-n", "-o", "SOURCE", where).strip())
        self.sysfs = f"/sys/block/{name}"

    def read_ahead(self, kib):
        with open(f"{self.sysfs}/queue/read_ahead_kb", "w") as f:
            f.write(str(kib))

    def read_bytes(self):
        with open(f"{self.sysfs}/stat") as f:
            return int(f.read().split()[2]) * 512


def stream(client, number):
    """Reads the beginning of a file in order; whether all of it was right."""
    (_, fh), right = client.lookup(f"f{number}")[:2], True
    for at, status, data in client.stream(fh, READ, REQUEST):
        right &= status == 0 and data == e2e.pattern(number, at, REQUEST)
    return right


def in_memory(path):
    """Bytes of a file that the page cache has."""
    libc, pages = ctypes.CDLL(None, use_errno=True), SIZE // mmap.PAGESIZE
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), SIZE) as view:
        there, at = (ctypes.c_ubyte * pages)(), ctypes.c_char.from_buffer(view)
        if libc.mincore(ctypes.byref(at), ctypes.c_size_t(SIZE), there):
            raise OSError(ctypes.get_errno(), "mincore", path)
        del at  # it keeps the mapping
    return sum(page & 1 for page in there) * mmap.PAGESIZE


def fetch(server, loop, path):
    """What is Fetched, of cold files."""
    e2e.drop_caches()
    client = nfs3.Client(server, "/e1")
    before, asked, evicted = loop.read_bytes(), control_client.stats("counters"), e2e.evictions()
    right = all(stream(client, number) for number in range(FILES))
    idle = control_client.settled()
    after = control_client.stats("counters")
    client.close()
    return Fetched(right, idle, loop.read_bytes() - before,
                   sum(in_memory(f"{path}/f{number}") for number in range(FILES)),
                   after["prefetched_bytes"] - asked["prefetched_bytes"],
                   (after["demand"] - asked["demand"]) * REQUEST +
                   after["along_bytes"] - asked["along_bytes"], e2e.evictions() - evicted)


def no_further(server, loop, path, kib):
    what = f"read_ahead_kb {kib}"

    def claims(seen):
        e2e.note(f"{what}: {seen.read} bytes read, {seen.kept} in memory, {seen.ahead} ahead, "
                 f"at most {seen.waited} waited for")
        e2e.check(seen.right and seen.idle, f"{what}: every byte right")
        return [(seen.ahead > FILES * READ / 2, "it is fetched ahead", seen),
                (seen.ahead <= seen.read, "the disk has read it", seen),
                (seen.kept <= seen.ahead + seen.waited + METADATA, "and no more than that", seen),
                (seen.read <= seen.kept + METADATA, "and nothing twice", seen)]

    def disturbs(seen):
        return "pages were taken away" if seen.evicted else None

    # A client on the heels of what is being fetched, as on a busy machine, meets the last mark before
    # there is something behind it, and the kernel goes on from there.
    quiet.judge(what, lambda: fetch(server, loop, path), claims, disturbs=disturbs)


def taken_away(server, path):
    """What was fetched ahead of a stream goes as soon as it has come, and some of it is read, in no order."""
    def measure():
        e2e.drop_caches()
        client = nfs3.Client(server, "/e1")
        right, fh = stream(client, 0), client.lookup("f0")[1]
        control_client.settled()  # what comes after it was taken away is there again
        with open(f"{path}/f0", "rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = control_client.stats("counters")["demand"]
        places = random.Random(1).sample(range(READ, READ + AHEAD, 4 * REQUEST), TAKEN)
        for at in places:
            right &= client.read(fh, at, REQUEST)[1] == e2e.pattern(0, at, REQUEST)
        waited = control_client.stats("counters")["demand"] - before
        client.close()
        return right, waited

    def claims(seen):
        e2e.check(seen[0], "pages taken away: every byte right")
        return [(seen[1] >= TAKEN * 0.9, "who reads them waits in the queue", seen)]

    quiet.judge("pages taken away", measure, claims)


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter(("findmnt",))
    work = e2e.work_directory()
    path = e2e.loop_export(work, FILES * SIZE * 3 // 2, rotating=True)
    e2e.make_files(path, FILES, SIZE)
    loop = Loop(path)

    def serve(what, judge, **params):
        server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1", "params": params}],
                            work, plugin).start()
        judge(server)
        e2e.check(server.stop() == 0, f"{what}: the server ends cleanly",
                  server.log_text()[-2000:])

    for kib in READ_AHEAD_KB:
        loop.read_ahead(kib)
        serve(f"read_ahead_kb {kib}", lambda server: no_further(server, loop, path, kib))
    # as of a disk that seeks: reads are queued
    serve("pages taken away", lambda server: taken_away(server, path), Queue_Depth=1)
    e2e.finish()


if __name__ == "__main__":
    main()
