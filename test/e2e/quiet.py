# SPDX-License-Identifier: LGPL-3.0-or-later
"""Checks of rates, ratios and latencies, which say nothing of the server while others have the
processors: the machines below this one (steal), or programs beside the test.

    quiet.judge("weights 3 : 1", lambda: load(...), lambda seen: [(holds, claim, detail), ...])

Where a claim does not hold and the measurement was disturbed, it is made again. One that fails undisturbed
fails; so does one that fails TRIES times without steal. Measurements with steal say nothing when a claim fails:
after as many of these again it says so, for a claim that could not be judged is neither. What must hold whatever
the machine does is no claim, but a check of its own.
"""
import collections
import os
import time

import e2e

STEAL_MOST = 5  # percent of the processors' time that others may have had during a measurement
CROWDED = 0.7  # of the time some thread of the machine waited for a processor
TRIES = 3

Look = collections.namedtuple("Look", "second stolen ticks waited")

try:
    # Kept open: a test may mount another file over it.
    _stat = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
except OSError:
    _stat = None


def processor_ticks():
    """(stolen, all) ticks of all processors since the start of the machine."""
    ticks = [int(n) for n in os.pread(_stat, 512, 0).split(b"\n")[0].split()[1:9]]
    return ticks[7], sum(ticks)


def steal_percent(before, after):
    """Share of the processors that other machines on this one's host had between two looks."""
    return 100 * (after[0] - before[0]) / max(1, after[1] - before[1])


def _waited():
    """Seconds in which some thread of the machine waited for a processor; 0: the kernel does not
    count."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            return int(file.readline().rsplit("=", 1)[1]) / 1e6
    except OSError:
        return 0


def is_beside():
    """Whether scripts/test has other tests beside, at idle priority: caches are not ours alone."""
    over = os.environ.get("RA_BESIDE")
    return bool(over) and not os.path.exists(over)


def look():
    return Look(time.monotonic(), *processor_ticks(), _waited())


def between(before, after):
    """(steal in percent, share of the time in which threads waited for a processor)."""
    return (steal_percent(before[1:3], after[1:3]),
            (after.waited - before.waited) / max(1e-9, after.second - before.second))


def judge(what, measure, claims, tries=TRIES, looks=look, disturbs=lambda seen: None):
    """Checks claims(measure()), a list of (holds, claim, detail); None from measure() ends it, with
    nothing checked. disturbs(seen) may name what else disturbed a measurement. Returns what was
    measured last."""
    stolen = own = 0
    while True:
        before = looks()
        seen = measure()
        if seen is None:
            return None
        steal, crowded = between(before, looks())
        if steal > STEAL_MOST:
            stolen += 1
        else:
            own += 1
        found = claims(seen)
        other = disturbs(seen)
        disturbed = steal > STEAL_MOST or crowded > CROWDED or other or is_beside()
        if all(holds for holds, _, _ in found) or tries in (own, stolen) or not disturbed:
            break
        e2e.note(f"{what}: again: {steal:.0f} % of the processors were stolen, and threads waited "
                 f"for them in {crowded:.0%} of the time{'; ' + other if other else ''}")
    for holds, claim, detail in found:
        if not holds and stolen == tries:
            e2e.note(f"{what}: {claim}: not judged: {tries} times more than {STEAL_MOST} % of the "
                     f"processors were stolen: {detail}")
        else:
            e2e.check(holds, f"{what}: {claim}", detail)
    return seen
