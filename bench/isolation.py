# SPDX-License-Identifier: LGPL-3.0-or-later
"""Works of several clients, each from an address of its own: what each of them gets of the disk.

    fairN      N clients with a stream each
    fair8+M    8 clients with a stream each beside M with one random read of 8 KiB at a time each
    flood      a client with 4,000 random reads on the way beside one with one
    pack32+1   a client with 32 streams beside one with one
    weights3   three clients, weights 1, 2, 4, with two streams and a writer that commits each
    commit+16  a client that writes and commits beside one with 16 random readers
    floor16    a client of an export with a floor of 40 MB/s beside 16 clients with a stream each
    apart1+1   write1+1 (workloads.py), the writer and the reader from two addresses

Each such work is run twice: once each client alone, one after another, by which a server's figures
are judged; and all at once, over one interval. R of a client is what it got over what it got alone
times its weight's share. The share of the disk's time is measured at the disk, see disktime.py.
"""
import statistics

KIB = 1024
MIB = 1024 * KIB
FORMS = "fairN fairN+M flood pack32+1 weights3 commit+16 floor16 apartN+M"


class Client:
    """A client of a work: its groups of flows. `shape`: what it is like, equal ones are counted
    together; `weight` as the server is told; `floor` of its own export in MB/s, or None."""

    def __init__(self, shape, number, weight=100, floor=None):
        self.shape, self.weight, self.floor = shape, weight, floor
        self.name = f"{shape}{number}"
        self.address = f"127.0.0.{number + 10}"
        self.groups = []

    def add(self, work, first, flows=1, **keys):
        """A group of flows, on the files from number `first` on. Returns the number after them."""
        self.groups.append({"work": work, "first": first, "flows": flows, **keys})
        return first + (1 if work == "random" else flows)

    def arguments(self, mount, name_of_set):
        """Of nfsbench. A client with a floor has an export of its own, the directory of all sets."""
        found = []
        for i, group in enumerate(self.groups):
            keys = dict(group)
            if self.floor:
                keys.update(export=f"{mount}/sets", dir=name_of_set)
            found += ["--client", f"{self.name}.{i},from={self.address}," + ",".join(
                f"{k}={v}" for k, v in keys.items())]
        return found

    def files(self):
        """(letter, number) of each."""
        for group in self.groups:
            count = 1 if group["work"] == "random" else group["flows"]
            for number in range(group["first"], group["first"] + count):
                yield "w" if group["work"] == "write" else "f", number


CLIENTS_MAX = 64  # of a kind in fairN+M
STREAM = {"request": 32 * KIB, "outstanding": 4}
SMALL = {"request": 8 * KIB, "outstanding": 1}


