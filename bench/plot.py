#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Tables and charts of bench/compare's results.

As a program: plot.py RESULTS.json [--png FILE] [--finish WORK] [--markdown]
draws again what bench/compare --json has stored. --finish draws, for one work, when the k-th
reader finished, one curve a server.
"""
import argparse
import json
import statistics
import sys
import textwrap

import isolation
import servers
import workloads
from experiments import rounds


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def is_marked(run):
    return bool(run.get("circumstances", {}).get("marked"))


def counted(runs):
    """Without marked rounds (experiments/rounds.py), where the same work and server has others."""
    good = [r for r in runs if not is_marked(r)]
    cells = {(r["work"], r["server"]) for r in good}
    return good + [r for r in runs if (r["work"], r["server"]) not in cells]


class Results:
    """Runs (dicts as bench/compare records them) and what follows from them."""

    def __init__(self, runs, servers, work_names):
        self.runs = runs
        self.servers = servers
        self.workloads = work_names

    def good(self):
        """Those that did not fail."""
        return [r for r in self.runs if not r.get("failed")]

    def of(self, work, server):
        return [r for r in self.good() if r["work"] == work and r["server"] == server]

    def is_marked(self, work, server):
        """Its rounds are such that others disturbed: it is shown, with MARK, and nothing follows."""
        return any(is_marked(r) for r in self.of(work, server))

    def value(self, work, server, key, how=median):
        values = [r[key] for r in self.of(work, server) if r.get(key) is not None]
        return how(values) if values else None

    def interval(self, work, server, key="mb_s"):
        """Of the median, see experiments/rounds.py; None where there is no value."""
        return rounds.median_interval([r.get(key) for r in self.of(work, server)])

    def ratio(self, work, server, key, other_work, other_server, how=median):
        above = self.value(work, server, key, how)
        below = self.value(other_work, other_server, key, how)
        return above / below if above is not None and below else None

    def measure(self, work, server, what):
        """The measures that workloads.TARGETS names; None where a part was not run."""
        ratios = {
            "x stock": ("mb_s", work, "stock", median),
            "x tuned": ("mb_s", work, "tuned", median),
            "x single": ("mb_s", "seq1", "stock", median),
            "x in order": ("mb_s", "seq1", server, median),
            "x forward": ("mb_s", work.replace("backward", "forward"), server, median),
            "disk x stock": ("disk_bytes", work, "stock", median),
            "cpu x stock": ("cpu_us_per_read", work, "stock", min),
            "random/s x stock": ("random_requests_s", work, "stock", median),
            "random p99 x stock": ("random_p99_ms", work, "stock", median),
            "random/s x alone": ("random_whole_s", "write0+1", "stock", median),
            "COMMIT x stock": ("committed_s", work, "stock", median),
            "all done x stock": ("all_done_s", work, "stock", median),
            "ops/s x stock": ("ops_s", work, "stock", median),
        }
        plain = {"slowest/fastest": "slowest_fastest", "worst ms": "worst_ms",
                 "random p99 ms": "random_p99_ms", "random p50 ms": "random_p50_ms",
                 "random/s": "random_requests_s", "MB/s": "mb_s"}
        if ":" in what:
            return isolation.measure(self.good(), work, server, what)
        if what in plain:
            return self.value(work, server, plain[what])
        if what == "ops/s x peak":
            return self.share_of_peak(work, server)
        key, other_work, other_server, how = ratios[what]
        return self.ratio(work, server, key, other_work, other_server, how)

    def share_of_peak(self, work, server):
        """Of the server's throughput in all oltp workloads that were run."""
        rates = [self.value(w, server, "ops_s") for w in self.workloads if w.startswith("oltp")]
        rates = [r for r in rates if r is not None]
        value = self.value(work, server, "ops_s")
        return value / max(rates) if value is not None and len(rates) > 1 else None

    def summary(self):
        rows = []
        for work in self.workloads:
            for server in self.servers:
                if not self.of(work, server):
                    continue
                found = self.interval(work, server)
                row = {"work": work, "server": server, "runs": found["rounds"],
                       "marked": self.is_marked(work, server),
                       "mb_s": found["median"], "mb_s_low": found["low"],
                       "mb_s_high": found["high"], "covers": found["coverage"]}
                for what in ("x stock", "x tuned", "x single"):
                    row[what] = self.measure(work, server, what)
                for key in ("slowest_fastest", "p50_ms", "p99_ms", "worst_ms", "random_p50_ms",
                            "random_p99_ms", "random_requests_s", "random_whole_s",
                            "acknowledged_s", "committed_s", "on_disk_s", "all_done_s",
                            "not_on_disk_bytes", "dirty_max_bytes", "files_s", "ops_s",
                            "reads_s", "writes_s", "logs_s", "log_p99_ms", "disk_bytes",
                            "disk_per_byte", "cpu_s", "cpu_us_per_read"):
                    row[key] = self.value(work, server, key)
                rows.append(row)
        return rows

    def verdicts(self):
        """workloads.TARGETS against what was run, for every server that is the plugin. "met" is None
        where marked rounds are part of it."""
        found = []
        calm = Results([r for r in self.runs if not is_marked(r)], self.servers, self.workloads)
        for server in self.servers:
            if server in servers.NAMES and server != "ra":
                continue
            for work, sense, what, limit in workloads.TARGETS + workloads.AIMS:
                value = self.measure(work, server, what) if work in self.workloads else None
                if value is None:
                    continue
                good = value >= limit if sense == "at least" else value <= limit
                found.append({"work": work, "server": server, "measure": what, "sense": sense,
                              "limit": limit, "value": value,
                              "met": good if calm.measure(work, server, what) == value else None,
                              "aim": (work, sense, what, limit) in workloads.AIMS})
        return found


