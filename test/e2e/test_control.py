#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The control channel of a live server: test_control.py RACTL PLUGIN NFSBENCH

A small ext4 on a loop device is served through RA over VFS. Every command of ractl works and every
wrong name is refused; `clients` and `top` show who uses the disk, on a terminal too; 200 changes of policy under load lose and repeat nothing; SIGHUP applies the
configuration again; sockets of dead and of live servers are treated as they should be.
"""
import fcntl
import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import control_client
import e2e
import nfs3
import quiet

IMAGE, FILES, SIZE = 512 << 20, 8, 128 << 20  # bytes; SIZE: of all files together
SWITCHES, ROUNDS_MAX = 200, 20
POLICIES = ("fifo", "elevator", "ncscan", "turns")
# What the rooms trace: all of common/trace.h.
EVENTS = {"observe", "plan", "submit", "pick", "turn", "commit", "price"}
HEURISTICS = ("off", "default", "always", "slowdown", "strict", "cursor")


class Ractl:
    """The program, where also another user may run it."""

    def __init__(self, path):
        self.path = "/run/ractl"
        shutil.copy(path, self.path)
        os.chmod(self.path, 0o755)

    def run(self, *arguments, user=None):
        return subprocess.run([self.path, *arguments], check=False, text=True, timeout=120,
                              capture_output=True, user=user, stdin=subprocess.DEVNULL)

    def json(self, *arguments):
        done = self.run("--json", *arguments)
        answer = json.loads(done.stdout)
        assert (done.returncode == 0) == answer["ok"], (done, answer)
        return answer

    def rows_while(self, seconds, begin):
        """What begin() gave, and what was used in so many seconds from just before it on."""
        process = subprocess.Popen([self.path, "--json", "clients", "--interval", str(seconds)],
                                   text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        e2e.at_exit(lambda: e2e.end_process(process))
        begun = begin()
        return begun, json.loads(process.communicate(timeout=120)[0])

    def refused(self, what, arguments, status, *parts, user=None):
        done = self.run(*arguments, user=user)
        e2e.check(done.returncode == status and all(p in done.stderr for p in parts),
                  f"{what}: exit status {status}, and says why", done)


class Disk:
    """The loop device below a mount point, and what was read from it."""

    def __init__(self, where):
        self.name = os.path.basename(e2e.run("findmnt", "-n", "-o", "SOURCE", where).strip())

    def read_bytes(self):
        with open(f"/sys/block/{self.name}/stat") as f:
            return int(f.read().split()[2]) * 512


class Load:
    """Streams over all files, cold; nfsbench compares every byte."""

    def __init__(self, nfsbench, server, pseudo):
        e2e.drop_caches()
        self.process = subprocess.Popen(
            [nfsbench, "--server", e2e.HOST, "--port", str(server.port), "--mount-port",
             str(server.mport), "--export", pseudo, "--work", "seq", "--readers", str(FILES),
             "--size", str(SIZE), "--json", "-", "--quiet"],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        e2e.at_exit(lambda: e2e.end_process(self.process))
        self.output = ""

    def running(self, seconds):
        """False once it has ended; waits up to `seconds` for that."""
        try:
            self.output = self.process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            return True
        return False


def commands_work(ractl, disk):
    status = ractl.json("status")
    exports = status["exports"]
    e2e.check(len(exports) == 1 and exports[0]["reads"] > 0 and exports[0]["used_bytes"] > 0 and
              {"export": 7, "heuristic": "cursor", "pending": 0}.items() <= exports[0].items() and
              status["exports_total"] == 1 and status["version"] and
              float(status["ganesha_api"]) >= 11 and status["uptime_s"] >= 0,
              "status: versions, time, exports", status)
    devices = ractl.json("devices")["devices"]
    device = devices[0] if devices else {}
    e2e.check(len(devices) == 1 and device["name"] == disk.name and
              device["scheduler"] == "turns" and device["depth"] == 1 and
              device["prefetch_bytes_per_s"] > 0 and
              device["wait_p50_us"] <= device["wait_p99_us"] <= device["wait_max_us"],
              "devices: the loop device, with throughput and waits", devices)
    readers = ractl.json("clients")["readers"]
    e2e.check([r for r in readers if r["client"] == e2e.HOST and 0 < r["resident"] <= r["reads"] and
               r["used_bytes"] > 0], "clients: what the READs of each found", readers)
    number = device["device"]
    for name in POLICIES:
        for wanted in ((), (number,), (disk.name,), (f"/dev/{disk.name}",)):
            ractl.json("scheduler", name, *wanted)
            seen = ractl.json("devices")["devices"][0]["scheduler"]
            e2e.check(seen == name, f"scheduler {name} {' '.join(wanted)}", seen)
    for name in HEURISTICS:
        for wanted in ((), ("7",)):
            changed = ractl.json("heuristic", name, *wanted)["exports_changed"]
            seen = ractl.json("status")["exports"][0]["heuristic"]
            e2e.check(changed == 1 and seen == name, f"heuristic {name} {' '.join(wanted)}", seen)
    for command in (("status",), ("devices",), ("scheduler", "turns"), ("heuristic", "cursor"),
                    ("prices",), ("stats",), ("--help",)):
        done = ractl.run(*command)
        e2e.check(done.returncode == 0 and done.stdout and not done.stderr,
                  f"{' '.join(command)}: a text for people", done)


def wrong_is_refused(ractl):
    ractl.refused("a wrong scheduler", ("scheduler", "lift"), 1, "lift", *POLICIES)
    ractl.refused("a wrong device", ("scheduler", "fifo", "9:99"), 1, "9:99", "none of")
    ractl.refused("a wrong heuristic", ("heuristic", "guess"), 1, "guess", *HEURISTICS)
    ractl.refused("a wrong export", ("heuristic", "off", "8"), 1, "8")
    ractl.refused("a wrong command", ("reboot",), 2, "reboot", "usage")
    ractl.refused("no command", (), 2, "usage")
    ractl.refused("a name missing", ("scheduler",), 2, "NAME")
    ractl.refused("too many arguments", ("status", "x"), 2, "x")
    ractl.refused("an export that is no number", ("heuristic", "off", "x7"), 2, "x7")
    ractl.refused("--reset where it says nothing", ("devices", "--reset"), 2, "--reset")
    ractl.refused("--batch where it says nothing", ("clients", "--batch"), 2, "--batch", "top")
    ractl.refused("an interval too short", ("top", "--interval", "0"), 2, "0.1 to 3600 s")
    ractl.refused("a view that is none", ("top", "--by", "name"), 2, "flow or file")
    ractl.refused("an unknown option", ("--frob", "status"), 2, "usage")
    ractl.refused("no server", ("--socket", "/run/none.sock", "status"), 1, "/run/none.sock")
    ractl.refused("not root", ("status",), 1, "permission", user=65534)
    answer = ractl.json("scheduler", "lift")
    e2e.check(answer["choices"] == list(POLICIES), "the right names come as a list", answer)


def stats_since_the_reset(ractl, nfsbench, server):
    before = ractl.json("stats", "--reset")
    after = ractl.json("stats")
    e2e.check(before["reset"] and before["counters"]["reads"] > 0 and
              set(after["counters"].values()) == {0} and
              after["devices"][0]["served_prefetch"] == 0,
              "stats --reset: counts from there", after)
    load = Load(nfsbench, server, "/full")
    while load.running(30):
        pass
    after = ractl.json("stats")
    e2e.check(after["counters"]["read_bytes"] == SIZE, "stats: exactly the bytes read since",
              after["counters"])
    return before["counters"]["read_bytes"] + SIZE


def switches_under_load(ractl, nfsbench, server, disk):
    """Again where the machine takes pages away meanwhile: they are read again then. Returns the bytes
    that clients read, those of each time."""
    asked_in_all = 0

    def measure():
        nonlocal asked_in_all
        before = e2e.evictions()
        read, asked = switch_often(ractl, nfsbench, server, disk)
        asked_in_all += asked
        return read, asked, e2e.evictions() - before

    quiet.judge(
        "changes under load", measure,
        lambda seen: [(seen[0] < 1.05 * seen[1], "nothing was read twice from the disk", seen)],
        disturbs=lambda seen: "pages were taken away" if seen[2] else None)
    return asked_in_all


def switch_often(ractl, nfsbench, server, disk):
    """Changes the policy as often as it can while loads run, until there were enough changes. Returns
    the bytes that the disk read, and those that clients did."""
    names = itertools.cycle(POLICIES)
    ractl.json("stats", "--reset")
    switches = rounds = refused = 0
    read_before = disk.read_bytes()
    while switches < SWITCHES and rounds < ROUNDS_MAX:
        load = Load(nfsbench, server, "/full")
        channel = control_client.Channel()  # one that says nothing for Control_Timeout is closed
        rounds += 1
        while load.running(0.005):
            answer = channel.ask(command="scheduler", name=next(names))
            refused += not answer["ok"]
            switches += 1
        channel.close()
        if not e2e.check(load.process.returncode == 0, f"load {rounds}: every byte right, "
                         "no error", load.output):
            break
    read = disk.read_bytes() - read_before
    stats = ractl.json("stats")
    device, counters = stats["devices"][0], stats["counters"]
    e2e.note(f"{switches} changes over {rounds} loads; {read / SIZE / rounds:.3f} of the bytes "
             f"were read from the disk")
    e2e.check(switches >= SWITCHES and not refused, f"{SWITCHES} changes of policy under load",
              f"{switches} changes, {refused} refused")
    # The device begins with turns, and the first change is to the first of the names.
    e2e.check(switches - 1 <= device["switches"] <= switches, "each took place", device)
    e2e.check(counters["read_bytes"] == rounds * SIZE, "no read lost or repeated", counters)
    e2e.check(device["submitted_demand"] == device["served_demand"] and
              device["submitted_prefetch"] == device["served_prefetch"],
              "the queue gave back each request once", device)
    e2e.check(ractl.json("status")["exports"][0]["pending"] == 0, "nothing is left queued")
    return read, rounds * SIZE


class Live:
    """`ractl top` on a terminal of its own."""
    ENTER, LEAVE, HOME = "\033[?1049h", "\033[?25h\033[?1049l", "\033[H"

    def __init__(self, ractl, *arguments):
        self.terminal, inner = pty.openpty()
        self.before = termios.tcgetattr(inner)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", ractl.path, "top", *arguments], stdin=inner, stdout=inner, stderr=inner,
            env=dict(os.environ, TERM="xterm"))
        e2e.at_exit(lambda: e2e.end_process(self.process))
        self.inner = inner  # open: what the terminal is set to can be asked for when ractl has ended
        self.shown = ""

    def until(self, *parts, seconds=60):
        """Whether it shows all of them in time, from now on."""
        self.shown, end = "", time.monotonic() + seconds
        while not all(p in self.shown for p in parts):
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                return False
            self.shown += os.read(self.terminal, 65536).decode()
        return True

    def fits(self, rows, columns, seconds=60):
        """Whether a screen within these is shown in time, once the terminal has become so large."""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.until(self.HOME):
            for frame in re.findall("\033\\[H(.*?)\033\\[J", self.shown, flags=re.S):
                lines = re.sub("\033\\[[0-9;?]*[a-zA-Z]", "", frame).replace("\r", "").split("\n")
                if len(lines) <= rows and max(map(len, lines)) <= columns:
                    return True
        return False

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def ended(self, *parts):
        """Its exit status, when it said the parts and the terminal is as it was; else None."""
        restored = self.until(self.LEAVE, *parts)
        status = self.process.wait(60)
        same = termios.tcgetattr(self.inner)[3] == self.before[3]
        os.close(self.inner)
        os.close(self.terminal)
        return status if restored and same else None


def who_uses_the_disk(ractl, nfsbench, server, disk):
    """While a load runs: rows for programs and people, a log, and the live screen. Returns how many
    loads ran: on a busy machine one may begin after the interval."""
    row, loads = {}, 0
    while not row.get("active") and loads < 5:
        load, rows = ractl.rows_while(2, lambda: Load(nfsbench, server, "/full"))
        row = next((r for r in rows["rows"] if r["client"] == e2e.HOST), {})
        loads += 1
        while not row.get("active") and load.running(30):
            pass
    e2e.check(row.get("export") == 7 and row["active"] and row["prefetch_bytes_per_s"] > 0 and
              row["share"] > 0.9 and row["fair_share"] > 0.9 and row["group_weight"] == 100,
              "clients: the load's address and export have the disk's time", rows)
    device = rows["devices"][0]
    e2e.check(device["name"] == disk.name and 0 < device["busy"] <= 1,
              "clients: the device is busy", device)
    live = Live(ractl, "--interval", "0.2")
    e2e.check(live.until(Live.ENTER, disk.name, "last 0.2 s", e2e.HOST), "top: the client is seen",
              live.shown)
    for key, title in zip("edfFcsbil", ("exports", "devices", "flows", "files", "clients",
                                        "share", "bandwidth", "iops", "latency")):
        live.type(key)
        e2e.check(live.until(title), f"top: key {key}: {title}", live.shown)
    for rows, columns in ((24, 80), (8, 50)):
        e2e.check(live.fits(rows, columns), f"top: in {columns} x {rows}", live.shown)
    live.type("q")
    e2e.check(live.ended() == 0, "top: q ends it, and the terminal is as it was", live.shown)
    while load.running(30):
        pass
    done = ractl.run("top", "--batch", "-n", "2", "--interval", "0.1")
    e2e.check(done.returncode == 0 and done.stdout.count("clients by share") == 2 and not done.stderr,
              "top --batch: so many intervals", done)
    done = ractl.run("top", "-n", "1", "--interval", "0.1")
    e2e.check(done.returncode == 0 and "not a terminal" in done.stderr and
              "clients by share" in done.stdout, "top without a terminal says so", done)
    snapshot = ractl.json("clients")
    flow = snapshot["devices"][0]["flows"][0]
    e2e.check(flow["client"] == e2e.HOST and flow["export"] == 7 and flow["prefetch_bytes"] >= SIZE and
              flow["disk_time_prefetch_us"] > 0 and sum(flow["waits"]) > 0,
              "clients: the counters since the start", snapshot)
    return loads


def a_terminal_that_takes_nothing(ractl):
    """After Ctrl-S: it stops, goes on and ends all the same."""
    live = Live(ractl, "--interval", "0.2")
    e2e.check(live.until("q quit"), "top: live", live.shown)
    termios.tcflow(live.inner, termios.TCOOFF)
    live.process.send_signal(signal.SIGTSTP)
    e2e.check(e2e.wait_for(lambda: e2e.proc_text(live.process.pid, "stat").rpartition(")")[2]
                           .split()[:1] == ["T"], 60), "top on a terminal that takes no bytes: stops")
    live.process.send_signal(signal.SIGCONT)
    live.process.send_signal(signal.SIGTERM)
    ended = e2e.wait_for(lambda: live.process.poll() is not None, 60)
    same = termios.tcgetattr(live.inner)[3] == live.before[3]
    e2e.check(ended and live.process.returncode == -signal.SIGTERM and same,
              "... and ends by SIGTERM, and what is typed is shown", (live.process.returncode, same))
    os.close(live.inner)
    os.close(live.terminal)


def write_and_commit(server):
    """8 MiB of UNSTABLE writes, and a COMMIT of them."""
    client = nfs3.Client(server, "/full", timeout=120)
    status, fh = client.lookup("written")
    if status != nfs3.OK:
        fh = client.create("written")[1]
    for at in range(0, 8 << 20, 1 << 18):
        client.write(fh, at, b"w" * (1 << 18))
    e2e.check(client.commit(fh).status == nfs3.OK, "a COMMIT while decisions are followed")
    client.close()


def decisions_are_seen(ractl, nfsbench, server):
    """Each event of the rooms, while reads, writes and a COMMIT come in; nothing afterwards."""
    done = ractl.run("trace", "--events", "plan,guess")
    e2e.check(done.returncode == 1 and "guess" in done.stderr and "observe" in done.stderr,
              "trace: a wrong event is refused, with the right ones", done)
    follower = subprocess.Popen([ractl.path, "--json", "trace", "--follow"], text=True,
                                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    e2e.at_exit(lambda: e2e.end_process(follower))
    first = json.loads(follower.stdout.readline())  # from here on the server notes decisions
    seen, numbers = {}, []
    load = Load(nfsbench, server, "/full")
    write_and_commit(server)
    too_long = threading.Timer(60, follower.kill)  # then its output ends
    too_long.start()
    while not EVENTS <= seen.keys() and (line := follower.stdout.readline()):
        for record in json.loads(line)["records"]:
            seen.setdefault(record["event"], record)
            numbers.append(record["number"])
    too_long.cancel()
    while load.running(30):
        pass
    follower.terminate()
    follower.wait()
    e2e.check(EVENTS <= seen.keys(), f"trace: {', '.join(sorted(EVENTS))} are seen", seen.keys())
    e2e.check(numbers == sorted(set(numbers)) and numbers[0] > first["last"],
              "trace: each decision once, in its order", numbers[:20])
    e2e.check(all("file" in seen[e] and seen[e]["length"] > 0 for e in ("observe", "plan", "pick")),
              "trace: with file and length", seen)
    channel = control_client.Channel()
    last = channel.ask(command="trace", events="plan")["last"]
    channel.close()
    e2e.check(last >= numbers[-1], "trace: numbers go on for the next who looks", (last, numbers[-1]))


def sighup_applies_the_configuration(ractl, server):
    def configured():
        return (ractl.json("devices")["devices"][0]["scheduler"] == "turns" and
                ractl.json("status")["exports"][0]["heuristic"] == "cursor")

    ractl.json("scheduler", "fifo")
    ractl.json("heuristic", "default")
    e2e.check(not configured(), "ractl changed both")
    server.sighup()
    e2e.check(e2e.wait_for(configured, 60), "SIGHUP with the same file: both as configured",
              server.log_text()[-2000:])


def another_server(ractl, server, work, path, plugin):
    pid = ractl.json("status")["pid"]
    second = e2e.Server("ra", exports_of(path), work, plugin).start()
    e2e.check("another server answers" in second.log_text() and
              "without control channel" in second.log_text(),
              "a second server goes on without, and says so", second.log_text()[-2000:])
    e2e.check(second.stop() == 0, "... and ends cleanly", second.status)
    e2e.check(ractl.json("status")["pid"] == pid, "the first one still answers")


def takes_over(ractl, work, path, plugin):
    first = e2e.Server("ra", exports_of(path), work, plugin).start()
    second = e2e.Server("ra", exports_of(path), work, plugin).start()
    first.stop()
    e2e.check(e2e.wait_for(lambda: ractl.run("status").returncode == 0, 60),
              "a server beside another has the channel when that one ends",
              second.log_text()[-2000:])
    e2e.check(second.stop() == 0, "... and ends cleanly", second.status)
    e2e.check(not os.path.exists(control_client.SOCKET), "... and removes its socket")


def after_a_crash(ractl, work, path, plugin):
    server = e2e.Server("ra", exports_of(path), work, plugin).start()
    live = Live(ractl, "--interval", "0.2")
    e2e.check(live.until("q quit"), "top: live", live.shown)
    server.process.send_signal(signal.SIGKILL)
    e2e.check(live.ended("nobody listens") == 1,
              "top ends with the server, says so, and the terminal is as it was", live.shown)
    server.process.wait()
    e2e.check(os.path.exists(control_client.SOCKET), "a killed server leaves its socket")
    ractl.refused("a dead server", ("status",), 1, "nobody listens")
    server = e2e.Server("ra", exports_of(path), work, plugin).start()
    e2e.check(ractl.run("status").returncode == 0, "the next one takes its place")
    e2e.check(len(ractl.json("devices")["devices"]) == 1, "the export's device is there before "
              "any read", ractl.json("devices"))
    e2e.check(server.stop() == 0, "it ends cleanly", server.status)
    e2e.check(not os.path.exists(control_client.SOCKET), "and removes its socket")


def other_settings(ractl, work, path, plugin):
    for text in ("none", '""'):
        server = e2e.Server("ra", exports_of(path), work, plugin,
                            ra=f"Control_Socket = {text};").start()
        e2e.check(not os.path.exists(control_client.SOCKET), f"Control_Socket = {text}: no socket")
        e2e.check(server.stop() == 0, "... and a clean end", server.status)
    elsewhere = f"{work}/made/control.sock"
    server = e2e.Server("ra", exports_of(path), work, plugin,
                        ra=f'Control_Socket = "{elsewhere}"; Control_Peers = 1;').start()
    e2e.check(ractl.run("--socket", elsewhere, "status").returncode == 0, "a socket elsewhere")
    server.stop()
    os.makedirs(control_client.SOCKET)
    server = e2e.Server("ra", exports_of(path), work, plugin).start()
    e2e.check("not a socket" in server.log_text() and os.path.isdir(control_client.SOCKET),
              "what is not a socket stays", server.log_text()[-2000:])
    server.stop()
    os.rmdir(control_client.SOCKET)


def exports_of(path):
    return [{"id": 7, "path": path, "pseudo": "/full",
             "params": {"Queue_Depth": 1, "Heuristic": "cursor", "Scheduler": "turns"}}]


def make_disk(work, nfsbench):
    with open(f"{work}/image", "w") as f:
        f.truncate(IMAGE)
    e2e.run("mkfs.ext4", "-q", "-F", f"{work}/image")
    path = f"{work}/export"
    e2e.mount_image(f"{work}/image", path, "loop")
    e2e.run(nfsbench, "--layout", path, "--files", str(FILES), "--size", str(SIZE // FILES))
    return path, Disk(path)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    ractl, plugin, nfsbench = sys.argv[1:]
    for built in (ractl, plugin, nfsbench):
        if not os.path.exists(built):
            e2e.skip(f"{built} was not built")
    e2e.enter(("findmnt",))
    work = e2e.work_directory()
    ractl = Ractl(ractl)
    path, disk = make_disk(work, nfsbench)

    server = e2e.Server("ra", exports_of(path), work, plugin).start()
    first = Load(nfsbench, server, "/full")
    while first.running(30):
        pass
    commands_work(ractl, disk)
    wrong_is_refused(ractl)
    read = stats_since_the_reset(ractl, nfsbench, server)
    decisions_are_seen(ractl, nfsbench, server)
    a_terminal_that_takes_nothing(ractl)
    read += SIZE * (1 + who_uses_the_disk(ractl, nfsbench, server, disk))
    read += switches_under_load(ractl, nfsbench, server, disk)
    sighup_applies_the_configuration(ractl, server)
    another_server(ractl, server, work, path, plugin)
    e2e.check(server.stop() == 0, "the server ends cleanly",
              f"status {server.status}\n{server.log_text()[-2000:]}")
    e2e.check((server.stats() or {}).get("read_bytes") == read,
              "the log's counters know of no reset", f"{server.stats()}, read {read}")
    after_a_crash(ractl, work, path, plugin)
    takes_over(ractl, work, path, plugin)
    other_settings(ractl, work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
