# SPDX-License-Identifier: LGPL-3.0-or-later
"""What is tried above a cluster, each by the name that test_cluster.py knows it by: a function of
its Bed."""
import os
import random
import re
import time

import e2e
import gateway
import nfs3
import told
import versions
from aged import aged  # noqa: F401: by name, as those below
from kept import half_done, late_answers, renamed, states  # noqa: F401: by name, as those below
from laid_out import STREAM_SIZE, STREAMS, lay_out_streams
from lost import storage_lost  # noqa: F401: by name, as those below
from open_files import open_files  # noqa: F401: by name, as those below
from others import guest, idle_writer, price_follows, upcalls  # noqa: F401: by name, as those below
from settings import bounded, warned  # noqa: F401: by name, as those below
from shared import shares  # noqa: F401: by name, as those below
from traffic import held_traffic  # noqa: F401: by name, as those below
from unstable import unstable  # noqa: F401: by name, as those below

READS = 10000
PARITY_CALLS = 2500
SECONDS, DISK_SECONDS = 45, 90  # at most, for so many
SHIFTED_MOST = 0.005  # of READs; see versions.py
FILES, BLOCKS = 4, 2048  # of versions.File
CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config")


# ---- streams -----------------------------------------------------------------------------------

def reads_were_right(readers, what):
    e2e.check(not readers.wrong, f"{what}: every byte was right", "\n".join(readers.wrong[:5]))
    e2e.check(not readers.errors() and not readers.broken, f"{what}: no READ failed",
              f"{readers.errors()} {readers.broken}")


def streams(bed):
    """Eight readers in order, each byte compared; what is written through the gateway is read
    again."""
    lay_out_streams(bed)
    server = bed.gateway()
    readers = e2e.Readers(server, gateway.PSEUDO, STREAMS, STREAM_SIZE)
    e2e.wait_for(lambda: readers.reads > 1500 or readers.broken, 30)
    readers.stop()
    reads_were_right(readers, "streams")
    e2e.check(readers.reads > 500, "streams: they did read", readers.reads)
    if not e2e.check(server.alive(), "streams: the gateway is alive", server.log_text()[-3000:]):
        return
    e2e.check("RA: libcephfs" not in server.log_text(), "streams: the log has nothing to advise",
              server.log_text()[-3000:])
    client = gateway.client(server)
    status, fh = client.create("written")
    data = e2e.pattern(9, 0, 1 << 20)
    for at in range(0, 1 << 20, 1 << 16):
        status = status or client.write(fh, at, data[at:at + (1 << 16)])
    status = status or client.commit(fh).status
    got = b"".join(d for _, _, d in sorted(client.stream(fh, 1 << 20)))
    e2e.check(status == nfs3.OK and got == data, "streams: what was written is read again", status)
    client.truncate(fh, 100000)
    e2e.check(client.read(fh, 65536, 65536) == (nfs3.OK, data[65536:100000]),
              "streams: ... and ends where it was cut off")
    client.remove("written")
    client.close()
    gateway.ends_well(server, "streams")


class Side:
    """One of two gateways that are asked the same, over directories of their own."""

    def __init__(self, bed, name, kind):
        path = f"{bed.cluster.path.rstrip('/')}/{name}"
        bed.cluster.native.make_directory(path)
        self.server = bed.gateway(kind, paths={gateway.PSEUDO: path})
        self.client = gateway.client(self.server)
        self.handles = {}

    def _handle(self, name):
        status, fh = self.client.lookup(name)
        return (status, fh) if status == nfs3.OK else (status, self.handles.get(name, b"\0" * 8))

    def ask(self, what, name, offset, count, other):
        """All of the answer that two servers must have in common."""
        client, (status, fh) = self.client, self._handle(name)
        if what == "create":
            status, self.handles[name] = client.create(name)
            return status, client.lookup(name)[0]
        if what == "remove":
            return client.remove(name), client.lookup(name)[0]
        if what == "rename":
            return client.rename(name, other), client.lookup(other)[0]
        if status != nfs3.OK:
            return (status,)
        return status, *self._of_file(what, fh, offset, count)

    def _of_file(self, what, fh, offset, count):
        client = self.client
        if what == "read":
            got = client.read_whole(fh, offset, count)
            return got.status, got.count, got.eof, got.data
        if what == "write":
            stable = offset // 7 % 3
            got = client.write_whole(fh, offset, e2e.pattern(offset % 251, 0, count), stable)
            return got.status, got.count
        if what == "truncate":
            return (client.truncate(fh, offset),)
        if what == "commit":
            return (client.commit(fh).status,)
        found = client.attributes(fh)
        return found and (found.type, found.mode, found.nlink, found.uid, found.size)


