#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Who reads the beginnings of files has no more of them fetched: test_previews.py PLUGIN

A client reads the first part of one file after another. After some of them hardly more is fetched of the
next ones than it reads; another client, who reads all of each, has it fetched ahead as ever.
"""
import sys
import time

import control_client
import e2e
import nfs3

FILES, SIZE, PART, REQUEST = 24, 8 << 20, 512 << 10, 32 << 10  # bytes
LEARNT = 8  # files
SILENCE = 1.1  # s: so long a reader is silent for sure


def read(client, number, length):
    """Whether the first bytes of a file are right."""
    fh, right = client.lookup(f"f{number}")[1], True
    for at, status, data in client.stream(fh, length, REQUEST):
        right &= status == 0 and data == e2e.pattern(number, at, REQUEST)
    return right


def fetched(client, numbers, length, pause=0.0):
    """What is fetched ahead while the first bytes of these files are read, all in all."""
    before = control_client.stats("counters")
    right = True
    for number in numbers:
        right &= read(client, number, length)
        time.sleep(pause)
    e2e.check(right, f"{len(numbers)} files, {length} bytes of each: every byte right")
    e2e.check(control_client.settled(), "the disk is idle again")
    after = control_client.stats("counters")
    return after["planned_bytes"] - before["planned_bytes"]


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__)
    e2e.enter(("findmnt",))
    work = e2e.work_directory()
    path = e2e.loop_export(work, FILES * SIZE * 3 // 2, rotating=True)
    e2e.make_files(path, FILES, SIZE)
    server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1", "params": {}}], work,
                        plugin).start()
    e2e.drop_caches()
    first, second = nfs3.Client(server, "/e1"), nfs3.Client(server, "/e1", source="127.0.0.9")
    strange = fetched(first, range(LEARNT), PART, SILENCE)
    known = fetched(first, range(LEARNT, FILES), PART)
    e2e.note(f"planned: {strange} bytes of the first {LEARNT} files, {known} of {FILES - LEARNT} more")
    e2e.check(strange > PART, "of a stranger's files something is fetched ahead")
    e2e.check(known <= (FILES - LEARNT) * 2 * PART, "of the next ones hardly more than is read",
              f"{known} bytes")
    e2e.drop_caches()
    whole = fetched(second, range(4), SIZE)
    e2e.check(whole >= 3 * SIZE, "another client's files are fetched as a whole", f"{whole} bytes")
    first.close()
    second.close()
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
