# SPDX-License-Identifier: LGPL-3.0-or-later
"""Macklem's experiments with a disk behind the server: the default mix and lookups against other
servers (graphs 8 and 9), and what a client's write policy costs (table 5)."""
import contextlib
import glob
import math
import os
import struct
import time

import knfsd
import nfs3
import plot
from experiments import macklem_bed as base
from experiments import rounds
from experiments.experiment import Experiment, Outcome

PAPER = "Macklem 1991"
LESS = 0.97  # of another server's mean round trip: less than that counts as better
FILES, SIZE = 64, 2 * base.MIB


class Servers(Experiment):
    """Mean round trip over the load of one mix, by server."""
    mix = ""
    kinds = ()
    rates_quick = rates_full = ()
    seconds_point = 6, 40  # quick, full
    columns = (("server", "series", "{}"), ("calls/s offered", "rate", "{}"),
               ("mean RTT ms", "rtt", "{:.2f}"), ("p99 ms", "p99", "{:.1f}"))

    def run(self, bed):
        rates = self.rates_quick if bed.quick else self.rates_full
        kinds = [k for k in self.kinds if k != "knfsd" or not knfsd.lacking()]
        with bed.disk(size_mb=1024) as disk:
            bed.layout(disk, FILES, SIZE)
            os.symlink("f0000", f"{disk.mount}/set/link0000")
            done = base.must_have_ended(rounds.run(
                bed, kinds, lambda name, n: self._once(bed, disk, name, rates, n)), bed)
        ratios = {other: base.mean_ratio(done, "ra", other, rates) for other in kinds if other != "ra"}
        found, why = base.verdict({f"{ratio:.2f} x {other}": ratio <= LESS
                                   for other, ratio in ratios.items()})
        figure = "mean RTT " + ", ".join(f"{r:.2f} x {other}" for other, r in ratios.items())
        points = [{"series": name, "rate": rate, "rtt": done.interval(name, f"rtt_{rate}"),
                   "p99": done.interval(name, f"p99_{rate}")} for name in kinds for rate in rates]
        traced = self.by_operation(done, kinds, max(rates))
        return Outcome(points, found, why and f"{figure}: {self.reason}; {traced}", figure,
                       {"without": knfsd.lacking() if "knfsd" in self.kinds else None})

    def _once(self, bed, disk, name, rates, number):
        seconds = self.seconds_point[not bed.quick]
        for path in glob.glob(f"{disk.mount}/set/[cw]*"):
            os.remove(path)
        os.sync()
        figures = {}
        with self._server(bed, disk, name) as server:
            if name != "knfsd":
                bed.cold(disk)
            for rate in rates:
                found = base.offered(bed, server, self.mix, rate, seconds, more=[
                    "--files", FILES, "--size", SIZE, "--order-seed", 1 + number])
                figures[f"rtt_{rate}"] = found["total"]["mean"]
                figures[f"p99_{rate}"] = found["total"]["p99"]
                figures[f"ops_{rate}"] = {op: [row["count"], row["mean"]]
                                          for op, row in found.get("ops", {}).items()}
        return figures

    @staticmethod
    def by_operation(done, kinds, rate):
        """In words: where the time of the servers went, the three costliest operations of each."""
        told = []
        for name in kinds:
            of_ops = {}
            for ops in done.values(name, f"ops_{rate}"):
                for op, (count, mean) in ops.items():
                    of_ops[op] = of_ops.get(op, 0) + count * mean
            whole = sum(of_ops.values()) or 1
            most = sorted(of_ops, key=of_ops.get, reverse=True)[:3]
            told.append(f"{name} " + ", ".join(f"{op} {100 * of_ops[op] / whole:.0f} %"
                                               for op in most))
        return f"of all round trips at {rate} calls/s: " + "; ".join(told)

    @staticmethod
    @contextlib.contextmanager
    def _server(bed, disk, name):
        if name == "knfsd":
            with knfsd.Server(disk) as server:
                yield server
        else:
            with bed.server(name, disk) as server:
                yield server

    def draw(self, outcome, path):
        names = list(dict.fromkeys(p["series"] for p in outcome.points))
        plot.lines(path, f"{self.name}: {self.mix} mix", "calls/s offered", "mean RTT, ms",
                   {n: [(p["rate"], p["rtt"]) for p in outcome.points if p["series"] == n]
                    for n in names})


class DefaultMix(Servers):
    name, paper = "m8", f"{PAPER}, graph 8"
    mix, kinds = "default", ("ra", "stock", "knfsd")
    rates_quick, rates_full = (40, 120), (20, 40, 80, 120, 160)
    did = "Nhfsstone's default mix on two servers on one machine: 4.3BSD Reno and Ultrix."
    ours = ("The default mix, WRITEs on the disk when answered, on the modelled disk: ours, stock VFS, and "
            "the kernel's server in a guest. Files cold at first.")
    paper_figure = "Reno well below Ultrix at all loads"
    reason = "what all three wait for is one disk"
    seconds_quick, seconds_full = 65, 4500


