# SPDX-License-Identifier: LGPL-3.0-or-later
"""Settings of a cluster's client that do not go with read-ahead, and bounds of memory: what parts
of test_cluster.py do."""
import control_client
import e2e
import gateway
from laid_out import STREAM_SIZE, STREAMS, lay_out_streams

MIB = 1 << 20
ROOM = 4 * MIB  # Readahead_Memory where it is to be reached
# What is set for the gateway's user in ceph.conf, and what the log says then.
WARNED = {
    "client_readahead_max_bytes = 0": "libcephfs reads ahead by itself",
    "client_readahead_max_bytes = 1\nclient_oc = false": "client_oc = false: libcephfs keeps nothing",
    f"client_readahead_max_bytes = 1\nclient_oc_size = {16 * MIB}":
        f"is more than half of libcephfs' client_oc_size = {16 * MIB}",
}


def read_under(bed, what, ra="", until=lambda server: False):
    """Eight readers for a while, each byte compared: (what was not read or kept at most, the log)."""
    server = bed.gateway(ra=ra)
    readers = e2e.Readers(server, gateway.PSEUDO, STREAMS, STREAM_SIZE)
    most = {"unread_bytes": 0, "kept_bytes": 0}

    def look():
        told = control_client.stats("engine")
        for name in most:
            most[name] = max(most[name], told[name])
        return until(server) or readers.reads > 3000 or readers.broken

    e2e.wait_for(look, 20, step=0.01)
    readers.stop()
    told = control_client.stats("engine")
    most["unread_bytes"] = max(most["unread_bytes"], told["unread_bytes_max"])
    e2e.check(not readers.wrong and not readers.errors() and not readers.broken,
              f"{what}: every byte was right", (readers.wrong[:3], readers.errors(), readers.broken))
    gateway.ends_well(server, what)
    return most, server.log_text()


def warned(bed):
    """Of each setting that does not go with read-ahead the log tells."""
    if bed.kind != "ra":
        return
    lay_out_streams(bed)
    for settings, said in WARNED.items():
        bed.cluster.set_for_gateways(settings)
        what = f"warned, {settings.splitlines()[-1]}"
        _, log = read_under(bed, what,
                            until=lambda server, said=said: said in server.log_text())
        e2e.check(said in log, f"{what}: the log says so", log[-1500:])
    bed.cluster.set_for_gateways()


def bounded(bed):
    """What is fetched ahead and not read, and what is kept of it here, stays within Readahead_Memory
    while eight streams want more."""
    if bed.kind != "ra":
        return
    lay_out_streams(bed)
    most, _ = read_under(bed, "bounded", ra=f"Readahead_Memory = {ROOM};")
    e2e.note(f"bounded: of {ROOM} bytes {most} were in use at most")
    e2e.check(ROOM / 4 < most["unread_bytes"] <= ROOM, "bounded: unread bytes", most)
    e2e.check(most["kept_bytes"] <= ROOM, "bounded: kept bytes", most)
