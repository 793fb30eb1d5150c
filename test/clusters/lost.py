# SPDX-License-Identifier: LGPL-3.0-or-later
"""An OSD or a brick that is killed and started again under load: what a part of test_cluster.py
does."""
import threading
import time

import e2e
import gateway
import nfs3
from laid_out import STREAMS, lay_out_streams

DOWN_S = 2  # of calls that meet it
SIZE = 24 << 20  # of each file: together more than is read until then, or kept
LONGER_S = 20  # than stock's the plugin's READs may be without an answer, at most


class Load:
    """Streams and a writer, with what became of each of their calls, and the longest time in which no
    READ succeeded."""

    def __init__(self, server):
        self.server, self.stopping = server, threading.Event()
        self.readers = e2e.Readers(server, gateway.PSEUDO, STREAMS, SIZE)
        self.written, self.statuses, self.broken = 0, set(), []
        self.longest = 0.0
        self.threads = [threading.Thread(target=what, daemon=True)
                        for what in (self._write, self._watch)]
        for thread in self.threads:
            thread.start()

    def good(self):
        return self.readers.statuses.get(nfs3.OK, 0)

    def _watch(self):
        seen, since = 0, time.monotonic()
        while not self.stopping.wait(0.01):
            now, good = time.monotonic(), self.good()
            if good != seen:
                seen, since = good, now
            self.longest = max(self.longest, now - since)

    def _write(self):
        try:
            client = gateway.client(self.server)
            status, fh = client.create(f"load-{self.server.kind}")
            self.statuses.add(status)
            while status == nfs3.OK and not self.stopping.is_set():
                status = client.write(fh, self.written % 64 << 16, b"x" * 65536)
                self.statuses.add(status)
                self.written += 1
        except OSError as error:
            self.broken.append(str(error))

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
        self.readers.stop()


def lose_storage(bed, kind):
    """(the statuses of READs meanwhile, the longest time without a good one), and whether all went on
    well afterwards."""
    what = f"storage lost, {kind}"
    bed.cluster.drop_caches()
    server = bed.gateway(kind)
    load = Load(server)
    e2e.wait_for(lambda: load.readers.reads > 100 and load.written > 5, 30)
    load.longest = 0.0
    bed.cluster.stop_storage()
    time.sleep(DOWN_S)
    bed.cluster.start_storage()
    up = e2e.wait_for(bed.cluster.storage_is_up, 60)
    e2e.check(up, f"{what}: it comes back")
    before, good = load.readers.reads, load.good()
    went_on = e2e.wait_for(lambda: load.good() > good + 200, 90)
    e2e.check(went_on, f"{what}: reads go on", f"{load.readers.reads - before} since, "
              f"{load.readers.statuses} {load.readers.broken}\n{server.log_text()[-1500:]}")
    longest = load.longest
    load.stop()
    e2e.check(not load.readers.wrong, f"{what}: every byte was right", load.readers.wrong[:3])
    e2e.check(server.alive(), f"{what}: the gateway is alive", server.log_text()[-1500:])
    e2e.note(f"{what}: statuses {load.readers.statuses} of READs, {load.statuses} of WRITEs; no READ "
             f"succeeded for {longest:.1f} s at most; {load.readers.broken} {load.broken}")
    gateway.ends_well(server, what)
    return set(load.readers.statuses) | load.statuses, longest


def storage_lost(bed):
    """An OSD or a brick is killed and started again under load: as the stock FSAL behaves. Where there
    is no other, READs wait with CEPH and fail with GLUSTER."""
    lay_out_streams(bed, size=SIZE)
    stock, stock_waited = lose_storage(bed, "stock")
    is_alone = bed.cluster.copies() == 1
    fails = is_alone and bed.cluster.fails_alone
    e2e.check(bool(stock - {nfs3.OK}) == fails,
              f"storage lost, stock: READs {'fail' if fails else 'wait'}", stock)
    if bed.kind != "ra":
        return
    ours, waited = lose_storage(bed, "ra")
    e2e.check(ours <= stock | {nfs3.OK}, "storage lost: no status that stock does not give",
              f"{ours} {stock}")
    e2e.check(bool(ours - {nfs3.OK}) == fails, f"storage lost: READs {'fail' if fails else 'wait'}",
              ours)
    e2e.check(waited < stock_waited + LONGER_S, "storage lost: for about as long as stock's",
              (waited, stock_waited))
