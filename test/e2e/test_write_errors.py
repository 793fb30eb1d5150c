#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Errors under data not yet written out: test_write_errors.py MECHDISK PLUGIN [TEST[:CONFIG]...]

A disk that fails when data is written out, long after WRITE was answered, and one that is full.
Each scenario is a list of steps whose answers are kept. Stock goes first: where it tells the client
of an error, so must RA with any setting; and where data is lost, RA must not say that it is safe.
"""
import os
import re
import sys

import control_client
import e2e
import modelled_disk
import nfs3
import server_configs

SIZE_MB = 96
FILE, UNIT = 2 << 20, 65536
BAD = 1 << 20  # a page that cannot be written, at this place of every file f*
FILES = 4
# FSAL_VFS gives descriptors back as soon as it may.
FEW_DESCRIPTORS = "MDCACHE { LRU_Run_Interval = 1; FD_HWMark_Percent = 1; FD_LWMark_Percent = 0; }"

stock = {}  # scenario -> its answers


class Scene:
    """Files on a disk, some of them with a bad page, a server, and two clients of it."""

    def __init__(self, mechdisk, plugin, config, extra=""):
        self.place = server_configs.Place(mechdisk, plugin, SIZE_MB)
        self.config, self.answers = config, []
        # The loop device takes a write of which only a part succeeded for a whole one: one piece
        # each, then.
        self.place.disk.tune("max_sectors_kb", 64)
        for number in range(FILES):
            with open(self.path(number), "wb") as f:
                f.write(bytes(FILE))
                os.fsync(f.fileno())
        self.server = self.place.serve(config, extra)
        self.clients = [nfs3.Client(self.server, "/e1") for _ in range(2)]
        self.handles = [self.clients[0].lookup(f"f{n}")[1] for n in range(FILES)]

    def path(self, number):
        return f"{self.place.mount}/f{number}"

    def written_by_server(self, number=0):
        """Whether it has a descriptor for writing of the file: FSAL_VFS's, RA's only read."""
        process = f"/proc/{self.server.process.pid}"
        for fd in os.listdir(f"{process}/fd"):
            try:
                if os.path.realpath(f"{process}/fd/{fd}") == self.path(number):
                    with open(f"{process}/fdinfo/{fd}", encoding="ascii") as info:
                        flags = int(re.search(r"flags:\s+(\d+)", info.read())[1], 8)
                    if flags & os.O_ACCMODE != os.O_RDONLY:
                        return True
            except FileNotFoundError:
                continue
        return False

    def can_mount(self, pseudo):
        try:
            nfs3.Client(self.server, pseudo).close()
            return True
        except OSError:
            return False

    def spoil(self, number=0, how=""):
        where = modelled_disk.physical(self.path(number), BAD)
        self.place.disk.ctl(f"error write {where} 4096 {how}".rstrip())

    def heal(self):
        self.place.disk.ctl("error clear")

    def note(self, what, status):
        self.answers.append((what, status))
        return status

    def write(self, number=0, first=0, length=FILE, client=0, stable=nfs3.UNSTABLE):
        """In pieces; the worst status is the answer."""
        worst = nfs3.OK
        for at in range(first, first + length, UNIT):
            data = e2e.pattern(number, at, UNIT)
            worst = max(worst, self.clients[client].write(self.handles[number], at, data, stable))
        return self.note(f"WRITE f{number} stable={stable}", worst)

    def commit(self, number=0, first=0, length=0, client=0):
        result = self.clients[client].commit(self.handles[number], first, length)
        return self.note(f"COMMIT f{number} {first}+{length}", result.status)

    def write_out(self):
        """By others than the server: the kernel of itself, or a local program."""
        os.sync()

    def wait(self):
        """Until RA has met the error, where it writes out by itself."""
        if self.config.name in server_configs.EARLY:
            met, seen = control_client.wait_for_stats(lambda w: w["writeback_errors"], 60)
            e2e.check(met, "the error is met before COMMIT", seen)

    def reload_without_writeback(self):
        if self.config.server == "ra":
            self.server.exports[0]["params"] = {"Writeback": "false"}
        self.server.reload()

    def compare(self, what):
        """With stock's answers, which came first; without them nothing is shown."""
        steps = [step for step, _ in self.answers]
        expected = stock.get(what, [])
        e2e.check(steps == [step for step, _ in expected], f"{what}: stock went the same steps",
                  f"stock {expected}\nRA {self.answers}")
        silent = [f"{step}: stock {a}, RA {b}" for (step, a), (_, b)
                  in zip(expected, self.answers) if a != nfs3.OK and b == nfs3.OK]
        e2e.check(not silent, f"{what}: errors reach the client as with stock", "\n".join(silent))

    def end(self, what):
        e2e.note(f"{what}: " + ", ".join(f"{step}: {status}" for step, status in self.answers))
        if self.config.server == "stock":
            stock[what] = self.answers
        else:
            self.compare(what)
        for client in self.clients:
            client.close()
        self.heal()
        server_configs.ends_well(self.server, what)
        self.place.close()

    def write_again(self, what):
        """After a repair."""
        self.heal()
        self.write()
        self.commit()
        self.expect(f"{what}: written again, COMMIT succeeds", -1, nfs3.OK)

    def expect(self, what, step, *statuses):
        e2e.check(self.answers[step][1] in statuses, what, self.answers)


