# SPDX-License-Identifier: LGPL-3.0-or-later
"""What bench/compare keeps as JSON, also of a run that was cut off, and going on from that.

    stored = keeping.read(path)                             # None: nothing is there
    keeping.reason_against(stored, options, machine)        # None: its rounds count
    keeping.write(path, {..., "incomplete": "why, or None"})

A file is written whole or not at all, after each measurement: whatever ends a run, what was
measured is there, marked as incomplete.
"""
import json
import os

# Options that say how much is measured, or what is made of it, and not what a round is; what lies at
# the last three is compared itself.
BESIDE = ("runs", "runs_of", "tries", "json", "png", "finish_png", "markdown", "go_on", "max_time", "work",
          "servers", "plugin", "nfsbench", "mechdisk")


def write(path, stored):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(stored, file, indent=1)
        file.write("\n")
    os.rename(path + ".new", path)


def read(path):
    """What is kept there; None where there is no such file. ValueError: it is none of ours."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path}: no results of bench/compare: {error}") from error
    if not isinstance(stored, dict) or not {"runs", "options"} <= set(stored):
        raise ValueError(f"{path}: no results of bench/compare")
    return stored


def other_code(was, now):
    """Why what was measured on the machine `was` is of other code than on `now` (machine.describe,
    with "built": hashes of what is measured); None where it is the same. A commit alone tells too
    little: it may be "-dirty" with other changes, or none, and the build older."""
    if was.get("commit") != now["commit"]:
        return f"it is of commit {was.get('commit')}, this is {now['commit']}"
    if "built" not in was:
        return "it does not tell of which build it is"
    other = [name for name, found in now["built"].items() if was["built"].get(name, found) != found]
    return f"it is of another build: {', '.join(other)}" if other else None


def reason_against(stored, options, machine):
    """Why rounds of a run with these options (a dict), on this machine, must not stand beside those
    that are kept."""
    other = other_code(stored.get("machine", {}), machine)
    if other:
        return other
    old = stored["options"]
    other = [k for k in options if k not in BESIDE and old.get(k) != options[k]]
    if other:
        name = other[0].replace("_", "-")
        return f"it was made with --{name} {old.get(other[0])}, not {options[other[0]]}"
    return None


def add_failure(record, text):
    """Behind what failed before: a load that was too slow does not hide that the server died, too."""
    record["failed"] = "; ".join(filter(None, (record.get("failed"), text)))


def usable(stored, settings):
    """Its rounds that count and need not be made again: of the servers of `settings`."""
    same = {n for n, s in settings.items() if stored.get("settings", {}).get(n) == s}
    return [r for r in stored["runs"] if r["server"] in same and not r.get("failed")
            and not r["circumstances"]["marked"]]
