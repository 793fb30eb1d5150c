#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The specification of prices in FSSTAT is what it says, and so is the Python module: the vectors are run over
the programs of the one and the other, and the tables of the specification are those vectors.

usage: test_fsstat_document.py fsstat-prices.md fsstat-prices.vectors fsstat_price.py
The C library is tested with the same vectors (test_fsstat_price.c, test_fsstat_reader.c, test_auction_vectors.c).
"""
import collections
import importlib.util
import re
import sys

LEAST = {"encode": 8, "bound": 6, "refuse": 8, "belief": 6, "age": 5, "wait": 10, "price": 8, "bid": 8,
         "ask": 4, "writes": 12, "ahead": 8}
failures = 0


def check(good, *what):
    global failures
    failures += not good
    print("ok" if good else "not ok", *what)


def near(got, meant):
    return abs(got - float(meant)) <= max(0.0175 * float(meant), 0.00015)


def reply(names, turn):
    """tfiles and afiles of a reply of this turn; 0: one without prices."""
    counts = names["encode"](6553600, 6000000, 6000000, 0.5, 0.25, turn)
    return (counts[0], counts[2]) if turn else (6553600, 6000000)


def encode(names, total, free, avail, write, readahead, turn, *out):
    shown = names["encode"](int(total), int(free), int(avail), float(write), float(readahead),
                            int(turn))
    good = list(shown) == [int(n) for n in out]
    prices = names["decode"](shown[0], shown[2])
    if not int(turn):
        return good and prices is None
    return (good and prices is not None and prices[2] == int(turn) and near(prices[0], write)
            and near(prices[1], readahead))


def bound(names, total, free, avail, *out):
    return list(names["bound"](int(total), int(free), int(avail))) == [int(n) for n in out]


def refuse(names, tfiles, afiles):
    return names["decode"](int(tfiles), int(afiles)) is None


def belief(names, replies, wanted):
    detector = names["Detector"]()
    return wanted == "".join("ny"[detector.feed(*reply(names, int(turn)))] for turn in replies)


def age(names, *events):
    reader, good = names["Reader"](), True
    for event in events:
        time, kind, what = re.fullmatch(r"(\d+)([:?])(\w)", event).groups()
        if kind == ":":
            reader.reply(int(time) * 10**6, *reply(names, int(what)))
        else:
            good &= (reader.prices(int(time) * 10**6) is not None) == (what == "y")
    return good


def wait(names, replies, interval, random, wanted):
    reader = names["Reader"]()
    for turn in replies.replace("-", ""):
        reader.reply(0, *reply(names, int(turn)))
    return reader.wait(int(interval), int(random)) == int(wanted)


def same(got, meant):
    return abs(got - float(meant)) <= 1e-6 * float(meant)


def price(names, k, u, meant):
    return same(names["price_of"](float(k), float(u)), meant)


def bid(names, dirty, worth, weight, meant):
    return same(names["bid_of"](float(dirty), float(worth), float(weight)), meant)


def ask(names, stated, network, meant):
    return same(names["ask_of"](float(stated), float(network)), meant)


def number(word):
    return None if word == "-" else float(word)


def of_weights(judged):
    """A client of weight 1, and one of none."""
    return lambda names, *fields: all(judged(names, weight, *fields) for weight in (1, 0))


@of_weights
def writes(names, weight, most, *events):
    client = names["Writes"](float(most))
    began = None  # the deferral
    for event in events:
        now, stated, dirty, worth, way = re.split("[:=]", event)
        got = client.judge(float(now), number(stated), float(dirty), float(worth), weight=weight)
        began = (float(now) if began is None else began) if way == "d" else None
        if got[0] != way or not client.due(float(now)) > float(now):
            return False
        if began is not None and client.due(float(now)) > began + float(most):
            return False
    return True


@of_weights
def ahead(names, weight, found, least, most, *events):
    client = names["Ahead"](int(found), int(least), int(most))
    for event in events:
        now, stated, used, size = re.split("[:=]", event)
        got = client.judge(float(now), number(stated), used=number(used.rstrip("s")), weight=weight,
                           memory_short=used.endswith("s"))
        if got != int(size):
            return False
    return True


KINDS = {"encode": encode, "bound": bound, "refuse": refuse, "belief": belief, "age": age, "wait": wait,
         "price": price, "bid": bid, "ask": ask, "writes": writes, "ahead": ahead}


def read_vectors(path):
    """Of each kind a list of (fields, comment)."""
    vectors = collections.defaultdict(list)
    with open(path, encoding="ascii") as file:
        for line in file:
            fields, _, comment = line.partition("#")
            if fields.strip():
                kind, *fields = fields.split()
                vectors[kind].append((fields, comment.strip()))
    return vectors


def tables(text, vectors):
    """The document shows those of three kinds, in their order."""
    shown = {"encode": [row.split(" | ") for row in
                        re.findall(r"^\| ((?:\d\S* \| ){8}\d+) \|$", text, re.M)],
             "refuse": [list(row) for row in
                        re.findall(r"^\| (\d+) \| (\d+) \| ([^|]*) \|$", text, re.M)],
             "belief": [list(row) for row in
                        re.findall(r"^\| `([0-3]+)` \| `([yn]+)` \|$", text, re.M)]}
    for kind, rows in shown.items():
        wanted = [fields + ([comment] if comment else []) for fields, comment in vectors[kind]]
        check(rows == wanted, f"the document shows the vectors of kind {kind}")


def run(name, names, vectors):
    for kind, rows in vectors.items():
        for fields, comment in rows:
            check(KINDS[kind](names, *fields), f"{name}: {kind}", *fields, comment and f"# {comment}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as document:
        text = document.read()
    vectors = read_vectors(sys.argv[2])
    for kind, least in LEAST.items():
        check(len(vectors[kind]) >= least, len(vectors[kind]), f"vectors of kind {kind}")
    tables(text, vectors)
    names = {}
    for program in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(program, names)
    run("the document's program", names, vectors)
    specification = importlib.util.spec_from_file_location("fsstat_price", sys.argv[3])
    module = importlib.util.module_from_spec(specification)
    sys.dont_write_bytecode = True
    specification.loader.exec_module(module)
    run("the module", vars(module), vectors)
    sys.exit(1 if failures else 0)


main()