def parity(bed):
    """Answers of the stock FSAL and of the plugin above it to the same random calls."""
    chance = random.Random(1)
    sides = [Side(bed, "a", "stock"), Side(bed, "b", bed.kind)]
    names, at, differ = [f"p{n}" for n in range(6)], {}, []
    for number in range(PARITY_CALLS):
        what = chance.choices(("read", "write", "getattr", "truncate", "commit", "create", "remove",
                               "rename"), (60, 16, 6, 3, 4, 6, 1, 1))[0]
        name, other = chance.choice(names), chance.choice(names)
        offset, count = chance.randrange(0, 2 << 20, 512), chance.choice((1, 4096, 32768, 65536))
        if what == "read" and chance.random() < 0.8:  # in order, so that it is read ahead
            offset, count = at.get(name, 0), 65536
            at[name] = (offset + count) % (2 << 20)
        one, two = (side.ask(what, name, offset, count, other) for side in sides)
        if one != two:
            differ.append(f"call {number}, {what} of {name} at {offset}, {count} bytes: "
                          f"{str(one)[:200]} is stock's, {str(two)[:200]}")
    e2e.check(not differ, f"parity: {PARITY_CALLS} answers agree", "\n".join(differ[:5]))
    for side in sides:
        side.client.close()
        gateway.ends_well(side.server, f"parity, {side.server.kind}")


def fsstat(bed):
    """A client is told the prices that the gateway shows, and counts that people can use."""
    lay_out_streams(bed)
    told.fsstat(bed, lambda server: e2e.Readers(server, gateway.PSEUDO, STREAMS, STREAM_SIZE))


# ---- others that write -------------------------------------------------------------------------

def coherence(bed):
    """Readers that judge each block, while a native client, a second gateway and their own
    overwrite, truncate and append ahead of them."""
    files = [versions.File(number, BLOCKS) for number in range(1, FILES + 1)]
    versions.lay_out(bed.cluster, files)
    server, second = bed.gateway(), bed.gateway()
    ways = [versions.native_way(bed.cluster, held=False),
            versions.nfs_way("second gateway", second), versions.nfs_way("own gateway", server)]
    began = time.monotonic()
    reads = READS // 4 if bed.disk else bed.reads  # of a disk, which takes its time
    readers, changers = versions.run(server, files, ways, reads,
                                     DISK_SECONDS if bed.disk else SECONDS)
    judged(bed, "coherence", readers, changers, time.monotonic() - began, reads)
    gateway.ends_well(second, "coherence, second gateway")
    stats = gateway.ends_well(server, "coherence")
    if bed.kind == "ra":
        e2e.check(stats.get("prefetched_bytes", 0) > 0, "coherence: read-ahead did run", stats)


def judged(bed, what, readers, changers, took, at_least):
    reads, stale = sum(r.reads for r in readers), sum(r.stale for r in readers)
    oldest = max(r.oldest for r in readers)
    changes = {c.way.name: (c.changes, c.truncations, c.appends) for c in changers}
    shifted = sum(r.shifted for r in readers)
    e2e.note(f"{what}: {reads} READs in {took:.1f} s, {shifted} of them lost bytes at an end that "
             f"moved, {stale} showed something old, by {oldest:.3f} s at most; changes, truncations "
             f"and appends: {changes}")
    wrong = [w for r in readers for w in r.wrong] + [f for c in changers for f in c.failed]
    e2e.check(not wrong, f"{what}: nothing that was never written", "\n".join(wrong[:5]))
    statuses = {k: v for r in readers for k, v in r.statuses.items()}
    e2e.check(not statuses, f"{what}: no READ failed", statuses)
    bound = bed.cluster.bound_s
    e2e.check(oldest <= bound, f"{what}: nothing older than {bound} s", oldest)
    if not bound:
        e2e.check(stale == 0, f"{what}: nothing stale", stale)
    e2e.check(reads - shifted >= at_least, f"{what}: {at_least} READs were judged",
              (reads, shifted))
    e2e.check(shifted <= SHIFTED_MOST * reads, f"{what}: few lost bytes at an end that moved",
              (reads, shifted))
    e2e.check(all(c.has_done_enough() for c in changers),
              f"{what}: enough was changed, cut off and appended", changes)