def coverage_text(results):
    """What the intervals beside the medians cover: less of works with fewer rounds."""
    found = sorted({(r["runs"], r["covers"]) for r in results.summary()})
    if all(runs == 1 for runs, _ in found):
        return "one round: the figures are its own"
    return "of median: an interval that encloses the true median with " + ", ".join(
        f"{100 * covers:.1f} % ({runs} rounds)" for runs, covers in found)


COLUMNS = (
    ("work", "work", "{}"), ("server", "server", "{}"), ("MB/s", "mb_s", "{:.1f}"),
    ("of median", None, None), ("x stock", "x stock", "{:.2f}"),
    ("x tuned", "x tuned", "{:.2f}"), ("x single", "x single", "{:.2f}"),
    ("slow/fast", "slowest_fastest", "{:.2f}"), ("p50 ms", "p50_ms", "{:.1f}"),
    ("p99 ms", "p99_ms", "{:.0f}"), ("worst ms", "worst_ms", "{:.0f}"),
    ("rnd p50", "random_p50_ms", "{:.1f}"), ("rnd p99", "random_p99_ms", "{:.0f}"),
    ("rnd/s", "random_requests_s", "{:.1f}"), ("whole rnd/s", "random_whole_s", "{:.1f}"),
    ("acked s", "acknowledged_s", "{:.1f}"), ("COMMIT s", "committed_s", "{:.1f}"),
    ("on disk s", "on_disk_s", "{:.1f}"), ("not on disk", "not_on_disk_bytes", "{:.0f}"),
    ("all done s", "all_done_s", "{:.1f}"),
    ("files/s", "files_s", "{:.1f}"), ("ops/s", "ops_s", "{:.1f}"),
    ("reads/s", "reads_s", "{:.1f}"), ("writes/s", "writes_s", "{:.1f}"),
    ("logs/s", "logs_s", "{:.1f}"), ("log p99", "log_p99_ms", "{:.0f}"),
    ("disk/read", "disk_per_byte", "{:.2f}"), ("CPU s", "cpu_s", "{:.2f}"),
    ("CPU us/READ", "cpu_us_per_read", "{:.1f}"),
)


