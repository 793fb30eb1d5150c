#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What ca-nfs-agent makes of a bad day: test_agent_faults.py AGENT

Mounts that are not there yet, of another kind, or hung, unmounted and mounted again; calls that
cannot be killed; a full /run; kill -9; a configuration that is read again. On machines of files
(agent_machine.py).
"""
import os
import signal
import socket
import subprocess
import sys
import threading

import e2e
from agent_machine import (LONG, MOUNT, NFS, TURNED, Agent, Creations, HungMount, Machine, Opens,
                           Server, at_once, load_codec, machine_ratio_is, priced, run)

AUTOFS = f"30 35 0:40 / {MOUNT} rw,relatime - autofs auto.direct rw,fd=6,timeout=300,direct\n"
NFS4 = NFS.replace("vers=3", "vers=4.2").replace("nfs server", "nfs4 server")
FOUND = 128  # KiB of read-ahead, by agent_machine.py


def test_mounted_again_while_the_old_one_hangs(agent, work):
    machine = Machine(work, "again")
    machine.pipe_for_replies()
    a = Agent(machine, agent)
    e2e.check(a.waits("no answer"), "the server hangs", a.text)
    # umount -l, mount: the old question is still waiting
    os.makedirs(f"{machine.root}/sys/class/bdi/0:48")
    machine.write("sys/class/bdi/0:48/min_ratio", "0\n")
    machine.write("sys/class/bdi/0:48/read_ahead_kb", "128\n")
    machine.reply(priced(0.9, 1.0))  # before the mount: its first question must not hang too
    server = Server(machine, 0.9, 1.0)
    machine.write("proc/self/mountinfo", NFS.replace("36 ", "40 ", 1).replace("0:47", "0:48"))
    e2e.check(a.waits("states prices"), "a new mount is asked, though an old question hangs", a.text)
    a.end()
    server.stop()


def in_call_that_cannot_be_killed(agent, work, name):
    machine = Machine(work, name)
    hung = HungMount(f"{machine.root}/mnt/n")
    server = Server(machine, 0.0, 1.0)
    a = Agent(machine, agent, "--dirty-min", "0")
    e2e.check(hung.hangs.wait(LONG) and e2e.wait_for(lambda: machine.read_ahead == 16, LONG),
              f"{name}: it hangs where it cannot be killed", a.text)
    server.stop()
    return machine, hung, a


def test_killed_in_a_call_that_cannot_be(agent, work):
    machine, hung, a = in_call_that_cannot_be_killed(agent, work, "killed")
    a.process.kill()
    result = run(machine.command(agent, "--restore"))
    e2e.check(result.returncode == 0 and machine.untouched(),
              "killed: --restore puts the knobs back though a call still hangs",
              result.stdout + result.stderr)
    b = Agent(machine, agent, "--readahead", "no")
    e2e.check(machine.looks(1), "killed: another agent starts though a call still hangs", b.text)
    b.end()
    hung.end()
    a.process.wait(LONG)


def test_ended_in_a_call_that_cannot_be_killed(agent, work):
    machine, hung, a = in_call_that_cannot_be_killed(agent, work, "ended")
    a.process.terminate()
    try:
        status = a.process.wait(LONG)
    except subprocess.TimeoutExpired:
        status = None
    e2e.check(status == 0 and machine.untouched(), "ended: it ends, knobs as they were", a.text)
    result = run(machine.command(agent, "--restore"))
    e2e.check(result.returncode == 0, "ended: nothing holds the lock", result.stderr)
    hung.end()


def test_so_many_calls_may_hang(agent, work):
    """Each mount hangs so that its call cannot be killed, and another one takes its place."""
    machine = Machine(work, "many")
    hung = HungMount(f"{machine.root}/mnt/n")
    machine.replies = f"{machine.root}/mnt/n/replies"
    a = Agent(machine, agent)
    for number in range(17):
        e2e.wait_for(lambda wanted=number + 1: len(a.children()) >= wanted, LONG)
        machine.write("proc/self/mountinfo", NFS.replace("36 ", f"{100 + number} ", 1))
    e2e.check(a.waits("not asked: too many calls hang in mounts that are gone", LONG) and
              len(a.children()) == 17, "16 calls may hang in mounts that are gone, and that of the "
              "last one", a.children())
    e2e.check(machine.looks(4) and len(a.children()) == 17, "no more are made", a.children())
    a.process.send_signal(signal.SIGHUP)
    e2e.check(a.waits("SIGHUP: settings read again", LONG), "and its settings can be read again",
              a.text)
    hung.end()
    e2e.check(a.waits("no answer"), "when they end the mount is asked", a.text)
    a.end()
    e2e.check(a.process.returncode == 0, "and it ends well", a.text)


def small_run(machine):
    """/run of 64 KiB."""
    e2e.run("mount", "-t", "tmpfs", "-o", "size=64k", "none", f"{machine.root}/run")
    e2e.at_exit(lambda: subprocess.run(["umount", "-l", f"{machine.root}/run"], check=False))


def fill(machine):
    with open(f"{machine.root}/run/full", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


def test_no_record_no_knob(agent, work):
    machine = Machine(work, "full")
    small_run(machine)
    with open(f"{machine.root}/run/ca-nfs-agent.lock", "w", encoding="ascii"):
        pass
    fill(machine)
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent)
    e2e.check(a.waits("no knob is turned: No space left on device"), "/run is full: told", a.text)
    e2e.check(a.waits("writes: defer") and machine.untouched(), "and no knob is turned", a.text)
    made, looks = Creations(f"{machine.root}/run"), Opens(f"{machine.root}/proc/self/mountinfo")
    e2e.wait_for(lambda: made.count() >= 0 and looks.count() >= 40, LONG)
    e2e.check(0 < made.count() <= looks.count(), "nor is the record tried for each knob in each round",
              (made.seen, looks.seen))
    os.unlink(f"{machine.root}/run/full")
    e2e.check(machine.turns(), "with space again they are", a.text)
    e2e.check(a.count("no knob is turned") == 1, "told once", a.text)
    a.end()
    e2e.check(machine.untouched(), "and put back", a.text)
    server.stop()


def test_a_knob_that_is_refused(agent, work):
    """What is not held back is not shown as such, nor are the machine's limits raised for it."""
    machine = Machine(work, "refused")
    knob = f"{machine.root}/sys/class/bdi/0:47/min_ratio"
    e2e.run("mount", "--bind", knob, knob)
    e2e.at_exit(lambda: subprocess.run(["umount", "-l", knob], check=False))
    e2e.run("mount", "-o", "remount,bind,ro", knob)
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent, "--flush-point", "60")
    e2e.check(a.waits("min_ratio: Read-only file system: not used for now") and
              e2e.wait_for(lambda: machine.read_ahead == 16, LONG), "a knob is refused: told", a.text)
    def status():
        return run(machine.command(agent, "--status")).stdout
    e2e.check(e2e.wait_for(lambda: "normal: the server is dearer than our memory; but min_ratio "
                           "cannot be turned now" in status(), LONG), "and shown", status())
    e2e.check(machine.looks(4) and machine.flush_point == (10, 20),
              "the machine's limits stay", machine.flush_point)
    e2e.run("mount", "-o", "remount,bind,rw", knob)
    e2e.check(e2e.wait_for(lambda: machine.min_ratio == 50 and machine.flush_point == (60, 80), LONG),
              "it is tried again, and turned", a.text)
    e2e.check(a.count("not used for now") == 1, "told once", a.text)
    a.end()
    e2e.check(machine.untouched(), "and put back", a.text)
    server.stop()


