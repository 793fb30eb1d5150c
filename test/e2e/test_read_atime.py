#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Access times: test_read_atime.py MECHDISK PLUGIN

What it proves: on file systems mounted with relatime, strictatime and noatime, a READ moves a file's
access time where the stock server's does, for a local stat and for GETATTR, be it answered out of
memory or from the disk, of a hot file with relatime within COOL, and at once where a client has changed its
inode; and what RA reads by itself moves none: after the last READ of a stream the time that somebody sets
stays as it was set, while prefetches of the stream are under way.
"""
import os
import sys
import time

import control_client
import e2e
import likeness
import modelled_disk
import nfs3
from likeness import PIECE

SIZE = 1 << 20
DAY = 86400
TICK = 0.02  # seconds: more than one of the kernel's coarse clock
COOL = 0.25  # seconds behind which a READ of a file that was hot counts as access (disk/hot.h)
LONG_AGO = 1000000000  # seconds
STREAM, STREAM_FILE, FILES = 2 << 20, 16 << 20, 6


def starts(now):
    """(what, access time, modification time) before a READ."""
    return (("older than the change", now - 100, now - 50), ("recent", now - 50, now - 100),
            ("days old", now - 3 * DAY, now - 5 * DAY), ("days old, changed then", now - 5 * DAY,
                                                         now - 3 * DAY))


def looks(side, what, name, fh, began):
    """Whether the time moved, locally and for clients."""
    local = os.stat(side.local(name)).st_atime
    asked = side.client.attributes(fh).atime / 1e9
    side.saw(what, "moved" if local > began - 5 else "kept", "moved" if asked > began - 5 else "kept")


def each_read(side):
    fh = side.make("file", SIZE)
    nobody = nfs3.Client(side.server, "/e1", uid=1000)
    os.chmod(side.local("file"), 0o600)
    kinds = {"from the disk": (side.client, 0), "hot": (side.client, 0),
             "at the end": (side.client, SIZE), "beyond": (side.client, 1 << 40),
             "nowhere": (side.client, 1 << 63), "refused": (nobody, 0)}
    for read, (client, offset) in kinds.items():
        for what, accessed, changed in starts(time.time()):
            os.utime(side.local("file"), (accessed, changed))
            if read == "from the disk":
                side.drop("file")
            elif read == "hot":
                side.heat(fh, SIZE)
                os.utime(side.local("file"), (accessed, changed))
                time.sleep(COOL)
            began = time.time()
            side.read(read, fh, offset, client=client)
            looks(side, f"{read}: {what}", "file", fh, began)
    nobody.close()
    for change in ("SETATTR", "RENAME", "LINK"):
        changed_while_hot(side, fh, change)


def changed_while_hot(side, fh, change):
    """Its inode's time of change is new: with relatime the next READ counts."""
    client, long_ago = side.client, int(time.time()) - 10 * DAY
    side.heat(fh, SIZE)
    began = time.time()
    if change == "SETATTR":
        statuses = [client.set_times(fh, long_ago, long_ago)]
    elif change == "RENAME":
        statuses = [client.rename("file", "other"), client.rename("other", "file")]
    else:
        statuses = [client.link(fh, "other"), client.remove("other")]
    side.saw(f"{change} while hot", *statuses)
    time.sleep(TICK)
    side.read(change, fh)
    accessed = os.stat(side.local("file")).st_atime
    side.saw(f"{change} while hot: READ", "moved" if accessed > began else "kept")


def small_machine(work, plugin):
    for option in ("relatime", "strictatime", "noatime"):
        made = likeness.sides(work, plugin, "Attr_Expiration_Time = 0;", options=f"loop,{option}")
        likeness.play(each_read, made, option)
        moved = {seen[-1] for seen in made[0].seen if seen[-1] in ("moved", "kept")}
        wanted = {"kept"} if option == "noatime" else {"moved", "kept"}
        e2e.check(moved == wanted, f"{option}: stock's READs do this to the time: {wanted}", moved)
        likeness.end(made, option)


def settled(server):
    """Nothing is read any more."""
    if server.kind == "ra":
        done, seen = control_client.wait_for_stats(
            lambda d: not d["running"] + d["queued_demand"] + d["queued_prefetch"], 60, "device")
        e2e.check(done, "RA has read what it wanted", seen)
    time.sleep(0.1)


def stream(client, fh, number):
    for offset, status, data in client.stream(fh, STREAM, PIECE):
        if status != nfs3.OK or data != e2e.pattern(number, offset, len(data)):
            return False
    return True


def late_reads(disk, kind, work, plugin):
    """What the times are that were set right after the last answer of a stream's beginning."""
    # more than what will be read, though the client reads no more of any file
    listed = [{"id": 1, "path": disk.mount, "pseudo": "/e1",
               "params": {"Heuristic": "cursor", "Rules": "endless"}}]
    e2e.drop_caches()
    server = e2e.Server(kind, listed, work, plugin).start()
    client, times, right = nfs3.Client(server, "/e1"), [], True
    for number in range(FILES):
        path = f"{disk.mount}/f{number}"
        fh = client.lookup(f"f{number}")[1]
        right = stream(client, fh, number) and right
        os.utime(path, (LONG_AGO + number, time.time()))
        settled(server)
        times.append(os.stat(path).st_atime - number)
        right = client.read(fh, 0, 4096)[0] == nfs3.OK and right
        times.append(os.stat(path).st_atime > time.time() - 60)
    e2e.check(right, f"{kind}: the bytes are right")
    if kind == "ra":
        ahead = control_client.stats()["prefetched_bytes"] - FILES * STREAM
        e2e.check(ahead > FILES * 65536, "RA read ahead of the last READs", ahead)
    client.close()
    e2e.check(server.stop() == 0, f"{kind}: ends cleanly", server.log_text()[-2000:])
    return times


def slow_disk(mechdisk, work, plugin):
    disk = modelled_disk.for_test(work, mechdisk, 256)
    e2e.make_files(disk.mount, FILES, STREAM_FILE)
    for option, moved in (("strictatime", True), ("relatime", True), ("noatime", False)):
        disk.timing(False)
        e2e.run("mount", "-o", f"remount,{option}", disk.mount)
        disk.timing(True)
        for kind in ("stock", "ra"):
            times = late_reads(disk, kind, work, plugin)
            e2e.check(times == [LONG_AGO, moved] * FILES,
                      f"{option}, {kind}: a time set stays until the next READ", times)
    disk.down()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter()
    work = e2e.work_directory()
    small_machine(work, plugin)
    slow_disk(sys.argv[1], work, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
