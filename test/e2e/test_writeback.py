#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Nothing written is lost: test_writeback.py MECHDISK PLUGIN [TEST[:CONFIG]...]

Verifying clients (verifying_client.py) write through stock VFS and through RA with several
settings. The server is killed, stopped and reconfigured in mid-write, and the power is cut: what
was promised must be on the disk, and what was answered in the file.
"""
import os
import random
import sys

import control_client
import e2e
import nfs3
import power_cut
import server_configs
import verifying_client

SIZE_MB = 384
PROMISES = 24  # noted for a power cut


def all_is_there(place, writers, what):
    """After the writers have finished and the server has ended."""
    e2e.check(not writers.failed, f"{what}: all that was written became safe", writers.failed)
    e2e.check(not writers.statuses(), f"{what}: no call failed", writers.statuses())
    place.remount()
    wrong = writers.differences(place.mount, writers.levels("sent"))
    e2e.check(not wrong, f"{what}: every byte is on the disk", "\n".join(wrong[:10]))


def answered_is_in_files(place, writers, what):
    """Nothing is kept in the server: its end, however sudden, takes no answered WRITE with it."""
    wrong = writers.differences(place.mount, writers.levels("acked"))
    e2e.check(not wrong, f"{what}: what was answered is in the files", "\n".join(wrong[:10]))


def progress(writers, lives, commits):
    """Waits until every writer has heard from that many servers, and so many more COMMITs."""
    enough = sum(w.commits for w in writers.writers) + commits
    e2e.check(e2e.wait_for(lambda: all(len(set(w.verifiers)) >= lives for w in writers.writers) and
                           sum(w.commits for w in writers.writers) >= enough, 120),
              f"server {lives}: writers get on", [w.verifiers for w in writers.writers])


def kill_nine(mechdisk, plugin, config):
    place = server_configs.Place(mechdisk, plugin, SIZE_MB)
    place.disk.timing(True)
    server = place.serve(config)
    writers = verifying_client.Writers(server, "/e1").start()
    dice = random.Random(config.name)
    for number in range(1, 5):
        what = f"kill -9, {number}"
        progress(writers, number, dice.randint(2, 12))
        server.kill()
        answered_is_in_files(place, writers, what)
        server.start()
    progress(writers, 5, 2)
    writers.finish()
    verifiers = [w.verifiers for w in writers.writers]
    e2e.note(f"{sum(w.commits for w in writers.writers)} COMMITs, "
             f"{sum(w.resent for w in writers.writers)} cells written again, "
             f"{sum(sum(f.sent) for f in writers.files)} in all")
    e2e.check(all(len(set(v)) == 5 for v in verifiers), "kill -9: each start has a verifier of "
              "its own", verifiers)
    e2e.check(all(w.resent and w.commits for w in writers.writers),
              "kill -9: data was committed, and data was written again")
    server_configs.ends_well(server, "kill -9")
    all_is_there(place, writers, "kill -9")
    place.close()


class Moments:
    """What was promised when the record of the disk had which length."""

    def __init__(self, record, writers, often):
        self.record, self.writers, self.often = record, writers, often
        self.random = random.Random(2)
        self.taken = []
        for writer in writers.writers:
            writer.promised = self.promised

    def promised(self):
        if self.random.random() > self.often:
            return
        safe = self.writers.levels("safe")
        place = os.path.getsize(self.record)
        self.taken.append((place, safe, self.writers.levels("sent")))

    def some(self, count):
        """The last, and others at random, in their order."""
        taken = sorted(self.taken, key=lambda moment: moment[0])
        chosen = self.random.sample(taken[:-1], min(count - 1, len(taken) - 1))
        return sorted(chosen, key=lambda moment: moment[0]) + taken[-1:]


def power_cuts(mechdisk, plugin, config, fs="ext4"):
    """The file system recovered from what had been flushed when a promise was made holds it."""
    place = server_configs.Place(mechdisk, plugin, SIZE_MB, fs, record="record")
    server = place.serve(config)
    writers = verifying_client.Writers(server, "/e1", cells=4096, commit=0.08, stable=0)
    moments = Moments(place.record, writers, 0.3)
    place.disk.timing(True)
    writers.start()
    what = f"power cut, {fs}"
    few = e2e.wait_for(lambda: len(moments.taken) >= PROMISES // 2, 120)
    for writer in writers.writers:  # not from the start: each of them is a flush for all
        writer.stable = 0.1
    many = e2e.wait_for(lambda: len(moments.taken) >= PROMISES, 120)
    e2e.check(few and many, f"{what}: {PROMISES} promises are made", len(moments.taken))
    writers.finish()
    server_configs.ends_well(server, what)
    all_is_there(place, writers, what)
    place.close()
    cuts = power_cut.PowerCuts(place.record, SIZE_MB << 20, e2e.temporary("cuts-", place.work), fs)
    wrong, chosen = [], moments.some(10)
    for number, (at, safe, sent) in enumerate(chosen):
        with cuts.mounted(at, keep=0.5 * (number % 2)) as path:
            wrong += writers.differences(path, safe, sent)
    cuts.close()
    e2e.check(not wrong, f"{what}: what COMMIT and stable WRITEs promised is on the disk "
              f"({len(chosen)} of {len(moments.taken)} promises)", "\n".join(wrong[:10]))


def power_cuts_xfs(mechdisk, plugin, config):
    power_cuts(mechdisk, plugin, config, "xfs")


def stop_and_reload(mechdisk, plugin, config):
    """SIGHUPs that change the settings, and SIGTERM, in mid-write."""
    place = server_configs.Place(mechdisk, plugin, SIZE_MB)
    place.disk.timing(True)
    server = place.serve(config)
    writers = verifying_client.Writers(server, "/e1").start()
    progress(writers, 1, 1)  # else the first server may end before it has answered anybody
    others = [c.export for c in server_configs.CONFIGS if c.server == config.server]
    for number in range(8):
        server.exports[0]["params"] = others[number % len(others)]
        server.reload()
    e2e.check(server.alive(), "SIGHUP in mid-write: the server is alive", server.log_text()[-2000:])
    for number in range(2):
        server_configs.ends_well(server, f"SIGTERM in mid-write, {number + 1}")
        answered_is_in_files(place, writers, f"SIGTERM in mid-write, {number + 1}")
        server.start()
        progress(writers, number + 2, 2)
    writers.finish()
    server_configs.ends_well(server, "after SIGTERM in mid-write")
    all_is_there(place, writers, "SIGTERM and SIGHUP in mid-write")
    place.close()


def steady(attributes):
    """What no write-back may change."""
    return attributes._replace(used=0, atime=0)


def seen_at_once(mechdisk, plugin, config):
    """Another client and local programs see data and attributes as soon as WRITE is answered, and
    no write-back, nor COMMIT, changes them afterwards."""
    place = server_configs.Place(mechdisk, plugin, SIZE_MB)
    server = place.serve(config)
    one, other = (nfs3.Client(server, "/e1") for _ in range(2))
    _, fh = one.create("f")
    dice, size, wrong = random.Random(3), 0, []
    for number in range(300):
        at, length = dice.randrange(1 << 20), dice.randrange(1, 65536)
        if dice.random() < 0.1:
            size = dice.randrange(1 << 20)
            one.truncate(fh, size)
        data = dice.randbytes(length)
        stable = dice.choice((nfs3.UNSTABLE,) * 8 + (nfs3.DATA_SYNC, nfs3.FILE_SYNC))
        after = one.write_whole(fh, at, data, stable).after
        size = max(size, at + length)
        with open(f"{place.mount}/f", "rb") as f:
            local = os.pread(f.fileno(), length, at)
        seen = other.attributes(fh)
        if other.read(fh, at, length)[1] != data or local != data or steady(seen) != \
                steady(after) or seen.size != size or os.stat(f"{place.mount}/f").st_size != size:
            wrong.append(f"WRITE {number}: {after} {seen}")
    e2e.check(not wrong, "a WRITE is seen at once by all", "\n".join(wrong[:5]))
    if config.name in server_configs.EARLY:
        done, seen_last = control_client.wait_for_stats(lambda w: not w["dirty_files"], 60)
        e2e.check(done, "it is written out without COMMIT", seen_last)
    first = one.commit(fh)
    e2e.check(steady(first.after) == steady(seen) == steady(other.attributes(fh)),
              "writing out changes no attributes", f"{seen}\n{first.after}")
    st = os.stat(f"{place.mount}/f")
    e2e.check((st.st_mtime_ns, st.st_ctime_ns, st.st_size) == (seen.mtime, seen.ctime, seen.size),
              "they are those of the file", f"{st}\n{seen}")
    server_configs.ends_well(server, "seen at once")
    place.close()


TESTS = {f.__name__: f for f in (seen_at_once, kill_nine, power_cuts, power_cuts_xfs,
                                 stop_and_reload)}


if __name__ == "__main__":
    server_configs.run(TESTS, __doc__, sys.argv[1:])
