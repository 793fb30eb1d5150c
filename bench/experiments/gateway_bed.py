# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of gateways are made with: clusters as those of the tests (test/clusters), on
this machine, above one of STORAGES, and what goes over the network there."""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test",
                                "clusters"))

import daemons  # noqa: E402
import ceph  # noqa: E402
import gateway  # noqa: E402
import gluster  # noqa: E402
import priced  # noqa: E402, F401: by the price's experiments
import testbed  # noqa: E402
from experiments.experiment import NotRun  # noqa: E402

CEPH, GLUSTER, PSEUDO = ceph.Ceph, gluster.Gluster, gateway.PSEUDO
MIB = 1 << 20
# The kind of a gateway, and what is set in its export's block: "tuned" has the best settings of the client library,
# "off" the plugin, which follows no reader.
KINDS = {"stock": ("stock", {}), "tuned": ("stock", {}), "null": ("null", {}), "ra": ("ra", {}),
         "off": ("ra", {"Heuristic": "off"})}
LATENCY_MS = 2
STORAGES = {"disk": "a modelled disk below", "latency": f"{LATENCY_MS} ms of latency, in memory",
            "memory": "in memory, no latency"}
# Bytes that a READ takes between client and gateway beside its data, of 8 KiB or of 32: its call, the reply's
# beginning, what TCP, IP and Ethernet add to both and to acknowledgements. 357 to 366 were counted as below,
# above stock VFS with all in memory, for one, eight and strided readers, with 1, 4 and 32 READs outstanding.
HEADERS = 365


def bytes_moved():
    """Of all that went over the loopback interface of this namespace."""
    with open("/proc/net/dev", encoding="ascii") as table:
        return next(int(line.split(":")[1].split()[0]) for line in table if " lo:" in f" {line}")


def cluster_above(bed, kind, storage, work):
    """(a cluster of that kind above that storage, up; the disk, whose time does not pass yet, or None)"""
    delay, disk = LATENCY_MS if storage == "latency" else 0, None
    if storage == "disk":
        disk = bed.disk(size_mb=4096).up()
        if kind is CEPH:
            testbed.run("umount", disk.mount)
    if kind is CEPH:
        cluster = CEPH(work, devices=[disk.loop] if disk else [], delay_ms=delay)
    else:
        cluster = GLUSTER(work, [disk.mount if disk else _memory(work)], delay_ms=delay)
    try:
        return cluster.up(), disk
    except daemons.Unavailable as reason:
        raise NotRun(str(reason).splitlines()[0]) from reason


def _memory(work):
    """A directory of a file system in memory."""
    path = f"{work}/memory"
    os.makedirs(path)
    testbed.run("mount", "-t", "tmpfs", "-o", "size=1g", "none", path)
    testbed.e2e.at_exit(lambda: testbed.run("umount", "-l", path))
    return path


def lay_out(bed, cluster, work, sets):
    """nfsbench's files of those Workloads, made in a local directory, copied by a native client."""
    local, remote = f"{work}/set", f"{cluster.path.rstrip('/')}/sets"
    cluster.native.make_directory(remote)
    for one in {w.set: w for w in sets}.values():
        cluster.native.make_directory(f"{remote}/{one.set}")
        for first, files, size in one.sets:
            bed.bench().layout(local, first, files, size)
        for name in sorted(os.listdir(local)):
            _copy(cluster.native, f"{local}/{name}", f"{remote}/{one.set}/{name}")
        shutil.rmtree(local)


def _copy(native, source, path):
    file = native.open(path, create=True)
    with open(source, "rb") as data:
        for at in range(0, os.path.getsize(source), 4 * MIB):
            native.write(file, at, data.read(4 * MIB))
    native.settle(file)
    native.shut(file)


def streams_mb_s(disk):
    """That the disk itself gives to who reads in sequence where the sets lie, about."""
    count, began = 32, time.monotonic()
    testbed.run("dd", f"if={disk.loop}", "of=/dev/null", "bs=4M", "skip=64", f"count={count}", "iflag=direct")
    return count * 4 * MIB / 1e6 / (time.monotonic() - began)


def started(bed, cluster, work, server):
    """A gateway with cold caches: one of KINDS."""
    kind, params = KINDS[server]
    cluster.tune(server == "tuned")
    cluster.drop_caches()
    return gateway.Gateway(kind, cluster, work, bed.plugin, params=params).start()


def bad_end(server):
    """How a gateway ended that is stopped here, None: well. What the cluster keeps for it, as if it were to
    come again, goes: the next one's first LOOKUP could wait for that. FSAL_NULL above CEPH always ends by a crash."""
    bad = testbed.bad_end(server.stop())
    server.cluster.forget_ended()
    return None if server.kind == "null" else bad


def measured(bed, server, arguments, ends):
    """(nfsbench's totals of that load, bytes that went over the network meanwhile); the gateway ends."""
    try:
        before = bytes_moved()
        with bed.watch.load():
            results, wrong = bed.bench().load(server, PSEUDO, arguments)
        moved = bytes_moved() - before
    finally:
        ends.stop(server)
    if wrong:
        raise RuntimeError(wrong)
    return results["total"], moved


class Ends:
    """Gateways that are stopped one after the other. Where its client library sleeps for long at the end of
    one, that is while the next ones are measured, and MOST sleep at once."""
    MOST = 8

    def __init__(self):
        self.ending = []

    def stop(self, server):
        """RuntimeError where this one, or one before it, is seen to have ended badly."""
        self.ending.append(server)
        if server.cluster.sleeps_at_end and len(self.ending) < self.MOST:
            server.process.terminate()
        else:
            self.wait()

    def wait(self):
        """For all of them."""
        ends = [bad_end(server) for server in self.ending]
        self.ending.clear()
        for bad in filter(None, ends):
            raise RuntimeError(f"a gateway's end: {bad}")
