# SPDX-License-Identifier: LGPL-3.0-or-later
"""The pages made of what bench/papers kept: doc/papers.md, and in doc/measurements.md what stands
between <!-- figures: NAME begin --> and <!-- figures: NAME end -->.

No figure is typed: each comes out of the kept JSON, with its date, commit and steal. Where a series
has rounds only in which others had the processors, the experiment is disturbed: on the first page its
verdict is marked, the text of figures is left out, and of its table and picture what is of such rounds
(plot.py leaves that out); on the second page the old text stays. What was not made in this run keeps
its section of the page that was there, if it has one. A block that stays and does not begin with date,
commit, rounds and steal, as those do that are made here, is marked as kept for the record.
"""
import json
import os
import re
import shutil
import sys

from experiments import MODULES, measured
from experiments import rounds as rounds_of

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc")
TITLES = {
    "ellard": "Ellard and Seltzer: NFS Tricks and Benchmarking Traps (2003)",
    "canfs": "Batsakis and others: CA-NFS: A Congestion-Aware Network File System (2009)",
    "macklem": "Macklem: Lessons Learned Tuning the 4.3BSD Reno Implementation of the NFS Protocol "
               "(1991)",
    "agent": "ca-nfs-agent on Linux clients",
    "baselines": "Beside the kernel's server and I/O schedulers",
    "traces": "Traces replayed",
    "ablation": "What each mechanism is worth",
    "blind": "Works that no default was tuned on",
}
UNMEASURED = ("failed", "disturbed", "not run")  # verdicts without a figure
DISTURBED = "disturbed"
SHORT = 160  # letters of a row of the summary
NAMES_MOST = 3  # of disturbed series that are named
MARK = "\\*"  # of a verdict that rests on disturbed rounds too
BLOCK = re.compile(r"<!-- figures: (\S+) begin -->\n(.*?)<!-- figures: \1 end -->", re.S)
PROVEN = re.compile(r"\d{4}-\d\d-\d\d; commit \S+; ")
FOR_THE_RECORD = "*From an earlier commit, kept for the record"
HEAD = """<!-- SPDX-License-Identifier: LGPL-3.0-or-later -->
<!-- made by bench/papers --page: what is typed here is lost -->
# The papers again

Each experiment of the papers that this work comes from, made again on one machine by

    sudo scripts/setup && cmake --preset release && cmake --build build-release
    sudo bench/papers && bench/papers --page

`bench/papers --list` names them; `--quick` makes them all smaller. The disk is `mechdisk`, a model
of a 7200 rpm drive below a loop device, unless an experiment says otherwise: figures compare
servers on one disk and do not foretell a machine's throughput. `stock` is Ganesha's VFS, `ra` the
plugin above it with its defaults, `tuned` stock with a read_ahead_kb chosen by hand. MB/s are 10^6
bytes a second.

A figure is a median of rounds in which the servers take turns; the range beside it is an interval
that encloses the true median with at least 95 % where there are six rounds, and with less where
there are fewer (`bench/experiments/rounds.py`). Rounds in which others had more than 5 % of the
processors were made again, and do not count. What has no other rounds is called disturbed and its
figures are not shown; a verdict that rests on such rounds too is marked with an asterisk. `not told` is
a verdict where the rounds, too few or on both sides of a bound, cannot tell whether it is kept.

Sections of 26 November 2026 and before had a client that sent a request only when the one before was answered: what they
say of several readers favours the plugin.

d77d63ec, baab122e and 11db48e9 are not in the history: they are states, of 30 November 2026, of what was landed as 08b57887 and
the three commits behind it.
"""


