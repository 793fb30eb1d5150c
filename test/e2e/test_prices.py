#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Prices in FSSTAT: test_prices.py PLUGIN RACTL

A raw client decodes them, by the program in the specification, and finds what ractl shows; which
exports carry them and which do not, and that this changes with SIGHUP; bytes and small file systems
are exact; asking costs next to nothing and changes no price. Then a real Linux kernel looks on.
"""
import json
import os
import re
import subprocess
import sys
import time

import e2e
import nfs3
import quiet

HERE = os.path.dirname(os.path.realpath(__file__))
INTERVAL = 500  # ms, of prices
INODES, FEW_INODES = 200000, 20000
MORE, LESS = 8190, 8191  # inodes: how much the total may be above, the free ones below the truth
CODEC = {}  # the program of the specification


def load_codec():
    with open(f"{HERE}/../../doc/fsstat-prices.md", encoding="utf-8") as document:
        exec(re.search(r"^```python\n(.*?)^```", document.read(), re.M | re.S)[1], CODEC)


def file_system(work, name, inodes):
    with open(f"{work}/{name}.img", "w") as image:
        image.truncate(1 << 30)
    e2e.run("mkfs.ext4", "-q", "-F", "-N", str(inodes), f"{work}/{name}.img")
    e2e.mount_image(f"{work}/{name}.img", f"{work}/{name}", "loop")
    return f"{work}/{name}"


def truth(path):
    """What FSSTAT says without prices."""
    found = os.statvfs(path)
    return {"tbytes": found.f_blocks * found.f_frsize, "fbytes": found.f_bfree * found.f_frsize,
            "abytes": found.f_bavail * found.f_frsize, "tfiles": found.f_files,
            "ffiles": found.f_ffree, "afiles": found.f_favail}


def decode(counts):
    return CODEC["decode"](counts["tfiles"], counts["afiles"])


def near(coded, shown):
    """Within what 8 bits can tell."""
    return abs(coded - shown) <= 0.0176 * shown + 0.00016


def prices_of(ractl, export):
    """(the export's row, the snapshot's age in ms) as ractl tells."""
    answer = json.loads(e2e.run(ractl, "--json", "prices"))
    age = min(d["age_ms"] for d in answer["devices"])
    return [e for e in answer["exports"] if e["export"] == export][0], age


def same_as_ractl(ractl, client):
    """Compares while one snapshot is in force, with the processor's price moving from 0."""
    good, end = [], time.monotonic() + 60
    while len(good) < 40 and time.monotonic() < end:
        began = time.monotonic()
        row, age = prices_of(ractl, 1)
        status, counts = client.fsstat()
        again = prices_of(ractl, 1)[1]
        if again < age or time.monotonic() - began > INTERVAL / 1e3 or status != nfs3.OK:
            continue  # another one came between, or may have
        write, readahead, _ = decode(counts) or (-1, -1, 0)
        good.append((near(write, row["write_price"]) and near(readahead, row["readahead_price"]),
                     write, row["write_price"]))
        time.sleep(0.05)
    e2e.check(len(good) == 40 and all(g for g, _, _ in good),
              "a raw client decodes what ractl shows", good)
    e2e.check(any(shown > 0 for _, _, shown in good), "... of prices above 0", good)


def counts_are_right(client, path, name):
    """With prices: bytes exact, inodes within the bounds, all three turns."""
    exact, turns = truth(path), set()
    for _ in range(64):
        status, counts = client.fsstat()
        found = decode(counts) if status == nfs3.OK else None
        if not found:
            e2e.check(False, f"{name}: prices in each reply", (status, counts))
            return
        turns.add(found[2])
    bytes_ = ("tbytes", "fbytes", "abytes")
    e2e.check(all(counts[b] == exact[b] for b in bytes_), f"{name}: bytes are exact",
              (counts, exact))
    e2e.check(0 <= counts["tfiles"] - exact["tfiles"] <= MORE and
              0 <= exact["ffiles"] - counts["ffiles"] <= LESS and
              0 <= exact["afiles"] - counts["afiles"] <= LESS,
              f"{name}: inodes within 8,192, never more free", (counts, exact))
    e2e.check(turns == {1, 2, 3}, f"{name}: all turns come", turns)


def says(ractl, export):
    return prices_of(ractl, export)[0]["fsstat"]


def exact_is_exact(ractl, client, path, export, why):
    replies = [client.fsstat() for _ in range(8)]
    e2e.check(all(reply == (nfs3.OK, truth(path)) for reply in replies),
              f"export {export}, {why}: the file system's own counts", (replies[0], truth(path)))
    row = prices_of(ractl, export)[0]
    e2e.check(why in row["fsstat"] and not row["fsstat_prices"],
              f"export {export}: ractl says {why}", row)


