# SPDX-License-Identifier: LGPL-3.0-or-later
"""ca-nfs-agent: two clients with equal weights, over time. See agent.py."""
import re
import time

from experiments.agent_bed import MIB, MOUNT, PAPER, ROOM, Asked, Shown

MINUTE = 60  # s
SAID = re.compile(r"^ *([\d.]+) .*: writes: (normal|defer|accelerate) \(")


def held(lines, begin, end):
    """(s in which writes were held back, how many such times began) between two times of an agent's
    lines."""
    since, total, count = None, 0.0, 0
    for line in (*lines, f"{end} end: writes: normal ("):
        found = SAID.match(line)
        if not found:
            continue
        at = float(found[1])
        if since is not None:
            total += max(0.0, min(at, end) - max(since, begin))
        since = at if found[2] == "defer" else None
        count += since is not None and begin <= at < end
    return total, count


def apart(a, b):
    """How far two numbers are apart, as part of their mean."""
    return abs(a - b) / max(1e-9, (a + b) / 2)


def sent_within(samples, begin, end):
    """What each client sent between the two samples that are nearest to these times."""
    first, last = (min(samples, key=lambda s: abs(s[0] - at)) for at in (begin, end))
    return [b - a for a, b in zip(first[1], last[1])]


class Fair(Shown):
    name = "a9"
    paper = f"{PAPER}: two clients with equal weights, over time"
    did = "CA-NFS, section 5: who pays the same gets the same, in the long run."
    ours = "Two guests write 8 MB/s each into files that stay open, beside a third without an " \
        "agent that reads at random with eight threads; after half a minute one minute is looked " \
        "at (full: every minute of three). Turns: the time in which a client held nothing back. " \
        "Written: what its programs could write. Sent: the bytes that its WRITEs took to the " \
        "server."
    paper_figure = "asked: over a minute turns, what was written and what was sent at most 10 % " \
        "apart, where both do hold back"
    seconds_quick, seconds_full = 112, 1500
    columns_quick = ("RA on",)
    columns_of = {"RA off": ("ra", None), "RA on": ("ra", (ROOM, ROOM, None))}
    number, mb = 3, 768
    disk = {"size_mb": 4096}
    keys = ("turns_apart", "written_apart", "sent_apart", "turns_s", "deferrals", "sent_mb",
            "reads_s")
    columns = (("", "series", "{}"), ("turns apart", "turns_apart", "{:.3f}"),
               ("written apart", "written_apart", "{:.3f}"), ("sent apart", "sent_apart", "{:.3f}"),
               ("turns, s a minute", "turns_s", "{:.1f}"), ("deferrals", "deferrals", "{:.0f}"),
               ("MB sent", "sent_mb", "{:.0f}"), ("reads/s", "reads_s", "{:.0f}"))
    asked = (Asked("turns apart", "turns_apart", most=0.1),
             Asked("written apart", "written_apart", most=0.1),
             Asked("sent apart", "sent_apart", most=0.1),
             Asked("deferrals of the one with fewer", "deferrals", least=2))
    RATE, LEAD, EVERY = 8e6, 30, 1.0

    def lay_out(self, bed, disk):
        bed.layout(disk, 1, 512 * MIB)

    def work(self, bed, at):
        *writing, reading = at.guests
        lasting = MINUTE if bed.quick else 3 * MINUTE
        reader = reading.start("agent_works.read_random", path=f"{MOUNT}/set/f0000", count=0,
                               threads=8)
        writers = [g.start("agent_works.write_file", path=f"{MOUNT}/written{n}", rate=self.RATE,
                           seconds=self.LEAD + lasting + 5, hold=True)
                   for n, g in enumerate(writing)]
        time.sleep(self.LEAD)
        began, samples = time.monotonic(), []
        self.ages = None if at.arguments is None else [g.call("client.agent_age") for g in writing]
        while not samples or samples[-1][0] < lasting:
            counted = [g.call("client.counted") for g in writing]
            samples.append((time.monotonic() - began, [c["server_written"] for c in counted],
                            [c["programs_written"] for c in counted]))
            time.sleep(self.EVERY)
        self.samples = samples
        read = reader.stop().value()
        at.disk.timing(False)  # what follows is not looked at
        for job in writers:
            job.stop().value()
        return {"reads_s": read["reads_s"]}

    def minutes(self):
        return [b for b, *_ in self.samples if b + MINUTE <= self.samples[-1][0] + self.EVERY]

    def once(self, bed, booted, column):
        found = super().once(bed, booted, column)
        sent = [sent_within(self.samples, b, b + MINUTE) for b in self.minutes()]
        written = [sent_within([(t, w) for t, _, w in self.samples], b, b + MINUTE)
                   for b in self.minutes()]
        found.update(sent_apart=max(apart(*s) for s in sent), sent_mb=sum(sent[0]) / 1e6,
                     written_apart=max(apart(*w) for w in written))
        if self.ages:
            found.update(self.turns(found["decisions"]))
        return found

    def turns(self, decisions):
        """Of the minute in which they were farthest apart; all by the clocks of the agents."""
        worst, least = None, None
        for begin in self.minutes():
            of = [held(told["said"], age + begin, age + begin + MINUTE)
                  for told, age in zip(decisions, self.ages)]
            turns = [MINUTE - seconds for seconds, _ in of]
            fewest = min(count for _, count in of)
            least = fewest if least is None else min(least, fewest)
            if worst is None or apart(*turns) > worst[0]:
                worst = (apart(*turns), sum(turns) / 2)
        return {"turns_apart": worst[0], "turns_s": worst[1], "deferrals": least}
