#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The plugin's own descriptors lead to the file that the FSAL below serves, and one disk has one
queue: test_descriptors.py PLUGIN [TEST...]
"""
import os
import re
import shutil
import subprocess
import sys

import e2e
import nfs3

SIZE = 4 << 20


def descriptors_on(server, device):
    """Regular files that the server has open on the device with this number."""
    found = []
    for name in os.listdir(f"/proc/{server.process.pid}/fd"):
        path = f"/proc/{server.process.pid}/fd/{name}"
        try:
            status = os.stat(path)
            if status.st_dev == device and os.path.isfile(path):
                found.append(os.readlink(path))
        except OSError:
            continue
    return found


def read_whole(server, name, number, directory=None):
    """How many reads of the file did not give its bytes."""
    client = nfs3.Client(server, "/e1")
    _, fh = client.lookup(name, directory)
    wrong = sum(data != e2e.pattern(number, offset, len(data))
                for offset, data in read_all(client, fh))
    client.close()
    return wrong


def read_all(client, fh):
    for offset in range(0, SIZE, 65536):
        status, data = client.read(fh, offset, 65536)[:2]
        yield offset, data if status == nfs3.OK else b"\0"


def clone_over_the_export(work, plugin):
    """A copy of the file system, with the same inodes and generations, is mounted over the export."""
    path = e2e.loop_export(work, 256 << 20, rotating=True)
    e2e.make_files(path, 2, SIZE)
    e2e.run("sync", "-f", path)
    shutil.copyfile(f"{work}/export.img", f"{work}/clone.img")
    # the clone's files hold other bytes
    e2e.mount_image(f"{work}/clone.img", f"{work}/other")
    for number in range(2):
        with open(f"{work}/other/f{number}", "r+b") as file:
            file.write(b"#" * SIZE)
    e2e.run("umount", f"{work}/other")
    e2e.drop_caches()
    server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1"}], work, plugin).start()
    client = nfs3.Client(server, "/e1")
    e2e.mount_image(f"{work}/clone.img", path)
    clone = os.stat(path).st_dev
    _, fh = client.lookup("f0")
    client.write(fh, 0, e2e.pattern(0, 0, 65536))
    client.commit(fh, 0, 65536)
    e2e.check(read_whole(server, "f0", 0) == 0, "a clone over the export: the bytes are the export's")
    e2e.check(not descriptors_on(server, clone), "a clone over the export: none of its files is open",
              descriptors_on(server, clone))
    cause = re.findall(r"no file descriptor \((.*?)\)", server.log_text())
    e2e.check(cause == ["another file system is mounted over its own"],
              "a clone over the export: the log says why there is no read-ahead, once", cause)
    e2e.run("umount", path)
    e2e.check(e2e.wait_for(lambda: read_whole(server, "f1", 1) == 0 and
                           descriptors_on(server, os.stat(path).st_dev), 60, 0.5),
              "the clone is gone: descriptors come back")
    client.close()
    e2e.check(server.stop() == 0, "a clone over the export: the server ends well")
    e2e.run("umount", path)


def subvolumes(work, plugin):
    """Three subvolumes of one btrfs are three device numbers and one disk."""
    image = f"{work}/btrfs.img"
    with open(image, "w", encoding="ascii") as file:
        file.truncate(512 << 20)
    e2e.run("mkfs.btrfs", "-q", image)
    e2e.mount_image(image, f"{work}/top", "loop")
    loop = e2e.run("findmnt", "-n", "-o", "SOURCE", f"{work}/top").strip().split("[")[0]
    exports = []
    for number in range(3):
        e2e.run("btrfs", "subvolume", "create", f"{work}/top/s{number}")
        where = f"{work}/s{number}"
        os.makedirs(where)
        e2e.run("mount", "-o", f"subvol=s{number}", loop, where)
        e2e.at_exit(lambda at=where: subprocess.run(["umount", "-l", at], check=False,
                                                    stderr=subprocess.DEVNULL))
        e2e.make_files(where, 1, SIZE)
        exports.append({"id": number + 1, "path": where, "pseudo": f"/e{number + 1}"})
    numbers = {os.stat(f"{work}/s{n}").st_dev for n in range(3)}
    e2e.check(len(numbers) == 3, "subvolumes: each has a device number", numbers)
    e2e.drop_caches()
    server = e2e.Server("ra", exports, work, plugin).start()
    for number in range(3):
        client = nfs3.Client(server, f"/e{number + 1}")
        _, fh = client.lookup("f0")
        wrong = sum(data != e2e.pattern(0, offset, len(data))
                    for offset, data in read_all(client, fh))
        e2e.check(not wrong, f"subvolume {number}: the bytes are right")
        client.close()
    e2e.check(server.stop() == 0, "subvolumes: the server ends well", server.log_text()[-2000:])
    devices = [d["device"] for d in server.stats()["devices"]]
    disk = os.stat(loop).st_rdev
    e2e.check(devices == [f"{os.major(disk)}:{os.minor(disk)}"], "subvolumes: one queue, the disk's",
              devices)
    e2e.check(server.stats()["prefetched_bytes"] > 0, "subvolumes: there was read-ahead")


TESTS = {f.__name__: f for f in (clone_over_the_export, subvolumes)}


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter()
    work = e2e.work_directory()
    for name in sys.argv[2:] or TESTS:
        if name == "subvolumes" and not (shutil.which("mkfs.btrfs") and
                                         "btrfs" in open("/proc/filesystems").read()):
            e2e.skip_part("no btrfs here: scripts/setup installs btrfs-progs, the kernel must have it")
            continue
        TESTS[name](work, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
