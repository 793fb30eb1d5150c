# SPDX-License-Identifier: LGPL-3.0-or-later
"""What bench/trees lays out and runs: trees of files, walks over them by nfswalk, alone or beside
streams, and by the programs of a real Linux client in a guest.
"""
import dataclasses
import json
import os
import random
import subprocess

import testbed  # noqa: F401: where guests is

import guests  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE_MIN, SIZE_MEDIAN, SIZE_MAX, SIZE_SIGMA = 200, 8192, 1 << 20, 1.7
TREE_FILES, TOP = 20, 20  # files of a directory, directories of one above
WIDE_FILES = 1500
LARGE_FILES, LARGE_SIZE = 20000, 300  # of the directory that is listed only
STREAMS, STREAM_SIZE = 8, 192 << 20
GUEST_MB = 1024
MOUNT = "/mnt/nfs"
NEWER = "stamp"  # a file above the tree, older than all in it


@dataclasses.dataclass
class Work:
    """`kind`: of tree; `how`: walk, beside or guest; of the program, or in the guest, `arguments`.
    `rate`: what it is judged by."""
    kind: str
    arguments: list = dataclasses.field(default_factory=list)
    how: str = "walk"
    rate: str = "files"


GUEST = {"tar": "tar -C {top} -cf - . | cat >/dev/null",
         "grep": "grep -r no-such-text-in-any-file {top}; [ $? = 1 ]",
         "rsync": "rsync -a {top}/ /tmp/copy/",
         "find": "find {top} -type f -newer {stamp} | wc -l >/dev/null"}
WORKS = {"tree": Work("tree"), "name": Work("tree", ["--order", "name"]),
         "inode": Work("tree", ["--order", "inode"]), "random": Work("tree", ["--order", "random"]),
         "tenth": Work("tree", ["--one-in", "10"]),
         "list": Work("tree", ["--list"], rate="directories"),
         "wide": Work("wide"), "widename": Work("wide", ["--order", "name"]),
         "quarters": Work("wide", ["--clients", "4"]),
         "widelist": Work("wide", ["--list"], rate="directories"),
         "widerandom": Work("wide", ["--order", "random"]),
         "widetenth": Work("wide", ["--one-in", "10"]),
         "ls": Work("large", ["--list"], rate="directories"),
         "beside": Work("tree", how="beside"),
         **{name: Work("tree", [text], "guest") for name, text in GUEST.items()}}


# ---- what is laid out --------------------------------------------------------------------------

def sizes(kind, count, seed):
    if kind == "large":
        return [LARGE_SIZE] * LARGE_FILES
    chance = random.Random(seed)
    return [min(SIZE_MAX, max(SIZE_MIN, int(SIZE_MEDIAN * chance.lognormvariate(0, SIZE_SIGMA))))
            for _ in range(count)]


def _directory(top, kind, number):
    if kind == "large":
        return f"{top}/large"
    if kind == "wide":
        return f"{top}/d{number // WIDE_FILES:03d}"
    inner = number // TREE_FILES
    return f"{top}/t{inner // TOP:03d}/d{inner % TOP:03d}"


def lay_out(mount, kind, count, seed):
    """The files, in the order in which a copy of a tree makes them."""
    with open(f"{mount}/{NEWER}", "wb"):
        pass
    os.utime(f"{mount}/{NEWER}", (0, 0))
    for number, size in enumerate(sizes(kind, count, seed)):
        directory = _directory(f"{mount}/tree", kind, number)
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/f{number:06d}", "wb") as file:
            file.write(os.urandom(size))
    os.sync()


# ---- what is run -------------------------------------------------------------------------------

def _ended(process, seconds, what):
    try:
        output, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RuntimeError(f"{what}: no end within {seconds:.0f} s") from None
    if process.returncode:
        raise RuntimeError(f"{what}: {error.strip() or output.strip()}")
    return json.loads(output)


def _start(*command):
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def _walk(options, disk, server, work, seconds):
    return _start(options.nfswalk, f"127.0.0.1:{server.port}:{server.mport}", f"{disk.mount}/tree",
                  *work.arguments, "--request", options.request, "--seconds", seconds)


def walk(options, disk, server, work):
    process = _walk(options, disk, server, work, options.seconds)
    return _ended(process, options.seconds + 120, "nfswalk")


def beside(options, disk, server, work):
    """For as long as the streams run."""
    streams = _start(options.nfsbench, "--port", server.port, "--mount-port", server.mport,
                     "--export", disk.mount, "--dir", "streams", "--work", "seq",
                     "--readers", STREAMS, "--size", STREAMS * STREAM_SIZE, "--no-verify",
                     "--duration", options.beside_seconds, "--json", "-", "--quiet")
    process = _walk(options, disk, server, work, options.beside_seconds)
    found = _ended(process, options.beside_seconds + 120, "nfswalk")
    beside_it = _ended(streams, options.beside_seconds + 120, "nfsbench")
    found["streams_mb_s"] = beside_it["total"]["mb_s"]
    found["streams_ended_s"] = beside_it["elapsed_s"]
    return found


def in_guest(options, disk, server, work, guest):
    guest.call("client.drop_caches")
    guest.call("client.mount", port=server.port, mport=server.mport, export=disk.mount)
    try:
        took = guest.call("trees.timed", patience=options.seconds + 60, command=work.arguments[0]
                          .format(top=f"{MOUNT}/tree", stamp=f"{MOUNT}/{NEWER}"))
    finally:
        guest.call("trees.leave")
    return {"files": len(sizes(work.kind, options.files, options.seed)), "directories": 0,
            "elapsed_s": took, "worst_ms": 0.0}


def boot():
    """A guest, as guests.boot()."""
    return guests.boot(1, GUEST_MB, (guests.CLIENT, f"{HERE}/guest_trees.py"))
