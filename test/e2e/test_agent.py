#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""ca-nfs-agent: test_agent.py AGENT PLUGIN

First on a machine of files (--root) whose server's replies are a file too (--replies): what it
says, which knobs it turns, that it puts them back, also after kill -9 and while the server hangs.
Then in a real Linux guest, with mounts of stock Ganesha, which it must never believe, and of RA.
"""
import os
import shutil
import signal
import subprocess
import sys
import threading

import e2e
import nfs3
from agent_machine import (LONG, MOUNT, NFS, Agent, Machine, Opens, Server, at_once, load_codec,
                           machine_ratio_is, priced, run)

HERE = os.path.dirname(os.path.realpath(__file__))
PROMPT = 30  # seconds, on a busy machine: a call that hangs lasts for ever


def test_errors(agent, work):
    machine = Machine(work, "errors")
    for arguments, status, message in (
            ((), 2, "which mounts? name them, or a file with --config"),
            (("--speed", "1", MOUNT), 2, "--speed: there is no such option"),
            (("--interval", "11", MOUNT), 2, "interval = 11: must be a number from 0.25 to 10"),
            (("--defer=perhaps", MOUNT), 2, "defer = perhaps: must be yes or no"),
            (("mnt",), 2, "mount = mnt: must be an absolute path"),
            (("--config", "/nowhere"), 2, "/nowhere: No such file or directory"),
            (("--status",), 1, "is not running")):
        result = run(machine.command(agent, *arguments))
        e2e.check(result.returncode == status and message in result.stderr,
                  f"{' '.join(arguments)}: {message}", (result.returncode, result.stderr))
    for line, message in ((NFS.replace("vers=3", "vers=4.2").replace("nfs server", "nfs4 server"),
                           f"{MOUNT}: is NFS of another version: prices need vers=3"),
                          (NFS.replace("nfs server", "ext4 server"), f"{MOUNT}: is ext4, not NFS"),
                          ("", f"{MOUNT}: nothing is mounted there")):
        machine.write("proc/self/mountinfo", line)
        result = run(machine.command(agent, "--once", MOUNT))
        e2e.check(result.returncode == 3 and message in result.stdout, f"--once: {message}",
                  result.stdout)
    result = run(["setpriv", "--reuid", "65534", "--clear-groups", agent, MOUNT])
    e2e.check(result.returncode == 1 and "only root" in result.stderr, "who is not root is told so",
              result.stderr)
    result = run([agent, "--help"])
    e2e.check(result.returncode == 0 and "--readahead-max" in result.stdout, "--help")


def text_of(path):
    """"" where there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def test_knobs(agent, work):
    machine = Machine(work, "knobs")
    server = Server(machine, 0.9, 1.0)
    metrics = f"{work}/knobs.prom"
    a = Agent(machine, agent, "--flush-point", "60", "--metrics", metrics)
    e2e.check(a.waits("states prices"), "a server with prices is believed", a.text)
    e2e.check(a.waits("defer") and e2e.wait_for(lambda: machine.min_ratio == 50, LONG),
              "a dear server: writes are deferred, min_ratio 50", a.text)
    e2e.check(e2e.wait_for(lambda: machine.read_ahead == 16, LONG),
              "and little is read ahead: 16 KiB", machine.read_ahead)
    e2e.check(e2e.wait_for(lambda: machine.flush_point == (60, 80), LONG),
              "the flushing point is raised", machine.flush_point)
    status = run(machine.command(agent, "--status")).stdout
    e2e.check(f"mount {MOUNT} 0:47: believed" in status and "defer" in status and
              "min_ratio found 0 set 50" in status, "--status shows it", status)
    explained = run(machine.command(agent, "--explain")).stdout
    e2e.check(f"{MOUNT}: defer (the server's price 0.9" in explained
              and "dearer than our memory" in explained, "--explain says why", explained)
    e2e.check(e2e.wait_for(lambda: f'_deferrals_total{{mount="{MOUNT}"}} 1\n' in text_of(metrics),
                           LONG), "its metrics count it", text_of(metrics))
    second = run(machine.command(agent, MOUNT))
    e2e.check(second.returncode == 1 and "another agent is running" in second.stderr,
              "there is one agent", second.stderr)
    machine.dirty(380000)
    e2e.check(a.waits("writes: normal") and e2e.wait_for(machine_ratio_is(machine, 0), LONG),
              "our memory is full too: deferral ends", a.text)
    machine.dirty(200000)  # of 400,000, which are 80 % of memory
    e2e.check(e2e.wait_for(lambda: machine.flush_point == (35, 80), LONG),
              "and the flushing point follows what is dirty, not yet the limit", machine.flush_point)
    machine.dirty(50000)
    server.prices = (0.0, 0.0)
    e2e.check(e2e.wait_for(lambda: machine.flush_point == (10, 20), LONG),
              "which follows when what is dirty has drained", machine.flush_point)
    e2e.check(a.waits("writes: accelerate"), "a cheap server: writes are accelerated", a.text)
    e2e.check(e2e.wait_for(lambda: machine.read_ahead == 1024, LONG), "and much is read ahead",
              machine.read_ahead)
    server.prices = (0.9, 0.2)
    e2e.check(e2e.wait_for(machine_ratio_is(machine, 50), LONG), "dear again: deferred", a.text)
    took = a.end()
    e2e.check(took < PROMPT and a.process.returncode == 0, f"SIGTERM ends it ({took:.2f} s)",
              a.process.returncode)
    e2e.check(machine.untouched(), "every knob is as it was found", a.text)
    e2e.check(not os.path.exists(f"{machine.root}/run/ca-nfs-agent.state")
              and not os.path.exists(metrics), "nothing is left")
    server.stop()


