#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""NFS over UDP: test_transports.py PLUGIN NFSBENCH LINKEMU

What it proves: what is read over UDP with datagrams lost both ways is what is in the file, every call is
answered once though some are sent again, by either way of waiting; over a link that loses packets TCP
and UDP read the same bytes, READs that became smaller too; a server without UDP is named with the
setting that it lacks.
"""
import json
import os
import subprocess
import sys

import e2e

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

import link as links  # noqa: E402
import modelled_disk  # noqa: E402

SIZE, BLOCK = 2 << 20, 8 << 10
LOST = 10  # percent


def run(nfsbench, server, *arguments, inside=(), host=e2e.HOST):
    return subprocess.run(
        [*inside, nfsbench, "--server", host, "--port", str(server.port), "--mount-port",
         str(server.mport), "--export", "/full", "--work", "seq", "--size", str(SIZE), "--request",
         str(BLOCK), "--stall", "60", "--max-time", "200", "--quiet", "--json", "-", *arguments],
        text=True, capture_output=True, check=False)


def right(done, what):
    """The results, if all bytes came and were the file's, each block once."""
    if not e2e.check(done.returncode == 0 and done.stdout, f"{what}: read and compared",
                     done.stdout[-500:] + done.stderr[-500:]):
        return None
    found = json.loads(done.stdout)
    total = found["total"]
    e2e.check((total["bytes"], total["mismatches"], total["errors"]) == (SIZE, 0, 0),
              f"{what}: each byte once, as it is in the file", total)
    return found


def losses(nfsbench, server):
    for way in "udp", "udp-dynamic":
        found = right(run(nfsbench, server, "--transport", way, "--timeo", "50", "--outstanding", "16",
                          "--drop", str(LOST)), f"{way}, {LOST} % lost each way")
        if not found:
            continue
        told, reads = found["transport"], found["transport"]["classes"]["read"]
        e2e.check(told["dropped"] > 0 and told["retransmitted"] > 0,
                  f"{way}: what was lost was sent again", told)
        e2e.check(reads["answered"] == found["total"]["requests"] == SIZE // BLOCK,
                  f"{way}: no request has two answers", (reads, found["total"]["requests"]))
        e2e.check(told["unknown"] == 0, f"{way}: no answer to what nobody asked", told)


def lossy_link(nfsbench, server, linkemu):
    ways = (("tcp",), ("udp-dynamic",), ("udp-dynamic", "--adapt-request"))
    ways = ways if server.udp else ways[:1]
    with links.Emulated(("rate=200M,delay=1ms,loss=3%",), linkemu) as at:
        for way in ways:
            right(run(nfsbench, server, "--timeo", "100", "--transport", *way, inside=at.inside,
                      host=at.server), f"{' '.join(way)} over a link that loses")
        counted = at.down()
    e2e.check(counted["up"]["lost_by_chance"] > 0, "the link lost packets", counted)
    e2e.check(counted["up"]["bytes"] > 2 * SIZE * len(ways) / 3, "all data passed it", counted)


def without_udp(nfsbench, work, path):
    server = e2e.Server("stock", [{"id": 1, "path": path, "pseudo": "/full"}], work).start()
    done = run(nfsbench, server, "--transport", "udp")
    e2e.check(done.returncode == 1 and "Enable_UDP" in done.stderr,
              "a server without UDP is named, with the setting", done.stderr)
    server.stop()


def main():
    plugin, nfsbench, linkemu = sys.argv[1:]
    for built in (plugin, nfsbench):
        if not os.path.exists(built):
            e2e.skip(f"{built} is not there")
    e2e.enter(needed=(nfsbench,))
    work = e2e.work_directory()
    path = e2e.loop_export(work, 32 << 20)
    e2e.run(nfsbench, "--layout", path, "--size", str(SIZE), "--quiet")
    server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/full"}], work, plugin)
    server.udp = not e2e.udp_is_broken()
    if server.udp:
        without_udp(nfsbench, work, path)
        server.start()
        losses(nfsbench, server)
    else:
        e2e.note("UDP is broken in this Ganesha's ntirpc, without the plugin too: TCP alone")
        server.start()
    if os.path.exists("/dev/net/tun") and os.path.exists(linkemu):
        try:
            lossy_link(nfsbench, server, linkemu)
        except modelled_disk.Unavailable as error:
            e2e.skip_part(str(error))
    else:
        e2e.skip_part("no /dev/net/tun or linkemu: no emulated link")
    e2e.check(server.stop() == 0, "the server ends well", server.log_text()[-500:])
    e2e.finish()


if __name__ == "__main__":
    main()
