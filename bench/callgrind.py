# SPDX-License-Identifier: LGPL-3.0-or-later
"""Instructions and calls of a server that runs under valgrind's callgrind, a READ at a time.

    server.wrap = callgrind.wrapped(directory)
    counter = callgrind.Counter(server, directory)
    counter.begin()                                  # nothing was counted until here
    load(n); counter.take("n"); load(2 * n); counter.take("2n")
    cost = counter.between("n", "2n", n)             # a Cost: what n READs more came to, over n

The difference leaves out what each load does once: connections, MOUNT, LOOKUP, the first open of a
file. Threads that serve no READ (the plugin's own loops, Ganesha's housekeeping) are left out by
what they run: their work goes by the clock, which under valgrind runs fifty times as fast.

A dump is a text: "fn=" names the function that the lines below belong to, "ob=" its library; a line
of numbers is (line, instructions) of the function itself; after "calls=N" it is what the N calls of
"cfn=" in "cob=" came to with all that they called. Names are given once, as "(7) name", then "(7)".
"""
import collections
import glob
import os
import re
import subprocess

PLUGIN = "libfsalra"
LIBRARIES = (PLUGIN, "libfsalvfs", "libganesha_nfsd", "libntirpc", "libc", "liburcu")
OWN_LOOPS = {"maintainer", "price_loop_turn", "server_main"}  # of the plugin: by the clock
ALLOCATIONS = re.compile(r"(malloc|calloc|realloc|free|cfree|posix_memalign|aligned_alloc)$")
LOCKS = re.compile(r"_*(pthread_(mutex_(try|clock|timed)?lock|rwlock_(try|timed)?(rd|wr)lock|"
                   r"spin_lock))(@@?\w+(\.\w+)*)?$")


def wrapped(directory):
    """What goes before the server's command."""
    return ("valgrind", "--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no",
            f"--callgrind-out-file={directory}/callgrind")


def library(path):
    """libfsalra of /usr/lib/ganesha/libfsalra.so; liburcu of both of its libraries."""
    return re.sub(r"^(liburcu).*|(-[\d.]+)?\.so.*$", r"\1", os.path.basename(path))


class Profile:
    """Of one thread or of several: own[(library, function)] instructions; calls[(library, function,
    called library, called function)] = [calls, instructions in them]."""

    def __init__(self):
        self.own = collections.Counter()
        self.calls = collections.defaultdict(lambda: [0, 0])

    def add(self, other, factor=1):
        for key, value in other.own.items():
            self.own[key] += factor * value
        for key, (calls, cost) in other.calls.items():
            self.calls[key][0] += factor * calls
            self.calls[key][1] += factor * cost

    def serves(self):
        """Whether a thread with this profile took part in READs."""
        functions = {f for lib, f in self.own if lib == PLUGIN}
        if functions & OWN_LOOPS:
            return False
        return bool(functions) or any(lib in ("libfsalvfs", "libntirpc") for lib, _ in self.own)


class Parser:
    """One dump of one thread."""

    def __init__(self):
        self.names = {"ob": {}, "fn": {}}
        self.now = {"ob": "", "fn": "", "cob": None, "cfn": ""}
        self.calls = None  # of a line "calls=" whose cost comes next

    def named(self, space, text):
        match = re.match(r"\((\d+)\)(?: (.*))?", text)
        if match[2] is not None:
            name = library(match[2]) if space == "ob" else re.sub(r"'\d+$", "", match[2])
            self.names[space][match[1]] = name
        return self.names[space][match[1]]

    def line(self, text, profile):
        key, equals, value = text.partition("=")
        if equals and key in self.now:
            self.now[key] = self.named(key[-2:], value)
        elif equals and key == "calls":
            self.calls = int(value.split()[0])
        elif text[:1] in "0123456789+-*" and text:
            self.cost(int(text.split()[-1]), profile)

    def cost(self, instructions, profile):
        at = self.now
        if self.calls is None:
            profile.own[at["ob"], at["fn"]] += instructions
            return
        entry = profile.calls[at["ob"], at["fn"], at["cob"] or at["ob"], at["cfn"]]
        entry[0] += self.calls
        entry[1] += instructions
        self.calls, at["cob"] = None, None


