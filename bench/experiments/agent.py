# SPDX-License-Identifier: LGPL-3.0-or-later
"""What ca-nfs-agent brings: a client's kernel as it is, the agent off and on, the server stock and
RA.

CA-NFS' figures 2, 3, 4 and 10 with real Linux clients (User-mode Linux) and the knobs that an
unpatched kernel has, where bench/canfs has clients that can do what the paper's kernel did; then
what must not be lost. Each asks for a figure, and says in its verdict which it got. In
agent_costs.py: prices that are no good, weights, and what the agent costs; in agent_fair.py: turns.

Everything is smaller than the paper's: guests of 512 MB or 1 GB write files of up to half of that.
"""
import os
import random
import subprocess
import time

from experiments.agent_bed import (COLUMNS, MIB, MOUNT, PAPER, ROOM, WHOLE, Asked, NotRun, Shown,
                                   grown)
from experiments.agent_costs import Costs, Prices, Weights, knows
from experiments.agent_fair import Fair

LEAD = 5  # s: so long others are at work before, and the price is known
PAIR = ("RA off", "RA on")
TREE_WORKS = ("copy", "untar", "status", "compile")


class Defer(Shown):
    name = "a1"
    paper = f"{PAPER}: a writer that holds its file open (CA-NFS, figure 4)"
    did = "Reads at random of one client beside a writer on another."
    ours = "Eight readers of 8 KiB in one guest; another writes a file in one go and keeps it " \
        "open until they have done their reads, then closes it: its time is until that is done. " \
        "The column of the agent's defaults leaves the machine's limits on dirty memory alone."
    paper_figure = "asked: reads/s 1.35 x, the writer's time at most 1.02 x agent off, both " \
        "above RA"
    seconds_quick, seconds_full = 50, 1500
    columns_quick = PAIR
    mb = 1024
    columns_of = {**COLUMNS, "RA on, defaults": ("ra", ())}
    keys = ("reads_s", "read_p99_ms", "write_s", "total_s", "seeks", "disk_written_mb")
    columns = (("", "series", "{}"), ("reads/s", "reads_s", "{:.0f}"),
               ("p99 ms", "read_p99_ms", "{:.0f}"), ("write() s", "write_s", "{:.1f}"),
               ("writer's time s", "total_s", "{:.1f}"), ("seeks", "seeks", "{:.0f}"))
    asked = (Asked("reads/s", "reads_s", by="RA off", least=1.35),
             Asked("the writer's time", "total_s", by="RA off", most=1.02),
             Asked("above stock: reads/s", "reads_s", of="stock on", by="stock off", least=0.99))

    def lay_out(self, bed, disk):
        bed.layout(disk, 1, 512 * MIB)

    def work(self, bed, at):
        reading, writing = at.guests
        count, size = (900, 384 * MIB) if bed.quick else (1500, 512 * MIB)
        reader = reading.start("agent_works.read_random", path=f"{MOUNT}/set/f0000", count=count,
                               lead=LEAD)
        time.sleep(LEAD)
        writer = writing.start("agent_works.write_file", path=f"{MOUNT}/written", size=size,
                               hold=True)
        read = reader.value()
        wrote = writer.stop().value()
        return {"reads_s": read["reads_s"], "read_p50_ms": read["p50_ms"],
                "read_p99_ms": read["p99_ms"],
                **{key: wrote[key] for key in ("total_s", "write_s", "blocked_s", "close_s")}}


class Burst(Shown):
    name = "a2"
    paper = f"{PAPER}: a burst of two writers (CA-NFS, figure 10)"
    did = "Two clients write for 15 s, faster than the disk; writes that blocked, and bytes " \
        "written."
    ours = "For 8 s (full: 15) at 60 MB/s each on a disk of 60 MB/s; a write() that took more " \
        "than 20 ms was blocked."
    paper_figure = "asked: blocked time at most 0.75 x, bytes accepted 1.23 x agent off, above RA"
    seconds_quick, seconds_full = 65, 1500
    columns_quick = PAIR
    disk = {"rate_outer": 60, "rate_inner": 60, "size_mb": 4096}
    mb = 768
    keys = ("accepted_mb", "blocked_s", "first_blocked_s")
    columns = (("", "series", "{}"), ("MB accepted", "accepted_mb", "{:.0f}"),
               ("blocked s", "blocked_s", "{:.1f}"), ("from s", "first_blocked_s", "{:.1f}"))
    asked = (Asked("blocked time", "blocked_s", by="RA off", most=0.75),
             Asked("bytes accepted", "accepted_mb", by="RA off", least=1.23))
    RATE = 60e6

    def work(self, bed, at):
        jobs = [g.start("agent_works.write_file", path=f"{MOUNT}/written{n}", rate=self.RATE,
                        seconds=8 if bed.quick else 15, hold=True)
                for n, g in enumerate(at.guests)]
        time.sleep(8 if bed.quick else 15)
        at.disk.timing(False)  # what follows the burst is not looked at
        wrote = [j.stop().value() for j in jobs]
        return {"accepted_mb": sum(w["written"] for w in wrote) / 1e6,
                "blocked_s": sum(w["blocked_s"] for w in wrote),
                "first_blocked_s": min(w["first_blocked_s"] for w in wrote),
                "blocked_by_second": [w["blocked_by_second"] for w in wrote]}


