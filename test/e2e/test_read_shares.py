#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Share reservations and READs: test_read_shares.py PLUGIN [SCENE...]

What it proves: while somebody has a file open and denies others to read or write it (an OPEN of
NFSv4, a SHARE of the lock manager), READs of other clients that carry no state (NFSv3's, NFSv4's
with the anonymous stateid and with the one that heeds no denial) or another state are refused or
answered as by the stock server: in memory, from the disk, and after the CLOSE. Whoever reads without
a state keeps nobody from denying afterwards.
"""
import struct
import sys
import threading

import e2e
import likeness
import nfs3
import nfs4
from likeness import PIECE

SIZE = 1 << 20
LOCKED = 10012
LOCK_MANAGER, SHARE, UNSHARE = 100021, 20, 21
ACCESS = (nfs4.FOR_READ, nfs4.FOR_WRITE, nfs4.FOR_BOTH)
DENY = (nfs4.DENY_READ, nfs4.DENY_WRITE, nfs4.DENY_READ | nfs4.DENY_WRITE)


def read4(side, what, client, fh, stateid, offset):
    status, reply = client.call(*client.read_operations(fh, stateid, offset, PIECE))
    side.saw(f"{what}: READ4 at {offset}", status, client.data(status, reply)[:64])


def all_reads(side, what, fh, other, fh4):
    for offset in (0, PIECE, SIZE - PIECE, SIZE):
        side.read(what, fh, offset)
        read4(side, f"{what}, anonymous", other, fh4, nfs4.ANONYMOUS, offset)
        read4(side, f"{what}, bypass", other, fh4, nfs4.BYPASS, offset)


def denials(side):
    """Every access and denial, of a file that is hot, and then of one that is on the disk."""
    fh = side.make("denied", SIZE)
    holder, other = nfs4.Client(side.server, "holder"), nfs4.Client(side.server, "other")
    side.heat(fh, SIZE)
    fh4 = other.open("/e1/denied", nfs4.FOR_WRITE)[1]
    for access in ACCESS:
        for deny in DENY:
            what = f"access {access} deny {deny}"
            status, handle, stateid = holder.open("/e1/denied", access, deny)
            side.saw(f"OPEN {what}", status)
            all_reads(side, f"{what}, hot", fh, other, fh4)
            side.drop("denied")
            all_reads(side, f"{what}, from the disk", fh, other, fh4)
            side.saw("WRITE", side.client.write(fh, SIZE, b"x"))
            if status == nfs3.OK:
                side.saw("CLOSE", holder.call(*holder.close_operations(handle, stateid))[0])
            all_reads(side, f"{what}, closed", fh, other, fh4)
    holder.close()
    other.close()


def denials_of_none(side):
    """As before, but nobody else has it open, so that the OPENs succeed."""
    fh = side.make("free", SIZE)
    holder, other = nfs4.Client(side.server, "holder2"), nfs4.Client(side.server, "other2")
    opened = other.open("/e1/free")
    other.call(*other.close_operations(opened[1], opened[2]))
    for deny in DENY:
        for access in ACCESS:
            what = f"nobody, access {access} deny {deny}"
            side.heat(fh, SIZE, what)
            status, handle, stateid = holder.open("/e1/free", access, deny)
            side.saw(f"OPEN {what}", status)
            all_reads(side, f"{what}, hot", fh, other, opened[1])
            read4(side, f"{what}, the holder", holder, handle, stateid, 0)
            side.drop("free")
            all_reads(side, f"{what}, from the disk", fh, other, opened[1])
            side.saw("others OPEN", *(other.open("/e1/free", a)[0] for a in ACCESS))
            side.saw("CLOSE", holder.call(*holder.close_operations(handle, stateid))[0])
            all_reads(side, f"{what}, closed", fh, other, opened[1])
            again = other.open("/e1/free")
            other.call(*other.close_operations(again[1], again[2]))
    holder.close()
    other.close()


def writer_reads(side):
    """A state that is for writing only: its READs go as those without a state."""
    fh = side.make("half", SIZE)
    writer, holder = nfs4.Client(side.server, "writer"), nfs4.Client(side.server, "holder3")
    side.heat(fh, SIZE)
    status, fh4, stateid = writer.open("/e1/half", nfs4.FOR_WRITE)
    side.saw("OPEN to write", status)
    read4(side, "of a writer", writer, fh4, stateid, 0)
    status, handle, denying = holder.open("/e1/half", nfs4.FOR_READ, nfs4.DENY_READ)
    side.saw("OPEN that denies", status)
    for offset in (0, PIECE):
        read4(side, "of a writer, denied", writer, fh4, stateid, offset)
    side.drop("half")
    read4(side, "of a writer, denied, from the disk", writer, fh4, stateid, 0)
    if status == nfs3.OK:
        side.saw("CLOSE", holder.call(*holder.close_operations(handle, denying))[0])
    read4(side, "of a writer, closed", writer, fh4, stateid, 0)
    writer.close()
    holder.close()


def share(connection, procedure, fh, mode, access):
    """The status of NLM4_SHARE or NLM4_UNSHARE; mode: what is denied, as NFSv4 counts."""
    body = nfs3.opaque(b"cook") + nfs3.opaque(b"e2e") + nfs3.opaque(fh) + nfs3.opaque(b"owner")
    reply = connection.call(procedure, body + struct.pack(">III", mode, access, 0))
    reply.opaque()
    return reply.u32()


def lock_manager(side):
    fh = side.make("shared", SIZE)
    other = nfs4.Client(side.server, "other4")
    _, fh4, stateid = other.open("/e1/shared")
    other.call(*other.close_operations(fh4, stateid))
    connection = nfs3.Connection(side.server.lock_port, LOCK_MANAGER, version=4)
    for deny in DENY:
        side.heat(fh, SIZE)
        side.saw(f"SHARE {deny}", share(connection, SHARE, fh, deny, nfs4.FOR_READ))
        all_reads(side, f"SHARE {deny}, hot", fh, other, fh4)
        side.drop("shared")
        all_reads(side, f"SHARE {deny}, from the disk", fh, other, fh4)
        side.saw("WRITE", side.client.write(fh, SIZE, b"x"))
        side.saw("UNSHARE", share(connection, UNSHARE, fh, deny, nfs4.FOR_READ))
        all_reads(side, f"SHARE {deny}, given back", fh, other, fh4)
    connection.close()
    other.close()


def while_read(side):
    """Denials come and go while others read: each READ has one of the two answers."""
    fh = side.make("busy", SIZE)
    stopping, odd = threading.Event(), []

    def reads():
        client = nfs3.Client(side.server, "/e1")
        while not stopping.is_set():
            for offset, status, data in client.stream(fh, SIZE):
                if status != nfs3.OK or data != e2e.pattern(0, offset, len(data)):
                    odd.append((offset, status))
        client.close()

    threads = [threading.Thread(target=reads) for _ in range(4)]
    for thread in threads:
        thread.start()
    holder, done = nfs4.Client(side.server, "holder5"), 0
    for number in range(60):
        status, handle, stateid = holder.open("/e1/busy", nfs4.FOR_READ, nfs4.DENY_READ)
        if number % 10 == 0:
            side.drop("busy")
        if status == nfs3.OK:
            done += 1
            status = holder.call(*holder.close_operations(handle, stateid))[0]
            side.saw("CLOSE", status) if status else None
    stopping.set()
    for thread in threads:
        thread.join(30)
    e2e.note(f"{side.kind.name}: {done} of 60 OPENs that deny, beside READs")
    side.saw("NFSv3 is never refused", odd[:3])
    side.saw("OPENs that deny", holder.open("/e1/busy", nfs4.FOR_READ, nfs4.DENY_READ)[0])
    holder.close()


SCENES = {f.__name__: f for f in (denials, denials_of_none, writer_reads, while_read)}


def scene(all_sides, one, denied):
    likeness.play(one, all_sides, one.__name__)
    refused = [seen for seen in all_sides[0].seen if LOCKED in seen]
    e2e.check(bool(refused) == denied, f"{one.__name__}: stock refuses READs: {denied}", refused[:3])


def never_refused():
    """From 6 on a descriptor that was opened for writing reads as well, and a READ by its state asks
    nobody."""
    return ("while_read", "writer_reads") if e2e.ganesha_version() >= (6, 0) else ("while_read",)


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter()
    work = e2e.work_directory()
    made = likeness.sides(work, plugin, protocols="3, 4")
    for name in sys.argv[2:] or SCENES:
        scene(made, SCENES[name], name not in never_refused())
    likeness.end(made, "share reservations")
    made = likeness.sides(work, plugin, protocols="3, 4", lock=True)
    scene(made, lock_manager, True)
    likeness.kill(made)  # 4.3 aborts at the end of a server that knew a SHARE
    e2e.finish()


if __name__ == "__main__":
    main()
