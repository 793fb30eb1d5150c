#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Two clients whose agents come and go: test_agent_coherence.py AGENT PLUGIN MECHDISK [--ops N]
[--seed S]

Two real Linux clients (User-mode Linux), PROGRAMS processes on each, write, close and read each
other's files, N operations in all (1000; as a soak 100000), while ca-nfs-agent on both is started,
ended, killed, and told prices that jump. A model of every file says what must be seen:

- close-to-open: whoever opens a file sees all that was written before the last close, byte for
  byte;
- who shares a kernel with the writer sees what was written at once;
- fsync, fdatasync, sync: the other client sees it too, though the file is still open;
- COMMIT: at some of these moments the power is cut (power_cut.py), and it is on the disk.

All programs of both clients are at work at the same time, each on files that the others leave alone
in that step. The agents are turned at moments of their own, in the middle of operations.
"""
import argparse
import base64
import collections
import os
import random
import signal
import sys
import threading
import time
import traceback
import zlib

import e2e
import guests
import modelled_disk
import power_cut
from guest_files import content

HERE = os.path.dirname(os.path.realpath(__file__))
FILES, SIZE_MOST = 96, 128 << 10
LARGE, LARGE_MOST = 8, 1 << 20  # one file in so many grows to that
# A name made in a directory has its client look up all others there again: so there are many.
DIRECTORIES = 32
PROGRAMS = 3  # on each client
STEP = 16  # operations of each client in a step
LENGTHS = (1, 100, 4096, 5000, 65536, 200000)
PIECES = (1000, 4096, 65536, 1 << 20)
SIZE_MB = 512
CUTS, CUT_EVERY = 4, 5000  # power cuts: at least, and one for so many operations
PAUSE = 0.3  # s, on average, between two turns of an agent,
STAY, STAYS = 8, 0.3  # ... but so many, and of how many of its lives: decisions take time
SOAK = 100000  # operations: agents live long enough meanwhile
PATIENCE = 900  # s: machines may be stopped for minutes
# Names and sizes are not for COMMIT to promise: stock Ganesha leaves them to the file system.
UNPROMISED = ("cut", "replace", "look", "write_held")
HELD = ("write_held", "save", "release")
SHOWN = 64  # bytes, of a difference
REMEMBERED = 12  # what was last done to a file
REPLIES = ("--replies", "/tmp/replies")
AGENTS = ((), ("--flush-point", "60"), ("--flush-point", "60", "--defer-max", "2"),
          ("--dirty-min", "0", "--readahead-max", "4096"))
# Told to each: those that jump are believed for a while only, and who believes none accelerates never.
PRICES = ("moody", "tidal")
# From Linux 6.13 on, or thereabouts, a server's file never has one time for two contents.
FINE_TIMES = (6, 13)
TIME_STEP = 0.012  # s, of coarser ones


def fine_times():
    release = os.uname().release.split(".")
    return (int(release[0]), int(release[1])) >= FINE_TIMES


class Toggled(threading.Thread):
    """A guest whose agent is turned off and on, from start() to stop()."""

    def __init__(self, guest, agent, seed, prices):
        super().__init__(daemon=True)
        self.guest, self.agent, self.on = guest, agent, False
        self.draw, self.stopping, self.wrong = random.Random(seed), threading.Event(), []
        self.saying = guest.start("client.say_prices", kind=prices,
                                  seed=self.draw.randrange(1000), lasting=0.7)
        self.counts = {"started": 0, "ended": 0, "killed": 0, "read again": 0}
        self.acts = {"defer": 0, "accelerate": 0, "read_ahead_kb": 0}  # of those that could say

    def run(self):
        try:
            while not self.stopping.wait(self.draw.expovariate(1 / PAUSE)):
                if self.on and self.draw.random() < STAYS:
                    self.stopping.wait(STAY)
                self.toggle()
        except Exception:  # the load would go on without it
            self.wrong.append(traceback.format_exc())

    def _call(self, call, **arguments):
        return self.guest.call(f"client.{call}", patience=PATIENCE, **arguments)

    def toggle(self):
        if not self.on:
            self._call("agent_start", program=self.agent, arguments=[
                "--interval", "0.25", "--answer", "1", *self.draw.choice(AGENTS),
                *(REPLIES if self.draw.random() < 0.8 else ())])
            self._count("started", True)
        elif self.draw.random() < 0.3:
            self._call("agent_signal", number=int(signal.SIGHUP))
            self._count("read again", True)
        elif self.draw.random() < 0.5:
            self.end()
        else:
            self._call("agent_end", number=int(signal.SIGKILL))
            if self.draw.random() < 0.5:
                self._call("agent_run", program=self.agent, arguments=["--restore"])
            self._count("killed", False)

    def _count(self, what, on):
        self.counts[what] += 1
        self.on = on

    def end(self):
        status, lines, _ = self._call("agent_end")
        self._count("ended", False)
        for act, said in (("defer", "writes: defer"), ("accelerate", "writes: accelerate"),
                          ("read_ahead_kb", "set read_ahead_kb")):
            self.acts[act] += sum(said in line for line in lines)
        if status:
            self.wrong.append(f"it ended with {status}: {lines[-5:]}")

    def stop(self):
        """No agent runs then, and no knob is turned."""
        self.stopping.set()
        self.join()
        if self.on:
            self.end()
        else:  # a killed one may have left knobs turned
            self._call("agent_run", program=self.agent, arguments=["--restore"])
        self.saying.stop()


class File:
    """What it must hold. `saved`: that of the last moment at which it had to be on the server."""

    def __init__(self, number):
        self.name = f"d{number % DIRECTORIES}/c{number}"
        self.data, self.there = bytearray(), False
        self.past = collections.deque(maxlen=REMEMBERED)  # (operation, guest, call, arguments)
        self.holder, self.dirty, self.program = None, False, number % PROGRAMS  # who has it open
        self.most = SIZE_MOST if number % LARGE else LARGE_MOST

    def write(self, offset, data):
        if offset > len(self.data):
            self.data += bytes(offset - len(self.data))
        self.data[offset:offset + len(data)] = data
        self.there = True


class Load:
    def __init__(self, clients, seed, record, path):
        self.clients, self.draw, self.record = clients, random.Random(seed), record
        self.path = path  # of the export, on the server's disk
        self.files = [File(n) for n in range(FILES)]
        self.cuts, self.noted = CUTS, 0
        self.done, self.wrong, self.moments, self.counts = 0, [], [], {}
        self.seeds, self.rest = seed * 1000003, 0 if fine_times() else TIME_STEP

    # ---- what may be done to a file: (the call, what becomes of the model)

    def _bytes(self):
        self.seeds += 1
        return {"seed": self.seeds, "length": self.draw.choice(LENGTHS)}

    def _offset(self, file):
        return self.draw.choice((0, self.draw.randrange(len(file.data) + 1), len(file.data)))

    def put(self, file, _):
        new = {**self._bytes(), "offset": self._offset(file), "piece": self.draw.choice(PIECES),
               "truncate": len(file.data) > file.most or self.draw.random() < 0.1}

        def become():
            if new["truncate"]:
                file.data.clear()
            file.write(new["offset"], content(new["seed"], new["length"]))
        return "put", new, become

    def append(self, file, _):
        new = self._bytes()
        return "append", new, lambda: file.write(len(file.data), content(**new))

    def mapped(self, file, _):
        if not file.data:
            return self.append(file, _)
        offset = self.draw.randrange(len(file.data))
        new = self._bytes()
        new.update(offset=offset, length=min(new["length"], len(file.data) - offset))
        return "mapped", new, lambda: file.write(offset, content(new["seed"], new["length"]))

    def cut(self, file, _):
        if not file.there:
            return self.append(file, _)
        size = self.draw.randrange(len(file.data) + 5000)

        def become():
            del file.data[size:]
            file.data += bytes(size - len(file.data))
        return "cut", {"size": size}, become

    def replace(self, file, _):
        new = self._bytes()

        def become():
            file.data[:] = content(**new)
            file.there = True
        return "replace", new, become

    def write_held(self, file, client):
        new = {**self._bytes(), "offset": self._offset(file), "piece": self.draw.choice(PIECES)}

        def become():
            file.write(new["offset"], content(new["seed"], new["length"]))
            file.holder, file.dirty = client, True
        return "write_held", new, become

    def save(self, file, _):
        def become():
            file.dirty = False
        return "save", {"how": self.draw.choice(("fsync", "fsync", "fdatasync", "sync"))}, become

    def release(self, file, _):
        def become():
            file.holder, file.dirty = None, False
        return "release", {}, become

    def look(self, file, client):
        return "look", {"length": len(file.data), "crc": zlib.crc32(file.data)}, lambda: None

    def choose(self, client, taken):
        """(file, call, arguments, what becomes) for that client; a file that the other one holds
        open may be looked at once it is saved."""
        file = self.draw.choice([f for f in self.files if f.name not in taken and (
            f.holder in (None, client) or f.there and not f.dirty)])
        if file.holder not in (None, client):
            return (file, *self.look(file, client))
        if file.holder is client:
            ways = (self.write_held, self.save, self.save, self.release, self.look)
        elif not file.there:
            ways = (self.put, self.append, self.replace, self.write_held)
        else:
            ways = (self.look, self.look, self.look, self.put, self.put, self.append, self.mapped,
                    self.cut, self.replace, self.write_held)
        return (file, *self.draw.choice(ways)(file, client))

    # ---- a step: each client does some things, all at the same time

    def program(self, file, call):
        """Descriptors are a program's own; all else any may do."""
        return file.program if call in HELD else self.draw.randrange(PROGRAMS)

    def step(self):
        taken, jobs, all_done = set(), [], []
        for client in self.draw.sample(self.clients, len(self.clients)):
            doing = []
            for _ in range(STEP):
                doing.append(self.choose(client, taken))
                taken.add(doing[-1][0].name)
            jobs.append((client, doing, client.guest.start("files.work", tasks=[
                (self.program(file, call), call, {"name": file.name, **arguments})
                for file, call, arguments, _ in doing])))
        for client, doing, job in jobs:
            for (file, call, arguments, become), seen in zip(doing, job.value(PATIENCE)):
                become()
                self.done += 1
                file.past.append((self.done, client.guest.number, call, arguments))
                self.counts[call] = self.counts.get(call, 0) + 1
                if call == "look":
                    self.compare(client, file, seen)
                all_done.append((file, call))
        self.note(all_done)
        time.sleep(self.rest)

    def compare(self, client, file, seen):
        if seen is None:
            return
        told, later = map(base64.b64decode, seen)
        at = next((i for i, (a, b) in enumerate(zip(told, file.data)) if a != b),
                  min(len(told), len(file.data)))
        self.wrong.append(
            f"after {self.done} operations guest {client.guest.number} saw {len(told)} bytes of "
            f"{file.name}, {len(file.data)} were right; different from {at} on: "
            f"{told[at:at + SHOWN].hex()} for {bytes(file.data[at:at + SHOWN]).hex()}; "
            f"a moment later it saw what is {self.which(later, file, told)}; "
            f"{'' if file.holder is None else f'held open by guest {file.holder.guest.number}, '}"
            f"agents {[c.on for c in self.clients]}; the server's file is "
            f"{self.of_server(file, told)}; done to it: {list(file.past)}")

    @staticmethod
    def which(data, file, told):
        return "right" if data == file.data else "as was seen" if data == told else "neither"

    def of_server(self, file, told):
        """Whether a client kept what is no more, or another one never sent what it wrote."""
        with open(f"{self.path}/{file.name}", "rb") as there:
            return self.which(there.read(), file, told)

    def note(self, done):
        """Now it must be on the disk: close(), fsync and their like have promised it. Of all such
        moments so many are kept as are looked at, each as likely."""
        at = os.path.getsize(self.record)
        for file, call in done:
            if call in UNPROMISED:
                continue
            self.noted += 1
            moment = (at, file.name, bytes(file.data))
            if len(self.moments) < self.cuts:
                self.moments.append(moment)
            elif self.draw.random() < self.cuts / self.noted:
                self.moments[self.draw.randrange(self.cuts)] = moment

    def run(self, operations):
        began, told = time.monotonic(), 0
        self.cuts = max(CUTS, operations // CUT_EVERY)
        while self.done < operations and not any((self.wrong, *(c.wrong for c in self.clients))):
            self.step()
            if self.done - told >= CUT_EVERY:
                told = self.done
                e2e.note(f"{told} operations, {time.monotonic() - began:.0f} s")

    def finish(self):
        """All is closed; each client looks at each file."""
        for client in self.clients:
            client.guest.call("files.work", patience=PATIENCE, tasks=[
                (file.program, "release", {"name": file.name})
                for file in self.files if file.holder is client])
        there = [file for file in self.files if file.there]
        for client in self.clients:
            seen = client.guest.call("files.work", patience=PATIENCE, tasks=[
                (self.draw.randrange(PROGRAMS), call, {"name": file.name, **arguments})
                for file in there for call, arguments, _ in [self.look(file, client)]])
            for file, what in zip(there, seen):
                self.compare(client, file, what)


def cut_power(record, work, moments):
    """What was promised is on the disk. Of a file that was changed later only that moment
    counts."""
    cuts = power_cut.PowerCuts(record, SIZE_MB << 20, e2e.temporary("cuts-", work), "ext4")
    wrong = []
    for at, name, data in moments:
        with cuts.mounted(at) as path:
            with open(f"{path}/{name}", "rb") as file:
                found = file.read()
        if found != data:
            wrong.append(f"{name}: {len(found)} bytes, {len(data)} were promised")
    cuts.close()
    e2e.check(not wrong, f"what close, fsync and their like promised is on the disk after "
              f"{len(moments)} power cuts", "\n".join(wrong))


def work_beside_agents(options, booted, record, path):
    """(the load, its clients) at the end of it."""
    clients = [Toggled(g, options.agent, f"{options.seed} {n}", prices)
               for n, (g, prices) in enumerate(zip(booted, PRICES))]
    for client in clients:
        client.toggle()
        client.start()
    load = Load(clients, options.seed, record, path)
    load.run(options.ops)
    load.finish()
    for client in clients:
        client.stop()
    return load, clients


def run(options, server, record, path):
    with guests.boot(2, modules=(guests.CLIENT, f"{HERE}/guest_files.py")) as booted:
        for guest in booted:
            guest.call("client.mount", port=server.port, mport=server.mport, export="/e1")
            guest.call("files.programs", count=PROGRAMS)
            guest.call("client.look_full")  # where it is free nothing is accelerated
        before = [g.call("client.knobs") for g in booted]
        load, clients = work_beside_agents(options, booted, record, path)
        after = [g.call("client.knobs") for g in booted]
        for guest in booted:
            guest.call("client.unmount")
    e2e.check(not load.wrong, f"{load.done} operations, seed {options.seed}: each byte is what it "
              "must be", "\n".join(load.wrong))
    e2e.check(before == after, "knobs are as they were", (before, after))
    e2e.check(not any(client.wrong for client in clients), "the agents end well when they are told "
              "to", [client.wrong for client in clients])
    acts = {act: sum(client.acts[act] for client in clients) for act in clients[0].acts}
    if options.ops >= SOAK:
        e2e.check(acts["defer"] and acts["accelerate"], "agents deferred and accelerated meanwhile", acts)
    e2e.note(f"operations {load.counts}, agents {[client.counts for client in clients]}, {acts}")
    return load


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agent", type=os.path.realpath)
    parser.add_argument("plugin")
    parser.add_argument("mechdisk")
    parser.add_argument("--ops", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not 1 <= options.ops <= 10 ** 7:
        parser.error(f"--ops {options.ops}: must be 1 to 10000000")
    plugin = e2e.plugin_from([options.plugin], "")
    e2e.enter(("linux.uml", "mount.nfs", "busybox"))
    work = e2e.work_directory()
    record = f"{work}/record"
    disk = modelled_disk.for_test(work, options.mechdisk, SIZE_MB, record=record)
    for number in range(DIRECTORIES):
        os.mkdir(f"{disk.mount}/d{number}")
    server = e2e.Server("ra", [{"id": 1, "path": disk.mount, "pseudo": "/e1",
                                "params": {"Fsstat_Prices": "true"}}], work, plugin).start()
    try:
        load = run(options, server, record, disk.mount)
    except guests.Unavailable as reason:
        e2e.skip(str(reason))
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    disk.down()
    cut_power(record, work, sorted(load.moments))
    e2e.finish()


if __name__ == "__main__":
    main()
