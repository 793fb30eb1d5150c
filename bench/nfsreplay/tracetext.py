# SPDX-License-Identifier: LGPL-3.0-or-later
"""Writing traces in nfsreplay's text format (doc/traces.md)."""
import re

VERSION = 1
OPS_MAX = 4 << 20  # operations that nfsreplay takes
CLIENTS_MAX = 512
LENGTH_MAX = 1 << 20  # bytes of a READ or WRITE
PATH_MAX = 1023
COMPONENT = re.compile(r"[!-.0-~]{1,255}")


def is_component(name):
    """Whether it can be a name in a path."""
    return bool(COMPONENT.fullmatch(name)) and name not in (".", "..")


def time_text(microseconds):
    seconds, rest = divmod(microseconds, 1000000)
    return f"{seconds}.{rest:06d}".rstrip("0").rstrip(".") if rest else str(seconds)


def operation(at, client, name, *arguments, took=0, status=0, stable="unstable"):
    """One line: AT and TOOK in microseconds."""
    words = [time_text(at), client, name, *map(str, arguments)]
    if stable != "unstable":
        words.append(f"stable={stable}")
    if took:
        words.append(f"took={took}")
    if status:
        words.append(f"status={status}")
    return " ".join(words)


def write(out, comments, directories, files, operations):
    """All of a trace: COMMENTS, what must be there (FILES: path and size), lines of operations."""
    out.write(f"nfs-trace {VERSION}\n")
    for comment in comments:
        out.write(f"# {comment}\n")
    for path in directories:
        out.write(f"dir {path}\n")
    for path, size in files:
        out.write(f"file {path} {size}\n")
    for line in operations:
        out.write(line + "\n")
