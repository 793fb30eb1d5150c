#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs the parity test: test_parity.py PARITY PLUGIN[:CONFIG]|stock [arguments of parity]

Two equal copies of one small ext4 are served by stock VFS and by RA over VFS (or, with the word
stock, by two stock servers, which tells what the test itself cannot keep apart). Each server sees
its copy at the same path. Afterwards the two trees are compared locally, and checked by fsck.

The file systems: no journal and no extents, so that free counts and the blocks used by a file do
not depend on timing or on which thread wrote; few inodes, so that these run out too.
"""
import os
import shutil
import subprocess
import sys

import e2e
import server_configs

UUID = "5f1d1a4e-6f0c-4c39-9a59-2f2d1e0b7c11"  # fixed: one seed gives one sequence
MKFS = ("mkfs.ext4", "-q", "-F", "-b", "4096", "-N", "1024",
        "-O", "^has_journal,^extent,^64bit", "-U", UUID,
        "-E", f"lazy_itable_init=0,nodiscard,hash_seed={UUID}")
SIZE = 24 << 20


def make_pair(work):
    """Two mounted copies: same UUID, same hash seed, same free lists."""
    image = f"{work}/a.img"
    with open(image, "w") as f:
        f.truncate(SIZE)
    e2e.run(*MKFS, image)
    shutil.copy(image, f"{work}/b.img")
    for side in "ab":
        e2e.mount_image(f"{work}/{side}.img", f"{work}/{side}")
        os.chmod(f"{work}/{side}", 0o777)


def serve(config, side, work, plugin):
    export = f"{work}/export"
    os.makedirs(export, exist_ok=True)
    exports = [{"id": 1, "path": export, "pseudo": "/full"},
               {"id": 2, "path": export, "pseudo": "/squash", "squash": "root_squash"}]
    server = server_configs.server(config, exports, work, plugin,
                                   see_as=(f"{work}/{side}", export),
                                   hide=(f"{work}/a", f"{work}/b"))
    return server.start()


def describe(root):
    """{relative path: what must agree} of a tree, read locally."""
    seen = {}
    for directory, dirs, files in os.walk(root):
        for name in dirs + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            what = [st.st_mode, st.st_nlink, st.st_uid, st.st_gid, st.st_rdev]
            if not os.path.isdir(path) or os.path.islink(path):
                what += [st.st_size, st.st_blocks]
            if os.path.islink(path):
                what.append(os.readlink(path))
            seen[os.path.relpath(path, root)] = what
    return seen


def differing_data(a, b, files):
    """Regular files whose bytes differ. cmp skips nothing, so very large sparse ones are left."""
    found = []
    for name in files:
        pa, pb = os.path.join(a, name), os.path.join(b, name)
        if not os.path.isfile(pa) or os.path.islink(pa) or os.path.getsize(pa) > 64 << 20:
            continue
        if subprocess.run(["cmp", "-s", pa, pb], check=False).returncode:
            found.append(name)
    return found


def compare_trees(work):
    a, b = describe(f"{work}/a"), describe(f"{work}/b")
    other = [f"{k}: {a.get(k)} {b.get(k)}" for k in sorted(a.keys() | b.keys())
             if a.get(k) != b.get(k)]
    e2e.check(not other, f"both trees hold the same {len(a)} objects", "\n".join(other[:20]))
    data = differing_data(f"{work}/a", f"{work}/b", sorted(a.keys() & b.keys()))
    e2e.check(not data, "and the same bytes", "\n".join(data[:20]))


def check_file_systems(work):
    for side in "ab":
        e2e.run("umount", f"{work}/{side}")
        fsck = subprocess.run(["e2fsck", "-fn", f"{work}/{side}.img"], check=False,
                              capture_output=True, text=True)
        e2e.check(fsck.returncode == 0, f"file system {side} is sound", fsck.stdout)


def sparing():
    """Arguments that leave out what ends even the stock server of this version, or what two of them
    answer differently."""
    version, spared = e2e.ganesha_version(), []
    if e2e.empty_read_is_fatal():
        e2e.note(f"no READ of 0 bytes: it kills a stock server {version}")
        spared += ["--read-min", "1"]
    if e2e.fsstat_of_gone_is_noise():
        e2e.note(f"FSSTAT of the root only: of a file that is gone a stock server {version} says "
                 "OK, and whatever is in its memory")
        spared += ["--fsstat-root"]
    return spared


def main():
    parity, more = sys.argv[1], sys.argv[3:]
    plugin, config = server_configs.chosen(sys.argv[2])
    e2e.enter(("e2fsck", "cmp"))
    work = e2e.work_directory()
    make_pair(work)
    _, stock = server_configs.chosen("stock")
    servers = [serve(stock, "a", work, None), serve(config, "b", work, plugin)]
    done = subprocess.run([parity, *sparing(), "--tree", f"{work}/a", "--tree", f"{work}/b", *more,
                           servers[0].address, servers[1].address], check=False)
    e2e.check(done.returncode == 0, "every answer agrees", f"parity ended with {done.returncode}")
    for server in servers:
        e2e.check(server.alive(), f"the {server.kind} server is alive", server.log_text()[-2000:])
        e2e.check(server.stop() == 0, f"the {server.kind} server ends cleanly",
                  f"status {server.status}\n{server.log_text()[-2000:]}")
    if servers[1].kind == "ra":
        e2e.note(f"RA_STATS {servers[1].stats()}")
    compare_trees(work)
    check_file_systems(work)
    e2e.finish()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    main()
