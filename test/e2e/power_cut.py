# SPDX-License-Identifier: LGPL-3.0-or-later
"""The disk after a power cut, made from what mechdisk recorded (bench/mechdisk/record.c).

    cuts = PowerCuts(record, size, directory, fs)
    for place in sorted(places):            # sizes that the record had at some moments
        with cuts.mounted(place) as path:   # recovered from its journal, read-only to look at
            ...

What was flushed is there. What was answered later was in the drive's cache: all of it is lost, or,
with `keep`, each write survives with that chance.
"""
import contextlib
import os
import random
import shutil
import struct
import subprocess

import e2e

HEAD = struct.Struct("=QQQ")
MOUNT_OPTIONS = {"ext4": "loop,noatime", "xfs": "loop,noatime,nouuid",
                 "btrfs": "loop,noatime"}


class PowerCuts:
    def __init__(self, record, size, directory, fs):
        self.record, self.directory, self.fs = open(record, "rb"), directory, fs
        self.flushed = f"{directory}/flushed.img"  # the disk at self.at, just after a flush
        with open(self.flushed, "wb") as image:
            image.truncate(size)
        self.at = 0
        self.random = random.Random(1)

    def _entries(self, end):
        """(kind, offset, length, place of the data) from self.at to `end`."""
        place = self.at
        while place + HEAD.size <= end:
            self.record.seek(place)
            kind, offset, length = HEAD.unpack(self.record.read(HEAD.size))
            place += HEAD.size
            yield chr(kind), offset, length, place
            place += length if kind == ord("W") else 0

    def _apply(self, image, entries):
        for kind, offset, length, place in entries:
            image.seek(offset)
            if kind == "W":
                self.record.seek(place)
                image.write(self.record.read(length))
            elif kind == "D":
                image.write(bytes(length))

    def _advance(self, end):
        """To the last flush before `end`; what follows it is the answer."""
        waiting, at = [], self.at
        with open(self.flushed, "r+b") as image:
            for entry in self._entries(end):
                waiting.append(entry)
                if entry[0] == "F":
                    self._apply(image, waiting)
                    waiting, at = [], entry[3]
        self.at = at
        return waiting

    @contextlib.contextmanager
    def mounted(self, place, keep=0.0):
        """The file system after a cut when the record had `place` bytes; never less than before."""
        unflushed = self._advance(place)
        image, path = f"{self.directory}/cut.img", f"{self.directory}/cut"
        e2e.run("cp", "--sparse=always", self.flushed, image)
        with open(image, "r+b") as file:
            self._apply(file, [e for e in unflushed if self.random.random() < keep])
        os.makedirs(path, exist_ok=True)
        e2e.run("mount", "-o", MOUNT_OPTIONS[self.fs], image, path)
        try:
            yield path
        finally:
            subprocess.run(["umount", path], check=True)
            os.remove(image)

    def close(self):
        self.record.close()
        shutil.rmtree(self.directory, ignore_errors=True)
