# SPDX-License-Identifier: LGPL-3.0-or-later
"""Parts of test_cluster.py: what a gateway's clients see while others use the same cluster by
themselves."""
import hashlib
import os
import threading
import time
from statistics import median

import e2e
import gateway
import guests
import nfs3
import priced
import quiet


# ---- a writer that is idle ---------------------------------------------------------------------

IDLE_ROUNDS, IDLE_FILES, IDLE_SIZE = 4, 6, 4 << 20
IDLE_SECONDS, IDLE_DELAY_MS = 2, 15  # nearly always a READ is under way
MOST_WAIT_S = 15  # of a READ; one that its client has forgotten waits until somebody asks


class Patient(threading.Thread):
    """Reads a file in order, again and again, with eight READs outstanding; how long each takes."""

    def __init__(self, server, name, at=0):
        super().__init__(daemon=True)
        self.server, self.name, self.at, self.stopping = server, name, at, threading.Event()
        self.reads, self.longest, self.broken = 0, 0.0, ""

    def run(self):
        try:
            self._read()
        except OSError as error:
            self.broken = str(error)

    def _read(self):
        client = gateway.client(self.server, timeout=25)
        _, fh = client.lookup(self.name)
        sent, at = {}, self.at
        while not self.stopping.is_set() or sent:
            while len(sent) < 8 and not self.stopping.is_set():
                xid = client.nfs.send(nfs3.READ, client.read_body(fh, at, 65536))
                sent[xid] = time.monotonic()
                at = (at + 65536) % IDLE_SIZE
            xid, reply = client.nfs.receive()
            client.read_result(reply)
            self.longest = max(self.longest, time.monotonic() - sent.pop(xid))
            self.reads += 1
        client.close()


