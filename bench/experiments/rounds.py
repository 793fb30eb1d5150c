# SPDX-License-Identifier: LGPL-3.0-or-later
"""Rounds: the same measurements again and again in turns, each with what went on beside it.

    done = rounds.run(bed, ["stock", "ra"], once)       # once(name, number) -> {figure: number}
    done.point("ra", "mb_s")    # {"series": "ra", "mb_s": {"median": 1, "low": 1, "high": 1, …}}
    done.ratio("ra", "stock", "mb_s")           # the same of the ratios round by round

Within a round the series take turns, and another goes first each time, so that slow changes of
the machine hit all alike. Machines are shared: the host gives processor time to others (steal),
and its kernel may take pages away that were just read. Each round is kept with its circumstances;
one with more than STEAL_MOST percent of steal, as a whole or while its loads ran (a server's start and
waiting for a disk hide that), is made again, up to TRIES times, and marked if others had the processors
each time. What is made again in a quick experiment may take as long as the experiment itself in all, in a
full one TRIES times as long (Spare). A marked round does not count where the series has others; a figure
that only marked ones have is marked itself, and no page shows it (page.py).

What a run that was cut off has measured stands for the rounds of a later one (Earlier), but for
those that failed: they are made again. A run that may last only so long begins no round that would end
later. Disturbed ones it makes again behind the others, once each time; they are kept with how often they
were tried, so that pieces of a run come to an end wherever others have the processors all the time.

The interval beside a median is exact and asks nothing of the distribution: of n values, the k-th
least and the k-th largest enclose the true median unless fewer than k values lie on one side of it.
Each lies on either side with probability 1/2, so that the interval covers it with
1 - 2 * P(Binomial(n, 1/2) < k). The largest k that still covers 95 % is taken. For that n must be 6
(96.9 %); with five rounds the whole range covers 93.75 %. What it covers is kept beside it.
"""
import contextlib
import glob
import math
import os
import re
import statistics
import time

STEAL_MOST = 5     # percent of the processors' time that others may have had during a round
TRIES, TRIES_QUICK = 4, 3   # of a round
CALM_WINDOW = 2    # seconds over which steal is looked at before a round is made again
CALM_MOST = 30     # seconds that a round waits for others to let go of the processors
TICKS_S = os.sysconf("SC_CLK_TCK")  # of /proc/stat
NO_TICKS = 0, 0, 0  # of the processors: stolen; with nothing to do, or waiting for a disk; all
LEVEL = 0.95       # that an interval shall cover
ROUNDS_QUICK, ROUNDS_FULL = 1, 6
# What nfsbench or its caller (nfsload.py) says of a load that was only too slow
LATE = re.compile(r"(each alone: )?(nfsbench: )?(not done after \d+ s \(--max-time\)"
                  r"|no answer for \d+ s \(--stall\)|killed after \d+ s)")


def coverage(n, k):
    """Probability that the k-th least and k-th largest of n values enclose the median."""
    return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2 ** n


