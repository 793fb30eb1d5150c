# SPDX-License-Identifier: LGPL-3.0-or-later
"""The price of a gateway: that of the disk below the cluster, which other clients of the cluster use
up while one reads through the gateway (test/clusters/priced.py)."""
import statistics

import plot
import testbed
from experiments import gateway_bed, rounds
from experiments.experiment import Experiment, Outcome
from experiments.gateway_bed import priced

SERIES = "ra"
# (key, what it is, its limit, whether that is the most)
ASKED = (("idle", "the price with one reader", priced.IDLE, True),
         ("up_s", f"seconds until it is above {priced.BUSY:g}", priced.FOLLOWS_S, True),
         ("busy", "the price while others use the disk up", priced.BUSY, False),
         ("down_s", f"seconds until it is below {priced.IDLE:g} again", priced.FOLLOWS_S, True))


def figures(seen):
    """Of a priced.Course. What did not come within WAITED_S took as long."""
    if seen.broken:
        raise RuntimeError(f"the reader: {seen.broken}")
    return {"idle": statistics.median(seen.idle), "up_s": waited(seen.rose),
            "busy": statistics.median(seen.busy), "down_s": waited(seen.fell),
            "idle_most": max(seen.idle), "busy_least": min(seen.busy),
            "reads": seen.reads, "others_reads": seen.others_reads}


def waited(seconds):
    return priced.WAITED_S if seconds is None else seconds


class Prices(Experiment):
    """One cluster, on a modelled disk."""
    did = "No paper: the price of a gateway. CA-NFS' figure 5 is of a server's own disk."
    words = {"reproduced": "as wanted", "not reproduced": "not as wanted"}
    columns = (("price, one reader", "idle", "{:.3f}"), ("the highest then", "idle_most", "{:.3f}"),
               (f"above {priced.BUSY:g} after, s", "up_s", "{:.1f}"),
               ("price, disk used up", "busy", "{:.3f}"), ("the least then", "busy_least", "{:.3f}"),
               (f"below {priced.IDLE:g} after, s", "down_s", "{:.1f}"))
    seconds_quick, seconds_full = 70, 300

    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.paper = f"Gateways: the price of FSAL_{kind.fsal_name}, {gateway_bed.STORAGES['disk']}"
        self.ours = (f"One reader of 32 KiB in no order through the gateway, and for some seconds {priced.OTHERS} "
                     "more beside it, of a client of the cluster's own. What the gateway shows of the "
                     "cluster's storage.")
        self.paper_figure = "wanted: " + ", ".join(
            f"{what} {'below' if most else 'above'} {limit:g}" for _, what, limit, most in ASKED)

    def run(self, bed):
        work = testbed.e2e.work_directory()
        cluster, disk = gateway_bed.cluster_above(bed, self.kind, "disk", work)
        path = priced.lay_out(cluster)
        disk.timing(True)

        def once(*_):
            server, other = gateway_bed.started(bed, cluster, work, "ra"), cluster.another_client()
            try:
                with bed.watch.load():
                    seen = priced.course(server, other, path)
            finally:
                other.close()
                bad = gateway_bed.bad_end(server)
            if bad:
                raise RuntimeError(f"the gateway's end: {bad}")
            return figures(seen)

        return self.outcome(rounds.run(bed, [SERIES], once))

    def outcome(self, done):
        point = done.point(SERIES, *(key for _, key, _ in self.columns))
        short, untold, told = [], [], []
        for key, what, limit, most in ASKED:
            found = point[key]
            if not found:
                return Outcome([], "not run", "no round came to its end")
            told.append(f"{what} {found['median']:.3g}")
            if (found["median"] >= limit) if most else (found["median"] <= limit):
                good = found["low"] < limit if most else found["high"] > limit
                (untold if good else short).append(
                    f"{what}: {rounds.in_words(found)}, wanted {'below' if most else 'above'} {limit:g}")
        return Outcome([point], "not reproduced" if short else "not told" if untold else "reproduced",
                       "; ".join(short + untold), ", ".join(told))

    def draw(self, outcome, path):
        if outcome.points:
            plot.bars(path, self.paper, "s", {
                f"until above {priced.BUSY:g}": outcome.points[0]["up_s"],
                f"until below {priced.IDLE:g}": outcome.points[0]["down_s"]})
