#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NFSv3 READs answer as those of the stock server do: test_reads.py PLUGIN [SCENE...]

What it proves: at odd places and lengths, of things that are no files, without permission, and while
local programs change, truncate, extend, punch, remove, replace, drop or mount over a file that is
hot, each READ's status, count, end of file, size and bytes are those of the stock server. Each scene
with attributes that the server keeps for a minute, as by default, and with such that it asks for
each time.
"""
import mmap
import os
import random
import stat
import subprocess
import sys
import time

import e2e
import likeness
import nfs3
from likeness import PIECE

SIZE = 1 << 20
ODD_SIZE = SIZE + 123
NOTICED = 1.5  # seconds, in which RA closes its descriptor of a file without a name
PUNCH, COLLAPSE, ZERO = 0x02 | 0x01, 0x08, 0x10  # modes of fallocate(2)


def edges(side):
    fh = side.make("edges", ODD_SIZE)
    side.heat(fh, ODD_SIZE)
    ends = (ODD_SIZE, SIZE, 1 << 31, 1 << 32, 1 << 44, 1 << 63, 1 << 64)
    places = sorted({end + at for end in ends for at in (-PIECE, -4096, -1, 0, 1, 4096)})
    counts = (1, 4095, 4096, 4097, PIECE, SIZE, 1 << 24)
    if not (6, 0) <= e2e.ganesha_version() < (9, 0):
        counts += (0,)  # which ends that server
    for place in places:
        for count in counts if place < 1 << 64 else ():
            side.read("edges", fh, place, count)
    empty = side.make("empty", 0)
    for place in (0, 1, PIECE, 1 << 63):
        side.read("an empty file", empty, place)


def holes(side):
    """Nothing on the disk, in between and at the end."""
    fh = side.make("holes", 0)
    with open(side.local("holes"), "r+b") as file:
        file.truncate(16 << 20)
        for at in range(0, 16 << 20, 5 << 20):
            os.pwrite(file.fileno(), e2e.pattern(1, at, PIECE), at + 8192)
    side.drop("holes")
    side.heat(fh, 16 << 20)
    side.drop("holes")
    for at in random.Random(1).sample(range(0, 16 << 20, 4096), 64):
        side.read("holes", fh, at, 3 * 4096)


def other_types(side):
    os.mkdir(side.local("dir"))
    os.symlink("edges", side.local("link"))
    os.mkfifo(side.local("fifo"))
    made = ["dir", "link", "fifo"]
    try:
        os.mknod(side.local("null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        made.append("null")
    except OSError:
        pass  # not to be had in a container
    for name in made:
        fh = side.handle(name)
        for _ in range(2):
            side.read(name, fh)
    broken = bytearray(side.make("handle", PIECE))
    for at in range(len(broken)):
        broken[at] ^= 0x15
        side.read(f"a handle broken at {at}", bytes(broken))
        broken[at] ^= 0x15
    side.read("half a handle", bytes(broken[:len(broken) // 2]))


def permissions(side):
    """Of another user, of root where it is squashed, and by local chmod while hot."""
    fh = side.make("private", SIZE)
    somebody = nfs3.Client(side.server, "/e1", uid=1000)
    squashed = nfs3.Client(side.server, "/e2")
    there = squashed.lookup("private")[1]
    for mode in (0o600, 0o604, 0o601, 0o000, 0o640, 0o666, 0o600):
        os.chmod(side.local("private"), mode)
        side.saw("GETATTR", side.client.getattr(fh))
        for client, handle in ((side.client, fh), (somebody, fh), (squashed, there)):
            for at in (0, PIECE, 0, 0):
                side.read(f"mode {mode:o}", handle, at, client=client)
    os.chown(side.local("private"), 1000, 1000)
    side.read("chown", fh, client=somebody)
    side.read("chown", there, client=squashed)
    somebody.close()
    squashed.close()


def fallocate(file, mode, offset, length):
    """Which os has only without a mode."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if libc.fallocate(file.fileno(), mode, offset, length):
        raise OSError(ctypes.get_errno(), "fallocate")


def direct_write(path, offset, data):
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    with mmap.mmap(-1, len(data)) as buffer:
        buffer[:] = data
        os.pwritev(fd, [buffer], offset)
    os.close(fd)


def change(draw, path, file):
    """One local change of a random place; how it is called."""
    at, length = draw.randrange(0, SIZE, 4096), 4096 * draw.randint(1, 16)
    size = os.fstat(file.fileno()).st_size
    how = draw.choice(("write", "direct", "append", "cut", "extend", "punch", "collapse", "zero",
                       "map", "drop"))
    if how == "write":
        os.pwrite(file.fileno(), draw.randbytes(length), at)
    elif how == "direct":
        direct_write(path, at, draw.randbytes(length))
    elif how == "append":
        os.pwrite(file.fileno(), draw.randbytes(length + 77), size)
    elif how in ("cut", "extend"):
        file.truncate(at + 5 if how == "cut" else size + 3 * length)
    elif how == "map" and size > 4096:
        with mmap.mmap(file.fileno(), size) as memory:
            memory[at % size:at % size + 1] = b"m"
    elif how == "drop":
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), at, length, os.POSIX_FADV_DONTNEED)
    elif how in ("punch", "zero"):
        fallocate(file, PUNCH if how == "punch" else ZERO, at, length)
    elif how == "collapse" and size >= 2 * SIZE:
        fallocate(file, COLLAPSE, at, 4096)
    return f"{how} {length} at {at}"