def held_writer(bed):
    """A native client that keeps the files open takes the capabilities: nothing may be stale, and
    no more may be fetched than the readers read, about."""
    files = [versions.File(number, BLOCKS) for number in range(11, 11 + FILES)]
    versions.lay_out(bed.cluster, files)
    server = bed.gateway()
    readers, changers = versions.run(server, files, [versions.native_way(bed.cluster, held=True)],
                                     READS // 4, SECONDS, seed=7)
    judged(bed, "held writer", readers, changers, 0, READS // 10)
    stats = gateway.ends_well(server, "held writer")
    if bed.kind == "ra":
        read = sum(r.reads for r in readers) * versions.RUN * versions.BLOCK
        fetched = stats.get("prefetched_bytes", 0)
        e2e.check(fetched < 0.5 * read, "held writer: the traffic is not doubled",
                  f"{fetched} bytes fetched ahead, {read} read")


# ---- the end of a gateway --------------------------------------------------------------------

def shutdown(bed):
    """SIGTERM with prefetches under way, at several moments."""
    lay_out_streams(bed)
    for number, reads in enumerate((20, 60, 200)[:1 if bed.cluster.sleeps_at_end else None]):
        bed.cluster.drop_caches()
        server = bed.gateway()
        readers = e2e.Readers(server, gateway.PSEUDO, STREAMS, STREAM_SIZE)
        e2e.wait_for(lambda: readers.reads > reads, 30, step=0.002)
        stats = gateway.ends_well(server, f"shutdown {number + 1}")
        readers.stop()
        e2e.check(not readers.wrong, f"shutdown {number + 1}: every byte was right",
                  readers.wrong[:3])
    if bed.kind == "ra":
        e2e.check(stats.get("prefetched_bytes", 0) > 0, "shutdown: prefetches were under way",
                  stats)


# ---- under valgrind ----------------------------------------------------------------------------

def reports(text):
    """Those with a frame of the plugin, but for what is still reachable."""
    lines = [re.sub(r"^==\d+== ?", "", line) for line in text.splitlines()
             if re.match(r"^==\d+==", line)]
    return [r for r in re.split(r"\n\s*\n", "\n".join(lines))
            if " at 0x" in r and "libfsalra" in r and "still reachable" not in r]


def valgrind(bed):
    """The gateway's whole life under it: only what has a frame of the plugin counts."""
    if bed.kind != "ra":
        return
    lay_out_streams(bed, 2, 2 << 20)
    output = f"{bed.work}/valgrind"
    server = gateway.Gateway("ra", bed.cluster, bed.work, bed.plugin,
                             wrap=("valgrind", "--leak-check=full", "--keep-debuginfo=yes",
                                   "--num-callers=30", f"--log-file={output}"))
    server.start(240)
    readers = e2e.Readers(server, gateway.PSEUDO, 2, 2 << 20)
    works = e2e.wait_for(lambda: readers.reads > 150 or readers.broken, 60)
    e2e.check(works, "valgrind: readers get on", readers.reads)
    client = gateway.client(server, timeout=120)
    for n in range(5):
        _, fh = client.create(f"new{n}")
        client.write(fh, 0, b"x" * 65536, stable=n % 3)
        client.read(fh, 0, 65536)
        client.truncate(fh, 1000)
        client.remove(f"new{n}")
    client.close()
    readers.stop()
    reads_were_right(readers, "valgrind")
    gateway.ends_well(server, "valgrind", 120)
    with open(output, errors="replace", encoding="utf-8") as file:
        text = file.read()
    e2e.check("LEAK SUMMARY" in text, "valgrind: it did report", text[-2000:])
    found = reports(text)
    e2e.check(not found, "valgrind: no memory error or leak of the plugin", "\n\n".join(found[:5]))


# ---- the example that users start from ---------------------------------------------------------

class Example(gateway.Gateway):
    """The configuration of config/, but for what is this test's: where the cluster is, and the
    ports."""

    def write_config(self):
        with open(f"{CONFIGS}/ganesha-{self.cluster.name}.conf", encoding="utf-8") as file:
            text = file.read()
        for theirs, ours in self.cluster.example.items():
            e2e.check(theirs in text, f"example: it says {theirs}")
            text = text.replace(theirs, ours)
        opening = "NFS_CORE_PARAM {"
        own = f"{opening} NFS_Port = {self.port}; MNT_Port = {self.mport}; {e2e.core_params()} "
        with open(self.conf, "w", encoding="utf-8") as conf:
            conf.write(text.replace(opening, own + self.plugins(), 1))


def config_example(bed):
    """config/ganesha-ceph.conf or ganesha-gluster.conf: a server starts with it and reads."""
    if bed.kind != "ra":
        return
    lay_out_streams(bed, 1)
    server = Example("ra", bed.cluster, bed.work, bed.plugin).start(120)
    client = nfs3.Client(server, bed.cluster.example_pseudo)
    status, fh = client.lookup("f0")
    data = b"".join(d for _, _, d in sorted(client.stream(fh, STREAM_SIZE)))
    e2e.check(status == nfs3.OK and data == e2e.pattern(0, 0, STREAM_SIZE), "example: it serves",
              server.log_text()[-1500:])
    client.close()
    gateway.ends_well(server, "example")
