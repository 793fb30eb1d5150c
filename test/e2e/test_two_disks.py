#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Two measurements on one machine, or one beside an agent: both modelled disks come up, the second
with what the first has left of the kernel's dirty data; what they set is undone at the end, and so is
what one that was killed has left. Of two that change vm.dirty_* the first does.

usage: test_two_disks.py MECHDISK
"""
import glob
import os
import signal
import subprocess
import sys

import dirty_share
import e2e
import modelled_disk

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "bench")
MB = 64
HELD = 50  # percent, by the first disk


def ratios():
    """{device: min_ratio} of all devices that have any."""
    found = {}
    for path in glob.glob("/sys/class/bdi/*/min_ratio"):
        with open(path, encoding="ascii") as file:
            value = int(file.read())
        if value:
            found[path.split("/")[4]] = value
    return found


def min_ratio(disk):
    return ratios().get(os.path.basename(dirty_share.DirtyShare(disk.dev).bdi), 0)


def set_ratio(disk, percent):
    with open(f"{dirty_share.DirtyShare(disk.dev).bdi}/min_ratio", "w", encoding="ascii") as file:
        file.write(str(percent))


def share_with_another(work, mechdisk):
    """Others on this machine may hold some of the 99 % that the kernel grants: what the first disk
    gets is all that there is to share here."""
    first = modelled_disk.for_test(work, mechdisk, MB)
    second = modelled_disk.for_test(work, mechdisk, MB)
    others = sum(ratios().values())  # of disks that are neither
    first.set_strict_limit(0)
    free = min_ratio(first)
    e2e.check(free <= 99 - others, "the first disk has what others leave", ratios())
    second.set_strict_limit(0)
    e2e.check(min_ratio(second) == 0, "a second one comes up with nothing for itself", ratios())
    held = min(HELD, free // 2)
    if held:
        set_ratio(first, held)  # as ca-nfs-agent defers a mount's writes
        second.set_strict_limit(0)
        e2e.check(min_ratio(second) == free - held, f"beside {held} % it has the rest", ratios())
    else:
        e2e.note(f"others on this machine hold {99 - free} % of its dirty data: no more is shared ({ratios()})")
    if second.has_strict_limit():
        second.set_strict_limit(8 << 20)
        e2e.check(min_ratio(second) == 0, "a strict limit gives it back", ratios())
    second.set_strict_limit(0)
    first.renew()
    e2e.check(min_ratio(first) == 0, "a renewed disk is as a new one", ratios())
    return first, second


def leave_as_killed(work):
    """A loop device that was detached with a share of its own."""
    image = f"{work}/image"
    with open(image, "wb") as file:
        file.truncate(1 << 20)
    loop = e2e.run("losetup", "-f", "--show", image).strip()
    share = dirty_share.DirtyShare(os.path.basename(loop))
    share.all()
    e2e.run("losetup", "-d", loop)
    return os.path.basename(share.bdi)


MEASUREMENT = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import machine
print(machine.set_memory(sys.argv[3]), flush=True)
sys.stdin.read()
"""


def measurement(memory):
    child = subprocess.Popen([sys.executable, "-c", MEASUREMENT, HERE, BENCH, memory],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    e2e.at_exit(lambda: e2e.end_process(child))
    return child, child.stdout.readline().strip()


def settings():
    found = {}
    for path in glob.glob("/proc/sys/vm/dirty_*"):
        with open(path, encoding="ascii") as file:
            found[path] = file.read()
    return found


def settings_of_the_machine():
    before = settings()
    first, changed = measurement("small")
    if changed != "True":
        e2e.skip_part("another measurement on this machine has vm.dirty_*")
        return
    small = settings()
    second, changed = measurement("ample")
    e2e.check(changed == "False" and settings() == small,
              "of two measurements the second leaves vm.dirty_* alone", settings())
    second.communicate()
    e2e.check(settings() == small, "also at its end", settings())
    first.send_signal(signal.SIGKILL)
    first.wait()
    e2e.check(e2e.wait_for(lambda: settings() == before, 30),
              "the first brings them back, killed too", settings())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[-1])
    e2e.enter()
    work = e2e.work_directory()
    dirty_share.forget_killed_runs()
    before = ratios()
    disks = share_with_another(work, sys.argv[1])
    left = leave_as_killed(work)
    disks[1].set_strict_limit(0)
    e2e.check(left not in ratios(), "what a killed one has left is given back", ratios())
    for disk in disks:
        disk.down()
    e2e.check(ratios() == before, "at the end all is as it was", f"{before} {ratios()}")
    settings_of_the_machine()
    e2e.finish()


if __name__ == "__main__":
    main()
