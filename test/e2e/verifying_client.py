# SPDX-License-Identifier: LGPL-3.0-or-later
"""An NFSv3 client that keeps what it wrote until the server says that it is safe, and knows of
every cell of its files what a reader may find there.

Files are made of cells of 512 bytes. Each write of a cell gives it the next version, and its bytes
tell file, cell and version. Of each cell is known

    sent    the version written last, answered or not
    acked   ... whose WRITE was answered
    safe    ... which a COMMIT or a stable WRITE promised to be on the disk

so what is read must lie between one of these and `sent` (see differences()). Cells of a WRITE that
is not answered are not written again, so versions never overtake each other.

As RFC 1813, section 4.8 wants: data of UNSTABLE writes is kept until a COMMIT that was sent after
their answer brings the verifier that they brought; when another comes, they are written again, and
so are calls that got no answer because the server went away.
"""
import random
import socket
import struct
import threading
import time

import numpy

import nfs3

CELL = 512
OUTSTANDING = 8
RUN = 128  # cells of the longest WRITE
NO_ANSWER = (ConnectionError, socket.timeout, OSError)


def cell_bytes(number, cell, version):
    return struct.pack(">HHI", number, version, cell) * (CELL // 8)


class File:
    def __init__(self, number, cells):
        self.number, self.name, self.fh = number, f"c{number}", None
        self.cells = cells
        self.sent, self.acked, self.safe = [0] * cells, [0] * cells, [0] * cells
        self.kept = {}  # cell -> (version, verifier) of UNSTABLE writes that were answered
        self.flying = set()  # cells in WRITEs without an answer yet
        self.again = set()  # cells whose data must be written once more
        self.at = 0  # of the sequential writer

    def data(self, first, count):
        return b"".join(cell_bytes(self.number, c, self.sent[c])
                        for c in range(first, first + count))

    def _suspects(self, found, floor, ceiling):
        """Numbers of the cells that are not one version, within its bounds, throughout."""
        words = numpy.frombuffer(found, ">u8", self.cells * CELL // 8).reshape(self.cells, -1)
        first = words[:, 0].astype(numpy.uint64)
        version = (first >> 32 & 0xffff).astype(numpy.int64)
        place = self.number << 48 | numpy.arange(self.cells, dtype=numpy.int64)
        own = first.astype(numpy.int64) & ~(0xffff << 32) == place
        good = (words == words[:, :1]).all(axis=1) & (own | (version == 0)) & \
            (version >= numpy.array(floor)) & (version <= numpy.array(ceiling))
        return numpy.flatnonzero(~good).tolist()

    def differences(self, path, floor, ceiling=None):
        """What of the file at `path` is older than `floor` or newer than `ceiling` (sent), or is
        not what any version wrote, as texts; at most ten."""
        ceiling = ceiling or self.sent
        try:
            with open(path, "rb") as f:
                found = f.read()
        except FileNotFoundError:
            found = b""
        found += bytes(self.cells * CELL - len(found))
        wrong = []
        for cell in self._suspects(found, floor, ceiling):
            low, high = floor[cell], ceiling[cell]
            seen = found[cell * CELL:(cell + 1) * CELL]
            for word in {seen[at:at + 8] for at in range(0, CELL, 8)} \
                    if seen != seen[:8] * (CELL // 8) else (seen[:8],):
                number, version, place = struct.unpack(">HHI", word)
                if version and (number, place) != (self.number, cell) or not low <= version <= high:
                    wrong.append(f"{path}: cell {cell}: version {version} of {number}/{place}, "
                                 f"expected {low} to {high}")
            if len(wrong) >= 10:
                break
        return wrong


class Writer:
    """One connection; its files are its own. Call run() until done, then settle()."""

    def __init__(self, server, export, files, seed, stable=0.1, commit=0.05, may_delay=False):
        self.server, self.export, self.files = server, export, files
        self.random = random.Random(seed)
        self.stable, self.commit = stable, commit  # how often
        self.client = self.verifier = None
        self.calls = {}  # xid -> what to do with the answer
        self.verifiers, self.statuses = [], {}
        self.may_delay = may_delay  # a COMMIT may be told to come again: doc/write-back.md
        self.resent = self.commits = self.delayed = 0
        self.promised = lambda: None  # called when more has become safe
        self.give_up = 120  # seconds without a server, or in which nothing becomes safe

    # -- the server may go away at any time

    def connect(self):
        end = time.monotonic() + self.give_up
        while True:
            try:
                self.client = nfs3.Client(self.server, self.export)
                for file in self.files:
                    status, file.fh = self.client.create(file.name)
                    if status != nfs3.OK:
                        raise ConnectionError(f"CREATE of {file.name}: status {status}")
                return
            except NO_ANSWER:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def reconnect(self):
        self.client.close()
        self.calls.clear()
        for file in self.files:
            file.again |= file.flying
            file.flying.clear()
        self.connect()

    # -- calls

    def send_write(self, file, first, count, stable):
        cells = range(first, first + count)
        file.flying.update(cells)
        file.again.difference_update(cells)
        body = self.client.write_body(file.fh, first * CELL, file.data(first, count), stable)
        versions = file.sent[first:first + count]
        xid = self.client.nfs.send(nfs3.WRITE, body)
        self.calls[xid] = lambda reply: self.written(file, first, versions, reply)

    def send_commit(self, file, first=0, count=0):
        """Of all when count is 0."""
        end = first + count if count else file.cells
        kept = {c: k for c, k in file.kept.items() if first <= c < end}
        body = self.client.commit_body(file.fh, first * CELL, count * CELL)
        xid = self.client.nfs.send(nfs3.COMMIT, body)
        self.calls[xid] = lambda reply: self.committed(file, kept, reply)

    def note(self, result):
        if result.status != nfs3.OK:
            self.statuses[result.status] = self.statuses.get(result.status, 0) + 1
        elif result.verifier != self.verifier:
            self.verifier = result.verifier
            self.verifiers.append(result.verifier)
            for file in self.files:
                file.again.update(c for c, (_, v) in file.kept.items() if v != self.verifier)

    def written(self, file, first, versions, reply):
        result = self.client.write_result(reply)
        self.note(result)
        done = result.count // CELL if result.status == nfs3.OK else 0
        for cell, version in enumerate(versions, first):
            file.flying.discard(cell)
            if cell >= first + done:
                file.again.add(cell)
                continue
            file.acked[cell] = version
            if result.committed == nfs3.UNSTABLE:
                file.kept[cell] = (version, result.verifier)
            else:
                file.safe[cell] = version
                file.kept.pop(cell, None)
        if done and result.committed != nfs3.UNSTABLE:
            self.promised()

    def committed(self, file, kept, reply):
        result = self.client.commit_result(reply)
        if result.status == nfs3.JUKEBOX and self.may_delay:
            self.delayed += 1
            return
        self.note(result)
        if result.status != nfs3.OK:
            return
        self.commits += 1
        for cell, (version, verifier) in kept.items():
            if verifier != result.verifier:
                continue
            file.safe[cell] = max(file.safe[cell], version)
            if file.kept.get(cell) == (version, verifier):
                del file.kept[cell]
        self.promised()

    # -- the work

    def send_again(self):
        """One run of what must be written once more; False when there is none."""
        for file in self.files:
            ready = file.again - file.flying
            if not ready:
                continue
            first = min(ready)
            count = 1
            while count < RUN and first + count in ready:
                count += 1
            self.resent += count
            self.send_write(file, first, count, nfs3.UNSTABLE)
            return True
        return False

    def send_new(self):
        file = self.random.choice(self.files)
        dice = self.random.random()
        if dice < self.commit:
            self.send_commit(file)
        elif dice < 2 * self.commit:
            first = self.random.randrange(file.cells)
            self.send_commit(file, first, self.random.randint(1, file.cells - first))
        else:
            stable = nfs3.UNSTABLE
            if self.random.random() < self.stable:
                stable = self.random.choice((nfs3.DATA_SYNC, nfs3.FILE_SYNC))
            if self.random.random() < 0.6:  # as a copying program
                count = min(RUN, file.cells - file.at)
                first, file.at = file.at, (file.at + count) % file.cells
            else:
                count = self.random.randint(1, min(RUN, file.cells))
                first = self.random.randrange(file.cells - count + 1)
            self.write_new(file, first, count, stable)

    def write_new(self, file, first, count, stable=nfs3.UNSTABLE):
        """As far as no WRITE of these cells is under way."""
        busy = [c for c in range(first, first + count) if c in file.flying or c in file.again]
        count = busy[0] - first if busy else count
        if count:
            for cell in range(first, first + count):
                file.sent[cell] += 1
            self.send_write(file, first, count, stable)

    def receive(self):
        xid, reply = self.client.nfs.receive()
        self.calls.pop(xid)(reply)

    def run(self, stop):
        """Writes until stop() is true; what is outstanding then is waited for."""
        if not self.client:
            self.connect()
        while not stop() or self.calls:
            try:
                while len(self.calls) < OUTSTANDING and not stop():
                    if not self.send_again():
                        self.send_new()
                if self.calls:
                    self.receive()
            except NO_ANSWER:
                self.reconnect()

    def settle(self):
        """Until all that was sent is safe. False: for long nothing has become so."""
        left, end = None, 0
        while True:
            delayed = self.delayed
            try:
                while self.calls or any(f.again for f in self.files):
                    while len(self.calls) < OUTSTANDING and self.send_again():
                        pass
                    self.receive()
                for file in self.files:
                    if file.kept:
                        self.send_commit(file)
                while self.calls:
                    self.receive()
            except NO_ANSWER:
                self.reconnect()
            unsafe = sum(len(f.kept) + len(f.again) for f in self.files)
            if not unsafe:
                return True
            if unsafe != left:
                left, end = unsafe, time.monotonic() + self.give_up
            elif time.monotonic() > end:
                return False
            if self.delayed != delayed:
                time.sleep(0.1)


class Writers:
    """Several, each on a thread of its own with files of its own."""

    def __init__(self, server, export, count=3, files=2, cells=8192, seed=1, **how):
        self.stopping = threading.Event()
        self.writers = [Writer(server, export, [File(w * files + f + 1, cells)
                                                for f in range(files)], seed * 1000 + w, **how)
                        for w in range(count)]
        self.files = [f for w in self.writers for f in w.files]
        self.failed, self.threads = [], []

    def start(self):
        self.threads = [threading.Thread(target=self._run, args=(w,), daemon=True)
                        for w in self.writers]
        for thread in self.threads:
            thread.start()
        return self

    def _run(self, writer):
        try:
            writer.run(self.stopping.is_set)
            if not writer.settle():
                self.failed.append("a writer's data would not become safe")
        except Exception as error:  # whatever it is, the test must not pass
            self.failed.append(repr(error))

    def finish(self, seconds=240):
        self.stopping.set()
        for thread in self.threads:
            thread.join(seconds)
        if any(t.is_alive() for t in self.threads):
            self.failed.append("a writer hangs")

    def levels(self, which):
        """{number: list} of one of sent, acked, safe, as they are now."""
        return {f.number: list(getattr(f, which)) for f in self.files}

    def differences(self, directory, floor, ceiling=None):
        return [text for f in self.files
                for text in f.differences(f"{directory}/{f.name}", floor[f.number],
                                          ceiling and ceiling[f.number])]

    def statuses(self):
        total = {}
        for writer in self.writers:
            for status, n in writer.statuses.items():
                total[status] = total.get(status, 0) + n
        return total
