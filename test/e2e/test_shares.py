#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Shares of clients and exports on a live server: test_shares.py PLUGIN

What the configuration says of them is in force; ractl's command changes it until SIGHUP, which reads
CLIENT blocks and exports again with every version of the server; what is wrong then changes nothing.
What the floors of rules and exports come to together is told, and costs no export, in whatever order they are read. Of two
blocks with one Export_Id the one that is served has its share. What a client wrote goes by the rule that holds for it now.
Names of clients are asked for on a thread that is there only when a rule needs them.
"""
import glob
import sys
import time

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
    answer = share(client="2", key="Floor_Time", value=31)  # of clients: on each disk
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


def is_read(server, pseudo):
    client = nfs3.Client(server, pseudo, timeout=120)
    _, fh = client.lookup("f0")
    status, data = client.read(fh, 0, 65536)
    client.close()
    return status == nfs3.OK and data == e2e.pattern(0, 0, 65536)


def promised_together(server, new):
    """An export that comes before those that were there, with rules that make room for it; then too much."""
    of_rule = "CLIENT {{ Clients = 10.0.0.1; Floor_Time = {}; }}"

    def floors():
        now = shares()
        return ([r.get("floor_time") for r in now["rules"][1:]],
                {e["export"]: e.get("floor_time") for e in now["exports"]})

    server.exports[1]["params"] = {}
    server.ra = of_rule.format(80)
    server.reload()
    e2e.check(e2e.wait_for(lambda: floors() == ([0.8], {}), 60), "a floor of clients", shares())
    server.exports.insert(0, dict(new, params={"Floor_Time": 60, "Queue_Depth": 1}))
    server.ra = of_rule.format(10)
    server.reload()
    e2e.check(e2e.wait_for(lambda: floors() == ([0.1], {3: 0.6}), 60) and is_read(server, "/e3"),
              "a new export is not judged by the rules of before", server.log_text()[-2000:])
    e2e.check("kept in part" not in server.log_text(), "nothing is said of what can be kept",
              server.log_text()[-2000:])
    server.ra = of_rule.format(50)
    server.reload()
    e2e.check(e2e.wait_for(lambda: "the floors come to 110 percent" in server.log_text(), 60) and
              floors() == ([0.5], {3: 0.6}) and is_read(server, "/e3"),
              "too much is told, and served", server.log_text()[-2000:])


def one_number_twice(work, plugin, exports):
    twice = [dict(e, id=7, params={"Weight": weight}) for e, weight in zip(exports, (300, 50))]
    server = e2e.Server("ra", twice, work, plugin).start()
    e2e.check(is_read(server, twice[0]["pseudo"]) and weights()[1] == {7: 300},
              "the first of two blocks with one Export_Id has its share",
              (shares(), server.log_text()[-2000:]))
    answer = share(export=7, key="Weight", value=70)
    e2e.check(answer["ok"] and weights()[1] == {7: 70}, "... which can be changed", answer)
    e2e.check(server.stop() == 0, "it ends cleanly", server.log_text()[-2000:])


def written_out():
    return control_client.ask(command="stats")["writing"]["writeback_bytes"]


def written_before(work, plugin, export):
    """A ceiling that comes while a client's data is dirty: it holds for that, too."""
    params = {"Writeback_Delay": 10000, "Writeback_Chunk": 1 << 26, "Writeback_Max_Age": 30000}
    server = e2e.Server("ra", [dict(export, params=params)], work, plugin,
                        ra=f"Dirty_Budget = {1 << 30};").start()
    client = nfs3.Client(server, export["pseudo"], timeout=120)
    data = bytes(1 << 20)
    began = time.monotonic()
    for n in range(40):
        _, fh = client.create(f"w{n}")
        client.write(fh, 0, data)
    took = time.monotonic() - began
    answer = share(client=e2e.HOST, key="Ceiling_Bandwidth", value=2)
    client.write(fh, 0, data)  # it asks again: which rule holds is found out
    e2e.wait_for(lambda: written_out() > 0, 60)
    time.sleep(2)
    out = written_out()
    e2e.check(answer["ok"] and took < 9 and 0 < out <= 20 << 20,
              "what was written before goes by the ceiling", f"{out} bytes; written in {took:.1f} s")
    client.close()
    e2e.check(server.stop() == 0, "it ends cleanly", server.log_text()[-2000:])
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
    for n in (1, 2, 3):
        path = e2e.loop_export(work, 64 << 20, f"export{n}", rotating=True)
        e2e.make_files(path, 1, 1 << 20)
        exports.append({"id": n, "path": path, "pseudo": f"/e{n}", "params": {}})
    new = exports.pop()
    exports[0]["params"] = {"Queue_Depth": 1}
    exports[1]["params"] = {"Weight": 300}
    server = e2e.Server("ra", exports, work, plugin, ra=CLIENTS).start()
    as_configured(server)
    changed_by_operators(server)
    read_again(server)
    by_name(server)
    promised_together(server, new)
    e2e.check(server.stop() == 0, "it ends cleanly", server.log_text()[-2000:])
    one_number_twice(work, plugin, exports)
    written_before(work, plugin, exports[-1])
    e2e.finish()


if __name__ == "__main__":
    main()