MARK = "*"
MARK_MEANS = f"{MARK} others had the processors each time: that counts for nothing"


def _cells(row):
    cells = []
    for title, key, form in COLUMNS:
        if title == "of median":
            cells.append(f"{row['mb_s_low']:.1f}-{row['mb_s_high']:.1f}")
        elif key == "mb_s" and row["marked"]:
            cells.append(form.format(row[key]) + MARK)
        else:
            value = row.get(key)
            cells.append("" if value is None else form.format(value))
    return cells


def _lines(header, rows, markdown):
    """Aligned columns; those that are empty everywhere are left out."""
    keep = [i for i in range(len(header)) if any(r[i] for r in rows)]
    header = [header[i] for i in keep]
    rows = [[r[i] for i in keep] for r in rows]
    widths = [max(len(r[i]) for r in [header] + rows) for i in range(len(header))]
    left = {"work", "server", "measure", "verdict", "limit", "client"}

    def line(cells):
        parts = [c.ljust(w) if h in left else c.rjust(w)
                 for c, w, h in zip(cells, widths, header)]
        return "| " + " | ".join(parts) + " |" if markdown else "  ".join(parts).rstrip()

    lines = [line(header)]
    if markdown:
        lines.append("|" + "|".join("-" * (w + 1) + ("-" if h in left else ":")
                                    for w, h in zip(widths, header)) + "|")
    return lines + [line(r) for r in rows]


def table(results, markdown=False):
    summary = results.summary()
    lines = _lines([c[0] for c in COLUMNS], [_cells(r) for r in summary], markdown)
    if any(r["marked"] for r in summary):
        lines += [""] * markdown + [MARK_MEANS]
    return "\n".join(lines) if summary else "no results"


CLIENT_COLUMNS = (
    ("work", "work", "{}"), ("server", "server", "{}"), ("client", "client", "{}"),
    ("n", "n", "{}"), ("MB/s", "mb_s", "{:.1f}"), ("requests/s", "requests_s", "{:.1f}"),
    ("alone", "alone_mb_s", "{:.1f}"), ("R least", "R_least", "{:.2f}"),
    ("R most", "R_most", "{:.2f}"), ("fast/slow", "fast_slow", "{:.2f}"),
    ("entitled", "entitled", "{:.3f}"), ("disk time", "time_share", "{:.3f}"),
    ("p50 ms", "p50_ms", "{:.1f}"), ("p99 ms", "p99_ms", "{:.0f}"),
    ("worst ms", "worst_ms", "{:.0f}"), ("floor held", "floor_held", "{:.2f}"),
)


def client_table(results, markdown=False):
    """What the clients of the works of isolation.py got; empty without such a work."""
    rows = [["" if row.get(key) is None else form.format(row[key])
             for _, key, form in CLIENT_COLUMNS] for row in isolation.by_shape(results.good())]
    return "\n".join(_lines([c[0] for c in CLIENT_COLUMNS], rows, markdown)) if rows else ""


def verdict_table(results, markdown=False):
    rows = [[v["work"], v["server"], v["measure"], f"{v['value']:.2f}",
             f"{'aim: ' if v['aim'] else ''}{v['sense']} {v['limit']:g}",
             "not told" if v["met"] is None else "met" if v["met"] else
             "not met" if v["aim"] else "MISSED"]
            for v in results.verdicts()]
    header = ["work", "server", "measure", "value", "limit", "verdict"]
    return "\n".join(_lines(header, rows, markdown)) if rows else ""


COLOURS = ("#8c8c8c", "#d9a441", "#2f6fb5", "#4f9d69", "#9b59b6", "#c0504d", "#5bb5c5")


def _figure(width, height):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(width, height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.5, alpha=0.5)
    axes.set_axisbelow(True)
    return figure, axes


