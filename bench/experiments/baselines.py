# SPDX-License-Identifier: LGPL-3.0-or-later
"""The plugin beside the best that there is without it, on disks that it was not tuned on.

b1 to b10 are reads on a disk each: stock Ganesha as it comes, with 2,560 and 16,384 KiB of
read-ahead, and under BFQ, the kernel's own server in a guest with mq-deadline and with BFQ, and the
plugin. bw is a reader beside a writer, bg what the guest costs where no disk is waited for. The
question is whether anything is slower than stock: less than LEAST of its throughput is a defect,
random reads included. A work counts as fast enough, or as too slow, where the whole interval of the
rounds' ratios says so; where it lies on both sides of the bound, or there are fewer than TELLING rounds,
the verdict is "not told". Of processor time a READ, which varies by a fifth from round to round, that is
said beside the figures, also where a round has few READs: too dear is what surely is.
"""
from experiments.experiment import Experiment, NotRun, Outcome
from experiments import rounds

import ageing
from disks import MODELS
import isolation
import knfsd
import nfsload
import plot
import servers
import workloads

LEAST = 0.97  # of stock's throughput
TELLING = 3  # rounds, of a quick run too: with fewer nothing can be told
BETTER = 1.03
CPU_MOST = 1.05  # times stock's processor time a READ
CPU_READS = 1000  # of a round: beside fewer, the beginning and idle threads count for too much
ASKED = f"nothing below {LEAST} x stock, and no READ that surely takes more than {CPU_MOST} x its " \
    "processor time"
GUEST_NEAR = 0.5  # of what a guest gives from memory: above it a row tells of the guest
GUESTS_OWN = "seq1"  # by which that is known
AS_SOON = 1.1  # times our COMMIT: who takes longer to write leaves readers more of the disk
MIB = 1 << 20
# MiB of a quick work: in pieces they take three times as long; of a faster device it would only be their beginning
SIZE_QUICK, SIZE_AGED, SIZE_SOLID = 48, 24, 256
DEEP = ("queue32", "raid4", "flash", "flash8", "cloud")  # several arms, or a queue
GANESHA = {"stock": {}, "tuned": {"read_ahead_kb": 2560}, "tuned16": {"read_ahead_kb": 16384},
           "bfq": {"scheduler": "bfq"}, "ra": {"kind": "ra"}}
KERNEL = {"knfsd": {"kind": "knfsd"}, "knfsdbfq": {"kind": "knfsd", "scheduler": "bfq"}}
WORDS = {"stock": "stock Ganesha", "tuned": "stock with a read_ahead_kb of 2,560",
         "tuned16": "stock with one of 16,384", "bfq": "stock under BFQ",
         "ra": "the plugin with its defaults", "knfsd": "Linux's nfsd in a guest",
         "knfsdbfq": "the same under BFQ"}
DISK_COUNTERS = ("reads", "read_bytes", "seeks", "busy_ms", "lookahead_hits")


def possible(bed, settings, disk):
    """Of the settings, those that this machine can run."""
    found = {}
    for name, setting in settings.items():
        lack = servers.missing({"kind": "stock", **setting}, disk)
        if lack:
            bed.say(f"server {name} is left out: {lack}")
        else:
            found[name] = setting
    if "ra" not in found or "stock" not in found:
        raise NotRun("neither stock nor plugin can be measured here")
    return found


def in_words(settings):
    """The servers that are measured, as a sentence's end."""
    return ", ".join(WORDS[name] for name in settings)


def queues(disk, guest):
    """In words: how much there is to order for the kernel's I/O schedulers, here and in a guest."""
    depth = int(MODELS[disk].get("depth", 1)) * int(MODELS[disk].get("spindles", 1))
    text = " This host's I/O schedulers (mq-deadline, BFQ where it is named) have little to order: " \
        "the loop device takes 128 requests at once, whatever the drive below."
    return text + (f" The guest's drive takes {min(depth, knfsd.QUEUE_MAX)} at once, as the modelled one "
                   "orders by itself, and all others wait in the guest's scheduler." if guest else "")


def may_serve(setting, work):
    """A guest sees one client: only from the host's address there is a way to it."""
    return setting.get("kind") != "knfsd" or not work.clients


