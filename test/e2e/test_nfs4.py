#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NFSv4 through RA: test_nfs4.py NFS4_IO PLUGIN

What it proves: reads, writes, COMMIT and truncation of NFSv4.0 clients (libnfs), whose READs carry
an open state where those of NFSv3 carry none, bring the same bytes through RA as through stock VFS;
read-ahead and write-back see them; an NFSv3 client of the same export agrees.
"""
import os
import subprocess
import sys

import e2e
import nfs3

MIB = 24
UNIT = 65536


def io(program, server, *arguments):
    return subprocess.run([program, str(server.port), "/e1", *arguments], check=False, text=True,
                          capture_output=True, timeout=120)


def same_by_nfs3(server, name, path):
    client = nfs3.Client(server, "/e1")
    _, fh = client.lookup(name)
    with open(path, "rb") as f:
        whole = f.read()
    got = b"".join(data for _, _, data in sorted(client.stream(fh, len(whole), UNIT)))
    client.close()
    return got == whole


def try_kind(kind, program, work, path, plugin):
    listed = [{"id": 1, "path": path, "pseudo": "/e1", "protocols": "3, 4",
               "params": {"Queue_Depth": 1}}]  # queued, whatever the disk is
    server = e2e.Server(kind, listed, work, plugin).start()
    name = f"{kind}.data"
    for what, arguments, cold in (("writes and COMMIT", ("write", name, str(MIB)), False),
                                  ("reads, from memory", ("verify", name, str(MIB)), False),
                                  ("reads, from disk", ("verify", name, str(MIB)), True),
                                  ("truncation", ("truncate", name, str(MIB // 2)), False),
                                  ("reads of the rest", ("verify", name, str(MIB // 2)), True)):
        if cold:
            e2e.drop_caches()
        done = io(program, server, *arguments)
        e2e.check(done.returncode == 0, f"NFSv4, {kind}: {what}", done.stderr)
    e2e.check(os.path.getsize(f"{path}/{name}") == MIB // 2 << 20, f"NFSv4, {kind}: the size")
    e2e.check(same_by_nfs3(server, name, f"{path}/{name}"), f"NFSv4, {kind}: NFSv3 reads the same")
    e2e.check(server.stop() == 0, f"NFSv4, {kind}: ends cleanly", server.log_text()[-2000:])
    return server.stats() or {}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter()
    work = e2e.work_directory()
    path = e2e.loop_export(work, 256 << 20)
    try_kind("stock", sys.argv[1], work, path, plugin)
    stats = try_kind("ra", sys.argv[1], work, path, plugin)
    e2e.note(f"RA_STATS {stats}")
    e2e.check(stats.get("read_bytes", 0) >= MIB << 20, "NFSv4: RA saw the reads", stats)
    e2e.check(stats.get("prefetched_bytes", 0) > 0, "NFSv4: read-ahead did run", stats)
    # Of which little is left to be written when the COMMIT comes goes straight to fsync.
    e2e.check(stats.get("writeback_bytes", 0) > 0 and
              stats.get("commits", 0) + stats.get("direct_commits", 0) > 0,
              "NFSv4: WRITE and COMMIT went through write-back", stats)
    with open(f"{path}/stock.data", "rb") as a, open(f"{path}/ra.data", "rb") as b:
        e2e.check(a.read() == b.read(), "NFSv4: both files hold the same bytes")
    e2e.finish()


if __name__ == "__main__":
    main()
