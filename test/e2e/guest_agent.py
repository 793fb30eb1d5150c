#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs in the guest: guest_agent.py NFSPORT MOUNTPORT AGENT TEXT SECONDS EXPORT

Mounts EXPORT with vers=3, runs the agent while a file is written slowly and kept open until it says
TEXT, SECONDS at most, ends it, and prints what it said, whether the knobs are as they were ("KNOBS same")
and the file arrived ("BYTES right"), and what df -i shows ("DF ...").
"""
import glob
import os
import subprocess
import sys
import threading
import time

from guest_client import mount_options

MOUNT = "/mnt/nfs"


def mount(port, mport, export):
    # As mount(8) calls it for a line of fstab, with the option that is the agent's.
    options = mount_options(port, mport, "x-ca-nfs")
    subprocess.run(["mount", "-t", "nfs", f"{os.environ['SERVER']}:{export}", MOUNT, "-o", options],
                   check=True)


def knobs():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        device = [line.split()[2] for line in mounts if f" {MOUNT} " in line][-1]
    found = {}
    for path in sorted(glob.glob(f"/sys/class/bdi/{device}/*")):
        if path.endswith("_bytes"):
            continue  # newer kernels move these by themselves
        if os.path.isfile(path) and os.access(path, os.W_OK):
            try:
                with open(path, encoding="ascii") as file:
                    found[os.path.basename(path)] = file.read().strip()
            except OSError:
                pass
    return found


def show(lines, text, said):
    for line in lines:
        print(line, end="", flush=True)
        if text in line:
            said.set()


def main():
    port, mport, agent, text, seconds, export = sys.argv[1:]
    mount(port, mport, export)
    before = knobs()
    print(subprocess.run(["df", "-i", MOUNT], check=True, capture_output=True,
                         text=True).stdout.replace("\n", "\nDF "), flush=True)
    # The one capability that the systemd unit leaves it.
    process = subprocess.Popen(["setpriv", "--bounding-set=-all,+dac_read_search", agent,
                                "--interval", "0.5", MOUNT], stdout=subprocess.PIPE, text=True)
    said = threading.Event()
    reader = threading.Thread(target=show, args=(process.stdout, text, said))
    reader.start()
    block = os.urandom(1 << 20)
    written = 0
    file = os.open(f"{MOUNT}/written", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    end = time.monotonic() + int(seconds)
    while not said.wait(0.2) and time.monotonic() < end:
        written += os.write(file, block)
    written += os.write(file, block)
    during = knobs()
    process.terminate()
    reader.join(20)
    print(f"AGENT ended with {process.wait(20)}", flush=True)
    after = knobs()
    os.close(file)
    subprocess.run(["umount", MOUNT], check=True)
    mount(port, mport, export)
    with open(f"{MOUNT}/written", "rb") as again:
        right = all(again.read(len(block)) == block for _ in range(written // len(block)))
        right = right and again.read(1) == b""
    print(f"BYTES {'right' if right else 'wrong'}: {written}", flush=True)
    print(f"KNOBS {'same' if before == after else 'differ'}: before {before} during {during} "
          f"after {after}", flush=True)
    subprocess.run(["umount", MOUNT], check=True)


main()
