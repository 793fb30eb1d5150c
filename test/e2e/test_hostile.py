#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a client may send to harm a server: test_hostile.py PLUGIN [TEST...]

What it proves: READs, WRITEs and COMMITs in files of 2^63 - 1 bytes, in order, backward, in strides
and at the very end, are answered as by stock VFS, byte for byte; clients of more addresses than any
table has places for, many of them at once, and a flood of FSSTAT, are all answered, and take no
more of the server than stated; READs and WRITEs of what is no file are refused, at once. A victim
beside them, from another address, has all its answers.
"""
import hashlib
import os
import sys
import time

import control_client
import e2e
import nfs3
import server_usage
from test_flood import Victim, FILE_SIZE, FILES, READ_SIZE

BLOCK = 65536
TOP = (1 << 63) - 1  # bytes that a file of XFS may have
LAST = TOP // BLOCK * BLOCK  # where its last block begins
STRIDE = (1 << 40) + 3 * BLOCK
CLIENTS_MAX = 64  # of the server; readers.h has 1024 places
ADDRESSES, AT_ONCE = 1500, 300
FSSTATS, SENDERS = 4000, 4
CEILING_MIB = 64
HARMFUL = ("pipe", "null")  # a COMMIT of them opens them


# ---- files of 2^63 - 1 bytes ---------------------------------------------------------------------

def far_places():
    """(how, offsets) of READs that a reader ahead may take for a pattern."""
    yield "in order, to the end", range(LAST - 40 * BLOCK, LAST + 2 * BLOCK, BLOCK)
    yield "backward from the end", range(LAST, LAST - 40 * BLOCK, -BLOCK)
    yield "around the end", [TOP - 1, TOP - 4096, TOP - BLOCK, TOP, TOP + 1, 2 * TOP, TOP - 2]
    yield "in strides, to the end", range(LAST - 40 * STRIDE, LAST + 2 * STRIDE, STRIDE)
    yield "in strides, backward", range(LAST, LAST - 40 * STRIDE, -STRIDE)
    yield "in ever longer steps", [1 << n for n in range(16, 64)]
    yield "from the beginning", range(0, 40 * BLOCK, BLOCK)


def answered(client, call, *arguments):
    """What is the same for stock's; the name of the error where the connection ended."""
    try:
        answer = getattr(client, call)(*arguments)
    except OSError as error:
        return type(error).__name__
    if call == "read_whole":
        size = answer.attributes and answer.attributes.size
        return answer.status, answer.count, answer.eof, size, hashlib.md5(answer.data).hexdigest()
    return answer.status, answer.count, answer.committed


def read_far(client, fh):
    return {(how, at): answered(client, "read_whole", fh, at, BLOCK)
            for how, places in far_places() for at in places}


def write_far(client, fh):
    """WRITEs to such places, some of them twice, and COMMITs of parts of them."""
    seen = {}
    for number, (how, places) in enumerate(far_places()):
        for at in list(places)[::4]:
            data = e2e.pattern(number, 0, BLOCK)
            seen[how, "WRITE", at] = answered(client, "write_whole", fh, at, data)
            seen[how, "COMMIT", at] = answered(client, "commit", fh, at, BLOCK)
        seen[how, "all"] = answered(client, "commit", fh)
    seen["beyond"] = answered(client, "commit", fh, TOP, (1 << 32) - 1)
    return seen


def far_file(server):
    path = f"{server.exports[0]['path']}/{server.kind}"
    with open(path, "wb") as file:
        file.truncate(TOP)
    client = nfs3.Client(server, "/e1", timeout=60)
    _, fh = client.lookup(server.kind)
    seen = [read_far(client, fh), write_far(client, fh), read_far(client, fh)]
    client.close()
    allocated = os.stat(path).st_blocks
    return seen, allocated


