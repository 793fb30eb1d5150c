# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of ca-nfs-agent share: real Linux clients (User-mode Linux guests of
test/e2e/guests.py) of a server on the modelled disk, columns with the agent off and on, and the
rule by which a verdict is found.

Works count by the clocks of the guests, which share this machine's processors with server and disk:
only where the disk is what is waited for does a time say something, and only a ratio of columns. So
the processors are not the server's to price (canfs_bed.server_of), and neither is the network, a
tap.
"""
import contextlib
import dataclasses
import os
import time

import plot
import testbed  # noqa: F401: where guests is
from experiments import rounds
from experiments.canfs_bed import WHOLE, disk_figures, server_of
from experiments.experiment import Experiment, NotRun, Outcome

import guests  # noqa: E402

MIB = 1 << 20
MOUNT = "/mnt/nfs"
HERE = os.path.dirname(os.path.abspath(__file__))
WORKS = os.path.join(HERE, "agent_works.py")
# What an agent may hold back must find room: the machine's limits go up while it defers.
ROOM = ("--flush-point", "60")
COLUMNS = {  # server, arguments of the agent; None: it is off
    "stock off": ("stock", None),
    "stock on": ("stock", ROOM),
    "RA off": ("ra", None),
    "RA on": ("ra", ROOM),
}
NETWORK = {"Network_Interface": "lo", "Network_Capacity": 10000}
SETTLE = 3  # s: an agent finds out that there are prices, or that there are none
BELIEVED = "states prices"
PAPER = "ca-nfs-agent"
WORDS = {"reproduced": "met", "better": "met, and more", "not reproduced": "not met"}


@dataclasses.dataclass
class Asked:
    """A figure of column `of`, or its ratio to that of `by`, is to be `least` at least or `most` at
    most."""
    what: str
    key: str
    of: str = "RA on"
    by: str = None
    least: float = None
    most: float = None

    def found(self, done):
        return done.ratio(self.of, self.by, self.key) if self.by else \
            done.interval(self.of, self.key)

    def holds(self, value):
        return value >= self.least if self.most is None else value <= self.most

    def judge(self, found):
        """As a verdict: "better" where the whole interval of more than one round holds."""
        if not found or not self.holds(found["median"]):
            return "not reproduced"
        worst = found["low" if self.most is None else "high"]
        return "better" if found["rounds"] > 1 and self.holds(worst) else "reproduced"

    def text(self, found):
        asked = f"at least {self.least:g}" if self.most is None else f"at most {self.most:g}"
        if not found:
            return f"{self.what}: no figure ({asked} asked)"
        spread = "" if found["rounds"] == 1 else f", {found['low']:.3g} to {found['high']:.3g}"
        unit = " x" if self.by else ""
        return f"{self.what} {found['median']:.3g}{unit}{spread} ({asked} asked)"


def outcome(done, asked, keys, columns, more=None):
    """All that was asked for must hold; the verdict is the worst of them."""
    found = [(a, a.found(done)) for a in asked]
    verdicts = [a.judge(f) for a, f in found]
    verdict = next(v for v in ("not reproduced", "reproduced", "better") if v in verdicts)
    points = [done.point(c, *keys) for c in columns if c in done.series()]
    text = "; ".join(a.text(f) for a, f in found)
    why = "; ".join(a.text(f) for (a, f), v in zip(found, verdicts) if v == "not reproduced")
    return Outcome(points, verdict, why, text, {
        "asked": [{**dataclasses.asdict(a), "found": f, "verdict": v}
                  for (a, f), v in zip(found, verdicts)], **(more or {})})


@contextlib.contextmanager
def clients(number, mb):
    """So many guests, for all rounds."""
    try:
        with guests.boot(number, mb, (guests.CLIENT, WORKS)) as booted:
            yield booted
    except guests.Unavailable as reason:
        raise NotRun(f"no guests here: {reason}") from reason


@contextlib.contextmanager
def scene(bed, kind, lay_out, fsal=None, memory="small", **disk_settings):
    """A new disk with what lay_out(disk) puts on it, cold, and a server of that kind: both."""
    with bed.disk(**{"size_mb": 2048, **disk_settings}) as disk:
        disk.timing(False)
        lay_out(disk)
        os.sync()
        disk.timing(True)
        with server_of(bed, disk, kind, fsal or {}, NETWORK, memory) as server:
            bed.cold(disk)
            yield disk, server


class Mounted:
    """Guests with the export mounted, and where ARGUMENTS are not None the agent on it: the
    arguments of all, or a tuple for each (None: on that one it is off). At the end of `with` the agents have ended, .decisions
    holds what each said, and every knob is as it was found. `with at.agents(arguments):` they are there for a while."""

    def __init__(self, bed, booted, disk, server, arguments, believed=None):
        self.guests, self.disk, self.server, self.arguments = booted, disk, server, arguments
        self.program = bed.program("ca-nfs-agent")
        self.believed = server.kind == "ra" if believed is None else believed
        self.mounted, self.before, self.sampled = [], [], []
        self.decisions, self.ranges = [], []

    def _each(self, call, **more):
        return [j.value() for j in [g.start(call, **more) for g in self.guests]]

    def __enter__(self):
        try:
            self._each("client.drop_caches")
            for guest in self.guests:
                guest.call("client.mount", port=self.server.port, mport=self.server.mport,
                           export=self.disk.mount)
                self.mounted.append(guest)
            self.before = self._each("client.knobs")
            self.sampled = [g.start("client.watch_knobs") for g in self.guests]
            if self.arguments is not None:
                self._start_agents(self.arguments)
        except BaseException:
            self._leave()
            raise
        return self

    @contextlib.contextmanager
    def agents(self, arguments):
        try:
            self._start_agents(arguments)
            yield
        finally:
            self._end_agents()

    def _start_agents(self, arguments):
        began = time.monotonic()
        own = arguments if arguments and isinstance(arguments[0], tuple) else [arguments] * len(self.guests)
        started = [guest for guest, its in zip(self.guests, own) if its is not None]
        for guest, its in zip(self.guests, own):
            if guest in started:
                guest.call("client.agent_start", program=self.program, arguments=its)
        if self.believed and not all(guest.call("client.agent_waits", text=BELIEVED, seconds=20)
                                     for guest in started):
            raise guests.Failed("an agent does not believe the server's prices")
        time.sleep(max(0, SETTLE - (time.monotonic() - began)))

    def _end_agents(self):
        ended = self._each("client.agent_end")
        after = self._each("client.knobs")
        if after != self.before:
            raise guests.Failed(f"knobs are not as they were: {self.before}, now {after}")
        for told in ended:
            if told and told[0]:
                raise guests.Failed(f"an agent's exit status is {told[0]}: {told[1]}")
            self.decisions.append(told and {"said": told[1], "explained": told[2]})

    def _leave(self):
        """What was written in vain need not wait for the disk."""
        self.disk.timing(False)
        try:
            self.ranges = [j.stop().value() for j in self.sampled]
            self._end_agents()
        finally:
            for guest in self.mounted:
                guest.call("client.unmount")
            self.disk.timing(True)

    def __exit__(self, *_):
        self._leave()

    def counted(self):
        """What the kernels counted, summed over the guests."""
        found = self._each("client.counted")
        return {key: sum(f[key] for f in found) for key in found[0] if key != "ops"}


def grown(before, after):
    return {key: after[key] - before[key] for key in after}


class Shown(Experiment):
    """One row of what the agent must show. A quick run has the columns of `columns_quick`, if any,
    and judges what is asked of those."""
    words = WORDS
    needs = ("linux.uml", "mount.nfs", "busybox")
    number, mb = 2, 512
    columns_of = COLUMNS
    columns_quick = ()
    disk = {}
    keys = ()
    asked = ()
    fsal = None  # parameters of the export
    memory = "small"  # of the server's machine: machine.set_memory

    def lay_out(self, bed, disk):
        """Puts the works' files on the disk."""

    def work(self, bed, at):
        """{figure: number} of what at.guests do."""
        raise NotImplementedError

    def once(self, bed, booted, column):
        kind, arguments = self.columns_of[column]
        with scene(bed, kind, lambda disk: self.lay_out(bed, disk), self.fsal,
                   self.memory, **self.disk) as (disk, server):
            before = disk.stats()
            at = Mounted(bed, booted, disk, server, arguments)
            with at:
                found = self.work(bed, at)
                found.update(disk_figures(before, disk.stats()))
            if arguments is not None:
                found.update(decisions=at.decisions, ranges=at.ranges)
            return found

    def chosen(self, quick):
        """(columns, what is asked of them)"""
        wanted = self.columns_quick if quick and self.columns_quick else self.columns_of
        return ([c for c in self.columns_of if c in wanted],
                [a for a in self.asked if a.of in wanted and (not a.by or a.by in wanted)])

    def add(self, done):
        """What follows from several columns of a round, as figures of it."""

    def also(self, done):
        """(a sentence behind the figures, what is kept of it), or None."""

    def run(self, bed):
        bed.program("ca-nfs-agent")
        columns, asked = self.chosen(bed.quick)
        with clients(self.number, self.mb) as booted:
            done = rounds.run(bed, columns, lambda c, _: self.once(bed, booted, c))
        self.add(done)
        found = outcome(done, asked, self.keys, columns)
        said = self.also(done)
        if said:
            found.figure += f". {said[0]}"
            found.more.update(said[1])
        return found

    def draw(self, found, path):
        first = self.asked[0]
        shown = {p["series"]: p[first.key] for p in found.points if p.get(first.key)}
        if shown:
            plot.bars(path, f"{self.name}: {self.paper}", first.what, shown)


__all__ = ["Asked", "COLUMNS", "MIB", "MOUNT", "Mounted", "NotRun", "PAPER", "ROOM", "SETTLE",
           "Shown", "WHOLE", "clients", "grown", "outcome", "scene"]
