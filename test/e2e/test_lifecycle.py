#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Shutdown, SIGHUP and export removal under load, and descriptors:
test_lifecycle.py PLUGIN MECHDISK|- [TEST...]

Each test serves a small ext4 through RA over VFS while threads read from it. With the modelled disk
and its timing, requests wait in queues when the server is asked to stop.
"""
import itertools
import os
import shutil
import socket
import subprocess
import sys
import time

import e2e
import modelled_disk
import nfs3

FILES, FILE_SIZE = 32, 4 << 20
STOP_SECONDS = 40


def serve(work, path, plugin, exports=1, params=None, ra=""):
    """A server of the directory under /e1 .. /eN."""
    listed = [{"id": n, "path": path, "pseudo": f"/e{n}",
               "params": dict(params or {"Heuristic": "cursor"})} for n in range(1, exports + 1)]
    e2e.drop_caches()
    return e2e.Server("ra", listed, work, plugin, ra=ra).start()


def ends_well(server, what):
    began = time.monotonic()
    status = server.stop(STOP_SECONDS)
    took = time.monotonic() - began
    e2e.check(status == 0, f"{what}: exit status 0 within {STOP_SECONDS} s",
              f"status {status} (None: had to be killed) after {took:.1f} s\n"
              + server.log_text()[-3000:])
    stats = server.stats()
    e2e.check(stats is not None, f"{what}: RA_STATS is logged", server.log_text()[-2000:])
    return stats or {}


def reads_were_right(readers, what):
    e2e.check(not readers.wrong, f"{what}: every byte was right", "\n".join(readers.wrong[:5]))
    e2e.check(not readers.errors(), f"{what}: no READ failed", readers.errors())


def stop_under_load(work, path, plugin):
    server = serve(work, path, plugin)
    readers = e2e.Readers(server, "/e1", FILES, FILE_SIZE)
    e2e.wait_for(lambda: readers.reads > 200, 60)
    stats = ends_well(server, "SIGTERM with 32 streams")
    readers.stop()
    reads_were_right(readers, "SIGTERM with 32 streams")
    e2e.check(readers.reads > 100, "SIGTERM with 32 streams: they did read", readers.reads)
    e2e.check(stats.get("prefetched_bytes", 0) > 0, "SIGTERM with 32 streams: prefetch ran", stats)


def start_and_stop(work, path, plugin):
    for number in range(3):
        server = serve(work, path, plugin)
        ends_well(server, f"idle start and stop {number + 1}")


def sighup_storm(work, path, plugin):
    server = serve(work, path, plugin)
    readers = e2e.Readers(server, "/e1", 16, FILE_SIZE)
    choices = itertools.cycle(itertools.product(
        ("cursor", "default", "always", "slowdown", "off"),
        ("turns", "fifo", "elevator", "ncscan")))
    for number in range(40):
        heuristic, scheduler = next(choices)
        server.exports[0]["params"] = {"Heuristic": heuristic, "Scheduler": scheduler}
        if number % 4:
            server.reload()
        else:  # the next one comes before it has an answer
            server.write_config()
            server.sighup()
    e2e.check(server.alive(), "40 SIGHUPs under load: the server is alive",
              server.log_text()[-3000:])
    before = readers.reads
    e2e.check(e2e.wait_for(lambda: readers.reads > before + 50, 60),
              "40 SIGHUPs under load: readers go on", readers.broken)
    readers.stop()
    reads_were_right(readers, "40 SIGHUPs under load")
    ends_well(server, "after 40 SIGHUPs")


def bad_reload(work, path, plugin):
    """A reload with a bad value must leave the export as it was."""
    server = serve(work, path, plugin)
    server.exports[0]["params"] = {"Heuristic": "nonesuch"}
    server.write_config()
    server.sighup()
    e2e.check(e2e.wait_for(lambda: "nonesuch" in server.log_text(), 60),
              "reload with a bad value: the log names it", server.log_text()[-1500:])
    readers = e2e.Readers(server, "/e1", 4, FILE_SIZE)
    e2e.check(e2e.wait_for(lambda: readers.reads > 100, 60),
              "reload with a bad value: the server goes on", readers.broken)
    readers.stop()
    reads_were_right(readers, "reload with a bad value")
    ends_well(server, "after a bad reload")


def bad_start(work, path, plugin):
    """A block RA that is wrong at the start, and mended or gone at a SIGHUP: the export comes then."""
    late_start(work, path, plugin, "Table_Size = 4096;", "a block RA mended after the start")
    late_start(work, path, plugin, "", "a wrong block RA taken away after the start")


def late_start(work, path, plugin, block, what):
    server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1"}], work, plugin,
                        ra="Table_Size = 0;")
    server.launch()
    server.keeps = lambda: False  # adds no block of its own
    e2e.check(e2e.wait_for(lambda: not server.alive() or
                           "NFS SERVER INITIALIZED" in server.log_text(), 60) and server.alive(),
              f"{what}: the server waits for it", server.log_text()[-1500:])
    server.reload()
    e2e.check(server.alive(), f"{what}: a SIGHUP before that changes nothing",
              server.log_text()[-1500:])
    server.ra = block
    server.reload()
    e2e.check(server.alive(), f"{what}: the server is alive", server.log_text()[-1500:])
    readers = e2e.Readers(server, "/e1", 4, FILE_SIZE)
    e2e.check(e2e.wait_for(lambda: readers.reads > 100, 60), f"{what}: the export is served",
              (readers.broken, server.log_text()[-1500:]))
    readers.stop()
    reads_were_right(readers, what)
    ends_well(server, f"after {what}")


def remove_export(work, path, plugin):
    server = serve(work, path, plugin, exports=2)
    kept = e2e.Readers(server, "/e1", 8, FILE_SIZE)
    lost = e2e.Readers(server, "/e2", 8, FILE_SIZE)
    e2e.wait_for(lambda: lost.reads > 50 and kept.reads > 50, 60)
    second = server.exports.pop()
    server.write_config()
    server.sighup()
    e2e.check(e2e.wait_for(lambda: lost.errors() or lost.broken, 60),
              "export removed under load: its readers are refused", lost.statuses)
    before = kept.reads
    e2e.check(e2e.wait_for(lambda: kept.reads > before + 100, 60),
              "export removed under load: the others read on", kept.broken)
    lost.stop()
    server.exports.append(second)
    server.write_config()
    server.sighup()
    again = None
    for _ in range(300):
        try:
            again = again or nfs3.Client(server, "/e2")
        except OSError:
            time.sleep(0.1)
    e2e.check(again and again.lookup("f0")[0] == nfs3.OK, "the export comes back when configured")
    kept.stop()
    reads_were_right(kept, "export removed under load")
    e2e.check(not lost.wrong, "export removed under load: nothing wrong was read", lost.wrong)
    ends_well(server, "after export removal")


class SilentNames:
    """A name server that answers nothing until it is told to: then that there is no such name."""

    def __init__(self, work):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.53", 53))
        self.socket.setblocking(False)
        self.asked = []
        with open(f"{work}/resolv.conf", "w", encoding="ascii") as f:
            f.write("nameserver 127.0.0.53\noptions timeout:30 attempts:1\n")
        e2e.run("mount", "--bind", f"{work}/resolv.conf", "/etc/resolv.conf")

    def is_asked(self):
        try:
            self.asked.append(self.socket.recvfrom(4096))
        except BlockingIOError:
            pass
        return bool(self.asked)

    def answer(self):
        for query, sender in self.asked:
            self.socket.sendto(query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:], sender)


def left_behind(work, path, plugin):
    """A thread that hangs as the server ends, and goes on once the plugin is unloaded, finds its code there.
    strace keeps the process for a while after that."""
    what = "a thread that was left behind"
    if not shutil.which("strace"):
        e2e.skip_part(f"{what}: strace is not installed")
        return
    names = SilentNames(work)
    server = serve(work, path, plugin, ra="CLIENT { Clients = *.example.org; Weight = 50; }")
    client = nfs3.Client(server, "/e1", source="127.0.0.8")
    client.read(client.lookup("f0")[1], 0, 4096)
    e2e.check(e2e.wait_for(names.is_asked, 30), f"{what}: the name of a client is asked for")
    client.close()
    strace = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(server.process.pid),
                               "-e", "trace=exit_group",
                               "-e", "inject=exit_group:delay_enter=4000000"],
                              stderr=subprocess.PIPE, text=True)
    e2e.at_exit(lambda: e2e.end_process(strace))
    said = strace.stderr.readline()
    if "attached" not in said:
        e2e.skip_part(f"{what}: strace cannot attach here: {said.strip()}")
    server.process.terminate()
    e2e.check(e2e.wait_for(lambda: "FSAL RA unloaded" in server.log_text(), 60, 0.01),
              f"{what}: the plugin does not wait for it", server.log_text()[-1500:])
    names.answer()
    ends_well(server, what)
    strace.wait(60)
    e2e.run("umount", "/etc/resolv.conf")


def open_below(server, path):
    """The server's descriptors of what lies below the path."""
    found, at = set(), f"/proc/{server.process.pid}/fd"
    for name in os.listdir(at):
        try:
            if os.readlink(f"{at}/{name}").startswith(path + "/"):
                found.add(name)
        except OSError:
            continue
    return found


