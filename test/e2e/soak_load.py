# SPDX-License-Identifier: LGPL-3.0-or-later
"""The clients of scripts/soak: each class of them on threads of its own, all until told to stop.

    streams   whole files in order, four requests outstanding
    strides   a file as eight interleaved readers would
    random    8 KiB anywhere
    writers   verifying_client.py: what a COMMIT promised is known, cell by cell
    metadata  create, rename, look up, FSSTAT, remove
    guests    a stream of an export that comes and goes: refusals are no errors there

Every byte read is compared with what the file was laid out with. Latencies go into buckets of equal
ratio, so that hours of them take no memory.
"""
import math
import random
import threading
import time

import e2e
import nfs3
import verifying_client

UNIT = 65536
PATIENCE = 300  # seconds without an answer: more than the disk is ever stopped for
STEP = math.log(1.1)  # of the buckets


class Latency:
    """Of one class; several threads add."""

    def __init__(self):
        self.lock = threading.Lock()
        self.buckets, self.count, self.longest = {}, 0, 0.0

    def add(self, seconds):
        bucket = math.ceil(math.log(max(seconds, 1e-6)) / STEP)
        with self.lock:
            self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
            self.count += 1
            self.longest = max(self.longest, seconds)

    def percentile(self, percent):
        with self.lock:
            left = self.count * percent / 100
            for bucket in sorted(self.buckets):
                left -= self.buckets[bucket]
                if left <= 0:
                    return min(math.exp(bucket * STEP), self.longest)
        return 0.0


class Client(threading.Thread):
    """One thread of a class; work() does one round."""

    refusals = ()  # statuses that are no error

    def __init__(self, load, export, number):
        super().__init__(daemon=True)
        self.load, self.export, self.number = load, export, number
        self.random = random.Random(f"{load.seed} {type(self).__name__} {number}")
        self.latency = load.latency.setdefault(type(self).__name__.lower(), Latency())
        self.client = None

    def run(self):
        while not self.load.stopping.is_set():
            try:
                if not self.client:
                    self.client = nfs3.Client(self.load.server, self.export, timeout=PATIENCE)
                self.work()
            except OSError as error:
                self.lost(error)
        if self.client:
            self.client.close()

    def lost(self, error):
        self.load.wrong(self, f"no answer: {error!r}")
        self.client = None
        self.load.stopping.wait(1)

    def timed(self, call, *arguments):
        began = time.monotonic()
        answer = call(*arguments)
        self.latency.add(time.monotonic() - began)
        return answer

    def right(self, status, good=True, what=""):
        if status in self.refusals:
            return False
        if status != nfs3.OK or not good:
            self.load.wrong(self, f"{what}: status {status}{'' if good else ', wrong bytes'}")
        return status == nfs3.OK

    def open(self, number):
        status, fh = self.client.lookup(f"f{number}")
        return fh if self.right(status, what="LOOKUP") else None

    def read(self, fh, number, at, length):
        status, data = self.timed(self.client.read, fh, at, length)
        return self.right(status, data == e2e.pattern(number, at, length), f"f{number} at {at}")


class Streams(Client):
    def work(self):
        number = self.random.randrange(self.load.files)
        fh = self.open(number)
        if fh is None:
            self.load.stopping.wait(0.1)
            return
        began = time.monotonic()
        for at, status, data in self.client.stream(fh, self.load.size, UNIT):
            now = time.monotonic()
            self.latency.add(now - began)  # since the answer before: what a reader notices
            began = now
            self.right(status, data == e2e.pattern(number, at, len(data)), f"f{number} at {at}")
            if self.load.stopping.is_set() and not self.client.nfs.busy():
                break
        self.load.stopping.wait(0.1)  # a pace: files in memory would take all of the processor


class Strides(Client):
    def work(self):
        number, part = self.random.randrange(self.load.files), self.load.size // 8
        fh = self.open(number)
        for at in range(0, part, UNIT):
            for lane in range(8):
                if self.load.stopping.is_set() or not self.read(fh, number, lane * part + at, UNIT):
                    return


