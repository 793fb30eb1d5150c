#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Many readers of hot files while all around them changes: test_hot_load.py PLUGIN [TEST...]

What it proves: 16 readers get right bytes and no errors while local programs drop the files from
memory, the server is told to read its configuration again, heuristics are switched off and on, a
second export of the same directory is read, files are removed locally and made anew, and when there
are many more files than descriptors; another FSAL between RA and VFS serves as VFS does; the
server ends within its time, with status 0, in the midst of it.
"""
import os
import sys
import threading
import time

import control_client
import e2e
import nfs3

READERS, SIZE = 16, 1 << 20
SECONDS, LONG = 4, 90  # of each test, and on a slow machine
ANEW = 21
STOP_SECONDS = 40


class Dropper(threading.Thread):
    """A local program that drops parts of the files from memory."""

    def __init__(self, path, files):
        super().__init__(daemon=True)
        self.path, self.files, self.stopping = path, files, threading.Event()
        self.start()

    def run(self):
        number = 0
        while not self.stopping.wait(0.002):
            number += 1
            with open(f"{self.path}/f{number % self.files}", "rb") as file:
                at = number * 65536 % SIZE
                os.posix_fadvise(file.fileno(), at, 0 if number % 8 else 65536,
                                 os.POSIX_FADV_DONTNEED)

    def stop(self):
        self.stopping.set()
        self.join(30)


def serve(work, path, plugin, ra="", exports=1, **more):
    listed = [{"id": n, "path": path, "pseudo": f"/e{n}", "params": {"Heuristic": "cursor"}, **more}
              for n in range(1, exports + 1)]
    return e2e.Server("ra", listed, work, plugin, ra=ra).start()


def load(server, path, during, what, readers=READERS, exports=1, enough=lambda: True):
    """Calls during() again and again while there are readers, for longer where that is not yet
    enough(); nothing may be wrong then."""
    groups = [e2e.Readers(server, f"/e{n + 1}", readers // exports, SIZE) for n in range(exports)]
    dropper = Dropper(path, readers // exports)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or not enough() and time.monotonic() < end + LONG:
        during()
    dropper.stop()
    for group in groups:
        e2e.check(e2e.wait_for(lambda g=group: g.reads > 500, LONG), f"{what}: readers get on",
                  group.reads)
        group.stop()
        e2e.check(not group.wrong and not group.errors() and not group.broken,
                  f"{what}: right bytes, no errors",
                  (group.wrong[:5], group.errors(), group.broken[:5]))


def ends_well(server, what):
    e2e.check(server.stop(STOP_SECONDS) == 0, f"{what}: ends cleanly",
              f"status {server.status}\n{server.log_text()[-2000:]}")


def switches(work, path, plugin):
    """Heuristics and configuration, and two exports of the directory."""
    server = serve(work, path, plugin, exports=2)

    def during():
        for name in ("off", "cursor"):
            control_client.ask(command="heuristic", name=name)
            time.sleep(0.02)
        server.reload()

    load(server, path, during, "switched", exports=2)
    ends_well(server, "switched")


def few_descriptors(work, path, plugin):
    """100 files and room for 16: backings come and go under the readers."""
    server = serve(work, path, plugin, ra="Descriptors_Max = 16; Descriptor_Idle = 100;")
    client = nfs3.Client(server, "/e1")
    handles = [client.lookup(f"f{n}")[1] for n in range(100)]
    wrong, at = [], 0

    def during():
        nonlocal at
        for number, fh in enumerate(handles):
            at = (at + 65536) % SIZE
            status, data = client.read(fh, at, 65536)
            if status != nfs3.OK or data != e2e.pattern(number, at, 65536):
                wrong.append((number, at, status))

    load(server, path, during, "few descriptors", readers=48)
    e2e.check(not wrong, "few descriptors: each file's bytes are its own", wrong[:5])
    client.close()
    ends_well(server, "few descriptors")


def made_anew(work, path, plugin):
    """Files removed locally and through the server beside readers, and others with their inodes."""
    server = serve(work, path, plugin)
    client, wrong, count = nfs3.Client(server, "/e1"), [], 0

    def during():
        nonlocal count
        count += 1
        name = f"anew{count % 3}"
        with open(f"{path}/{name}", "wb") as file:
            file.write(e2e.pattern(count, 0, 65536))
        fh = client.lookup(name)[1]
        for _ in range(4):
            status, data = client.read(fh, 0, 65536)
            if status != nfs3.OK or data != e2e.pattern(count, 0, 65536):
                wrong.append((count, status))
        if count % 2:
            os.rename(f"{path}/{name}", f"{path}/aside{count % 5}")  # it lives on, and is read on
            if client.read(fh, 4096, 4096)[1] != e2e.pattern(count, 4096, 4096):
                wrong.append((count, "renamed"))
        client.remove(name)

    load(server, path, during, "made anew", enough=lambda: count >= ANEW)
    e2e.check(not wrong and count >= ANEW, "made anew: each file's bytes are its own",
              (count, wrong[:5]))
    client.close()
    ends_well(server, "made anew")


def between(work, path, plugin):
    """RA above NULL above VFS, where a NULL is to be had: Debian has none."""
    if not any(name.endswith("/libfsalnull.so") for name in e2e.distribution_fsals()):
        e2e.note("no FSAL_NULL here")
        return
    server = serve(work, path, plugin, sub="NULL/VFS")
    load(server, path, lambda: time.sleep(0.1), "NULL between")
    ends_well(server, "NULL between")


def stopped(work, path, plugin):
    """SIGTERM in the midst of hot reads and such from the disk."""
    for _ in range(3):
        server = serve(work, path, plugin)
        readers, dropper = e2e.Readers(server, "/e1", READERS, SIZE), Dropper(path, READERS)
        e2e.check(e2e.wait_for(lambda r=readers: r.reads > 300, LONG), "stopped: readers get on")
        ends_well(server, "stopped")
        dropper.stop()
        readers.stop()
        e2e.check(not readers.wrong, "stopped: the bytes are right", readers.wrong[:5])


TESTS = {f.__name__: f for f in (switches, few_descriptors, made_anew, between, stopped)}


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter()
    work = e2e.work_directory()
    for rotating in (True, False):
        path = e2e.loop_export(work, 256 << 20, f"export{rotating}", rotating=rotating)
        e2e.make_files(path, 100, SIZE)
        for name in sys.argv[2:] or TESTS:
            if rotating or name in ("switches", "stopped"):
                TESTS[name](work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
