# SPDX-License-Identifier: LGPL-3.0-or-later
"""ca-nfs-agent: weights of mounts, prices that are no good, and what an agent costs. See
agent.py."""
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from experiments.agent_bed import (MIB, MOUNT, PAPER, ROOM, SETTLE, Asked, Mounted, NotRun, Shown, grown,
                                   scene)
from experiments.canfs_bed import disk_figures

import agent_machine  # noqa: E402
import guest_client  # noqa: E402

LEAD = 5  # s: so long others are at work before, and the price is known
NATIVE = "100 mounts, native"
REPLIES = "/tmp/replies"  # as guest_client.py has it


def knows(program, option):
    """Whether that agent has such an option."""
    return f"--{option}" in subprocess.run([program, "--help"], check=True, capture_output=True,
                                           text=True).stdout


def most_beside(reading, writing, kept, ways=2):
    """How much a writer can have at most, of what a reader leaves who thinks between reads and keeps
    so much of its rate alone: (in the time in which the reader thinks, by turns of seconds).
    READING, WRITING: parts of the disk's time that each takes alone; where the writer does not use
    the disk it has work of its own, in which the reader is alone. WAYS: what the heads move for a
    read that comes between writes, there and back, as a multiple of a read's time alone.

    In what is left the writer has the disk but for these ways, two at least, for a read's time alone
    has one, and longer ones where its data lies apart from what it writes. Writing between fewer of
    the reads saves ways and wastes more: while the reader thinks nobody has the disk then. By turns
    of seconds the reader has nothing in the writer's."""
    beside = kept  # of the reader's rate alone, while the writer uses the disk
    for _ in range(100):
        # of the writer's alone
        rate = 1 / (writing / max(1e-9, 1 - ways * reading * beside) + 1 - writing)
        idle = rate * (1 - writing)
        beside = max(0, (kept - idle) / (1 - idle))
    return rate / (1 - reading), (1 - kept) / (1 - reading)


