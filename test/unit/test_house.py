#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The house stands: test_house.py SOURCES BUILD

Who may know whom is CONTRIBUTING's drawing. Rooms include headers only of those that an arrow leads
to, no file calls one that calls it by whatever way round (seen in the objects of BUILD), none but
src/fsal_ra knows a Ganesha header, src/fsal_ra is at most a third of src, no file is longer than 500
lines, and no function of src and client than 40. There is no symbolic link: sources also travel by ways
that make a small file of one.
"""
import collections
import glob
import os
import re
import subprocess
import sys

ARROWS = {
    "common": (),
    "readahead": ("common",),
    "sched": ("common",),
    "shares": ("common", "sched"),
    "pricing": ("common",),
    "remote": ("common",),
    "disk": ("common", "readahead", "sched", "pricing", "remote"),
    "writeback": ("common", "sched", "pricing", "disk", "readahead"),
    "control": ("common", "readahead", "sched", "pricing"),
    "gate": (),
    "fsal_ra": ("common", "readahead", "sched", "shares", "pricing", "remote", "disk", "writeback",
                "control"),
    "client": ("pricing", "common"),
    "lib": ("pricing",),
}
GANESHA = re.compile(r"fsal|FSAL|ganesha|gsh_|nfs_|sal_|log\.h|config_parsing|avltree|abstract_mem")
LINES_MAX = 500
FUNCTION_MAX = 40  # lines between its braces; of src and client
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def resolve(path, name):
    """The file of ours that `path` includes by `name`, or None."""
    for base in (os.path.dirname(path), "src", "bench", "client"):
        found = os.path.normpath(f"{base}/{name}")
        if os.path.exists(found):
            return found
    return None


def includes(path):
    with open(path, encoding="utf-8") as f:
        return re.findall(r'^\s*#\s*include\s+(["<])([^">]+)', f.read(), re.M)


def functions(lines):
    """The first line and the length of each, where formatting is as .clang-format has it."""
    begin = None
    for at, line in enumerate(lines):
        if line == "{":
            begin = at
        elif line == "}" and begin is not None:
            yield begin, at - begin - 1
            begin = None


def symbols(build):
    """What each source defines and needs, by its object; sources that are gone are left out."""
    defines, needs = {}, {}
    for path in glob.glob(f"{build}/**/CMakeFiles/*.dir/*.c.o", recursive=True):
        directory, name = os.path.relpath(path, build).split("/CMakeFiles/")
        source = f"{directory}/{os.path.basename(name)[:-2]}"
        if not source.startswith(("src/", "client/", "bench/")) or not os.path.exists(source):
            continue
        listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            *_, kind, symbol = line.split()
            if kind == "U":
                needs.setdefault(source, set()).add(symbol)
            elif kind in "TDBR" and symbol != "main":
                defines[symbol] = source
    return defines, needs


def calls(build):
    defines, needs = symbols(build)
    graph = collections.defaultdict(set)
    for source, names in needs.items():
        graph[source] = {defines[n] for n in names if defines.get(n, source) != source}
    return graph


def circle(graph):
    """The files of a circle, in order; None where there is none."""
    state, path = {}, []

    def visit(unit):
        state[unit] = "open"
        path.append(unit)
        for other in sorted(graph.get(unit, ())):
            if state.get(other) == "open":
                return path[path.index(other):] + [other]
            if other not in state and (found := visit(other)):
                return found
        state[unit] = "done"
        path.pop()
        return None

    for unit in sorted(graph):
        if unit not in state and (found := visit(unit)):
            return found
    return None


def links():
    """Below the sources, but what was built."""
    for directory, inner, names in os.walk("."):
        inner[:] = [d for d in inner if not d.startswith(("build", ".git"))]
        yield from (os.path.join(directory, n) for n in inner + names
                    if os.path.islink(os.path.join(directory, n)))


def main():
    os.chdir(sys.argv[1])
    files = sorted(p for d in ("src", "client", "lib", "bench") for e in ("c", "h", "def")
                   for p in glob.glob(f"{d}/**/*.{e}", recursive=True))
    lines = collections.Counter()
    for path in files:
        with open(path, encoding="utf-8") as f:
            text = f.read().splitlines()
        length, room = len(text), room_of(path)
        for at, n in functions(text) if not path.startswith("bench/") else ():
            check(n <= FUNCTION_MAX, f"{path}:{at}: a function of {n} lines")
        if path.startswith("src/"):
            lines[room] += length
        check(length <= LINES_MAX, f"{path}: {length} lines, {LINES_MAX} are the most")
        for how, name in includes(path):
            target = resolve(path, name)
            if not target:
                ours = room == "fsal_ra" or how == "<" and not name.startswith(("FSAL", "ganesha"))
                check(ours or not GANESHA.search(name), f"{path}: {name} is Ganesha's")
                continue
            if room in ARROWS and room_of(target) != room:
                check(room_of(target) in ARROWS[room], f"{path}: no arrow from {room} to {target}")
    graph = calls(sys.argv[2])
    check(not (found := list(links())), f"symbolic links: {', '.join(found)}")
    check(len(graph) > 50, f"only {len(graph)} objects in {sys.argv[2]}")
    found = circle(graph)
    check(not found, f"a circle: {' -> '.join(found or ())}")
    share = lines["fsal_ra"] / sum(lines.values())
    check(share <= 1 / 3, f"src/fsal_ra is {share:.0%} of src: a third is the most")
    for failure in failures:
        print(failure)
    print(f"{len(files)} files, {len(graph)} objects; src/fsal_ra is {share:.0%} of src; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
