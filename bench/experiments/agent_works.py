# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the clients of agent.py do, in their guests: readers and writers that count by the clock of
the program which waits. Runs in User-mode Linux (test/e2e/guest_worker.py), so it knows nothing of
bench.
"""
import contextlib
import ctypes
import inspect
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

KIB = 1024
BLOCK = 64 * KIB
# A write() that took longer was made to wait: copying into memory takes a millisecond at most.
BLOCKED = 0.020
WRITE_BLOCK = 256 * KIB


def _in_threads(run, number):
    """run(0), run(1), ... at once; what they raise is raised."""
    wrong = []

    def one(index):
        try:
            run(index)
        except Exception as error:  # it ends the whole work
            wrong.append(error)

    threads = [threading.Thread(target=one, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def _percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def read_random(path, count, request=8 * KIB, threads=8, lead=0.0, seed=1, think=0.0, every=0.0,
                stop=None):
    """`count` reads of `threads` readers, or (0) until it is stopped; what they read in the first
    `lead` seconds does not count. Each reader thinks so long behind a read, or (`every`) begins one
    in so many seconds at most; one that came late is not made up for."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    blocks = os.fstat(fd).st_size // request
    took, lock, begin = [], threading.Lock(), time.monotonic() + lead

    def ended():
        return stop.is_set() or count and len(took) >= count

    def reader(index):
        draw, buffer = random.Random(seed * 1000 + index), bytearray(request)
        next_at = time.monotonic()
        while not ended():
            before = time.monotonic()
            next_at = max(next_at, before) + every
            os.preadv(fd, [buffer], draw.randrange(blocks) * request)
            after = time.monotonic()
            with lock:
                if before >= begin and not ended():
                    took.append(after - before)
            time.sleep(max(think, next_at - after if every else 0.0))

    _in_threads(reader, threads)
    seconds = time.monotonic() - begin
    os.close(fd)
    return {"seconds": seconds, "reads": len(took), "reads_s": len(took) / max(seconds, 1e-9),
            "p50_ms": _percentile(took, 0.5) and 1e3 * _percentile(took, 0.5),
            "p99_ms": _percentile(took, 0.99) and 1e3 * _percentile(took, 0.99)}


def write_file(path, stop, size=0, seconds=0.0, rate=0, hold=False):
    """Writes `size` bytes or for so many seconds, at most `rate` bytes a second: one that was made
    to wait does not catch up. With `hold` the file stays open until it is stopped. Times are since
    the beginning: of the last write() and of close(); blocked_s is what the write()s waited."""
    block, written, blocked, first = os.urandom(WRITE_BLOCK), 0, 0.0, None
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    began = next_at = time.monotonic()
    history = []
    while (written < size) if size else (time.monotonic() - began < seconds):
        if rate:
            time.sleep(max(0.0, next_at - time.monotonic()))
            next_at = max(next_at, time.monotonic()) + WRITE_BLOCK / rate
        before = time.monotonic()
        written += os.write(fd, block)
        took = time.monotonic() - before
        history += [0.0] * (int(before - began) + 1 - len(history))
        if took > BLOCKED:
            blocked += took
            history[-1] += took
            first = before - began if first is None else first
    write_s = time.monotonic() - began
    if hold:
        stop.wait()
    closing = time.monotonic()
    os.close(fd)
    ended = time.monotonic()
    return {"written": written, "write_s": write_s, "close_s": ended - closing,
            "total_s": ended - began, "blocked_s": blocked,
            "first_blocked_s": write_s if first is None else first,
            "blocked_by_second": [round(s, 3) for s in history]}


def read_whole(paths, block=BLOCK, stop=None):
    """Each file from its beginning to its end, or until it is stopped, all at once: seconds until
    the last is done."""
    began = time.monotonic()
    sizes = [0] * len(paths)

    def reader(index):
        with open(paths[index], "rb", buffering=0) as file:
            buffer = bytearray(block)
            while not (stop and stop.is_set()) and (count := file.readinto(buffer)):
                sizes[index] += count

    _in_threads(reader, len(paths))
    seconds = time.monotonic() - began
    return {"seconds": seconds, "bytes": sum(sizes), "mb_s": sum(sizes) / 1e6 / seconds}


def previews(paths, stop, length, every, block=16 * KIB):
    """The first `length` bytes of one file after the other, one in `every` seconds, until it is
    stopped or all were seen. One that came late is not made up for."""
    seen, next_at = 0, time.monotonic()
    for path in paths:
        if stop.wait(max(0.0, next_at - time.monotonic())):
            break
        next_at = max(next_at, time.monotonic()) + every
        with open(path, "rb", buffering=0) as file:
            for _ in range(0, length, block):
                file.read(block)
        seen += 1
    return {"files": seen, "bytes": seen * length}


def warm(path):
    """Twice, so that the kernel takes it for what is used often."""
    for _ in range(2):
        read_whole([path])


# ---- a tree of files ---------------------------------------------------------------------------

def timed(command, cwd="/"):
    began = time.monotonic()
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True,
                          env={**os.environ, "HOME": "/tmp"})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-500:]}")
    return time.monotonic() - began


def warm_programs():
    """What the works of a tree run is in memory: it is not on the mount, and no work's."""
    with tempfile.TemporaryDirectory() as at:
        with open(f"{at}/one.c", "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\nint one;\n")
        with open(f"{at}/Makefile", "w", encoding="ascii") as file:
            file.write("all: one.o\n")
        timed(["make", "-s", "-C", at])
        timed(["git", "init", "-q", at])
        timed(["git", "status", "--short"], at)
        timed(["cp", "-r", f"{at}/one.c", f"{at}/two.c"])
        timed(["tar", "-cf", f"{at}/one.tar", "-C", at, "one.c"])


