# SPDX-License-Identifier: LGPL-3.0-or-later
"""What Macklem left as further work, and what his question is today: READs whose size follows the loss
of fragments; and clients with several connections (nconnect) and READs of up to 1 MiB, whose requests
come to the server in another order than they were sent."""
import json
import subprocess

import plot
from experiments import macklem_bed as base
from experiments import rounds
from experiments.experiment import Experiment, Outcome

PAPER = "Macklem 1991"


class FragmentLoss(Experiment):
    name, paper = "m10", f"{PAPER}, section 4, further work"
    did = "Not tried: the size of READs adjusted by the loss of IP fragments."
    ours = ("Read rate over a line of 4 Mbit/s that loses packets by chance: READs of 8 KiB over UDP with "
            "A+4D, the same with a size that follows the loss (bench/nfsbench/read_size.h; a READ that was "
            "answered twice was not lost), of 1 KiB, which is one packet, and TCP. The size that adapts "
            "should be as good as the better of the two fixed ones, and get smaller where that is 1 KiB.")
    paper_figure = "none; smaller READs are \"a last ditch action when all else fails\""
    seconds_quick, seconds_full = 28, 2400
    columns = (("packets lost %", "loss", "{}"), ("transport", "series", "{}"),
               ("KB/s", "kb_s", "{:.1f}"), ("READs sent again", "again", "{:.0f}"),
               ("answered twice", "needless", "{:.0f}"),
               ("bytes of a READ at the end", "bytes", "{:.0f}"))
    SERIES = {"UDP, 8 KiB": ("udp-dynamic",), "UDP, adapted": ("udp-dynamic", "--adapt-request"),
              "UDP, 1 KiB": ("udp-dynamic", "--request", base.KIB), "TCP": ("tcp",)}
    LARGE, ADAPTED, SMALL, _ = SERIES
    LOSSES = 0.5, 5           # percent
    LOSSES_FULL = 0.1, 0.5, 1, 3, 5, 10
    KEEPS = 0.75  # of the better fixed size: what is lost by chance differs from run to run
    words = {"reproduced": "as good as the better size", "not reproduced": "not as good"}
    SIZE_QUICK, SIZE = 1, 4  # MiB
    MOST_QUICK, MOST = 12, 120  # seconds of a load; what is slower is rated by what it got until then

    def run(self, bed):
        losses = self.LOSSES if bed.quick else self.LOSSES_FULL
        size = (self.SIZE_QUICK if bed.quick else self.SIZE) * base.MIB
        found = {}
        with base.cached(bed, files=1, size=16 * base.MIB) as server:
            for loss in losses:
                with base.link(bed, "4mbit", loss / 100) as at:
                    found[loss] = base.must_have_ended(rounds.run(
                        bed, self.SERIES, lambda name, n, at=at: self._once(
                            bed, server, at, size, self.SERIES[name], n)), bed)
        best = {loss: max((self.LARGE, self.SMALL), key=lambda name, d=done: d.median(name, "kb_s") or 0)
                for loss, done in found.items()}
        ratio = {loss: done.ratio(self.ADAPTED, best[loss], "kb_s")["median"]
                 for loss, done in found.items()}
        good, why = base.verdict(self._claims(found, best, ratio))
        figure = "adapted " + ", ".join(
            f"{r:.2f} x {best[loss][5:]} at {loss} %, asking for {self._asked(found[loss]):.0f} bytes"
            for loss, r in ratio.items())
        points = [done.point(name, "kb_s", "again", "needless", "bytes", loss=loss)
                  for loss, done in found.items() for name in self.SERIES]
        return Outcome(points, good, why, figure)

    def _asked(self, done):
        """Bytes at the end."""
        return done.median(self.ADAPTED, "bytes") or 0

    def _claims(self, found, best, ratio):
        small = [loss for loss, name in best.items() if name == self.SMALL]
        stayed = [loss for loss in small if self._asked(found[loss]) >= base.BLOCK]
        return {
            **{f"at {loss} % loss the adapted size gets {r:.2f} of {best[loss][5:]}, asking for "
               f"{self._asked(found[loss]):.0f} bytes at the end": r >= self.KEEPS
               for loss, r in ratio.items()},
            "8 KiB was the better size at each loss, so that nothing was to be adapted": small,
            f"the size stayed where 1 KiB was better, at {', '.join(map(str, stayed))} % loss":
                not stayed}

    @staticmethod
    def _once(bed, server, at, size, transport, number):
        got = base.load(bed, server, ["--work", "seq", "--size", size, "--request", base.BLOCK,
                                      "--outstanding", 2, "--order-seed", 1 + number,
                                      "--transport", *transport], at,
                        FragmentLoss.MOST_QUICK if bed.quick else FragmentLoss.MOST, partial=True)
        if not got["total"]["bytes"]:
            raise RuntimeError(f"nfsbench: {got['problem']}")
        return {"kb_s": 1000 * got["total"]["mb_s"],
                "again": got["transport"].get("retransmitted"),
                "needless": got["transport"].get("late"),
                "bytes": got["transport"].get("read_bytes") or None}

    def draw(self, outcome, path):
        plot.lines(path, f"{self.name}: read rate over a lossy line", "packets lost, %", "KB/s",
                   {name: [(p["loss"], p["kb_s"]) for p in outcome.points if p["series"] == name]
                    for name in self.SERIES}, log=True)