def at_commit(mechdisk, plugin, config):
    """The first to write out is COMMIT itself; then the disk is repaired and the client repeats."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write()
    scene.write(1)
    scene.commit()
    scene.expect("an error at write-out: COMMIT fails", -1, nfs3.IO)
    scene.commit(1)
    scene.expect("an error at write-out: another file's COMMIT does not", -1, nfs3.OK)
    scene.write_again("an error at write-out")
    scene.end("at_commit")


def bytes_after_repair(mechdisk, plugin, config):
    """What was written again after an error is on the disk when COMMIT says so."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write()
    scene.write_out()
    scene.commit()
    scene.heal()
    scene.write()
    scene.commit()
    scene.expect("after an error and a repair: COMMIT succeeds", -1, nfs3.OK)
    for client in scene.clients:
        client.close()
    scene.server.kill()
    with open(f"{scene.place.disk.work}/fuse/disk", "rb", buffering=0) as device:
        device.seek(modelled_disk.physical(scene.path(0), BAD))
        seen = device.read(4096)
    e2e.check(seen == e2e.pattern(0, BAD, 4096), "after an error and a repair: the bytes are on "
              "the device", seen[:16])
    scene.place.close()


def before_commit(mechdisk, plugin, config):
    """The error was met in the background; COMMIT comes later."""
    for what, wait in (("by the kernel", Scene.write_out), ("after a while", Scene.wait)):
        scene = Scene(mechdisk, plugin, config)
        scene.spoil()
        scene.write()
        wait(scene)
        scene.commit()
        scene.expect(f"an error {what} before COMMIT: COMMIT fails", -1, nfs3.IO)
        scene.commit()
        scene.end(f"before_commit, {what}")


def ranges_and_clients(mechdisk, plugin, config):
    """COMMITs of ranges by two clients that wrote different parts of the file."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write(0, 0, 8 * UNIT, client=1)
    scene.write(0, BAD, 4 * UNIT)
    scene.wait()
    scene.commit(0, 0, 8 * UNIT, client=1)
    scene.commit(0, BAD, 4 * UNIT)
    e2e.check(any(s == nfs3.IO for step, s in scene.answers if step.startswith("COMMIT")),
              "an error in a range: one of the COMMITs fails", scene.answers)
    scene.end("ranges_and_clients")


def part_commit(mechdisk, plugin, config):
    """COMMITs of the bad part, with more of the file written."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write()
    scene.commit(0, BAD, 4 * UNIT)
    scene.expect("an error in a part: its COMMIT fails", -1, nfs3.IO)
    scene.heal()
    scene.write()
    scene.commit(0, BAD, 4 * UNIT)
    scene.expect("an error in a part: written again, its COMMIT succeeds", -1, nfs3.OK)
    scene.commit()
    scene.expect("an error in a part: and so does that of the whole", -1, nfs3.OK)
    scene.end("part_commit")


