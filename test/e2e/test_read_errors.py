#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Bad sectors below a file that is hot: test_read_errors.py MECHDISK PLUGIN

What it proves: while a file is in memory its READs are answered although the disk below went bad;
when it is not any more, READs that begin in a bad page fail as with the stock server, each with no
more attempts at the disk than TRIES times stock's; READs across one bring no less than stock's, and
right bytes; those beside are right; and when the disk is good again all is.
"""
import sys

import e2e
import likeness
import modelled_disk
import nfs3
from likeness import PIECE

SIZE, PAGE = 4 << 20, 4096
BAD = ((1 << 20) + 4 * PAGE, (3 << 20) + 7 * PAGE)
TRIES = 2  # for a bad page: one at its turn, one by the FSAL below, which tells the error


class Bench:
    """The disk, a server of one kind, and its answers."""

    def __init__(self, disk, kind, work, plugin):
        self.disk, self.kind, self.tries = disk, kind, []
        listed = [{"id": 1, "path": disk.mount, "pseudo": "/e1", "params": {"Heuristic": "cursor"}}]
        self.server = e2e.Server(kind, listed, work, plugin).start()
        self.client = nfs3.Client(self.server, "/e1", timeout=60)
        self.fh = self.client.lookup("f0")[1]
        self.wrong = []

    def read(self, offset, count):
        """(status, bytes)"""
        status, data = self.client.read(self.fh, offset, count)
        page = offset % PAGE
        if data != e2e.pattern(0, offset - page, page + len(data))[page:]:
            self.wrong.append((offset, count))
        return status, len(data)

    def whole(self):
        return {self.read(offset, PIECE) for offset in range(0, SIZE, PIECE)}

    def drop(self):
        self.disk.drop_caches()

    def spoil(self):
        for offset in BAD:
            place = modelled_disk.physical(f"{self.disk.mount}/f0", offset)
            self.disk.ctl(f"error read {place} {PAGE}")

    def bad_page(self, offset):
        before = self.disk.stats()["errors_injected"]
        answer = self.read(offset, PAGE)
        self.tries.append(self.disk.stats()["errors_injected"] - before)
        return answer

    def run(self):
        """What must agree, and bytes brought by READs across a bad page."""
        seen, across = [], []
        for _ in range(likeness.HOT):
            seen.append(self.whole())
        self.spoil()
        seen.append(self.whole())
        for offset in BAD:
            self.drop()
            seen += [self.bad_page(offset) for _ in range(3)]
            for where in (offset - PAGE, offset + PAGE):
                self.drop()
                seen.append(self.read(where, PAGE))
            for before in (1, 3, 8):
                self.drop()
                across.append(self.read(offset - before * PAGE, 16 * PAGE)[1])
        self.disk.ctl("error clear")
        self.drop()
        return seen + [self.whole(), self.whole()], across


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], "")
    e2e.enter(("filefrag",))
    work = e2e.work_directory()
    disk = modelled_disk.for_test(work, sys.argv[1], 128)
    e2e.make_files(disk.mount, 1, SIZE)
    disk.timing(True)
    found = {}
    for kind in ("stock", "ra"):
        e2e.drop_caches()
        bench = Bench(disk, kind, work, plugin)
        found[kind] = (*bench.run(), bench.tries)
        e2e.check(not bench.wrong, f"{kind}: the bytes are right", bench.wrong[:10])
        bench.client.close()
        e2e.check(bench.server.stop() == 0, f"{kind}: ends cleanly")
    (seen, across, tries), (ra_seen, ra_across, ra_tries) = found["stock"], found["ra"]
    e2e.check((nfs3.IO, 0) in seen, "READs of bad pages fail", seen)
    e2e.check(seen == ra_seen, "READs end as with stock", (seen, ra_seen))
    e2e.check(all(b >= a for a, b in zip(across, ra_across)),
              "READs across a bad page bring no less than stock's", (across, ra_across))
    e2e.check(sum(tries) > 0 and all(b <= TRIES * a for a, b in zip(tries, ra_tries)),
              "a bad page is tried no more often than needed", (tries, ra_tries))
    e2e.note(f"bytes across {across} {ra_across}, tries {tries} {ra_tries}")
    e2e.finish()


if __name__ == "__main__":
    main()
