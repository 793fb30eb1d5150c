#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Gateways above a cluster: test_cluster.py CLUSTER PLUGIN MECHDISK [PART...]

CLUSTER: ceph (in memory, with latency), ceph-disk (BlueStore on the modelled disk), ceph-two (two
OSDs in memory), gluster (one brick on the modelled disk), gluster-replica (two bricks, with
latency), gluster-late (one that tells attributes late, and none with other answers), ceph-short and
gluster-short (one OSD, one brick, in memory, without latency: the basics, in less than two minutes
each). Each part is run above the plugin, and where it says how the stock FSAL behaves, above that
too: with PLUGIN `stock` above that alone.
"""
import faulthandler
import os
import sys
import threading
import time
import traceback

import daemons
import ceph
import e2e
import gateway
import gluster
import modelled_disk
import parts

DELAY_MS, LATE_MS = 2, 1500
MOST_SECONDS = float(os.environ.get("RA_CLUSTER_SECONDS", 420))


class Bed:
    """What the parts work with: a cluster, and gateways above it."""

    def __init__(self, cluster, work, plugin, disk=None, short=False):
        self.cluster, self.work, self.plugin = cluster, work, plugin
        self.disk, self.short = disk, short
        self.reads = parts.READS // 4 if short else parts.READS  # to be judged
        self.kind = "ra" if plugin else "stock"

    def gateway(self, kind=None, **more):
        kind = kind or self.kind
        return gateway.Gateway(kind, self.cluster, self.work, self.plugin, **more).start(120)


def memory(work):
    """An ext4 without a disk's time below it, for a brick."""
    return e2e.loop_export(work, 2 << 30, name=f"brick{len(os.listdir(work))}", options="loop")


def make_cluster(name, work, mechdisk):
    """(the cluster, not up; the modelled disk below it or None)"""
    if name == "ceph":
        return ceph.Ceph(work, delay_ms=DELAY_MS), None
    if name == "ceph-short":
        return ceph.Ceph(work), None
    if name == "gluster-short":
        return gluster.Gluster(work, [memory(work)]), None
    if name == "gluster-late":
        return gluster.Gluster(work, [memory(work)], delay_ms=LATE_MS, delayed="stat,fstat",
                               options={"performance.stat-prefetch": "off"}), None
    if name == "ceph-two":
        return ceph.Ceph(work, osds=2), None
    if name == "gluster-replica":
        return gluster.Gluster(work, [memory(work), memory(work)], delay_ms=DELAY_MS), None
    disk = modelled_disk.for_test(work, mechdisk, 4096)
    if name == "gluster":
        return gluster.Gluster(work, [disk.mount]), disk
    e2e.run("umount", disk.mount)
    return ceph.Ceph(work, devices=[disk.loop]), disk


CLUSTERS = {
    "ceph": ("config_example", "streams", "fsstat", "coherence", "aged", "held_writer", "held_traffic",
             "idle_writer", "warned", "bounded", "guest", "shutdown", "valgrind"),
    "ceph-two": ("parity", "storage_lost"),
    "ceph-disk": ("coherence", "price_follows", "shares", "unstable", "storage_lost", "shutdown"),
    "gluster": ("config_example", "streams", "fsstat", "parity", "coherence", "upcalls", "guest",
                "price_follows", "shares", "unstable", "aged", "held_traffic", "storage_lost",
                "shutdown"),
    "gluster-replica": ("coherence", "states", "half_done", "renamed", "bounded", "storage_lost",
                        "valgrind"),
    "gluster-late": ("late_answers",),
    "ceph-short": ("streams", "open_files", "fsstat", "parity", "coherence"),
    "gluster-short": ("streams", "open_files", "fsstat", "states", "renamed", "parity", "aged", "coherence"),
}


def try_parts(bed, name, wanted):
    for part in wanted:
        began = time.monotonic()
        try:
            getattr(parts, part)(bed)
        except Exception:  # whatever it is, the other parts are tried
            e2e.check(False, f"{part} could be tried", traceback.format_exc())
        e2e.note(f"{name}: {part}: {time.monotonic() - began:.1f} s")


def try_in_time(*arguments):
    """A call of a cluster's library that does not come back cannot be interrupted: it is left."""
    thread = threading.Thread(target=try_parts, args=arguments, daemon=True)
    thread.start()
    thread.join(MOST_SECONDS)
    if not e2e.check(not thread.is_alive(), f"all of it within {MOST_SECONDS:.0f} s"):
        faulthandler.dump_traceback(sys.stdout)
        end = threading.Timer(30, os._exit, (1,))
        end.daemon = True
        end.start()


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in CLUSTERS:
        sys.exit(__doc__)
    name, plugin, mechdisk = sys.argv[1:4]
    plugin = None if plugin == "stock" else e2e.plugin_from([plugin], __doc__)
    e2e.enter()
    work = e2e.work_directory()
    began = time.monotonic()
    try:
        cluster, disk = make_cluster(name, work, mechdisk)
        cluster.up()
    except daemons.Unavailable as reason:
        e2e.skip(f"no cluster {name}: {reason}")
    if disk:
        disk.timing(True)
    e2e.note(f"{name}: up after {time.monotonic() - began:.1f} s")
    bed = Bed(cluster, work, plugin, disk, name.endswith("-short"))
    try_in_time(bed, name, sys.argv[4:] or CLUSTERS[name])
    e2e.finish()


if __name__ == "__main__":
    main()