TITLE_LETTERS = 10  # of a title, an inch of the chart


def _save(figure, axes, path, title):
    letters = int(TITLE_LETTERS * figure.get_size_inches()[0])
    axes.set_title(textwrap.fill(title, letters), fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def chart(results, path, title, labels=None):
    """Bars: throughput by work and server, with the median's interval."""
    labels = labels or {}
    names = [w for w in results.workloads if any(results.of(w, s) for s in results.servers)]
    figure, axes = _figure(max(6.0, 1.5 + 0.32 * len(names) * (len(results.servers) + 1)), 4.5)
    width = 0.85 / len(results.servers)
    for i, server in enumerate(results.servers):
        for x, work in enumerate(names):
            value = results.value(work, server, "mb_s")
            if value is None:
                continue
            found = results.interval(work, server)
            low, high = found["low"], found["high"]
            at = x + (i - (len(results.servers) - 1) / 2) * width
            axes.bar(at, value, width * 0.94, color=COLOURS[i % len(COLOURS)],
                     yerr=[[value - low], [high - value]], ecolor="#404040", capsize=2)
            mark = MARK if results.is_marked(work, server) else ""
            axes.annotate((f"{value:.0f}" if value >= 10 else f"{value:.1f}") + mark, (at, high),
                          xytext=(0, 2), textcoords="offset points", ha="center", fontsize=7)
        axes.bar(0, 0, color=COLOURS[i % len(COLOURS)], label=labels.get(server, server))
    if any(results.is_marked(work, server) for work in names for server in results.servers):
        axes.bar(0, 0, color="none", label=MARK_MEANS)
    single = results.value("seq1", "stock", "mb_s")
    if single:
        axes.axhline(single, color="#404040", linewidth=0.8, linestyle="--",
                     label="one stream, stock")
    axes.set_xticks(range(len(names)), names, fontsize=9)
    axes.set_ylabel("MB/s (10^6 bytes a second)")
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1),
                ncol=2)
    _save(figure, axes, path, title)


def finish_chart(results, work, path):
    """Curves: the time at which the k-th reader of one work finished, a curve a server."""
    figure, axes = _figure(7, 4.5)
    for i, server in enumerate(results.servers):
        runs = [r["finish_s"] for r in results.of(work, server) if r.get("finish_s")]
        if runs:
            times = [statistics.median(t) for t in zip(*(sorted(r) for r in runs))]
            axes.plot(range(1, len(times) + 1), times, marker="o", markersize=4, label=server,
                      color=COLOURS[i % len(COLOURS)])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("readers finished")
    axes.set_ylabel("seconds")
    axes.legend(frameon=False, fontsize=8)
    _save(figure, axes, path, f"{work}: when the k-th reader finished")


def is_left_out(value):
    """Nothing, or of rounds in which others had the processors (experiments/rounds.py)."""
    return value is None or isinstance(value, dict) and bool(value.get("marked"))


def _bar_of(value):
    """(median, (down, up)) of a number or an interval of experiments/rounds.py."""
    if not isinstance(value, dict):
        return value, (0, 0)
    return value["median"], (value["median"] - value["low"], value["high"] - value["median"])


LABEL_ROOM = 0.95    # inches of a bar that has its own label below it
LABEL_LETTERS = 12   # of a line of such a label


def wrapped(label):
    return textwrap.fill(str(label), LABEL_LETTERS)


def _legend_below(axes, at):
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, at), ncol=3)