class Weights(Shown):
    name = "a6"
    paper = f"{PAPER}: a backup of weight 0.1 beside an interactive client"
    did = "CA-NFS, section 5: who is willing to pay more goes first."
    ours = "In one guest a program reads 8 KiB at random and thinks; in another a backup writes " \
        "files of 32 MB and closes each. What is left for the backup: its rate alone, less the " \
        "share of the disk's time that the interactive one takes alone. It thinks for 20 ms, as a " \
        "program does, or for 100, as who looks at what it shows. The server's machine has its own " \
        "limits on dirty memory, but in the last column, of a full run: there a file of the backup " \
        "is as much as the kernel's flusher lets gather."
    paper_figure = "asked: the interactive one within 15 % of being alone; the backup gets 0.8 " \
        "of what is left"
    seconds_quick, seconds_full = 120, 1500
    memory = "host"
    keys = ("reads_s", "read_p50_ms", "backup_mb_s", "busy", "of_left")
    columns = (("", "series", "{}"), ("reads/s", "reads_s", "{:.1f}"),
               ("p50 ms", "read_p50_ms", "{:.1f}"), ("backup MB/s", "backup_mb_s", "{:.1f}"),
               ("disk busy", "busy", "{:.2f}"), ("of what is left", "of_left", "{:.2f}"))
    ALONE, BACKUP = "interactive alone", "backup alone"
    WEIGHT, CGROUP = 0.1, "backup"
    MOUNT_WEIGHS = (*ROOM, "--weight", f"{WEIGHT} {MOUNT}")
    HALTS = (*MOUNT_WEIGHS, "--halt", f"{WEIGHT} /{CGROUP}")
    SLOW_ALONE, SLOW = "interactive alone, 100 ms", "RA on, 100 ms"
    TURNS, TURN_MS = "RA on, short turns", 20
    LITTLE = "RA on, little memory"
    # What the backup's agent is told; the interactive client's has its defaults.
    columns_of = {ALONE: ("ra", None), BACKUP: ("ra", None), "RA off": ("ra", None),
                  "RA on, mount only": ("ra", (ROOM, MOUNT_WEIGHS)),
                  "RA on": ("ra", (ROOM, HALTS)), SLOW_ALONE: ("ra", None),
                  SLOW: ("ra", (ROOM, HALTS)), TURNS: ("ra", (ROOM, HALTS)),
                  LITTLE: ("ra", (ROOM, HALTS))}
    columns_quick = (ALONE, BACKUP, "RA on", SLOW_ALONE, SLOW)
    asked = (Asked("who thinks 20 ms, beside alone", "reads_s", by=ALONE, least=0.85),
             Asked("the backup, of what is left", "of_left", least=0.8),
             Asked("who thinks 100 ms, beside alone", "reads_s", of=SLOW, by=SLOW_ALONE, least=0.85),
             Asked("the backup beside that one", "of_left", of=SLOW, least=0.8))
    THINK, THINK_SLOW = 0.02, 0.1

    def lay_out(self, bed, disk):
        bed.layout(disk, 1, 512 * MIB)

    def once(self, bed, booted, column):
        self.column = column
        self.fsal = {"Writeback_Turn": self.TURN_MS} if column == self.TURNS else None
        self.memory = "small" if column == self.LITTLE else type(self).memory
        for option in ("weight", "halt"):
            if not knows(bed.program("ca-nfs-agent"), option):
                raise NotRun(f"this agent has no --{option}")
        if not booted[1].call("agent_works.cgroup", name=self.CGROUP):
            raise NotRun("the guest's kernel has no cgroups of version 2")
        return super().once(bed, booted, column)

    def work(self, bed, at):
        reading, saving = at.guests
        seconds = 15 if bed.quick else 60
        jobs, slow = [], (self.SLOW_ALONE, self.SLOW)
        # Nobody need get used to a price that nobody hears; a backup must have filled its memory.
        lead = 1 if self.column in (self.ALONE, self.SLOW_ALONE) else LEAD
        if self.column != self.BACKUP:
            jobs.append(reading.start("agent_works.read_random", path=f"{MOUNT}/set/f0000", count=0,
                                      threads=1, lead=lead, think=self.THINK_SLOW
                                      if self.column in slow else self.THINK))
        if self.column not in (self.ALONE, self.SLOW_ALONE):
            jobs.append(saving.start("agent_works.save_files", directory=MOUNT, size=32 * MIB,
                                     lead=lead, within=self.CGROUP))
        time.sleep(lead)
        before = at.disk.stats()
        time.sleep(seconds)
        after = at.disk.stats()
        grew = grown(before, after)
        found = {"busy": grew["busy_ms"] / 1000 / seconds, **disk_figures(before, after)}
        if grew["reads"]:
            found["ways_ms"] = (grew["seek_ms"] + grew["rotation_ms"]) / grew["reads"]
        for job in jobs:
            job.stop()
        for told in (job.value() for job in jobs):
            found.update({"reads_s": told["reads_s"], "read_p50_ms": told["p50_ms"]}
                         if "reads_s" in told else {"backup_mb_s": told["mb_s"]})
        return found

    def also(self, done):
        """What a disk could do, by what both took of it alone."""
        reads_s, reading = (done.median(self.ALONE, key) for key in ("reads_s", "busy"))
        writing = done.median(self.BACKUP, "busy")
        if not (reads_s and reading and writing):
            return None
        kept, read = self.asked[0].least, 1000 * reading / reads_s
        ways = max(2 * read, done.median("RA on", "ways_ms") or 0)
        gaps, slices = most_beside(reading, writing, kept, ways / read)
        return (f"This disk could do no more than this: a read took {read:.1f} ms of its time "
                f"alone; where the backup writes before the next one, the heads' ways there and "
                f"back took {ways:.1f} ms; so beside {kept:g} of the reads the "
                f"backup can have {gaps:.2f} of what is left, if no moment is lost; by turns "
                f"of seconds, {slices:.2f}",
                {"possible": {"gaps": gaps, "slices": slices}})

    def add(self, done):
        """What the backup got of what was left for it, round by round."""
        of = {(r["series"], r["round"]): r["figures"] for r in done.records if r.get("figures")}
        for (column, number), figures in of.items():
            beside = self.SLOW_ALONE if column == self.SLOW else self.ALONE
            alone, free = of.get((self.BACKUP, number)), of.get((beside, number))
            if column.startswith("RA") and alone and free:
                left = alone["backup_mb_s"] * max(0.05, 1 - free["busy"])
                figures["of_left"] = figures["backup_mb_s"] / left