def idle_round(bed, server, number):
    """Readers of files that a native client opens for writing meanwhile, and leaves at that; or has
    open since it wrote them."""
    native, path = bed.cluster.native, bed.cluster.path.rstrip("/")
    names = [f"i{number}_{n}" for n in range(IDLE_FILES)]
    held = []
    for number, name in enumerate(names):
        file = native.open(f"{path}/{name}", create=True)
        native.write(file, 0, b"x" * IDLE_SIZE)
        if number % 3 == 0:
            held.append(file)
            continue
        native.settle(file)
        native.shut(file)
    # two of each file: a READ under way of one, and one that comes of the other
    readers = [Patient(server, name, at) for name in names for at in (0, IDLE_SIZE // 2)]
    for reader in readers:
        reader.start()
    for reader in readers[::2]:
        e2e.wait_for(lambda r=reader: r.reads > 20 or r.broken, 20, step=0.002)
        held.append(native.open(f"{path}/{reader.name}"))
    time.sleep(IDLE_SECONDS)  # of READs that meet it
    for reader in readers:
        reader.stopping.set()
    for reader in readers:
        reader.join(40)
    for file in held:
        native.shut(file)
    return readers


def idle_rounds(bed):
    """All of them, above a gateway of their own: their readers."""
    idle_rounds.made += 1
    bed.cluster.delay(IDLE_DELAY_MS)
    server = bed.gateway()
    bed.cluster.delay(bed.cluster.delay_ms)
    first = idle_rounds.made * IDLE_ROUNDS  # of files that no other one has
    readers = [r for number in range(IDLE_ROUNDS) for r in idle_round(bed, server, first + number)]
    gateway.ends_well(server, "idle writer")
    return readers


idle_rounds.made = 0


def longest(readers):
    """Of each that was answered, in order."""
    return sorted(r.longest for r in readers if not r.broken) or [0]


def waits_end(readers):
    """That a forgotten READ is woken, and no client need ask again."""
    hung, waits = [r for r in readers if r.broken], longest(readers)
    e2e.note(f"idle writer: {len(hung)} of {len(readers)} hung for 25 s; of the others the longest "
             f"READ took {waits[-1]:.2f} s, half of them {waits[len(waits) // 2]:.2f} s at most; "
             f"{sum(r.reads for r in readers)} READs")
    return [(not hung, "no READ hangs", [r.broken for r in hung]),
            (waits[-1] < MOST_WAIT_S, f"none takes {MOST_WAIT_S} s", waits[-1])]


def idle_writer(bed):
    """No READ hangs of a file that a native client keeps open for writing, and is idle. The stock
    FSAL's may (src/remote/overdue.h)."""
    if bed.kind == "ra":
        quiet.judge("idle writer", lambda: idle_rounds(bed), waits_end, tries=2)
    else:
        waits_end(idle_rounds(bed))


# ---- upcalls -----------------------------------------------------------------------------------

TOLD_SIZE, TOLD_READ, TOLD_AFTER_S = 8 << 20, 65536, 0.25


def old_ones(bed, name):
    """How many of the READs that were fetched ahead show what another client has replaced
    TOLD_AFTER_S before."""
    native = bed.cluster.native
    file = native.open(f"{bed.cluster.path.rstrip('/')}/{name}", create=True)
    for at in range(0, TOLD_SIZE, 1 << 20):
        native.write(file, at, b"1" * (1 << 20))
    server = bed.gateway()
    client = gateway.client(server)
    _, fh = client.lookup(name)
    for at in range(0, TOLD_SIZE // 4, TOLD_READ):
        client.read(fh, at, TOLD_READ)
    time.sleep(0.2)  # of what is being fetched
    first, changed = TOLD_SIZE // 4, 1 << 20
    native.write(file, first, b"2" * changed)
    time.sleep(TOLD_AFTER_S)
    old = sum(client.read(fh, at, TOLD_READ)[1] != b"2" * TOLD_READ
              for at in range(first, first + changed, TOLD_READ))
    native.shut(file)
    client.close()
    gateway.ends_well(server, f"upcalls, {name}")
    return old


def upcalls(bed):
    """Where the volume tells of changes, nothing old is shown once that was told."""
    names = (f"told{n}" for n in range(quiet.TRIES))
    e2e.note(f"upcalls: {old_ones(bed, 'untold')} READs showed something old without them")
    bed.cluster.tell_changes(True)
    quiet.judge("upcalls", lambda: (old_ones(bed, next(names)),),
                lambda seen: [(seen[0] == 0, "nothing old is shown", seen[0])])
    bed.cluster.tell_changes(False)


# ---- the price of a cluster --------------------------------------------------------------------

def price_under(bed, path):
    """What the price does there (priced.Course)."""
    bed.cluster.drop_caches()
    server, other = bed.gateway(), bed.cluster.another_client()
    seen = priced.course(server, other, path)
    other.close()
    e2e.note(f"price: {seen.in_words()}")
    gateway.ends_well(server, "price")
    return seen


def price_claims(seen):
    most = priced.FOLLOWS_S
    return [(median(seen.idle) < priced.IDLE, "low with one reader", seen.idle),
            (seen.rose is not None and seen.rose < most, "it follows", seen.rose),
            (seen.fell is not None and seen.fell < most, "and back", seen.fell)]


def price_follows(bed):
    """The price of the storage is low while one reader has it, and follows when others use it
    up."""
    path = priced.lay_out(bed.cluster)
    quiet.judge("price", lambda: price_under(bed, path), price_claims, tries=2)


# ---- a Linux client ----------------------------------------------------------------------------

GUEST_SIZE = 12 << 20
GUEST_SEES_SECONDS = 30  # another's change; its attributes are a second old at most


def digest(number, size=GUEST_SIZE):
    return hashlib.sha256(e2e.pattern(number, 0, size)).hexdigest()


def native_write(bed, name, number):
    """The file of e2e.pattern(), as a client of the cluster's own makes it, or overwrites it."""
    native = bed.cluster.native
    file = native.open(f"{bed.cluster.path.rstrip('/')}/{name}", create=True)
    for at in range(0, GUEST_SIZE, 1 << 20):
        native.write(file, at, e2e.pattern(number, at, 1 << 20))
    native.settle(file)
    native.shut(file)


def native_digest(bed, name, size):
    native = bed.cluster.native
    file = native.open(f"{bed.cluster.path.rstrip('/')}/{name}")
    found = hashlib.sha256()
    for at in range(0, size, 1 << 20):
        found.update(native.read(file, at, 1 << 20))
    native.shut(file)
    return found.hexdigest()


def guest_works(bed, guest, server):
    guest.call("client.mount", port=server.port, mport=server.mport, export=gateway.PSEUDO,
               options="rsize=32768,actimeo=1")
    for stride in (1, 8):
        guest.call("client.drop_caches")
        bed.cluster.drop_caches()
        got = guest.call("gateway.read", name="g0" if stride == 1 else "g1", stride=stride)
        e2e.check(got == [GUEST_SIZE, digest(stride)],
                  f"guest: stride {stride}: the bytes are the file's", got)
    wrote = guest.call("gateway.write", name="g2", size=3 << 20)
    e2e.check(native_digest(bed, "g2", 3 << 20) == wrote,
              "guest: what it wrote a native client reads")
    native_write(bed, "g0", 5)
    sees = e2e.wait_for(lambda: guest.call("gateway.read", name="g0", stride=1)[1] == digest(5),
                        GUEST_SEES_SECONDS, step=0.5)
    e2e.check(sees, "guest: it reads what a native client has overwritten")
    guest.call("client.unmount")


def guest(bed):
    """A Linux kernel mounts the gateway with vers=3: what it reads in order and in strides, what
    it writes, and what another client changes below it."""
    native_write(bed, "g0", 1)
    native_write(bed, "g1", 8)
    server = bed.gateway()
    here = os.path.dirname(os.path.realpath(__file__))
    try:
        with guests.boot(1, modules=(guests.CLIENT, f"{here}/guest_gateway.py")) as (one,):
            guest_works(bed, one, server)
    except guests.Unavailable as reason:
        e2e.skip_part(f"guest: {reason}")
    stats = gateway.ends_well(server, "guest")
    if bed.kind == "ra" and stats.get("reads"):
        e2e.check(stats.get("prefetched_bytes", 0) > 0, "guest: read-ahead did run", stats)
