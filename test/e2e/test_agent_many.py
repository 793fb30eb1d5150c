#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""ca-nfs-agent with a hundred mounts: test_agent_many.py AGENT

What it costs, counted in system calls and memory, not in time; and that of a hundred mounts those of one
server hang, come and go, while the others are looked after. On machines of files (agent_machine.py).
"""
import os
import re
import signal
import subprocess
import sys

import e2e
from agent_machine import LONG, Agent, Machine, Opens, Server, at_once, load_codec, priced, run

MOUNTS, SERVERS = 100, 4
PACE = ("--interval", "2", "--answer", "10")  # the defaults
SECONDS = 6  # that are counted
# A question: the agent wakes a child, which answers (in a test out of a file) and wakes the agent. Beside that
# there are rounds, ten a second, that look at memory and mounts and write the record.
CALLS_A_QUESTION, CALLS_A_LOOK = 16, 200
CALLS_A_MOUNT = 20  # its knobs are found, recorded, turned and put back
CHILDREN = 80  # made in all; one for each question would be hundreds
PSS_MAX = 20 << 10  # KiB
CHILDREN_OF_A_SERVER, IDLE_CHILDREN = 8, 16


def line(number, server):
    return (f"{100 + number} 35 0:{100 + number} / /mnt/{number} rw,noatime - nfs "
            f"server{server}:/export/{number} rw,vers=3,rsize=1048576\n")


class Hundred(Machine):
    """A hundred mounts of four servers; all replies come from one file, but those of the servers that
    hang."""

    def __init__(self, work, name):
        super().__init__(work, name)
        for number in range(MOUNTS):
            knobs = f"sys/class/bdi/0:{100 + number}"
            os.makedirs(f"{self.root}/{knobs}")
            self.write(f"{knobs}/min_ratio", "0\n")
            self.write(f"{knobs}/read_ahead_kb", "128\n")
        self.replies = f"{self.root}/servers"
        os.makedirs(f"{self.replies}/mnt")
        os.mkfifo(f"{self.root}/nobody")
        self.hangs(())
        self.mounted(range(MOUNTS))
        self.reply(priced(0.5, 0.5))  # from the first question on: one without takes many more

    def mounted(self, numbers):
        self.write("proc/self/mountinfo", "".join(line(n, n % SERVERS) for n in numbers))

    def hangs(self, servers):
        for number in range(MOUNTS):
            made = f"{self.replies}/mnt/made"
            os.symlink(f"{self.root}/nobody" if number % SERVERS in servers else
                       f"{self.root}/replies", made)
            os.rename(made, f"{self.replies}/mnt/{number}")

    def read_aheads(self):
        return [self.knob(f"sys/class/bdi/0:{100 + n}/read_ahead_kb") for n in range(MOUNTS)]

    def untouched(self):
        return set(self.read_aheads()) == {128}


def paths():
    return [f"/mnt/{number}" for number in range(MOUNTS)]


def pss(process):
    """KiB; 0 of a child that has ended since it was listed."""
    found = re.search(r"^Pss:\s+(\d+)", e2e.proc_text(process, "smaps_rollup"), re.M)
    return int(found[1]) if found else 0


def counted(text):
    """Calls by name, of what strace -c writes."""
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) (?: *\d+)? *(\w+)$", text, re.M)
    return {name: int(count) for count, name in rows if name != "total"}


def test_cost(agent, work):
    machine = Hundred(work, "cost")
    server = Server(machine, 0.5, 0.5)
    opens = Opens(f"{machine.root}/proc/self/mountinfo")
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-c", "-o", f"{work}/calls",
         *machine.command(agent, *PACE, *paths())], stdout=subprocess.DEVNULL)
    e2e.at_exit(lambda: e2e.end_process(tracer))
    e2e.check(e2e.wait_for(lambda: not machine.untouched(), LONG),
              "a hundred mounts are looked after")
    process = e2e.children_of(tracer.pid)[0]
    memory = 0
    for _ in range(SECONDS):
        looked = opens.count()
        e2e.wait_for(lambda seen=looked: opens.count() >= seen + 2, LONG)
        memory = max(memory, sum(map(pss, [process, *e2e.children_of(process)])))
    os.kill(process, signal.SIGTERM)
    e2e.check(tracer.wait(LONG) == 0 and machine.untouched(), "and left as they were")
    server.stop()
    with open(f"{work}/calls", encoding="ascii") as file:
        calls = counted(file.read())
    questions = calls.get("kill", 0)
    made = sum(calls.get(name, 0) for name in ("clone", "clone3", "fork", "vfork"))
    # what is mounted is looked at twice a second at most
    most = questions * CALLS_A_QUESTION + opens.count() * CALLS_A_LOOK + MOUNTS * CALLS_A_MOUNT
    e2e.check(questions >= 100, f"{questions} questions were answered", calls)
    e2e.check(sum(calls.values()) < most, f"{sum(calls.values())} system calls, below {most}", calls)
    e2e.check(made <= CHILDREN, f"{made} children were made for {questions} questions", calls)
    e2e.check(memory < PSS_MAX, f"{memory} KiB of memory, with its children")


def test_a_server_hangs_with_all_its_mounts(agent, work):
    machine = Hundred(work, "hung")
    machine.hangs({0})
    server = Server(machine, 0.0, 1.0)
    a = Agent(machine, agent, *PACE, mounts=paths())
    live = [n for n in range(MOUNTS) if n % SERVERS]
    def turned():
        values = machine.read_aheads()
        return all((values[n] == 16) == (n in live) for n in range(MOUNTS))
    e2e.check(e2e.wait_for(turned, LONG), "those of the other servers are looked after",
              machine.read_aheads())
    most = CHILDREN_OF_A_SERVER + IDLE_CHILDREN + (SERVERS - 1) * CHILDREN_OF_A_SERVER
    e2e.check(len(a.children()) <= most, "few children wait for the one that hangs", a.children())
    e2e.check(a.waits("/mnt/0: no answer", LONG), "which is said", a.text)
    machine.mounted(live)  # umount -l
    e2e.check(a.waits("/mnt/0: nothing is mounted there"), "its mounts go", a.text)
    machine.hangs(())
    machine.mounted(range(MOUNTS))
    e2e.check(e2e.wait_for(lambda: set(machine.read_aheads()) == {16}, LONG),
              "and come back: all are looked after", machine.read_aheads())
    def shown():
        return run(machine.command(agent, "--status")).stdout.count(": believed, ") == MOUNTS
    e2e.check(e2e.wait_for(shown, LONG), "--status shows a hundred")
    a.end()
    e2e.check(a.process.returncode == 0 and machine.untouched(), "and it ends well", a.text[-500:])
    server.stop()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    agent = os.path.realpath(sys.argv[1])
    e2e.enter()
    load_codec()
    at_once((test_cost, test_a_server_hangs_with_all_its_mounts), agent, e2e.work_directory())
    e2e.finish()


if __name__ == "__main__":
    main()