class Prices(Shown):
    name = "a7"
    paper = f"{PAPER}: prices that are no good, and none"
    did = "-"
    ours = "One guest writes a file and closes it, reads one in order and one at random, without the agent and with " \
        "it, in turns on one mount, each of a pair first in turn; the server is idle beside it, states no prices " \
        "(stock), or prices come from one that always says the highest, jumps from second to second, or has stopped."
    paper_figure = "asked: the time of the work within 1 % of agent off; no knob leaves its range"
    seconds_quick, seconds_full = 140, 2400
    number, mb = 1, 512
    PAIRS = 2, 6  # of a round, quick and full
    TOLD = ("--replies", REPLIES)
    columns_of = {"an idle server": ("ra", ROOM), "no prices": ("stock", ROOM),
                  "prices always high": ("ra", (*ROOM, *TOLD)), "prices jump": ("ra", (*ROOM, *TOLD)),
                  "prices frozen": ("ra", (*ROOM, *TOLD))}
    SAID = {"prices always high": "high", "prices jump": "jumping", "prices frozen": "frozen"}
    keys = ("ratio", "off_s", "on_s", "strayed")
    columns = (("", "series", "{}"), ("on over off", "ratio", "{:.3f}"), ("off, s", "off_s", "{:.3f}"),
               ("on, s", "on_s", "{:.3f}"), ("knobs astray", "strayed", "{:.0f}"))
    asked = (*(Asked(f"{name}, on over off", "ratio", of=name, most=1.01) for name in columns_of),
             *(Asked(f"knobs out of their range, {name}", "strayed", of=name, most=0) for name in columns_of))
    # What the manual says that they may be, and what a guest has without an agent.
    RANGES = {"min_ratio": (0, 90), "read_ahead_kb": (16, 1024), "max_ratio": (1, 100),
              "dirty_background_ratio": (1, 80), "dirty_ratio": (1, 100)}

    def once(self, bed, booted, column):
        kind, arguments = self.columns_of[column]
        count = self.PAIRS[not bed.quick]
        with scene(bed, kind, lambda disk: bed.layout(disk, 4 * count, 32 * MIB)) as (disk, server):
            said = self.SAID.get(column)
            saying = said and booted[0].start("client.say_prices", kind=said)
            at = Mounted(bed, booted, disk, server, None, believed=kind == "ra" and said != "frozen")
            try:
                with at:
                    found = paired(pairs(at, arguments, count))
            finally:
                if saying:
                    saying.stop()
            found["strayed"] = sum(
                not low <= span[0] <= span[1] <= high for told in at.ranges
                for name, (low, high) in self.RANGES.items() if (span := told.get(name)))
            found.update(decisions=at.decisions, ranges=at.ranges)
            return found


def pairs(at, arguments, count):
    """Seconds of the same work, [(without the agent, with it), …]. Either waits as long before it as an agent needs."""
    found = []
    for pair in range(count):
        took = {}
        for on in (False, True) if pair % 2 == 0 else (True, False):
            with at.agents(arguments) if on else contextlib.nullcontext():
                if not on:
                    time.sleep(SETTLE)
                took[on] = at.guests[0].call("agent_works.little_work", directory=MOUNT,
                                             number=2 * pair + on, patience=300)
        found.append((took[False], took[True]))
    return found


