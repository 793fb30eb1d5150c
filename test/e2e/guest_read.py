#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs in the guest: guest_read.py NFSPORT MOUNTPORT EXPORT FILE STRIDE

Mounts with vers=3, reads the file in order (STRIDE 1) or as STRIDE interleaved readers would (block
0 of each of STRIDE parts, block 1 of each, ...), and prints one line
"RESULT seconds bytes sha256-of-the-file". The bytes are judged by a second reading, in order and not
timed: hashing and keeping them would be most of the guest's work.
"""
import hashlib
import os
import subprocess
import sys
import time

from guest_client import mount

BLOCK = 32768


def main():
    port, mport, export, name, stride = sys.argv[1:]
    stride = int(stride)
    mount(port, mport, export, "/mnt/nfs", f"rsize={BLOCK}")
    fd = os.open(f"/mnt/nfs/{name}", os.O_RDONLY)
    blocks = os.fstat(fd).st_size // BLOCK
    part = blocks // stride
    buffer = bytearray(BLOCK)
    total = 0
    began = time.monotonic()
    for i in range(part):
        for p in range(stride):
            total += os.preadv(fd, [buffer], (p * part + i) * BLOCK)
    took = time.monotonic() - began
    whole = hashlib.sha256()
    for i in range(blocks):
        whole.update(os.pread(fd, BLOCK, i * BLOCK))
    print(f"RESULT {took:.3f} {total} {whole.hexdigest()}", flush=True)
    os.close(fd)
    subprocess.run(["umount", "/mnt/nfs"], check=False)


main()
