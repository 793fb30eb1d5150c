#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Alert rules over recorded metrics: test_alerts.py RULES RECORDED

RECORDED (test/recorded) has what real servers said each second: one that was calm, and one for each
trouble. A second of it stands for a minute, in which counters grow sixty times as much; what came
in the last seconds goes on until each rule has seen enough. Then exactly the alerts of that trouble
are to fire, of the right client, and none of a calm server. promtool comes as for test_promtool.py.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

MINUTES = 200
TAIL = 8  # recorded seconds that are gone through again and again
COUNTER = re.compile(r"_(total|bucket|sum|count)(\{|$)")

# recording: the alerts that are to fire
EXPECTED = {
    "calm": [],
    "client-hogs-disk": [{"alertname": "NfsOneClientUsesTheDisk", "client": "127.0.0.11"}],
    "commits-wait": [{"alertname": "NfsCommitWaits"}],
    "prefetches-wasted": [{"alertname": "NfsPrefetchesWasted", "export": "1"}],
    "write-out-errors": [{"alertname": "NfsWriteOutErrors"}],
    "disk-slows-down": [{"alertname": "NfsDiskSlowsDown"}],
    "disk-hangs": [{"alertname": "NfsDiskHangs"}],
}


def recorded(path):
    """{series: values, None where there was none}"""
    found = {}
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.startswith("#"):
                continue
            name, *words = line.split()
            values = []
            for word in words:
                value, _, more = word.partition("x")
                values += [None if value == "_" else float(value)] * (1 + int(more or 0))
            found[name] = values
    return found


def minutes(name, values):
    """As many as MINUTES, as promtool has them."""
    counts = bool(COUNTER.search(name))
    told, at = [], values[0]
    for n in range(MINUTES):
        here = n if n < len(values) else len(values) - TAIL + (n - len(values)) % TAIL
        value, before = values[here], values[here - 1] if here else None
        if not counts or at is None or value is None or before is None:
            at = value
        else:
            at += 60 * max(0, value - before)
        told.append("_" if at is None else f"{at:.15g}")
    return " ".join(told)


def of_instance(series):
    name, _, labels = series.partition("{")
    return f'{name}{{instance="server"{"," + labels if labels else "}"}'


def labels_of(alert):
    inner = ",".join(f'{key}="{value}"' for key, value in sorted(alert.items()))
    return "{" + inner + "}"


def case(wanted, path, names):
    series = [{"series": of_instance(s), "values": minutes(s, v)}
              for s, v in recorded(path).items() if s.partition("{")[0] in names]
    return {"interval": "1m", "input_series": series, "promql_expr_test": [
        {"expr": 'count by (alertname, client, export) (ALERTS{alertstate="firing"})',
         "eval_time": f"{MINUTES - 10}m",
         "exp_samples": [{"labels": labels_of(a), "value": 1} for a in wanted]}]}


def main():
    rules, directory = (os.path.realpath(a) for a in sys.argv[1:])
    home = os.environ.get("XDG_CACHE_HOME") or "/var/cache"
    cache = os.environ.get("RA_CACHE") or f"{home}/nfs-ganesha-ra"
    promtool = shutil.which("promtool") or shutil.which(f"{cache}/promtool/promtool")
    if not promtool:
        print("skipped: no promtool (scripts/setup fetches it)")
        sys.exit(77)
    with open(rules, encoding="utf-8") as f:
        names = set(re.findall(r"nfs_ganesha_ra_[a-z_]+", f.read()))
    files = {os.path.splitext(f)[0] for f in os.listdir(directory) if f.endswith(".series")}
    failures = files != set(EXPECTED)
    print(f"{'not ok' if failures else 'ok'} each trouble is recorded", sorted(files))
    for name in sorted(files & set(EXPECTED)):
        with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="ascii") as f:
            json.dump({"rule_files": [rules], "evaluation_interval": "1m",
                       "tests": [case(EXPECTED[name], f"{directory}/{name}.series", names)]}, f)
            f.flush()
            done = subprocess.run([promtool, "test", "rules", f.name], text=True, check=False,
                                  capture_output=True)
        what = ", ".join(a["alertname"] for a in EXPECTED[name]) or "no alert"
        print(f"{'not ok' if done.returncode else 'ok'} {name}: {what}",
              done.stdout + done.stderr if done.returncode else "")
        failures += done.returncode != 0
    sys.exit(1 if failures else 0)


main()