def test_killed_while_run_is_full(agent, work):
    machine = Machine(work, "full_killed")
    small_run(machine)
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent)
    e2e.check(machine.turns(), "knobs are turned, then /run fills up", a.text)
    fill(machine)
    server.prices = (0.9, 0.0)  # would be 1024 KiB
    # to what was found it may go without a record
    e2e.check(a.waits("no knob is turned: No space left on device") and
              machine.knobs in (TURNED, (TURNED[0], FOUND)),
              "no knob is turned further than its record says", machine.knobs)
    a.end(signal.SIGKILL)
    server.stop()
    machine.reply("6553600 6000000\n")
    a = Agent(machine, agent)
    e2e.check(e2e.wait_for(machine.untouched, LONG),
              "killed: the next agent puts back what was turned, with /run full", a.text)
    a.end()


def test_not_yet_and_not_this_one(agent, work):
    machine = Machine(work, "not_yet")
    server = Server(machine, 0.9, 1.0)
    mounts = (MOUNT, "/mnt/o", "/mnt/p", "/mnt/q")
    other = [line.replace(MOUNT, mount) for line, mount in ((NFS4, "/mnt/o"), (AUTOFS, "/mnt/p"))]
    local = NFS.replace("nfs server", "ext4 server").replace(MOUNT, "/mnt/q")
    machine.write("proc/self/mountinfo", "".join(other) + local)
    a = Agent(machine, agent, mounts=mounts)
    for what in ("/mnt/n: nothing is mounted there: not yet", "/mnt/p: waits to be mounted (autofs)",
                 "/mnt/o: is NFS of another version: prices need vers=3",
                 "/mnt/q: is ext4, not NFS"):
        e2e.check(a.waits(what), what, a.text)
    machine.write("proc/self/mountinfo", "".join(other) + local + NFS)
    e2e.check(e2e.wait_for(machine_ratio_is(machine, 50), LONG),
              "the one that comes is looked after", a.text)
    status = run(machine.command(agent, "--status")).stdout
    e2e.check("/mnt/p" in status and "waits to be mounted" in status, "--status says which wait",
              status)
    a.end()
    e2e.check(machine.untouched() and a.process.returncode == 0, "and it ends well", a.text)
    server.stop()