def read_dump(path):
    profile, parser = Profile(), Parser()
    with open(path, encoding="utf-8", errors="replace") as dump:
        for text in dump:
            parser.line(text.rstrip("\n"), profile)
    return profile


class Counter:
    """Takes dumps of a running server."""

    def __init__(self, server, directory):
        self.server, self.directory = server, directory
        self.taken = 0
        self.profiles = {}  # by name

    def command(self, *words):
        done = subprocess.run(["vgdb", f"--pid={self.server.pid}", *words], check=False, text=True,
                              capture_output=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"vgdb {' '.join(words)}: {done.stderr.strip()}")

    def begin(self):
        self.command("instrumentation", "on")

    def forget(self):
        self.command("zero")

    def take(self, name):
        """What was executed since the last, of the threads that serve READs."""
        self.command("dump", name)
        self.taken += 1
        whole = Profile()
        for path in glob.glob(f"{self.directory}/callgrind.{self.taken}-*"):
            profile = read_dump(path)
            if profile.serves():
                whole.add(profile)
        self.profiles[name] = whole

    def between(self, less, more, reads):
        difference = Profile()
        difference.add(self.profiles[more])
        difference.add(self.profiles[less], -1)
        return Cost(difference, reads)


class Cost:
    """A profile a READ."""

    def __init__(self, profile, reads):
        self.profile, self.reads = profile, reads

    def by_library(self):
        """{library: instructions}, "other" for those not in LIBRARIES, "all"."""
        found = dict.fromkeys((*LIBRARIES, "other"), 0.0)
        for (lib, _), cost in self.profile.own.items():
            found[lib if lib in found else "other"] += cost / self.reads
        found["all"] = sum(found.values())
        return found

    def functions(self, lib=PLUGIN):
        """[(function, instructions)] of a library, most first."""
        own = [(f, cost / self.reads) for (at, f), cost in self.profile.own.items() if at == lib]
        return sorted((x for x in own if x[1] > 0), key=lambda x: -x[1])

    def called(self):
        """[(library, function, calls, instructions)] that the plugin calls of others, but for the
        sub-FSAL and the server, whose own work that is."""
        found = collections.defaultdict(lambda: [0.0, 0.0])
        for (lib, _, to, function), (calls, cost) in self.profile.calls.items():
            if lib == PLUGIN and to not in (PLUGIN, "libfsalvfs", "libganesha_nfsd"):
                found[to, function][0] += calls / self.reads
                found[to, function][1] += cost / self.reads
        return sorted(((*key, *value) for key, value in found.items() if value[0] > 0),
                      key=lambda x: -x[3])

    def count(self, pattern, lib=None):
        """Calls of functions whose name is PATTERN's, from LIB or from all but libc itself."""
        return sum(n for _, n in self.callers(pattern, lib))

    def callers(self, pattern, lib=PLUGIN):
        """[("function -> called", calls)]"""
        found = collections.Counter()
        for (at, f, to, function), (calls, _) in self.profile.calls.items():
            if pattern.match(function) and to == "libc" and at != "libc" and lib in (None, at):
                found[f"{f} -> {pattern.match(function)[1]}"] += calls / self.reads
        return sorted((x for x in found.items() if x[1] > 0), key=lambda x: -x[1])

    def as_json(self):
        return {"instructions": self.by_library(), "functions": self.functions(),
                "called": self.called(),
                "allocations": self.callers(ALLOCATIONS), "locks": self.callers(LOCKS),
                "allocations_all": self.count(ALLOCATIONS), "locks_all": self.count(LOCKS)}
