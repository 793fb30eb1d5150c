# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a guest does with files for test_agent_coherence.py: each way to change one, each way to
have it on the server, and looking at it. Bytes come from a seed, so that only that travels.
"""
import base64
import mmap
import os
import random
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


def look(name):
    """(size, check sum) by an open(), a read and a close()."""
    with open(f"{MOUNT}/{name}", "rb", buffering=0) as file:
        data = file.readall()
    return len(data), zlib.crc32(data)


def part(name, offset, length):
    """The bytes themselves, for who wants to know what is wrong."""
    with open(f"{MOUNT}/{name}", "rb", buffering=0) as file:
        return base64.b64encode(os.pread(file.fileno(), length, offset)).decode()
