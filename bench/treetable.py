# SPDX-License-Identifier: LGPL-3.0-or-later
"""What bench/trees measured as tables: medians beside stock round by round, and what is asked of
each work. Of records as bench/trees stores them (--json).
"""
from experiments import rounds

MEMORY = 256 << 20  # Readahead_Memory, as shipped
# (work, layout or None: any, on a flash-like device, measure, sense, limit). Measures: "x stock"
# of what the work is judged by, "streams x stock", "disk x stock" (bytes from the disk), "unread
# MiB" (fetched and not yet read, at most).
TARGETS = [
    ("tree", "fresh", False, "x stock", "at least", 1.8),
    ("tree", "aged", False, "x stock", "at least", 1.15),
    *((work, "aged", False, "x stock", "at least", 3.0)
      for work in ("wide", "widename", "quarters")),
    *((work, None, False, "x stock", "at least", 1.7) for work in ("tar", "grep")),
    ("find", None, False, "x stock", "at least", 1.0),
    ("ls", None, False, "x stock", "at least", 1.5),
    *((work, None, False, measure, sense, limit)
      for work in ("random", "tenth", "widerandom", "widetenth")
      for measure, sense, limit in (("x stock", "at least", 0.98),
                                    ("disk x stock", "at most", 1.05))),
    ("beside", None, False, "x stock", "at least", 1.5),
    ("beside", None, False, "streams x stock", "at least", 0.95),
    *((work, None, True, "x stock", "at least", 1.0) for work in ("tree", "wide")),
    *((work, None, None, "unread MiB", "at most", MEMORY >> 20) for work in ("tree", "wide")),
]
KEYS = {"x stock": "rate", "disk x stock": "disk_mb", "streams x stock": "streams_mb_s"}
HEADER = ("work", "files", "server", "/s", "x stock", "disk x stock", "streams MB/s", "worst ms",
          "asked", "verdict")


def rounds_of(records):
    """As experiments/rounds.py has them: a series is "WORK SERVER", of one call of bench/trees."""
    seen, found = {}, []
    for r in records:
        series = f"{r['work']} {r['server']}"
        seen[series] = seen.get(series, 0) + 1
        found.append({"run": 0, "series": series, "round": seen[series],
                      "circumstances": r["circumstances"],
                      "figures": {k: v for k, v in r.items() if isinstance(v, (int, float))}})
    return rounds.Rounds(found)


def value_of(done, work, server, measure):
    """The interval of a measure; None where nothing tells it."""
    series = f"{work} {server}"
    if measure == "unread MiB":
        return done.interval(series, "unread_mib")
    return done.ratio(series, f"{work} stock", KEYS[measure])


def targets_of(record):
    """What is asked of the plugin at the work of a record: (measure, sense, limit)."""
    return [(measure, sense, limit) for work, layout, flash, measure, sense, limit in TARGETS
            if work == record["work"] and layout in (None, record["layout"])
            and flash in (None, record["solid"])]


def verdicts(done, record):
    """(in words what is asked, whether each was met) of the plugin at a record's work."""
    asked, found = [], []
    for measure, sense, limit in targets_of(record):
        value = value_of(done, record["work"], record["server"], measure)
        if value is None:
            continue
        met = value["median"] >= limit if sense == "at least" else value["median"] <= limit
        asked.append(f"{measure} {sense} {limit:g}")
        found.append("met" if met else f"MISSED: {value['median']:.2f}")
    return "; ".join(asked), "; ".join(found)


def _text(value, form):
    if value is None:
        return ""
    text = form.format(value["median"])
    if value["rounds"] == 1 or value["low"] == value["high"]:
        return text
    return f"{text} ({form.format(value['low'])} to {form.format(value['high'])})"


def _row(done, record):
    work, server = record["work"], record["server"]
    series, ours = f"{work} {server}", server == "ra"
    rate = done.interval(series, "rate")
    asked, met = verdicts(done, record) if ours else ("", "")
    beside = "" if server == "stock" else _text(value_of(done, work, server, "x stock"), "{:.2f}")
    disk = "" if server == "stock" else _text(value_of(done, work, server, "disk x stock"),
                                              "{:.2f}")
    name = work + (", flash" if record["solid"] else f", {record['layout']}")
    return (name, str(record["files"]), server,
            _text(rate, "{:.1f}" if rate["median"] > 10 else "{:.3f}"), beside, disk,
            _text(done.interval(series, "streams_mb_s"), "{:.1f}"),
            _text(done.interval(series, "worst_ms"), "{:.0f}"), asked, met)


def table(records):
    """Markdown, a row a work and server; columns without any value are left out."""
    done, first = rounds_of(records), {}
    for record in records:
        first.setdefault((record["work"], record["server"]), record)
    rows = [_row(done, record) for record in first.values()]
    keep = [i for i in range(len(HEADER)) if any(row[i] for row in rows)]
    lines = ["| " + " | ".join(HEADER[i] for i in keep) + " |", "|" + "---|" * len(keep)]
    return "\n".join(lines + ["| " + " | ".join(row[i] for i in keep) + " |" for row in rows])