def median_interval(values, level=LEVEL):
    """{median, low, high, coverage, rounds} of the values; None of none."""
    values = sorted(v for v in values if v is not None)
    n = len(values)
    if not n:
        return None
    k = max((k for k in range(1, (n + 1) // 2 + 1) if coverage(n, k) >= level), default=1)
    return {"median": statistics.median(values), "low": values[k - 1], "high": values[n - k],
            "coverage": round(max(0.0, coverage(n, k)), 4), "rounds": n}


def in_words(ratio, times=""):
    """Of an interval: 0.97 (0.94 to 1.20 in 4 rounds), with what it is a multiple of behind the median."""
    if not ratio:
        return "none"
    if ratio["rounds"] < 2:
        return f"{ratio['median']:.2f}{times} (one round)"
    return f"{ratio['median']:.2f}{times} ({ratio['low']:.2f} to {ratio['high']:.2f} in {ratio['rounds']} rounds)"


class Watch:
    """What goes on beside a measurement: `look()` before and after, `between(...)` the two; `with
    load():` around each load in it. `root`, the clock and sleeping are another's in tests."""

    def __init__(self, root="/", clock=time.monotonic, sleep=time.sleep):
        self.root, self.clock, self.sleep = root, clock, sleep
        self.loads = NO_TICKS  # during the round's loads

    @contextlib.contextmanager
    def load(self):
        before = self._ticks()
        try:
            yield
        finally:
            self.loads = tuple(n + b - a for n, a, b in zip(self.loads, before, self._ticks()))

    def busy(self):
        """The part of the time of the round's loads in which the processors were at work, ours or others' (0..1)."""
        _, idle, ticks = self.loads
        return max(0, ticks - idle) / max(1, ticks)

    def busy_s(self):
        """Seconds of the processors' time that all that runs on this machine used in it."""
        stolen, idle, ticks = self.loads
        return (ticks - idle - stolen) / TICKS_S

    def _text(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="ascii") as file:
                return file.read()
        except OSError:
            return ""

    def _ticks(self):
        ticks = [int(n) for n in self._text("proc/stat").split("\n", 1)[0].split()[1:9]]
        return (ticks[7], ticks[3] + ticks[4], sum(ticks)) if len(ticks) == 8 else NO_TICKS

    def _pages(self):
        """(evicted, of those read again) since the machine started."""
        counted = [line.split() for line in self._text("proc/vmstat").splitlines()]
        counted = {name: int(value) for name, value in counted}
        who = ("pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive")
        return (sum(counted.get(name, 0) for name in who),
                counted.get("workingset_refault_file", counted.get("workingset_refault", 0)))

    def _damon(self):
        """DAMON's threads: how many, ns that they ran, bytes that they say to have acted on (many
        kernels tell these only when asked; the pages read again tell more)."""
        base = os.path.join(self.root, "sys/kernel/mm/damon/admin/kdamonds")
        found = {"threads": 0, "ran_ns": 0, "applied_bytes": 0}
        pids = [self._text(f"{d}/pid").strip() for d in glob.glob(f"{base}/[0-9]*")]
        pids += [self._text(f).strip() for f in glob.glob(
            os.path.join(self.root, "sys/module/damon_*/parameters/kdamond_pid"))]
        for pid in (p for p in set(pids) if p.isdigit() and p != "0"):
            ran = self._text(f"proc/{pid}/schedstat").split()
            found["threads"] += 1
            found["ran_ns"] += int(ran[0]) if ran else 0
        for path in glob.glob(f"{base}/*/contexts/*/schemes/*/stats/sz_applied"):
            found["applied_bytes"] += int(self._text(path) or 0)
        return found

    def look(self):
        load = self._text("proc/loadavg").split()
        return {"at": self.clock(), "ticks": self._ticks(), "pages": self._pages(),
                "damon": self._damon(), "load": float(load[0]) if load else None}

    @staticmethod
    def between(before, after):
        stolen, _, ticks = (b - a for a, b in zip(before["ticks"], after["ticks"]))
        evicted, refaulted = (b - a for a, b in zip(before["pages"], after["pages"]))
        damon = {key: value - before["damon"][key] for key, value in after["damon"].items()}
        return {"steal_percent": 100 * stolen / max(1, ticks),
                "seconds": after["at"] - before["at"],
                "load_average": after["load"], "evicted_pages": evicted,
                "read_again_pages": refaulted, "damon_threads": after["damon"]["threads"],
                "damon_ran_ms": damon["ran_ns"] / 1e6, "damon_bytes": damon["applied_bytes"]}

    def calm(self, most=CALM_MOST):
        """Waits until others let go of the processors, `most` seconds at most."""
        end = self.clock() + most
        while self.clock() < end:
            before = self.look()
            self.sleep(CALM_WINDOW)
            if self.between(before, self.look())["steal_percent"] <= STEAL_MOST:
                return


def is_marked(circumstances):
    return circumstances["steal_percent"] > STEAL_MOST


class Spare:
    """Seconds that all rounds of an experiment may take which are made again, and waiting for calm
    before them; None: any number."""

    def __init__(self, seconds=None):
        self.seconds = float("inf") if seconds is None else seconds

    def take(self, seconds):
        self.seconds = max(0.0, self.seconds - seconds)


def tried(record):
    """How often a round was made."""
    return record.get("circumstances", {}).get("tries", 1)


class Unfinished(Exception):
    """There is no time for another round; the text says how many there are."""


class Earlier:
    """Rounds that a run which was cut off has made, and how long one takes. Of two the one that is not
    marked, or was tried more often."""

    def __init__(self, records=()):
        self.records = {self.key(r): r for r in sorted(
            (r for r in records if r.get("figures") is not None), key=self._worth)}

    @staticmethod
    def _worth(record):
        return not record["circumstances"]["marked"], tried(record)

    @staticmethod
    def key(record):
        return record["run"], record["series"], record["round"]

    def of(self, record):
        """The record of that run, series and round; None where there is none."""
        return self.records.get(self.key(record))

    def beside(self, records):
        """Those that are no tries of the rounds in `records`."""
        there = {self.key(r) for r in records}
        return [r for key, r in self.records.items() if key not in there]

    @staticmethod
    def lasting(records, name):
        """Seconds that a round of that series took at most, of any where it has none yet."""
        took = [(r["series"], r["circumstances"].get("seconds", 0))
                for r in records if "circumstances" in r]
        return max([s for n, s in took if n == name] or [s for _, s in took], default=0)


def undisturbed(once, say=lambda text: None, watch=None, tries=TRIES, spare=None):
    """(what `once()` returned, its circumstances): again while others take the processors and
    `spare` lets, which is asked whether another round of that length fits; marked if they always
    did. Figures with "failed" are not made again: a failure is to be seen, whoever disturbed it; but
    where there was not enough time that may be the others' doing."""
    watch, spare = watch or Watch(), spare or Spare()
    for attempt in range(1, tries + 1):
        watch.loads, before = NO_TICKS, watch.look()
        figures = once()
        circumstances = watch.between(before, watch.look())
        whole, of_loads = circumstances["steal_percent"], 100 * watch.loads[0] / max(1, watch.loads[-1])
        circumstances.update(steal_percent=max(whole, of_loads), whole_steal_percent=whole)
        circumstances.update(tries=attempt, marked=is_marked(circumstances))
        took = circumstances.get("seconds", 0)
        if attempt > 1:
            spare.take(took)
        failed = isinstance(figures, dict) and figures.get("failed")
        if not circumstances["marked"] or failed and not LATE.fullmatch(failed):
            break
        last = attempt == tries or spare.seconds < took
        say(f"steal {circumstances['steal_percent']:.1f} %" + (", marked" if last else ", again"))
        if last:
            break
        began = watch.clock()
        watch.calm(min(CALM_MOST, spare.seconds - took))
        spare.take(watch.clock() - began)
    return figures, circumstances


class Rounds:
    """Records {run, series, round, figures or failed, circumstances, cold} and what follows. `run`:
    the how-manieth call of run() on the bed; `cold`: of caches, as cold.py proved them."""

    def __init__(self, records):
        self.records = records

    def _of(self, name, key):
        """{round: (value, whether it is of a marked round)}"""
        return {r["round"]: (r["figures"][key], r["circumstances"]["marked"])
                for r in self.records if r["series"] == name
                and (r.get("figures") or {}).get(key) is not None}

    @staticmethod
    def _interval(pairs):
        """Of (value, marked): without the marked ones, where there are others."""
        good = [value for value, marked in pairs if not marked]
        found = median_interval(good or [value for value, _ in pairs])
        if found:
            found["marked"] = not good
        return found

    def interval(self, name, key):
        """{median, low, high, coverage, rounds, marked} of one figure; None where there is none."""
        return self._interval(self._of(name, key).values())

    def values(self, name, key):
        """Of the rounds that count."""
        pairs = self._of(name, key).values()
        return [v for v, marked in pairs if not marked] or [v for v, _ in pairs]

    def median(self, name, key):
        found = self.interval(name, key)
        return found and found["median"]

    def ratio(self, name, other, key):
        """The same of the ratio of two series, round by round: what both met falls out of it."""
        above, below = self._of(name, key), self._of(other, key)
        pairs = [(above[n][0] / below[n][0], above[n][1] or below[n][1])
                 for n in above if n in below and below[n][0]]
        return self._interval(pairs)

    def point(self, name, *keys, **more):
        """A point for an Outcome: the series' name, `more` (where it lies), an interval a key."""
        return {"series": name, **more, **{key: self.interval(name, key) for key in keys}}

    def series(self):
        return list(dict.fromkeys(r["series"] for r in self.records))

    def __add__(self, other):
        return Rounds(self.records + other.records)


def disturbed(records):
    """The (run, series) that have marked rounds only: nothing can be said of them."""
    cells = {}
    for r in records:
        if "circumstances" in r:
            cells.setdefault((r["run"], r["series"]), []).append(r["circumstances"]["marked"])
    return [cell for cell, marks in cells.items() if all(marks)]


def _left(bed, began, done, total):
    return f"{(bed.watch.clock() - began) / done * (total - done):.0f} s left" if done else ""


def _short(figures):
    numbers = [(k, v) for k, v in figures.items() if isinstance(v, (int, float))]
    return ", ".join(f"{k} {v:.4g}" for k, v in numbers[:5])


def run(bed, series, once, rounds=None):
    """Interleaved rounds of `once(name, number)` over the names in `series` (text; a dict's keys),
    as many as the bed says or `rounds`. `once` returns {figure: number, or what JSON can hold}; the
    first numbers show in the progress. RuntimeError and OSError of one round are kept as its
    failure, the other rounds go on. All records are the bed's too: they are kept whatever comes.
    Rounds of the bed's `earlier` are not made again; Unfinished where the bed's time is over."""
    names, rounds = list(series), rounds or bed.rounds
    records, made, began = [], [], bed.watch.clock()
    call = 1 + max((r["run"] for r in bed.records), default=-1)
    order = [(number, name) for number in range(rounds) for name in turned(names, number)]
    earlier = getattr(bed, "earlier", None) or Earlier()
    there = [earlier.of({"run": call, "series": n, "round": i + 1}) for i, n in order]
    # all of them first: they are kept also where the next one is cut off
    for record in filter(None, there):
        records.append(record)
        bed.records.append(record)
    left = [which for which, found in zip(order, there) if not found]
    left += [which for which, found in zip(order, there) if found and _comes_again(bed, found)]
    if records:
        bed.say(f"{len(order) - len(left)} of {len(order)} rounds are there already")
    while left:
        number, name = left.pop(0)
        done = len(order) - len(left) - 1
        _in_time(bed, Earlier.lasting(records, name), f"{done} of {len(order)} rounds")
        record, text = _one(bed, {"run": call, "series": name, "round": number + 1}, once)
        _put(bed, records, record)
        again = getattr(bed, "end", None) is not None and _comes_again(bed, record)
        if again:
            left.append((number, name))
        made.append(record)
        getattr(bed, "keep", lambda: None)()
        bed.say(f"[{done + (not again)}/{len(order)}, {_left(bed, began, len(made), len(made) + len(left))}] "
                f"round {number + 1} {name}: {text}")
    return Rounds(records)


def turned(names, number):
    """The names in the order of that round: another goes first each time."""
    turn = number % len(names)
    return names[turn:] + names[:turn]


def _in_time(bed, seconds, done):
    """Unfinished where a round that takes so long would end after the bed's time."""
    end = getattr(bed, "end", None)
    if end is not None and bed.watch.clock() + seconds > end:
        raise Unfinished(f"incomplete: {done}, and no time for the next")


def _comes_again(bed, record):
    """A disturbed round that was not tried as often as one may be."""
    return tried(record) < getattr(bed, "tries", TRIES) \
        and record.get("circumstances", {}).get("marked", False)


def _put(bed, records, record):
    """In the place of an earlier try of the round, which counts among its tries."""
    before = next((r for r in records if Earlier.key(r) == Earlier.key(record)), None)
    if before and "circumstances" in record:
        record["circumstances"]["tries"] += tried(before)
    for kept in (records, bed.records):
        if before:
            kept[kept.index(before)] = record
        else:
            kept.append(record)


def _one(bed, record, once):
    """The record with what was measured, and that as a text."""
    name, number = record["series"], record["round"] - 1
    proofs = getattr(bed, "proofs", [])

    def measure():
        proofs.clear()
        return once(name, number)

    tries = getattr(bed, "tries", TRIES) if getattr(bed, "end", None) is None else 1
    try:
        record["figures"], record["circumstances"] = undisturbed(
            measure, bed.say, bed.watch, tries, getattr(bed, "spare", None))
        return record, _short(record["figures"])
    except (RuntimeError, OSError) as error:
        record["failed"] = text = f"{type(error).__name__}: {error}"
        bed.failures.append(f"{name}, round {number + 1}: {text}")
        return record, text
    finally:
        if proofs:
            record["cold"] = list(proofs)
