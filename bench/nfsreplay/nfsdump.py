# SPDX-License-Identifier: LGPL-3.0-or-later
"""Reading what nfsdump wrote: lines into calls, calls and answers into exchanges.

    for exchange in exchanges(lines, count): ...      # in the order of the calls

A line has a time (seconds.microseconds), source and destination (address.port), U or T, C3 or R3, the
xid, the procedure's number and name, of an answer its status (OK or a number), then pairs of a name
and a value. All numbers but times are hexadecimal. `count` is a collections.Counter of what was left
out, by reason.
"""
import collections
import re

WAIT_US = 60 * 1000000  # a call without an answer for so long has none
PENDING_MAX = 100000  # calls waited for at once
TRAILER = re.compile(r"\s(?:status=\S*|con\s*=|SHORT PACKET).*$")
PAIRS = re.compile(r"([A-Za-z][\w-]*) +(\"[^\"]*\"|\S+)")

# A call with its answer. Times are microseconds; `call` and `answer` are dicts of texts, where a name
# that came twice has a list of them in `again`.
Exchange = collections.namedtuple("Exchange", "at took client operation call answer status again")


class Line:
    """One line; ValueError where it is none."""

    def __init__(self, text):
        words = text.split(None, 8)
        if len(words) < 8 or not re.fullmatch(r"[CR][23]", words[4]):
            raise ValueError("no line of nfsdump")
        seconds, _, rest = words[0].partition(".")
        self.at = int(seconds) * 1000000 + int((rest + "000000")[:6])
        self.source, self.to = words[1], words[2]
        self.is_call, self.version = words[4][0] == "C", words[4][1]
        self.xid, self.operation = words[5], words[7]
        self.status, more = 0, TRAILER.sub("", " " + words[8] if len(words) > 8 else "")
        if not self.is_call:
            status, _, more = more.strip().partition(" ")
            self.status = 0 if status == "OK" else int(status, 16)
        self.fields, self.again = {}, []
        for name, value in PAIRS.findall(more):
            if name in self.fields:
                self.again.append((name, value.strip('"')))
            else:
                self.fields[name] = value.strip('"')


def number(fields, name):
    """A field as a number, None where it is missing or none."""
    try:
        return int(fields[name], 16)
    except (KeyError, ValueError):
        return None


def client_of(address):
    """By the machine: its port changes."""
    return "c" + re.sub(r"[^\w.-]", "_", address.rpartition(".")[0] or address)[:60]


class Joiner:
    """Calls wait for their answers; what comes out is in the order of the calls."""

    def __init__(self, count):
        self.count, self.waiting, self.latest = count, collections.OrderedDict(), 0

    def add(self, line):
        """Exchanges that are whole, oldest first."""
        if line.at < self.latest:
            self.count["time went back: taken as that of the line above"] += 1
        line.at = self.latest = max(line.at, self.latest)
        if line.is_call:
            key = (line.source, line.to, line.xid)
            if key in self.waiting:
                self.count["a call repeated"] += 1
                return
            self.waiting[key] = [line, None]
        else:
            key = (line.to, line.source, line.xid)
            if key not in self.waiting or self.waiting[key][1]:
                self.count["an answer to no call"] += 1
                return
            self.waiting[key][1] = line
        yield from self.ready()

    def ready(self, end=False):
        while self.waiting:
            key, (call, answer) = next(iter(self.waiting.items()))
            if not answer:
                if not end and self.latest - call.at < WAIT_US and len(self.waiting) < PENDING_MAX:
                    return
                self.count["a call without an answer"] += 1
            else:
                yield Exchange(call.at, answer.at - call.at, client_of(call.source),
                               call.operation, call.fields, answer.fields, answer.status,
                               answer.again)
            del self.waiting[key]


def exchanges(lines, count):
    joiner = Joiner(count)
    for text in lines:
        if not text.strip() or text.startswith("#"):
            continue
        try:
            line = Line(text)
        except ValueError:
            count["a line that is none of nfsdump"] += 1
            continue
        if line.version != "3":
            count["NFSv2"] += 1
            continue
        yield from joiner.add(line)
    yield from joiner.ready(end=True)