def paired(times):
    """The figures of such pairs."""
    off, on = zip(*times)
    return {"ratio": statistics.median(b / a for a, b in times), "off_s": statistics.median(off),
            "on_s": statistics.median(on)}


class Costs(Shown):
    name = "a8"
    paper = f"{PAPER}: a hundred mounts"
    did = "-"
    ours = "An agent looks after 100 mounts with knobs of their own, its defaults, a server that " \
        "states prices, nothing else to do; processor time of it and its children, and its " \
        "memory. In a guest a system call costs several times a machine's; so the processor's " \
        "share is that of the third column: on this machine, the mounts being files, with all " \
        "but the statfs itself."
    paper_figure = "asked: below 1 % of a processor, below 20 MB"
    seconds_quick, seconds_full = 125, 900
    number, mb = 1, 512
    columns_of = {"100 mounts": 100, "1 mount": 1, NATIVE: 100}
    keys = ("cpu_percent", "rss_mb", "pss_mb", "children")
    columns = (("", "series", "{}"), ("% of a processor", "cpu_percent", "{:.2f}"),
               ("MB", "rss_mb", "{:.1f}"), ("MB, shared parts by share", "pss_mb", "{:.1f}"))
    columns_quick = ("100 mounts", NATIVE)
    asked = (Asked("% of a processor", "cpu_percent", of=NATIVE, most=1),
             Asked("MB", "rss_mb", of="100 mounts", most=20))

    def once(self, bed, booted, column):
        guest, program = booted[0], bed.program("ca-nfs-agent")
        if column == NATIVE:
            return self.figures(*self.native(bed, program, self.columns_of[column]))
        with scene(bed, "ra", lambda disk: None) as (disk, server):
            paths = guest.call("agent_works.mount_many", count=self.columns_of[column],
                               port=server.port, mport=server.mport, export=disk.mount)
            try:
                guest.call("client.agent_start", program=program, at=paths)
                if not guest.call("client.agent_waits", text="states prices", seconds=20):
                    raise RuntimeError("the agent believes no server")
                time.sleep(3 * LEAD)  # until all are believed
                seconds = self.lasting(bed)
                cost = guest.call("client.agent_cost", seconds=seconds, patience=seconds + 60)
            finally:
                guest.call("client.agent_end")
                guest.call("agent_works.unmount_many", paths=paths)
        return self.figures(cost, seconds)

    @staticmethod
    def lasting(bed):
        return 10 if bed.quick else 60

    @staticmethod
    def figures(cost, seconds):
        return {"cpu_percent": 100 * cost["cpu_s"] / seconds, "rss_mb": cost["rss"] / 1e6,
                "pss_mb": cost["pss"] / 1e6, "children": cost["children"]}

    def native(self, bed, program, count):
        """(cost, seconds) with mounts that are files."""
        agent_machine.load_codec()
        with tempfile.TemporaryDirectory(prefix="agent-") as work:
            made = agent_machine.Machine(work, "machine")
            paths = [f"/mnt/many/{n}" for n in range(count)]
            made.write("proc/self/mountinfo", "".join(
                agent_machine.NFS.replace("36 ", f"{100 + n} ", 1).replace("0:47", f"0:{1000 + n}")
                .replace(agent_machine.MOUNT, path) for n, path in enumerate(paths)))
            for n, path in enumerate(paths):
                os.makedirs(made.root + path)
                shutil.copytree(f"{made.root}/sys/class/bdi/0:47",
                                f"{made.root}/sys/class/bdi/0:{1000 + n}")
            server = agent_machine.Server(made)
            try:
                guest_client.agent_start(program, made.command(program)[1:], paths)
                if not guest_client.agent_waits("states prices", 20):
                    raise RuntimeError("the agent believes no server")
                time.sleep(3 * LEAD)
                return guest_client.agent_cost(self.lasting(bed)), self.lasting(bed)
            finally:
                guest_client.agent_end()
                server.stop()