def far_files(work, plugin):
    """On a file system that has such files."""
    image = f"{work}/xfs.img"
    with open(image, "w", encoding="ascii") as file:
        file.truncate(512 << 20)
    e2e.run("mkfs.xfs", "-q", image)
    e2e.mount_image(image, f"{work}/xfs", "loop")
    loop = os.path.basename(e2e.run("findmnt", "-n", "-o", "SOURCE", f"{work}/xfs").strip())
    with open(f"/sys/block/{loop}/queue/rotational", "w", encoding="ascii") as file:
        file.write("1")
    os.chmod(f"{work}/xfs", 0o777)
    found = []
    for kind in ("stock", "ra"):
        server = serve(kind, work, f"{work}/xfs", plugin)
        found.append(far_file(server))
        e2e.check(server.alive() and server.stop() == 0,
                  f"far files: {kind} lives, and ends cleanly", server.log_text()[-2000:])
        if kind == "ra":
            e2e.note(f"far files: {server.stats()}")
    (stock, blocks), (ra, ours) = found
    for what, one, other in zip(("read while empty", "written", "read again"), stock, ra):
        wrong = [f"{key}: stock {one[key]}, RA {other[key]}" for key in one
                 if one[key] != other[key]]
        e2e.check(not wrong, f"far files, {what}: {len(one)} answers as stock's",
                  "\n".join(wrong[:10]))
    e2e.check(abs(ours - blocks) * 512 < 1 << 20, "far files: they take as much of the disk",
              (ours, blocks))


# ---- many addresses, and many questions ----------------------------------------------------------

def address(number):
    return f"127.{1 + number // 62500}.{number // 250 % 250}.{1 + number % 250}"


def connections(server, first, count):
    return [nfs3.Connection(server.port, nfs3.NFS, timeout=60, source=address(n))
            for n in range(first, first + count)]


