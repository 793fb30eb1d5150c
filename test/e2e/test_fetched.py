#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The disk reads what is asked for, and no more: test_fetched.py PLUGIN

A stream is read as far as the middle of its file. What the disk has read by then is what was fetched
ahead and what the client waited for, whatever the kernel's read_ahead_kb is: chunks are brought by the
kernel's own read-ahead (kernel_windows.h), which would go on behind them if it were let.
"""
import os
import sys

import control_client
import e2e
import nfs3
import quiet

FILES, SIZE, READ = 2, 64 << 20, 24 << 20  # bytes; how far each file is read
REQUEST = 32 << 10
METADATA = 256 << 10  # bytes: inodes, directories, extents
READ_AHEAD_KB = (0, 128, 1000, 4096)


class Loop:
    """The loop device below a directory."""

    def __init__(self, where):
        name = os.path.basename(e2e.run("findmnt", "-n", "-o", "SOURCE", where).strip())
        self.sysfs = f"/sys/block/{name}"

    def read_ahead(self, kib):
        with open(f"{self.sysfs}/queue/read_ahead_kb", "w") as f:
            f.write(str(kib))

    def read_bytes(self):
        with open(f"{self.sysfs}/stat") as f:
            return int(f.read().split()[2]) * 512


def stream(client, number):
    """Reads the beginning of a file in order; whether all of it was right."""
    (_, fh), right = client.lookup(f"f{number}")[:2], True
    for at, status, data in client.stream(fh, READ, REQUEST):
        right &= status == 0 and data == e2e.pattern(number, at, REQUEST)
    return right


def fetch(server, loop):
    """(right, idle, bytes the disk read, of them ahead, waited for at most) of cold files."""
    e2e.drop_caches()
    client = nfs3.Client(server, "/e1")
    before, asked = loop.read_bytes(), control_client.stats("counters")
    right = all(stream(client, number) for number in range(FILES))
    idle = e2e.wait_for(
        lambda: not control_client.ask(command="status")["exports"][0]["pending"], 60)
    after = control_client.stats("counters")
    client.close()
    return (right, idle, loop.read_bytes() - before,
            after["prefetched_bytes"] - asked["prefetched_bytes"],
            (after["demand"] - asked["demand"]) * REQUEST)


def no_further(server, loop, kib):
    what = f"read_ahead_kb {kib}"

    def claims(seen):
        right, idle, read, ahead, waited = seen
        e2e.note(f"{what}: {read} bytes read, {ahead} of them ahead, at most {waited} waited for")
        e2e.check(right and idle, f"{what}: every byte right")
        return [(ahead > FILES * READ / 2, f"{what}: it is fetched ahead", ahead),
                (ahead <= read <= ahead + waited + METADATA,
                 f"{what}: and no more than that is read",
                 f"{read} bytes; {ahead} ahead, at most {waited} besides")]

    # A client on the heels of what is being fetched, as on a busy machine, meets the last mark before
    # there is something behind it, and the kernel goes on from there.
    quiet.judge(what, lambda: fetch(server, loop), claims)


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter(("findmnt",))
    work = e2e.work_directory()
    path = e2e.loop_export(work, FILES * SIZE * 3 // 2, rotating=True)
    e2e.make_files(path, FILES, SIZE)
    loop = Loop(path)
    for kib in READ_AHEAD_KB:
        loop.read_ahead(kib)
        server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1", "params": {}}], work,
                            plugin).start()
        no_further(server, loop, kib)
        e2e.check(server.stop() == 0, f"read_ahead_kb {kib}: the server ends cleanly",
                  server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
