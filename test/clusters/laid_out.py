# SPDX-License-Identifier: LGPL-3.0-or-later
"""Files that e2e.Readers read in order: what parts of test_cluster.py begin with."""
import e2e

STREAMS, STREAM_SIZE = 8, 4 << 20


def lay_out_streams(bed, count=STREAMS, size=STREAM_SIZE):
    """Files f0 ... for e2e.Readers, once."""
    native, path = bed.cluster.native, bed.cluster.path.rstrip("/")
    for number in range(count):
        file = native.open(f"{path}/f{number}", create=True)
        for at in range(0, size, 1 << 20):
            native.write(file, at, e2e.pattern(number, at, min(1 << 20, size - at)))
        native.settle(file)
        native.shut(file)
    bed.cluster.drop_caches()
