# SPDX-License-Identifier: LGPL-3.0-or-later
"""What an experiment is, and the bed that it is given: all that bench/papers asks of a module.

A module of this package has EXPERIMENTS, a list of classes or objects like

    class Fairness(Experiment):
        name = "e3"
        paper = "Ellard & Seltzer 2003, figure 3"
        did = "Eight readers of 32 MB each, by elevator and N-step C-SCAN, on two disks."
        ours = "The same over NFSv3, on the modelled disk: drives of today are others."
        paper_figure = "elevator 38 MB/s, last reader 6 x the first; N-step 1.1 x, a third slower"
        seconds_quick, seconds_full = 60, 900
        needs = ("ip",)                      # programs beside those of the bed, by name

        def run(self, bed):
            with bed.disk() as disk:         # bed.disk("fast", queue=32, depth=4, fs="xfs")
                work = bed.layout(disk, 8, 32 << 20)
                def once(name, number):
                    found = bed.once(disk, name, ["--work", "seq", "--readers", 8, *work.args])
                    return {"mb_s": found["total"]["mb_s"]}
                done = rounds.run(bed, ["stock", "ra"], once)
            return Outcome([done.point(s, "mb_s") for s in done.series()], "reproduced", "",
                           "118 MB/s, last reader 1.06 x the first")

        def draw(self, outcome, path):       # optional: plot.lines() and plot.bars() help
            plot.bars(path, self.paper, "MB/s", {p["series"]: p["mb_s"] for p in outcome.points})

`name` is a letter of the paper, t for a table, and the number; what the page shows is made of
`points` (dicts of text, numbers and intervals of rounds.py) and `figure`, so no figure is in the
code. `verdict` is one of VERDICTS; those with "not" need a `why`, "not told" being that of rounds that
cannot tell, because they are too few or lie on both sides of a bound. Experiments that cannot run
here raise NotRun, and testbed.TestbedUnavailable counts as that.

An experiment without servers and disks (a model, a simulation) says servers = False: it is run
without root and namespaces. With them it is in network and mount namespaces of its own, in a
process of its own: what it leaves behind ends with it. run() may raise whatever it likes: then the
experiment failed.
"""
import concurrent.futures
import contextlib
import dataclasses
import functools
import glob
import os
import sys
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import testbed  # noqa: E402
import ageing  # noqa: E402
import cold  # noqa: E402
import disks  # noqa: E402
import knfsd  # noqa: E402
import machine  # noqa: E402
import nfsload  # noqa: E402
import servers  # noqa: E402
from experiments import rounds as rounds_of  # noqa: E402

VERDICTS = ("reproduced", "better", "not reproduced", "not told", "not run")
DISK_KEYS = ("size_mb", "fs", "queue", "read_ahead_kb", "scheduler", "options", "record")
SERVER_KEYS = ("sub", "exports", "ra_rules", "extra_conf")
SEED = 1


class NotRun(Exception):
    """This machine cannot run the experiment; the text says why."""


@dataclasses.dataclass
class Outcome:
    """points: dicts, a row or a point of a curve each; figure: ours in one line; more: whatever
    else shall be kept as JSON."""
    points: list
    verdict: str
    why: str = ""
    figure: str = ""
    more: dict = dataclasses.field(default_factory=dict)

    def check(self):
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r}: must be one of {', '.join(VERDICTS)}")
        if self.verdict.startswith("not") and not self.why:
            raise ValueError(f"verdict {self.verdict!r} without a why")
        return self


class Experiment:
    """See above. `columns`: of the page's table, (title, key of a point, format) each; without them
    the page shows `figure` alone. `words`: what the page calls a verdict where no paper is."""
    name = paper = did = ours = paper_figure = ""
    seconds_quick, seconds_full = 60, 600
    needs = ()
    servers = True
    columns = ()
    words = {}
    # Whether a round is its figures and nothing beside them, so that those of a run which was cut
    # off can stand for a later one's: what run() makes of rounds it makes of the records. Not where
    # something is counted beside the rounds, or another program has them (comparing.py goes on itself).
    goes_on = True
    module = None  # filled by the catalogue

    def run(self, bed):
        raise NotImplementedError

    def draw(self, outcome, path):
        """Writes a PNG to `path`; one that writes none has no picture."""

    def seconds(self, quick):
        return self.seconds_quick if quick else self.seconds_full


MEASURED = ("libfsalra.so", "nfsbench", "mechdisk", "ca-nfs-agent", "canfs", "nfsreplay", "linkemu", "ractl")