def _read(path):
    """What is kept in a file; None, and a line says so, where it is none of ours."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        if stored["name"] and stored["module"]:
            return stored
    except (ValueError, KeyError, TypeError):
        pass
    print(f"{path}: not written by bench/papers: left out", file=sys.stderr)
    return None


def load(out):
    """{name: what is kept of it}; of one that only failed, how it did."""
    found = {}
    names = [n for n in (os.listdir(out) if os.path.isdir(out) else []) if n.endswith(".json")]
    for name in sorted(names, key=lambda n: (not n.endswith(".failed.json"), n)):
        stored = _read(os.path.join(out, name))
        if stored:
            found[stored["name"]] = stored
    return found


def disturbed(stored):
    """The most steal of a series that has marked rounds only; None where there is none."""
    cells = set(rounds_of.disturbed(stored["rounds"]))
    return max((r["circumstances"]["steal_percent"] for r in stored["rounds"]
                if "circumstances" in r and (r["run"], r["series"]) in cells), default=None)


def wholly_disturbed(stored):
    """Whether nothing was measured while others left the processors alone."""
    cells = {(r["run"], r["series"]) for r in stored["rounds"] if "circumstances" in r}
    return bool(cells) and len(rounds_of.disturbed(stored["rounds"])) == len(cells)


def disturbance(stored):
    """In words: which series, and by how much."""
    cells = rounds_of.disturbed(stored["rounds"])
    every = {(r["run"], r["series"]) for r in stored["rounds"] if "circumstances" in r}
    names = list(dict.fromkeys(series for _, series in cells))
    named = "" if len(names) > NAMES_MOST else f" ({', '.join(names)})"
    return f"Others had up to {disturbed(stored):.0f} % of the processors in all rounds of " \
        f"{len(cells)} of {len(every)} series{named}."


def machine_of(stored):
    machine = stored["machine"]
    return ", ".join(str(part) for part in (
        machine["cpu"] or machine["architecture"], f"{machine['processors']} processors",
        f"{machine['memory_mb'] or 0} MB", machine["distribution"],
        f"Linux {machine['kernel']}", f"Ganesha {machine['ganesha'] or 'unknown'}"))


def provenance(stored):
    """When, of which code, and what went on beside the rounds that count."""
    rounds = [r for r in stored["rounds"]
              if "circumstances" in r and not r["circumstances"]["marked"]]
    counted, times = [r["circumstances"] for r in rounds], len({r["round"] for r in rounds})
    parts = [stored["date"][:10], f"commit {stored['machine']['commit'] or 'unknown'}"]
    if stored["quick"]:
        parts.append("quick")
    if counted:
        parts.append(f"{len(counted)} measurements in {times} round{'s'[:times > 1]}, "
                     "steal at most "
                     f"{max(c['steal_percent'] for c in counted):.1f} %")
        again = sum(c["read_again_pages"] for c in counted)
        if again:
            parts.append(f"{again} pages evicted and read again")
    if stored["marked_rounds"]:
        parts.append(f"{stored['marked_rounds']} disturbed rounds left out")
    if stored["failures"]:
        parts.append(f"{len(stored['failures'])} rounds failed")
    return "; ".join(str(p) for p in parts)


def flat(text):
    """As a table's cell may hold it."""
    return " ".join(str(text).split()).replace("|", "\\|")


def cell(value, form):
    """A table's cell: of an interval the median and its range."""
    if value is None:
        return ""
    if isinstance(value, str):
        return flat(value)
    if not isinstance(value, dict):
        return form.format(value)
    if value.get("marked"):
        return DISTURBED
    text = form.format(value["median"])
    if value["low"] == value["high"]:
        return text
    return f"{text} ({form.format(value['low'])} to {form.format(value['high'])})"


def table(columns, points):
    """Markdown; columns without any value are left out."""
    rows = [[cell(p.get(key), form) for _, key, form in columns] for p in points]
    keep = [i for i in range(len(columns)) if any(r[i] for r in rows)]
    lines = ["| " + " | ".join(columns[i][0] for i in keep) + " |",
             "|" + "|".join("---" for _ in keep) + "|"]
    return lines + ["| " + " | ".join(r[i] for i in keep) + " |" for r in rows]


def verdict(stored, words=None):
    """(verdict, in the experiment's words, and why or figure) for the summary."""
    if not stored:
        return "not run", "nothing is kept of it"
    if stored["failed"] or not stored["outcome"]:
        return "failed", (stored["failed"] or "it has no outcome").strip().splitlines()[-1]
    outcome = stored["outcome"]
    found = (words or {}).get(outcome["verdict"], outcome["verdict"])
    if disturbed(stored) is None:
        return found, outcome["figure"] or outcome["why"]
    return DISTURBED if wholly_disturbed(stored) else found + MARK, disturbance(stored)


