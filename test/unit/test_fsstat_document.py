#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The specification of prices in FSSTAT is what it says: its program is run over its test vectors.

usage: test_fsstat_document.py fsstat-prices.md
The C codec is tested with the same vectors (test_fsstat_price.c).
"""
import re
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as document:
        text = document.read()
    names = {}
    exec(re.search(r"^```python\n(.*?)^```", text, re.M | re.S)[1], names)
    vectors = re.findall(r"^\| (\d.*) \|$", text, re.M)
    failures = 0
    for vector in vectors:
        total, free, avail, write, readahead, turn, *out = vector.split(" | ")
        shown = names["encode"](int(total), int(free), int(avail), float(write),
                                float(readahead), int(turn))
        good = list(shown) == [int(n) for n in out]
        prices = names["decode"](shown[0], shown[2])
        if int(turn):
            good &= prices is not None and prices[2] == int(turn)
            good &= abs(prices[0] - float(write)) <= max(0.0175 * float(write), 0.00015)
            good &= abs(prices[1] - float(readahead)) <= max(0.0175 * float(readahead), 0.00015)
        else:
            good &= prices is None
        failures += not good
        print("ok" if good else "not ok", vector, shown, prices)
    sys.exit(1 if failures or len(vectors) < 8 else 0)


main()
