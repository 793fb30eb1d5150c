# SPDX-License-Identifier: LGPL-3.0-or-later
"""The blind set: works that no default was tuned on, run last and reported whatever they say."""
import plot
from experiments import rounds
from experiments.experiment import Experiment, Outcome

KIB = 1024
MIB = 1024 * KIB
NOT_BELOW = 0.97  # of stock; the least that any work may get


class OddSizes(Experiment):
    """Four readers of requests that are no power of two."""
    name = "blind1"
    paper = "none: a work that no default was tuned on"
    did = "-"
    ours = "Four readers of 24 KiB at a time, three outstanding each: it fits no chunk."
    paper_figure = "-"
    seconds_quick, seconds_full = 40, 240
    columns = (("server", "series", "{}"), ("MB/s", "mb_s", "{:.1f}"))

    def run(self, bed):
        with bed.disk(size_mb=1024) as disk:
            work = bed.layout(disk, 4, (16 if bed.quick else 64) * MIB)

            def once(name, _):
                found = bed.once(disk, name, ["--work", "seq", "--readers", 4, *work.args,
                                              "--request", 24 * KIB, "--outstanding", 3])
                return {"mb_s": found["total"]["mb_s"], "cpu_s": found["server"]["cpu_s"],
                        "disk_bytes": found["server"]["disk"]["read_bytes"]}

            done = rounds.run(bed, ["stock", "tuned", "ra"], once)
        gain = done.ratio("ra", "stock", "mb_s")
        verdict = "better" if gain["low"] > 1 else \
            "reproduced" if gain["median"] >= NOT_BELOW else "not reproduced"
        return Outcome([done.point(s, "mb_s", "cpu_s") for s in done.series()], verdict,
                       "" if verdict[0] != "n" else f"{gain['median']:.2f} of stock",
                       f"{gain['median']:.2f} x stock", {"gain": gain})

    def draw(self, outcome, path):
        plot.bars(path, "four readers of 24 KiB", "MB/s",
                  {p["series"]: p["mb_s"] for p in outcome.points})


EXPERIMENTS = [OddSizes]
