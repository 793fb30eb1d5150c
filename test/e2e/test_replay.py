#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""nfsreplay against a real server: test_replay.py NFSREPLAY PLUGIN

What it proves, with the shipped trace: each client's calls reach the server in the trace's order; the
bytes read, and those that it leaves, are compared and are right; a byte changed behind its back, a file
missing and a bad trace are told; times and think times are kept.
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys

import e2e
import nfs3
import quiet
from relay import Relay

TRACE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "..", "..", "bench", "nfsreplay", "small.trace")
FIRST = "127.0.0.10"  # the first client's address
SLOW = 5  # seconds that it may take longer
PROCEDURES = {"getattr": 1, "setattr": 2, "lookup": 3, "access": 4, "read": 6, "write": 7, "create": 8,
              "mkdir": 9, "remove": 12, "rmdir": 13, "rename": 14, "readdir": 16, "readdirplus": 17,
              "fsstat": 18, "commit": 21}
THINKS = """nfs-trace 1
file f 65536
0 c read f 0 4096 took=1000
0.301 c read f 4096 4096 took=1000
0.302 c read f 8192 4096 took=1000
"""


class Bench:
    """nfsreplay of one trace against one server."""

    def __init__(self, program, server, export, work):
        self.program, self.server, self.export, self.work = program, server, export, work
        self.place = self.number = 0

    def call(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], check=False, text=True,
                              capture_output=True, timeout=240)

    def prepare(self, trace):
        """In a directory of its own: the server remembers what it has seen of another."""
        self.number += 1
        self.place = f"{self.export}/t{self.number}"
        done = self.call("--prepare", self.place, trace)
        e2e.check(done.returncode == 0, "the trace's files are laid out", done.stderr)
        e2e.drop_caches()

    def replay(self, trace, *arguments, port=None):
        """(what it said and its exit status, its JSON, its log)"""
        out, log = f"{self.work}/replay.json", f"{self.work}/replay.csv"
        done = self.call("--export", "/e1", "--dir", f"t{self.number}",
                         "--port", port or self.server.port, "--mount-port", self.server.mport,
                         "--json", out, "--log", log, "--max-time", 200, *arguments, trace)
        with open(out, encoding="utf-8") as file:
            told = json.load(file)
        with open(log, encoding="utf-8") as file:
            return done, told, list(csv.DictReader(file))


def operations(path):
    """{client: [(procedure, offset, count)]} of a trace."""
    found = collections.OrderedDict()
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not re.match(r"\d", line):
                continue
            numbers = (int(words[4]), int(words[5])) if words[2] in ("read", "write", "commit") \
                else (0, 0)
            found.setdefault(words[1], []).append((PROCEDURES[words[2]], *numbers))
    return found


def in_order(bench):
    """As fast as possible: what reaches the server is each client's operations, one after the other."""
    relay = Relay(bench.server.port)
    bench.prepare(TRACE)
    done, told, log = bench.replay(TRACE, "--pace", "fast", "--from", FIRST, port=relay.port)
    relay.close()
    e2e.check(done.returncode == 0 and told["complete"] and not told["problem"],
              "replayed as fast as possible, every answer the trace's", done.stderr + str(told))
    wanted = operations(TRACE)
    for number, (client, ops) in enumerate(wanted.items()):
        calls = [c[:3] for c in relay.calls[f"127.0.0.{10 + number}"]][-len(ops):]
        e2e.check(calls == ops, f"{client}'s {len(ops)} calls reached the server in order",
                  [(i, *pair) for i, pair in enumerate(zip(calls, ops)) if pair[0] != pair[1]][:5])
    read = told["operations"]["read"]
    e2e.check(read["bytes"] == sum(n for ops in wanted.values() for p, _, n in ops
                                   if p == nfs3.READ) and not read["mismatches"],
              "every READ brought what the trace read, and the file's bytes", read)
    e2e.check(len(log) == sum(map(len, wanted.values()))
              and all(line["status"] == "0" for line in log), "each is in the log", log[-3:])
    counts = {client: row["latency_ms"]["count"] for client, row in told["clients"].items()}
    e2e.check(counts == {c: len(ops) for c, ops in wanted.items()}, "and counted by client", counts)
    left = bench.call("--check", bench.place, TRACE)
    e2e.check(left.returncode == 0, "what it left is what was written", left.stderr)


