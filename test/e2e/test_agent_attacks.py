#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""ca-nfs-agent under attack: test_agent_attacks.py AGENT [SEED [TIMES]]

A machine made of files goes wrong at random: hundreds of mounts come and go, mountinfo, mountstats
and the numbers of memory are malformed, replies out of any range, groups vanish and come back,
knobs cannot be written, /run is full, the record has lines that no agent wrote; and the agent is
stopped for a while, told to read its settings, ended and killed in the middle of it. After each
time all is well again but what the agent left: the next start, or --restore, puts every knob back,
and no other file was touched.
"""
import ctypes
import os
import random
import signal
import sys
import time

import e2e
from agent_machine import LONG, Agent, Machine, load_codec, priced, run

MOUNTS, SEEN = 300, 12  # that are listed; whose replies can differ
TIMES, EVENTS = 4, 16   # the agent is started so often, and so much happens to each
GROUPS = ("/backup", "/db")
LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
HALT, KEEP = "cgroup.freeze", "memory.low"
NUMBERS = (0, 1, -1, 2 ** 31, 2 ** 63, 2 ** 64 - 1, 10 ** 30)
WORDS = ("", "max", "nan", "\x01\xff", "9" * 400, "- - -", "%s%n", "/" * 5000)
PAUSE = 0.08  # s, between two events
FEW = 20      # knobs that are turned when it begins


def exchange(path, other):
    """Neither is gone at any time: what is gone need not be put back."""
    if LIBC.renameat2(AT_FDCWD, path.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), f"renameat2 {path}")


class Attacked(Machine):
    """Its knobs by name: what an agent found. Those of a mount go with it, and come back as new."""

    def __init__(self, work, name, draw):
        super().__init__(work, name)
        self.draw, self.blocked, self.mounts, self.full = draw, [], set(), False
        self.found = {"proc/sys/vm/dirty_background_ratio": 10, "proc/sys/vm/dirty_ratio": 20}
        for group in GROUPS:
            self.group_comes(group)
        self.write("proc/self/cgroup", "0::/system.slice/agent.service\n")
        self.write("etc-passwd", "0\n")
        self.write("agent.conf", "".join(f"mount /mnt/{n}\n" for n in range(MOUNTS)) +
                   "halt 0.1 /backup\nkeep 40 /db\nflush-point 60\ndirty-min 0\n")
        self.mount(range(MOUNTS))

    # ---- what is there

    def knobs_of(self, number):
        return [f"sys/class/bdi/0:{100 + number}/{k}" for k in ("min_ratio", "read_ahead_kb")]

    def make(self, knob, value):
        os.makedirs(f"{self.root}/{os.path.dirname(knob)}", exist_ok=True)
        self.found[knob] = value
        self.write(knob, f"{value}\n")

    def gone(self, knobs):
        for knob in knobs:
            self.unblock(knob)
            del self.found[knob]
            os.unlink(f"{self.root}/{knob}")

    def mount(self, numbers):
        numbers = set(numbers)
        for number in self.mounts - numbers:
            self.gone(self.knobs_of(number))
        for number in numbers - self.mounts:
            for knob, value in zip(self.knobs_of(number), (0, 128)):
                self.make(knob, value)
        self.mounts = numbers
        self.list_mounts()

    def group_comes(self, group):
        for knob in (HALT, KEEP):
            self.make(f"sys/fs/cgroup{group}/{knob}", 0)

    # ---- what goes wrong

    def junk(self):
        return self.draw.choice((*WORDS, *map(str, NUMBERS), str(self.draw.random()),
                                 self.draw.randbytes(40).decode("latin-1")))

    def spoilt(self, text):
        """Some lines of it, or parts, with others between."""
        lines = text.splitlines(keepends=True)
        for _ in range(self.draw.randrange(1, 5)):
            at = self.draw.randrange(len(lines) + 1)
            lines[at:at] = [f"{self.junk()} {self.junk()} {self.junk()}\n"]
        text = "".join(lines)
        return text[:self.draw.randrange(len(text))] if self.draw.random() < 0.3 else text

    def put(self, name, text):
        with open(f"{self.root}/{name}.new", "w", encoding="latin-1") as file:
            file.write(text)
        os.rename(f"{self.root}/{name}.new", f"{self.root}/{name}")

    def list_mounts(self, change=lambda text: text):
        self.put("proc/self/mountinfo", change("".join(
            f"{100 + n} 35 0:{100 + n} / /mnt/{n} rw - nfs s{n % 3}:/e/{n} rw,vers=3\n"
            for n in sorted(self.mounts))))

    def counters(self, change=lambda text: text):
        grown = self.draw.randrange(1 << 34)
        self.put("proc/self/mountstats", change("".join(
            f"device s:/e/{n} mounted on /mnt/{n} with fstype nfs statvers=1.1\n"
            f"\tevents: 1 2 3 4 {grown}\n"
            f"\tbytes: {grown} {grown} 0 0 {grown // 2} {grown // 3} 1 1\n"
            f"\t\tREAD: {grown} 1\n\t\tWRITE: {grown} 1\n" for n in sorted(self.mounts))))

    def bad_mounts(self):
        self.list_mounts(self.spoilt)

    def other_mounts(self):
        self.mount(self.draw.sample(range(MOUNTS), self.draw.randrange(MOUNTS // 2, MOUNTS)))

    def bad_counters(self):
        self.counters(self.draw.choice((self.spoilt, lambda text: text)))

    def bad_memory(self):
        self.put("proc/" + self.draw.choice(("vmstat", "meminfo")), self.spoilt("nr_dirty 1\n" * 3))

    def prices(self):
        """Dear as a rule: then knobs are turned."""
        write = 0.0 if self.draw.random() < 0.05 else self.draw.uniform(0.6, 1)
        self.reply(priced(write, self.draw.uniform(0.6, 1)))

    def bad_reply(self):
        self.put("replies", f"{self.junk()} {self.junk()}\n")

    def block(self):
        """A knob, if possible one that is turned, can be neither read nor written, and is not gone
        either."""
        turned = [knob for knob in self.astray() if knob not in self.blocked]
        knob = self.draw.choice(turned or sorted(self.found))
        if knob not in self.blocked:
            os.mkdir(f"{self.root}/{knob}.aside")
            exchange(f"{self.root}/{knob}", f"{self.root}/{knob}.aside")
            self.blocked.append(knob)

    def unblock(self, knob):
        if knob in self.blocked:
            self.blocked.remove(knob)
            exchange(f"{self.root}/{knob}", f"{self.root}/{knob}.aside")
            os.rmdir(f"{self.root}/{knob}.aside")

    def unblock_one(self):
        if self.blocked:
            self.unblock(self.draw.choice(self.blocked))

    def group_goes(self):
        group = self.draw.choice(GROUPS)
        self.gone([k for k in self.found if k.startswith(f"sys/fs/cgroup{group}/")])
        self.draw.random() < 0.5 and self.group_comes(group)

    def no_run(self):
        """The record cannot be written: a directory is in its way."""
        way = f"{self.root}/run/ca-nfs-agent.state.new"
        if not self.full and not os.path.lexists(way):
            os.mkdir(way)
            self.full = True
        elif self.full:
            os.rmdir(way)
            self.full = False

    # ---- the end of a time

    def heal(self):
        for knob in list(self.blocked):
            self.unblock(knob)
        if self.full:
            self.no_run()
        self.ample_memory()  # with less the next agent may have reasons to turn none
        for group in GROUPS:
            if f"sys/fs/cgroup{group}/{HALT}" not in self.found:
                self.group_comes(group)

    def finish_writes(self):
        """Files are empty where an agent was killed between opening and writing; in /sys none is:
        it wrote what the record says, or what was found."""
        record = self.record()
        for knob in self.found:
            if not os.path.getsize(f"{self.root}/{knob}"):
                said = [line.split()[-1] for line in record if f"/{knob} found" in line]
                self.write(knob, f"{said[-1].replace('any', '77') if said else self.found[knob]}\n")

    def record(self):
        try:
            with open(f"{self.root}/run/ca-nfs-agent.state", encoding="latin-1") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def forge(self):
        """Lines that no agent wrote, in front of those that one did and behind them."""
        lines = self.record()
        forged = [f"knob {self.root}/etc-passwd found 1 set any",
                  f"knob {self.root}/sys/class/bdi/../../../etc-passwd found 1 set any",
                  f"knob {self.root}/sys/class/bdi/0:100/min_ratio found {self.junk()} set",
                  f"knob {'x' * 4000} found 1 set any", self.junk().replace("\n", " ")]
        if lines:
            self.put("run/ca-nfs-agent.state", "\n".join((*forged, *lines, *forged)) + "\n")

    def astray(self):
        """{knob: (what it stands at, what was found)} of those that can be read."""
        now = {}
        for knob in set(self.found) - set(self.blocked):
            with open(f"{self.root}/{knob}", encoding="latin-1") as file:
                now[knob] = file.read().strip()
        return {k: (v, self.found[k]) for k, v in now.items() if v != str(self.found[k])}


def strike(machine, agent, draw):
    """One agent's life, from when it has turned some knobs. How it ended, SIGTERM or SIGKILL; its
    status where it fell before; whether it turned some; and the agent."""
    a = Agent(machine, agent, "--config", f"{machine.root}/agent.conf", mounts=())
    machine.counters()
    turned = e2e.wait_for(lambda: machine.prices() or len(machine.astray()) > FEW, LONG)
    ways = (machine.bad_mounts, machine.other_mounts, machine.bad_counters, machine.bad_memory,
            machine.prices, machine.prices, machine.prices, machine.prices, machine.bad_reply,
            machine.block, machine.unblock_one, machine.group_goes, machine.no_run)
    for _ in range(EVENTS):
        for well in (machine.list_mounts, machine.counters, machine.prices):
            well()
        draw.choice(ways)()
        if draw.random() < 0.1:
            a.process.send_signal(signal.SIGHUP)
        if draw.random() < 0.1:
            a.process.send_signal(signal.SIGSTOP)
            time.sleep(2 * PAUSE)
            a.process.send_signal(signal.SIGCONT)
        time.sleep(draw.uniform(0, 2 * PAUSE))
    fell = a.process.poll()
    number = draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
    if fell is None:
        a.end(number)
    return number, fell, turned, a


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__.splitlines()[0])
    agent = os.path.realpath(sys.argv[1])
    seed, times = (int(given or own) for given, own in zip((*sys.argv[2:], None, None), (1, TIMES)))
    e2e.enter()
    load_codec()
    draw = random.Random(seed)
    machine = Attacked(e2e.work_directory(), "attacked", draw)
    for number in range(times):
        how, fell, turned, a = strike(machine, agent, draw)
        e2e.check(turned, f"{number}: it turns knobs", a.text[-1500:])
        machine.heal()
        machine.finish_writes()
        if how == signal.SIGKILL:
            machine.forge()
        if draw.random() < 0.5:
            result = run(machine.command(agent, "--restore"))
            restored = f"{result.stdout}{result.stderr}"
        else:
            machine.reply("6553600 6000000\n")  # no prices: the next agent turns nothing
            b = Agent(machine, agent, "--config", f"{machine.root}/agent.conf", mounts=())
            b.waits("nothing is mounted there: not yet" if not machine.mounts else ": ")
            b.end()
            restored = b.text
        e2e.check(fell is None, f"{number}: it goes on whatever comes", (fell, a.text[-2000:]))
        e2e.check(not machine.astray(), f"{number}: after {how.name} every knob is as it was found",
                  (machine.astray(), a.text[-1500:], restored[-3000:]))
        with open(f"{machine.root}/etc-passwd", encoding="ascii") as file:
            e2e.check(file.read() == "0\n", f"{number}: nothing else is touched")
    e2e.finish()


if __name__ == "__main__":
    main()