def test_reload(agent, work):
    machine = Machine(work, "reload")
    machine.write("agent.conf", f"mount {MOUNT}\nreadahead-min 32\n")
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent, "--config", f"{machine.root}/agent.conf", mounts=())
    e2e.check(e2e.wait_for(lambda: machine.knobs == (50, 32), LONG), "settings of a file", a.text)
    machine.write("agent.conf", f"mount {MOUNT}\nreadahead-min 64\ndefer no\nmount /mnt/o\n")
    a.process.send_signal(signal.SIGHUP)
    e2e.check(e2e.wait_for(lambda: machine.knobs == (0, 64), LONG), "SIGHUP: they are read again",
              a.text)
    e2e.check(a.waits("/mnt/o: nothing is mounted there"), "a mount more", a.text)
    for text, why in ((f"mount {MOUNT}\nreadahead-min 1\n", "line 2: readahead-min = 1: must be"),
                      ("speed 1\n", "line 1: speed: there is no such setting"),
                      ("interval 1\n", "which mounts?")):
        machine.write("agent.conf", text)
        seen = len(a.lines)
        a.process.send_signal(signal.SIGHUP)
        e2e.check(e2e.wait_for(lambda: a.said_after(why, seen), LONG) and
                  a.said("stay as they are"), f"bad settings are not taken: {why}", a.text)
        e2e.check(machine.looks(2) and machine.knobs == (0, 64) and a.process.poll() is None,
                  "those from before hold", machine.knobs)
    machine.write("agent.conf", "mount /mnt/o\n")
    a.process.send_signal(signal.SIGHUP)
    e2e.check(e2e.wait_for(machine.untouched, LONG),
              "a mount that is not listed any more is let go", a.text)
    a.end()
    server.stop()


def opened(pipe):
    """The pipe, where somebody reads it."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def let_go(pipe):
    """Whoever reads it finds its end."""
    end = opened(pipe)
    if end is not None:
        os.close(end)


def waits_at(a, pipe):
    """Until it does, and for as long as what comes is not closed."""
    held = []
    e2e.check(e2e.wait_for(lambda: held.append(opened(pipe)) or held[-1] is not None, LONG),
              f"it waits for {os.path.basename(pipe)}", a.text)
    return held[-1]


def test_reload_at_once(agent, work):
    """SIGHUP before it has read its settings, which come through a pipe."""
    machine = Machine(work, "at-once")
    pipe = f"{machine.root}/agent.conf"
    os.mkfifo(pipe)
    a = Agent(machine, agent, "--config", pipe)
    held = waits_at(a, pipe)
    a.process.send_signal(signal.SIGHUP)
    os.close(held)
    e2e.check(e2e.wait_for(lambda: let_go(pipe) or a.said("SIGHUP: settings read again"), LONG),
              "a SIGHUP at its start ends nobody", f"{a.process.poll()} {a.text}")
    a.end()


def test_ended_while_it_puts_back(agent, work):
    """SIGTERM in the midst of --restore, and of what an agent begins with where one was killed: a
    knob that is a pipe keeps them there."""
    for what, arguments in (("start", (MOUNT,)), ("--restore", ("--restore",))):
        machine = Machine(work, f"put-back{what}")
        pipe, other = (f"sys/class/bdi/0:{n}/min_ratio" for n in (48, 47))
        os.mkdir(os.path.dirname(f"{machine.root}/{pipe}"))
        os.mkfifo(f"{machine.root}/{pipe}")
        machine.write(other, "50\n")
        machine.write("run/ca-nfs-agent.state", "".join(
            f"knob {machine.root}/{knob} found 0 set 50\n" for knob in (pipe, other)))
        a = Agent(machine, agent, mounts=arguments)
        held = waits_at(a, f"{machine.root}/{pipe}")
        a.process.terminate()
        os.close(held)
        e2e.check(e2e.wait_for(lambda pipe=f"{machine.root}/{pipe}", a=a: let_go(pipe)
                               or a.process.poll() is not None, LONG) and machine.untouched(),
                  f"{what}, SIGTERM: what is left of one that was killed is put back", a.text)


def test_removal_keeps_what_is_turned(_, work):
    """Both packages' scripts, in a /run of their own."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    state, lock = "/run/ca-nfs-agent.state", "/run/ca-nfs-agent.lock"
    script = (f"mount -t tmpfs none /run && printf %b \"$1\" >{state} && : >{lock} && "
              f"sh \"$2\" remove && test ! -e {lock} && test -e {state} && echo kept")
    for path in ("debian/ca-nfs-agent.postrm", "packaging/client/postrm"):
        for text, kept in (("agent 1\\nknob /sys/class/bdi/0:1/min_ratio found 0 set 50\\n", True),
                           ("agent 1\\nmetrics /x\\n", False)):
            result = run(["unshare", "-m", "sh", "-c", script, "sh", text, f"{root}/{path}"])
            e2e.check(("kept" in result.stdout) == kept and
                      ("found 0 set 50" in result.stderr) == kept,
                      f"{path}: the record stays where knobs are turned: {kept}",
                      result.stdout + result.stderr)