def ask_from(server, root, handles, first):
    """AT_ONCE clients, all of them before any takes its answers; what was wrong."""
    fsstat, wrong = nfs3.opaque(root), []
    clients = connections(server, first, AT_ONCE)
    for number, client in enumerate(clients, first):
        at = number * 7919 % (FILE_SIZE // READ_SIZE) * READ_SIZE
        client.send(nfs3.READ, nfs3.Client.read_body(handles[number % len(handles)], at, READ_SIZE))
        client.send(nfs3.FSSTAT, fsstat)
    for number, client in enumerate(clients, first):
        for _ in range(2):
            status = client.receive()[1].u32()
            if status != nfs3.OK:
                wrong.append((number, status))
        client.close()
    return wrong


def is_known(client):
    """Times are to a second: so soon after others it may not be among those that are told of."""
    return any(r["client"] == client for r in control_client.ask(command="clients")["readers"])


def many_addresses(server, victim):
    what = f"clients of {ADDRESSES} addresses, {AT_ONCE} at once"
    client = nfs3.Client(server, "/e1")
    handles = [client.lookup(f"f{n}")[1] for n in range(1, FILES)]
    usage, wrong = server_usage.Usage(server.process.pid), []
    for first in range(0, ADDRESSES, AT_ONCE):
        wrong += ask_from(server, client.root, handles, first)
    e2e.check(not wrong, f"{what}: each has both answers", wrong[:5])
    memory = usage.growth().memory
    e2e.note(f"{what}: at most {memory} MiB more")
    e2e.check(memory <= CEILING_MIB, f"{what}: memory grows by no more than {CEILING_MIB} MiB",
              memory)
    seen = control_client.ask(command="clients")
    e2e.check(seen["readers_total"] <= 1024 and len(seen["readers"]) <= 256,
              f"{what}: so many are known, and told of",
              (seen["readers_total"], len(seen["readers"])))
    e2e.check(e2e.wait_for(lambda: is_known("127.0.0.3"), 60),
              f"{what}: who goes on reading is still known", victim.waits[-1:])
    client.close()


def fsstat_flood(server, _):
    what = f"{SENDERS} times {FSSTATS} FSSTATs on the way"
    client = nfs3.Client(server, "/e1")
    usage = server_usage.Usage(server.process.pid)
    senders = connections(server, 0, SENDERS)
    statuses, body, begun = {}, nfs3.opaque(client.root), time.monotonic()
    for _ in range(FSSTATS // 100):
        for sender in senders:
            for _ in range(100):
                sender.send(nfs3.FSSTAT, body)
    for sender in senders:
        while sender.busy():
            status = sender.receive()[1].u32()
            statuses[status] = statuses.get(status, 0) + 1
        sender.close()
    e2e.note(f"{what}: {SENDERS * FSSTATS / (time.monotonic() - begun):.0f} a second")
    e2e.check(statuses == {nfs3.OK: SENDERS * FSSTATS}, f"{what}: each is answered", statuses)
    memory = usage.growth().memory
    e2e.check(memory <= CEILING_MIB, f"{what}: memory grows by no more than {CEILING_MIB} MiB",
              memory)
    client.close()


def answers_of(server, garbage):
    """{name: (statuses of READ, WRITE and COMMIT, status of FSSTAT)} of what is no file, and of
    handles that are none."""
    client, answers = nfs3.Client(server, "/e1", timeout=120), {}
    handles = {name: client.lookup(name)[1] for name in ("pipe", "link", "null")}
    handles |= {"root": client.root, "a part": client.root[:-1]} | garbage
    for name, fh in handles.items():
        if server.kind == "stock" and name in HARMFUL:
            continue
        calls = [client.read(fh, 0, 4096)[0], client.write(fh, 0, b"x" * 4096),
                 client.commit(fh).status]
        answers[name] = calls, client.nfs.call(nfs3.FSSTAT, nfs3.opaque(fh)).u32()
    client.close()
    return answers


def wrong_kinds(server, _):
    """READ, WRITE, COMMIT and FSSTAT of what is no file: as stock's, whose COMMIT of a directory is
    refused by 4.3 and not by 6.5; but a COMMIT of a FIFO keeps a thread of stock 4.3 for good."""
    path = server.exports[0]["path"]
    os.mkfifo(f"{path}/pipe")
    os.symlink("f0", f"{path}/link")
    os.mknod(f"{path}/null", 0o20666, os.makedev(1, 3))
    garbage = {"none": b"", "zeros": b"\0" * 64, "ones": b"\xff" * 64, "any": os.urandom(32)}
    stock = serve("stock", server.work, path, None)
    expected = answers_of(stock, garbage)
    stock.stop()
    for name, (calls, fsstat) in answers_of(server, garbage).items():
        refused = calls if name in HARMFUL else calls[:2]
        e2e.check(nfs3.OK not in refused, f"READ, WRITE, COMMIT of {name}: refused", calls)
        if name in expected:
            e2e.check((calls, fsstat) == expected[name], f"all four of {name}: as stock's",
                      (calls, fsstat, expected[name]))
        e2e.check((fsstat == nfs3.OK) == (name in ("pipe", "link", "null", "root")),
                  f"FSSTAT of {name}: answered", fsstat)


TESTS = {f.__name__: f for f in (many_addresses, fsstat_flood, wrong_kinds)}


def serve(kind, work, path, plugin, ra=""):
    listed = [{"id": 1, "path": path, "pseudo": "/e1"}]
    return e2e.Server(kind, listed, work, plugin, ra=ra).start()


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter(("mkfs.xfs",))
    work = e2e.work_directory()
    if not sys.argv[2:] or "far_files" in sys.argv[2:]:
        far_files(work, plugin)
    path = e2e.loop_export(work, 128 << 20, rotating=True)
    e2e.make_files(path, FILES, FILE_SIZE)
    e2e.drop_caches()
    server = serve("ra", work, path, plugin, f"Clients_Max = {CLIENTS_MAX};")
    victim = Victim(server)
    for name in [n for n in sys.argv[2:] if n in TESTS] or TESTS:
        began = time.monotonic()
        TESTS[name](server, victim)
        e2e.note(f"{name}: {time.monotonic() - began:.1f} s")
    victim.told("all of it")
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
