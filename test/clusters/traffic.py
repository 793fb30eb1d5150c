# SPDX-License-Identifier: LGPL-3.0-or-later
"""Bytes that leave the OSDs or bricks beside a writer that keeps its file open: what a part of
test_cluster.py does."""
import threading
import time

import e2e
import gateway
import nfs3

SIZE, SLOW_SIZE, READ = 96 << 20, 48 << 20, 65536
PACE_S = 0.02  # of a reader who is in no hurry: 3 MB/s, for 16 s
# Of what stock's moved, at most; what is found out costs a part, once. Who is slow loses more with each change.
MOST = {"streams": 1.2, "slow": 1.5}
WRITE, WRITE_EVERY_S = 4096, 0.1


class Holder(threading.Thread):
    """A native client that keeps files open, and now and then writes again what is at their beginning."""

    def __init__(self, bed, names, number, size):
        super().__init__(daemon=True)
        native, path = bed.cluster.native, bed.cluster.path.rstrip("/")
        self.native, self.stopping, self.written = native, threading.Event(), 0
        self.files = []
        for name in names:
            file = native.open(f"{path}/{name}", create=True)
            for at in range(0, size, 1 << 20):
                native.write(file, at, e2e.pattern(number, at, 1 << 20))
            native.settle(file)
            self.files.append(file)
        self.data = e2e.pattern(number, 0, WRITE)
        self.failed = []

    def run(self):
        try:
            while not self.stopping.wait(WRITE_EVERY_S):
                for file in self.files:
                    self.native.write(file, 0, self.data)
                    self.written += WRITE
        except OSError as error:
            self.failed.append(str(error))

    def stop(self):
        self.stopping.set()
        self.join(30)
        for file in self.files:
            self.native.shut(file)


def read_through(server, name, number, size, pace, wrong):
    """All of a file in order: four READs at a time, or with PACE one after the other."""
    client = gateway.client(server)
    _, fh = client.lookup(name)
    if pace:
        for at in range(0, size, READ):
            time.sleep(pace)
            if client.read(fh, at, READ) != (nfs3.OK, e2e.pattern(number, at, READ)):
                wrong.append((name, at))
    else:
        wrong += [(name, at) for at, status, data in client.stream(fh, size)
                  if status != nfs3.OK or data != e2e.pattern(number, at, len(data))]
    client.close()


def moved(bed, server, what, pace):
    """How often the bytes that readers read left the storage."""
    names = [f"{what}-{server.kind}-{n}" for n in range(2)]
    size = SLOW_SIZE if pace else SIZE
    holder = Holder(bed, names, 7, size)
    bed.cluster.drop_caches()
    before, wrong = bed.cluster.bytes_read(), []
    holder.start()
    readers = [threading.Thread(target=read_through, args=(server, name, 7, size, pace, wrong),
                                daemon=True)
               for name in names]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(120)
    holder.stop()
    times = (bed.cluster.bytes_read() - before - holder.written) / (len(names) * size)
    hang = any(r.is_alive() for r in readers)
    e2e.check(not wrong and not hang and not holder.failed,
              f"held traffic, {server.kind}, {what}: every byte was right",
              (wrong[:3], hang, holder.failed))
    return times


def held_traffic(bed):
    """Beside a writer that keeps its file open no more leaves the storage than with the stock FSAL."""
    times = {}
    for kind in dict.fromkeys(("stock", bed.kind)):
        server = bed.gateway(kind)
        for what, pace in (("streams", 0), ("slow", PACE_S)):
            times[kind, what] = moved(bed, server, what, pace)
        gateway.ends_well(server, f"held traffic, {kind}")
    told = {f"{kind}, {what}": round(t, 2) for (kind, what), t in times.items()}
    e2e.note(f"held traffic: what was read left the storage so often: {told}")
    for what, most in MOST.items():
        e2e.check(times[bed.kind, what] <= most * max(1, times["stock", what]),
                  f"held traffic: {what}: nothing is moved twice", told)