def times_out(mechdisk, plugin, config):
    """The disk does not take the data in time. Ganesha makes "come again" of that errno, and who comes again is told by stock
    that all is stable, for the kernel tells an error once. RA, which knows of it, tells the error."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil(how="timeout")
    scene.write()
    scene.wait()
    told = []

    def commit():
        told.append(scene.clients[0].commit(scene.handles[0]).status)
        return told[-1] != nfs3.JUKEBOX

    e2e.wait_for(commit, 30, 0.2)
    scene.note("COMMIT f0 until it has not to come again", told[-1])
    e2e.note(f"a disk that times out: {config.name}: {told}")
    if config.server == "ra":
        scene.expect("a disk that times out: COMMIT fails", -1, nfs3.IO)
    scene.write_again("a disk that times out")
    scene.end("times_out")


def many_files(mechdisk, plugin, config):
    """Every file has a bad page: none may be forgotten, however few are kept track of."""
    scene = Scene(mechdisk, plugin, config)
    for number in range(FILES):
        scene.spoil(number)
    for number in range(FILES):
        scene.write(number)
    scene.wait()
    for number in range(FILES):
        scene.commit(number)
        scene.expect(f"errors in many files: COMMIT of the file {number} fails", -1, nfs3.IO)
    scene.end("many_files")


def closed_descriptors(mechdisk, plugin, config, reload=False):
    """FSAL_VFS closes the file before the error: who saw it must remember."""
    what = "closed_descriptors" + ", reload" * reload
    scene = Scene(mechdisk, plugin, config, FEW_DESCRIPTORS)
    scene.spoil()
    hold = open(scene.path(0), "rb")  # or the kernel might forget the file, and the error with it
    scene.write()
    closed = e2e.wait_for(lambda: not scene.written_by_server(), 120, 0.2)
    e2e.check(closed, "FSAL_VFS closes files when it is told to")
    scene.wait()
    scene.write_out()
    if reload:
        scene.reload_without_writeback()
    scene.commit()
    scene.expect("an error with the file closed: COMMIT fails", -1, nfs3.IO)
    hold.close()
    scene.end(what)


def closed_and_reload(mechdisk, plugin, config):
    """... also when the write-back that saw it is then switched off."""
    closed_descriptors(mechdisk, plugin, config, reload=True)


def stable_writes(mechdisk, plugin, config):
    """A stable WRITE is its own COMMIT. FSAL_VFS from 6 on loses the error of its fsync: a defect
    of stock's, which RA mends."""
    loses = config.server == "stock" and e2e.ganesha_version() >= (6, 0)
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write(0, 0, 8 * UNIT)
    for stable in (nfs3.FILE_SYNC, nfs3.DATA_SYNC):
        scene.write(0, BAD, UNIT, stable=stable)
        scene.expect(f"an error at write-out: a WRITE with stable={stable} fails", -1, nfs3.IO,
                     *[nfs3.OK] * loses)
    scene.commit()
    scene.write(1, BAD, UNIT, stable=nfs3.FILE_SYNC)
    scene.expect("an error at write-out: a stable WRITE of another file does not", -1, nfs3.OK)
    scene.end("stable_writes")