def sighup_toggles(ractl, server, client):
    export = server.exports[0]
    for value, wanted in (("false", False), ("true", True), ("false", False), ("auto", True)):
        export["params"] = {"Fsstat_Prices": value}
        server.write_config()
        server.sighup()
        done = e2e.wait_for(lambda: (decode(client.fsstat()[1]) is not None) == wanted, 60)
        e2e.check(done, f"SIGHUP: Fsstat_Prices = {value} holds at once", says(ractl, 1))


def text_for_people(ractl):
    text = e2e.run(ractl, "prices")
    e2e.check(all(word in text for word in ("cpu", "network", "disk", "memory", "UTILIZATION",
                                            "FSSTAT SAYS", "exact: too few inodes")),
              "ractl prices: a table for people", text)


def ask(client, count, outstanding=16):
    """So many FSSTATs; how many carried prices."""
    sent = done = priced = 0
    while done < count:
        while sent < count and sent - done < outstanding:
            client.nfs.send(nfs3.FSSTAT, nfs3.opaque(client.root))
            sent += 1
        status, counts = client.fsstat_result(client.nfs.receive()[1])
        done += 1
        priced += status == nfs3.OK and decode(counts) is not None
    return priced


def dirty_memory():
    """kB of the whole machine."""
    with open("/proc/meminfo", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith("Dirty:")).split()[1])


def a_thousand_a_second(ractl, client):
    """For two seconds, in the steps of a clock: what FSSTAT itself uses must not make a price. The
    processor is left out, for other programs of this machine are in it; they also dirty memory."""
    def prices():
        return {(device["device"], new["resource"]): new
                for device in json.loads(e2e.run(ractl, "--json", "prices"))["devices"]
                for new in device["resources"] if new["resource"] != "cpu"}

    def measure():
        dirty, before, begin, asked = dirty_memory(), prices(), time.monotonic(), 0
        while asked < 3000:
            asked += 50
            ask(client, 50)
            time.sleep(max(0, begin + asked / 1000 - time.monotonic()))
        e2e.note(f"{asked / (time.monotonic() - begin):.0f} FSSTAT a second")
        return before, prices(), dirty, dirty_memory()

    def disturbs(seen):
        _, _, dirty, dirty_then = seen
        return f"{dirty} kB were dirty, then {dirty_then}" if dirty != dirty_then else None

    def claims(seen):
        before, after, _, _ = seen
        return [(abs(after[key]["price"] - before[key]["price"]) < 0.01,
                 f"1,000 FSSTAT a second: the price of the {key[1]} of {key[0]} stays",
                 (before[key], after[key])) for key in before]

    quiet.judge("1,000 FSSTAT a second", measure, claims, disturbs=disturbs)


def cost(server, client):
    """Processor time of the server for an FSSTAT, µs; the least of five."""
    def used():
        return time.clock_gettime((~server.process.pid << 3) | 2)

    found = []
    for _ in range(5):
        begin = used()
        ask(client, 2000)
        found.append((used() - begin) / 2000 * 1e6)
    return min(found)


def in_a_guest(kind, server):
    """What the Linux kernel and its programs see: ([statvfs], {program: numbers})."""
    done = subprocess.run([f"{HERE}/guest", "/usr/bin/python3", f"{HERE}/guest_statfs.py",
                           str(server.port), str(server.mport), "/e1"], check=False,
                          capture_output=True, text=True, env={**os.environ, "GUEST_SECONDS": "150"})
    if done.returncode == 77:
        e2e.skip_part(f"guest: {done.stdout.strip().splitlines()[-1]}")
        return None, None
    found = [json.loads(line) for line in re.findall(r"^STATVFS (\{.*\})", done.stdout, re.M)]
    said = re.search(r"^DF (\{.*\})", done.stdout, re.M)
    if not e2e.check(found and said, f"{kind}: a Linux client mounts and looks",
                     done.stdout[-1500:] + done.stderr[-500:]):
        return None, None
    return found, json.loads(said[1])