def bars(path, title, ylabel, values):
    """{label: interval or number}, or {group: {label: …}} for bars in groups."""
    grouped = any(isinstance(v, dict) and "median" not in v for v in values.values())
    groups = values if grouped else {"": values}
    labels = list(dict.fromkeys(label for group in groups.values() for label in group))
    room = 0.4 * len(groups) * (len(labels) + 1) if grouped else LABEL_ROOM * len(labels)
    figure, axes = _figure(max(5.0, 1.5 + room), 4.5)
    width, named = 0.85 / len(labels), set()
    for x, group in enumerate(groups.values()):
        for i, label in enumerate(labels):
            if is_left_out(group.get(label)):
                continue
            value, error = _bar_of(group[label])
            at = x + (i - (len(labels) - 1) / 2) * width
            axes.bar(at, value, width * 0.94, color=COLOURS[i % len(COLOURS)],
                     yerr=[[error[0]], [error[1]]], ecolor="#404040", capsize=2,
                     label=label if grouped and label not in named else None)
            named.add(label)
            if not grouped:
                text = f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
                axes.annotate(text, (at, value + error[1]), xytext=(0, 2),
                              textcoords="offset points", ha="center", fontsize=8)
    if grouped:
        axes.set_xticks(range(len(groups)), [wrapped(g) for g in groups], fontsize=9)
        _legend_below(axes, -0.12)
    else:
        axes.set_xticks([(i - (len(labels) - 1) / 2) * width for i in range(len(labels))],
                        [wrapped(label) for label in labels], fontsize=9)
    _finish(figure, axes, path, title, ylabel)


TICKS_MOST = 10  # a logarithmic axis with no more places than that names them


def lines(path, title, xlabel, ylabel, curves, log=False, marker="o"):
    """{label: [(x, interval or number)]}, each a curve; `log`: the x axis is logarithmic;
    `marker`: of each point, "" where there are too many for one."""
    figure, axes = _figure(7, 4.5)
    for i, (label, points) in enumerate(curves.items()):
        points = [(x, *_bar_of(y)) for x, y in points if not is_left_out(y)]
        axes.errorbar([p[0] for p in points], [p[1] for p in points],
                      yerr=list(zip(*(p[2] for p in points))) if marker and points else None,
                      marker=marker, markersize=4, capsize=2, label=label,
                      color=COLOURS[i % len(COLOURS)], linestyle="-" if i < len(COLOURS) else "--")
    if log:
        axes.set_xscale("log")
        places = sorted({x for points in curves.values() for x, _ in points})
        if len(places) <= TICKS_MOST:
            axes.set_xticks(places, [f"{x:g}" for x in places])
            axes.minorticks_off()
    axes.set_xlabel(xlabel)
    _legend_below(axes, -0.14)
    _finish(figure, axes, path, title, ylabel)


def _finish(figure, axes, path, title, ylabel):
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    axes.set_ylabel(ylabel)
    _save(figure, axes, path, title)


def tradeoff_chart(points, path, title):
    """Of bench/tradeoff: share of solo throughput against the small reader's p99."""
    figure, axes = _figure(7, 4.5)
    for key, label, colour in (("streams_R", "streams (the least of them)", COLOURS[2]),
                               ("random_R", "small reader", COLOURS[1])):
        axes.plot([p["random_p99_ms"] for p in points], [p[key] for p in points], marker="o",
                  markersize=4, label=label, color=colour)
    for p in points:
        axes.annotate(f"{p['demand_wait_ms']} ms", (p["random_p99_ms"], p["streams_R"]),
                      xytext=(4, -10), textcoords="offset points", fontsize=7)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("p99 of the small reader, ms (labels: Demand_Wait)")
    axes.set_ylabel("R: of its solo throughput, by its share")
    axes.legend(frameon=False, fontsize=8)
    _save(figure, axes, path, title)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results")
    parser.add_argument("--png")
    parser.add_argument("--finish", metavar="WORK")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    with open(options.results, encoding="utf-8") as file:
        stored = json.load(file)
    results = Results(counted(stored["runs"]), list(stored["servers"]), stored["works"])
    print(table(results, options.markdown))
    print(verdict_table(results, options.markdown))
    if options.png and options.finish:
        finish_chart(results, options.finish, options.png)
    elif options.png:
        chart(results, options.png, stored.get("title", ""), stored["servers"])


if __name__ == "__main__":
    sys.exit(main())
