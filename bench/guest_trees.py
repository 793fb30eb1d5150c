# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the client of bench/treeworks.py does in its guest: a program over the mounted tree, timed.
It runs in User-mode Linux (test/e2e/guest_worker.py), and knows nothing of bench.
"""
import shutil
import subprocess
import time

MOUNT = "/mnt/nfs"


def timed(command):
    """Seconds that the shell's command took; it fails where that does."""
    before = time.monotonic()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    took = time.monotonic() - before
    if done.returncode:
        raise OSError(f"{command}: {done.stderr.strip()[-300:] or done.returncode}")
    return took


def leave():
    """Nothing is mounted, and nothing left, any more."""
    subprocess.run(["umount", MOUNT], check=True)
    shutil.rmtree("/tmp/copy", ignore_errors=True)
