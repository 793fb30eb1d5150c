# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a guest does with files of a gateway, for guest_worker.py: beside test/e2e/guest_client.py,
which mounts."""
import hashlib
import os

MOUNT = "/mnt/nfs"
BLOCK = 32768


def read(name, stride):
    """(bytes, sha256 of the whole file) of the file read as `stride` interleaved readers would:
    block 0 of each of so many parts, block 1 of each, ..."""
    with open(f"{MOUNT}/{name}", "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        part = size // BLOCK // stride * BLOCK
        whole = bytearray(size)
        for at in [p * part + i for i in range(0, part, BLOCK) for p in range(stride)]:
            whole[at:at + BLOCK] = os.pread(file.fileno(), BLOCK, at)
        for at in range(stride * part, size, BLOCK):
            whole[at:at + BLOCK] = os.pread(file.fileno(), BLOCK, at)
    return size, hashlib.sha256(whole).hexdigest()


def write(name, size):
    """sha256 of so many random bytes, which the server has safely when it returns."""
    data = os.urandom(size)
    with open(f"{MOUNT}/{name}", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(data).hexdigest()