class Reread(Shown):
    name = "a3"
    paper = f"{PAPER}: re-reads beside a writer on one client (CA-NFS, figure 3)"
    did = "A client writes 2 GB in order; on the same client another program re-reads."
    ours = "64 KB at random, a hundred times a second, from a set of half of the guest's memory " \
        "of 256 MB, as long as the writer writes 512 MB (full: 1 GB); hit rate by the kernel's " \
        "count. The reader is in a control group of its own, which the agent is told to keep, " \
        "but in the last column."
    paper_figure = "asked: a hit rate of 0.85 at least where it is 0.70 with the agent off, " \
        "above RA"
    seconds_quick, seconds_full = 70, 1500
    columns_quick = PAIR
    number, mb = 1, 256
    GROUP = "reader"
    KEEPS = (*ROOM, "--keep", f"60 /{GROUP}")
    columns_of = {**COLUMNS, "stock on": ("stock", KEEPS), "RA on": ("ra", KEEPS),
                  "RA on, not kept": ("ra", ROOM)}
    keys = ("hit_rate", "reads_s", "write_s", "total_s")
    columns = (("", "series", "{}"), ("hit rate", "hit_rate", "{:.3f}"),
               ("reads/s", "reads_s", "{:.0f}"), ("writer s", "total_s", "{:.1f}"))
    asked = (Asked("hit rate", "hit_rate", least=0.85),
             Asked("missed", "missed", by="RA off", most=0.5),
             Asked("reads/s", "reads_s", by="RA off", least=WHOLE),
             Asked("the writer's time", "total_s", by="RA off", most=1.02))
    # Of memory: with the agent off about 0.7 of it is hit. The guest has one processor, and what the
    # reader does on it the writer has not. A reader that goes on as soon as it is answered does more
    # where it hits, by up to a half, and the writer is that much later: so it reads at a rate that it
    # keeps in either case.
    SET, EVERY = 0.5, 0.01

    def once(self, bed, booted, column):
        if not knows(bed.program("ca-nfs-agent"), "keep"):
            raise NotRun("this agent has no --keep")
        if not booted[0].call("agent_works.cgroup", name=self.GROUP, knob="memory.low"):
            raise NotRun("the guest's kernel has no cgroups of version 2 with memory")
        return super().once(bed, booted, column)

    def lay_out(self, bed, disk):
        bed.layout(disk, 1, int(self.SET * self.mb) * MIB)

    def work(self, bed, at):
        guest, path = at.guests[0], f"{MOUNT}/set/f0000"
        guest.call("agent_works.apart", work="warm", within=self.GROUP, arguments={"path": path})
        reader = guest.start("agent_works.apart", work="read_random", within=self.GROUP,
                             arguments={"path": path, "count": 0, "request": 65536, "threads": 1,
                                        "every": self.EVERY})
        time.sleep(LEAD)
        before = at.counted()
        wrote = guest.call("agent_works.write_file", path=f"{MOUNT}/written",
                           size=(1 if bed.quick else 2) * 512 * MIB)
        came = grown(before, at.counted())
        read = reader.stop().value()
        missed = came["server_read"] / max(1, came["programs_read"])
        return {"hit_rate": 1 - missed, "missed": missed, "total_s": wrote["total_s"],
                "write_s": wrote["write_s"], "reads_s": came["programs_read"] / 65536
                / wrote["total_s"], "read_p99_ms": read["p99_ms"]}


