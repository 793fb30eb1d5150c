# SPDX-License-Identifier: LGPL-3.0-or-later
"""Gateways: the plugin above CephFS and GlusterFS, beside the stock FSALs and beside these with
the best settings that their own client libraries have. The clusters are those of the tests
(test/clusters), on this machine.

    bench/papers gateways          # or g1, g2 (a modelled disk below), g3, g4 (2 ms of latency)

`moved` is what the gateway had from the cluster over what its clients read, counted at the
network: all but the replies, and what acknowledges them, is the cluster's.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test",
                                "clusters"))

import daemons  # noqa: E402
import ceph  # noqa: E402
import gateway  # noqa: E402
import gluster  # noqa: E402
import plot  # noqa: E402
import testbed  # noqa: E402
import workloads  # noqa: E402
from experiments import rounds  # noqa: E402
from experiments.experiment import Experiment, NotRun, Outcome  # noqa: E402

MIB = 1 << 20
WORKS = ("seq1", "seq8", "stride2", "stride8", "reorder10", "random8k")
SERVERS = ("stock", "tuned", "ra")
LATENCY_MS = 2
REPLY = 1.02  # bytes on the wire of a byte of a READ: headers and acknowledgements


def bytes_moved():
    """Of all that went over the loopback interface of this namespace."""
    with open("/proc/net/dev", encoding="ascii") as table:
        return next(int(line.split(":")[1].split()[0]) for line in table if " lo:" in f" {line}")


class Gateways(Experiment):
    """One cluster, one kind of storage below."""
    did = "No paper: what a gateway gains."
    words = {"reproduced": "as wanted", "better": "as wanted", "not reproduced": "not as wanted"}
    columns = (("work", "work", "{}"), ("server", "server", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("moved / read", "moved", "{:.2f}"))

    def __init__(self, name, kind, latency=False):
        self.name, self.kind, self.latency = name, kind, latency
        below = f"{LATENCY_MS} ms of latency, in memory" if latency else "a modelled disk below"
        self.paper = f"Gateways: FSAL_{kind.fsal_name}, {below}"
        self.ours = ("The stock FSAL, the same with the best settings of its client library, and "
                     "the plugin with its defaults above it, over NFSv3.")
        # Of the stock FSAL: 8 readers, strides of 2 and 8, one reader, reordered, random.
        self.wanted = {("CEPH", False): (5, 9, 8, 1, 1, .98),
                       ("GLUSTER", False): (7, 6, 8, 1, 1.2, .98),
                       ("CEPH", True): (1.1, 4, 4, 3.5, 1, .98),
                       ("GLUSTER", True): (1.5, 5, 5, 6, 1, .98)}[kind.fsal_name, latency]
        self.paper_figure = "wanted: " + ", ".join(
            f"{work} {x:g} x" for work, x in self._wanted().items()) + " stock"
        self.seconds_quick, self.seconds_full = 150, 1800

    def _wanted(self):
        return dict(zip(("seq8", "stride2", "stride8", "seq1", "reorder10", "random8k"),
        self.wanted))

    def _cluster(self, bed, work):
        """(cluster, disk or None), up."""
        disk = None
        if not self.latency:
            disk = bed.disk(size_mb=4096).up()
            if self.kind is ceph.Ceph:
                testbed.run("umount", disk.mount)
        if self.kind is ceph.Ceph:
            cluster = ceph.Ceph(work, devices=[disk.loop] if disk else [],
                                delay_ms=LATENCY_MS if self.latency else 0)
        else:
            bricks = [disk.mount] if disk else [f"{work}/memory"]
            if not disk:
                os.makedirs(bricks[0])
                testbed.run("mount", "-t", "tmpfs", "-o", "size=1g", "none", bricks[0])
                testbed.e2e.at_exit(lambda: testbed.run("umount", "-l", bricks[0]))
            cluster = gluster.Gluster(work, bricks, delay_ms=LATENCY_MS if self.latency else 0)
        return cluster.up(), disk

    def run(self, bed):
        work = testbed.e2e.work_directory()
        try:
            cluster, disk = self._cluster(bed, work)
        except daemons.Unavailable as reason:
            raise NotRun(str(reason).splitlines()[0]) from reason
        size = (64 if bed.quick else 256) * MIB
        works = [workloads.make(n, size, random_count=300 if bed.quick else 1000) for n in WORKS]
        for one in {w.set: w for w in works}.values():
            self._lay_out(bed, cluster, work, one)
        if disk:
            disk.timing(True)

        def once(series, _):
            name, server = series.split()
            return self._measure(bed, cluster, work, works[WORKS.index(name)], server)

        series = [f"{w} {s}" for w in WORKS for s in SERVERS]
        done = rounds.run(bed, series, once)
        return self._outcome(done)

    @staticmethod
    def _lay_out(bed, cluster, work, one):
        """nfsbench's files, made in a local directory, copied by a native client."""
        local, remote = f"{work}/set", f"{cluster.path.rstrip('/')}/sets"
        if not getattr(cluster, "has_sets", False):
            cluster.native.make_directory(remote)
            cluster.has_sets = True
        cluster.native.make_directory(f"{remote}/{one.set}")
        for first, files, size in one.sets:
            bed.bench().layout(local, first, files, size)
        for name in sorted(os.listdir(local)):
            file = cluster.native.open(f"{remote}/{one.set}/{name}", create=True)
            with open(f"{local}/{name}", "rb") as source:
                for at in range(0, os.path.getsize(source.name), 4 * MIB):
                    cluster.native.write(file, at, source.read(4 * MIB))
            cluster.native.settle(file)
            cluster.native.shut(file)
        shutil.rmtree(local)

    @staticmethod
    def _measure(bed, cluster, work, one, name):
        cluster.tune(name == "tuned")
        cluster.drop_caches()
        kind = "ra" if name == "ra" else "stock"
        server = gateway.Gateway(kind, cluster, work, bed.plugin).start()
        try:
            before = bytes_moved()
            results, wrong = bed.bench().load(server, gateway.PSEUDO, one.arguments)
            moved = bytes_moved() - before
        finally:
            bad = testbed.bad_end(server.stop())
        if wrong or bad:
            raise RuntimeError(wrong or f"the gateway's end: {bad}")
        read = sum(reader["bytes"] for reader in results["readers"])
        return {"mb_s": results["total"]["mb_s"], "moved": (moved - REPLY * read) / read}

    def _outcome(self, done):
        points = [done.point(f"{w} {s}", "mb_s", "moved", work=w, server=s)
                  for w in WORKS for s in SERVERS]
        rate = {(p["work"], p["server"]): p["mb_s"]["median"] if p["mb_s"] else 0 for p in points}
        short, told = [], []
        for work, wanted in self._wanted().items():
            ratio = done.ratio(f"{work} ra", f"{work} stock", "mb_s")
            if ratio:
                told.append(f"{work} {ratio['median']:.1f} x")
            if not ratio:
                short.append(f"{work}: no round")
            elif round(ratio["median"], 2) < wanted:
                short.append(f"{work}: {ratio['median']:.2f} x stock, wanted {wanted:g}"
                             + self._beyond(rate, wanted * rate[work, "stock"]))
        return Outcome(points, "not reproduced" if short else "reproduced", "; ".join(short),
                       ", ".join(told) + " stock")

    def _beyond(self, rate, wanted):
        """Whether so many MB/s are more than the disk below has for one reader, whoever serves him."""
        most = max(rate["seq1", server] for server in SERVERS)
        return f" ({wanted:.0f} MB/s, where one reader has {most:.0f})" \
            if not self.latency and wanted > most else ""

    def draw(self, outcome, path):
        groups = {}
        for p in outcome.points:
            if p["mb_s"]:
                groups.setdefault(p["work"], {})[p["server"]] = p["mb_s"]
        plot.bars(path, self.paper, "MB/s", groups)


EXPERIMENTS = [Gateways("g1", ceph.Ceph), Gateways("g2", gluster.Gluster),
               Gateways("g3", ceph.Ceph, latency=True),
               Gateways("g4", gluster.Gluster, latency=True)]