def test_fstab(agent, work):
    machine = Machine(work, "fstab")
    os.mkdir(f"{machine.root}/etc")
    line = f"server:/export {MOUNT} nfs vers=3,hard,x-ca-nfs 0 0\n"
    a = Agent(machine, agent, "--fstab", "yes", mounts=())
    e2e.check(a.waits("no mount has the option x-ca-nfs yet"), "no fstab, no mount: not yet", a.text)
    a.end()
    e2e.check(a.process.returncode == 0, "and no error", a.text)
    machine.write("etc/fstab", line)
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent, "--fstab", "yes", mounts=())
    e2e.check(machine.turns(), "the mount that fstab names is looked after", a.text)
    machine.write("etc/fstab", line.replace(MOUNT, "/mnt/o"))
    a.process.send_signal(signal.SIGHUP)
    e2e.check(e2e.wait_for(machine.untouched, LONG) and a.waits("/mnt/o: nothing is mounted there"),
              "SIGHUP reads it again", a.text)
    machine.write("etc/fstab", line.replace("x-ca-nfs", "x-ca-nfs.weight=1000"))
    a.process.send_signal(signal.SIGHUP)
    e2e.check(a.waits("x-ca-nfs.weight=1000: ") and a.said("must be a number from 0.01 to 100") and
              machine.turns(), "a bad weight: the range is told, and the mount looked after", a.text)
    machine.write("etc/fstab", line.replace(MOUNT, "/mnt/o"))
    a.process.send_signal(signal.SIGHUP)
    e2e.check(e2e.wait_for(machine.untouched, LONG), "and let go", a.text)
    os.mkdir(f"{machine.root}/run/mount")
    machine.write("run/mount/utab", f"SRC=server:/export TARGET={MOUNT} ROOT=/ OPTS=x-ca-nfs\n")
    e2e.check(e2e.wait_for(lambda: machine.read_ahead == 16, LONG),
              "one that is mounted with the option is looked after from then on", a.text)
    machine.write("run/mount/utab", "SRC=server:/other TARGET=/mnt/p ROOT=/ OPTS=user=root\n")
    e2e.check(e2e.wait_for(machine.untouched, LONG) and a.waits("/run/mount/utab: mounts: 1"),
              "and let go when it is not mounted so any more", a.text)
    os.unlink(f"{machine.root}/etc/fstab")
    a.process.send_signal(signal.SIGHUP)
    e2e.check(a.waits("settings read again; mounts: 0") and a.process.poll() is None,
              "with no mount left it waits", a.text)
    a.end()
    server.stop()


