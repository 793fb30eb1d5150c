#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Shares of clients and exports on a live server: test_shares.py PLUGIN

What the configuration says of them is in force; ractl's command changes it until SIGHUP, which reads
CLIENT blocks and exports again with every version of the server; what is wrong then changes nothing.
Names of clients are asked for on a thread that is there only when a rule needs them.
"""
import glob
import sys

import control_client
import e2e
import nfs3

CLIENTS = f"CLIENT {{ Clients = {e2e.HOST}; Weight = 250; }} CLIENT {{ Clients = 10.0.0.0/8; }}"


def shares():
    return control_client.ask(command="shares")


def share(**change):
    return control_client.ask(command="share", **change)


def weights():
    """Of all rules, and of the exports that have one."""
    now = shares()
    return ([r["weight"] for r in now["rules"]],
            {e["export"]: e.get("weight") for e in now["exports"]})


def group_weight(server, pseudo="/e1"):
    """What the queue takes this client's weight to be, after it has read something."""
    e2e.drop_caches()
    client = nfs3.Client(server, pseudo, timeout=120)
    _, fh = client.lookup("f0")
    client.read(fh, 0, 65536)
    client.close()
    flows = control_client.ask(command="clients")["devices"][0]["flows"]
    return [f.get("group_weight") for f in flows if f["client"] == e2e.HOST]


def as_configured(server):
    e2e.check(weights() == ([100, 250, 100], {2: 300}), "shares as configured", shares())
    e2e.check(250 in group_weight(server), "the client has its rule's weight",
              control_client.ask(command="clients"))


def changed_by_operators(server):
    answer = share(client=e2e.HOST, key="Weight", value=70)
    e2e.check(answer["ok"] and weights()[0] == [100, 250, 100, 70], "a rule for an address", answer)
    e2e.check(70 in group_weight(server), "... holds at once", control_client.ask(command="clients"))
    answer = share(client="2", key="Ceiling_Iops", value=500)
    e2e.check(answer["ok"] and answer["rules"][2]["ceiling_iops"] == 500, "a rule changed", answer)
    answer = share(export=1, key="Floor_Time", value=60)
    e2e.check(answer["ok"] and answer["exports"][0]["floor_time"] == 0.6, "an export's floor", answer)
    e2e.check(share(export=2, key="Floor_Time", value=60)["ok"], "another's, on another disk")
    answer = share(client="1", key="Floor_Time", value=31)  # of clients: on each disk
    e2e.check(not answer["ok"] and "91 percent" in answer["error"] and "90" in answer["error"],
              "floors beyond what a disk can keep are refused", answer)
    answer = share(export=9, key="Weight", value=1)
    e2e.check(not answer["ok"] and "no export 9" in answer["error"], "no such export", answer)
    answer = share(client=e2e.HOST, key="Mass", value=1)
    e2e.check(not answer["ok"] and "Ceiling_Time" in answer["error"], "no such key", answer)


def read_again(server):
    server.reload()
    e2e.check(e2e.wait_for(lambda: weights() == ([100, 250, 100], {2: 300}), 60),
              "SIGHUP with the same file: as configured", shares())
    server.ra = CLIENTS.replace("250", "400")
    server.exports[1]["params"] = {"Weight": 50, "Ceiling_Bandwidth": 40}
    server.reload()
    e2e.check(e2e.wait_for(lambda: weights() == ([100, 400, 100], {2: 50}), 60),
              "SIGHUP with other shares: these", shares())
    e2e.check(shares()["exports"][0]["ceiling_bytes_per_s"] == 40e6, "... a ceiling too", shares())
    e2e.check(400 in group_weight(server), "the client has the new weight",
              control_client.ask(command="clients"))
    server.ra = CLIENTS.replace("250", "40000")
    server.reload()
    e2e.check(e2e.wait_for(lambda: "Weight = 40000 is out of range" in server.log_text(), 60) and
              weights() == ([100, 400, 100], {2: 50}),
              "SIGHUP with a wrong rule: said, and the old ones stay", server.log_text()[-2000:])
    server.ra = "Price_Interval = 900;" + CLIENTS
    server.reload()
    e2e.check(control_client.ask(command="prices")["interval_ms"] == 900,
              "other parameters of RA { } that can change do", server.log_text()[-2000:])
    server.ra = " "  # an empty block
    gone = server.exports.pop()
    server.reload()
    e2e.check(e2e.wait_for(lambda: weights() == ([100], {}), 60),
              "SIGHUP without rules, and without the export: none", shares())
    server.exports.append(gone)
    server.ra = CLIENTS
    server.reload()
    e2e.check(e2e.wait_for(lambda: weights() == ([100, 250, 100], {2: 50}), 60),
              "SIGHUP with both again: back", shares())


def threads(server):
    names = set()
    for path in glob.glob(f"/proc/{server.process.pid}/task/*/comm"):
        with open(path, encoding="ascii") as file:
            names.add(file.read().strip())
    return names


def by_name(server):
    """A rule that only a client's name can tell: a thread of its own asks for it."""
    e2e.check("ra_names" not in threads(server), "where addresses decide nobody asks for names",
              threads(server))
    server.ra = "CLIENT { Clients = *.nobody.example; Weight = 10; }" + CLIENTS
    server.reload()
    e2e.check(e2e.wait_for(lambda: weights() == ([100, 10, 250, 100], {2: 50}), 60),
              "SIGHUP with a rule for names", shares())
    e2e.check(e2e.wait_for(lambda: 250 in group_weight(server), 60),
              "who is not called so has the rule of its address", control_client.ask(command="clients"))
    e2e.check("ra_names" in threads(server), "a thread asks", threads(server))


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__.splitlines()[0])
    e2e.enter()
    work = e2e.work_directory()
    exports = []
    for n in (1, 2):
        path = e2e.loop_export(work, 64 << 20, f"export{n}", rotating=True)
        e2e.make_files(path, 1, 1 << 20)
        exports.append({"id": n, "path": path, "pseudo": f"/e{n}", "params": {}})
    exports[0]["params"] = {"Queue_Depth": 1}
    exports[1]["params"] = {"Weight": 300}
    server = e2e.Server("ra", exports, work, plugin, ra=CLIENTS).start()
    as_configured(server)
    changed_by_operators(server)
    read_again(server)
    by_name(server)
    e2e.check(server.stop() == 0, "it ends cleanly", server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
