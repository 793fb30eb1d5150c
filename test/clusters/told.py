# SPDX-License-Identifier: LGPL-3.0-or-later
"""Part of test_cluster.py: what FSSTAT tells a client above a cluster, by the decoder that clients
are given (lib/fsstat_price.py): the prices that the gateway itself shows, and counts that people
can use."""
import os
import sys
import time

import control_client
import e2e
import gateway
import nfs3

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))

import fsstat_price  # noqa: E402

REPLIES = 64  # of which each must carry prices
COMPARED = 20  # of prices, while readers make some
SECONDS = 30  # at most, for so many
MORE, LESS = 8190, 8191  # inodes: how much the total may be above, the free ones below the truth
ALL_ONES = (1 << 64) - 1  # of free inodes: no limit
FAR = 1 << 31  # where one is shown instead
PRICES = ("write_price", "readahead_price")


def near(coded, shown):
    """Within what 8 bits can tell."""
    return abs(coded - shown) <= 0.0176 * shown + 0.00016


def row_of_export():
    """(what the control channel says of it, the age in ms of its prices)"""
    answer = control_client.ask(command="prices")
    return answer["exports"][0], min(d.get("age_ms", 0) for d in answer["devices"])


def compared(client):
    """[(told, shown)] of both prices, while one snapshot was in force."""
    pairs, end = [], time.monotonic() + SECONDS
    while len(pairs) < 2 * COMPARED and time.monotonic() < end:
        row, age = row_of_export()
        _, counts = client.fsstat()
        again, later = row_of_export()
        if later < age or any(row.get(k) != again.get(k) for k in PRICES):
            continue  # another one came between
        found = fsstat_price.decode(counts["tfiles"], counts["afiles"])
        if not found or PRICES[0] not in row:
            break
        pairs += zip(found, (row[k] for k in PRICES))
        time.sleep(0.1)
    return pairs


def shown_to_people(counts, before, after):
    """What is wrong with the counts beside the cluster's own, before and after; None: nothing."""
    least, most = ({k: f(before[k], after[k]) for k in before} for f in (min, max))
    for name in ("tbytes", "fbytes", "abytes"):
        if not least[name] <= counts[name] <= most[name]:
            return f"{name} are not the cluster's"
    used = counts["tfiles"] - counts["ffiles"]
    if before["ffiles"] == ALL_ONES:
        if not (least["tfiles"] < used <= most["tfiles"] + MORE + LESS and
                FAR - LESS <= counts["afiles"] <= counts["ffiles"] <= FAR):
            return "not what is in use, and a limit far away"
    elif not (least["tfiles"] < counts["tfiles"] <= most["tfiles"] + MORE and
              least["ffiles"] - LESS <= counts["ffiles"] < most["ffiles"] and
              least["afiles"] - LESS <= counts["afiles"] < most["afiles"]):
        return "not within 8,192 of the truth, or more free"
    return None


def judge(what, counts, before, after):
    """Prices in each reply, and counts as they should be."""
    reader = fsstat_price.Reader()
    for number, c in enumerate(counts):
        reader.reply(number, c["tfiles"], c["afiles"])
    priced = sum(fsstat_price.decode(c["tfiles"], c["afiles"]) is not None for c in counts)
    e2e.check(priced == REPLIES, f"{what}: prices in each reply",
              f"{priced} of {REPLIES}; the gateway says {row_of_export()[0].get('fsstat')}")
    e2e.check(reader.detector.believed, f"{what}: a client believes them")
    wrong = [w for w in (shown_to_people(c, before, after) for c in counts) if w]
    e2e.check(not wrong, f"{what}: bytes exact, inodes sensible",
              (wrong[:1], counts[0], before, after))


def fsstat(bed, load_of):
    """`load_of(server)`: something that makes prices, until its stop()."""
    what = f"FSSTAT above {bed.cluster.fsal_name}"
    native, path = bed.cluster.native, bed.cluster.path
    server = bed.gateway()
    client = gateway.client(server)
    before = native.counts(path)
    replies = [client.fsstat() for _ in range(REPLIES)]
    after = native.counts(path)
    counts = [c for status, c in replies if status == nfs3.OK]
    e2e.note(f"{what}: the cluster says {before}, {bed.kind} {counts[:1]}")
    e2e.check(len(counts) == REPLIES, f"{what}: it is answered", replies[0])
    if bed.kind == "ra":
        judge(what, counts, before, after)
        load = load_of(server)
        pairs = compared(client)
        load.stop()
        e2e.check(len(pairs) >= 2 * COMPARED and all(near(*pair) for pair in pairs),
                  f"{what}: what a client decodes is what the gateway shows", pairs)
        e2e.check(any(shown > 0 for _, shown in pairs), f"{what}: ... of prices above 0", pairs)
    client.close()
    gateway.ends_well(server, what)
