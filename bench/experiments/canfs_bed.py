# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of CA-NFS share: the four columns, a scene with a new disk and a server, the
clients of bench/canfs on it, and the rule by which a verdict is found."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading

import machine
import plot
import servers
import testbed
from experiments import rounds
from experiments.experiment import Experiment, Outcome

MIB = 1 << 20
FIRST_CLIENT = "127.0.1.1"
NO_ACTS = {"Writeback": "false", "Write_Delay_Max": 0}
COLUMNS = {  # server, its settings, clients' mode, whether clients have addresses of their own
    "plain stock": ("stock", {}, "plain", True),
    "plain ours": ("ra", {}, "plain", True),
    "ca prices": ("ra", NO_ACTS, "ca", False),
    "ca all": ("ra", {}, "ca", True),
}
# Others, which single out what a column differs by: here the server alone.
CAUSES = {"plain, no acts": ("ra", NO_ACTS, "plain", False)}
# What may follow the name of a column, and the clients' options by it. A lazy close saves nothing:
# no close-to-open, as if nobody else could open the file (with a delegation). The larger limit is
# what a CA client may keep unsaved at most.
VARIANTS = {"writes only": ("--no-price-readahead",), "lazy close": ("--lazy-close",),
            "no deferral": ("--no-defer",), "larger limit": ("--dirty-limit", "0.8")}
# Said of each experiment (`ours`): what is free here and was not in the paper.
FREE_CPU = " The server's processors are the clients' too and therefore not priced (the server sees a " \
    "/proc/stat in which nothing happens)"
FREE = FREE_CPU + "; nor is the clients' own network, which is this machine's memory."
PAPER = "Batsakis and others 2009 (CA-NFS)"
DEFER = 1  # of a client's ways, as in src/pricing/auction.h
WHOLE = 0.98  # of plain stock: the least that a work without asynchronous operations may get


class Failed(RuntimeError):
    """canfs, or what it says, is not as it must be; the text says how."""


def kind_of(column):
    """Of COLUMNS, and the options of the variant."""
    if column in CAUSES:
        return CAUSES[column], ()
    name, _, variant = column.partition(", ")
    return COLUMNS[name], VARIANTS[variant] if variant else ()


def is_ca(column):
    return kind_of(column)[0][2] == "ca"


def groups_of(specs):
    return [part for spec in specs for part in ("--group", spec)]