class Random(Client):
    def work(self):
        number = self.random.randrange(self.load.files)
        fh = self.open(number)
        for _ in range(50):
            at = self.random.randrange(self.load.size // 8192) * 8192
            if self.load.stopping.is_set() or not self.read(fh, number, at, 8192):
                return


class Metadata(Client):
    def work(self):
        old, new = f"m{self.number}", f"n{self.number}"
        status, fh = self.timed(self.client.create, old)
        if self.right(status, what="CREATE"):
            self.right(self.timed(self.client.write, fh, 0, b"m" * 4096), what="WRITE")
            self.right(self.timed(self.client.rename, old, new), what="RENAME")
            self.right(self.timed(self.client.getattr, fh), what="GETATTR")
            self.right(self.timed(self.client.fsstat)[0], what="FSSTAT")
            self.right(self.timed(self.client.remove, new), what="REMOVE")
        self.load.stopping.wait(0.02)  # a pace, nothing is awaited


class Guests(Streams):
    refusals = (nfs3.STALE, 10001, 13)  # also BADHANDLE and ACCES: the export has gone

    def lost(self, error):
        self.client = None
        self.load.stopping.wait(0.2)


class Writer(verifying_client.Writer):
    """With the latency of each WRITE and COMMIT."""

    def prepare(self, load, number):
        self.load, self.number, self.began = load, number, {}
        self.give_up = PATIENCE
        for name in ("writes", "commits"):
            load.latency.setdefault(name, Latency())

    def connect(self):
        super().connect()
        self.client.nfs.sock.settimeout(PATIENCE)
        self.began.clear()

    def send_write(self, file, first, count, stable):
        super().send_write(file, first, count, stable)
        self.began[self.client.nfs.xid] = ("writes", time.monotonic())

    def send_commit(self, file, first=0, count=0):
        super().send_commit(file, first, count)
        self.began[self.client.nfs.xid] = ("commits", time.monotonic())

    def receive(self):
        xid, reply = self.client.nfs.receive()
        name, began = self.began.pop(xid)
        self.load.latency[name].add(time.monotonic() - began)
        self.calls.pop(xid)(reply)


class Load:
    """All of them. `wrongs` is empty in the end if all was right."""

    CLASSES = ((Streams, "/e1", 3), (Strides, "/e1", 1), (Random, "/e1", 2), (Metadata, "/e1", 1),
               (Streams, "/e2", 1), (Guests, "/e3", 1))

    def __init__(self, server, files, size, seed):
        self.server, self.files, self.size, self.seed = server, files, size, seed
        self.stopping, self.lock = threading.Event(), threading.Lock()
        self.latency, self.wrongs, self.wrong_count = {}, [], 0
        self.writers = verifying_client.Writers(server, "/e1", count=0)
        self.writers.writers = [Writer(server, "/e1", [
            verifying_client.File(n * 2 + f + 1, 16384) for f in range(2)], seed + n)
            for n in range(2)]
        self.writers.files = [f for w in self.writers.writers for f in w.files]
        for number, writer in enumerate(self.writers.writers):
            writer.prepare(self, number)
        self.clients = [kind(self, export, number)
                        for kind, export, count in self.CLASSES for number in range(count)]

    def start(self):
        for client in self.clients:
            client.start()
        self.writers.start()
        return self

    def wrong(self, client, what):
        with self.lock:
            self.wrong_count += 1
            if len(self.wrongs) < 20:
                self.wrongs.append(f"{type(client).__name__} {client.number}: {what}")

    def calls(self):
        return sum(latency.count for latency in self.latency.values())

    def finish(self):
        self.stopping.set()
        self.writers.finish(PATIENCE)
        for client in self.clients:
            client.join(PATIENCE)
            if client.is_alive():
                self.wrong(client, "hangs")
