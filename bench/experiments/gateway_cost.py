# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a random READ of 8 KiB of a cluster's memory costs this machine, on which client, gateway and cluster are:
above the stock FSAL, with Ganesha's own layer that does nothing between (FSAL_NULL), and with the plugin, which
follows no reader (off), or all (ra)."""
import plot
import testbed
import workloads
from experiments import gateway_bed, rounds
from experiments.experiment import Experiment, NotRun, Outcome
from experiments.gateway_bed import daemons

SERVERS = ("stock", "null", "off", "ra")
MOST = 1.02  # times what it costs above the stock FSAL: else a machine that has nothing to spare has less than 0.98
COUNT = 16000, 64000  # READs of a round, quick and full
SIZE_MIB = 256
WORK = "random8ko32"


class Cost(Experiment):
    """One cluster, in memory."""
    did = "No paper: what a layer costs."
    words = {"reproduced": "as wanted", "not reproduced": "not as wanted"}
    columns = (("server", "server", "{}"), ("processor time a READ, us", "us", "{:.0f}"), ("MB/s", "mb_s", "{:.1f}"))
    seconds_quick, seconds_full = 40, 400

    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.paper = f"Gateways: what a random READ costs above FSAL_{kind.fsal_name}, {gateway_bed.STORAGES['memory']}"
        self.ours = ("Random READs of 8 KiB, 32 outstanding, and the time of this machine's processors that was used "
                     "meanwhile, by all: the stock FSAL, FSAL_NULL above it, the plugin with Heuristic = off, and as it is.")
        self.paper_figure = f"wanted: with the plugin at most {MOST:g} x what it is above the stock FSAL"

    def run(self, bed):
        work = testbed.e2e.work_directory()
        try:
            daemons.need_fsal("NULL", "nfs-ganesha-nullfs")
        except daemons.Unavailable as reason:
            raise NotRun(str(reason)) from reason
        cluster, _ = gateway_bed.cluster_above(bed, self.kind, "memory", work)
        load = workloads.make(WORK, SIZE_MIB << 20, random_count=COUNT[not bed.quick])
        gateway_bed.lay_out(bed, cluster, work, [load])
        ends = gateway_bed.Ends()

        def once(server, _):
            return measure(bed, gateway_bed.started(bed, cluster, work, server), load, ends)

        done = rounds.run(bed, SERVERS, once)
        ends.wait()
        return self.outcome(done)

    @staticmethod
    def outcome(done):
        points = [done.point(s, "us", "mb_s", server=s) for s in SERVERS]
        ratios = {s: done.ratio(s, "stock", "us") for s in SERVERS[1:]}
        found = ratios["ra"]
        if not found:
            return Outcome(points, "not run", "no round came to its end")
        figure = ", ".join(f"{s} {r['median']:.2f} x stock" for s, r in ratios.items() if r)
        if round(found["median"], 2) <= MOST:
            return Outcome(points, "reproduced", "", figure)
        why = f"{rounds.in_words(found, ' x stock')}, wanted {MOST:g}"
        return Outcome(points, "not told" if round(found["low"], 2) <= MOST else "not reproduced", why, figure)

    def draw(self, outcome, path):
        times = {p["server"]: p["us"] for p in outcome.points if p["us"]}
        if times:
            plot.bars(path, self.paper, "us", times)


def measure(bed, server, load, ends):
    """Processor time a READ (us) by all that runs, and MB/s."""
    total, _ = gateway_bed.measured(bed, server, load.arguments, ends)
    return {"us": 1e6 * bed.watch.busy_s() / total["requests"], "mb_s": total["mb_s"]}