class Previews(Shown):
    name = "a4"
    paper = f"{PAPER}: streams beside previews that stop early"
    did = "CA-NFS, section 3.3: read-ahead by its price."
    ours = "Four readers of large files in two guests make the server's read-ahead dear; then in " \
        "each guest a program reads the first 64 KiB of a file of 1 MiB, four times a second. " \
        "Bytes fetched for nothing: what came less what programs read, for each preview."
    paper_figure = "asked: bytes fetched for nothing at most 0.5 x, streams not slower than " \
        "agent off"
    seconds_quick, seconds_full = 100, 1500
    columns_quick = PAIR
    keys = ("waste_kib", "streams_mb_s", "previews_s", "waste_mb")
    columns = (("", "series", "{}"), ("KiB for nothing a preview", "waste_kib", "{:.0f}"),
               ("streams MB/s", "streams_mb_s", "{:.1f}"), ("previews/s", "previews_s", "{:.1f}"))
    asked = (Asked("fetched for nothing", "waste_kib", by="RA off", most=0.5),
             Asked("the streams", "streams_mb_s", by="RA off", least=WHOLE))
    disk = {"rate_outer": 40, "rate_inner": 40, "size_mb": 4096}  # so that it is waited for
    LENGTH, EVERY = 64 << 10, 0.25

    @staticmethod
    def size(bed):
        """(s, files to look into)"""
        return (14, 160) if bed.quick else (30, 400)

    def lay_out(self, bed, disk):
        bed.layout(disk, 4, (256 if bed.quick else 640) * MIB, "streams")
        bed.layout(disk, self.size(bed)[1], MIB, "previews")

    def work(self, bed, at):
        seconds, files = self.size(bed)
        streams = [g.start("agent_works.read_whole", paths=[
            f"{MOUNT}/streams/f{i:04}" for i in (2 * n, 2 * n + 1)])
            for n, g in enumerate(at.guests)]
        time.sleep(LEAD)
        before, began = at.counted(), time.monotonic()
        half = files // 2
        looking = [g.start("agent_works.previews", length=self.LENGTH,
                         every=self.EVERY, paths=[
            f"{MOUNT}/previews/f{i:04}" for i in range(n * half, (n + 1) * half)])
            for n, g in enumerate(at.guests)]
        time.sleep(seconds)
        seen = [j.stop().value() for j in looking]
        came, took = grown(before, at.counted()), time.monotonic() - began
        for job in streams:
            job.stop().value()
        shown, waste = sum(s["files"] for s in seen), came["server_read"] - came["programs_read"]
        read = came["programs_read"] - sum(s["bytes"] for s in seen)
        return {"waste_kib": waste / 1024 / max(1, shown), "streams_mb_s": read / 1e6 / took,
                "previews_s": shown / took, "waste_mb": waste / 1e6}


class Trees(Shown):
    name = "a5"
    paper = f"{PAPER}: trees of files (CA-NFS, figure 2)"
    did = "One thread copies a directory: 15 % faster."
    ours = "One guest copies a tree of 100 files (full: 300) within the mount, unpacks it from " \
        "an archive, looks at it with git status and compiles three files (twelve); each close() " \
        "waits, as close-to-open wants."
    paper_figure = "asked: none below 0.98 x agent off"
    seconds_quick, seconds_full = 80, 1800
    columns_quick = PAIR
    number, mb = 1, 512
    needs = (*Shown.needs, "git", "gcc", "make", "tar")
    keys = tuple(f"{w}_s" for w in TREE_WORKS)
    columns = (("", "series", "{}"), *((f"{w} s", f"{w}_s", "{:.2f}") for w in TREE_WORKS))
    asked = tuple(Asked(w, f"{w}_s", of=f"{kind} on", by=f"{kind} off", most=1 / WHOLE)
                  for kind in ("RA", "stock") for w in TREE_WORKS)
    def lay_out(self, bed, disk):
        draw, repo = random.Random(bed.seed), f"{disk.mount}/repo"
        for number in range(100 if bed.quick else 300):
            directory = f"{repo}/d{number % 20:02}"
            os.makedirs(directory, exist_ok=True)
            with open(f"{directory}/f{number:04}", "wb") as file:
                file.write(draw.randbytes(int(4096 * 2 ** (6 * draw.random()))))
        quiet = ("git", "-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost")
        for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all")):
            subprocess.run([*quiet, *command], check=True)
        self.archive = f"{disk.work}/tree.tar"
        subprocess.run(["tar", "-cf", self.archive, "--exclude=.git", "-C", disk.mount, "repo"],
                       check=True)
        self.sources(f"{disk.mount}/sources", 3 if bed.quick else 12)

    @staticmethod
    def sources(directory, number):
        os.mkdir(directory)
        names = [f"s{n}" for n in range(number)]
        for name in names:
            body = "".join(f"int {name}_{i}(int x) {{ return printf(\"%d\", x * {i}); }}\n"
                           for i in range(200))
            with open(f"{directory}/{name}.c", "w", encoding="ascii") as file:
                file.write("#include <stdio.h>\n#include <stdlib.h>\n" + body)
        with open(f"{directory}/Makefile", "w", encoding="ascii") as file:
            file.write("all: " + " ".join(f"{n}.o" for n in names) + "\n")

    def work(self, bed, at):
        return at.guests[0].call("agent_works.tree_works", mount=MOUNT, archive=self.archive,
                                 patience=300)


EXPERIMENTS = [Defer, Burst, Reread, Previews, Trees, Weights, Prices, Costs, Fair]
