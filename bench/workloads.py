# SPDX-License-Identifier: LGPL-3.0-or-later
"""The named workloads of bench/compare: what files they need, how nfsbench is called for them, and
what a server must reach.

A name says everything: seq8 is eight sequential readers, begin16 sixteen that have only begun (each
reads 256 KiB of a long file: how long do first bytes take?), stride4 one reader of four components,
shared8 eight readers of one file, reorder10 a sequential reader with 10 % of its requests out of
order, forward4k and backward4k a reader of 4 KiB from the beginning and from the end, sparse64k1m a
reader of 64 KiB of each MiB, ior47008 one of 47,008 bytes of each MiB, backsparse8k64k and
backior47008 such readers from the end, tiles8x8 a reader of a matrix of 8 x 8 tiles that takes a
request of each in turn, cursors2000 64 readers of one file that have 2,000 sequential components
together, ends1 one reader of the ends of many files of 4 MiB (as many as --size holds), in a
random order, each by LOOKUP and the three READs of a reader of an archive's index or of a columnar
file's footer, tails1 the same with the last 64 KiB of each by 4 KiB downwards, last1 with its last
4 KiB only, heads1 with its first 256 KiB (with more readers they divide the files, and what
counts is files a second), random8k one random reader of 8 KiB, random8kx4 four of them, random8ko32
one with 32 outstanding, mixed8+1 eight streams beside one random reader, mixed4+1w2 four streams
and a random reader as long as two writers write and COMMIT, write1+1 a writer (then COMMIT) beside a
random reader that does all its reads, lazy1+1 the same without COMMIT, write0+1 the reader of these
workloads alone, oltp12 twelve clients with transactions of random reads, random writes and a stable
write of their log, cached64k a sequential reader of 64 KiB whose file is resident, fsstat FSSTAT calls.

A workload also says which memory its server has (machine.py): those that write have little, lazy
ones ample.
"""
import re

import isolation

KIB = 1024
MIB = 1024 * KIB
# Of forwardSk and backwardSk, at most: where each is a turn of the disk, as backwards with stock, a minute.
ONE_WAY_READS = 8192

# What each reader of beginN reads.
BEGINNING = 256 * KIB

# Bytes of each file of endsN, tailsN, lastN and headsN, and what is read of it, as nfsbench's --pieces.
END_FILE = 4 * MIB
END_PIECES = {
    "ends": "4K@4K,16K@24K,8K@48K",
    "tails": ",".join(f"4K@{4 * k}K" for k in range(1, 17)),
    "last": "4K@4K",
    "heads": ",".join(f"32K@{4096 - 32 * k}K" for k in range(8)),
}
FILES_MOST = 10000  # that nfsbench numbers

GROUPS = {
    "one": ["seq1"],
    "two": ["seq2"],
    "begin": ["begin8", "begin16"],
    "readers": ["seq8", "seq32"],
    "strides": ["stride2", "stride4", "stride8"],
    "within": ["seq1", "forward32k", "backward32k", "forward4k", "backward4k", "sparse64k1m", "ior47008",
               "tiles8x8", "cursors2000"],
    "ends": ["ends1", "tails1", "last1"],
    "heads": ["heads1", "heads8"],
    "reorder": ["reorder10"],
    "random": ["random8k"],
    "shared": ["shared8"],
    "mixed": ["mixed8+1", "mixed8+4"],
    "write": ["write1+0", "write1+1"],
    "writeback": ["write0+1", "write1+1", "lazy1+1", "mixed4+1w2"],
    "oltp": ["oltp1", "oltp4", "oltp12", "oltp23", "oltp32"],
    "cached": ["cached4k", "cached64k"],
    "fair": ["fair2", "fair4", "fair8", "fair8+1", "fair8+4"],
    "isolation": ["fair8", "fair8+1", "flood", "pack32+1", "weights3", "commit+16", "floor16",
                  "apart1+1"],
}
GROUPS["table"] = (GROUPS["one"] + GROUPS["two"] + GROUPS["readers"] + GROUPS["strides"]
                   + GROUPS["reorder"] + GROUPS["random"])
GROUPS["demo"] = GROUPS["one"] + GROUPS["readers"] + ["stride2", "stride8"] + GROUPS["random"]
GROUPS["prices"] = GROUPS["writeback"] + GROUPS["oltp"] + ["fsstat"]
GROUPS["all"] = GROUPS["table"] + GROUPS["shared"] + GROUPS["mixed"]

