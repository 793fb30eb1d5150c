#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Metrics, alert rules and dashboard agree: test_promtool.py CONFIG TEST_METRICS

Rules and dashboard name only what `ractl metrics` prints. promtool has no complaint about the
text, and each alert is raised by the series that it is for
(config/nfs-ganesha-ra.rules.test.yml). promtool comes with Debian's prometheus, out of which
scripts/setup takes it; without it the test skips when the rest is right.
"""
import json
import os
import re
import shutil
import subprocess
import sys

failures = 0


def check(good, what, detail=""):
    global failures
    failures += not good
    print(("ok " if good else "not ok ") + what + (f"\n{detail}" if not good else ""))


def run(*command, text=""):
    return subprocess.run(command, input=text, text=True, check=False, capture_output=True)


def cache():
    home = os.environ.get("XDG_CACHE_HOME")
    return os.environ.get("RA_CACHE") or f"{home or '/var/cache'}/nfs-ganesha-ra"


def names_in(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    found = set(re.findall(r"nfs_ganesha_ra_[a-z_]+", text))
    return {re.sub(r"_(bucket|sum|count)$", "", n) if "_seconds_" in n else n for n in found}


def main():
    config, test_metrics = sys.argv[1:]
    text = run(test_metrics, "--print").stdout
    printed = set(re.findall(r"^# TYPE (\S+)", text, flags=re.M))
    check(len(printed) > 40, f"{len(printed)} families")
    dashboard = f"{config}/nfs-ganesha-ra.grafana.json"
    for path in (f"{config}/nfs-ganesha-ra.rules.yml", dashboard):
        # of a block device the kernel counts; the made-up ones are none
        unknown = names_in(path) - printed - {"nfs_ganesha_ra_device_busy_seconds_total"}
        check(names_in(path) and not unknown, f"{os.path.basename(path)} names what is there",
              unknown)
    with open(dashboard, encoding="utf-8") as f:
        panels = json.load(f)["panels"]
    check(len(panels) >= 10, "the dashboard is JSON, with its panels")
    check(all(p["datasource"] == "$datasource" for p in panels),
          "its data source is a name, as Grafana before 8.3 has it, and later ones convert")
    promtool = shutil.which("promtool") or shutil.which(f"{cache()}/promtool/promtool")
    if promtool:
        done = run(promtool, "check", "metrics", text=text)
        check(done.returncode == 0 and not done.stderr, "promtool check metrics", done.stderr)
        for what, name in (("check", "rules.yml"), ("test", "rules.test.yml")):
            done = run(promtool, what, "rules", f"{config}/nfs-ganesha-ra.{name}")
            check(done.returncode == 0, f"promtool {what} rules", done.stdout + done.stderr)
    if failures or promtool:
        sys.exit(1 if failures else 0)
    print("skipped: no promtool (scripts/setup fetches it)")
    sys.exit(77)


main()