def test_tables_that_cannot_be_read(agent, work):
    """They may name any mount: none is let go for that; and it is no wrong usage, so systemd starts it again."""
    machine = Machine(work, "unreadable")
    os.makedirs(f"{machine.root}/etc/none")
    server = Server(machine, 0.9, 1.0)
    machine.write("etc/fstab", f"server:/export {MOUNT} nfs vers=3,hard,x-ca-nfs 0 0\n")
    a = Agent(machine, agent, "--fstab", "yes", mounts=())
    e2e.check(machine.turns(), "unreadable: the mount that fstab names is looked after", a.text)
    os.rename(f"{machine.root}/etc/fstab", f"{machine.root}/etc/was")
    os.rename(f"{machine.root}/etc/none", f"{machine.root}/etc/fstab")  # reads fail: a directory
    a.process.send_signal(signal.SIGHUP)
    e2e.check(a.waits("/etc/fstab: cannot be read: the settings stay as they are") and
              machine.knobs == TURNED, "a SIGHUP lets it go on", a.text)
    os.makedirs(f"{machine.root}/run/mount/utab")
    e2e.check(a.waits("/run/mount/utab: cannot be read: the mounts stay as they are"),
              "so does what is mounted and cannot be read", a.text)
    machine.looks(3)
    e2e.check(a.count("cannot be read: the mounts stay") == 1, "which is said once", a.text)
    os.rmdir(f"{machine.root}/run/mount/utab")
    machine.write("run/mount/utab", "SRC=server:/other TARGET=/mnt/p ROOT=/ OPTS=x-ca-nfs\n")
    e2e.check(a.waits("/run/mount/utab: mounts: 2"), "when it can be read it is", a.text)
    a.end()
    server.stop()
    result = run(machine.command(agent, "--fstab", "yes", MOUNT))
    e2e.check(result.returncode == 1 and "/etc/fstab: cannot be read" in result.stderr,
              "at its start it fails, and may be started again", (result.returncode, result.stderr))


class Manager(threading.Thread):
    """The service manager's side of sd_notify(3)."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.heard = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.start()

    def run(self):
        while True:
            self.heard.append(self.socket.recv(4096).decode())

    def waits(self, text, seen=0, seconds=LONG):
        return e2e.wait_for(lambda: any(text in line for line in self.heard[seen:]), seconds)


def test_service_manager(agent, work):
    machine = Machine(work, "manager")
    manager = Manager(f"{machine.root}/notify")
    a = Agent(machine, agent, "--interval", "10", "--answer", "10",
              environment={"NOTIFY_SOCKET": f"{machine.root}/notify", "WATCHDOG_USEC": "500000"})
    e2e.check(manager.waits("READY=1\nSTATUS=mounts: 1"), "it says that it is ready", manager.heard)
    e2e.check(e2e.wait_for(lambda: manager.heard.count("WATCHDOG=1\n") >= 6, LONG),
              "and that it lives, more often than it asks", manager.heard)
    seen = len(manager.heard)
    a.process.send_signal(signal.SIGHUP)
    e2e.check(manager.waits("RELOADING=1", seen) and manager.waits("READY=1", seen),
              "that it reads its settings again", manager.heard)
    a.end()
    e2e.check(manager.waits("STOPPING=1"), "and that it ends", manager.heard)


def test_lock(agent, work):
    machine = Machine(work, "lock")
    server = Server(machine, 0.9, 1.0)
    a = Agent(machine, agent)
    machine.turns()
    result = run(machine.command(agent, "--restore"))
    e2e.check(result.returncode == 1 and f"process {a.process.pid} (ca-nfs-agent)" in result.stderr
              and "--stop ends it" in result.stderr and machine.knobs == TURNED,
              "--restore beside a living agent: says which, and how to go on", result.stderr)
    result = run(machine.command(agent, "--stop"))
    e2e.check(result.returncode == 0 and machine.untouched() and a.process.wait(LONG) == 0,
              "--stop ends it, knobs as they were", result.stdout + result.stderr)
    a = Agent(machine, agent)
    machine.turns()
    a.end(signal.SIGKILL)
    result = run(machine.command(agent, "--stop"))
    e2e.check(result.returncode == 0 and machine.untouched() and "2 knobs put back" in result.stdout,
              "--stop where one was killed: knobs as they were", result.stdout + result.stderr)
    result = run(machine.command(agent, "--stop"))
    e2e.check(result.returncode == 0, "--stop where there is none: nothing to do", result.stderr)
    server.stop()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    agent = os.path.realpath(sys.argv[1])
    e2e.enter()
    load_codec()
    at_once((test_mounted_again_while_the_old_one_hangs, test_killed_in_a_call_that_cannot_be,
             test_ended_in_a_call_that_cannot_be_killed, test_so_many_calls_may_hang,
             test_no_record_no_knob, test_a_knob_that_is_refused,
             test_killed_while_run_is_full, test_not_yet_and_not_this_one, test_reload, test_lock,
             test_fstab, test_tables_that_cannot_be_read, test_service_manager, test_reload_at_once,
             test_ended_while_it_puts_back, test_removal_keeps_what_is_turned),
            agent, e2e.work_directory())
    e2e.finish()


if __name__ == "__main__":
    main()
