#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A confined server works: test_confined.py SOURCES

What the sources of the plugin open by a fixed path is allowed by the example of an AppArmor profile,
and stands in the table of doc/packages.md. Numbers and names in a path are made up.
"""
import glob
import os
import re
import sys

# What the kernel follows before it looks into a profile
LINKS = (("/proc/net", "/proc/123/net"), ("/proc/self", "/proc/123"),
         ("/sys/dev/block/8:0", "/sys/devices/pci/sda"), ("/sys/class/net/sda", "/sys/devices/pci/sda"))
PATH = re.compile(r'"(/(?:dev|proc|sys|var|run)/[^"\s]*)"')
RULE = re.compile(r"^([/@]\S+) ([a-z]+),$")
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources():
    """All of src but for what only ractl is made of, by the list in its CMakeLists.txt."""
    lists = text_of("src/control/CMakeLists.txt")
    others = re.findall(r"(?:add_library\(ra_top STATIC|add_executable\(ractl)([^)]*)\)", lists)
    check(len(others) == 2, "src/control/CMakeLists.txt says what ractl is made of")
    ractl = {f"src/control/{name}" for name in " ".join(others).split()}
    found = glob.glob("src/**/*.[ch]", recursive=True) + ["src/fsal_ra/params.def"]
    return sorted(set(found) - ractl)


def made_up(path):
    """One path that it may be: of a disk sda, of a group of processes /a/b."""
    path = path.replace("fs/cgroup%s", "fs/cgroup/a/b")
    path = re.sub(r"(cgroup/cpu(acct)?)%s", r"\1/a/b", path)
    path = path.replace("%u:%u", "8:0").replace("block/%s", "block/8:0")
    path = re.sub(r"%[.0-9]*s", "sda", path)
    path = re.sub(r"%[du]", "7", path)
    for link, target in LINKS:
        if path == link or path.startswith(link + "/"):
            path = target + path[len(link):]
    return os.path.normpath(path) + ("/" if path.endswith("/") else "")


def expression(rule):
    """AppArmor's * ** {} and variables as a regular expression."""
    rule = rule.replace("@{PROC}", "/proc").replace("@{pid}", "[0-9]+")
    out, depth = "", 0
    for part in re.findall(r"\*\*|\[0-9\]\+|.", rule):
        depth += (part == "{") - (part == "}")
        out += {"**": ".*", "*": "[^/]*", "{": "(?:", "}": ")", "[0-9]+": part}.get(
            part, "|" if part == "," and depth else re.escape(part))
    return out


def allowed(path, rules):
    """By itself, as a directory that is opened, or as one of whose files some are."""
    path = path.rstrip("/")
    return any(re.fullmatch(rule, name) for rule in rules
               for name in (path, path + "/", path + "/stat", path + "/device-0")) or \
        any(rule.startswith(re.escape(path + "/")) for rule in rules)


def main():
    os.chdir(sys.argv[1])
    lines = text_of("config/apparmor-nfs-ganesha-ra").splitlines()
    rules = [expression(m[1]) for m in map(RULE.match, lines) if m]
    check(len(rules) > 10, "the example has rules")
    document = text_of("doc/packages.md")
    table = document[document.index("## What the plugin touches"):]
    table = table[:table.index("**AppArmor.**")]
    paths = {path for source in sources() for path in PATH.findall(text_of(source))}
    suffix = re.search(r'#define LOCK_SUFFIX\s+"([^"]*)"', text_of("src/control/listener.c"))
    check(suffix, "src/control/listener.c says what the file is called by which it locks its socket")
    paths.add("/run/ganesha/ra.sock" + suffix[1] if suffix else "")
    check(len(paths) > 15, f"paths are found: {paths}")
    for path in sorted(paths):
        check(allowed(made_up(path), rules), f"AppArmor: no rule for {path}, as {made_up(path)}")
    for word in ("/dev/disk/by-uuid", "Learnt_Directory", "/var/lib/nfs/ganesha/ra", "ext4"):
        check(word in table, f"doc/packages.md, what the plugin touches: no {word}")
    print("\n".join(failures) or "ok")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