def make(name, size, count, seconds=6):
    """A work of workloads.py, or apartN: N clients, each from an address of its own, that read 8 KiB
    at random places, one at a time, for `seconds`."""
    if not name.startswith("apart"):
        return workloads.make(name, size=size, random_count=count)
    clients = []
    for number in range(int(name.removeprefix("apart"))):
        clients.append(isolation.Client("random", number + 1))
        clients[-1].add("random", number, size=size // 8, **isolation.SMALL)
    work = workloads.Workload.of_clients(name, clients, [(0, 8, size // 8)], seconds, 0)
    work.set = workloads.make("seq8", size=size).set  # the same files
    work.arguments[1] = f"sets/{work.set}"
    return work


def lay_out(bed, disk, works, place):
    """The files of the works, and how they lie."""
    sets = {work.set: work for work in works}
    need = sum(w.bytes_laid_out() for w in sets.values()) + max(w.written for w in works)
    ageing.prepare(disk, place, need, bed.seed)
    paths = []
    for name, work in sets.items():
        for first, files, size in work.sets:
            bed.layout(disk, files, size, name=f"sets/{name}", first=first)
            paths += [f"{disk.mount}/sets/{name}/f{n:04d}" for n in range(first, first + files)]
    return ageing.pieces(paths)


def measured(bed, disk, work, setting):
    """One load of a fresh server: the tables' figures, the disk's counters, processor time a READ."""
    kind, rest = setting.get("kind", "stock"), {k: v for k, v in setting.items() if k != "kind"}
    if work.written:
        disk.renew()
    clients = [a for c in work.clients for a in c.arguments(disk.mount, work.set)]
    arguments = work.arguments + clients + work.together
    results = bed.once(disk, kind, arguments, memory=work.memory,
                       again=kind == "knfsd" and work.name == GUESTS_OWN, **rest)
    found = nfsload.figures(work, results)
    kept = {k: found[k] for k in ("mb_s", "p50_ms", "p99_ms", "worst_ms", "slowest_fastest",
                                  "random_requests_s", "random_p99_ms", "committed_s",
                                  "all_done_s") if found.get(k) is not None}
    if "again" in results:
        kept["memory_mb_s"] = results["again"]["total"]["mb_s"]
    if kind != "knfsd":  # a guest's is the whole kernel's
        kept["cpu_us"] = 1e6 * results["server"]["cpu_s"] / results["total"]["requests"]
    kept["requests"] = results["total"]["requests"]
    kept["disk"] = {k: results["server"]["disk"].get(k, 0) for k in DISK_COUNTERS}
    if work.written:
        bed.cold(disk)
    return kept


def in_turns(bed, series, once):
    """Rounds enough to tell something. In a quick run a guest, which is not judged and takes seconds to
    boot, has as many as the bed says, behind them."""
    guests = [name for name in series if bed.quick and name.split()[1] in KERNEL]
    done = rounds.run(bed, [n for n in series if n not in guests], once, max(bed.rounds, TELLING))
    return done + rounds.run(bed, guests, once) if guests else done


def disk_text(done, work, name):
    """What the disk did for a server, over what it did for stock: where a ratio comes from."""
    def mean(server, key):
        values = [v[key] for v in done.values(f"{work} {server}", "disk")]
        return sum(values) / max(1, len(values))
    texts = []
    for key, text in (("reads", "commands"), ("read_bytes", "bytes"), ("seeks", "seeks"),
                      ("busy_ms", "busy")):
        stock = mean("stock", key)
        texts += [f"{text} {mean(name, key) / stock:.2f}"] if stock else []
    cpu = done.ratio(f"{work} {name}", f"{work} stock", "cpu_us")
    texts += [f"processor {cpu['median']:.2f}"] if cpu else []
    return ", ".join(texts)


def is_disk_bound(done, work, name):
    """Whether a guest's figure is its disk's, and not the guest's own: far below what that guest
    gives from memory. Other servers' always is."""
    memory = done.median(f"{GUESTS_OWN} {name}", "memory_mb_s")
    return memory is None or done.median(f"{work} {name}", "mb_s") < GUEST_NEAR * memory


def rivals_of(done, work, names, key):
    """{server: figure} of those that the plugin may be compared with in this work."""
    found = {n: done.median(f"{work} {n}", key) for n in names if n != "ra"}
    return {n: value for n, value in found.items() if value and is_disk_bound(done, work, n)}


def in_short(done, work, names, key):
    """The plugin over stock, and over the best of the others."""
    text = f"{work} {done.ratio(f'{work} ra', f'{work} stock', key)['median']:.2f} x stock"
    rivals = rivals_of(done, work, names, key)
    best = max(rivals, key=rivals.get)
    if best == "stock":
        return text
    return text + f" ({done.median(f'{work} ra', key) / rivals[best]:.2f} x {best})"


def is_over(ratio, bound):
    """Whether the whole interval is above the bound; None where these rounds cannot tell."""
    if ratio["rounds"] < TELLING or ratio["low"] < bound <= ratio["high"]:
        return None
    return ratio["low"] >= bound


def dear_reads(done, works):
    """(works whose READs surely take too much processor time, in words those of which it is not told)"""
    ratios = {work: done.ratio(f"{work} ra", f"{work} stock", "cpu_us") for work in works}
    reads = {work: min(done.median(f"{work} {s}", "requests") or 0 for s in ("stock", "ra"))
             for work in works}
    over = {work: is_over(ratio, CPU_MOST) if reads[work] >= CPU_READS else None
            for work, ratio in ratios.items() if ratio}
    unsure = ", ".join(f"{work} {rounds.in_words(ratios[work])}" for work in over if over[work] is None)
    return ([work for work in over if over[work]],
            f"; processor time a READ cannot be told from {CPU_MOST} x stock's: {unsure}"
            if unsure else "")


def told(done, works, names, key):
    """The figure in a line: ratios to stock, and to the best of the others."""
    figure = ", ".join(in_short(done, work, names, key) for work in works)
    near = [f"{work} {name}" for work in works for name in names
            if done.median(f"{work} {name}", "mb_s") and not is_disk_bound(done, work, name)]
    return figure + (f"; the guest's own speed, and not compared: {', '.join(near)}" if near else "")


def judged(done, works, names, key="mb_s"):
    """(verdict, why, figure) over the works."""
    ratios = {work: done.ratio(f"{work} ra", f"{work} stock", key) for work in works}
    lacking = [work for work in works if not ratios[work]]
    if lacking:
        return "not run", f"no round of {lacking[0]} with stock and plugin came to its end", ""
    enough = {work: is_over(ratio, LEAST) for work, ratio in ratios.items()}
    dear, unsure_of_cpu = dear_reads(done, works)
    below = [f"{work} {ratios[work]['median']:.2f} x stock"
             + (", but too much processor time a READ" if enough[work] is not False else "")
             + f" (at the disk, x stock: {disk_text(done, work, 'ra')})"
             for work in works if enough[work] is False or work in dear]
    unsure = [f"{work} {rounds.in_words(ratios[work], ' x stock')}" for work in works
              if enough[work] is None]
    untold = f"not told: {', '.join(unsure)}, where {LEAST} is asked" if unsure else ""
    figure = told(done, works, names, key) + unsure_of_cpu
    if below or unsure:
        return ("not reproduced" if below else "not told",
                "; ".join([*below, *filter(None, [untold])]), figure)
    return ("better" if any(is_over(r, BETTER) for r in ratios.values()) else "reproduced"), "", figure


class Reads(Experiment):
    """Reads on one disk."""
    did = "Servers of today, as they come and as an administrator tunes them; no paper's figure."
    paper_figure = ASKED
    columns = (("work", "work", "{}"), ("server", "server", "{}"), ("MB/s", "mb_s", "{:.1f}"),
               ("p99 ms", "p99_ms", "{:.1f}"), ("CPU us a READ", "cpu_us", "{:.1f}"))
    works = ("seq1", "seq8", "begin8", "stride8", "reorder10", "random8k", "random8kx2",
             "random8kx16", "apart4")
    works_quick = ("seq1", "seq8", "begin8", "stride8", "random8k", "apart4")
    works_deep = ("random8kx2",)  # quick: where DEEP makes a difference
    seconds_quick, seconds_full = 50, 3600

    def __init__(self, name, model, place="fresh", fs="ext4", kernel=False, random=300, **disk):
        self.name, self.model, self.place, self.fs = name, model, place, fs
        self.kernel, self.random, self.disk = kernel, random, disk
        self.seconds_quick = 36 if "solid" in MODELS[model] else \
            round((70 + 12 * (model in DEEP)) * (1.7 if place == "aged" else 1)) + 40 * kernel
        self.paper = f"Baselines: reads, disk {model}, {fs}, {place} layout"
        self.ours = f"Modelled disk {model}, {fs}, {place} layout." + queues(model, kernel)

    def servers_of(self, bed):
        if not bed.quick:
            return {**GANESHA, **KERNEL}
        # one guest: each takes 10 s to boot
        few = ("stock", "bfq", "ra", "knfsd") if self.kernel else ("stock", "ra")
        return {k: v for k, v in {**GANESHA, **KERNEL}.items() if k in few}

    def names_of_works(self, bed):
        if not bed.quick:
            return self.works
        if self.kernel:  # more servers, fewer works
            return ("seq1", "seq8", "random8k", "apart4")
        return self.works_quick + (self.works_deep if self.model in DEEP else ())

    def run(self, bed):
        size = (256 if not bed.quick else SIZE_AGED if self.place == "aged"
                else SIZE_SOLID if "solid" in MODELS[self.model] else SIZE_QUICK) * MIB
        count = self.random if bed.quick else 4 * self.random
        works = [make(n, size, count, 3 if bed.quick else 6) for n in self.names_of_works(bed)]
        by_name = {w.name: w for w in works}
        with bed.disk(self.model, fs=self.fs, **self.disk) as disk:
            settings = possible(bed, self.servers_of(bed), disk)
            self.ours = (f"Modelled disk {self.model}, {self.fs}, {self.place} layout: "
                         f"{in_words(settings)}." + queues(self.model, KERNEL.keys() & settings))
            pieces = lay_out(bed, disk, works, self.place)
            bed.say(ageing.describe(pieces))

            def once(series, _):
                work, server = series.split()
                return measured(bed, disk, by_name[work], settings[server])

            series = [(w, s) for w in by_name for s in settings
                      if may_serve(settings[s], by_name[w])]
            done = in_turns(bed, [f"{w} {s}" for w, s in series], once)
        points = [done.point(f"{w} {s}", "mb_s", "p99_ms", "cpu_us", work=w, server=s)
                  for w, s in series]
        return Outcome(points, *judged(done, by_name, settings), more={"pieces": pieces})

    def draw(self, outcome, path):
        """Over stock's median: random reads would not be seen beside streams."""
        groups = {}
        stock = {p["work"]: p["mb_s"] for p in outcome.points if p["server"] == "stock"}
        for p in outcome.points:
            if p["mb_s"] and stock.get(p["work"]):
                groups.setdefault(p["work"], {})[p["server"]] = {
                    **p["mb_s"], **{key: p["mb_s"][key] / stock[p["work"]]["median"]
                                    for key in ("median", "low", "high")}}
        plot.bars(path, self.paper, "throughput, x stock", groups)


class BesideWriter(Experiment):
    """A random reader while another client writes, small memory."""
    name, paper = "bw", "Baselines: a random reader beside a writer"
    did = Reads.did
    WORK = "Random reads of 8 KiB while another client writes and commits, on a server with " \
        "little memory for dirty data"
    ours = f"{WORK}.{queues('default', True)}"
    paper_figure = ASKED
    seconds_quick, seconds_full = 60, 3600
    columns = (("server", "server", "{}"), ("reads/s beside", "random_requests_s", "{:.1f}"),
               ("p99 ms", "random_p99_ms", "{:.0f}"), ("written MB/s", "mb_s", "{:.1f}"),
               ("COMMIT s", "committed_s", "{:.1f}"),
               ("all done s", "all_done_s", "{:.1f}"))

    def run(self, bed):
        work = workloads.make("write1+1", size=(64 if bed.quick else 256) * MIB,
                              random_count=400 if bed.quick else 1500)
        with bed.disk() as disk:
            known = {**GANESHA, **KERNEL}
            # read-ahead is not what differs here
            for name in ("tuned16", "tuned", "knfsdbfq") if bed.quick else ("tuned16",):
                known.pop(name)
            settings = possible(bed, known, disk)
            self.ours = f"{self.WORK}, {work.written >> 20} MB: {in_words(settings)}." \
                + queues("default", KERNEL.keys() & settings)
            lay_out(bed, disk, [work], "fresh")
            done = in_turns(bed, [f"{work} {s}" for s in settings],
                            lambda series, _: measured(bed, disk, work,
                                                       settings[series.split()[1]]))
        points = [done.point(f"{work} {s}", "random_requests_s", "random_p99_ms", "mb_s",
                             "committed_s", "all_done_s", server=s) for s in settings]
        ours = done.median(f"{work} ra", "committed_s") or 0
        soon = [s for s in settings if s == "stock" or
                (done.median(f"{work} {s}", "committed_s") or 0) <= AS_SOON * ours]
        verdict, why, figure = judged(done, [work.name], soon, "random_requests_s")
        figure += f"; {self.commit_text(done, work)}" if ours else ""
        late = [s for s in settings if s not in soon]
        figure += f"; later with the COMMIT, and not compared: {', '.join(late)}" if late else ""
        return Outcome(points, verdict, why, figure)

    @staticmethod
    def commit_text(done, work):
        """The writer's time over stock's, and what the readers had of the difference."""
        took, reads = {}, {}
        for server in ("stock", "ra"):
            took[server] = done.median(f"{work} {server}", "committed_s")
            reads[server] = took[server] * done.median(f"{work} {server}", "random_requests_s")
        more = reads["ra"] - reads["stock"]
        longer = 1000 * (took["ra"] - took["stock"])
        text = f"its COMMIT takes {longer:+.0f} ms, {took['ra'] / took['stock']:.2f} x stock's"
        return text + (f": {longer / more:.1f} ms for each of the {more:.0f} reads more that are "
                       "answered meanwhile" if longer > 0 and more >= 1 else "")

    def draw(self, outcome, path):
        plot.bars(path, self.paper, "random reads/s", {
            p["server"]: p["random_requests_s"] for p in outcome.points
            if p.get("random_requests_s")})


class Guest(Experiment):
    """What a guest costs where the disk is not waited for."""
    name, paper = "bg", "Baselines: what User-mode Linux costs"
    did = Reads.did
    ours = ("One client reads a file that is in memory: stock Ganesha here, Linux's nfsd in a "
            "guest. Rows near the guest's figure say nothing about the kernel's server.")
    paper_figure = "none: it bounds where knfsd may be compared"
    seconds_quick, seconds_full = 15, 300
    columns = (("server", "server", "{}"), ("MB/s from memory", "mb_s", "{:.0f}"))

    def run(self, bed):
        size = 128 * MIB
        with bed.disk(size_mb=1024) as disk:
            names = [n for n in ("stock", "knfsd")
                     if not servers.missing({"kind": n}, disk)]
            if "knfsd" not in names:
                raise NotRun(servers.missing({"kind": "knfsd"}, disk))
            work = bed.layout(disk, 1, size)

            def once(kind, _):
                with bed.server(kind, disk) as server:
                    for _ in range(2):  # the second time from memory
                        found = bed.load(server, ["--work", "seq", *work.args])
                return {"mb_s": found["total"]["mb_s"]}

            done = rounds.run(bed, names, once)
        return Outcome([done.point(n, "mb_s", server=n) for n in names], "reproduced", "",
                       f"a guest gives {done.median('knfsd', 'mb_s'):.0f} MB/s from memory, "
                       f"stock Ganesha {done.median('stock', 'mb_s'):.0f}")


EXPERIMENTS = [
    Guest,
    Reads("b1", "default", kernel=True),
    Reads("b2", "queue32"),
    Reads("b3", "default", fs="xfs"),
    Reads("b4", "default", place="aged"),
    Reads("b5", "default", place="inner"),
    Reads("b6", "raid4"),
    Reads("b7", "flash", random=4000),
    Reads("b8", "flash8", random=4000),
    Reads("b9", "queue32", place="aged", fs="xfs"),
    Reads("b10", "cloud", random=4000),
    BesideWriter,
]
