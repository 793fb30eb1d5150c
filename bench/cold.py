# SPDX-License-Identifier: LGPL-3.0-or-later
"""Cold caches, proved: what bench/compare and bench/papers begin each measurement with.

    found = cold.start(disk)    # {"left_bytes": 0, "files": 12, "tries": 1}: kept with the round

Caches are dropped and each file below the disk's mount is asked for its pages in memory (fincore). Pages in
use at that moment go with the next try. What asking brings into memory, directories and inodes, is dropped
again. Where the proof fails there is no measurement: RuntimeError, and TestbedUnavailable without fincore.

A disk that is lent to a guest has no files here: the guest has just started, and mounted it itself.
"""
import os
import shutil
import stat
import subprocess

import testbed

TRIES = 3
COMMAND = ("xargs", "-0", "-r", "fincore", "--bytes", "--noheadings", "-o", "RES")


def files_below(directory):
    """The regular files, hidden ones too. OSError where a directory cannot be read."""
    def fail(error):
        raise error

    paths = [os.path.join(parent, name) for parent, _, names in os.walk(directory, onerror=fail)
             for name in names]
    return [path for path in paths if stat.S_ISREG(os.lstat(path).st_mode)]


def cached(directory):
    """(files below it, bytes of them in memory)."""
    if not shutil.which("fincore"):
        raise testbed.TestbedUnavailable("no fincore, which proves that caches are cold (package "
                                         "util-linux-extra, before Debian 12 util-linux)")
    paths = files_below(directory)
    told = subprocess.run(COMMAND, input="\0".join(paths), text=True, capture_output=True, check=False)
    if told.returncode:
        raise RuntimeError(f"fincore: exit status {told.returncode}: {told.stderr.strip()[-200:]}")
    found = [int(number) for number in told.stdout.split()]
    if len(found) != len(paths):
        raise RuntimeError(f"fincore told of {len(found)} of {len(paths)} files")
    return len(found), sum(found)


def start(disk):
    """Nothing of the disk's files is in memory afterwards; what is dirty gets to the disk in no time."""
    if getattr(disk, "lent", False):
        return {"left_bytes": 0, "files": 0, "tries": 0, "lent": True}
    for number in range(TRIES):
        disk.timing(False)
        try:
            disk.drop_caches()
            files, left = cached(disk.mount)
            if not left:
                disk.drop_caches()
        finally:
            disk.timing(True)
        if not left:
            return {"left_bytes": 0, "files": files, "tries": number + 1}
    raise RuntimeError(f"{left} bytes of {disk.mount} are in memory after {TRIES} x drop_caches")