def test_prices_end(agent, work):
    machine = Machine(work, "end")
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent)
    e2e.wait_for(machine_ratio_is(machine, 50), LONG)
    server.stop()
    machine.reply("6553600 6000000\n")
    e2e.check(a.waits("states no prices") and e2e.wait_for(machine.untouched, LONG),
              "prices end: knobs put back at once", a.text)
    server = Server(machine, 0.9, 1.0)
    e2e.check(e2e.wait_for(machine_ratio_is(machine, 50), LONG), "prices again: believed again")
    machine.write("proc/self/mountinfo", "")
    e2e.check(a.waits("nothing is mounted there"), "unmounted: told", a.text)
    machine.write("sys/class/bdi/0:47/min_ratio", "0\n")  # as a new mount has it
    machine.write("sys/class/bdi/0:47/read_ahead_kb", "128\n")
    machine.write("proc/self/mountinfo", NFS.replace("36", "40"))
    # the last knob it turns: what is written below must not come before it
    e2e.check(machine.turns(), "mounted again: deferred again", a.text)
    machine.write("sys/class/bdi/0:47/read_ahead_kb", "4096\n")
    a.end(signal.SIGINT)
    e2e.check(machine.min_ratio == 0 and machine.read_ahead == 4096 and
              a.said("somebody else has turned it"),
              "what somebody else has turned since stays", a.text)
    server.stop()


def test_shared_knobs(agent, work):
    """Two mounts of one export."""
    machine = Machine(work, "shared")
    other = NFS.replace("36", "37").replace(MOUNT, "/mnt/o")
    machine.write("proc/self/mountinfo", NFS + other)
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent, "/mnt/o")
    e2e.check(a.waits("/mnt/n: has its knobs in common with /mnt/o"), "two mounts share knobs",
              a.text)
    e2e.wait_for(lambda: machine.min_ratio == 50, LONG)
    machine.write("proc/self/mountinfo", NFS)
    e2e.check(a.waits("/mnt/n: writes: defer: set min_ratio to 50"),
              "one is unmounted: the other takes them over", a.text)
    a.end()
    e2e.check(machine.untouched(), "and puts back what was found first", a.text)
    server.stop()