class LookupMix(Servers):
    name, paper = "m9", f"{PAPER}, graph 9"
    mix, kinds = "lookup", ("ra", "stock")
    rates_quick, rates_full = (500, 3000), (250, 500, 1000, 2000, 4000, 6000)
    did = "Lookups only on two servers: 4.3BSD Reno, with a name cache, and Ultrix."
    ours = ("The same on ours and stock VFS. The kernel's server runs in a guest, whose processor is slower: "
            "where nothing waits for a disk it is not compared.")
    paper_figure = "Reno well below Ultrix; the name cache explains a small part of it"
    reason = "both have one name cache, the core's, and LOOKUP does not come to the plugin's own code"
    seconds_point = 3, 40
    seconds_quick, seconds_full = 25, 2000


# ---- table 5 ----

POLICIES = {  # (stable, outstanding, whether the data is pushed at all)
    "write through": (nfs3.FILE_SYNC, 1, True),
    "async, 4": (nfs3.FILE_SYNC, 4, True),
    "async, 16": (nfs3.FILE_SYNC, 16, True),
    "unstable, COMMIT at close": (nfs3.UNSTABLE, 4, True),
    "no consistency": (nfs3.UNSTABLE, 4, False),
}
LOCAL = "local"
SIZES = {"no data": 0, "10 KB": 10 * base.KIB, "100 KB": 100 * base.KIB}


def create_delete(client, size, stable, outstanding, push):
    """One file: made, written, closed, opened, read, deleted (Ousterhout 1990). Seconds. With `push`
    what was written is on the server's disk when it is closed; without it stays in the client's cache,
    where the file dies."""
    began = time.monotonic()
    status, fh = client.create("create-delete")
    nfs = client.nfs
    if status != nfs3.OK:
        raise RuntimeError(f"CREATE: {status}")
    for at in range(0, size if push else 0, base.BLOCK):
        while nfs.unanswered >= outstanding:
            _written(nfs)
        data = bytes(min(base.BLOCK, size - at))
        nfs.send(nfs3.WRITE, client.write_body(fh, at, data, stable))
    while nfs.unanswered:
        _written(nfs)
    if push and size and stable == nfs3.UNSTABLE and client.commit(fh).status != nfs3.OK:
        raise RuntimeError("COMMIT failed")
    client.getattr(fh)  # open: its own data is in the cache, and valid
    if client.remove("create-delete") != nfs3.OK:
        raise RuntimeError("REMOVE failed")
    return time.monotonic() - began


def _written(nfs):
    _, reply = nfs.receive()
    status = struct.unpack_from(">I", reply.data, reply.at)[0]
    if status:
        raise RuntimeError(f"WRITE: {status}")


def create_delete_here(directory, size):
    began = time.monotonic()
    path = os.path.join(directory, "create-delete")
    with open(path, "wb") as file:
        file.write(bytes(size))
    with open(path, "rb") as file:
        file.read()
    os.remove(path)
    return time.monotonic() - began


class CreateDelete(Experiment):
    name, paper = "mt5", f"{PAPER}, table 5"
    did = "Create-Delete: a file is made, written, closed, read and deleted, by write policy and size."
    ours = ("The same calls by a small client, blocks of 8 KiB, on the modelled disk; asynchronous with 4 "
            "and 16 outstanding stands for biods. NFSv3's own policy beside it: UNSTABLE, and COMMIT at "
            "close, which is also what delayed writing comes to.")
    paper_figure = ("ms for 100 KB: local 1170, write through 2401, async 1940 to 2094, delayed 2230, "
                    "without consistency 329")
    seconds_quick, seconds_full = 25, 900
    columns = (("policy", "series", "{}"), *((f"{size}, ms", size, "{:.1f}") for size in SIZES))

    def run(self, bed):
        times = 6 if bed.quick else 25
        with bed.disk(size_mb=512) as disk:
            os.chmod(disk.mount, 0o777)
            disk.timing(True)
            with bed.server("ra", disk) as server:
                def once(name, _):
                    return {size: 1000 * self._mean(server, disk, name, n, times)
                            for size, n in SIZES.items()}

                done = base.must_have_ended(rounds.run(bed, [LOCAL, *POLICIES], once), bed)
        gain = done.ratio("write through", "async, 4", "100 KB")["median"]
        kept = done.ratio("write through", "no consistency", "100 KB")["median"]
        commit = done.ratio("write through", "unstable, COMMIT at close", "100 KB")["median"]
        claims = {"asynchronous writing gains less than a tenth": gain >= 1.1,
                  "not pushing gains less than a factor of 3": kept >= 3}
        found, why = base.verdict(claims)
        figure = (f"100 KB: async {gain:.2f} x as fast as write through, no push on close "
                  f"{kept:.1f} x, UNSTABLE and COMMIT {commit:.1f} x")
        return Outcome([done.point(name, *SIZES) for name in done.series()], found,
                       why and f"{why} ({figure})", figure)

    @staticmethod
    def _mean(server, disk, name, size, times):
        if name == LOCAL:
            took = [create_delete_here(disk.mount, size) for _ in range(times)]
        else:
            client = nfs3.Client(server, server.exports[0]["path"])
            try:
                took = [create_delete(client, size, *POLICIES[name]) for _ in range(times)]
            finally:
                client.close()
        return math.fsum(took) / len(took)

    def draw(self, outcome, path):
        plot.bars(path, f"{self.name}: create, write, read, delete", "ms a file",
                  {size: {p["series"]: p[size] for p in outcome.points} for size in SIZES})


EXPERIMENTS = [DefaultMix, LookupMix, CreateDelete]