def at_its_times(bench):
    def replay():
        bench.prepare(TRACE)
        done, told, log = bench.replay(TRACE, "--speed", 2)
        e2e.check(done.returncode == 0, "replayed at twice the recorded speed", done.stderr)
        early = [line for line in log if float(line["sent_us"]) < float(line["due_us"])]
        e2e.check(not early, "nothing before its time", early[:3])
        e2e.check(told["elapsed_s"] + 0.05 >= told["recorded_s"] / 2, "it lasts half as long",
                  told["elapsed_s"])
        parts = [told["total"][key]["mean"] for key in ("waited_ms", "latency_ms", "late_ms")]
        e2e.check(abs(parts[0] - parts[1] - parts[2]) < 0.01,
                  "a request is waited for since it was due: late, and then under way", parts)
        e2e.note(f"{told['elapsed_s']} s, sent late by ms: {told['total']['late_ms']}")
        return told

    quiet.judge("at its times", replay, lambda told: [
        (told["elapsed_s"] < told["recorded_s"] / 2 + SLOW, f"and no more than {SLOW} s longer",
         told["elapsed_s"])])


def after_thinking(bench):
    path = f"{bench.work}/thinks.trace"
    with open(path, "w", encoding="utf-8") as file:
        file.write(THINKS)
    relay = Relay(bench.server.port)
    bench.prepare(path)
    done, _, log = bench.replay(path, "--pace", "think", "--from", FIRST, port=relay.port)
    relay.close()
    times = [c.at for c in relay.calls[FIRST] if c.procedure == nfs3.READ]
    answered = relay.answers[FIRST][-3:]
    e2e.check(done.returncode == 0 and len(times) == 3 and times[1] - answered[0] >= 0.299
              and answered[1] <= times[2],
              "a think time of 300 ms passes after the answer", f"{times} {answered} {log}")


def wrong_byte(bench):
    bench.prepare(TRACE)
    victim = f"{bench.place}/data/run0"
    with open(victim, "r+b") as file:
        file.seek(70000)
        byte = file.read(1)
        file.seek(70000)
        file.write(bytes([byte[0] ^ 1]))
    done, told, _ = bench.replay(TRACE, "--pace", "fast")
    e2e.check(done.returncode == 1 and told["operations"]["read"]["mismatches"]
              and "read of data/run0: 1 bytes of 65536 are not the file's" in done.stderr,
              "one changed byte is told, with its line", done.stderr)
    left = bench.call("--check", bench.place, TRACE)
    e2e.check(left.returncode == 1 and "run0 is not what the trace leaves" in left.stderr,
              "afterwards too", left.stderr)


def missing(bench):
    bench.prepare(TRACE)
    os.remove(f"{bench.place}/data/run0")
    done = bench.call("--export", "/e1", "--dir", f"t{bench.number}", "--port",
                      bench.server.port, "--mount-port", bench.server.mport, TRACE)
    e2e.check(done.returncode == 1 and "needs data/run0 on the server" in done.stderr,
              "a file that is missing is named", done.stderr)
    again = bench.call("--prepare", bench.place, TRACE)
    e2e.check(again.returncode == 1 and "must be an empty directory" in again.stderr,
              "nothing is laid out among other files", again.stderr)


def of_directories(bench):
    """What fails of a directory, also of the root of all, fails again and is no error."""
    path = f"{bench.work}/directories.trace"
    with open(path, "w", encoding="utf-8") as file:
        file.write("nfs-trace 1\ndir d\nfile f 4096\n"
                   "0 c read . 0 10 status=21\n0 c write . 0 10 status=21\n"
                   "0 c read d 0 10 status=21\n0 c write d 0 10 status=21\n"
                   "0 c readdir f 4096 status=20\n0 c read f 0 4096\n")
    bench.prepare(path)
    done, told, _ = bench.replay(path, "--pace", "fast")
    e2e.check(done.returncode == 0 and told["operations"]["write"]["errors"] == 0 and
              told["operations"]["read"]["errors"] == 0,
              "reads and writes of directories fail as recorded", (done.stderr, told))


def refused(bench):
    path = f"{bench.work}/bad.trace"
    with open(path, "w", encoding="utf-8") as file:
        file.write("nfs-trace 1\n0 c read f 0 99999999\n")
    done = bench.call("--plan", path)
    e2e.check(done.returncode == 2 and "line 2: length 99999999" in done.stderr,
              "a bad line is told with its number and what would do", done.stderr)
    done = bench.call("--export", "/e1", "--speed", 0, TRACE)
    e2e.check(done.returncode == 2 and "--speed 0: must be a number from 0.001 to 1000"
              in done.stderr, "and so is a bad option", done.stderr)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    if not os.path.exists(sys.argv[1]):
        e2e.skip(f"{sys.argv[1]}: nfsreplay was not built")
    plugin = e2e.plugin_from(sys.argv[2:], __doc__)
    e2e.enter()
    work = e2e.work_directory()
    export = e2e.loop_export(work, 256 << 20, rotating=True)
    server = e2e.Server("ra", [{"id": 1, "path": export, "pseudo": "/e1"}], work, plugin).start()
    bench = Bench(sys.argv[1], server, export, work)
    for scene in (in_order, at_its_times, after_thinking, wrong_byte, missing, of_directories,
                  refused):
        scene(bench)
    e2e.check(server.alive(), "the server is alive")
    e2e.finish()


if __name__ == "__main__":
    main()