def local_changes(side):
    """Of a hot file, each seen by the next READ: the stock server's bytes, and the file's."""
    draw, wrong = random.Random(2), []
    fh = side.make("changed", SIZE)
    side.heat(fh, SIZE)
    with open(side.local("changed"), "r+b", buffering=0) as file:
        for _ in range(150):
            what = change(draw, side.local("changed"), file)
            at = draw.randrange(0, SIZE, 4096)
            for offset in (at, at, *range(0, 3 * PIECE, PIECE)):
                got = side.read(what, fh, offset)
                if got.data != os.pread(file.fileno(), got.count, offset):
                    wrong.append((what, offset))
    side.saw("wrong bytes", wrong)


def written_beside(side):
    """WRITE on one connection, READ on another, at once."""
    draw = random.Random(3)
    fh = side.make("written", SIZE)
    side.heat(fh, SIZE)
    other = nfs3.Client(side.server, "/e1", source="127.0.0.2")
    for number in range(100):
        at, data = draw.randrange(0, SIZE, 512), draw.randbytes(draw.randint(1, PIECE))
        stable = draw.choice((nfs3.UNSTABLE, nfs3.UNSTABLE, nfs3.FILE_SYNC))
        side.saw("WRITE", other.write(fh, at, data, stable))
        got = side.read(f"WRITE {number}", fh, at, len(data))
        side.saw("the bytes written", got.data == data)
        if number % 20 == 19:
            side.saw("SETATTR", other.truncate(fh, at + 3))
            side.read(f"SETATTR {number}", fh, at - at % 4096)
    other.close()


def removed(side):
    """Locally and through the server, and another file in its place; and again when the server has
    had time to notice."""
    gone = []
    for how in ("locally", "by REMOVE", "by a local rename", "by RENAME"):
        name, new = f"gone {how}", f"new {how}"
        fh = side.make(name, SIZE)
        side.heat(fh, SIZE)
        fresh = side.make(new, SIZE, 7)
        side.heat(fresh, SIZE)
        if how == "locally":
            os.unlink(side.local(name))
            side.saw(f"LOOKUP: {how}", side.client.lookup(name)[0])
        elif how == "by REMOVE":
            side.saw("REMOVE", side.client.remove(name))
        elif how == "by a local rename":
            os.rename(side.local(new), side.local(name))
        else:
            side.saw("RENAME", side.client.rename(new, name))
        after_removal(side, how, fh, fresh)
        gone.append((how, fh))
    time.sleep(NOTICED)
    for how, fh in gone:
        for at in (0, PIECE, 0):
            side.read(f"long removed {how}", fh, at)
        side.saw(f"GETATTR: long removed {how}", side.client.getattr(fh))


def after_removal(side, how, fh, fresh):
    for at in (0, PIECE, SIZE - PIECE, SIZE, 0):
        side.read(f"removed {how}", fh, at)
        side.saw(f"GETATTR: {how}", side.client.getattr(fh))
        side.read(f"in its place {how}", fresh, at)
    made = side.make(f"gone {how}", PIECE, 9)  # perhaps with its inode number
    side.read(f"removed {how}, made again", fh)
    side.read("made again", made)


def mounted_over(side):
    """Another file system, and the export's made read-only."""
    fh = side.make("under", SIZE)
    side.heat(fh, SIZE)
    e2e.run("mount", "-t", "tmpfs", "none", side.path)
    with open(side.local("under"), "wb") as file:
        file.write(b"#" * SIZE)
    for at in (0, PIECE, 0, SIZE - PIECE):
        side.read("mounted over", fh, at)
    e2e.run("umount", side.path)
    e2e.run("mount", "-o", "remount,ro", side.path)
    side.drop("under")
    side.heat(fh, SIZE, "read-only")
    side.saw("WRITE to a read-only file system", side.client.write(fh, 0, b"x"))
    e2e.run("mount", "-o", "remount,rw", side.path)
    side.read("writable again", fh)
    side.saw("WRITE", side.client.write(fh, 0, b"x"))
    side.read("written again", fh)


def mounted_within(side):
    """A file system that appeared below the export after the server's start."""
    image = f"{os.path.dirname(side.path)}/within-{os.path.basename(side.path)}.img"
    with open(image, "w", encoding="ascii") as file:
        file.truncate(32 << 20)
    e2e.run("mkfs.ext4", "-q", "-F", image)
    os.mkdir(side.local("within"))
    before = side.handle("within")
    e2e.run("mount", "-o", "loop", image, side.local("within"))
    with open(side.local("within/file"), "wb") as file:
        file.write(e2e.pattern(3, 0, SIZE))
    for directory in (before, side.client.lookup("within")[1]):
        status, fh = side.client.lookup("file", directory)
        side.saw("LOOKUP below a new mount", status)
        for at in (0, 0, PIECE) if status == nfs3.OK else ():
            side.read("below a new mount", fh, at)
    done = subprocess.run(["umount", side.local("within")], check=False, stderr=subprocess.DEVNULL)
    side.saw("umount", done.returncode)
    if done.returncode:
        e2e.run("umount", "-l", side.local("within"))


SCENES = {f.__name__: f for f in (edges, holes, other_types, permissions, mounted_over,
                                  local_changes, written_beside, removed, mounted_within)}


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter()
    work = e2e.work_directory()
    for more in ("", "Attr_Expiration_Time = 0;"):
        what = "attributes asked for" if more else "attributes kept"
        made = likeness.sides(work, plugin, more)
        for name in sys.argv[2:] or SCENES:
            likeness.play(SCENES[name], made, f"{name}, {what}")
        likeness.end(made, what)
    e2e.finish()


if __name__ == "__main__":
    main()