def sentence(text):
    """Words that an experiment says of itself, with a full stop."""
    text = " ".join(text.split())
    return text + "." if text and text[-1] not in ".?!" else text


def section(experiment, stored, picture):
    """Of one experiment; what ran is described as it was then: which servers the machine had."""
    found, text = verdict(stored, experiment.words)
    lines = [f"### {experiment.name}: {experiment.paper}", ""]
    ours = (stored or {}).get("ours") or experiment.ours
    for title, what in (("The paper.", experiment.did), ("Here.", ours),
                        ("The paper's figure:", experiment.paper_figure)):
        if what.strip("- "):
            lines += [f"**{title}** {sentence(what)}", ""]
    if stored and found not in UNMEASURED:
        outcome = stored["outcome"]
        if found.endswith(MARK):
            lines += [f"**Verdict: {found}.** {text}", ""]
        else:
            why = sentence(outcome["why"])
            lines += [f"**Ours:** {sentence(outcome['figure'])}", "",
                      f"**Verdict: {found}{':' if why else '.'}** {why}", ""]
        if experiment.columns and outcome["points"]:
            lines += [*table(experiment.columns, outcome["points"]), ""]
        if picture:
            lines += [f"![{experiment.name}: {experiment.paper}](papers/{experiment.name}.png)", ""]
    else:
        lines += [f"**Verdict: {found}:** {sentence(text)}", ""]
    if stored:
        lines += [f"*{provenance(stored)}.*", ""]
    return [line.rstrip() for line in lines]


def made_before(page, kept):
    """{name: (verdict, row of the summary, lines of the section)} of what is on a `page` that was made
    before, and is not among the `kept`."""
    rows = {m[1]: m[0] for m in re.finditer(r"^\| \[(\S+)\]\(#.*\|$", page, re.M)}
    found = {}
    for part in re.split(r"^(?=##)", page, flags=re.M):
        name = (re.match(r"### (\S+): ", part) or [None, None])[1]
        if name in rows and verdict(kept.get(name))[0] in UNMEASURED:
            found[name] = (rows[name].split(" | ")[2], rows[name], [*part.rstrip().splitlines(), ""])
    return found


def papers(experiments, kept, pictures, before=""):
    """The text of doc/papers.md. `pictures`: names of experiments that have one; `before`: its text until
    now."""
    every = [e for e in experiments if e.module != "measured"]
    older = made_before(before, kept)
    shown = [e for e in every if e.name in kept or e.name in older]
    verdicts = {}
    machines = dict.fromkeys(machine_of(kept[e.name]) for e in shown if e.name not in older)
    lines = [HEAD, *(f"Measured on: {m}." for m in machines), "", *quickness(shown, kept, older),
             "| experiment | of | verdict | ours |", "|---|---|---|---|"]
    for e in shown:
        if e.name in older:
            found, row, _ = older[e.name]
        else:
            found, text = verdict(kept[e.name], e.words)
            row = f"| [{e.name}](#{anchor(e)}) | {e.paper} | {found} | {short(flat(text))} |"
        verdicts[found] = verdicts.get(found, 0) + 1
        lines.append(row)
    lines += ["", ", ".join(f"{n} {found}" for found, n in verdicts.items()) + "."]
    stay = [e.name for e in shown if e.name in older]
    lines += ["", f"Of an earlier run, whose commit each section names: {', '.join(stay)}."] if stay else []
    others = [e.name for e in every if e not in shown]
    lines += ["", f"Not made in this run: {', '.join(others)}."] if others else []
    for module in MODULES:
        of_module = [e for e in shown if e.module == module]
        if of_module:
            lines += ["", f"## {TITLES.get(module, module)}", ""]
        for e in of_module:
            lines += older[e.name][2] if e.name in older else \
                section(e, kept[e.name], e.name in pictures)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def quickness(shown, kept, older):
    """In words: how much was measured."""
    quick = [e.name for e in shown if (any("; quick" in line for line in older[e.name][2][-3:])
                                       if e.name in older else kept[e.name]["quick"])]
    if not quick:
        return []
    whose = "All of them" if len(quick) == len(shown) else f"{len(quick)} of them"
    return [f"{whose} were made by `--quick`: small, and of one round mostly, so that a figure is its "
            "own median and no range stands beside it.", ""]


