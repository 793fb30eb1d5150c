# SPDX-License-Identifier: LGPL-3.0-or-later
"""ganesha.nfsd above a cluster: a gateway, as the end-to-end tests' servers are above a local file
system.

    server = gateway.Gateway("ra", cluster, work, plugin).start()        # "stock": without ours
                                                  # "null": Ganesha's own layer that does nothing
    client = gateway.client(server)
"""
import daemons  # noqa: F401: makes the end-to-end tests' modules known
import e2e
import nfs3

PSEUDO = "/e1"
COUNTERS = ("reads", "resident", "joined", "demand", "prefetched_bytes", "used_bytes",
            "wasted_bytes")


class Gateway(e2e.Server):
    """`paths`: exports beside the cluster's own, as {pseudo: path}; `params`: of the RA block."""

    def __init__(self, kind, cluster, work, plugin=None, paths=None, params=None, protocols="3",
                 **more):
        self.cluster = cluster
        # FSAL_CEPH takes a gateway of the same host name and number for this one, started again,
        # and ends its session.
        first = e2e.Server.next_port
        exports = [{"id": number, "path": path, "pseudo": pseudo, "params": params or {},
                    "protocols": protocols,
                    "squash": "root_squash" if pseudo == "/squash" else "none"}
                   for number, (pseudo, path)
                   in enumerate((paths or {PSEUDO: cluster.path}).items(), first)]
        super().__init__(kind, exports, work, plugin, extra=cluster.blocks(kind), **more)

    def fsal(self, export):
        below = self.cluster.fsal(export["path"])
        if self.kind == "null":
            return f"FSAL {{ Name = NULL; {below} }}"
        if self.kind != "ra":
            return below
        params = " ".join(f"{k} = {v};" for k, v in export.get("params", {}).items())
        return f"FSAL {{ Name = RA; {params} {below} }}"


def client(server, **more):
    return nfs3.Client(server, PSEUDO, **more)


def ends_well(server, what, seconds=60):
    status = server.stop(seconds)
    e2e.check(status == 0, f"{what}: the gateway ends cleanly",
              f"status {status} (None: had to be killed)\n{server.log_text()[-3000:]}")
    server.cluster.forget_ended()
    stats = server.stats() or {}
    if server.kind == "ra":
        e2e.check(stats, f"{what}: RA_STATS is logged", server.log_text()[-1500:])
        told = {k: stats.get(k) for k in COUNTERS}
        e2e.note(f"{what}: {told}")
    return stats
