# SPDX-License-Identifier: LGPL-3.0-or-later
"""bench/compare, called by an experiment: its rounds become the experiment's.

    stored, done = compare(bed, "bench/compare --work seq8 --servers stock,ra")
    done.ratio("seq8 ra", "seq8 stock", "mb_s")

An experiment that only calls it says servers = False: compare has namespaces of its own.
"""
import json
import os
import subprocess
import tempfile

import testbed
import keeping
from experiments import rounds
from experiments.experiment import NotRun

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
UNDO = 60  # seconds that a program gets to undo what it did


def call(command, more=(), statuses=(0,)):
    """The standard output of a command: words, or a text without blanks in them. NotRun where it says that
    it cannot run here, RuntimeError where its exit status is none of `statuses`. It undoes what it did also
    when we are ended."""
    words = [*(command.split() if isinstance(command, str) else command), *more]
    child = subprocess.Popen(words, cwd=TOP, stdout=subprocess.PIPE, text=True)
    try:
        told = child.communicate()[0]
    finally:
        testbed.e2e.end_process(child, UNDO)
    if child.returncode == testbed.e2e.SKIP:
        raise NotRun(f"{' '.join(words)}: cannot run here")
    if child.returncode not in statuses:
        raise RuntimeError(f"{' '.join(words)}: exit status {child.returncode}:\n{told[-2000:]}")
    return told


def records_of(stored, run):
    """The rounds that bench/compare stored, as those of experiments/rounds.py."""
    records = []
    for r in stored["runs"]:
        record = {"run": run, "series": f"{r['work']} {r['server']}", "round": r["run"],
                  "circumstances": r["circumstances"]}
        if r.get("failed"):
            record["failed"] = r["failed"]
        else:
            record["figures"] = {k: v for k, v in r.items() if k != "circumstances"}
        records.append(record)
    return records


def take(bed, path, run):
    """What was stored at `path`, whose rounds become the bed's; None where nothing was."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        stored = json.load(file)
    records = records_of(stored, run)
    bed.records += records
    bed.failures += [f"{r['series']}, round {r['round']}: {r['failed']}" for r in records
                     if "failed" in r]
    return stored


def reason_against(bed, path, words):
    """Why the rounds that are kept at `path` are not those of this command, code and build; None: they are."""
    try:
        stored = keeping.read(path)
    except ValueError as error:
        return str(error)
    if [w for w in stored["command"].split() if w != "--go-on"] != " ".join(words).split():
        return f"they are of another command: {stored['command']}"
    return keeping.other_code(stored["machine"], bed.described)


def may_go_on(bed, path, words):
    """Whether to go on from the rounds at `path`; any others are put aside until the experiment is whole."""
    if not os.path.exists(path):
        return False
    against = reason_against(bed, path, words) if bed.go_on else "--go-on is not given"
    if against:
        bed.say(f"earlier rounds do not count, they are now {path}.before: {against}")
        os.rename(path, f"{path}.before")
    return not against


def compare(bed, command, more=()):
    """(what compare stores as JSON, its rounds with series "WORK SERVER"). A round that failed is a
    failure of the bed's; the others count. What was measured before compare was cut off is the
    bed's too, and another call goes on from there where the bed has a place for its file."""
    run = 1 + max((r["run"] for r in bed.records), default=-1)
    runs = () if "--runs " in command and not bed.quick else ("--runs", str(bed.rounds))
    more = ["--tries", str(bed.tries), *runs, *more]
    with tempfile.TemporaryDirectory(prefix="comparing-") as directory:
        path = bed.part(run) or os.path.join(directory, "compare.json")
        more += ["--json", path]
        more += ["--go-on"] if may_go_on(bed, path, command.split() + more) else []
        try:
            call(command, more, (0, 1))
        except BaseException:
            take(bed, path, run)
            raise
        stored = take(bed, path, run)
        if not stored:
            raise RuntimeError(f"{command}: it stored nothing")
    if stored["incomplete"]:
        bed.failures.append(f"{command}: incomplete: {stored['incomplete']}")
    return stored, rounds.Rounds([r for r in bed.records if r["run"] == run])
