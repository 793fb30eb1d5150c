#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What is learnt with Queue_Depth = 0, as shipped: test_learning.py MECHDISK PLUGIN [TEST...]

What it proves, on a running server, by its log and by ractl: a disk that says it does not rotate
is treated as flash from the start; one that says it does, and whose seeks cost nothing, soon after
the first streams, and as a rotating one again once seeks cost; while a local program writes beside
NFS clients, READs go to the disk directly, and are queued again when it has ended; scattered reads
go together to a drive that has a queue of its own, and one by one to one that has none. All that is kept
over a restart, in a file that may be damaged, or cannot be written.
"""
import os
import random
import re
import subprocess
import sys
import threading

import control_client
import e2e
import modelled_disk
import nfs3
import server_configs

FILES, FILE_SIZE = 16, 8 << 20
LEARNT = r"says it rotates, and a seek costs .*: treated as flash"
AGAIN = r"says it rotates, and a seek costs .*: treated as a rotating disk again"


class Cold:
    """Streams that find nothing in memory: it is dropped again and again."""

    def __init__(self, server):
        self.readers = e2e.Readers(server, "/e1", FILES, FILE_SIZE)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._drop, daemon=True)
        self.thread.start()

    def _drop(self):
        while not self.stopping.wait(0.3):
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("1")

    def stop(self, what):
        self.stopping.set()
        self.thread.join()
        self.readers.stop()
        e2e.check(not self.readers.wrong and not self.readers.errors() and
                  not self.readers.broken, f"{what}: every READ was right",
                  (self.readers.wrong[:3], self.readers.errors(), self.readers.broken))


def serve(work, path, plugin):
    e2e.drop_caches()
    return e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1"}], work, plugin).start()


def awaits_log(server, pattern, what, seconds=90):
    found = e2e.wait_for(lambda: re.search(pattern, server.log_text()), seconds, 0.2)
    e2e.check(found, what, server.log_text()[-1500:] + str(control_client.device()))
    return found


def state_is(what, **wanted):
    right, seen = control_client.wait_for_stats(
        lambda d: all(d[name] == value for name, value in wanted.items()), 90, "device")
    e2e.check(right, f"{what}: {wanted}", seen)


def flash(mechdisk, plugin):
    work = e2e.work_directory()
    path = e2e.loop_export(work, 256 << 20)
    server = serve(work, path, plugin)
    awaits_log(server, r"not rotating\).*8 requests at once, demand reads not queued",
               "flash: the log says how it is treated")
    state_is("flash", rotating=False, depth=8, demand_queued=False)
    server_configs.ends_well(server, "flash")


def seeks_cost_nothing(mechdisk, plugin):
    """A virtual machine's disk: it says that it rotates. Then a real one, by the model's timing."""
    place = server_configs.Place(mechdisk, plugin, 512)
    e2e.make_files(place.mount, FILES, FILE_SIZE)
    server = serve(place.work, place.mount, plugin)
    place.servers.append(server)
    state_is("it says that it rotates", rotating=True, depth=1, demand_queued=True)
    load = Cold(server)
    awaits_log(server, LEARNT, "seeks cost nothing: the log says so")
    state_is("seeks cost nothing", rotating=True, depth=8, demand_queued=False)
    server.reload()
    state_is("seeks cost nothing: also after SIGHUP", depth=8, demand_queued=False)
    place.disk.timing(True)
    awaits_log(server, AGAIN, "seeks cost: the log says so", 60)
    state_is("seeks cost", depth=1, demand_queued=True)
    load.stop("learning")
    server_configs.ends_well(server, "learning")
    place.close()


def depth_insisted(mechdisk, plugin):
    """Queue_Depth = 1 insists: nothing is learnt, however cheap seeks are."""
    place = server_configs.Place(mechdisk, plugin, 512)
    e2e.make_files(place.mount, FILES, FILE_SIZE)
    e2e.drop_caches()
    server = e2e.Server("ra", [{"id": 1, "path": place.mount, "pseudo": "/e1",
                                "params": {"Queue_Depth": 1}}], place.work, plugin).start()
    place.servers.append(server)
    load = Cold(server)
    known = control_client.wait_for_stats(lambda d: 0 < d["seek_us"] < 1000, 90, "device")
    e2e.check(known[0], "Queue_Depth = 1: seeks are seen to cost nothing", known[1])
    reads = load.readers.reads
    e2e.wait_for(lambda: load.readers.reads > reads + 2000, 90)
    e2e.check(not re.search(LEARNT, server.log_text()), "Queue_Depth = 1: it insists",
              server.log_text()[-500:])
    state_is("Queue_Depth = 1", depth=1, demand_queued=True)
    load.stop("Queue_Depth = 1")
    server_configs.ends_well(server, "Queue_Depth = 1")
    place.close()


class LocalWriter:
    """A program beside the server: writes a file over and over, and has it go to the disk."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            ["dd", "if=/dev/zero", f"of={path}/local", "bs=1M", "count=100000", "oflag=direct"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        e2e.at_exit(lambda: e2e.end_process(self.process))

    def stop(self):
        e2e.end_process(self.process)


