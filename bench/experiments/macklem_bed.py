# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of Macklem's paper share: a server that also serves UDP, a link of one of his
three kinds before it, an offered load over each transport, and the pictures of that.

His machines were of 0.9 MIPS on Ethernets of 10 Mbit/s; the links are emulated (bench/link.py,
bench/linkemu), the machine is not: where his curves came from the processor, ours will differ, and
the verdict says so. His files fitted the server's cache; ours are read once before.
"""
import contextlib
import csv
import glob
import json
import math
import os
import statistics
import subprocess
import tempfile

import link as links
import testbed
from experiments import rounds
from experiments.experiment import NotRun

KIB = 1024
MIB = 1024 * KIB
BLOCK = 8 * KIB     # of his READs
FILES = 16
FILE_SIZE = 512 * KIB
TRANSPORTS = {"UDP, RTO 1 s": "udp", "UDP, RTO A+4D": "udp-dynamic", "TCP": "tcp"}
FIXED, DYNAMIC, TCP = TRANSPORTS
MIXES = {"lookup": "lookup", "read": "read-lookup"}
WARM_UP = 1         # seconds
STALL = 60


class Server(testbed.Server):
    udp = True


@contextlib.contextmanager
def cached(bed, kind="ra", files=FILES, size=FILE_SIZE):
    """A started server whose files are all in memory; `.set` is their directory."""
    with bed.disk("flash", size_mb=512 + files * size // MIB) as disk:
        bed.layout(disk, files, size)
        disk.timing(False)
        with Server(kind, disk.mount, plugin=bed.plugin if kind == "ra" else None) as server:
            for path in sorted(glob.glob(f"{disk.mount}/set/f*")):
                with open(path, "rb") as file:
                    while file.read(MIB):
                        pass
            yield server


@contextlib.contextmanager
def link(bed, name, loss=0, seed=1):
    """An emulated link that is up; its counters are in .counted afterwards."""
    if not os.path.exists("/dev/net/tun"):
        raise NotRun("no /dev/net/tun: links cannot be emulated")
    emulated = links.Emulated(links.hops_of(name, loss), bed.program("linkemu"), seed)
    try:
        yield emulated.up()
    finally:
        emulated.counted = emulated.down()


def load(bed, server, arguments, at=None, max_time=120, partial=False):
    """nfsbench's results; `at`: the link that its client is behind, None: this machine. `partial`: also of
    a load that did not come to its end, or not well."""
    command = [*(at.inside if at else ()), bed.nfsbench,
               "--server", at.server if at else getattr(server, "host", "127.0.0.1"),
               "--port", server.port, "--mount-port", server.mport,
               "--export", server.exports[0]["path"], "--dir", "set", "--seed", bed.seed,
               "--stall", STALL, "--max-time", max_time, "--quiet", "--json", "-", *arguments]
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              check=False, timeout=max_time + 60)
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"nfsbench: nothing in {late.timeout:.0f} s") from late
    if not done.stdout:
        raise RuntimeError(f"nfsbench: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    if done.returncode and not partial:
        raise RuntimeError(f"nfsbench: exit status {done.returncode}: {found['problem']}")
    return found


def offered(bed, server, mix, rate, seconds, transport="tcp", at=None, more=()):
    """Results of work mix at so many calls a second."""
    return load(bed, server, ["--work", "mix", "--mix", mix, "--offered", rate, "--files", FILES,
                              "--size", FILE_SIZE, "--request", BLOCK, "--transport", transport,
                              "--warm-up", WARM_UP, "--duration", WARM_UP + seconds, *more], at)


def again_percent(found):
    """Calls sent again, of a hundred."""
    sent = found["transport"].get("retransmitted", 0)
    return 100 * sent / max(1, found["issued"])


def needless_percent(found):
    """Calls that were sent again and answered twice, so that none had been lost, of a hundred."""
    return 100 * found["transport"].get("late", 0) / max(1, found["issued"])


def curves(bed, server, at, mix, rates, seconds):
    """Rounds over the transports, each over all rates: rtt_RATE (ms, the mean as a client sees it),
    again_RATE (percent sent again) and of A+4D rto_RATE (of LOOKUPs, rto_of_trace)."""
    def measured(name, number, rate):
        more = ["--order-seed", 1 + number]
        if name != DYNAMIC:
            return offered(bed, server, mix, rate, seconds, TRANSPORTS[name], at, more), None
        with tempfile.TemporaryDirectory(prefix="ra-rto-", dir="/var/tmp") as work:
            path = os.path.join(work, "trace.csv")
            return (offered(bed, server, mix, rate, seconds, TRANSPORTS[name], at,
                            [*more, "--udp-trace", path]), rto_of_trace(path))

    def once(name, number):
        figures = {}
        for rate in rates:
            found, figures[f"rto_{rate}"] = measured(name, number, rate)
            figures[f"rtt_{rate}"] = found["total"]["mean"] if found["total"]["count"] else None
            figures[f"again_{rate}"] = again_percent(found)
            figures[f"needless_{rate}"] = needless_percent(found)
        return figures

    return must_have_ended(rounds.run(bed, TRANSPORTS, once), bed)


def points(done, rates):
    """A point of a curve each: series, rate, rtt, again."""
    return [{"series": name, "rate": rate, "rtt": done.interval(name, f"rtt_{rate}"),
             "again": done.interval(name, f"again_{rate}")}
            for name in done.series() for rate in rates]


def mean_ratio(done, above, below, rates):
    """Geometric mean over the rates of the ratio of two transports' mean round trips."""
    found = [done.ratio(above, below, f"rtt_{rate}") for rate in rates]
    logs = [math.log(f["median"]) for f in found if f and f["median"] > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def worst_ratio(done, above, below, rates):
    """The largest of them."""
    found = [done.ratio(above, below, f"rtt_{rate}") for rate in rates]
    return max((f["median"] for f in found if f), default=None)


def with_means(done, rates):
    """The same rounds, each with rtt_all: the geometric mean of its round trips over the rates."""
    for record in done.records:
        figures = record.get("figures") or {}
        found = [figures.get(f"rtt_{rate}") for rate in rates]
        if all(found):
            figures["rtt_all"] = math.exp(sum(map(math.log, found)) / len(found))
    return done


def side(ratio, of=1):
    """On which side of `of` an interval of several rounds lies: 1 above, -1 below; 0: no difference can
    be told. It must exclude it; and where there are too few rounds to cover LEVEL, it must be as far from
    it as they vary among each other. One round tells nothing: nobody knows how much the next differs."""
    if not ratio or ratio["rounds"] < 2 or ratio["low"] <= of <= ratio["high"]:
        return 0
    nearest = min(abs(ratio["low"] - of), abs(ratio["high"] - of))
    if ratio["coverage"] < rounds.LEVEL and nearest < ratio["high"] - ratio["low"]:
        return 0
    return 1 if ratio["low"] > of else -1


def sent_again(done, rates):
    """In words: what each transport sent again, over the rates."""
    told = []
    for name in done.series():
        shares = [[done.median(name, f"{key}_{rate}") for rate in rates]
                  for key in ("again", "needless")]
        if name != TCP:
            again, needless = (", ".join(f"{s:.1f}" for s in of if s is not None) for of in shares)
            told.append(f"{name} {again} % ({needless} % though nothing was lost)")
    return f"sent again at {', '.join(map(str, rates))} calls/s: " + "; ".join(told)


def rto_of_trace(path):
    """The time to wait of LOOKUPs as they were answered, ms: median of the first, second and last third of
    the run, and the most. None of too few."""
    with open(path, encoding="ascii") as file:
        rto = [float(row[3]) for row in csv.reader(file) if row[1] == "lookup"]
    third = len(rto) // 3
    if not third:
        return None
    return [statistics.median(part) for part in (rto[:third], rto[third:2 * third], rto[2 * third:])] \
        + [max(rto)]


def rto_of(done, rates):
    """In words: A+4D's time to wait over a run, of the first round."""
    told = [(rate, done.values(DYNAMIC, f"rto_{rate}")) for rate in rates]
    return f"{DYNAMIC[5:]} of LOOKUPs, ms, median of the thirds of a run: " + "; ".join(
        f"{rate} calls/s " + ", ".join(f"{ms:.0f}" for ms in found[0][:3]) + f" (most {found[0][3]:.0f})"
        for rate, found in told if found)


def lost_on(counted):
    """In words: what the link lost, of link.Emulated's counters."""
    ways = [(w["lost_in_queue"] + w["lost_by_chance"], max(1, w["packets"]))
            for w in (counted.get(k) for k in ("up", "down")) if w]
    return "the link lost " + " and ".join(f"{100 * lost / packets:.1f} %" for lost, packets in ways) \
        + " of packets to the client and from it" if ways else "the link counted nothing"


def must_have_ended(done, bed):
    """RuntimeError, with the reason, where a series has no round that came to its end."""
    for name in done.series():
        if not any(r["series"] == name and r.get("figures") for r in done.records):
            raise RuntimeError(f"{name}: no round came to its end; the last failure: "
                               f"{bed.failures[-1] if bed.failures else 'none'}")
    return done


def verdict(claims):
    """(verdict, why) of {text: whether it holds}: all must."""
    wrong = [text for text, holds in claims.items() if not holds]
    return ("not reproduced", "; ".join(wrong)) if wrong else ("reproduced", "")
