#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs in the guest: guest_statfs.py NFSPORT MOUNTPORT EXPORT

Mounts with vers=3 and prints what the kernel and the usual programs say of the file system:
"STATVFS {json}", "DF {json}" (the lines of df -B1, df -i and stat -f).
"""
import json
import os
import subprocess
import sys

from guest_client import mount

MOUNT = "/mnt/nfs"
FIELDS = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail")


def main():
    port, mport, export = sys.argv[1:]
    mount(port, mport, export, MOUNT)
    for _ in range(12):  # several replies: each is a statfs of the kernel's
        found = os.statvfs(MOUNT)
        print("STATVFS " + json.dumps({field: getattr(found, field) for field in FIELDS}))
    said = {}
    for name, command in (("df", ("df", "-B1", "--output=size,used,avail", MOUNT)),
                          ("df -i", ("df", "--output=itotal,iused,iavail", MOUNT)),
                          ("stat -f", ("stat", "-f", "-c", "%S %b %f %a %c %d", MOUNT))):
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        said[name] = [int(word) for word in text.splitlines()[-1].split()]
    print("DF " + json.dumps(said), flush=True)
    subprocess.run(["umount", MOUNT], check=False)


main()
