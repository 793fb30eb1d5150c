# SPDX-License-Identifier: LGPL-3.0-or-later
"""The experiments of bench/papers, a module for each paper or subject, found by name.

    catalogue()         all of them, in the order in which they are run, blind last
    choose(catalogue, ["e4", "m", "blind"])     those that names and groups mean

A group is a module, by its name or by its letter.
"""
import importlib
import os

# Modules in the order in which they are run; the blind set comes last, whatever was tuned before.
MODULES = {"ellard": "e", "canfs": "c", "macklem": "m", "agent": "a", "baselines": "b",
           "ablation": "ab", "measured": "d", "traces": "t",
           "gateways": "g", "blind": "x"}
BY_NAME_ONLY = ("measured", "gateways")


class Unknown(ValueError):
    """A name that means no experiment; the text says what there is."""


def catalogue():
    """({name: experiment}, {module: why it cannot be imported}). A module that is not there is left
    out; one that is broken must not stop the others."""
    found, broken = {}, {}
    for module in MODULES:
        if not os.path.exists(os.path.join(os.path.dirname(__file__), f"{module}.py")):
            continue
        try:
            listed = importlib.import_module(f"experiments.{module}").EXPERIMENTS
            for experiment in listed:
                experiment = experiment() if isinstance(experiment, type) else experiment
                experiment.module = module
                if experiment.name in found:
                    raise ValueError(f"experiment {experiment.name} is there twice")
                found[experiment.name] = experiment
        except Exception as error:  # whatever it is, the other modules can be run
            broken[module] = f"{type(error).__name__}: {error}"
    return found, broken


def choose(found, names):
    """The experiments meant by names and groups, each once, in the catalogue's order; where none is
    named all but those of BY_NAME_ONLY. Unknown where a name means nothing."""
    if not names:
        return [e for e in found.values() if e.module not in BY_NAME_ONLY]
    wanted = set()
    for name in names:
        group = [e.name for e in found.values() if name in (e.module, MODULES[e.module])]
        if name not in found and not group:
            groups = dict.fromkeys(f"{MODULES[e.module]} ({e.module})" for e in found.values())
            raise Unknown(f"{name}: no such experiment; there are {', '.join(found)}; "
                          f"groups: {', '.join(groups)}")
        wanted.update([name] if name in found else group)
    return [e for e in found.values() if e.name in wanted]