class Trickle(threading.Thread):
    """An NFS client with data to write out: only then does anybody look for others' writes."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.stopping, self.failed = server, threading.Event(), []
        self.start()

    def run(self):
        client = nfs3.Client(self.server, "/e1")
        _, fh = client.create("trickle")
        number = 0
        while not self.stopping.wait(0.05):
            self.failed += [s for s in (client.write(fh, number % 64 * 4096, b"t" * 4096),) if s]
            number += 1
        client.close()


def others_write(mechdisk, plugin):
    place = server_configs.Place(mechdisk, plugin, 1024)
    e2e.make_files(place.mount, FILES, FILE_SIZE)
    server = serve(place.work, place.mount, plugin)
    place.servers.append(server)
    place.disk.timing(True)
    load, trickle = Cold(server), Trickle(server)
    e2e.wait_for(lambda: load.readers.reads > 200, 90)
    state_is("before others write", depth=1, demand_queued=True)
    writer = LocalWriter(place.mount)
    seen = control_client.wait_for_stats(lambda d: not d["demand_queued"], 90, "device")
    e2e.check(seen[0], "others write: READs are not queued", seen[1])
    e2e.check(seen[1]["depth"] > 8, "others write: those that were go at once", seen[1])
    writer.stop()
    seen = control_client.wait_for_stats(lambda d: d["demand_queued"] and d["depth"] == 1, 90,
                                         "device")
    e2e.check(seen[0], "others have written: READs are queued again, one at once", seen[1])
    trickle.stopping.set()
    trickle.join(90)
    e2e.check(not trickle.failed, "others write: WRITEs were right", trickle.failed[:3])
    load.stop("others write")
    os.truncate(f"{place.mount}/local", 0)
    server_configs.ends_well(server, "others write")
    place.close()


class Scattered:
    """Readers of 8 KiB blocks anywhere in one file, one outstanding each."""

    def __init__(self, server, count, size):
        self.server, self.size, self.stopping = server, size, threading.Event()
        self.failed = []
        self.threads = [threading.Thread(target=self._read, args=(n,), daemon=True)
                        for n in range(count)]
        for thread in self.threads:
            thread.start()

    def _read(self, number):
        choose = random.Random(number)
        client = nfs3.Client(self.server, "/e1")
        _, fh = client.lookup("f0")
        while not self.stopping.is_set():
            offset = choose.randrange(self.size // 8192) * 8192
            status, data = client.read(fh, offset, 8192)
            if status != nfs3.OK or data != e2e.pattern(0, offset, 8192):
                self.failed.append((status, offset))
        client.close()

    def stop(self, what):
        self.stopping.set()
        for thread in self.threads:
            thread.join(90)
        e2e.check(not self.failed, f"{what}: every READ was right", self.failed[:3])


def found(mechdisk, plugin, queue, why):
    """What is found of a drive with that queue, by eight readers of scattered blocks."""
    work, what = e2e.work_directory(), f"drive queue {queue}"
    disk = modelled_disk.for_test(work, mechdisk, 768, queue=queue)
    e2e.make_files(disk.mount, 1, 256 << 20)
    server = serve(work, disk.mount, plugin)
    disk.timing(True)
    load = Scattered(server, 8, 256 << 20)
    seen = control_client.wait_for_stats(lambda d: d["together_why"] == why, 90, "device")
    e2e.check(seen[0], f"{what}: scattered reads are {why}", seen[1])
    load.stop(what)
    state_is(what, depth=1, together_max=32, drive_queue=0)
    server_configs.ends_well(server, what)
    disk.down()


def drive_queue(mechdisk, plugin):
    found(mechdisk, plugin, 32, "faster together")


def no_drive_queue(mechdisk, plugin):
    found(mechdisk, plugin, 1, "not faster together")


def name_disk(loop):
    """As udev does, in a /dev/disk of our own: the UUID of the file system on it."""
    if not os.path.isdir("/dev/disk"):
        os.mkdir("/dev/disk")
        e2e.at_exit(lambda: os.rmdir("/dev/disk"))
    e2e.run("mount", "-t", "tmpfs", "none", "/dev/disk")
    e2e.at_exit(lambda: subprocess.run(["umount", "-l", "/dev/disk"], check=False))
    os.mkdir("/dev/disk/by-uuid")
    os.symlink(loop, "/dev/disk/by-uuid/0f0f-our-own")


def begins_as(server, what, line, **state):
    server.start()
    e2e.check(line in server.log_text(), f"{what}: the log says so", server.log_text()[-1500:])
    state_is(what, **state)


def kept(mechdisk, plugin):
    """What was learnt is there after a restart, and no file of it does any harm."""
    place = server_configs.Place(mechdisk, plugin, 512)
    e2e.make_files(place.mount, FILES, FILE_SIZE)
    name_disk(place.disk.loop)
    directory = f"{place.work}/state/learnt"
    e2e.drop_caches()
    server = e2e.Server("ra", [{"id": 1, "path": place.mount, "pseudo": "/e1"}], place.work, plugin,
                        ra=f'Learnt_Directory = "{directory}";').start()
    place.servers.append(server)
    state_is("nothing is kept yet", demand_queued=True, restored=False,
             identity="uuid.0f0f-our-own")
    load = Cold(server)
    awaits_log(server, LEARNT, "seeks cost nothing: the log says so")
    load.stop("kept")
    server_configs.ends_well(server, "kept")
    files = os.listdir(directory)
    e2e.check(len(files) == 1 and re.fullmatch("device-[0-9a-f]{16}", files[0]),
              "one file for the disk", files)
    begins_as(server, "after a restart", "is uuid.0f0f-our-own, learnt before",
              demand_queued=False, depth=8, restored=True)
    server.kill()
    with open(f"{directory}/{files[0]}", "r+", encoding="ascii") as f:
        f.seek(40)
        f.write("?")
    begins_as(server, "with a damaged file", "is not used: it is damaged", demand_queued=True,
              depth=1, restored=False)
    server.stop()
    server.ra = f'Learnt_Directory = "{place.work}/plugins/libfsalra.so/below";'
    begins_as(server, "where nothing can be kept", "NFS SERVER INITIALIZED", demand_queued=True)
    load = Cold(server)
    awaits_log(server, LEARNT, "where nothing can be kept: it learns")
    load.stop("where nothing can be kept")
    server_configs.ends_well(server, "where nothing can be kept")
    e2e.check(server.log_text().count("is not kept: ") == 1, "... and the log says so once",
              server.log_text()[-1500:])
    place.close()


TESTS = {f.__name__: f for f in (flash, seeks_cost_nothing, depth_insisted, others_write,
                                 drive_queue, no_drive_queue, kept)}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter()
    for name in sys.argv[3:] or [t for t in TESTS if t != "kept"]:  # e2e.learnt
        TESTS[name](sys.argv[1], plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
