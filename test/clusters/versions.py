# SPDX-License-Identifier: LGPL-3.0-or-later
"""Files of which each block has versions, who changes them by several ways, and readers that judge
what they are given: how old it was when the READ was sent.

    changer:  number = next; begun    -> WRITE, truncation: native, or of a gateway -> done, when?
    reader:   t0 = now; READ          -> block shows v; v + 1 was done before t0? stale by t0 - that

What a READ shows of a block must be a version that was begun by its answer. A block may be torn
only where a change of it ran beside the READ.
"""
import random
import struct
import threading
import time

import e2e
import gateway
import nfs3

BLOCK = 4096
RUN = 16  # blocks of a READ
OUTSTANDING = 4
GONE = 0  # in place of a version: beyond the file's end
CHANGES = 25  # of each way, at least
TRUNCATIONS, APPENDS = 3, 16  # the same; what was cut off is appended again in pieces
TRUNCATES = 6  # each so many changes the end is cut off instead
PIECE = 64  # blocks
AHEAD = (RUN, 20 * RUN)  # blocks before a reader, in which changes are made


def block_bytes(file, block, version):
    return struct.pack(">HHI", file, version & 0xffff, block) * (BLOCK // 8)


def shown(file, block, data):
    """The version; None: torn, or of another place."""
    number, version, place = struct.unpack_from(">HHI", data)
    if (number, place) != (file, block) or data != data[:8] * (BLOCK // 8):
        return None
    return version


class File:
    """history[block]: [version, done at or None] in the order of their beginning; done None: under
    way."""

    def __init__(self, number, blocks):
        self.number, self.blocks, self.name = number, blocks, f"v{number}"
        self.lock = threading.Lock()
        self.change = threading.Lock()  # one at a time
        self.next = 1
        self.history = [[[1, 0.0]] for _ in range(blocks)]
        self.place = 0  # of its reader
        self.end_moves = 0.0  # until when, as far as is known; None: just now

    def whole(self):
        return b"".join(block_bytes(self.number, b, 1) for b in range(self.blocks))

    def begin(self, first, count, gone=False):
        """(the data to be written, what done() needs)"""
        with self.lock:
            self.next += 1
            version = GONE if gone else self.next
            entries = []
            for block in range(first, first + count):
                entry = [version, None]
                # Old ones that two others have replaced cannot be right any more, however late.
                del self.history[block][:-6]
                self.history[block].append(entry)
                entries.append(entry)
        data = b"" if gone else b"".join(block_bytes(self.number, b, version)
                                         for b in range(first, first + count))
        return data, entries

    def done(self, entries):
        with self.lock:
            now = time.monotonic()
            for entry in entries:
                entry[1] = now

    def end_moved_since(self, sent):
        return self.end_moves is None or self.end_moves >= sent

    def judge(self, block, version, sent):
        """How old it was at `sent` in seconds, 0: fresh; None: wrong."""
        with self.lock:
            history = self.history[block]
            if version is None:
                beside = any(done is None or done >= sent for _, done in history)
                return 0 if beside else None
            found = [i for i, (v, _) in enumerate(history) if v == version]
            if not found:
                return None
            later = [done for _, done in history[found[-1] + 1:] if done is not None]
            return max(0, sent - min(later)) if later else 0


class Reader(threading.Thread):
    """Reads one file in order, again and again, and judges."""

    def __init__(self, server, file, stopping):
        super().__init__(daemon=True)
        self.server, self.file, self.stopping = server, file, stopping
        self.reads = self.stale = self.shifted = 0
        self.oldest = 0.0
        self.wrong, self.statuses = [], {}

    def run(self):
        try:
            self._read()
        except Exception as error:  # whatever it is, the test must not pass
            self.wrong.append(repr(error))

    def _read(self):
        client = gateway.client(self.server)
        fh = found(client, self.file)
        while not self.stopping.is_set():
            waiting, at = {}, 0
            while at < self.file.blocks or waiting:
                while at < self.file.blocks and len(waiting) < OUTSTANDING:
                    sent = time.monotonic()
                    body = client.read_body(fh, at * BLOCK, RUN * BLOCK)
                    waiting[client.nfs.send(nfs3.READ, body)] = at, sent
                    at += RUN
                    self.file.place = at
                xid, reply = client.nfs.receive()
                self._judge(*waiting.pop(xid), *client.read_result(reply))
        client.close()

    def _judge(self, first, sent, status, data):
        self.reads += 1
        if status != nfs3.OK:
            self.statuses[status] = self.statuses.get(status, 0) + 1
            return
        worst = 0.0
        for i in range(min(RUN, self.file.blocks - first)):
            piece = data[i * BLOCK:(i + 1) * BLOCK]
            version = shown(self.file.number, first + i, piece) if len(piece) == BLOCK else GONE
            age = self.file.judge(first + i, version, sent)
            if age is None and self._lost_some(first, sent, data):
                self.shifted += 1
                return
            if age is None:
                self.wrong.append(f"{self.file.name}, block {first + i}: {version}, "
                                  f"{piece[:8].hex()} of {self.file.history[first + i]}")
                return
            worst = max(worst, age)
        self.stale += worst > 0
        self.oldest = max(self.oldest, worst)


    def _lost_some(self, first, sent, data):
        """Whether it is what a library makes of a READ across an end that moves on meanwhile: the bytes
        before that are missing, and those behind it stand in their place, which are right there."""
        if not (self.server.cluster.end_is_loose and self.file.end_moved_since(sent)):
            return False
        pieces = [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]
        there = first + RUN - len(pieces)
        return 0 < len(pieces) < RUN and len(data) % BLOCK == 0 and all(
            self.file.judge(block, shown(self.file.number, block, piece), sent) == 0
            for block, piece in enumerate(pieces, there))


class Way:
    """One way to change a file: `native` holds it open, or opens it each time; or NFS."""

    def __init__(self, name, write, truncate):
        self.name, self.write, self.truncate = name, write, truncate


def native_way(cluster, held):
    files = {}

    def with_file(file, act):
        path = f"{cluster.path.rstrip('/')}/{file.name}"
        handle = files.get(path) or cluster.native.open(path)
        act(handle)
        if held:
            files[path] = handle
        else:
            cluster.native.shut(handle)

    return Way("native, held open" if held else "native",
               lambda file, at, data: with_file(file, lambda h: cluster.native.write(h, at, data)),
               lambda file, size: with_file(file, lambda h: cluster.native.truncate(h, size)))


def found(client, file):
    status, fh = client.lookup(file.name)
    if status != nfs3.OK:
        raise OSError(f"LOOKUP of {file.name}: status {status}")
    return fh


def nfs_way(name, server):
    client = gateway.client(server)

    def good(status):
        if status != nfs3.OK:
            raise OSError(f"{name}: status {status}")

    return Way(name,
               lambda file, at, data: good(client.write(found(client, file), at, data,
                                                        nfs3.FILE_SYNC)),
               lambda file, size: good(client.truncate(found(client, file), size)))


class Changer(threading.Thread):
    """Changes what lies ahead of the files' readers, by one way."""

    def __init__(self, way, files, stopping, seed, pause=0.004):
        super().__init__(daemon=True)
        self.way, self.files, self.stopping, self.pause = way, files, stopping, pause
        self.random = random.Random(seed)
        self.changes = self.truncations = self.appends = 0
        self.failed = []

    def has_done_enough(self):
        return self.changes >= CHANGES and self.truncations >= TRUNCATIONS and \
            self.appends >= APPENDS

    def run(self):
        try:
            while not self.stopping.is_set():
                self._change(self.random.choice(self.files))
                time.sleep(self.pause)
        except Exception as error:  # as above
            self.failed.append(f"{self.way.name}: {error!r}")

    def _change(self, file):
        first = (file.place + self.random.randint(*AHEAD)) % file.blocks
        count = min(self.random.choice((1, 4, RUN, 3 * RUN)), file.blocks - first)
        with file.change:
            if self.changes // TRUNCATES > self.truncations:
                self._shorten(file, max(first, file.blocks // 2))
            else:
                data, entries = file.begin(first, count)
                self.way.write(file, first * BLOCK, data)
                file.done(entries)
                self.changes += 1

    def _shorten(self, file, keep):
        """Cuts the end off, and appends it again in pieces."""
        file.end_moves = None
        _, entries = file.begin(keep, file.blocks - keep, gone=True)
        self.way.truncate(file, keep * BLOCK)
        file.done(entries)
        self.truncations += 1
        for first in range(keep, file.blocks, PIECE):
            data, entries = file.begin(first, min(PIECE, file.blocks - first))
            self.way.write(file, first * BLOCK, data)
            file.done(entries)
            self.appends += 1
        file.end_moves = time.monotonic()


def lay_out(cluster, files):
    for file in files:
        handle = cluster.native.open(f"{cluster.path.rstrip('/')}/{file.name}", create=True)
        whole = file.whole()
        for at in range(0, len(whole), 1 << 20):
            cluster.native.write(handle, at, whole[at:at + (1 << 20)])
        cluster.native.settle(handle)
        cluster.native.shut(handle)


def run(server, files, ways, reads, seconds, seed=1):
    """Readers of all files until so many of their READs were judged and each of `ways` has made
    CHANGES, TRUNCATIONS and APPENDS, or `seconds` have passed: (readers, changers)."""
    stopping = threading.Event()
    readers = [Reader(server, file, stopping) for file in files]
    changers = [Changer(way, files, stopping, seed + n) for n, way in enumerate(ways)]
    for thread in readers + changers:
        thread.start()
    e2e.wait_for(lambda: sum(r.reads - r.shifted for r in readers) >= reads and
                 all(c.has_done_enough() for c in changers) or any(r.wrong for r in readers)
                 or any(c.failed for c in changers), seconds)
    stopping.set()
    for thread in readers + changers:
        thread.join(60)
        if thread.is_alive():
            readers[0].wrong.append("a thread hangs")
    return readers, changers
