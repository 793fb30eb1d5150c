# SPDX-License-Identifier: LGPL-3.0-or-later
"""File systems that are not fresh (bench/compare --layout): where the files to be measured lie.

    fresh   at the beginning of an empty file system: on the outer tracks, in few pieces
    aged    in what a run of creating and deleting files has left free: in many pieces, all over
    inner   at the end of the disk: on the inner tracks (ZCAV), in few pieces

    ageing.prepare(disk, "aged", 256 << 20)      # before the files are laid out, so many bytes
    ageing.pieces(paths)                         # afterwards: {"extents": …, "bytes": …, …}

What fills the disk takes its place by fallocate() only: no byte of it is written, or read. The run
is seeded, and made on one processor, for ext4 allocates small files by processor. What a deleted
file had is free at once (it is truncated first), and the file system is frozen for a moment before
anything is allocated again: XFS frees inodes in the background, and nothing is usable before its
commit. So each run leaves the same places free.
"""
import fcntl
import os
import random
import re
import shutil

import disktime
import testbed

LAYOUTS = ("fresh", "aged", "inner")
MIB = 1 << 20
SEED = 1
FILLER = ".filler"  # hidden: what looks for files to be measured does not find it
FULL = 0.03  # of the file system stays free of the ageing run's files
GENERATIONS, RENEWED = 4, 0.25  # times of so much deleted, and files made in its place
SIZES = [4096 << n for n in range(9)]  # 4 KiB to 1 MiB, each as likely
IN_DIRECTORY = 64
INNER_PIECES = (16 * MIB, MIB, 64 << 10)  # the small ones for what the large ones leave over
FREEZE, THAW = 0xC0045877, 0xC0045878  # FIFREEZE and FITHAW of <linux/fs.h>
SLACK = 1.15  # room left for the files, over their bytes: metadata, rounding


def settle(disk):
    """All that the file system has put off is done. One that is not ours alone is not frozen."""
    os.sync()
    if not disk.modelled:
        return
    file = os.open(disk.mount, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(file, FREEZE, 0)
        fcntl.ioctl(file, THAW, 0)
    finally:
        os.close(file)


def delete(path):
    """Its space is free when this returns, whoever frees its inode later."""
    os.truncate(path, 0)
    os.unlink(path)


class Place:
    """The filler's files on a disk: made, and deleted by chance."""

    def __init__(self, disk, seed):
        self.disk, self.top = disk, os.path.join(disk.mount, FILLER)
        self.chance = random.Random(seed)
        self.files, self.made = [], 0  # (path, bytes)
        os.mkdir(self.top)

    def room(self):
        """(free, all) bytes; free for root, as the servers are."""
        found = os.statvfs(self.top)
        return found.f_bfree * found.f_frsize, found.f_blocks * found.f_frsize

    def make(self, size):
        """One more file; False where there is no room."""
        directory = os.path.join(self.top, f"{self.made // IN_DIRECTORY:04d}")
        if self.made % IN_DIRECTORY == 0:
            os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, f"{self.made:06d}")
        self.made += 1
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError:  # no room for an inode
            return False
        try:
            os.posix_fallocate(file, 0, size)
        except OSError:
            delete(path)
            return False
        finally:
            os.close(file)
        self.files.append((path, size))
        return True

    def fill(self):
        free, whole = self.room()
        while free > FULL * whole:
            size = self.chance.choice(SIZES)
            if not self.make(size):
                break
            free -= size
        settle(self.disk)

    def delete_until(self, free):
        """By chance, until so many bytes are free."""
        missing = free - self.room()[0]
        while missing > 0 and self.files:
            at = self.chance.randrange(len(self.files))
            self.files[at], self.files[-1] = self.files[-1], self.files[at]
            path, size = self.files.pop()
            delete(path)
            missing -= size
        settle(self.disk)


def _age(disk, room, seed):
    place = Place(disk, seed)
    place.fill()
    for _ in range(GENERATIONS):
        place.delete_until(RENEWED * place.room()[1])
        place.fill()
    place.delete_until(room)


def _leave_end(disk, room):
    """All is taken, then what lies furthest inside, with all its pieces, is given back."""
    place = Place(disk, 0)
    for size in INNER_PIECES:
        while place.room()[0] > size and place.make(size):
            pass
    settle(disk)
    begins = [(min((start for start, _ in disktime.extents(path)), default=0), path, size)
              for path, size in place.files]
    missing = room - place.room()[0]
    for _, path, size in sorted(begins, reverse=True):
        if missing <= 0:
            break
        delete(path)
        missing -= size
    settle(disk)


def prepare(disk, layout, need, seed=SEED):
    """Room for `need` bytes of files where the layout says; the disk is up, and empty. Time does
    not pass on it meanwhile, and is left stopped. RuntimeError where it is too small."""
    if layout not in LAYOUTS:
        raise ValueError(f"layout {layout}: must be one of {', '.join(LAYOUTS)}")
    disk.timing(False)
    if layout == "fresh":
        return
    room = int(need * SLACK) + 16 * MIB
    if room > shutil.disk_usage(disk.mount).free / 2:
        raise RuntimeError(f"layout {layout}: {need / MIB:.0f} MB of files need a disk of "
                           f"more than {3 * room / MIB:.0f} MB")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        if layout == "aged":
            _age(disk, room, seed)
        else:
            _leave_end(disk, room)
    finally:
        os.sched_setaffinity(0, allowed)


def pieces(paths):
    """How the files lie: filefrag's count of extents, those that do not follow the one before on
    the disk, their mean bytes, and where the first and last byte is."""
    counted = sum(int(n) for n in re.findall(r": (\d+) extents? found",
                                             testbed.run("filefrag", *paths)))
    apart, whole, places = 0, 0, []
    for path in paths:
        before = None
        for start, stop in disktime.extents(path):
            apart += start != before
            before = stop
            whole += stop - start
            places += [start, stop]
    return {"files": len(paths), "extents": counted, "apart": apart, "bytes": whole,
            "mean_kib": whole / max(1, apart) / 1024,
            "from_mb": min(places, default=0) / 1e6, "to_mb": max(places, default=0) / 1e6}


def describe(found):
    """In a line, of pieces()."""
    return (f"{found['files']} files in {found['extents']} extents, {found['mean_kib']:.0f} KiB in "
            f"the mean, between {found['from_mb']:.0f} and {found['to_mb']:.0f} MB")