class Arrivals:
    """The order in which READs come to the plugin, by `ractl trace` while it is open: the share that
    comes behind one of a higher offset, and by how much at most."""

    def __init__(self, ractl):
        self.process = subprocess.Popen(
            [ractl, "--json", "trace", "--follow", "--events", "observe"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def end(self):
        self.process.terminate()
        told, wrong = self.process.communicate(timeout=10)
        seen = self.reads(told)
        if not seen:
            raise RuntimeError(f"ractl trace told of no READ: {wrong.strip()[-200:]}")
        return self.judge(seen)

    @staticmethod
    def reads(told):
        """[(number, offset)] of READs out of ractl's answers, one a line; the last may be cut off."""
        seen = []
        for line in told.splitlines():
            try:
                records = json.loads(line).get("records", ())
            except ValueError:
                continue
            seen += [(r["number"], r["offset"]) for r in records if r["event"] == "observe"]
        return seen

    @staticmethod
    def judge(seen):
        furthest, behind, most = -1, 0, 0
        for _, offset in seen:
            behind += offset < furthest
            most = max(most, furthest - offset)
            furthest = max(furthest, offset)
        told = seen[-1][0] - seen[0][0] + 1
        return {"behind_percent": 100 * behind / len(seen), "most_kib": most / 1024,
                "seen": len(seen), "missed": max(0, told - len(seen))}


class Connections(Experiment):
    name, paper = "m11", "the transports' question of today (no paper)"
    did = "-"
    ours = ("One reader with 16 READs outstanding of a cold file on the modelled disk, over 1, 4 and 16 "
            "TCP connections in turn (as nconnect does it), READs of 32 KiB to 1 MiB, from stock and from "
            "the plugin; the order of arrival as the plugin saw it.")
    paper_figure = "-"
    words = {"reproduced": "no cost", "not reproduced": "a cost"}
    seconds_quick, seconds_full = 25, 1500
    columns = (("connections", "connections", "{}"), ("READ KiB", "kib", "{}"),
               ("server", "server", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("seeks", "seeks", "{:.0f}"), ("out of order %", "behind_percent", "{:.1f}"),
               ("at most KiB", "most_kib", "{:.0f}"))
    CONNECTIONS = 1, 4, 16
    REQUESTS = 32, 256, 1024
    KINDS = "stock", "ra"
    KEEPS, KEEPS_QUICK = 0.97, 0.9  # of stock's rate with as many connections

    def run(self, bed):
        size = (96 if bed.quick else 256) * base.MIB
        series = {f"{kind} {n} x {kib} KiB": (kind, n, kib) for kib in self.REQUESTS
                  for n in self.CONNECTIONS for kind in self.KINDS}
        with bed.disk(size_mb=1024) as disk:
            bed.layout(disk, 1, size)
            done = rounds.run(bed, series, lambda name, _: self._once(
                bed, disk, size, *series[name]))
        points = [done.point(name, "mb_s", "seeks", "behind_percent", "most_kib", server=kind,
                             connections=n, kib=kib) for name, (kind, n, kib) in series.items()]
        return self._outcome(bed, done, points)

    def _ratios(self, done, above, below):
        """{(connections, KiB): median of the ratio of two series}, named with {n} and {kib}."""
        found = {(n, kib): done.ratio(above.format(n=n, kib=kib), below.format(n=n, kib=kib), "mb_s")
                 for n in self.CONNECTIONS for kib in self.REQUESTS}
        return {key: ratio["median"] for key, ratio in found.items() if ratio}

    @staticmethod
    def _least(ratios):
        connections, kib = key = min(ratios, key=ratios.get)
        return f"{ratios[key]:.2f} ({connections} connections, {kib} KiB)"

    def _outcome(self, bed, done, points):
        """Beside stock, which knows no order; and each beside its own single connection, which tells
        what the network and the client lose by several."""
        over = self._ratios(done, "ra {n} x {kib} KiB", "stock {n} x {kib} KiB")
        kept = {kind: self._ratios(done, kind + " {n} x {kib} KiB", kind + " 1 x {kib} KiB")
                for kind in self.KINDS}
        if not over or not all(kept.values()):
            raise RuntimeError(f"no round ended; the last one: {bed.failures[-1]}")
        most = max(p["behind_percent"]["median"] for p in points if p["behind_percent"])
        figure = (f"up to {most:.0f} % of READs out of order; {min(over.values()):.2f} to "
                  f"{max(over.values()):.2f} x stock; of its own rate over one connection never below "
                  f"{self._least(kept['ra'])}, stock {self._least(kept['stock'])}")
        keeps = self.KEEPS_QUICK if bed.quick else self.KEEPS
        verdict, why = base.verdict({self._told(done, kept, key, ratio): ratio >= keeps
                                     for key, ratio in over.items()})
        return Outcome(points, verdict, why, figure)

    @staticmethod
    def _told(done, kept, key, ratio):
        connections, kib = key
        alone = {kind: f"{ratios.get(key, 0):.2f}" for kind, ratios in kept.items()}
        seeks = {kind: f"{done.median(f'{kind} {connections} x {kib} KiB', 'seeks'):.0f}"
                 for kind in kept}
        return (f"{connections} connections, {kib} KiB: {ratio:.2f} x stock; of the rate over one "
                f"connection {alone['ra']} (stock {alone['stock']}), seeks {seeks['ra']} "
                f"({seeks['stock']})")

    @staticmethod
    def _once(bed, disk, size, kind, connections, kib):
        with bed.server(kind, disk) as server:
            bed.cold(disk)
            arrivals = Arrivals(bed.program("ractl")) if kind == "ra" else None
            before = disk.stats()["seeks"]
            got = base.load(bed, server, ["--work", "seq", "--size", size, "--request", f"{kib}K",
                                          "--outstanding", 16, "--connections", connections])
            seeks = disk.stats()["seeks"] - before
            seen = arrivals.end() if arrivals else {}
        return {"mb_s": got["total"]["mb_s"], "seeks": seeks, **seen}

    def draw(self, outcome, path):
        groups = {f"{kib} KiB": {f"{p['server']}, {p['connections']} connections": p["mb_s"]
                                 for kind in self.KINDS for p in outcome.points
                                 if p["kib"] == kib and p["server"] == kind}
                  for kib in self.REQUESTS}
        plot.bars(path, f"{self.name}: one reader over several connections", "MB/s", groups)


EXPERIMENTS = [FragmentLoss, Connections]
