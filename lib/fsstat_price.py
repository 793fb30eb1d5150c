# SPDX-License-Identifier: LGPL-3.0-or-later
"""Congestion prices in the replies to NFSv3's FSSTAT, for clients.

A server with prices states two numbers from 0 to 1, one for asynchronous writes and one for read-ahead, in
the low bits of two counters of FSSTAT, which statvfs(2) gives bit for bit. fsstat-prices.md specifies the
format, what a client does with a price (the auction), how old it may be and how often to ask; names here are
those of its programs.

    reader = fsstat_price.Reader()
    while True:
        asked = time.monotonic_ns()
        reader.reply(asked, *fsstat_price.ask("/mnt"))  # hangs with its server
        prices = reader.prices(time.monotonic_ns())     # None: as without prices
        way = writes.judge(time.monotonic(), prices and prices.write, dirty=0.2)  # of Writes()
        time.sleep(reader.wait() / 1e9)

`python3 -m fsstat_price PATH` says prices and way. Times are of a clock that only goes forward: nanoseconds in
Reader, seconds in Writes and Ahead. Counters are integers of 64 bits. No thread safety: one of each a mount, used
by one thread.
"""
import collections
import math
import os
import random as chance
import sys
import time

__all__ = ["Prices", "bound", "encode", "decode", "Detector", "Reader", "ask", "AGE_MAX", "WAIT_MIN", "WAIT_FINDING",
           "WAIT_USUAL", "price_of", "bid_of", "ask_of", "Writes", "Ahead", "SEND", "DEFER", "ACCELERATE",
           "DEFER_MOST"]

QUANTUM, VERSION, MASK = 4096, 1, (1 << 64) - 1
AVAIL_MIN, TOTAL_MIN, NO_LIMIT = 2 * QUANTUM, 16 * QUANTUM, 1 << 31
SAME_TURN, ROUNDS_MAX = 16, 3
AGE_MAX = 10 * 10**9  # a price counts for less than this from its question on
WAIT_MIN, WAIT_FINDING, WAIT_USUAL = 250 * 10**6, 10**9 // 3, 2 * 10**9  # between two questions

# The auction: of prices, and of time in s
K_DIRTY, K_WORTH, K_NETWORK, PRICE_MIN, CEILING = 10000, 10, 1000, 0.05, 1.001
HYSTERESIS, CHEAP, PLAIN, FAR = 1.25, 0.5, 2.5, 5
DWELL, DEFER_MOST, REST, CALM, TURNS, HOLD, LATELY, STEP = 3, 24, 6, 3, 60, 9, 8, 2
SEND, DEFER, ACCELERATE = "send", "defer", "accelerate"

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


def price_of(k, utilization):
    """P(u), 0 to 1."""
    u = min(max(utilization, 0), 1)
    return math.expm1(u * math.log1p(k - 1)) / (k - 1) if k > 1 and u < 1 else u


def _weight(weight):
    """As in the C library, where a structure that is zero has none."""
    return weight if weight > 0 else 1


def bid_of(dirty, worth=0, weight=1):
    """The price of the client's own memory. WEIGHT: 0.01 to 100; 0 or less is none, and counts as 1."""
    if dirty >= 1:
        return CEILING
    return _weight(weight) * max(price_of(K_DIRTY, dirty), price_of(K_WORTH, worth), PRICE_MIN)


def ask_of(price, network=0):
    """The price of the way to the server's disk."""
    return max(price, price_of(K_NETWORK, network))


def _dear(ratio, was):
    return ratio > (1 / HYSTERESIS if was else HYSTERESIS)


def _cheap(ratio, was):
    return ratio <= (CHEAP * HYSTERESIS if was else CHEAP / HYSTERESIS)