FORMS = "seqN beginN strideN sharedN reorderP forwardSk backwardSk sparseSkPk sparseSkPm iorB backsparseSkPk backiorB tilesNxN cursorsN " \
    "endsN tailsN lastN headsN randomSk randomSkxN randomSkoQ randomSkxNoQ mixedN+M mixedN+MwW writeN+M lazyN+M " \
    "oltpN cachedSk fsstat " + isolation.FORMS


class Workload:
    """One named work. `files` files of `file_size` bytes in the set (directory) `set`;
    `arguments` for nfsbench; `cached`: the files are read once before, and stay resident.
    `writers`: number of the first file written, how many are, bytes of each; `written`: bytes of
    files that it makes; `rewrites`: it changes the set's files too. `clients`: those of a work of
    isolation.py, each of which runs for `alone` seconds by itself before; 0: none does."""

    def __init__(self, name, files, file_size, arguments, cached=False, streams=None,
                 writers=(0, 0, 0), written=0, rewrites=False, memory="host", clients=(),
                 alone=0):
        self.name = name
        self.files, self.file_size = files, file_size
        self.clients, self.alone = clients, alone
        self.sets = [(0, files, file_size)]  # number of the first, how many, bytes of each
        self.set = f"{files}x{file_size // KIB}k" + ("-rewritten" if rewrites else "")
        self.arguments = ["--dir", f"sets/{self.set}"] + [str(a) for a in arguments]
        self.cached = cached
        self.writers = writers
        self.written = written or writers[1] * writers[2]
        self.rewrites = rewrites
        self.memory = memory
        self.together = []  # arguments of the load that is measured, beside those of each alone
        self.streams = streams  # the group whose throughput counts, None: all

    @classmethod
    def of_clients(cls, name, clients, sets, seconds, alone, written=0, memory="host"):
        """A work of isolation.py."""
        work = cls(name, 0, 0, ["--work", "clients"], written=written, memory=memory,
                   clients=clients, alone=alone)
        work.sets = sets
        work.set = "clients-" + "-".join(f"{n}x{size // KIB}k" for _, n, size in sets)
        work.arguments[1] = f"sets/{work.set}"
        work.together = ["--duration", str(seconds), "--warm-up", "1"]
        return work

    def bytes_laid_out(self):
        return sum(files * size for _, files, size in self.sets)

    def __repr__(self):
        return self.name


def _number(text, low, high, name):
    value = int(text)
    if not low <= value <= high:
        raise ValueError(f"work {name}: {value} must be {low} to {high}")
    return value


