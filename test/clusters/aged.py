# SPDX-License-Identifier: LGPL-3.0-or-later
"""How old what a READ shows may be, after one change by an outside writer: what a part of
test_cluster.py does.

    reader:   reads in order, so that the rest is fetched ahead |  looks at a piece of it every now
    outside:                              changes all of that --'  and then: until when are old ones
                                                                   shown?
"""
import time

import control_client
import e2e
import gateway
import nfs3

PIECE, BEFORE = 65536, 2 << 20  # bytes: of a READ; that are read in order first
LOOKS, PACE_S = 24, 0.2  # what is kept is to last for longer than the bound
CHANGED = LOOKS * PIECE


def fill(native, file, offset, length, byte):
    for at in range(offset, offset + length, 1 << 20):
        native.write(file, at, byte * min(1 << 20, offset + length - at))


def rewrite(native, file):
    fill(native, file, BEFORE, CHANGED, b"2")


# For each change: whether there is something behind what is read first, how it is made, what is
# shown then.
CHANGES = {
    "overwrite": (True, rewrite, b"2" * PIECE),
    "truncate": (True, lambda native, file: native.truncate(file, BEFORE), b""),
    "append": (False, rewrite, b"2" * PIECE),
}


def ages(bed, kind, server):
    """(ages in seconds of what was old; bytes that were kept when it was changed; whether that was in the
    second of the writes before it; what was neither old nor new)"""
    follows, change, expected = CHANGES[kind]
    native, name = bed.cluster.native, f"aged-{kind}"
    time.sleep(1 - time.time() % 1)  # GLUSTER's change attribute counts seconds: all within one
    second = int(time.time())
    file = native.open(f"{bed.cluster.path.rstrip('/')}/{name}", create=True)
    fill(native, file, 0, BEFORE + (2 * CHANGED if follows else 0), b"1")
    native.settle(file)
    client = gateway.client(server)
    _, fh = client.lookup(name)
    for at in range(0, BEFORE, PIECE):
        client.read(fh, at, PIECE)
    time.sleep(0.2)  # of what is being fetched
    kept = control_client.stats("engine")["kept_bytes"] if bed.kind == "ra" else 0
    change(native, file)
    done, old, wrong = time.monotonic(), [], []
    same = int(time.time()) == second
    for look in range(LOOKS):
        time.sleep(max(0, done + look * PACE_S - time.monotonic()))
        sent = time.monotonic()
        status, data = client.read(fh, BEFORE + look * PIECE, PIECE)
        if status == nfs3.OK and data == expected:
            continue
        if status == nfs3.OK and data == (b"1" * PIECE if follows else b""):
            old.append(sent - done)
        else:
            wrong.append((look, status, len(data or b""), (data or b"")[:8]))
    native.shut(file)
    client.close()
    return old, kept, same, wrong


def aged(bed):
    """An outside writer's overwrite, truncation and append ahead of a reader are seen within the
    bound."""
    server, bound = bed.gateway(), bed.cluster.bound_s
    for kind in CHANGES:
        old, kept, same, wrong = ages(bed, kind, server)
        e2e.note(f"aged: {kind}: {len(old)} of {LOOKS} READs showed something old, by "
                 f"{max(old, default=0):.2f} s at most; {kept >> 10} KiB had been kept; the change "
                 f"came in {'the' if same else 'another'} second of what was written before")
        e2e.check(not wrong, f"aged: {kind}: all old or new", wrong[:3])
        e2e.check(max(old, default=0) <= bound, f"aged: {kind}: nothing older than {bound} s",
                  old[-3:])
        if bound and bed.kind == "ra" and CHANGES[kind][0]:
            e2e.check(kept > 0, f"aged: {kind}: something was fetched ahead of it", kept)
    gateway.ends_well(server, "aged")