def fair(n, m):
    """The files of the streams are as long as the measurement needs, 1 GB at least in all."""
    size = max(128 * MIB, 1024 * MIB // n)
    clients = []
    for i in range(n):
        clients.append(Client("stream", i + 1))
        clients[-1].add("seq", i, size=size, **STREAM)
    for i in range(m):
        clients.append(Client("random", n + i + 1))
        clients[-1].add("random", n + i, size=size, **SMALL)
    return {"clients": clients, "sets": [(0, n + m, size)], "seconds": 30, "alone": 3}


def flood():
    size = 1024 * MIB
    big, small = Client("big", 1), Client("small", 2)
    big.add("random", 0, flows=16, request=8 * KIB, outstanding=250, size=size)
    small.add("random", 1, size=size, **SMALL)
    return {"clients": [big, small], "sets": [(0, 2, size)], "seconds": 30, "alone": 6}


def pack():
    one, pack32 = Client("one", 1), Client("pack", 2)
    one.add("seq", 0, size=1024 * MIB, **STREAM)
    pack32.add("seq", 1, flows=32, size=32 * MIB, **STREAM)
    return {"clients": [one, pack32], "sets": [(0, 1, 1024 * MIB), (1, 32, 32 * MIB)],
            "seconds": 20, "alone": 6}


def weights():
    size, clients = 384 * MIB, []
    for i, weight in enumerate((100, 200, 400)):
        clients.append(Client("weight", i + 1, weight))
        clients[-1].add("seq", 2 * i, flows=2, size=size, **STREAM)
        clients[-1].add("write", i, request=256 * KIB, outstanding=4, size=128 * MIB,
                        commit=16 * MIB)
    return {"clients": clients, "sets": [(0, 6, size)], "seconds": 30, "alone": 6,
            "written": 3 * 128 * MIB, "memory": "small"}


def commit():
    writer, reader = Client("writer", 1), Client("reader", 2)
    writer.add("write", 0, request=256 * KIB, outstanding=4, size=256 * MIB, commit=32 * MIB)
    reader.add("random", 0, flows=16, size=1024 * MIB, **SMALL)
    return {"clients": [writer, reader], "sets": [(0, 1, 1024 * MIB)], "seconds": 30, "alone": 6,
            "written": 256 * MIB, "memory": "small"}


def floor():
    clients = [Client("floor", 1, floor=40)]
    clients[0].add("seq", 0, size=1024 * MIB, **STREAM)
    for i in range(16):
        clients.append(Client("greedy", i + 2))
        clients[-1].add("seq", i + 1, size=128 * MIB, **STREAM)
    return {"clients": clients, "sets": [(0, 1, 1024 * MIB), (1, 16, 128 * MIB)], "seconds": 22,
            "alone": 0}


def make(match):
    """What describes the work of that name, matched by workloads.py."""
    if match[1]:
        for number, low in ((match[1], 1), (match[2] or "0", 0)):
            if not low <= int(number) <= CLIENTS_MAX:
                raise ValueError(f"work {match[0]}: {number} must be {low} to {CLIENTS_MAX}")
        return fair(int(match[1]), int(match[2] or 0))
    return {"flood": flood, "pack32+1": pack, "weights3": weights, "commit+16": commit,
            "floor16": floor}[match[0]]()


FORM = r"fair(\d+)(?:\+(\d+))?|flood|pack32\+1|weights3|commit\+16|floor16"


def shares_config(clients, mount):
    """(text of the exports' FSAL block, text of the server's second export or None) that give the
    clients their weights and floors; empty where all are as by default."""
    rules = "".join(f" CLIENT {{ Clients = {c.address}; Weight = {c.weight}; }}"
                    for c in clients if c.weight != 100)
    floors = [c.floor for c in clients if c.floor]
    return rules, {"path": f"{mount}/sets", "floor": floors[0]} if floors else None


def merge(results):
    """nfsbench's groups as clients: {name: figures}; names are equal up to the dot."""
    found = {}
    for group in results["clients"]:
        found.setdefault(group["name"].split(".")[0], []).append(group)
    return {name: _together(groups) for name, groups in found.items()}


def _together(groups):
    first = groups[0]
    latency = [g["latency_ms"] for g in groups]
    windows = [sum(w) for w in zip(*(g["windows_mb"] for g in groups))]
    return {"mb_s": sum(g["mb_s"] for g in groups),
            "requests_s": sum(g["requests_s"] for g in groups),
            "groups_mb_s": [g["mb_s"] for g in groups],
            "seconds": first["to_s"] - first["from_s"],
            "commits": sum(g["commits"] for g in groups),
            "count": sum(x["count"] for x in latency),
            "p50_ms": max(x["p50"] for x in latency), "p99_ms": max(x["p99"] for x in latency),
            "worst_ms": max(x["max"] for x in latency), "windows_mb": windows}


def _relative(mine, alone):
    """What a client got over what it got alone; of several groups (reads and writes) in all."""
    if not alone or not alone["mb_s"]:
        return None
    return mine["mb_s"] / alone["mb_s"]


def judge(clients, together, alone):
    """A record of each client: its figures, those alone, and R."""
    weights_sum = sum(c.weight for c in clients)
    found = []
    for c in clients:
        mine, single = together.get(c.name), alone.get(c.name) if alone else None
        if not mine:
            continue
        of_alone = _relative(mine, single)
        found.append({
            "name": c.name, "shape": c.shape, "weight": c.weight, **mine,
            "alone_mb_s": single and single["mb_s"], "alone_requests_s":
            single and single["requests_s"], "of_alone": of_alone,
            "R": of_alone and of_alone * weights_sum / c.weight,
            "entitled": c.weight / weights_sum})
        if c.floor:
            windows = mine["windows_mb"]
            found[-1]["floor_held"] = sum(w >= c.floor for w in windows) / max(1, len(windows))
    return found


def by_shape(records):
    """Rows for a table, medians over the rounds: equal clients of a work and server in one row."""
    cells = {}
    for record in records:
        for c in record.get("clients") or []:
            if c["shape"] == "weight":
                shape = f"weight {c['weight']}"
            else:
                shape = c["shape"]
            cells.setdefault((record["work"], record["server"], shape), []).append(
                (record["run"], c))
    return [{"work": work, "server": server, "client": shape, **_row(found)}
            for (work, server, shape), found in cells.items()]


def measure(records, work, server, what):
    """SHAPE:KEY of a row of by_shape; KEY may also be
    share_error  how far its share of the disk's time is from its due, as a part of that
    of_rest      what it got over what it would get alone in the time that the others leave
    all_of_one   what all clients got together over what this one gets alone
    None where it was not measured."""
    shape, _, key = what.partition(":")
    rows = {r["client"]: r for r in by_shape(
        [r for r in records if r["work"] == work and r["server"] == server])}
    row = rows.get(shape)
    if not row:
        return None
    try:
        if key == "share_error":
            return abs(row["time_share"] / row["entitled"] - 1)
        if key == "of_rest":
            others = sum(r["of_alone"] for name, r in rows.items() if name != shape)
            return row["of_alone"] / (1 - others)
        if key == "all_of_one":
            return sum(r["mb_s"] for r in rows.values()) / row["alone_mb_s"]
    except TypeError:  # a part of it was not measured
        return None
    return row[key]


def _row(found):
    runs = {}
    for run, c in found:
        runs.setdefault(run, []).append(c)

    def over(key, how):
        values = [how([c[key] for c in cs]) for cs in runs.values()
                  if all(c.get(key) is not None for c in cs)]
        return statistics.median(values) if values else None

    slow, fast = over("mb_s", min), over("mb_s", max)
    return {"n": len(next(iter(runs.values()))), "mb_s": over("mb_s", sum),
            "requests_s": over("requests_s", sum), "R_least": over("R", min),
            "R_most": over("R", max), "of_alone": over("of_alone", sum),
            "alone_mb_s": over("alone_mb_s", statistics.mean),
            "fast_slow": fast / slow if slow and len(next(iter(runs.values()))) > 1 else None,
            "p50_ms": over("p50_ms", statistics.median), "p99_ms": over("p99_ms", max),
            "worst_ms": over("worst_ms", max), "entitled": over("entitled", sum),
            "time_share": over("time_share", sum), "floor_held": over("floor_held", min)}
