#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The reference client tells the truth: test_canfs.py CANFS PLUGIN

Two clients of bench/canfs, plain and with the auction, on a real server: what one writes and closes
the other reads, and so does the file system below; what a raw NFSv3 client wrote is seen at the
next open and never mixed with what was cached; parts of pages, appends, removals. Random operations
of both against a model, with a cache smaller than the files. And works of many threads, each byte
compared.
"""
import json
import os
import random
import subprocess
import sys
import time

import e2e
import nfs3

STEP, WORD = 0x9E3779B97F4A7C15, 1 << 64  # of bench/nfsbench/content.h
BLOCK, BLOCKS = 8192, 512
RANDOM_SECONDS, RANDOM_TURNS = 3, 5
WORK_SECONDS = 2, 8, 32, 90  # of a run; longer where the machine is slow, until each work has done some
WORK_OPERATIONS = 20
LONG = 60  # seconds, on a busy machine
# Of each way the price by the bid: least, most (pricing/auction.h, with the terms of canfs/op.c)
WAYS = {"accelerate": (0, 0.625), "send": (0.4, 1.25), "defer": (0.8, float("inf"))}


def content(first, offset, length):
    words = ((first + (offset // 8 + i) * STEP) % WORD for i in range(-(-length // 8)))
    return b"".join(w.to_bytes(8, sys.byteorder) for w in words)[:length]


class Clients:
    """Several in one process, commanded a line at a time."""

    def __init__(self, canfs, server, export, mode, count=2):
        self.mode = mode
        self.process = subprocess.Popen(
            [canfs, *address(server, export), "--script", "--clients", str(count), "--mode", mode,
             "--memory", "2M", "--from", "127.0.0.21"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        e2e.at_exit(lambda: e2e.end_process(self.process))

    def __call__(self, *command):
        if len(command) > 2:  # files of the two modes are others
            command = (*command[:2], self.mode + command[2], *command[3:])
        self.process.stdin.write(" ".join(str(c) for c in command) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer or answer[0] != "ok":
            raise RuntimeError(f"{command}: {' '.join(answer) or 'it ended'}")
        return answer[1:]

    def wrong(self, which, name, offset, length, first):
        """Words that are not so, of as many bytes as are asked for; else the length."""
        had, wrong = self(which, "read", name, offset, length, f"{first:x}")
        return int(wrong) if int(had) == length else f"{had} bytes"

    def end(self):
        self.process.stdin.close()
        return self.process.wait(LONG)


def address(server, export):
    return ["--server", "127.0.0.1", "--port", str(server.port), "--mount-port", str(server.mport),
            "--export", export]


def below(export, name, offset, length):
    with open(f"{export}/{name}", "rb") as file:
        file.seek(offset)
        return file.read(length)


def handed_over(clients, export, mode):
    """Each writes in turn, the other reads."""
    good, size = True, 300000
    clients(0, "create", "f")
    clients(0, "close", "f")
    for turn in range(6):
        writer, reader, first = turn % 2, 1 - turn % 2, 1000 + turn
        clients(writer, "open", "f")
        clients(writer, "write", "f", 0, size, f"{first:x}")
        clients(writer, "close", "f")
        good = good and below(export, mode + "f", 0, size) == content(first, 0, size)
        for which in (reader, writer):
            clients(which, "open", "f")
            good = good and clients.wrong(which, "f", 0, size, first) == 0
            clients(which, "close", "f")
    e2e.check(good, f"{mode}: what one closes the other opens")


def beside_others(clients, server, export, mode):
    """A raw client writes into a file that is open, cached, and just written by another one. (This
    server's WRITEs do not tell what was before: of changes between two WRITEs of one client
    no client can know, Linux' neither. The unit tests have a server that tells.)"""
    raw = nfs3.Client(server, export, source="127.0.0.29")
    fh = raw.lookup(mode + "f")[1]
    clients(0, "open", "f")
    clients.wrong(0, "f", 0, 300000, 1005)
    clients(0, "write", "f", 0, 40000, "9")
    clients(0, "fsync", "f")
    time.sleep(0.02)
    raw.write(fh, 131072, content(7, 131072, 65536), nfs3.FILE_SYNC)
    clients(0, "close", "f")
    clients(0, "open", "f")
    wrong = [clients.wrong(0, "f", *part) for part in
             ((131072, 65536, 7), (0, 40000, 9), (200000, 90000, 1005))]
    e2e.check(wrong == [0, 0, 0],
              f"{mode}: another's change beside our own is seen at the next open", str(wrong))
    clients(0, "close", "f")
    raw.close()


def small_things(clients, export, mode):
    clients(0, "create", "g")
    clients(0, "append", "g", 0, 16384, "3")
    clients(0, "append", "g", 0, 5000, "3")
    clients(0, "write", "g", 6144, 512, "4")
    clients(0, "fsync", "g")
    want = content(3, 0, 6144) + content(4, 6144, 512) + content(3, 6656, 21384 - 6656)
    e2e.check(below(export, mode + "g", 0, 1 << 20) == want, f"{mode}: appends and parts of pages")
    clients(0, "close", "g")
    clients(1, "open", "g")
    clients(1, "close", "g")
    clients(1, "remove", "g")
    clients(0, "create", "g")
    clients(0, "write", "g", 0, 8192, "5")
    clients(0, "close", "g")
    clients(1, "open", "g")
    e2e.check(clients.wrong(1, "g", 0, 8192, 5) == 0, f"{mode}: another file of that name")
    clients(1, "close", "g")


def at_random(clients, export, mode):
    """Both clients, one after the other, on a file twice as large as their memory."""
    dice, model, good, done = random.Random(7), [0] * BLOCKS, True, 0
    clients(0, "create", "r")
    for at in range(0, BLOCKS, 32):
        clients(0, "write", "r", at * BLOCK, 32 * BLOCK, "0")
    clients(0, "close", "r")
    began = time.monotonic()
    while good and (time.monotonic() < began + RANDOM_SECONDS
                    or done < RANDOM_TURNS and time.monotonic() < began + LONG):
        which = done % 2
        clients(which, "open", "r")
        for _ in range(60):
            at = dice.randrange(BLOCKS)
            if dice.random() < 0.4:
                model[at] = dice.randrange(1, 1 << 60)
                clients(which, "write", "r", at * BLOCK, BLOCK, f"{model[at]:x}")
            elif clients.wrong(which, "r", at * BLOCK, BLOCK, model[at]) != 0:
                good = False
        clients(which, "close", "r")
        done += 1
    e2e.check(good and done >= RANDOM_TURNS, f"{mode}: reads and writes at random, two clients in turns",
              f"{done} turns")
    with open(f"{export}/{mode}r", "rb") as file:
        same = all(file.read(BLOCK) == content(first, at * BLOCK, BLOCK)
                   for at, first in enumerate(model))
    e2e.check(same, f"{mode}: and the file below is the model's")


def standing(clients):
    """Of the first client: its way, whether that may be so at its price, and unsaved pages."""
    *_, unsaved, _, way, price, bid = clients(0, "counts", "-")
    least, most = WAYS[way]
    return way, least <= float(price) / float(bid) <= most, int(unsaved)


def kept_or_saved(clients):
    """What it does with what was just written: (its ways, pages unsaved) at the looks of the last
    second and before, until that is saved, or kept for a second."""
    ways, agreed, unsaved = [], False, 0
    while len(ways) < LONG * 10:
        clients("wait", 100)
        way, agreed, unsaved = standing(clients)
        ways.append(way)
        if agreed and (not unsaved or len(ways) >= 10 and "accelerate" not in ways[-10:]):
            break
    e2e.check(agreed, "ca: its way is as the price is", way)
    return ways, unsaved


def behind(clients, export, mode):
    """What is written is kept for a while; with prices it is saved at once or kept, as they say. (The
    price is the machine's, which may be busy, and its disk slow.)"""
    clients(0, "create", "h")
    clients(0, "write", "h", 0, 20000, "6")
    if mode == "plain":
        clients("wait", 1000)
        *_, unsaved = standing(clients)
        e2e.check(unsaved == 5, "plain: kept until more is there", f"{unsaved} unsaved")
    else:
        ways, unsaved = kept_or_saved(clients)
        if "accelerate" in ways[-10:] or not unsaved:
            e2e.check("accelerate" in ways and unsaved == 0
                      and below(export, mode + "h", 0, 20000) == content(6, 0, 20000),
                      "ca: saved at once while it is cheap", f"{ways}, {unsaved} unsaved")
        else:
            e2e.check(unsaved == 5, "ca: kept while it is dear", f"{ways}, {unsaved} unsaved")
    clients(0, "close", "h")


def scripted(canfs, server, export, mode):
    clients = Clients(canfs, server, export, mode)
    handed_over(clients, export, mode)
    beside_others(clients, server, export, mode)
    small_things(clients, export, mode)
    at_random(clients, export, mode)
    behind(clients, export, mode)
    e2e.check(clients.end() == 0, f"{mode}: ends well")


def works(canfs, server, export, mode):
    groups = ["--group", "work=fileserver,clients=0-2,threads=4,files=40,size=64K,sizes=gamma",
              "--group", "work=webserver,clients=1-3,threads=4,files=50,size=16K,sizes=gamma",
              "--group", "work=copy,clients=3,files=12,sizes=log,size=2M,dirs=3",
              "--group", "work=randwrite,clients=0,threads=3,files=2,size=1M,io=4K,name=db",
              "--group", "work=log,clients=0,size=1M,io=128K"]
    for seconds in WORK_SECONDS:
        place = f"{export}/{mode}{seconds}"  # each on files of its own: the server remembers others
        os.mkdir(place)
        e2e.run(canfs, "--layout", place, *groups)
        done = subprocess.run([canfs, *address(server, place), *groups, "--mode", mode, "--memory",
                               "2M", "--seconds", str(seconds), "--from", "127.0.0.31"],
                              capture_output=True, text=True, check=False)
        found = json.loads(done.stdout) if done.returncode == 0 else None
        right = found and found["wrong_words"] == found["errors"] == 0
        worked = {g["name"]: g["ops"] for g in found["groups"]} if right else {}
        if not right or min(worked.values()) >= WORK_OPERATIONS:
            break
        e2e.note(f"{mode}: not enough in {seconds} s: {worked}")
    e2e.check(right, f"{mode}: works of many threads", done.stdout[-1000:] + done.stderr)
    e2e.check(min(worked.values(), default=0) >= WORK_OPERATIONS, f"{mode}: each of them goes on",
              worked)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    canfs, plugin = sys.argv[1], e2e.plugin_from(sys.argv[2:], __doc__)
    if not os.path.exists(canfs):
        e2e.skip(f"{canfs} was not built")
    e2e.enter()
    work = e2e.work_directory()
    export = e2e.loop_export(work, 2 << 30)
    server = e2e.Server("ra", [{"id": 1, "path": export, "pseudo": export}], work, plugin).start()
    for mode in ("plain", "ca"):
        scripted(canfs, server, export, mode)
        works(canfs, server, export, mode)
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
