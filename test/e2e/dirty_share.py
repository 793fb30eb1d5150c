# SPDX-License-Identifier: LGPL-3.0-or-later
"""How much of the machine's dirty data may be one block device's: /sys/class/bdi/MAJOR:MINOR.

    share = DirtyShare("loop3")
    share.all()          # as if no other device were written to (min_ratio, as near to 99 % as can be)
    share.limit(bytes)   # at most so much, strictly (strict_limit, Linux 6.2 and later)
    share.reset()        # as of a new device

The sum of min_ratio of all devices must stay below 100, or the kernel says EINVAL. The devices are
the machine's and not a namespace's: another measurement, or an agent that defers a mount's writes,
may have taken of it. Then ours is granted what is left, and that is said.
"""
import errno
import glob
import os
import sys

MOST = 99
NEW = (("strict_limit", 0), ("max_ratio", 100), ("min_ratio", 0))  # in this order

_told = set()


def tell_once(text):
    if text not in _told:
        _told.add(text)
        print(f"disk: {text}", file=sys.stderr, flush=True)


def _read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def _write(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


class DirtyShare:
    def __init__(self, device):
        self.bdi = f"/sys/class/bdi/{_read(f'/sys/block/{device}/dev')}"

    def has_limit(self):
        return all(os.path.exists(f"{self.bdi}/{n}") for n in ("strict_limit", "max_bytes"))

    def reset(self):
        for name, value in NEW:
            if os.path.exists(f"{self.bdi}/{name}"):
                _write(f"{self.bdi}/{name}", value)

    def limit(self, most):
        """The kernel makes a share of the present vm.dirty_* out of the bytes: set those first."""
        self.reset()
        _write(f"{self.bdi}/max_bytes", most)
        _write(f"{self.bdi}/strict_limit", 1)

    def all(self):
        """The percentage that was granted."""
        self.reset()
        granted = self._grant()
        if granted < MOST and forget_killed_runs():
            granted = self._grant()
        if granted < MOST:
            tell_once(f"another device on this machine has {MOST - granted} % of its dirty data "
                      f"for itself (min_ratio: another measurement, or ca-nfs-agent?): this one gets "
                      f"{granted} %, and writers to both at once may wait for each other")
        return granted

    def _grant(self):
        """The kernel does not say what is left: its sum has fractions, sysfs has not."""
        for percent in range(MOST, 0, -1):
            try:
                _write(f"{self.bdi}/min_ratio", percent)
                return percent
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        return 0


def forget_killed_runs():
    """A loop device keeps its share when it is detached, as after a SIGKILL of the one who took it:
    what a device without a file behind it has is given back. Whether there was any."""
    found = False
    for device in glob.glob("/sys/block/loop*"):
        if os.path.exists(f"{device}/loop/backing_file"):
            continue
        try:
            share = DirtyShare(os.path.basename(device))
            if _read(f"{share.bdi}/min_ratio") != "0":
                share.reset()
                found = True
        except OSError:
            pass  # it went away in the meantime
    return found
