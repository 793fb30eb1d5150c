# SPDX-License-Identifier: LGPL-3.0-or-later
"""Parts of test_cluster.py: what a gateway keeps of a cluster whose client library keeps nothing, when
nobody can take it: nothing may be moved twice, and nothing is shown that the gateway itself cut off."""
import struct
import time

import control_client
import e2e
import gateway
import nfs3
import nfs4

SIZE, READ = 16 << 20, 65536
TWICE = 1.4  # of what is read: more has been moved twice, in good part
SETTLED_S = 2.5  # after which a change attribute vouches for what is kept
PACE_S = 0.03  # of a reader, so that several attributes must come


def fresh(bed, name):
    """A file of e2e.pattern(3), which no gateway has seen."""
    native, path = bed.cluster.native, bed.cluster.path.rstrip("/")
    file = native.open(f"{path}/{name}", create=True)
    for at in range(0, SIZE, 1 << 20):
        native.write(file, at, e2e.pattern(3, at, 1 << 20))
    native.shut(file)
    bed.cluster.drop_caches()


def moved_once(bed, what, server, read):
    """All READs of a file in order, by read(at) -> (status, data): how often its bytes left the
    bricks."""
    before, began = bed.cluster.bytes_read(), time.monotonic()
    wrong = [at for at in range(0, SIZE, READ)
             if read(at) != (nfs3.OK, e2e.pattern(3, at, READ))]
    times = (bed.cluster.bytes_read() - before) / SIZE
    e2e.check(not wrong, f"{what}: every byte was right", wrong[:5])
    e2e.note(f"{what}: the bricks read {times:.2f} times what the client did, "
             f"{SIZE / (time.monotonic() - began) / 1e6:.1f} MB/s")
    stats = gateway.ends_well(server, what)
    e2e.check(times < TWICE, f"{what}: nothing is moved twice", (times, stats))
    return stats


def states(bed):
    """READs of NFSv4 go to the FSAL below with their state: nothing is fetched ahead into a cache that
    they do not look into."""
    fresh(bed, "states")
    server = bed.gateway(protocols="3, 4")
    client = nfs4.Client(server)
    status, fh, stateid = client.open(f"{gateway.PSEUDO}/states")
    e2e.check(status == nfs3.OK, "states: the file can be opened", status)

    def read(at):
        status, reply = client.call(*client.read_operations(fh, stateid, at, READ))
        return status, client.data(status, reply)

    moved_once(bed, "states", server, read)
    client.close()


def late_answers(bed):
    """Change attributes that come too late to vouch for anything: reading goes on as without the
    plugin."""
    fresh(bed, "late")
    server = bed.gateway()
    client = gateway.client(server)
    _, fh = client.lookup("late")

    def read(at):
        time.sleep(PACE_S)
        return client.read(fh, at, READ)

    stats = moved_once(bed, "late answers", server, read)
    client.close()
    if bed.kind == "ra":
        e2e.check("does not come within" in server.log_text(), "late answers: the log says so",
                  stats)


def half_done(bed):
    """A SETATTR that cuts the file off and then fails: what was cut off is not shown."""
    fresh(bed, "half")
    server = bed.gateway()
    client = gateway.client(server)
    _, fh = client.lookup("half")
    for at in range(0, SIZE // 4, READ):
        client.read(fh, at, READ)
    time.sleep(0.2)  # of what is being fetched
    if bed.kind == "ra":
        ahead = control_client.stats("engine")["kept_bytes"]
        e2e.check(ahead > 8 * READ, "half done: something is kept ahead of it", ahead)
    kept = SIZE // 4
    # no mode, uid, gid; the size; no time of access, one of modification that there is not; no guard
    impossible = struct.pack(">IIIIQIIIII", 0, 0, 0, 1, kept, 0, 2, 1, 2000000000, 0)
    status = client.nfs.call(nfs3.SETATTR, nfs3.opaque(fh) + impossible).u32()
    shown = [client.read(fh, at, READ) for at in range(kept, kept + 8 * READ, READ)]
    native = bed.cluster.native
    file = native.open(f"{bed.cluster.path.rstrip('/')}/half")
    is_cut = native.read(file, kept, READ) == b""
    native.shut(file)
    e2e.check(status != nfs3.OK and is_cut, "half done: it was, and failed", (status, is_cut))
    e2e.check(all(answer == (nfs3.OK, b"") for answer in shown),
              "half done: nothing is shown that was cut off",
              [(s, len(data)) for s, data in shown])
    client.close()
    gateway.ends_well(server, "half done")


def renamed(bed):
    """A RENAME over another file: nothing that was fetched ahead of either is kept, and what is read
    is what each is."""
    for name in ("from", "to"):
        fresh(bed, name)
    server = bed.gateway()
    time.sleep(SETTLED_S)
    client = gateway.client(server)
    handles = [client.lookup(name)[1] for name in ("from", "to")]
    kept = []
    for fh in handles:
        for at in range(0, SIZE // 4, READ):
            client.read(fh, at, READ)
        time.sleep(0.2)  # of what is being fetched
        if bed.kind == "ra":
            kept.append(control_client.stats("engine")["kept_bytes"])
    status = client.rename("from", "to")
    left = control_client.stats("engine")["kept_bytes"] if bed.kind == "ra" else 0
    e2e.note(f"renamed: {[k >> 10 for k in kept]} KiB were kept of one file and of both, {left >> 10} "
             "KiB after the RENAME")
    e2e.check(status == nfs3.OK, "renamed: it was", status)
    if bed.kind == "ra":
        e2e.check(READ < kept[0] < kept[1] - READ, "renamed: something is kept of both", kept)
        e2e.check(left == 0, "renamed: nothing is kept of either", left)
    shown = [client.read(fh, SIZE // 4, READ) for fh in handles]
    right = nfs3.OK, e2e.pattern(3, SIZE // 4, READ)
    e2e.check(shown[0] == right, "renamed: the file is what it was", shown[0][0])
    e2e.note(f"renamed: a READ of the one that is gone: status {shown[1][0]}")
    e2e.check(shown[1] == right or shown[1][0] in (nfs3.STALE, nfs3.NOENT),
              "renamed: the other is what it was, or gone", shown[1][0])
    client.close()
    gateway.ends_well(server, "renamed")
