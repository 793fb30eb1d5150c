# SPDX-License-Identifier: LGPL-3.0-or-later
"""Congestion prices in the replies to NFSv3's FSSTAT, for clients.

A server with prices states two numbers from 0 to 1, one for asynchronous writes and one for read-ahead, in
the low bits of two counters of FSSTAT, which statvfs(2) gives bit for bit. fsstat-prices.md specifies the
format, what a client does with a price, how old it may be and how often to ask; names here are those of its
programs.

    reader = fsstat_price.Reader()
    while True:
        asked = time.monotonic_ns()
        reader.reply(asked, *fsstat_price.ask("/mnt"))  # hangs with its server
        print(reader.prices(time.monotonic_ns()))       # None: as without prices
        time.sleep(reader.wait() / 1e9)

`python3 -m fsstat_price PATH` does that. Times are nanoseconds of a clock that only goes forward; counters
are integers of 64 bits. No thread safety: one reader a mount, used by one thread.
"""
import collections
import math
import os
import random as chance
import sys
import time

__all__ = ["Prices", "bound", "encode", "decode", "Detector", "Reader", "ask", "AGE_MAX", "WAIT_MIN", "WAIT_FINDING",
           "WAIT_USUAL"]

QUANTUM, VERSION, MASK = 4096, 1, (1 << 64) - 1
AVAIL_MIN, TOTAL_MIN, NO_LIMIT = 2 * QUANTUM, 16 * QUANTUM, 1 << 31
SAME_TURN, ROUNDS_MAX = 16, 3
AGE_MAX = 10 * 10**9  # a price counts for less than this from its question on
WAIT_MIN, WAIT_FINDING, WAIT_USUAL = 250 * 10**6, 10**9 // 3, 2 * 10**9  # between two questions

Prices = collections.namedtuple("Prices", "write readahead turn")


def _code(price):
    if not price > 0:
        return 0
    if price >= 1:
        return 255
    return max(0, math.floor(255 + 20 * math.log2(price) + 0.5))


def _value(code):
    return 2 ** ((code - 255) / 20) if code else 0.0


def _mix(bits):
    for _ in range(2):
        bits = ((bits ^ bits >> 32) * 0x9e3779b97f4a7c15) & MASK
    return bits


def _check(tfiles, afiles):
    return _mix(_mix(tfiles & ~0xc ^ VERSION << 56) ^ afiles & ~0xf) >> 58


def bound(total, free, avail):
    """A server's side, before encode(): counts that say "so many are in use, and no limit" with one far away;
    others as they are."""
    if free != MASK or avail != MASK or total > MASK // 4:
        return total, free, avail
    free = max(total, NO_LIMIT)
    return total + free, free, free


def encode(total, free, avail, write, readahead, turn):
    """A server's side: tfiles, ffiles and afiles that state these prices. The counts as they are where they
    can carry none. TURN is 1, 2 or 3, drawn anew for each reply."""
    if not (AVAIL_MIN <= avail <= free <= total and TOTAL_MIN <= total <= MASK - 2 * QUANTUM + 2):
        return total, free, avail
    tfiles = -(-total // QUANTUM) * QUANTUM + _code(write) * 16 + turn
    afiles = (avail // QUANTUM - 1) * QUANTUM + _code(readahead) * 16
    check = _check(tfiles, afiles)
    tfiles += check >> 4 << 2
    afiles += check & 0xf
    return tfiles, free - (avail - afiles), afiles


def decode(tfiles, afiles):
    """The prices of one reply, or None. One valid reply proves nothing: see Detector."""
    if tfiles < TOTAL_MIN or not AVAIL_MIN - QUANTUM <= afiles <= tfiles or tfiles & 3 == 0:
        return None
    if _check(tfiles, afiles) != (tfiles >> 2 & 3) << 4 | afiles & 0xf:
        return None
    return Prices(_value(tfiles >> 4 & 255), _value(afiles >> 4 & 255), tfiles & 3)


class Detector:
    """Whether a server is believed to state prices. Fed every reply, in their order; another mount wants
    another detector."""

    def __init__(self):
        self.believed = False
        self.disproofs = 0
        self.turns = set()
        self._rounds = self._same = self._last = 0

    def _disprove(self):
        self.believed, self._rounds, self._same, self.turns = False, 0, 0, set()
        self.disproofs = min(self.disproofs + 1, ROUNDS_MAX - 1)
        return False

    def feed(self, tfiles, afiles):
        """Returns whether the server is believed now."""
        prices = decode(tfiles, afiles)
        if prices is None:
            return self._disprove()
        self._same = self._same + 1 if prices.turn == self._last else 1
        self._last = prices.turn
        if self._same == SAME_TURN:
            return self._disprove()
        self.turns.add(prices.turn)
        if len(self.turns) == 3:
            self.turns = set()
            self._rounds = min(self._rounds + 1, self.disproofs + 1)
        self.believed = self._rounds > self.disproofs
        return self.believed


class Reader:
    """What a client knows of the prices of one mount: belief, age, and when to ask again."""

    def __init__(self):
        self.detector = Detector()
        self._asked, self._prices = 0, None

    def reply(self, asked, tfiles, afiles):
        """A reply came to the question that was sent at ASKED. Returns whether it is believed."""
        self._asked, self._prices = asked, decode(tfiles, afiles)
        return self.detector.feed(tfiles, afiles)

    def prices(self, now):
        """The prices that count at NOW, or None: then a client does as without prices."""
        fresh = 0 <= now - self._asked < AGE_MAX
        return self._prices if self.detector.believed and fresh else None

    def wait(self, interval=WAIT_USUAL, random=None):
        """How long from one question to the next. RANDOM is drawn anew, 0 to 65535, so that clients do not
        ask at the same moments."""
        found = self.detector
        if found.turns and not found.disproofs and not found.believed:
            interval = min(interval, WAIT_FINDING)
        random = chance.randrange(1 << 16) if random is None else random
        return max(WAIT_MIN, interval - (interval // 4 * random >> 16))


def ask(path):
    """tfiles and afiles of the mount at PATH: one FSSTAT. Hangs while its server does; OSError is no reply."""
    counts = os.statvfs(path)
    return counts.f_files, counts.f_favail


def _main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m fsstat_price PATH")
    reader = Reader()
    while True:
        asked = time.monotonic_ns()
        try:
            reader.reply(asked, *ask(sys.argv[1]))
        except OSError as error:
            print(error, file=sys.stderr)
        prices = reader.prices(time.monotonic_ns())
        print(f"writes {prices.write:.3g}, read-ahead {prices.readahead:.3g}" if prices
              else "no prices, or none yet", flush=True)
        time.sleep(reader.wait() / 1e9)


if __name__ == "__main__":
    try:
        _main()
    except KeyboardInterrupt:
        pass