class Writes:
    """What to do with written data: SEND, DEFER or ACCELERATE."""

    def __init__(self, defer_most=DEFER_MOST):
        self.way, self.since = SEND, -math.inf
        self.ask, self.bid = None, PRICE_MIN
        self._most, self._calm = defer_most, PRICE_MIN
        self._hold = self._dwell = self._lately = 0
        self._rested = self._lately_at = self._cheap_since = None

    def _hear(self, now, price, state, weight):
        dirty, worth, network = state
        self.bid, self._calm = bid_of(dirty, worth, weight), bid_of(0, worth, weight)
        self.ask = None if price is None else ask_of(price, network)
        if price is None:
            self._lately_at = self._cheap_since = None
            return
        new = 1 if self._lately_at is None else 1 - math.exp((self._lately_at - now) / LATELY)
        self._lately += (self.ask - self._lately) * new
        self._lately_at = now
        if not _cheap(self.ask / self._calm, self.way == ACCELERATE):
            self._cheap_since = None
        elif self._cheap_since is None:
            self._cheap_since = now

    def _by_turns(self, now):
        return self._rested is not None and now - self._rested <= TURNS

    def _is_dear(self, now):
        ratio, defers = self.ask / self.bid, self.way == DEFER
        if defers or not self._by_turns(now) or ratio > PLAIN:
            return _dear(ratio, defers)
        return _dear(ratio, True) and _dear(self._lately / self.bid, False)

    def _wanted(self, now):
        if self.ask is None:
            return SEND
        defers, full = self.way == DEFER, self.bid >= CEILING
        cheap = _cheap(self.ask / self._calm, self.way == ACCELERATE)
        if full and not cheap or defers and now >= self.since + self._hold:
            return SEND
        if (self._rested is None or now >= self._rested) and self._is_dear(now):
            return DEFER
        if defers and now < self.since + self._dwell and not full:
            return DEFER
        if cheap and (self.way == ACCELERATE or now - self._cheap_since >= CALM):
            return ACCELERATE
        return SEND

    def judge(self, now, price, dirty, worth=0, network=0, weight=1):
        """The way from NOW on, where the server states PRICE for writes; None: none that counts. DIRTY, WORTH
        and NETWORK are the client's utilizations."""
        self._hear(now, price, (dirty, worth, network), weight)
        way = self._wanted(now)
        if way == self.way:
            return way
        if way == DEFER:
            turn = self._by_turns(now)
            self._hold = min(HOLD, self._most) if turn else self._most
            self._dwell = self._hold if turn else min(DWELL, self._hold)
        elif self.way == DEFER:
            self._rested = now + REST
        self.way, self.since = way, now
        return way

    def due(self, now):
        """When to judge again though no price moves; infinite: never."""
        if self.way == DEFER:
            return self.since + (self._dwell if now < self.since + self._dwell else self._hold)
        return self._rested if self._rested is not None and self._rested > now else math.inf


class Ahead:
    """How far to read ahead: KiB, FOUND as it is without prices, LEAST and MOST the limits of what is turned."""

    def __init__(self, found, least, most):
        self.size, self._found, self._least, self._most = found, found, least, most
        self._stepped = None

    def _wanted(self, now, price, ratio, memory_short):
        size, cheap = self.size, price <= PRICE_MIN
        if size > self._found and memory_short or size < self._found and cheap:
            return self._found
        if self._stepped is not None and now - self._stepped < STEP or ratio is None:
            return size
        if _dear(ratio, False) and not cheap:
            part = size // (4 if ratio > FAR else 2)
            return min(size, min(max(part, self._least), self._most))
        if _cheap(ratio, False) and (size < self._found or cheap and not memory_short):
            twice = max(size * 2 if size < self._most // 2 else self._most, self._least)
            return max(size, twice if cheap else min(twice, self._found))
        if size > self._found and not (_cheap(ratio, True) and cheap):
            return self._found if size // 2 < max(self._found, self._least) else size // 2
        return size

    def judge(self, now, price, network=0, used=None, weight=1, memory_short=False):
        """The size from NOW on, where the server states PRICE for read-ahead; None: none that counts. USED: the part
        that was read of what was fetched ahead since the size changed; None: not known yet."""
        if price is None:
            size = self._found
        else:
            ratio = None
            if used is not None:
                bid = _weight(weight) * PRICE_MIN / max(1 - used, 0.001)
                ratio = max(ask_of(price, network), PRICE_MIN) / bid
            size = self._wanted(now, price, ratio, memory_short)
        if size != self.size:
            self.size, self._stepped = size, now
        return size


def ask(path):
    """tfiles and afiles of the mount at PATH: one FSSTAT. Hangs while its server does; OSError is no reply."""
    counts = os.statvfs(path)
    return counts.f_files, counts.f_favail


def _main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m fsstat_price PATH")
    reader, writes = Reader(), Writes()
    while True:
        asked = time.monotonic_ns()
        try:
            reader.reply(asked, *ask(sys.argv[1]))
        except OSError as error:
            print(error, file=sys.stderr)
        prices = reader.prices(time.monotonic_ns())
        way = writes.judge(time.monotonic(), prices and prices.write, dirty=0)
        print(f"writes {prices.write:.3g}, read-ahead {prices.readahead:.3g}: {way}" if prices
              else "no prices, or none yet", flush=True)
        time.sleep(reader.wait() / 1e9)


if __name__ == "__main__":
    try:
        _main()
    except KeyboardInterrupt:
        pass