def settings_change(mechdisk, plugin, config):
    """An error met while RA did the write-back, and told after it was switched off."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write()
    scene.wait()
    scene.reload_without_writeback()
    scene.commit()
    scene.expect("an error before a reload: COMMIT fails", -1, nfs3.IO)
    scene.end("settings_change")


def export_comes_back(mechdisk, plugin, config):
    """The export goes and comes back between the error and COMMIT; the verifier is the same."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    hold = open(scene.path(0), "rb")
    scene.write()
    scene.wait()
    exports = scene.server.exports
    for listed in ([{**exports[0], "id": 2, "pseudo": "/e2"}], exports):
        scene.server.exports = listed
        scene.server.reload()
        mounted = e2e.wait_for(lambda: scene.can_mount(scene.server.exports[0]["pseudo"]), 60)
        e2e.check(mounted, f"the export {scene.server.exports[0]['pseudo']} can be mounted")
    scene.commit()
    hold.close()
    scene.expect("an error before the export goes and comes back: COMMIT fails", -1, nfs3.IO)
    scene.end("export_comes_back")


def killed(mechdisk, plugin, config):
    """The server that met the error is killed: COMMIT fails, or has another verifier."""
    scene = Scene(mechdisk, plugin, config)
    scene.spoil()
    scene.write()
    verifier = scene.clients[0].write_whole(scene.handles[0], 0, b"x" * 4096).verifier
    scene.wait()
    scene.server.kill()
    scene.server.start()
    scene.clients = [nfs3.Client(scene.server, "/e1")]
    result = scene.clients[0].commit(scene.handles[0])
    e2e.check(result.status == nfs3.IO or result.verifier != verifier,
              "an error before kill -9: COMMIT fails or has a new verifier", result)
    scene.end("killed")


def free_bytes(path):
    st = os.statvfs(path)
    return st.f_bfree * st.f_frsize


def fill(scene, name):
    """Writes a new file until it fails: (handle, bytes answered, status)."""
    _, fh = scene.clients[0].create(name)
    at = 0
    while True:
        status = scene.clients[0].write(fh, at, e2e.pattern(9, at, UNIT))
        if status != nfs3.OK:
            return fh, at, status
        at += UNIT


def full_disk(mechdisk, plugin, config):
    scene = Scene(mechdisk, plugin, config)
    os.sync()
    before = free_bytes(scene.place.mount)
    fh, answered, status = fill(scene, "full")
    scene.note("WRITE on a full disk", status)
    scene.expect("a full disk: WRITE says so", -1, nfs3.NOSPC)
    e2e.check(abs(before - answered) < before // 20, "a full disk: all of it was used",
              f"{answered} of {before} bytes")
    scene.note("COMMIT on a full disk", scene.clients[0].commit(fh).status)
    scene.expect("a full disk: COMMIT succeeds", -1, nfs3.OK)
    with open(f"{scene.place.mount}/full", "rb") as f:
        wrong = [at for at in range(0, answered, UNIT) if f.read(UNIT) != e2e.pattern(9, at, UNIT)]
    e2e.check(not wrong, "a full disk: what was answered is there", wrong[:10])
    scene.write(0, 0, UNIT)  # in place
    scene.commit()
    scene.note("REMOVE", scene.clients[0].remove("full"))
    gone = e2e.wait_for(lambda: abs(before - free_bytes(scene.place.mount)) < before // 20, 120)
    e2e.check(gone, "a full disk: space comes back with REMOVE", free_bytes(scene.place.mount))
    fh, answered, status = fill(scene, "again")
    e2e.check(abs(before - answered) < before // 20, "a full disk: and can be used again",
              f"{answered} of {before} bytes")
    # Removed with all of it dirty: the space must not wait for what is never to be written.
    scene.note("REMOVE of a dirty file", scene.clients[0].remove("again"))
    gone = e2e.wait_for(lambda: abs(before - free_bytes(scene.place.mount)) < before // 20, 120)
    e2e.check(gone, "a full disk: a dirty file's space comes back too",
              free_bytes(scene.place.mount))
    scene.end("full_disk")


TESTS = {f.__name__: f for f in (at_commit, bytes_after_repair, before_commit, ranges_and_clients,
                                 part_commit, times_out, many_files, closed_descriptors, closed_and_reload,
                                 stable_writes, settings_change, export_comes_back, killed,
                                 full_disk)}

if __name__ == "__main__":
    server_configs.run(TESTS, __doc__, sys.argv[1:])
