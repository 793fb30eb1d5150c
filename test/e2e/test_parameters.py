#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Parameters of a live server: test_parameters.py RACTL PLUGIN

Two exports on one ext4. `ractl set` changes what each owner has, also while reads run, with the
ranges and messages of the file; `diff` says what differs; SIGHUP brings the file back; a block
DEVICE holds over what the exports say, and what is wrong in one is refused with its name.
`files`, `cursors` and `explain` know what was read.
"""
import grp
import json
import os
import re
import shutil
import subprocess
import sys

import control_client
import e2e
import nfs3

NOBODY = 65534
COUNT, SIZE = 4, 4 << 20  # files, and bytes of each
HOSTILE = "e\033[2J\nf"  # a name


class Ractl:
    """The program, where also another user may run it."""

    def __init__(self, path):
        self.path = "/run/ractl"
        shutil.copy(path, self.path)
        os.chmod(self.path, 0o755)

    def run(self, *arguments, **who):
        return subprocess.run([self.path, *arguments], check=False, text=True, timeout=120,
                              capture_output=True, stdin=subprocess.DEVNULL, **who)

    def json(self, *arguments):
        return json.loads(self.run("--json", *arguments).stdout)

    def value(self, name, **owner):
        """Now, of the owner; in the file."""
        rows = [r for r in self.json("get", name)["parameters"] if owner.items() <= r.items()]
        return (rows[0]["value"], rows[0]["file"]) if rows else None

    def refused(self, arguments, *parts):
        done = self.run(*arguments)
        e2e.check(done.returncode == 1 and all(p in done.stderr for p in parts),
                  f"{' '.join(arguments)}: refused, and says why", done)


def exports_of(path):
    def export(number, **params):
        return {"id": number, "path": path, "pseudo": f"/e{number}", "params": params,
                "more": f"Tag = e{number};"}

    return [export(7, Queue_Depth=1, Max_Wait=3000), export(8, Window_Max=16777216)]


def each_owner(ractl):
    every = ractl.json("get")
    e2e.check(every["ok"] and every["parameters_total"] == len(every["parameters"]) >= 90,
              "get: every parameter of two exports, a device and the server", len(every))
    e2e.check(ractl.value("Window_Max", export=8) == (16777216, 16777216) and
              ractl.value("Window_Max", export=7) == (33554432, 33554432), "get: each export's own")
    e2e.check(ractl.value("Max_Wait") == (3000, 3000),
              "get: the device's, as its first export says")
    for name, value, of in (("Window_Max", "8388608", ("7",)), ("Seek_Share", "20", ()),
                            ("Writeback", "false", ("8",)), ("Price_Memory", "30", ()),
                            ("Weight", "300", ("7",)), ("Heuristic", "off", ())):
        done = ractl.run("set", name, value, *of)
        e2e.check(done.returncode == 0 and value in done.stdout,
                  f"set {name} {value} {' '.join(of)}",
                  done)
    e2e.check(ractl.value("Window_Max", export=7) == (8388608, 33554432) and
              ractl.value("Window_Max", export=8) == (16777216, 16777216) and
              ractl.value("Seek_Share") == (20, 10) and
              ractl.value("Writeback", export=8) == (False, True) and
              ractl.value("Price_Memory") == (30, 60) and
              ractl.value("Weight", export=7) == (300, 0),
              "each has what was set, beside the file's",
              ractl.json("diff"))
    e2e.check({e["heuristic"] for e in ractl.json("status")["exports"]} == {"off"},
              "Heuristic for all exports")
    shares = ractl.json("shares")["exports"]
    e2e.check([s["weight"] for s in shares if s["export"] == 7] == [300], "Weight is in force",
              shares)


def differences(ractl):
    rows = {(r["parameter"],
             r.get("export")): r["because"] for r in ractl.json("diff")["parameters"]}
    e2e.check(rows[("Window_Max", 7)] == "set since" and rows[("Window_Max", 8)] == "configured" and
              ("Window_Init", 7) not in rows, "diff: set, configured, and not what is by default",
              rows)


def wrong(ractl):
    ractl.refused(("set", "Seek_Share", "91"), "Seek_Share = 91 is out of range: 1 to 90 percent")
    ractl.refused(("set", "Window_Max", "65536"),
                  "Window_Init = 8388608 is above Window_Max = 65536")
    ractl.refused(("set", "Chunk_Min", "33554432"), "Chunk_Min = 33554432 is above Chunk_Max")
    ractl.refused(("set", "Scheduler", "lift"), "none of fifo, elevator, ncscan, turns")
    ractl.refused(("set", "Price_Sample", "1000", "7"), "whole server's")
    ractl.refused(("set", "Table_Size", "9"), "when the server starts")
    ractl.refused(("set", "Max_Wait", "100", "9:99"), "9:99", "none of")
    ractl.refused(("set", "Floor_Time", "95", "7"), "Floor_Time")


def under_load(ractl, server):
    readers = e2e.Readers(server, "/e8", COUNT, SIZE)
    for n in range(8):
        for name, value in (("Window_Max", 16777216 + 65536 * n), ("Max_Wait", 1000 + n),
                            ("Chunk_Max", 8388608 + n), ("Heuristic", ("off", "cursor")[n % 2])):
            if ractl.run("set", name, str(value)).returncode:
                e2e.check(False, f"set {name} {value} while reads run")
    readers.stop()
    e2e.check(not readers.wrong and not readers.errors() and not readers.broken and readers.reads,
              "32 changes while reads run: every byte right", (readers.wrong, readers.errors()))


def files_are_explained(ractl, server, path):
    """Reads past the page cache: by path, by inode number, by address. Of a file that nobody has read
    before, whose cursors would still be there, and might go on with these reads."""
    name = f"f{COUNT}"
    client = nfs3.Client(server, "/e8", timeout=120)
    ractl.run("set", "Heuristic", "cursor")
    e2e.drop_caches()
    fh = client.lookup(name)[1]
    for offset in range(0, 1 << 20, 32768):
        client.read(fh, offset, 32768)
    inode = os.stat(f"{path}/{name}").st_ino
    first = ractl.json("files")["files"][0]
    e2e.check(first["file"] == inode and first["path"] == f"{path}/{name}" and first["count"] > 4,
              "files: the one read last, with its path", first)
    for called in (str(inode), f"{path}/{name}"):
        answer = ractl.json("cursors", called)
        e2e.check(answer["file"] == inode and answer["listed"][0]["offset"] == 1 << 20,
                  f"cursors {called}: where its next read should be", answer)
    words = ractl.run("explain", f"{path}/{name}").stdout
    e2e.check("fetched ahead" in words and "[Window_Max]" in words, "explain FILE", words)
    words = ractl.run("explain", e2e.HOST).stdout
    e2e.check("of the disk's time" in words and "Dirty_Budget" in words, "explain CLIENT", words)
    hostile = client.lookup(HOSTILE)[1]
    client.read(hostile, 0, 32768)
    shown = ractl.run("files").stdout + ractl.run("cursors", f"{path}/{HOSTILE}").stdout
    e2e.check("/e?[2J?f" in shown and "\033" not in shown, "files: what a terminal obeys is a ?", shown)
    client.close()
    ractl.refused(("explain", "film.mkv"), "is not the address of a client")
    ractl.run("set", "Heuristic", "off")
    words = ractl.run("explain", str(inode)).stdout
    e2e.check("read-ahead is off" in words and "[Heuristic]" in words, "explain: it is off", words)
    ractl.refused(("explain", "1"), "no file 1 is known")
    e2e.check(ractl.run("cursors", f"{path}/none").returncode == 2, "cursors: no such file")


def members(answer):
    """The names of all members, of what is within too."""
    if isinstance(answer, list):
        return {m for each in answer for m in members(each)}
    if isinstance(answer, dict):
        return set(answer) | {m for each in answer.values() for m in members(each)}
    return set()


def answers_are_documented(ractl, path):
    """Each answer has the version of the schema, and no member that control-protocol.md does not name."""
    with open(f"{os.path.dirname(__file__)}/../../doc/control-protocol.md", encoding="utf-8") as f:
        told = set(re.findall(r"`([a-z_0-9]+)`", f.read()))
    told |= {t.replace("_demand", c) for t in told for c in ("_prefetch", "_writeback")}
    told |= {t.replace("submitted_", "served_") for t in told}
    told |= {t.replace("demand_", c) for t in told for c in ("prefetch_", "writeback_")}
    for command in (("status",), ("devices",), ("files",), ("cursors", f"{path}/f{COUNT}"),
                    ("explain", f"{path}/f{COUNT}"), ("explain", e2e.HOST), ("get",), ("diff",),
                    ("prices",), ("stats",), ("clients",), ("clients", "--interval", "0.1"),
                    ("clients", "--interval", "0.1", "--by", "file"), ("shares",), ("advise",),
                    ("metrics", "--clients", "5"), ("set", "Max_Wait", "3000")):
        answer = ractl.json(*command)
        unknown = members(answer) - told
        e2e.check(answer["schema"] == 1 and not unknown,
                  f"--json {' '.join(command)}: of the schema, each member is documented", unknown)


def reload_brings_the_file(ractl, server):
    server.reload()
    rows = ractl.json("diff")["parameters"]
    e2e.check(e2e.wait_for(lambda: not [r for r in ractl.json("diff")["parameters"]
                                        if r["value"] != r["file"]], 30),
              "SIGHUP: nothing differs from the file", rows)


def a_wrong_block_brings_the_last_one(ractl, server):
    """What was set goes, though the block that is read is refused: from what runs, too."""
    memory = lambda: ractl.json("stats")["engine"]["readahead_memory_bytes"]  # noqa: E731
    before = memory()
    ractl.run("set", "Readahead_Memory", str(before // 2))
    turned = memory()
    server.ra = "Readahead_Memory = 5;"
    server.reload()
    e2e.check(turned == before // 2 and
              "Readahead_Memory = 5 is out of range: 1048576 to" in server.log_text() and
              e2e.wait_for(lambda: memory() == before, 10) and
              ractl.value("Readahead_Memory") == (before, before),
              "SIGHUP with a wrong block: the one read last holds, in what runs too",
              (before, turned, memory(), ractl.value("Readahead_Memory")))
    server.ra = ""
    server.reload()


def refused_below(ractl, server):
    """An update that the FSAL below refuses, here as it is another one, changes nothing of ours."""
    if not any(p.endswith("libfsalmem.so") for p in e2e.distribution_fsals()):
        e2e.skip_part("an update refused below: nfs-ganesha-mem is not installed")
        return
    value = lambda name: ractl.value(name, export=8)  # noqa: E731
    names = ("Window_Max", "Weight")
    good, of_file = server.exports, {name: value(name) for name in names}
    ractl.run("set", "Window_Max", "12582912", "8")
    ractl.run("set", "Weight", "300", "8")
    before = {name: value(name) for name in names}
    server.exports = [dict(e, sub="MEM",
                           params=dict(e["params"], Window_Max=8388608, Weight=700)) for e in good]
    server.reload()
    after = {name: value(name) for name in before}
    e2e.check(server.log_text().count("the FSAL MEM below refuses the update") == 2 and
              after == before == {"Window_Max": (12582912, 16777216), "Weight": (300, 0)},
              "SIGHUP that the FSAL below refuses: the parameters stay, also what an operator set",
              (before, after, server.log_text()[-1500:]))
    server.exports = [dict(e, sub="VFS") for e in server.exports]
    server.reload()
    e2e.check((value("Window_Max"), value("Weight")) == ((8388608,) * 2, (700,) * 2),
              "and change where it takes them", ractl.json("diff"))
    server.exports = good
    server.reload()
    e2e.check({name: value(name) for name in names} == of_file, "and come back", ractl.json("diff"))


def device_blocks(ractl, server, path):
    server.ra = (f'DEVICE {{ Path = "{path}"; Max_Wait = 700; Scheduler = elevator; }}'
                 " Table_Size = 99;")
    server.reload()
    device = ractl.json("devices")["devices"][0]
    e2e.check(ractl.value("Max_Wait") == (700, 700) and device["scheduler"] == "elevator",
              "a block DEVICE holds over both exports", device)
    e2e.check(ractl.value("Table_Size") == (65536, 99) and
              any(r["parameter"] == "Table_Size" and "next start" in r["because"]
                  for r in ractl.json("diff")["parameters"]), "diff: what waits for the next start")
    ractl.run("set", "Max_Wait", "50", device["device"])
    e2e.check(ractl.value("Max_Wait") == (50, 700), "set over the block")
    server.ra = f'DEVICE {{ Path = "{path}"; Max_Wait = 5; }}'
    server.reload()
    e2e.check("DEVICE of " in server.log_text() and
              "Max_Wait = 5 is out of range: 10 to 600000 ms" in server.log_text() and
              ractl.value("Max_Wait") == (700, 700),
              "a wrong block is named, and the old one stays",
              server.log_text()[-2000:])
    server.ra = 'DEVICE { Path = "/dev/none-of-ours"; Max_Wait = 500; }'
    server.reload()
    e2e.check("No such file" in server.log_text() and ractl.value("Max_Wait")[0] in (3000, 2000),
              "a device that is not there is logged, and the exports decide",
              ractl.value("Max_Wait"))


def device_runs(ractl, path):
    """The policy that the disk of PATH runs, and what `get` says that holds and what the file has."""
    number = os.stat(path).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    rows = [d["scheduler"] for d in ractl.json("devices")["devices"] if d["device"] == name]
    return (*rows, *(ractl.value("Scheduler", device=name) or ()))


def devices_follow(ractl, server, path, work):
    """What is read at SIGHUP and what operators' settings come to is in force at once on each disk: where an
    update is refused, and where a new export stands before those by which SIGHUP is noticed."""
    good = server.exports
    server.ra = ""
    server.reload()
    ractl.run("set", "Scheduler", "elevator")
    turned = device_runs(ractl, path)
    server.exports = [dict(e, params=dict(e["params"], Heuristic="nonesuch")) for e in good]
    server.reload()
    e2e.check("nonesuch" in server.log_text() and turned == ("elevator", "elevator", "turns") and
              device_runs(ractl, path) == ("turns", "turns", "turns"),
              "SIGHUP with exports that are refused: what was set for a device goes, from what runs too",
              (turned, device_runs(ractl, path)))
    other = e2e.loop_export(work, 32 << 20, "other")
    server.exports = [{"id": 9, "path": other, "pseudo": "/e9"}, *good]
    for policy in ("elevator", "fifo"):
        server.ra = f'DEVICE {{ Path = "{other}"; Scheduler = {policy}; }}'
        server.reload()
        e2e.check(device_runs(ractl, other) == (policy,) * 3 and
                  device_runs(ractl, path) == ("turns",) * 3,
                  f"a block DEVICE with a new export, the file's first: {policy} is in force",
                  (device_runs(ractl, other), device_runs(ractl, path)))
    server.exports, server.ra = good, ""
    server.reload()


def group_may_look(ractl, work, path, plugin):
    """Control_Group: its members see all and change nothing; others see nothing."""
    group = next(g.gr_name for g in grp.getgrall() if g.gr_gid == NOBODY)
    server = e2e.Server("ra", exports_of(path), work, plugin,
                        ra=f"Control_Group = {group};").start()
    looks = ractl.run("get", "Max_Wait", user=NOBODY, group=NOBODY)
    turns = ractl.run("set", "Max_Wait", "50", user=NOBODY, group=NOBODY)
    other = ractl.run("get", "Max_Wait", user=NOBODY, group=NOBODY - 1)
    e2e.check(looks.returncode == 0 and turns.returncode == 1 and "only root" in turns.stderr and
              other.returncode == 1 and "no permission" in other.stderr and
              ractl.value("Max_Wait") == (3000, 3000), "Control_Group: looks, and changes nothing",
              (looks, turns, other))
    crowd = subprocess.Popen(
        [sys.executable, "-c", "import socket, sys\n"
         "peers = [socket.socket(socket.AF_UNIX) for _ in range(16)]\n"
         "for p in peers: p.connect(sys.argv[1]); p.send(b'{')\n"
         "print(flush=True); sys.stdin.read()", control_client.SOCKET], user=NOBODY, group=NOBODY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    crowd.stdout.readline()
    looks = ractl.run("status", user=NOBODY, group=NOBODY)
    turns = ractl.run("set", "Max_Wait", "3000")
    e2e.check(looks.returncode == 1 and "too many peers" in looks.stderr and turns.returncode == 0,
              "who may only look keeps nobody out who may change", (looks, turns))
    crowd.communicate(timeout=120)
    metrics = f"{work}/ra.prom"
    done = ractl.run("metrics", "--output", metrics)
    with open(metrics, encoding="ascii") as f:
        text = f.read()
    e2e.check(done.returncode == 0 and
              "nfs_ganesha_ra_device_busy_seconds_total" in text and
              'nfs_ganesha_ra_reads_total{export="8"}' in text, "metrics, into a file", text[:2000])
    e2e.check(ractl.json("advise")["schema"] == 1, "advise, with a server")
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])


def crowded_group(ractl, work, path, plugin):
    """A group of so many members that its entry is long is known all the same."""
    with open("/etc/group", encoding="utf-8") as f:
        groups = f.read()
    members = ",".join(f"member{n:05d}" for n in range(2000))
    with open(f"{work}/group", "w", encoding="utf-8") as f:
        f.write(f"{groups}crowd:x:{NOBODY - 2}:{members}\n")
    e2e.run("mount", "--bind", f"{work}/group", "/etc/group")
    server = e2e.Server("ra", exports_of(path), work, plugin, ra="Control_Group = crowd;").start()
    looks = ractl.run("get", "Max_Wait", user=NOBODY, group=NOBODY - 2)
    e2e.check(looks.returncode == 0 and "Control_Group" not in server.log_text(),
              "Control_Group of 2,000 members", (looks, server.log_text()[-1500:]))
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.run("umount", "/etc/group")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    ractl, plugin = sys.argv[1:]
    for built in (ractl, plugin):
        if not os.path.exists(built):
            e2e.skip(f"{built} was not built")
    e2e.enter(("findmnt",))
    work = e2e.work_directory()
    path = e2e.loop_export(work, 128 << 20, rotating=True)
    e2e.make_files(path, COUNT + 1, SIZE)
    shutil.copy(f"{path}/f0", f"{path}/{HOSTILE}")
    ractl = Ractl(ractl)
    server = e2e.Server("ra", exports_of(path), work, plugin).start()
    each_owner(ractl)
    differences(ractl)
    wrong(ractl)
    under_load(ractl, server)
    files_are_explained(ractl, server, path)
    answers_are_documented(ractl, path)
    reload_brings_the_file(ractl, server)
    a_wrong_block_brings_the_last_one(ractl, server)
    refused_below(ractl, server)
    device_blocks(ractl, server, path)
    devices_follow(ractl, server, path, work)
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    group_may_look(ractl, work, path, plugin)
    crowded_group(ractl, work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
