#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NFSv4.2's COPY through RA: test_copy.py PLUGIN (Ganesha 15 and later; skipped before)

What it proves: within an export and between two, COPY brings the same bytes as through stock VFS, and says
so; who has just read the target through RA reads what is there now; a target above another FSAL is answered
with XDEV, and the server lives.
"""
import os
import random
import sys

import e2e
import nfs3
import nfs4

KIB = 1024
SIZE = 4 << 20
XDEV = 18
# (what, from, to, source offset, target offset, bytes asked)
COPIES = (("a whole file", "e1/source", "e1/target", 0, 0, SIZE),
          ("a part, to a place of no page", "e1/source", "e1/target", 64 * KIB + 7, 4099, 128 * KIB),
          ("behind the end", "e1/source", "e1/target", 0, SIZE, 256 * KIB),
          ("to the end", "e1/source", "e1/target", KIB, 0, 0),
          ("to another export", "e1/source", "e2/target", 0, 0, SIZE))


def make_files(path):
    for export in ("e1", "e2"):
        os.makedirs(f"{path}/{export}", exist_ok=True)
        for name in ("source", "target"):
            with open(f"{path}/{export}/{name}", "wb") as f:
                f.write(random.Random(f"{export}{name}").randbytes(SIZE))


def contents(server, name):
    """By NFSv3, in order: what read-ahead and the residency of the target say is asked."""
    client = nfs3.Client(server, "/" + name.split("/")[0])
    _, fh = client.lookup(name.split("/")[1])
    size = os.path.getsize(server.exports[int(name[1]) - 1]["path"] + name[2:])
    whole = b"".join(data for _, _, data in sorted(client.stream(fh, size, 64 * KIB)))
    client.close()
    return whole


def copied(server, client, what, source, target, at, to, count):
    """Copies; what the target should hold then is compared with what it does."""
    expected = bytearray(contents(server, target))
    data = contents(server, source)
    part = data[at:at + count] if count else data[at:]
    expected[to:to + len(part)] = part
    opened = [client.open(source, nfs4.FOR_READ), client.open(target, nfs4.FOR_BOTH)]
    status, done = client.copy(opened[0][1:], opened[1][1:], at, to, count)
    e2e.check((status, done) == (nfs3.OK, len(part)), f"{server.kind}: COPY of {what}",
              (opened[0][0], opened[1][0], status, done))
    e2e.check(contents(server, target) == bytes(expected), f"{server.kind}: {what}: its bytes")
    for _, fh, stateid in opened:
        client.call(*client.close_operations(fh, stateid))


def across(server, client):
    """A target above FSAL_MEM."""
    memory = nfs3.Client(server, "/e3")
    status, _ = memory.create("target")
    e2e.check(status == nfs3.OK, "FSAL MEM: CREATE", status)
    source = client.open("e1/source", nfs4.FOR_READ)
    target = client.open("e3/target", nfs4.FOR_BOTH)
    status, _ = client.copy(source[1:], target[1:], 0, 0, 64 * KIB)
    e2e.check(status == XDEV, "COPY between FSALs that do not know each other: XDEV", status)
    memory.close()


def try_kind(kind, work, path, plugin):
    make_files(path)
    exports = [{"id": i, "path": f"{path}/e{i}", "pseudo": f"/e{i}", "protocols": "3, 4"}
               for i in (1, 2)]
    below = e2e.distribution_fsals()
    memory = kind == "ra" and any("libfsalmem.so" in fsal for fsal in below)
    if memory:
        exports.append({"id": 3, "path": "/mem", "pseudo": "/e3", "protocols": "3, 4", "sub": "MEM"})
    server = e2e.Server(kind, exports, work, plugin).start()
    client = nfs4.Client(server, minor=2)
    for copy in COPIES:
        copied(server, client, *copy)
    if memory:
        across(server, client)
    client.close()
    e2e.check(server.stop() == 0, f"{kind}: ends cleanly", server.log_text()[-2000:])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[1:], "")
    if e2e.ganesha_version() < (15, 0):
        e2e.skip("this server has no COPY")
    e2e.enter()
    work = e2e.work_directory()
    path = e2e.loop_export(work, 256 << 20)
    for kind in ("stock", "ra"):
        try_kind(kind, work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
