# SPDX-License-Identifier: LGPL-3.0-or-later
"""doc/papers.md and the marked parts of doc/measurements.md, made of what bench/papers kept."""


def write_pages(out, experiments):
    raise NotImplementedError