def test_hanging_server(agent, work):
    machine = Machine(work, "hang")
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent)
    e2e.wait_for(machine_ratio_is(machine, 50), LONG)
    server.stop()
    machine.pipe_for_replies()
    e2e.check(a.waits("no answer") and e2e.wait_for(machine.untouched, LONG),
              "the server hangs: knobs put back", a.text)
    children = a.children()
    e2e.check(len(children) == 1 and machine.looks(4) and a.children() == children,
              "one call hangs, no more are made", children)
    took = a.end()
    e2e.check(took < PROMPT and a.process.returncode == 0, f"the agent does not hang ({took:.2f} s)")
    e2e.check(e2e.wait_for(lambda: not any(map(e2e.lives, children)), LONG),
              "nor does it leave a child behind", children)


def test_killed(agent, work):
    machine = Machine(work, "killed")
    server = Server(machine, 0.9, 1.0)
    metrics = f"{work}/killed .prom"
    a = Agent(machine, agent, "--metrics", metrics)
    machine.turns()
    e2e.wait_for(lambda: os.path.exists(metrics), LONG)
    a.end(signal.SIGKILL)
    e2e.check(machine.min_ratio == 50 and os.path.exists(metrics),
              "kill -9 leaves knobs turned, and its metrics")
    result = run(machine.command(agent, "--restore"))
    e2e.check(machine.untouched() and "2 knobs put back" in result.stdout,
              "--restore puts them back", result.stdout + result.stderr)
    e2e.check(not os.path.exists(metrics), "and removes its metrics")
    a = Agent(machine, agent)
    machine.turns()
    a.end(signal.SIGKILL)
    server.stop()
    machine.reply("6553600 6000000\n")
    a = Agent(machine, agent)
    e2e.check(e2e.wait_for(machine.untouched, LONG), "and so does the next agent", a.text)
    a.end()


def test_dry(agent, work):
    machine = Machine(work, "dry")
    server = Server(machine, 0.9, 1.0)
    metrics = f"{work}/another's.prom"
    with open(metrics, "w", encoding="ascii") as file:
        file.write("of the agent that runs\n")
    a = Agent(machine, agent, "--dry-run", "--flush-point", "60", "--metrics", metrics)
    e2e.check(a.waits("would set read_ahead_kb to 16") and a.waits("would set min_ratio to 50"),
              "--dry-run says what it would do", a.text)
    a.end()
    e2e.check(machine.untouched() and not os.listdir(f"{machine.root}/run"), "and does nothing")
    e2e.check(text_of(metrics) == "of the agent that runs\n", "nor to the metrics of another",
              text_of(metrics))
    result = run(machine.command(agent, "--once", "--answer", "10", MOUNT))
    e2e.check(result.returncode == 0 and "states prices: write 0.9" in result.stdout,
              "--once finds the prices", result.stdout + result.stderr)
    server.stop()
    machine.reply("6553600 6000000\n")
    result = run(machine.command(agent, "--once", MOUNT))
    e2e.check(result.returncode == 3 and "states no prices" in result.stdout,
              "--once finds that there are none", result.stdout)


def test_once_is_interrupted(agent, work):
    """What was not asked to the end has not been silent; and hung questions take no places of others."""
    machine = Machine(work, "interrupted")
    others = [f"/mnt/{i}" for i in range(9)]
    machine.write("proc/self/mountinfo", NFS + "".join(
        NFS.replace("36 ", f"{40 + i} ").replace(MOUNT, other) for i, other in enumerate(others)))
    machine.pipe_for_replies()
    result = run(machine.command(agent, "--once", "--answer", "1", "--interval", "0.25", *others))
    e2e.check(result.returncode == 3 and result.stdout.count("no answer") == 9,
              "--once: of nine none answers", result.stdout)
    process = subprocess.Popen(machine.command(agent, "--once", "--answer", "60", MOUNT, "/mnt/0"),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    e2e.check(e2e.wait_for(lambda: e2e.children_of(process.pid), LONG), "--once asks")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=LONG)[0]
    e2e.check(process.returncode == 1 and "no answer" not in said and "Interrupted" in said,
              "--once, interrupted, says that and nothing of the others", (process.returncode, said))


