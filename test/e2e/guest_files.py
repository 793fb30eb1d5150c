# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a guest does with files for test_agent_coherence.py: each way to change one, each way to
have it on the server, and looking at it. Bytes come from a seed, so that only that travels. Run by
itself it is one of several programs that do so at once: each line that comes is a list of calls.
"""
import base64
import json
import mmap
import os
import random
import subprocess
import sys
import traceback
import zlib

MOUNT = "/mnt/nfs"

_held = {}  # name: descriptor


def content(seed, length):
    return random.Random(seed).randbytes(length)


def _write_all(fd, offset, data, piece):
    for at in range(0, len(data), piece):
        part = memoryview(data)[at:at + piece]
        while part:
            done = os.pwrite(fd, part, offset + at)
            part, at = part[done:], at + done


def put(name, offset, seed, length, piece, truncate=False):
    """Opens, writes in pieces, closes."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if truncate else 0)
    fd = os.open(f"{MOUNT}/{name}", flags, 0o644)
    try:
        _write_all(fd, offset, content(seed, length), piece)
    finally:
        os.close(fd)


def append(name, seed, length):
    fd = os.open(f"{MOUNT}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, content(seed, length))
    finally:
        os.close(fd)


def mapped(name, offset, seed, length):
    """Through a mapping of the whole file, which must reach so far."""
    fd = os.open(f"{MOUNT}/{name}", os.O_RDWR)
    try:
        with mmap.mmap(fd, 0) as memory:
            memory[offset:offset + length] = content(seed, length)
    finally:
        os.close(fd)


def cut(name, size):
    os.truncate(f"{MOUNT}/{name}", size)


def replace(name, seed, length):
    """As editors save: another file, fsync, and its name is this one."""
    fd = os.open(f"{MOUNT}/{name}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(fd, content(seed, length))
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(f"{MOUNT}/{name}.new", f"{MOUNT}/{name}")


def write_held(name, offset, seed, length, piece):
    """The file stays open for writing until release()."""
    if name not in _held:
        _held[name] = os.open(f"{MOUNT}/{name}", os.O_RDWR | os.O_CREAT, 0o644)
    _write_all(_held[name], offset, content(seed, length), piece)


def save(name, how):
    """What was written so far is on the server's disk: "fsync", "fdatasync" or "sync"."""
    if how == "sync":
        os.sync()
    else:
        getattr(os, how)(_held[name])


def release(name):
    os.close(_held.pop(name))


def _content(name):
    """By an open(), a read and a close()."""
    with open(f"{MOUNT}/{name}", "rb", buffering=0) as file:
        return file.readall()


def look(name, length, crc):
    """None if the file holds so many bytes with this check sum; else what was found, and what is
    found a moment later."""
    data = _content(name)
    if (len(data), zlib.crc32(data)) == (length, crc):
        return None
    return [base64.b64encode(found).decode() for found in (data, _content(name))]


# ---- several programs at once --------------------------------------------------------------------

_programs = []


def programs(count):
    """Starts so many for work(), each a process of its own."""
    for _ in range(count):
        _programs.append(subprocess.Popen([sys.executable, "-B", os.path.realpath(__file__)],
                                          text=True, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE))


def work(tasks):
    """What each of the tasks [which program, call, arguments] returned. All programs are at work at
    once; each does its own tasks in their order."""
    shares, found = {}, [None] * len(tasks)
    for index, (number, *task) in enumerate(tasks):
        shares.setdefault(number, []).append((index, task))
    for number, share in shares.items():
        _programs[number].stdin.write(json.dumps([task for _, task in share]) + "\n")
        _programs[number].stdin.flush()
    for number, share in shares.items():
        told = json.loads(_programs[number].stdout.readline() or '{"error": "it has ended"}')
        if "error" in told:
            raise RuntimeError(f"program {number}: {told['error']}")
        for (index, _), value in zip(share, told["values"]):
            found[index] = value
    return found


def _program():
    for line in sys.stdin:
        told = {"values": []}
        for call, arguments in json.loads(line):
            try:
                told["values"].append(globals()[call](**arguments))
            except Exception:  # whatever it is, the caller judges it
                told["error"] = f"{call} {arguments}: {traceback.format_exc()}"
                break
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    _program()
