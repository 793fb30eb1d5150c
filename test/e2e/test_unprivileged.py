#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Measuring as an unprivileged container sees it: no capability to mount or to make namespaces, no
loop devices, /proc/sys only to be read. bench/compare, and so scripts/demo, then reads from a plain
directory; without the capability to open files by handle, or without handles, it says so and ends
with 77.

usage: test_unprivileged.py NFSBENCH LIBFSALRA.SO
"""
import os
import subprocess
import sys

import e2e

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "bench")
# Those that container engines give, as of 2026, and the one that a server for NFS needs besides
GIVEN = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
         "net_bind_service", "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap")
HANDLES = "dac_read_search"


def without_privileges(capabilities, *command):
    bounds = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    result = subprocess.run(
        ["setpriv", f"--bounding-set={bounds}", "--inh-caps=-all", *command], check=False,
        text=True, capture_output=True, timeout=400)
    return result.returncode, result.stdout + result.stderr


def read_only(directory):
    e2e.run("mount", "--bind", directory, directory)
    e2e.run("mount", "-o", "remount,ro,bind", directory)
    e2e.at_exit(lambda: e2e.run("umount", directory))


def compare(capabilities, directory, nfsbench, plugin):
    return without_privileges(
        capabilities, os.path.join(BENCH, "compare"), "--servers", "stock,ra", "--runs", "1",
        "--work", "seq1,random8k", "--random-count", "50", "--size", "4M", "--plain", directory,
        "--nfsbench", nfsbench, "--plugin", plugin)


def plain_directory(directory, nfsbench, plugin):
    status, text = compare((*GIVEN, HANDLES), directory, nfsbench, plugin)
    e2e.check(status == 0 and "random8k  ra" in text, "a plain directory is read from", text)
    e2e.check("FAILED" not in text, "and nothing failed", text)
    e2e.check(os.listdir(directory) == ["lost+found"], "nothing is left there",
              os.listdir(directory))


def not_by_handle(directory, nfsbench, plugin):
    status, text = compare(GIVEN, directory, nfsbench, plugin)
    e2e.check(status == e2e.SKIP and "CAP_DAC_READ_SEARCH" in text,
              "without the capability it says which is missing, and ends with 77", text)


def no_handles(work, nfsbench, plugin):
    for name in ("lower", "upper", "work", "root"):
        os.mkdir(f"{work}/{name}")
    layers = f"lowerdir={work}/lower,upperdir={work}/upper,workdir={work}/work"
    try:
        e2e.run("mount", "-t", "overlay", "-o", layers, "none", f"{work}/root")
    except subprocess.CalledProcessError as error:
        e2e.skip_part(f"no overlay here: {error.stderr.strip()}")
        return
    e2e.at_exit(lambda: e2e.run("umount", f"{work}/root"))
    status, text = compare((*GIVEN, HANDLES), f"{work}/root", nfsbench, plugin)
    e2e.check(status == e2e.SKIP and "no file handles" in text,
              "of an overlay it says that it has none", text)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[-1])
    e2e.enter((sys.argv[1], "setpriv"))
    plugin = e2e.plugin_from(sys.argv[2:], __doc__)
    work = e2e.work_directory()
    read_only("/proc/sys")
    directory = e2e.loop_export(work, 64 << 20, "a directory", rotating=True)
    plain_directory(directory, sys.argv[1], plugin)
    not_by_handle(directory, sys.argv[1], plugin)
    no_handles(work, sys.argv[1], plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