def guests_agree(stock, ra):
    stock_found, stock_said = in_a_guest("stock", stock)
    ra_found, ra_said = in_a_guest("ra", ra) if stock_found else (None, None)
    if not ra_found:
        return
    one = stock_found[0]
    plain = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail")
    e2e.check(all(r[f] == one[f] for r in ra_found for f in plain),
              "Linux client: statvfs's blocks are as with stock", (ra_found[0], one))
    e2e.check(all(0 <= r["f_files"] - one["f_files"] <= MORE and
                  0 <= one["f_ffree"] - r["f_ffree"] <= LESS and
                  0 <= one["f_favail"] - r["f_favail"] <= LESS for r in ra_found),
              "Linux client: inodes within 8,192, never more free", (ra_found, one))
    e2e.check(all(CODEC["decode"](r["f_files"], r["f_favail"]) for r in ra_found),
              "Linux client: every statvfs carries prices", ra_found)
    e2e.check(ra_said["df"] == stock_said["df"] and
              ra_said["stat -f"][:4] == stock_said["stat -f"][:4],
              "df, stat -f: bytes as with stock", (ra_said, stock_said))
    total, used, avail = (r - s for r, s in zip(ra_said["df -i"], stock_said["df -i"]))
    e2e.check(0 <= total <= MORE and -LESS <= avail <= 0 and 0 <= used <= MORE + LESS,
              "df -i: within 8,192 inodes, never more free", (ra_said, stock_said))
    e2e.note(f"stock {stock_said}")
    e2e.note(f"RA    {ra_said}")


def exports_of(path, small):
    exports = [{"id": 1, "path": path, "pseudo": "/e1"},
               {"id": 2, "path": path, "pseudo": "/e2", "params": {"Fsstat_Prices": "false"}},
               {"id": 3, "path": path, "pseudo": "/e3", "protocols": "3, 4"},
               {"id": 4, "path": path, "pseudo": "/e4", "protocols": "3, 4",
                "params": {"Fsstat_Prices": "true"}},
               {"id": 5, "path": small, "pseudo": "/e5"}]
    if any(p.endswith("libfsalmem.so") for p in e2e.distribution_fsals()):
        exports.append({"id": 6, "path": "/mem", "pseudo": "/e6", "sub": "MEM"})
    else:
        e2e.skip_part("sub-FSAL MEM: nfs-ganesha-mem is not installed")
    return exports


def cheapest(servers):
    """The least of up to five interleaved rounds each: what others do on the machine costs extra."""
    clients = [nfs3.Client(s, "/e1") for s in servers]
    least = [cost(s, c) for s, c in zip(servers, clients)]
    for _ in range(4):
        if least[1] < 1.2 * least[0]:
            break
        least = [min(had, cost(s, c)) for had, s, c in zip(least, servers, clients)]
    return least


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__.splitlines()[0])
    ractl = sys.argv[2]
    load_codec()
    e2e.enter()
    work = e2e.work_directory()
    path = file_system(work, "large", INODES)
    small = file_system(work, "small", FEW_INODES)

    # Even prices: so that this machine's small load can be seen in them.
    server = e2e.Server("ra", exports_of(path, small), work, plugin,
                    ra=f"K_Cpu = 1; Price_Interval = {INTERVAL};").start()
    clients = {e["id"]: nfs3.Client(server, e["pseudo"]) for e in server.exports}
    e2e.check(e2e.wait_for(lambda: "no prices yet" not in e2e.run(ractl, "prices"), 30),
              "prices of all devices soon after the start", e2e.run(ractl, "prices"))
    same_as_ractl(ractl, clients[1])
    counts_are_right(clients[1], path, "NFSv3 only, auto")
    counts_are_right(clients[4], path, "NFSv4 too, Fsstat_Prices = true")
    exact_is_exact(ractl, clients[2], path, 2, "Fsstat_Prices = false")
    exact_is_exact(ractl, clients[3], path, 3, "also serves NFSv4")
    exact_is_exact(ractl, clients[5], small, 5, "too few inodes")
    if 6 in clients:
        clients[6].fsstat()
        e2e.check("no local file system" in says(ractl, 6), "FSAL MEM: exact", says(ractl, 6))
    text_for_people(ractl)
    a_thousand_a_second(ractl, clients[1])
    sighup_toggles(ractl, server, clients[1])
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])

    both = [e2e.Server(kind, [{"id": 1, "path": path, "pseudo": "/e1"}], work, plugin).start()
            for kind in ("stock", "ra")]
    spent = quiet.judge("processor time", lambda: cheapest(both), lambda spent: [
        (spent[1] < 1.3 * spent[0], "FSSTAT with prices costs about the same", spent)])
    e2e.note(f"processor time an FSSTAT: stock {spent[0]:.2f} us, RA with prices {spent[1]:.2f}")
    guests_agree(*both)
    for one in both:
        e2e.check(one.stop() == 0, f"{one.kind} ends cleanly", one.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