def make(name, size=256 * MIB, mixed_size=128 * MIB, mixed_seconds=20, random_count=None,
         oltp_seconds=40, request=32 * KIB, outstanding=4):
    """The Workload of that name; ValueError says what is wrong with it. `size` bytes in all (the
    paper's 256 MB), `mixed_size` bytes of each file of a mixed work, which lasts at most
    `mixed_seconds`; an oltp work lasts `oltp_seconds`."""
    common = ["--request", request, "--outstanding", outstanding]

    def seq(match, read=None):
        n = _number(match[1], 1, 256, name)
        each = size // n // 4096 * 4096
        return Workload(name, n, each, ["--work", "seq", "--readers", n, "--size",
                                        (read or each) * n] + common)

    def begin(match):
        return seq(match, BEGINNING)

    def stride(match):
        n = _number(match[1], 1, 4096, name)
        return Workload(name, 1, size,
                    ["--work", "stride", "--stride", n, "--size", size] + common)

    def shared(match):
        n = _number(match[1], 1, 256, name)
        return Workload(name, 1, size,
                    ["--work", "shared", "--readers", n, "--size", size] + common)

    def reorder(match):
        n = _number(match[1], 0, 100, name)
        return Workload(name, 1, size,
                    ["--work", "reorder", "--percent", n, "--size", size] + common)

    def one_way(match):
        kib = _number(match[2], 1, 1024, name)
        work = "seq" if match[1] == "forward" else "backward"
        part = min(size, ONE_WAY_READS * kib * KIB)
        return Workload(name, 1, part,
                    ["--work", work, "--size", part, "--request", kib * KIB,
                     "--outstanding", outstanding])

    def records(match):
        """One reader, of each record its beginning."""
        length = _number(match[2], 1, 1024, name) * KIB if match[2] \
            else _number(match[5], 512, MIB, name)
        every = _number(match[3] or "1", 1, 64, name) * (KIB if match[4] == "k" else MIB)
        if length % 8:
            raise ValueError(f"work {name}: {length} must be a multiple of 8")
        if length > every:
            raise ValueError(f"work {name}: {length} is more than {every}")
        unit = length if not match[2] else request
        return Workload(name, 1, size,
                    ["--work", "records", "--size", size, "--record", length, "--every", every,
                     "--request", unit, "--outstanding", outstanding]
                    + (["--from-end"] if match[1] else []))

    def tiles(match):
        n = _number(match[1], 1, 32, name)
        if match[2] != match[1]:
            raise ValueError(f"work {name}: must be as many tiles beside as below each other")
        return Workload(name, 1, size,
                    ["--work", "tiles", "--tiles", n, "--every", MIB, "--size", size] + common)

    def cursors(match):
        n = _number(match[1], 64, 4096, name)
        return Workload(name, 1, size,
                    ["--work", "cursors", "--stride", n, "--readers", 64, "--size", size]
                    + common)

    def ends(match):
        files = min(size // END_FILE, FILES_MOST)
        n = _number(match[2], 1, 256, name)
        if n > files:
            raise ValueError(f"work {name}: needs --size of at least {n * END_FILE // MIB} MiB")
        return Workload(name, files, END_FILE,
                        ["--work", "ends", "--readers", n, "--files", files,
                         "--pieces", END_PIECES[match[1]]])

    def random(match):
        kib = _number(match[1], 1, 1024, name)
        n = _number(match[2] or "1", 1, 256, name)
        at_once = _number(match[3] or "1", 1, 256, name)
        count = min(random_count or 1000, size // n // (kib * KIB))
        if count < 1:
            raise ValueError(f"work {name}: needs --size of at least {n * kib} KiB")
        return Workload(name, n, size // n // 4096 * 4096,
                    ["--work", "random", "--readers", n, "--size", size // n // 4096 * 4096,
                     "--request", kib * KIB, "--outstanding", at_once, "--count", count])

    def mixed(match):
        n = _number(match[1], 1, 128, name)
        m = _number(match[2], 1, 128, name)
        if match[3]:
            return mixed_written(n, m, _number(match[3], 1, 128, name))
        # A set that is the same for any number of random readers up to four: laid out once.
        return Workload(name, n + max(m, 4), mixed_size,
                    ["--work", "mixed", "--readers", n, "--random-readers", m,
                     "--size", n * mixed_size, "--duration", mixed_seconds] + common,
                    streams="streams")

    def mixed_written(n, m, w):
        # Streams long enough to last until the writers are done.
        each = 2 * size // w // 4096 * 4096
        return Workload(name, n + m, 4 * mixed_size,
                    ["--work", "mixed", "--readers", n, "--random-readers", m,
                     "--size", n * 4 * mixed_size, "--writers", w, "--write-size", each,
                     "--write-outstanding", outstanding] + common,
                    streams="streams", writers=(n + m, w, each), memory="small")

    def write(match):
        lazy, apart = match[1] == "lazy", match[1] == "apart"
        n = _number(match[2], 0, 128, name)
        m = _number(match[3], 0 if n else 1, 128, name)
        count = min(random_count or 1500, size // (8 * KIB))
        common = {"files": max(n, 1) + max(m, 1), "file_size": size,
                  "memory": "ample" if lazy else "small"}
        if not n:
            return Workload(name, **common, streams="random",
                        arguments=["--work", "random", "--first-file", 1, "--readers", m,
                                   "--size", size, "--request", 8 * KIB, "--outstanding", 1,
                                   "--count", count])
        # Twice the bytes that are read elsewhere: more than a small server keeps dirty.
        each = 2 * size // n // 4096 * 4096
        return Workload(name, **common, streams="writers", writers=(0, n, each),
                    arguments=["--work", "write", "--readers", n, "--size", each * n,
                               "--request", 256 * KIB, "--outstanding", outstanding,
                               "--random-readers", m, "--random-size", size, "--count", count,
                               "--random-finish"] + (["--no-commit"] if lazy else [])
                    + (["--random-from", "127.0.0.12"] if apart else []))

    def oltp(match):
        n = _number(match[1], 1, 85, name)
        # The same bytes in all for any number of clients: the disk's seeks are then as long. So
        # many writes that the kernel must write back for most of the time.
        each, log = 8 * size // n // (8 * KIB) * (8 * KIB), size // 16 // 4096 * 4096
        return Workload(name, n, each, memory="small", rewrites=True, written=n * log,
                    arguments=["--work", "oltp", "--readers", n, "--size", each * n,
                               "--txn-reads", 4, "--txn-writes", 16,
                               "--request", 8 * KIB, "--outstanding", outstanding,
                               "--log-size", log, "--no-commit", "--duration", oltp_seconds])

    def fsstat(_):
        return Workload(name, 1, MIB, cached=True,
                    arguments=["--work", "fsstat", "--count", 25000,
                               "--outstanding", outstanding])

    def clients(match):
        return Workload.of_clients(name, **isolation.make(match))

    def cached(match):
        kib = _number(match[1], 1, 1024, name)
        return Workload(name, 1, size,
                    ["--work", "seq", "--size", size, "--request", kib * KIB,
                     "--outstanding", outstanding], cached=True)

    for form, maker in ((r"seq(\d+)", seq), (r"begin(\d+)", begin), (r"stride(\d+)", stride),
                        (r"shared(\d+)", shared),
                        (r"reorder(\d+)", reorder), (r"(forward|backward)(\d+)k", one_way),
                        (r"(back)?(?:sparse(\d+)k(\d+)([km])|ior(\d+))", records),
                        (r"tiles(\d+)x(\d+)", tiles), (r"cursors(\d+)", cursors),
                        (r"(ends|tails|last|heads)(\d+)", ends),
                        (r"random(\d+)k(?:x(\d+))?(?:o(\d+))?", random),
                        (r"mixed(\d+)\+(\d+)(?:w(\d+))?", mixed),
                        (r"(write|lazy|apart)(\d+)\+(\d+)", write), (isolation.FORM, clients),
                        (r"oltp(\d+)", oltp), (r"cached(\d+)k", cached),
                        (r"fsstat", fsstat)):
        match = re.fullmatch(form, name)
        if match:
            return maker(match)
    raise ValueError(f"work {name}: must be one of {FORMS} or a group of {' '.join(GROUPS)}")


def expand(text):
    """The names in a comma-separated list of workloads and groups, each once, in order."""
    names = []
    for part in text.split(","):
        names += GROUPS.get(part.strip(), [part.strip()])
    return list(dict.fromkeys(names))


# What the plugin must reach: (work, what, measure, limit). Measures: "x stock", "x tuned",
# "x single" (the stock server's seq1 in the same run), "x in order" (the server's own seq1), "x forward" (the server's own forwardSk of that S),
# "disk x stock" (bytes from the disk), "slowest/fastest", "worst ms", "random p99 ms", "MB/s",
# "cpu x stock" (server's processor time a READ, the minimum of the rounds); of workloads with
# writers, while they run: "random/s", "random p50 ms" and "x stock" of random readers,
# "COMMIT x stock", "all done x stock", and of the whole run "random/s x alone" (the stock server's write0+1); of
# "SHAPE:KEY" of works of clients: isolation.measure(). Of
# requests of all kinds a second "ops/s x stock" and "ops/s x peak" (the server's best of the oltp
# workloads in the same run).
TARGETS = [
    ("seq1", "at least", "x stock", 0.95),
    ("seq2", "at least", "x stock", 2.5),
    ("seq2", "at least", "x single", 0.92),
    ("seq2", "at most", "slowest/fastest", 1.2),
    ("seq8", "at least", "x stock", 3.5),
    ("seq8", "at least", "x tuned", 1.0),
    ("seq8", "at least", "x single", 0.88),
    ("seq8", "at most", "slowest/fastest", 1.2),
    ("seq32", "at least", "x stock", 3.5),
    ("seq32", "at least", "x tuned", 1.0),
    ("seq32", "at least", "x single", 0.85),
    ("seq32", "at most", "worst ms", 2200),
    ("stride2", "at least", "x stock", 6.0),
    ("stride2", "at least", "x tuned", 1.0),
    ("stride2", "at least", "x single", 0.85),
    ("stride4", "at least", "x stock", 6.0),
    ("stride4", "at least", "x tuned", 1.0),
    ("stride4", "at least", "x single", 0.80),
    ("stride8", "at least", "x stock", 6.0),
    ("stride8", "at least", "x tuned", 1.0),
    ("stride8", "at least", "x single", 0.78),
    ("reorder10", "at least", "x in order", 0.95),
    ("backward32k", "at least", "x forward", 0.9),
    ("backward4k", "at least", "x forward", 0.9),
    ("sparse64k1m", "at least", "x stock", 2.0),
    ("ior47008", "at least", "x stock", 2.0),
    ("tiles8x8", "at least", "x stock", 5.0),
    ("cursors2000", "at least", "x single", 0.85),
    ("ends1", "at least", "x stock", 1.5),
    ("tails1", "at least", "x stock", 1.5),
    ("last1", "at least", "x stock", 0.95),
    ("heads1", "at least", "x stock", 1.0),
    ("heads8", "at least", "x stock", 1.2),
    ("random8k", "at least", "x stock", 0.95),
    ("random8k", "at most", "disk x stock", 1.05),
    ("mixed8+1", "at least", "MB/s", 70),
    ("mixed8+1", "at most", "random p99 ms", 80),
    ("mixed8+4", "at least", "MB/s", 50),
    ("mixed8+4", "at most", "random p99 ms", 130),
    ("cached4k", "at most", "cpu x stock", 1.05),
    ("cached64k", "at most", "cpu x stock", 1.05),
    ("write1+1", "at least", "random/s x stock", 2.0),
    ("write1+1", "at most", "random p99 x stock", 0.5),
    ("write1+1", "at most", "COMMIT x stock", 1.15),
    ("write1+1", "at most", "all done x stock", 0.95),
    ("lazy1+1", "at least", "random/s x alone", 0.90),
    ("mixed4+1w2", "at least", "x stock", 1.5),
    ("mixed4+1w2", "at least", "random/s x stock", 1.5),
    ("mixed4+1w2", "at most", "COMMIT x stock", 1.2),
    ("oltp12", "at least", "ops/s x stock", 1.0),
    ("oltp23", "at least", "ops/s x stock", 1.0),
    ("oltp32", "at least", "ops/s x stock", 1.0),
    ("oltp32", "at least", "ops/s x peak", 0.95),
    ("fsstat", "at most", "cpu x stock", 1.05),
    ("fsstat", "at least", "ops/s x stock", 0.95),
    *((f"fair{n}", "at least", "stream:R_least", 0.9) for n in (2, 4, 8)),
    *((f"fair{n}", "at most", "stream:fast_slow", 1.1) for n in (2, 4, 8)),
    ("fair8+1", "at least", "stream:mb_s", 80),
    ("fair8+1", "at most", "random:p99_ms", 75),
    ("fair8+4", "at least", "stream:mb_s", 65),
    ("fair8+4", "at most", "random:p99_ms", 110),
    ("flood", "at most", "small:p99_ms", 150),
    ("flood", "at most", "small:worst_ms", 2000),
    ("flood", "at least", "big:of_rest", 0.9),
    ("pack32+1", "at least", "one:of_alone", 0.4),
    ("pack32+1", "at least", "one:all_of_one", 0.9),
    *(("weights3", "at most", f"weight {w}:share_error", 0.05) for w in (100, 200, 400)),
    ("commit+16", "at most", "writer:share_error", 0.1),
    ("commit+16", "at most", "reader:share_error", 0.1),
    ("floor16", "at least", "floor:floor_held", 0.95),
    ("apart1+1", "at least", "random/s x stock", 2.5),
    ("apart1+1", "at most", "random p99 x stock", 0.4),
    ("apart1+1", "at most", "COMMIT x stock", 1.15),
    ("apart1+1", "at most", "all done x stock", 0.97),
]

# What it aims at beyond: printed in the same table, "not met" instead of "MISSED". Neither changes the exit
# status.
AIMS = [
    ("write1+1", "at least", "random/s", 50),
    ("write1+1", "at most", "random p50 ms", 10),
    ("write1+1", "at most", "random p99 ms", 100),
    ("write1+1", "at most", "COMMIT x stock", 1.5),
    ("write1+1", "at most", "all done x stock", 0.90),
    ("seq32", "at most", "slowest/fastest", 1.2),
]