def tree_works(mount, archive):
    """Seconds of each: copying a tree within the mount, unpacking one, git's look at a work tree
    and a compile, the least of three and of two, for they wait for processors; all on the mount,
    whose tree `repo` is a git repository."""
    warm_programs()
    found = {"copy_s": timed(["cp", "-r", "repo", "copied"], mount)}
    os.mkdir(f"{mount}/unpacked")
    found["untar_s"] = timed(["tar", "-xf", archive, "-C", "unpacked"], mount)
    status = ["git", "-c", "safe.directory=*", "status", "--short"]
    found["status_s"] = min(timed(status, f"{mount}/repo") for _ in range(3))
    found["compile_s"] = min(timed(["make", "-B", "-s", "-C", "sources"], mount) for _ in range(2))
    return found


def little_work(directory, number, megabytes=32, reads=200):
    """Seconds of a small work of all kinds: a file written and closed, one read in order, one at random, which
    no work of another number reads."""
    began = time.monotonic()
    with open(f"{directory}/written{number}", "wb", buffering=0) as file:
        block = bytes(1 << 20)
        for _ in range(megabytes):
            file.write(block)
    read_whole([f"{directory}/set/f{2 * number:04}"])
    read_random(f"{directory}/set/f{2 * number + 1:04}", reads, threads=1, seed=number, stop=threading.Event())
    return time.monotonic() - began


# ---- many mounts -------------------------------------------------------------------------------

def mount_many(count, port, mport, export):
    """/mnt/many/0 and on: of one export, each with knobs of its own. The paths."""
    libc, server = ctypes.CDLL(None, use_errno=True), os.environ["SERVER"]
    made = []
    for number in range(count):
        at = f"/mnt/many/{number}"
        os.makedirs(at, exist_ok=True)
        options = f"vers=3,proto=tcp,nolock,nosharecache,noresvport,port={port},addr={server}," \
            f"mountproto=tcp,mountport={mport},mountaddr={server},mountvers=3"
        if libc.mount(f"{server}:{export}".encode(), at.encode(), b"nfs", 0, options.encode()):
            error = ctypes.get_errno()
            raise OSError(error, f"mount number {number}: {os.strerror(error)}")
        made.append(at)
    return made


def unmount_many(paths):
    for path in paths:
        subprocess.run(["umount", path], check=True)



# ---- processes of their own, in control groups ---------------------------------------------------

PROGRESS = "/tmp/saved"  # bytes so far
CGROUPS = "/sys/fs/cgroup"


def cgroup(name, knob="cgroup.freeze"):
    """Makes a cgroup (version 2), also where nothing has mounted them. False: this kernel has
    none, or none with that knob."""
    if not os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        done = subprocess.run(["mount", "-t", "cgroup2", "cgroup2", CGROUPS], check=False)
        if done.returncode:
            return False
    with contextlib.suppress(OSError), \
            open(f"{CGROUPS}/cgroup.subtree_control", "w", encoding="ascii") as file:
        file.write("+memory")
    os.makedirs(f"{CGROUPS}/{name}", exist_ok=True)
    return os.path.exists(f"{CGROUPS}/{name}/{knob}")


def _enter(child, group):
    with open(f"{CGROUPS}/{group}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(child.pid))


def apart(work, within, arguments, stop):
    """What `work`, a function of this file, returns with `arguments` in a process of its own in the
    cgroup `within`; where it has a parameter `stop`, it ends as this does."""
    child = subprocess.Popen([sys.executable, "-B", __file__, "apart", work], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        _enter(child, within)
        child.stdin.write(json.dumps(arguments) + "\n")
        child.stdin.flush()
        while child.poll() is None and not stop.wait(0.05):
            pass
        return json.loads(child.communicate()[0])
    finally:
        child.kill()
        child.wait()


def _apart(work):
    """apart()'s child: arguments are the first line of its input, whose end stops it."""
    arguments, stop, run = json.loads(sys.stdin.readline()), threading.Event(), globals()[work]
    if "stop" in inspect.signature(run).parameters:
        arguments["stop"] = stop
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    print(json.dumps(run(**arguments)), flush=True)
    os._exit(0)  # the thread may still wait


def save_files(directory, size, stop, lead=0.0, within=None):
    """A backup: files of `size` bytes, written and closed one after the other, by a process in the
    cgroup `within`; MB/s of what it wrote after `lead` seconds."""
    with open(PROGRESS, "w", encoding="ascii") as file:
        file.write("0")
    child = subprocess.Popen([sys.executable, "-B", __file__, "save", directory, str(size)])
    try:
        if within:
            _enter(child, within)
        stop.wait(lead)
        begin, before = time.monotonic(), _saved()
        stop.wait()
        seconds, after = time.monotonic() - begin, _saved()
    finally:
        child.kill()
        child.wait()
    return {"mb_s": (after - before) / 1e6 / max(seconds, 1e-9)}


def _saved():
    with open(PROGRESS, encoding="ascii") as file:
        return int(file.read())


def _save(directory, size):
    block, saved, number = os.urandom(1 << 20), 0, 0
    with open(PROGRESS, "r+b", buffering=0) as progress:
        while True:
            with open(f"{directory}/saved{number % 4}", "wb", buffering=0) as file:
                for _ in range(size >> 20):
                    saved += file.write(block)
                    os.pwrite(progress.fileno(), b"%d" % saved, 0)
            number += 1


if __name__ == "__main__":
    if sys.argv[1] == "save":
        _save(sys.argv[2], int(sys.argv[3]))
    else:
        _apart(sys.argv[2])