def short(text):
    """For a row of the summary; all of it stands in the experiment's section."""
    if len(text) <= SHORT:
        return text
    return text[:SHORT].rsplit(" ", 1)[0].rstrip(" ;,:") + " …"


def anchor(experiment):
    """As Markdown's renderers make it of the heading."""
    text = f"{experiment.name}: {experiment.paper}".lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def for_the_record(match):
    """A block that stays, marked where it does not say as those made here of what it is."""
    name, body = match.groups()
    if PROVEN.match(body) or body.startswith(FOR_THE_RECORD):
        return match[0]
    made = "" if name in (e.name for e in measured.EXPERIMENTS) else " No experiment makes it."
    return (f"<!-- figures: {name} begin -->\n{FOR_THE_RECORD}: bench/papers did not make it, so that "
            f"steal, and mostly the commit, are not known, and figures in its text are typed.{made}*\n\n"
            f"{body}<!-- figures: {name} end -->")


def unproven(text):
    """The names of blocks that do not say by which commit and rounds they were made."""
    return [name for name, body in BLOCK.findall(text) if not PROVEN.match(body)]


def measurements(text, kept):
    """(the text of doc/measurements.md with the kept blocks in it, complaints)"""
    said, seen = [], set()

    def put(match):
        name, old = match[1], for_the_record(match)
        seen.add(name)
        stored = kept.get(name)
        if not stored or stored.get("module") != "measured":
            said.append(f"{name}: nothing is kept of it, the old text stays")
            return old
        if verdict(stored)[0] in UNMEASURED or disturbed(stored) is not None:
            said.append(f"{name}: {' '.join(verdict(stored))}; the old text stays")
            return old
        return (f"<!-- figures: {name} begin -->\n{provenance(stored)}; {machine_of(stored)}.\n\n"
                f"{measured.render(stored)}\n<!-- figures: {name} end -->")

    text = BLOCK.sub(put, text)
    said += [f"{name}: doc/measurements.md has no place for it" for name, stored in kept.items()
             if stored.get("module") == "measured" and name not in seen]
    return text, said


def take_pictures(out, kept, doc):
    """Copies the charts of what is not disturbed. The names of the experiments that have one."""
    found = set()
    os.makedirs(os.path.join(doc, "papers"), exist_ok=True)
    for name, stored in kept.items():
        path = os.path.join(out, name + ".png")
        marked = stored.get("module") == "measured" and disturbed(stored) is not None
        if not os.path.exists(path) or verdict(stored)[0] in UNMEASURED or marked:
            continue
        found.add(name)
        target = stored["outcome"]["more"].get("picture") or f"papers/{name}.png"
        shutil.copyfile(path, os.path.join(doc, target))
    return found


def write_pages(out, experiments, doc=DOC):
    """Both pages of what is kept in the directory `out`. The exit status."""
    kept = load(out)
    if not kept:
        print(f"papers: nothing is kept in {out}")
        return 1
    pictures = take_pictures(out, kept, doc)
    path, before = os.path.join(doc, "papers.md"), ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(papers(experiments, kept, pictures, before))
    path = os.path.join(doc, "measurements.md")
    with open(path, encoding="utf-8") as file:
        text, said = measurements(file.read(), kept)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    for line in said:
        print(f"measurements.md: {line}")
    old = unproven(text)
    if old:
        print(f"measurements.md: {len(old)} of {len(BLOCK.findall(text))} blocks do not say by which commit "
              f"and rounds they were made, and are marked so: {', '.join(old)}", file=sys.stderr)
    for e in experiments:
        found, text = verdict(kept.get(e.name))
        if found in UNMEASURED and e.module != "measured":
            print(f"papers.md: {e.name}: {found}: {text}")
    return 0