def others_stay_open(work, path, plugin):
    """An export that goes has its files closed, and not another one's."""
    what, below = "an export of two is removed", [f"{path}/d{n}" for n in (1, 2)]
    for directory in below:
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/file", "wb") as f:
            f.write(b"x" * (1 << 20))
    server = e2e.Server("ra", [{"id": n + 1, "path": directory, "pseudo": f"/e{n + 1}"}
                               for n, directory in enumerate(below)], work, plugin).start()
    for name in ("/e1", "/e2"):
        client = nfs3.Client(server, name)
        _, fh = client.lookup("file")
        client.read(fh, 0, 65536)
        client.close()
    gone, stays = (open_below(server, directory) for directory in below)
    e2e.check(gone and stays, f"{what}: each has its file open before", (gone, stays))
    server.exports.pop(0)
    server.reload()
    e2e.check(e2e.wait_for(lambda: not open_below(server, below[0]), 30), f"{what}: its file is closed",
              open_below(server, below[0]))
    e2e.check(open_below(server, below[1]) == stays, f"{what}: the other's stays open",
              (stays, open_below(server, below[1])))
    ends_well(server, f"after {what}")


def descriptors(work, path, plugin):
    """Many files touched: what the plugin holds open stays within Descriptors_Max."""
    count, limit = 5000, 256
    many = f"{path}/many"
    os.makedirs(many, exist_ok=True)
    for n in range(count):
        with open(f"{many}/f{n}", "wb") as f:
            f.write(b"x" * 70000)
    held = {}
    for kind in ("stock", "ra"):
        server = e2e.Server(kind, [{"id": 1, "path": path, "pseudo": "/e1",
                                    "params": {"Heuristic": "cursor"}}], work, plugin,
                            ra=f"Descriptors_Max = {limit};")
        e2e.drop_caches()
        server.start()
        client = nfs3.Client(server, "/e1")
        _, directory = client.lookup("many")
        for n in range(count):
            _, fh = client.lookup(f"f{n}", directory)
            for _ in client.stream(fh, 65536, 16384):
                pass
        held[kind] = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        client.close()
        server.stop()
    e2e.note(f"descriptors after {count} files: {held}")
    e2e.check(held["ra"] <= held["stock"] + limit + 64,
              f"descriptors: at most Descriptors_Max = {limit} beyond stock's", held)


TESTS = {f.__name__: f for f in (start_and_stop, stop_under_load, sighup_storm, bad_reload,
                                 bad_start, remove_export, left_behind, others_stay_open,
                                 descriptors)}


ON_A_SLOW_DISK = ("stop_under_load", "sighup_storm", "remove_export")


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    mechdisk = sys.argv[2] if sys.argv[2:] else "-"
    e2e.enter()
    work = e2e.work_directory()
    if mechdisk == "-":
        path = e2e.loop_export(work, 1 << 30)
    else:
        disk = modelled_disk.for_test(work, mechdisk, 1024)
        path = disk.mount
    e2e.make_files(path, FILES, FILE_SIZE)
    if mechdisk != "-":
        disk.timing(True)
    for name in sys.argv[3:] or (TESTS if mechdisk == "-" else ON_A_SLOW_DISK):
        TESTS[name](work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
