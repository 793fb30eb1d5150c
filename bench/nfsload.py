# SPDX-License-Identifier: LGPL-3.0-or-later
"""Calling nfsbench, and what the tables use out of its results."""
import glob
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


# Of builds that are not what a package carries: what they add would be measured too.
ADDED = re.compile(r"RA_(ASSERT|SHARED_LINES):\w+=(ON|1|TRUE|YES|Y)$|CMAKE_C_FLAGS\w*:.*(-fsanitize=|--coverage)",
                   re.MULTILINE | re.IGNORECASE)


def _as_packaged(path, root):
    """Whether what is at `path` is of a build, at or below `root`, that is optimised and has nothing
    more than a package's: no assertions, no sanitizer, no counters."""
    while path != root and path != os.path.dirname(path):
        path = os.path.dirname(path)
        try:
            with open(os.path.join(path, "CMakeCache.txt"), encoding="utf-8") as cache:
                text = cache.read()
        except FileNotFoundError:
            continue
        return bool(re.search(r"^CMAKE_BUILD_TYPE:\w+=RelWithDebInfo$", text, re.MULTILINE)) \
            and not ADDED.search(text)
    return False


SHF_ALLOC, SHT_NOTE, SHT_NOBITS = 2, 7, 8  # of elf.h


def _loaded(data):
    """Of a program or library of 64 bits what runs, the same in whatever directory it was built: debug
    symbols name that, and the build's id, a note, is of them too. Of any other file all."""
    if data[:5] != b"\x7fELF\x02":
        return data
    order = "<" if data[5] == 1 else ">"
    table, = struct.unpack_from(order + "Q", data, 40)
    size, count = struct.unpack_from(order + "2H", data, 58)
    found = []
    for at in range(table, table + size * count, size):
        _, kind, flags, _, start, length = struct.unpack_from(order + "2I4Q", data, at)
        if flags & SHF_ALLOC and kind not in (SHT_NOTE, SHT_NOBITS):
            found.append(data[start:start + length])
    return b"".join(found)


def hashes(paths):
    """{name: SHA-256} of {name: path or None}: what is measured, whatever the code's commit."""
    found = {}
    for name, path in paths.items():
        if path:
            with open(path, "rb") as file:
                found[name] = hashlib.sha256(_loaded(file.read())).hexdigest()
    return found


def find_built(name, given):
    """The program or plugin `name`: as given, else the newest one of the builds as packages are, below
    RA_BUILD where that is set."""
    if given:
        if not os.path.exists(given):
            sys.exit(f"compare: {given}: no such file")
        return os.path.abspath(given)
    top = os.path.dirname(HERE)
    only = os.environ.get("RA_BUILD")
    roots = [only] if only else glob.glob(os.path.join(top, "build*")) + [os.path.join(top, "BUILD")]
    found = []
    for root in roots:
        found += [f for f in glob.glob(os.path.join(root, "**", name), recursive=True)
                  if os.path.isfile(f) and _as_packaged(f, root)]
    if not found:
        sys.exit(f"compare: no {name} below {only or 'build*/'} of a build as packages are "
                 "(RelWithDebInfo, without RA_ASSERT): build the preset release, or name it by option "
                 "or RA_BUILD")
    return os.path.abspath(max(found, key=os.path.getmtime))


