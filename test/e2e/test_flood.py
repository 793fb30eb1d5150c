#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Floods of raw NFSv3 requests: test_flood.py MECHDISK PLUGIN [TEST...]

What it proves: extreme offsets and counts get the answers of stock VFS; thousands of pipelined
READs and WRITEs are all answered, and rightly; clients that disconnect in the middle, send half a
record or never read their replies leave neither descriptors nor threads behind, and the server's
memory, descriptors and threads stay below stated ceilings while they flood. A victim beside each
flood, from another address, gets all its answers in the end, with the right bytes, and is never told to
come again; how long it waits is printed. Beside 20,000 READs on the way, more than one client may have
queued, each of its reads is answered within Max_Wait, and each of theirs with its data, or JUKEBOX.

All on the loopback, bounded in requests and seconds. The modelled disk is slow, so queues fill.
"""
import os
import random
import socket
import struct
import sys
import threading
import time

import control_client
import e2e
import modelled_disk
import nfs3
import quiet
import server_usage

FILES, FILE_SIZE = 6, 4 << 20
PIPELINE = 4000  # requests on the way at once
READ_SIZE = 8192
MAX_WAIT = 2  # seconds, as shipped
GREED, GREEDY_SIZE = 20000, 192 << 20  # READs of another client on the way at once, in one file
CEILING_MIB = 384  # of memory beyond what the server had before: 4,000 replies are 32 MiB
CEILING_DESCRIPTORS = 64  # beyond those of the connections, and what the caches keep
CEILING_THREADS = 300  # beyond the first number: stock alone starts up to 200 workers

TOP = 1 << 64
OFFSETS = (0, 4095, FILE_SIZE - 1, FILE_SIZE, FILE_SIZE + 1, 1 << 31, 1 << 32, (1 << 43) - 4096,
           (1 << 63) - 1, 1 << 63, (1 << 63) + 1, TOP - 65536, TOP - 4096, TOP - 1)
COUNTS = (1, 511, 65536, 1 << 20, 1 << 26, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


class Victim(threading.Thread):
    """Reads block after block of a file of its own, one at a time."""

    def __init__(self, server, name="f0"):
        super().__init__(daemon=True)
        self.server, self.name, self.stopping = server, name, threading.Event()
        self.waits, self.wrong = [], []
        self.start()

    def run(self):
        try:
            client = nfs3.Client(self.server, "/e1", timeout=120, source="127.0.0.3")
            _, fh = client.lookup(self.name)
            at = 0
            while not self.stopping.is_set():
                began = time.monotonic()
                status, data = client.read(fh, at, READ_SIZE)
                self.waits.append(time.monotonic() - began)
                if status != nfs3.OK or data != e2e.pattern(0, at, READ_SIZE):
                    self.wrong.append((at, status))
                at = (at + 37 * READ_SIZE) % FILE_SIZE
            client.close()
        except Exception as error:  # whatever it is, the test must not pass
            self.wrong.append(repr(error))

    def told(self, what):
        self.stopping.set()
        self.join(120)
        waits = sorted(self.waits) or [0]
        e2e.note(f"{what}: beside it a reader of one block at a time had {len(self.waits)} "
                 f"answers, median {waits[len(waits) // 2] * 1000:.0f} ms, "
                 f"longest {waits[-1]:.2f} s")
        e2e.check(not self.is_alive() and self.waits and not self.wrong,
                  f"{what}: the victim has all its answers", self.wrong[:3])


def within_ceilings(what, usage, connections):
    memory, descriptors, threads = usage.growth()
    e2e.note(f"{what}: at most {memory} MiB, {descriptors} descriptors, {threads} threads more")
    e2e.check(memory <= CEILING_MIB, f"{what}: memory grows by no more than {CEILING_MIB} MiB",
              memory)
    e2e.check(descriptors <= connections + CEILING_DESCRIPTORS,
              f"{what}: descriptors by no more than {CEILING_DESCRIPTORS} beside connections",
              descriptors)
    e2e.check(threads <= CEILING_THREADS, f"{what}: threads by no more than {CEILING_THREADS}",
              threads)


def cool_down(server, usage, what):
    """Everything that the flood took is given back."""
    limit = usage.first.descriptors + CEILING_DESCRIPTORS
    back = e2e.wait_for(lambda: usage.now().descriptors <= limit, 120)
    e2e.check(server.alive() and back, f"{what}: the server lives, connections are gone",
              (usage.first, server.alive() and usage.now()))


# ---- extreme numbers ---------------------------------------------------------------------------

def extremes(server):
    """{what: answer} of every combination; the name of the error where the connection ended."""
    seen, name_of = {}, f"x-{server.kind}"
    with open(f"{server.exports[0]['path']}/{name_of}", "wb") as f:
        f.write(e2e.pattern(1, 0, FILE_SIZE))
    for offset in OFFSETS:
        for count in (0, *COUNTS):
            for name, call in (("READ", try_read), ("COMMIT", try_commit), ("WRITE", try_write)):
                if (name, count) == ("READ", 0) and e2e.empty_read_is_fatal():
                    continue
                client = nfs3.Client(server, "/e1", timeout=120)
                _, fh = client.lookup(name_of)
                try:
                    seen[name, offset, count] = call(client, fh, offset, count)
                except OSError as error:
                    seen[name, offset, count] = type(error).__name__
                client.close()
    return seen


def try_read(client, fh, offset, count):
    status, data = client.read(fh, offset, count)
    return status, len(data), data[:64]


def try_commit(client, fh, offset, count):
    return client.commit(fh, offset, count).status


def try_write(client, fh, offset, count):
    """A WRITE of 4096 bytes whose count says otherwise."""
    data = e2e.pattern(1, 0, 4096)
    body = nfs3.opaque(fh) + struct.pack(">QII", offset, count, nfs3.UNSTABLE) + nfs3.opaque(data)
    written = client.write_result(client.nfs.call(nfs3.WRITE, body))
    return written.status, written.count


def extreme_numbers(work, path, plugin):
    servers = [serve(kind, work, path, plugin) for kind in ("stock", "ra")]
    seen = [extremes(server) for server in servers]
    other = [f"{key}: stock {seen[0][key]}, RA {seen[1][key]}" for key in seen[0]
             if seen[0][key] != seen[1][key]]
    e2e.check(not other, f"extreme offsets and counts: {len(seen[0])} answers as stock's",
              "\n".join(other[:10]))
    for server in servers:
        e2e.check(server.alive() and server.stop() == 0,
                  f"extreme offsets and counts: {server.kind} lives, and ends cleanly",
                  server.log_text()[-2000:])


# ---- floods of RA ------------------------------------------------------------------------------

def flood_reads(client, count, first=1):
    """Sends so many READs of random-like places without waiting; {xid: (file, offset)}."""
    handles = [client.lookup(f"f{n}")[1] for n in range(first, FILES)]
    sent = {}
    for number in range(count):
        file = number % len(handles)
        at = number * 7919 % (FILE_SIZE // READ_SIZE) * READ_SIZE
        xid = client.nfs.send(nfs3.READ, client.read_body(handles[file], at, READ_SIZE))
        sent[xid] = (first + file, at)
    return sent


def pipelined_reads(server):
    what = f"{PIPELINE} pipelined READs"
    usage, victim = server_usage.Usage(server.process.pid), Victim(server)
    client = nfs3.Client(server, "/e1", timeout=120)
    # replies are taken meanwhile: TCP would stop us otherwise
    sent, wrong = {}, []
    taker = threading.Thread(target=lambda: wrong.extend(take_pipelined(client, sent)))
    handles = [client.lookup(f"f{n}")[1] for n in range(1, FILES)]
    taker.start()
    for number in range(PIPELINE):
        file, at = number % len(handles), number * 7919 % (FILE_SIZE // READ_SIZE) * READ_SIZE
        sent[client.nfs.xid + 1] = (1 + file, at)
        client.nfs.send(nfs3.READ, client.read_body(handles[file], at, READ_SIZE))
    taker.join(120)
    e2e.check(not taker.is_alive() and not wrong, f"{what}: all are answered, rightly", wrong[:5])
    within_ceilings(what, usage, 2)
    victim.told(what)
    client.close()


def take_pipelined(client, sent):
    wrong = []
    for _ in range(PIPELINE):
        try:
            xid, reply = client.nfs.receive()
        except OSError as error:
            return wrong + [repr(error)]
        status, data = client.read_result(reply)
        file, at = sent[xid]
        if status != nfs3.OK or data != e2e.pattern(file, at, READ_SIZE):
            wrong.append((file, at, status))
    return wrong


class Greedy:
    """A client of an address of its own that sends all its READs, whatever is answered: at places
    a step apart, or, `scattered`, in no order that could be read ahead."""

    def __init__(self, server, scattered=False):
        self.client = nfs3.Client(server, "/e1", timeout=120, source="127.0.0.2")
        self.fh = self.client.lookup("greedy0")[1]
        self.sent, self.statuses, self.wrong = {}, {}, []
        blocks = GREEDY_SIZE // READ_SIZE
        self.order = [number * 7919 % blocks for number in range(GREED)]
        if scattered:
            random.Random(5).shuffle(self.order)
        self.threads = [in_background(self.send), in_background(self.take)]

    def send(self):
        for block in self.order:
            at = block * READ_SIZE
            self.sent[self.client.nfs.xid + 1] = at
            self.client.nfs.send(nfs3.READ, self.client.read_body(self.fh, at, READ_SIZE))

    def take(self):
        for _ in range(GREED):
            xid, reply = self.client.nfs.receive()
            status, data = self.client.read_result(reply)
            self.statuses[status] = self.statuses.get(status, 0) + 1
            at = self.sent.pop(xid)
            if status == nfs3.OK and data != e2e.pattern(0, at, READ_SIZE):
                self.wrong.append(at)

    def answered(self):
        return sum(self.statuses.values())


def full_delays():
    return control_client.stats("devices")[0]["full_delays"]


def greedy_client(server):
    what = f"another client with {GREED} READs on the way"
    quiet.judge(what, lambda: beside_the_greedy(server, what), within_max_wait)


def within_max_wait(seen):
    waits, waiting = seen
    return [(len(waits) >= 100 and max(waits) < MAX_WAIT,
             "others have 100 answers, each within Max_Wait", (len(waits), max(waits, default=0))),
            (waiting > 1000, "meanwhile it had more than 1000 waiting", waiting)]


def beside_the_greedy(server, what):
    """(how long the victim's next answers took, READs of the other that were without one
    meanwhile), all else being checked."""
    e2e.drop_caches()
    usage, victim = server_usage.Usage(server.process.pid), Victim(server)
    delays = full_delays()
    greedy = Greedy(server)
    e2e.check(e2e.wait_for(lambda: full_delays() > delays, 120, 0.01),
              f"{what}: it has more than it may have queued", control_client.device())
    before, waiting = len(victim.waits), len(greedy.sent)  # also those that wait for a prefetch
    e2e.wait_for(lambda: len(victim.waits) >= before + 100, 20, 0.01)
    seen = victim.waits[before:], min(waiting, len(greedy.sent))
    for thread in greedy.threads:
        thread.join(240)
    e2e.note(f"{what}: statuses {greedy.statuses}, {control_client.stats('devices')[0]['full_waits']} "
             "waited for room")
    e2e.check(greedy.answered() == GREED and not greedy.wrong
              and set(greedy.statuses) == {nfs3.OK, nfs3.JUKEBOX},
              f"{what}: each is answered", (greedy.statuses, greedy.wrong[:5]))
    within_ceilings(what, usage, 2)
    victim.told(what)
    greedy.client.close()
    return seen


def end_while_full(work, path, plugin):
    """What is queued would take longer than a server that ends may wait for it."""
    what = "SIGTERM with a full queue"
    server = serve("ra", work, path, plugin, "Drain_Timeout = 1000;")
    e2e.drop_caches()
    greedy = Greedy(server, scattered=True)
    e2e.check(e2e.wait_for(full_delays, 120, 0.01), f"{what}: it is full", control_client.device())
    e2e.check(server.stop() == 0, f"{what}: the server ends cleanly", server.log_text()[-2000:])
    e2e.check("still queued" not in server.log_text() and not greedy.wrong,
              f"{what}: no READ outlasts its export", (server.log_text()[-2000:], greedy.wrong[:5]))
    greedy.client.close()


def pipelined_writes(server):
    """WRITEs and COMMITs without waiting, to many places; then every byte is read back."""
    count, what = PIPELINE // 4, f"{PIPELINE // 4} pipelined WRITEs"
    usage, victim = server_usage.Usage(server.process.pid), Victim(server)
    client = nfs3.Client(server, "/e1", timeout=120)
    _, fh = client.create("flooded")
    places = [n * 7919 % count * READ_SIZE for n in range(count)]
    for number, at in enumerate(places):
        client.nfs.send(nfs3.WRITE, client.write_body(fh, at, e2e.pattern(77, at, READ_SIZE)))
        if number % 250 == 249:
            client.nfs.send(nfs3.COMMIT, client.commit_body(fh))
    statuses = set()
    while client.nfs.busy():
        statuses.add(client.nfs.receive()[1].u32())
    e2e.check(statuses == {nfs3.OK}, f"{what}: all are answered, rightly", statuses)
    bad = [at for at, status, data in client.stream(fh, count * READ_SIZE)
           if status or data != e2e.pattern(77, at, len(data))]
    e2e.check(not bad, f"{what}: every byte is in the file", bad[:5])
    within_ceilings(what, usage, 2)
    victim.told(what)
    client.close()


def in_background(send):
    """A sender whom TCP stops: it ends when its connection does."""
    def run():
        try:
            send()
        except OSError:
            pass
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def never_read(server):
    """Clients that send requests and take no reply, until TCP stops them."""
    what = "replies never read"
    usage, victim = server_usage.Usage(server.process.pid), Victim(server)
    clients = [nfs3.Client(server, "/e1", timeout=120) for _ in range(4)]
    senders = [in_background(lambda c=c: flood_reads(c, PIPELINE)) for c in clients]
    answers = len(victim.waits)
    e2e.wait_for(lambda: len(victim.waits) >= answers + 50, 60)
    for client in clients:
        client.nfs.sock.shutdown(socket.SHUT_RDWR)
        client.close()
    for sender in senders:
        sender.join(60)
    within_ceilings(what, usage, 5)
    victim.told(what)
    cool_down(server, usage, what)


def disconnects(server):
    """Connections cut by RST with requests under way, again and again."""
    what = "disconnects in the middle"
    usage, victim = server_usage.Usage(server.process.pid), Victim(server)
    for _ in range(40):
        client = nfs3.Client(server, "/e1", timeout=120)
        client.nfs.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        flood_reads(client, 100)
        client.close()
    within_ceilings(what, usage, 42)
    victim.told(what)
    cool_down(server, usage, what)


def broken_records(server):
    """Half a record, a record said to be huge, and garbage; each on a connection of its own."""
    what = "broken records"
    usage, victim = server_usage.Usage(server.process.pid), Victim(server)
    texts = (struct.pack(">I", 0x80000000 | 200) + b"\0" * 100,  # half
             struct.pack(">I", 0xffffffff) + b"\0" * 4096,  # 2 GiB to come
             struct.pack(">I", 0x7fffffff) + b"\0" * 4096,  # ... and more fragments
             os.urandom(4096), struct.pack(">I", 0x80000000 | 40) + os.urandom(40),
             struct.pack(">I", 0x80000000) * 500)  # nothing, 500 times
    sockets = []
    for text in texts * 4:
        sock = socket.create_connection((e2e.HOST, server.port), timeout=60)
        try:
            sock.sendall(text)
        except OSError:
            pass  # it may have gone already
        sockets.append(sock)
    answers = len(victim.waits)
    e2e.wait_for(lambda: len(victim.waits) >= answers + 20, 60)
    for sock in sockets:
        sock.close()
    within_ceilings(what, usage, len(sockets) + 2)
    victim.told(what)
    cool_down(server, usage, what)


FLOODS = {f.__name__: f for f in (pipelined_reads, greedy_client, pipelined_writes, never_read,
                                  disconnects, broken_records)}


def serve(kind, work, path, plugin, ra=""):
    listed = [{"id": 1, "path": path, "pseudo": "/e1"}]
    return e2e.Server(kind, listed, work, plugin, ra=ra).start()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter()
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, sys.argv[1], 512)
    e2e.make_files(disk.mount, FILES, FILE_SIZE)
    e2e.make_files(disk.mount, 1, GREEDY_SIZE, "greedy")
    if not sys.argv[3:]:
        extreme_numbers(work, disk.mount, plugin)
    disk.timing(True)
    e2e.drop_caches()
    server = serve("ra", work, disk.mount, plugin)
    for name in sys.argv[3:] or FLOODS:
        began = time.monotonic()
        e2e.drop_caches()
        FLOODS[name](server)
        e2e.note(f"{name}: {time.monotonic() - began:.1f} s; {control_client.device()}")
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.note(f"RA_STATS {server.stats()}")
    end_while_full(work, disk.mount, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