def run_canfs(command, disk, seconds):
    """(exit status, why). What is under way when nothing counts any more need not wait for the disk."""
    with subprocess.Popen([*command, "--tell"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        late = threading.Timer(seconds, child.kill)
        late.start()
        try:
            if child.stdout.readline():
                disk.timing(False)
            wrong = child.communicate()[1]
        finally:
            child.kill()
            late.cancel()
            disk.timing(True)
    return child.returncode, wrong.strip()[-500:] or f"killed, after {seconds} s at the latest"


def load(bed, disk, server, column, specs, options=(), host="127.0.0.1", inside=(), seconds=300):
    """canfs' results. Without addresses of their own all clients are one to the server, and told
    one price, as in the paper; Failed where a byte was wrong or, of ca, no price was believed."""
    (*_, mode, apart), more = kind_of(column)
    out = tempfile.mkstemp(prefix="canfs-", suffix=".json")[1]
    try:
        command = [*inside, bed.program("canfs"), "--server", host, "--port", server.port,
                   "--mount-port", server.mport, "--export", disk.mount, "--mode", mode,
                   "--seed", bed.seed, "--json", out, *groups_of(specs), *options, *more]
        command += ["--from", FIRST_CLIENT] if apart and not inside else []
        status, wrong = run_canfs([str(c) for c in command], disk, seconds)
        if status:
            raise Failed(f"canfs: {wrong}")
        with open(out, encoding="ascii") as file:
            found = json.load(file)
    finally:
        os.unlink(out)
    if mode == "ca" and not any(c["believed"] for c in found["clients"]):
        raise Failed("no client believed the server's prices")
    return found


def lay_out(bed, disk, specs):
    disk.timing(False)
    subprocess.run([bed.program("canfs"), "--layout", disk.mount, "--seed", str(bed.seed),
                    *groups_of(specs)], check=True)
    os.sync()
    disk.timing(True)


@contextlib.contextmanager
def server_of(bed, disk, kind, fsal, ra, memory="small"):
    """As bed.server(), with little memory, if machine.set_memory is not told another; but the
    processors, which here are the clients' too, are not the server's to price: it sees a /proc/stat
    in which nothing happens."""
    setting = {"kind": kind, "read_ahead_kb": 128}
    machine.set_memory(memory)
    servers.prepare(setting, disk)
    server = testbed.Server(kind, disk.mount, fsal=fsal, ra=ra if kind == "ra" else None,
                            plugin=bed.plugin if kind == "ra" else None)
    still = f"{server.own_work}/stat"
    shutil.copyfile("/proc/stat", still)
    script = 'mount --bind "$0" /proc/stat && exec "$@"'
    server.wrap = ("unshare", "-m", "bash", "-c", script, still)
    try:
        yield server.start()
    finally:
        bad = testbed.bad_end(server.stop())
    if bad:
        raise Failed(f"the server's end: {bad}:\n{server.log_text()[-1000:]}")


@contextlib.contextmanager
def laid_out(bed, specs, **disk_settings):
    """A new disk with the works' files."""
    with bed.disk(**{"size_mb": 2048, **disk_settings}) as disk:
        lay_out(bed, disk, specs)
        yield disk


@contextlib.contextmanager
def again(disk):
    """A disk that was laid out before, for works that leave their files where they are."""
    disk.renew()
    yield disk


@contextlib.contextmanager
def scene(bed, column, specs, ra=None, laid=None, **disk_settings):
    """A new disk with the works' files, or the one that is `laid` out, cold, and the server:
    (disk, server)."""
    kind, fsal = kind_of(column)[0][:2]
    with again(laid) if laid else laid_out(bed, specs, **disk_settings) as disk:
        with server_of(bed, disk, kind, fsal, ra) as server:
            bed.cold(disk)
            yield disk, server


def disk_figures(before, after):
    wanted = {"disk_read_mb": "read_bytes", "disk_written_mb": "write_bytes", "seeks": "seeks"}
    return {name: (after[key] - before[key]) / (1e6 if name.endswith("mb") else 1)
            for name, key in wanted.items() if key in after}


def measure(bed, column, specs, options=(), ra=None, laid=None, **disk_settings):
    """canfs' results of a column, with what its disk did."""
    with scene(bed, column, specs, ra, laid, **disk_settings) as (disk, server):
        before = disk.stats()
        found = load(bed, disk, server, column, specs, options)
        found["disk"] = disk_figures(before, disk.stats())
    return found


def group(found, name):
    return next(g for g in found["groups"] if g["name"] == name)


def total(found, key):
    return sum(c[key] for c in found["clients"])


def ways(found):
    """Of the clients' time, the share that each way had; and what those that believe there are prices
    heard and bid, in the mean of what is counted."""
    spent = {w: sum(c["ways_s"][w] for c in found["clients"])
             for w in ("send", "defer", "accelerate")}
    whole = sum(spent.values()) or 1
    return {**{f"{w}_share": s / whole for w, s in spent.items()},
            **{key: heard(found, key) for key in ("price", "bid")}}


def heard(found, key):
    """Of the histories of those who believe, the mean over the seconds that are counted; or None."""
    seconds = max(1, round(found["seconds"]))
    values = [v for c in found["clients"] if c["believed"] for v in c["history"][key][-seconds:]]
    return sum(values) / len(values) if values else None


def judge(gain, target):
    """By rule: better where even the low end of more than one round is above the target, reproduced
    where the median is not below it."""
    if gain is None:
        return "not reproduced"
    if gain["rounds"] > 1 and gain["low"] > target:
        return "better"
    return "reproduced" if gain["median"] >= target else "not reproduced"


COUNTERS = {"seeks": "seeks", "disk_read_mb": "MB read from the disk",
            "disk_written_mb": "MB written", "defer_share": "of the time deferring",
            "price": "the price in the mean", "bid": "the clients' bid"}


def plain(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def counters(done, column, base="plain stock"):
    """What the disk and the clients counted there, and in the base: where a gain may have gone."""
    told = []
    for key, words in COUNTERS.items():
        ours, theirs = done.median(column, key), done.median(base, key)
        if ours is not None:
            told.append(f"{plain(ours)} {words} ({plain(theirs)})" if theirs else
                        f"{ours:.2f} {words}")
    return f"{column}: " + ", ".join(told)


def hold(outcome, claims):
    """The outcome, not reproduced where one of the claims, {what fails: whether it holds}, does not."""
    lacking = [what for what, good in claims.items() if not good]
    if lacking:
        outcome.verdict = "not reproduced"
        outcome.why = "; ".join([*lacking, *filter(None, [outcome.why])])
    return outcome


def at_least(interval, least):
    """None holds nothing."""
    return interval is not None and interval["median"] >= least


class Compared(Experiment):
    """The four columns of one work. A gain is a ratio to plain stock: above 1 it is better."""
    columns_of = COLUMNS
    metric, less = "time_s", True
    axis = "seconds"  # of the chart: what the metric is
    target = 1.0
    disk = {}
    before = 0  # s until the work begins: of clients that must know by then that there are prices
    cause = ""  # of what is not reproduced, where it is known from a trace
    extra = ()  # figures to keep beside

    def specs(self, quick):
        raise NotImplementedError

    def options(self, quick):
        return ()

    def figures(self, found):
        raise NotImplementedError

    def once(self, bed, column):
        self.before = type(self).before if is_ca(column) else 0
        found = measure(bed, column, self.specs(bed.quick), self.options(bed.quick), **self.disk)
        return {**self.figures(found), **found["disk"], **ways(found)}

    def gain(self, done, column, metric=None, base="plain stock"):
        metric = metric or self.metric
        return done.ratio(base, column, metric) if self.less else done.ratio(column, base, metric)

    def outcome(self, done, more=None):
        gains = {c: self.gain(done, c) for c in self.columns_of if c != "plain stock"}
        best = gains["ca all"]
        verdict = judge(best, self.target)
        text = ", ".join(f"{c} {g['median']:.2f}" for c, g in gains.items() if g)
        points = [done.point(c, self.metric, *self.extra) for c in done.series()]
        for point in points:
            point["gain"] = gains.get(point["series"])
        why = f"{self.cause} {self.target:.2f} x plain stock was to be reached. Counted, with " \
            f"plain stock's in brackets: {counters(done, 'ca prices')}; " \
            f"{counters(done, 'ca all')}".strip() if verdict == "not reproduced" else ""
        return Outcome(points, verdict, why, f"{text} x plain stock",
                       {"gains": gains, "target": self.target, **(more or {})})

    def run(self, bed):
        return self.outcome(rounds.run(bed, self.columns_of,
                                       lambda column, _: self.once(bed, column)))

    def draw(self, outcome, path):
        plot.bars(path, self.paper, self.axis, {p["series"]: p[self.metric]
                                                  for p in outcome.points if p[self.metric]})
