#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A real Linux kernel as client: test_guest.py PLUGIN [MECHDISK [MIB]]

User-mode Linux mounts the export with vers=3 and reads a file in order and with stride 8, from
stock VFS and from RA over VFS; the bytes must be the file's. With the modelled disk the speeds,
which are printed, mean something. MIB is the size of the file (64).
"""
import hashlib
import os
import re
import subprocess
import sys

import e2e
import modelled_disk

HERE = os.path.dirname(os.path.realpath(__file__))


def read_in_guest(server, name, stride):
    """(MB/s, sha256) of one reading."""
    done = subprocess.run([f"{HERE}/guest", "/usr/bin/python3", f"{HERE}/guest_read.py",
                           str(server.port), str(server.mport), "/e1", name, str(stride)],
                          check=False, capture_output=True, text=True,
                          env={**os.environ, "GUEST_SECONDS": "150"})
    if done.returncode == 77:
        e2e.skip(done.stdout.strip().splitlines()[-1])
    found = re.search(r"RESULT (\S+) (\d+) (\w+)", done.stdout)
    if not found:
        e2e.note(done.stdout[-1500:] + done.stderr[-500:])
        return 0.0, None
    return int(found[2]) / float(found[1]) / 1e6, found[3]


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for chunk in iter(lambda: f.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__.splitlines()[0])
    e2e.enter(("linux.uml", "mount.nfs", "busybox"))
    work = e2e.work_directory()
    size = int(sys.argv[3]) << 20 if sys.argv[3:] else 64 << 20
    disk = modelled_disk.for_test(work, sys.argv[2], 1024) if sys.argv[2:] else None
    path = disk.mount if disk else e2e.loop_export(work, 512 << 20)
    e2e.make_files(path, 1, size)
    whole = sha256(f"{path}/f0")
    if disk:
        disk.timing(True)
    speed = {}
    for kind in ("stock", "ra"):
        listed = [{"id": 1, "path": path, "pseudo": "/e1", "params": {"Heuristic": "cursor"}}]
        server = e2e.Server(kind, listed, work, plugin).start()
        for stride in (1, 8):
            e2e.drop_caches()
            speed[kind, stride], digest = read_in_guest(server, "f0", stride)
            e2e.check(digest == whole, f"{kind}, stride {stride}: the bytes are the file's")
            e2e.note(f"{kind}, stride {stride}: {speed[kind, stride]:.1f} MB/s")
        e2e.check(server.stop() == 0, f"{kind}: ends cleanly", server.log_text()[-2000:])
        if kind == "ra":
            e2e.note(f"RA_STATS {server.stats()}")
    for stride in (1, 8):
        if speed["stock", stride]:
            e2e.note(f"stride {stride}: RA is "
                     f"{speed['ra', stride] / speed['stock', stride]:.2f} x stock")
    e2e.finish()


if __name__ == "__main__":
    main()