def test_plain_server(agent, work):
    """Counters that pass the check, and stay as they are."""
    machine = Machine(work, "plain")
    machine.reply(priced(1.0, 1.0))
    opens = Opens(machine.replies)
    a = Agent(machine, agent)
    e2e.check(e2e.wait_for(lambda: opens.count() >= 24, LONG), "it asks 24 times", opens.seen)
    e2e.check(machine.untouched() and not a.said("states prices"),
              "the same valid reply 24 times is not believed", a.text)
    a.end()


# ---- in a guest --------------------------------------------------------------------------------

def in_guest(agent, server, text, seconds, export):
    copy = shutil.copy(agent, f"{server.work}/agent")  # the guest's /tmp and /run are its own
    done = subprocess.run(
        [f"{HERE}/guest", "/usr/bin/python3", f"{HERE}/guest_agent.py", str(server.port),
         str(server.mport), copy, text, str(seconds), export], check=False, capture_output=True,
        text=True, env={**os.environ, "GUEST_SECONDS": "150"})
    if done.returncode == 77:
        e2e.skip_part(f"no guest here: {done.stdout.strip()}")
        return None
    if done.returncode:
        e2e.note(done.stdout[-3000:] + done.stderr[-500:])
    return done.stdout


def read_on(server, stopping):
    """64 KiB again and again, 1.3 MB/s."""
    client = nfs3.Client(server, "/e1")
    _, fh = client.lookup("f0")
    while not stopping.wait(0.05):
        client.read(fh, 0, 65536)
    client.close()


def test_guest(agent, plugin, work):
    path = e2e.loop_export(work, 1536 << 20)  # more than 65,536 inodes
    e2e.make_files(path, 1, 1 << 20)
    listed = [{"id": 1, "path": path, "pseudo": "/e1", "params": {"Fsstat_Prices": "true"}}]
    server = e2e.Server("stock", listed, work, plugin).start()
    out = in_guest(agent, server, "states prices", 5, "/e1")
    server.stop()
    if out is None:
        return
    e2e.check("states no prices" in out and "states prices" not in out and
              "KNOBS same" in out, "stock Ganesha is not believed, knobs untouched", out[-2000:])
    # Of another client's reads the network is full: a megabit a second is little.
    server = e2e.Server("ra", listed, work, plugin, ra="Network_Capacity = 1; "
                        "Network_Interface = lo;").start()
    stopping = threading.Event()
    load = threading.Thread(target=read_on, args=(server, stopping))
    load.start()
    out = in_guest(agent, server, "set min_ratio to 50", 60, "/e1")
    stopping.set()
    load.join()
    e2e.check(server.stop() == 0, "RA ends cleanly", server.log_text()[-2000:])
    e2e.check("states prices" in out, "RA is believed", out[-3000:])
    e2e.check("writes: defer" in out and "min_ratio to 50" in out,
              "a saturated network: deferred", out[-3000:])
    e2e.check("BYTES right" in out, "what was written meanwhile arrived", out[-3000:])
    e2e.check("KNOBS same" in out, "knobs as they were at its end", out[-3000:])
    for line in out.splitlines():
        if line.startswith(("/mnt", "KNOBS", "DF")):
            e2e.note(line)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    agent = os.path.realpath(sys.argv[1])
    e2e.enter()
    load_codec()
    work = e2e.work_directory()
    # Each on a machine of its own, and they mostly wait: all at once.
    at_once((test_errors, test_knobs, test_prices_end, test_shared_knobs, test_hanging_server,
             test_killed, test_dry, test_once_is_interrupted, test_plain_server), agent, work)
    test_guest(agent, e2e.plugin_from(sys.argv[2:], __doc__.splitlines()[0]), work)
    e2e.finish()


if __name__ == "__main__":
    main()
