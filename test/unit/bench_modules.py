# SPDX-License-Identifier: LGPL-3.0-or-later
"""For tests of bench/: it is in sys.path, and its programs, whose names have no ending, are modules."""
import importlib.machinery
import importlib.util
import os
import sys

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)


def load(path):
    """A program as a module."""
    name = os.path.basename(path).replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def program(name):
    """A program of bench as a module."""
    return load(os.path.join(BENCH, name))
