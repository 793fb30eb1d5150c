#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Bad configurations: test_config.py PLUGIN

Each row starts a server. It may refuse to start or leave the export out, but then the log must say
why in words that name the value and what is allowed; it must never crash, and it must still stop.
"""
import os
import re
import sys

import e2e
import nfs3

# name, export block's parameters, the RA block, sub-FSAL, what the log must match, is it served?
ROWS = [
    ("unknown parameter", {"Heuristik": "cursor"}, "", "VFS", r"(?i)heuristik", None),
    ("unknown heuristic", {"Heuristic": "nonesuch"}, "", "VFS", r"nonesuch.*cursor", False),
    ("unknown rules", {"Rules": "nonesuch"}, "", "VFS",
     r"nonesuch.*extended, ordered, streakless, forward, apart, endless, paper", False),
    ("unknown scheduler", {"Scheduler": "nonesuch"}, "", "VFS", r"nonesuch.*turns", False),
    ("number too large", {"Queue_Depth": "100000"}, "", "VFS", r"(?i)queue_depth.*100000.*256",
     False),
    ("number too small", {"Window_Init": "1"}, "", "VFS", r"(?i)window_init.*65536", False),
    ("negative number", {"Seq_Threshold": "-3"}, "", "VFS",
     r"(?i)seq_threshold|not allowed for signed", False),
    ("not a number", {"Max_Wait": "soon"}, "", "VFS", r"(?i)max_wait|Expected a number", False),
    ("numbers that contradict", {"Chunk_Min": "4194304", "Chunk_Max": "1048576"}, "", "VFS",
     r"Chunk_Min = 4194304 is above Chunk_Max = 1048576", False),
    ("no FSAL below", {}, "", None, r"(?i)no .*FSAL .*below", False),
    ("unknown FSAL below", {}, "", "NONESUCH", r"(?i)nonesuch", False),
    ("itself below", {}, "", "RA", r"RA", None),
    ("unknown parameter in RA { }", {}, "Tabel_Size = 5;", "VFS", r"(?i)tabel_size", None),
    ("Table_Size too small", {}, "Table_Size = 0;", "VFS", r"(?i)table_size.*4194304", None),
    ("Table_Probes above its range", {}, "Table_Probes = 4194305;", "VFS",
     r"Table_Probes = 4194305 .*0 to 4194304 places", None),
    ("Fsstat_Prices neither on nor off", {"Fsstat_Prices": "maybe"}, "", "VFS",
     r"Fsstat_Prices = maybe is none of auto, true, false", False),
    ("a switch that is neither true nor false", {"Price_Readahead": "perhaps"}, "", "VFS",
     r"Expected boolean .*perhaps", False),
    ("prices computed too often", {}, "Price_Interval = 10;", "VFS",
     r"Price_Interval = 10 is out of range: 100 to 60000 ms", None),
    ("samples rarer than prices", {}, "Price_Interval = 100; Price_Sample = 500;", "VFS",
     r"Price_Sample = 500 is above Price_Interval = 100", None),
    ("a capacity beyond any link", {}, "Network_Capacity = 100000000;", "VFS",
     r"Network_Capacity = 100000000 .*Mbit/s", None),
    ("K_Disk of 0", {}, "K_Disk = 0;", "VFS", r"K_Disk = 0 .*1 to 1000000000", None),
    ("K_Memory above its range", {}, "K_Memory = 2000000000;", "VFS", r"K_Memory = 2000000000", None),
    ("unknown meter", {}, "Disk_Meter = width;", "VFS", r"Disk_Meter = width.*depth, delay", None),
    ("a parameter that is none any more", {"Chunk_Default": "1048576"}, "Disk_Saturation = 9;", "VFS",
     r"(?s)block RA: Disk_Saturation is .*ignored.*Chunk_Default is .*ignored", True),
    ("the same in a DEVICE block", {}, "DEVICE { Path = /nonesuch; Chunk_Default = 1048576; }",
     "VFS", r"DEVICE of /nonesuch: Chunk_Default is .*ignored", True),
    ("ghosts larger than sense", {}, "Ghost_Memory = 2147483648;", "VFS",
     r"Ghost_Memory = 2147483648 .*bytes", None),
    ("ghosts too small to tell anything", {}, "Ghost_Memory = 4096;", "VFS",
     r"Ghost_Memory = 4096 is too small: 0 for none, or at least 65536", None),
    ("Disk_Delay of 0", {}, "Disk_Delay = 0;", "VFS", r"Disk_Delay = 0 .*1 to 60000 ms", None),
    ("an interface with too long a name", {}, "Network_Interface = interface0123456;", "VFS",
     r"Network_Interface = interface0123456 is longer .*15", None),
    ("an interface that is not there", {}, "Network_Interface = nonesuch0;", "VFS",
     r"Network_Interface = nonesuch0: there is no such interface", True),
    ("a weight beyond its range", {"Weight": "10001"}, "", "VFS",
     r"Weight = 10001 is out of range: 0 to 10000 parts", False),
    ("a floor above the ceiling", {"Floor_Iops": "50", "Ceiling_Iops": "40"}, "", "VFS",
     r"Floor_Iops = 50 is above Ceiling_Iops = 40", False),
    ("a CLIENT block in full", {"Weight": "300", "Floor_Bandwidth": "10"},
     "CLIENT { Clients = 10.1.0.0/16, 2001:db8::/32, @lab, *.example.org, 10.2.0.7, localhost; "
     "Weight = 50; Floor_Time = 5; Ceiling_Bandwidth = 40; } CLIENT { Clients = *; }", "VFS",
     r"RA_STATS", True),
    ("a CLIENT block without Clients", {}, "CLIENT { Weight = 50; }", "VFS",
     r"CLIENT block without Clients", None),
    ("a client that nobody knows", {}, "CLIENT { Clients = nonesuch.invalid; }", "VFS",
     r"no address of nonesuch.invalid is known \(.*\): it is asked for again", True),
    ("a client that is no host", {}, "CLIENT { Clients = 10.1.2.300; }", "VFS",
     r"10.1.2.300 is no address, network, @netgroup or name of a host", None),
    ("a network with too long a prefix", {}, "CLIENT { Clients = 10.1.0.0/33; }", "VFS",
     r"10\.1\.0\.0/33", None),
    ("a client's weight beyond its range", {}, "CLIENT { Clients = *; Weight = 20000; }", "VFS",
     r"CLIENT of \*: Weight = 20000 is out of range: 0 to 10000 parts", None),
    ("a client's floor above its ceiling", {},
     "CLIENT { Clients = 10.0.0.1; Floor_Bandwidth = 9; Ceiling_Bandwidth = 8; }", "VFS",
     r"CLIENT of 10.0.0.1: Floor_Bandwidth = 9 is above Ceiling_Bandwidth = 8", None),
    ("an unknown parameter of CLIENT", {}, "CLIENT { Clients = *; Floor = 9; }", "VFS",
     r"(?i)unknown parameter \(floor\)", None),
    ("too many CLIENT blocks", {}, "CLIENT { Clients = 10.0.0.1; } " * 64, "VFS",
     r"CLIENT of 10.0.0.1: there are 63 CLIENT blocks before it", None),
    ("floors of clients that no disk can keep", {},
     "CLIENT { Clients = 10.0.0.1, 10.0.0.2; Floor_Time = 46; }", "VFS",
     r"the floors come to 92 percent of the disk's time: 90 percent is the most", None),
    ("unknown probe", {}, "Residency_Probe = guess;", "VFS", r"guess.*mincore", None),
    ("socket that cannot be made", {}, 'Control_Socket = "/dev/null/ra.sock";', "VFS",
     r"/dev/null", True),
    ("socket's path too long", {}, f'Control_Socket = "/{"s" * 200}";', "VFS",
     r"Control_Socket", None),
]
CRASHES = r"(?i)signal (6|11)|segmentation|assert"


def answers(server):
    """Whether a file can be read through the export."""
    client = nfs3.Client(server, "/e1", timeout=120)
    status, fh = client.lookup("f0")
    if status == nfs3.OK:
        status, data = client.read(fh, 0, 4096)
    client.close()
    return status == nfs3.OK and data == e2e.pattern(0, 0, 4096)


def served(server):
    try:
        return server.alive() and answers(server)
    except OSError:
        return False


def relevant(log):
    """The lines that may say why, without what any server of this test logs."""
    told = (line for line in log.splitlines()
            if re.search(r"CRIT|WARN|MAJ|FATAL|RA\b|CONFIG", line))
    common = r"DBUS|gss|NFS CB|principal|destroy_fsals .*EVENT"
    return "\n".join(line for line in told if not re.search(common, line))[-2500:]


def try_row(work, path, plugin, row):
    name, params, ra, sub, wanted, expect = row
    server = e2e.Server("ra", [{"id": 1, "path": path, "pseudo": "/e1", "params": params,
                                "sub": sub}], work, plugin, ra=ra)
    server.launch()
    e2e.wait_for(lambda: not server.alive() or "NFS SERVER INITIALIZED" in server.log_text(), 60)
    up = server.alive() and e2e.wait_for(lambda: e2e.answers(server.port), 60)
    works = up and served(server)
    status = server.stop()
    log = server.log_text()
    e2e.note(f"{name}: server {'up' if up else 'refused'}, export "
             f"{'served' if works else 'not served'}, exit status {status}")
    e2e.check(status is not None and status >= 0 and not re.search(CRASHES, log),
              f"{name}: no crash, and it ends", f"status {status}\n{relevant(log)}")
    e2e.check(re.search(wanted, log), f"{name}: the log says why", relevant(log))
    if expect is not None:
        e2e.check(works == expect, f"{name}: the export is {'' if expect else 'not '}served",
                  relevant(log))


def two_exports(work, path, plugin):
    """A wrong block RA costs each export of RA, not only the first one, with which the server reads it."""
    name = "a wrong block RA { } and two exports"
    server = e2e.Server("ra", [{"id": n, "path": path, "pseudo": f"/e{n}"} for n in (1, 2)], work,
                        plugin, ra="Table_Size = 0;")
    server.launch()
    e2e.wait_for(lambda: not server.alive() or "NFS SERVER INITIALIZED" in server.log_text(), 60)
    works = server.alive() and served(server)
    status = server.stop()
    log = server.log_text()
    e2e.check(status is not None and status >= 0 and not re.search(CRASHES, log),
              f"{name}: no crash, and it ends", f"status {status}\n{relevant(log)}")
    e2e.check(not works and re.search(f"export of {path}: RA has not started.*mend", log),
              f"{name}: not served, and the log says what to do", relevant(log))


def memory_fsal(work, plugin):
    """FSAL_MEM has no descriptors for us: everything must work, without read-ahead."""
    if not any(p.endswith("libfsalmem.so") for p in e2e.distribution_fsals()):
        e2e.skip_part("sub-FSAL MEM: nfs-ganesha-mem is not installed")
        return
    server = e2e.Server("ra", [{"id": 1, "path": "/mem", "pseudo": "/e1", "sub": "MEM",
                                "params": {"Heuristic": "cursor"}}], work, plugin).start()
    client = nfs3.Client(server, "/e1")
    status, fh = client.create("f0")
    e2e.check(status == nfs3.OK, "FSAL MEM below: CREATE", status)
    data = os.urandom(65536)
    wrote = [client.write(fh, n * 65536, data) for n in range(16)]
    e2e.check(not any(wrote), "FSAL MEM below: WRITE", wrote)
    got = [(status, len(part)) for _, status, part in client.stream(fh, 1 << 20)]
    e2e.check(not any(status for status, _ in got), "FSAL MEM below: READ", got)
    client.close()
    e2e.check(server.stop() == 0, "FSAL MEM below: ends cleanly", server.log_text()[-2000:])
    e2e.note(f"RA_STATS {server.stats()}")
    e2e.check(re.search(r"(?i)RA.*(no .*descriptor|(without|no) read-ahead|not read ahead)",
                        server.log_text()),
              "FSAL MEM below: the log says that it does without read-ahead",
              relevant(server.log_text()))


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__.splitlines()[0])
    e2e.enter()
    work = e2e.work_directory()
    path = e2e.loop_export(work, 64 << 20)
    e2e.make_files(path, 1, 1 << 20)
    for row in ROWS:
        if not sys.argv[2:] or row[0] in sys.argv[2:]:
            try_row(work, path, plugin, row)
    if not sys.argv[2:] or "two exports" in sys.argv[2:]:
        two_exports(work, path, plugin)
    if not sys.argv[2:] or "MEM" in sys.argv[2:]:
        memory_fsal(work, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