@functools.cache
def described():
    """machine.describe(), with "built": hashes of what there is of what is measured, or measures."""
    paths = {}
    for name in MEASURED:
        with contextlib.suppress(SystemExit):
            paths[name] = nfsload.find_built(name, None)
    return {**machine.describe(), "built": nfsload.hashes(paths)}


class Bed:
    """What an experiment works with.

        quick, rounds       whether in minutes; how many rounds then
        plugin, nfsbench, mechdisk      paths; program(name): any other that was built
        disk(model, …)      a modelled disk as a context
        layout(disk, files, size)       files on it, in no time, on the disk and not cached
        server(kind, disk, …)           a server as a context; settings below
        load(server, arguments)         nfsbench's JSON; together(server, [arguments, ...]): at once
        once(disk, kind, arguments, …)  all of it: a fresh server, cold caches, one load
        say(text)           progress, on standard error
        records, failures   all rounds made by rounds.run, and what failed in them
        part(number)        where a program that it calls keeps what it has measured until now
        earlier, end        rounds of a run that was cut off (rounds.Earlier); on watch's clock, when no
                            round may last longer; None: whenever
        keep()              called after each round, to write down all that there are
    """
    prefix, go_on = None, False  # of those files, None: nowhere; whether to go on from them
    end = None

    def __init__(self, quick=False, rounds=None, say=None, seed=SEED, spare=None):
        """`spare`: seconds for rounds that are made again (rounds.Spare); None: any."""
        self.quick = quick
        self.rounds = rounds or (rounds_of.ROUNDS_QUICK if quick else rounds_of.ROUNDS_FULL)
        self.tries = rounds_of.TRIES_QUICK if quick else rounds_of.TRIES
        self.say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self.seed = seed
        self.spare = rounds_of.Spare(spare)
        self.records, self.failures = [], []
        self.proofs = []  # of cold caches, in the round that is being made
        self.earlier, self.keep = rounds_of.Earlier(), lambda: None
        self.watch = rounds_of.Watch()
        self._bench = None

    def part(self, number):
        return self.prefix and f"{self.prefix}.part{number}"

    def forget_parts(self):
        """The experiment is whole: what it was made of is in its own file."""
        for path in glob.glob(f"{glob.escape(self.prefix)}.part*") if self.prefix else ():
            os.unlink(path)

    @functools.cached_property
    def described(self):
        return described()

    @staticmethod
    def program(name):
        """The newest `name` of the build directories. NotRun where there is none."""
        try:
            return nfsload.find_built(name, None)
        except SystemExit as error:
            raise NotRun(str(error)) from error

    @property
    def plugin(self):
        return self.program("libfsalra.so")

    @property
    def nfsbench(self):
        return self.program("nfsbench")

    @property
    def mechdisk(self):
        return self.program("mechdisk")

    def bench(self, max_time=300):
        """The caller of nfsbench; a load may take `max_time` seconds."""
        if not self._bench:
            self._bench = nfsload.Bench(self.nfsbench, max_time, self.seed)
        self._bench.max_time = max_time
        return self._bench

    def close(self):
        if self._bench:
            self._bench.close()

    def disk(self, model="default", **settings):
        """A testbed.Disk, to be used by `with`: of that name in disks.py, and other settings: of
        testbed.Disk (size_mb, fs, queue, read_ahead_kb, scheduler, options), or options of mechdisk
        (seek_min=0.5). Time does not pass on it until layout() is done or timing(True)."""
        if model not in disks.MODELS:
            raise ValueError(f"disk {model}: must be of {', '.join(disks.MODELS)}")
        own = {key: settings.pop(key) for key in DISK_KEYS if key in settings}
        options = {key.replace("_", "-"): value for key, value in settings.items()}
        return testbed.Disk(**own, model={**disks.MODELS[model], **options},
                            mechdisk=self.mechdisk)

    def layout(self, disk, files, size, name="set", first=0, place="fresh"):
        """`files` files of `size` bytes that nfsbench can read and check, f0000 and on, in the
        directory `name`. Returns .directory (of the server's machine) and .args, nfsbench's.
        `place`: of ageing.LAYOUTS, on a disk that has nothing else on it yet."""
        directory = os.path.join(disk.mount, name)
        ageing.prepare(disk, place, files * size, self.seed)
        self.bench().layout(directory, first, files, size)
        os.sync()
        disk.timing(True)
        return types.SimpleNamespace(directory=directory, files=files, size=size,
                                     args=["--dir", name, "--size", files * size])

    def cold(self, disk):
        """Nothing of the disk's files is in memory afterwards, which is proved (cold.py); the proof
        is kept with the round."""
        self.proofs.append(cold.start(disk))

    @contextlib.contextmanager
    def server(self, kind, disk, fsal=None, ra=None, read_ahead_kb=128, scheduler=None, strict=0,
               memory="host", plugin=None, udp=False, **more):
        """A started testbed.Server that exports the disk: "stock", "tuned" (read_ahead_kb 2560) or
        "ra" with `fsal` in the export's block and `ra` in the global one; the block device's
        `scheduler` and `strict` bytes of dirty data; `memory`: machine.set_memory's; `udp`: NFS over
        that too. `more`: sub,
        exports, ra_rules, extra_conf of testbed.Server. "knfsd" is the kernel's server (knfsd.py).
        RuntimeError where it ends badly."""
        unknown = set(more) - set(SERVER_KEYS)
        if unknown:
            raise ValueError(f"server: {', '.join(sorted(unknown))}: no such setting")
        if kind == "tuned":
            kind, read_ahead_kb = "stock", servers.TUNED_KB
        setting = {"kind": kind, "read_ahead_kb": read_ahead_kb, "scheduler": scheduler,
                   "strict": strict}
        lack = servers.missing(setting, disk)
        if lack:
            raise NotRun(lack)
        machine.set_memory(memory)
        servers.prepare(setting, disk)
        if kind == "knfsd":
            server = knfsd.Server(disk, read_ahead_kb, scheduler, memory)
        else:
            server = testbed.Server(kind, disk.mount, fsal=fsal, ra=ra, **more,
                                    plugin=(plugin or self.plugin) if kind == "ra" else None)
        server.udp = udp
        try:
            yield server.start()
        finally:
            bad = testbed.bad_end(server.stop())
        if bad:
            raise RuntimeError(f"the server's end: {bad}:\n{server.log_text()[-1000:]}")

    def load(self, server, arguments, max_time=300):
        """nfsbench's results as its JSON has them; RuntimeError where it failed."""
        with self.watch.load():
            results, wrong = self.bench(max_time).load(server, server.exports[0]["path"],
                                                       [str(a) for a in arguments])
        if wrong:
            raise RuntimeError(f"nfsbench: {wrong}")
        return results

    def together(self, server, loads, max_time=300):
        """The results of several loads at once: each a list of arguments, a program of its own."""
        benches = [nfsload.Bench(self.nfsbench, max_time, self.seed) for _ in loads]
        try:
            with self.watch.load(), concurrent.futures.ThreadPoolExecutor(len(loads)) as pool:
                calls = [pool.submit(b.load, server, server.exports[0]["path"],
                                     [str(a) for a in arguments])
                         for b, arguments in zip(benches, loads)]
                found = [c.result() for c in calls]
        finally:
            for bench in benches:
                bench.close()
        wrong = [text for _, text in found if text]
        if wrong:
            raise RuntimeError(f"nfsbench: {'; '.join(wrong)}")
        return [results for results, _ in found]

    def once(self, disk, kind, arguments, max_time=300, again=False, **settings):
        """A fresh server, cold caches, one load: nfsbench's results, and as "server" its processor
        time (cpu_s), the disk's counters (disk: read_bytes, reads, seeks, …) and the plugin's
        (stats). AGAIN: the same once more then, as "again"."""
        with self.server(kind, disk, **settings) as server:
            self.cold(disk)
            before, cpu = disk.stats(), machine.cpu_seconds(server.pid)
            results = self.load(server, arguments, max_time)
            cpu, after = machine.cpu_seconds(server.pid) - cpu, disk.stats()
            if again:
                results["again"] = self.load(server, arguments, max_time)
        results["server"] = {
            "cpu_s": cpu, "stats": server.final_stats(),
            "disk": {k: v - before.get(k, 0) for k, v in after.items()
                     if isinstance(v, (int, float)) and isinstance(before.get(k, 0), (int, float))}}
        return results


def kept(experiment, bed, outcome, began, failed=None):
    """What is kept of an experiment as JSON: the outcome, every round, the machine."""
    circumstances = [r["circumstances"] for r in bed.records if "circumstances" in r]
    return {
        **{key: getattr(experiment, key) for key in ("name", "module", "paper", "did", "ours",
                                                     "paper_figure", "columns")},
        "quick": bed.quick, "rounds_asked": bed.rounds, "seconds": time.monotonic() - began,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": bed.described, "failed": failed, "failures": bed.failures,
        "outcome": dataclasses.asdict(outcome) if outcome else None,
        "steal_most_percent": max((c["steal_percent"] for c in circumstances), default=None),
        "marked_rounds": sum(c["marked"] for c in circumstances), "rounds": bed.records,
    }
