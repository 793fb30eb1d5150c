# SPDX-License-Identifier: LGPL-3.0-or-later
"""How a figure of ours is held against one of Ellard & Seltzer's.

A claim is what the paper says, at each number of readers that it says it of, with the range in which
ours counts as the same:

    a number        NEAR of it, both ways
    "about" one     ABOUT of it, both ways: the paper rounds it itself
    "the same"      SAME of 1, both ways; "slower", "visible": more than that apart
    "below" one     below it, as it stands
    a range         as it stands

What is held more loosely says so where it stands. A verdict follows from claims alone: reproduced
where all hold; better where, beside that, the plugin's defaults are nowhere below the best of the
paper's curves, or where a gain is larger than theirs and each of its two sides at least as fast as
theirs, so that it is not the slower one's fault; else not reproduced, with the claims that do not
hold and what the disk's trace says of the two curves.
"""
import dataclasses

from experiments.experiment import Outcome

NEAR = 0.1
ABOUT = 0.25
SAME = 0.05
BETTER = 0.97           # of the best of the paper's curves, at each point
ANY = float("inf")


def near(theirs, tolerance=NEAR):
    """The range of one of their numbers."""
    return theirs * (1 - tolerance), theirs * (1 + tolerance)


def about(theirs):
    return near(theirs, ABOUT)


ALIKE = near(1, SAME)
SLOWER = (0, 1 - SAME)
FASTER = (1 + SAME, ANY)


def so_many(n):
    return "one reader" if n == 1 else f"{n} readers"


@dataclasses.dataclass
class Claim:
    """A figure of the paper, ours, and between what ours is the same. `of`: what was counted of the
    curves that it is about, in words. `more`: more than that is what the reader gains."""
    text: str
    theirs: str
    value: float
    low: float = 0
    high: float = ANY
    of: tuple = ()
    more: bool = False

    def holds(self):
        return self.value is not None and self.low <= self.value <= self.high

    def gained(self):
        """Whether it is missed only by being better."""
        return self.more and self.value is not None and self.value > self.high

    def missed(self):
        """In words, of one that does not hold."""
        text = self.text.removesuffix(":")
        if self.value is None:
            return f"{text}: not measured"
        asked = f"at least {self.low:.3g}" if self.high == ANY else \
            f"{self.low:.3g} to {self.high:.3g}" if self.low else f"at most {self.high:.3g}"
        return f"{text} is {self.value:.2f}, {asked} was to be expected"

    def kept(self):
        """As JSON can hold it."""
        found = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "of"}
        return {**found, "holds": self.holds()}

    def __str__(self):
        ours = "not measured" if self.value is None else f"{self.value:.2f}"
        return f"{self.text} {ours} (paper: {self.theirs})"


def judge(points, claims, ours=None):
    """The Outcome. `ours`: figures of the plugin's defaults over the best of the paper's curves."""
    missed = [c for c in claims if not c.holds() and not c.gained()]
    verdict = "not reproduced" if missed else \
        "better" if any(c.gained() for c in claims) else "reproduced"
    figure = "; ".join(str(c) for c in claims)
    ours = [v for v in ours or [] if v is not None]
    if ours:
        figure += f"; the plugin's defaults {min(ours):.2f} to {max(ours):.2f} x that"
        if not missed and min(ours) >= BETTER and max(ours) > 1 / BETTER:
            verdict = "better"
    why = "; ".join(c.missed() for c in missed)
    told = list(dict.fromkeys(text for c in missed for text in c.of))
    if told:
        why += f". By the disk's trace: {'; '.join(told)}"
    return Outcome(points, verdict, why, figure, {"claims": [c.kept() for c in claims]})
