#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The specification of prices in FSSTAT is what it says: its programs are run over its test vectors.

usage: test_fsstat_document.py fsstat-prices.md
The C codec and detector are tested with the same vectors (test_fsstat_price.c).
"""
import re
import sys

failures = 0


def check(good, *what):
    global failures
    failures += not good
    print("ok" if good else "not ok", *what)


def near(got, meant):
    return abs(got - float(meant)) <= max(0.0175 * float(meant), 0.00015)


def code(names, text):
    vectors = re.findall(r"^\| ((?:\d\S* \| ){8}\d+) \|$", text, re.M)
    for vector in vectors:
        total, free, avail, write, readahead, turn, *out = vector.split(" | ")
        shown = names["encode"](int(total), int(free), int(avail), float(write),
                                float(readahead), int(turn))
        good = list(shown) == [int(n) for n in out]
        prices = names["decode"](shown[0], shown[2])
        if int(turn):
            good &= prices is not None and prices[2] == int(turn)
            good &= near(prices[0], write) and near(prices[1], readahead)
        else:
            good &= prices is None
        check(good, vector, shown, prices)
    check(len(vectors) >= 8, len(vectors), "vectors")


def refusals(names, text):
    vectors = re.findall(r"^\| (\d+) \| (\d+) \| [^|]* \|$", text, re.M)
    for tfiles, afiles in vectors:
        check(names["decode"](int(tfiles), int(afiles)) is None, "must not decode:", tfiles, afiles)
    check(len(vectors) >= 8, len(vectors), "vectors that must not decode")


def belief(names, text):
    vectors = re.findall(r"^\| `([0-3]+)` \| `([yn]+)` \|$", text, re.M)
    for replies, wanted in vectors:
        detector, got = names["Detector"](), ""
        for turn in map(int, replies):
            counts = names["encode"](6553600, 6000000, 6000000, 0.5, 0.25, turn)
            believed = detector.feed(*((counts[0], counts[2]) if turn else (6553600, 6000000)))
            got += "y" if believed else "n"
        check(got == wanted, replies, wanted, got)
    check(len(vectors) >= 6, len(vectors), "vectors of belief")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as document:
        text = document.read()
    names = {}
    for program in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(program, names)
    code(names, text)
    refusals(names, text)
    belief(names, text)
    sys.exit(1 if failures else 0)


main()