class Bench:
    """Runs nfsbench, and makes sure it does not outlive us."""

    def __init__(self, path, max_time, seed):
        self.path = path
        self.max_time = max_time
        self.seed = seed
        self.child = None
        self.json = tempfile.mkstemp(prefix="nfsbench-", suffix=".json")[1]

    def close(self):
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        if os.path.exists(self.json):
            os.unlink(self.json)

    def call(self, arguments, timeout):
        command = [self.path] + [str(a) for a in arguments] + ["--seed", str(self.seed)]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, start_new_session=True)
        try:
            output = self.child.communicate(timeout=timeout)[1]
        except subprocess.TimeoutExpired:
            self.child.kill()
            output = self.child.communicate()[1] + f"killed after {timeout:.0f} s"
        return self.child.returncode, output.strip()

    def layout(self, directory, first, files, size):
        os.makedirs(directory, exist_ok=True)
        status, output = self.call(["--layout", directory, "--first-file", first, "--files", files,
                                    "--size", size, "--quiet"], 600)
        if status:
            raise RuntimeError(f"laying out {directory}: {output}")

    def check(self, directory, first, files, size):
        """Whether the writers' files are what was written: None, or what is wrong."""
        status, output = self.call(["--check", directory, "--first-file", first,
                                    "--files", files, "--size", size], 600)
        return output or f"exit status {status}" if status else None

    def load(self, server, export, arguments):
        """(results, None) or (results or None, what went wrong)."""
        with open(self.json, "w", encoding="utf-8"):
            pass
        status, output = self.call(
            ["--server", getattr(server, "host", "127.0.0.1"), "--port", server.port,
             "--mount-port", server.mport, "--export", export,
             "--max-time", self.max_time, "--json", self.json, "--quiet"] + arguments,
            self.max_time + 60)
        try:
            with open(self.json, encoding="utf-8") as file:
                results = json.load(file)
        except ValueError:
            results = None
        return results, None if status == 0 and results else output or f"exit status {status}"


def _fairness(work, results):
    """Fastest over slowest of the work's streams, by rates: those that the clock stops all end
    together. None where there is nothing to compare."""
    rates = [r["bytes"] / r["end_s"] for r in results["readers"]
             if r["group"] == work.streams and r["end_s"]]
    return max(rates) / min(rates) if len(rates) > 1 and min(rates) else None


def _beside(group):
    """Throughput, requests a second and latencies of a group while the main group ran."""
    return group["beside_mb_s"], group["beside_requests_s"], group["beside_latency_ms"]


def figures(work, results):
    """What the tables use, as a dict. Of a work with writers beside streams, the streams' figures
    are those while the writers ran; the random readers' always are while the others ran."""
    groups = results["groups"]
    main = groups[work.streams] if work.streams else results["total"]
    writers, random = groups.get("writers"), groups.get("random")
    mb_s, latency = main["mb_s"], main["latency_ms"]
    if work.streams == "streams" and writers:
        mb_s, _, latency = _beside(main)
    found = {
        "mb_s": mb_s, "elapsed_s": results["elapsed_s"],
        "files_s": results["total"].get("files_s") or None,
        "slowest_fastest": main["slowest_fastest"] if main["flows"] > 1 else None,
        "p50_ms": latency["p50"], "p99_ms": latency["p99"], "worst_ms": latency["max"],
        "finish_s": [r["end_s"] for r in results["readers"]
                     if not work.streams or r["group"] == work.streams],
        "command": results["command"],
    }
    if "log" in groups:
        found.update({"reads_s": groups["reads"]["requests_s"],
                      "writes_s": groups["writes"]["requests_s"],
                      "logs_s": groups["log"]["requests_s"],
                      "log_p99_ms": groups["log"]["latency_ms"]["p99"],
                      "p50_ms": groups["reads"]["latency_ms"]["p50"],
                      "p99_ms": groups["reads"]["latency_ms"]["p99"]})
    if "log" in groups or "fsstat" in groups:
        found["ops_s"] = results["total"]["requests_s"]
    if writers:
        found["acknowledged_s"] = writers["acknowledged_s"]
        found["committed_s"] = writers["committed_s"] or None
        found["all_done_s"] = results["total"]["last_end_s"]
    if random and (writers or work.streams == "random"):
        found["random_whole_s"] = random["requests_s"]
    if random and work.streams and work.streams != "random":
        _, found["random_requests_s"], latency = _beside(random)
        found["random_p50_ms"], found["random_p99_ms"] = latency["p50"], latency["p99"]
        found["slowest_fastest"] = _fairness(work, results) or found["slowest_fastest"]
    return found
