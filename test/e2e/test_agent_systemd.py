#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""ca-nfs-agent as systemd runs it: test_agent_systemd.py AGENT PLUGIN

A guest with systemd as process 1 has the packages' unit, the agent, and a mount of RA here whose
network is full of another client's reads: so writes are deferred, by turns. What is shown is what
only systemd can: readiness, the unit's confinement, reload, the watchdog, restarts, the end.
"""
import os
import re
import shutil
import signal
import sys
import threading
import time

import e2e
import guests
from test_agent import read_on

HERE = os.path.dirname(os.path.realpath(__file__))
UNIT, MOUNT, AUTO = "ca-nfs-agent.service", "/mnt/nfs", "/mnt/auto"
IDLE = 15  # s: then systemd unmounts AUTO
CONFIG, RECORD = "/etc/ca-nfs-agent.conf", "/run/ca-nfs-agent.state"
METRICS = "/var/lib/prometheus/node-exporter/ca-nfs-agent.prom"
SETTINGS = f"fstab yes\ninterval 0.5\nflush-point 60\nmetrics {METRICS}\n"
OPTION = "x-ca-nfs"
# The unit as it is shipped, but for its waits, which would be most of this test: 60 s, and 10.
WAITS = "[Service]\nWatchdogSec=15\nRestartSec=5\n"
LONG = 120  # s
POLL = 0.2  # s
STOP = 20  # s: TimeoutStopSec, and what a busy machine adds


class Machine:
    """The guest. m("name", ...) is a function of guest_systemd.py."""

    def __init__(self, guest):
        self.guest = guest
        self.found = None  # the mount's knobs before the agent

    def __call__(self, name, **arguments):
        return self.guest.call(f"systemd.{name}", **arguments)

    def systemctl(self, *words):
        return self("systemctl", words=words)

    def show(self, *names):
        return self("show", unit=UNIT, properties=names)

    def is_so(self, **expected):
        return self.show(*expected) == expected

    def said(self):
        return self("said", unit=UNIT)

    def knobs(self):
        return self.guest.call("client.knobs", at=MOUNT)

    def deferring(self):
        return self.knobs()["min_ratio"] == "50"

    def waits_deferral(self):
        return e2e.wait_for(self.deferring, LONG, POLL)

    def untouched(self):
        return self.knobs() == self.found

    def agent(self, *words):
        return self.guest.call("client.agent_run", program="/usr/sbin/ca-nfs-agent",
                               arguments=words)[1]


def find_knobs(m):
    """As the kernel gives them to this mount."""
    m("mount", at=MOUNT)
    m.found = m.knobs()
    m.guest.call("client.unmount", at=MOUNT)


def test_start(m):
    e2e.check(m.systemctl("start", UNIT)[0] == 0 and
              m.is_so(ActiveState="active", SubState="running", StatusText="mounts: 1"),
              "start: active when the agent says so", m.said())
    m("mount", at=MOUNT)
    work = m.guest.start("systemd.use", at=MOUNT)
    e2e.check(m.waits_deferral(), "a mount made after the start is seen, and its knob turned",
              m.said())
    e2e.check(e2e.wait_for(lambda: m.knobs()["dirty_background_ratio"] == "60", LONG),
              "a knob in /proc/sys too", m.knobs())
    e2e.check(e2e.wait_for(lambda: m("exists", path=METRICS), LONG), "it writes its metrics",
              m.said())
    return work


def test_reload(m):
    m("write", path=CONFIG, content=SETTINGS + "defer no\nreadahead no\n")
    m.waits_deferral()
    e2e.check(m.systemctl("reload", UNIT)[0] == 0 and m.is_so(ActiveState="active") and
              e2e.wait_for(m.untouched, LONG), "reload: other settings, knobs back", m.said())
    m("write", path=CONFIG, content=SETTINGS)
    e2e.check(m.systemctl("reload", UNIT)[0] == 0 and m.waits_deferral(), "and the old ones again",
              m.said())


def test_ends(m, number, what):
    """A signal that ends it: systemd puts the knobs back, and starts it again."""
    restarts = int(m.show("NRestarts")["NRestarts"])
    m.waits_deferral()
    m("kill", unit=UNIT, number=number)
    e2e.check(m.knobs() != m.found, f"{what}: knobs are left turned", m.knobs())
    e2e.check(e2e.wait_for(lambda: m.is_so(SubState="auto-restart"), LONG) and m.untouched(),
              f"{what}: systemd puts them back",
              (m.show("SubState", "Result"), m.knobs(), m.said()))
    e2e.check(e2e.wait_for(lambda: m.is_so(ActiveState="active"), LONG) and
              m.is_so(NRestarts=str(restarts + 1)) and m.waits_deferral(),
              f"{what}: and starts it again, which turns them again", m.said())


def stop_and_judge(m, what):
    began = time.monotonic()
    status = m.systemctl("stop", UNIT)[0]
    took = time.monotonic() - began
    e2e.check(status == 0 and took < STOP and m.is_so(ActiveState="inactive", Result="success"),
              f"{what}: ends in time ({took:.1f} s), without failure",
              (m.show("ActiveState", "Result"), m.said()))
    e2e.check(m.untouched(), f"{what}: every knob as found", (m.found, m.knobs(), m.said()))
    e2e.check(not m("exists", path=RECORD) and not m("exists", path=METRICS),
              f"{what}: no record and no metrics are left")


def test_automount(m, server):
    """The agent neither mounts what waits for its first use nor keeps it mounted."""
    status, why = m("automount", port=server.port, mport=server.mport, export="/e1", at=AUTO,
                    option=OPTION, idle=IDLE)
    e2e.check(status == 0 and m.systemctl("start", UNIT)[0] == 0 and
              e2e.wait_for(lambda: f"{AUTO}: waits to be mounted (autofs): not yet" in m.said(), LONG),
              "an .automount unit: not yet", (why, m.said()))
    e2e.check(not m("is_mounted", at=AUTO), "and the agent does not mount it", m.said())
    e2e.check(m("read", path=f"{AUTO}/f0") > 0 and m("is_mounted", at=AUTO), "its first use does", m.said())
    e2e.check(e2e.wait_for(lambda: not m("is_mounted", at=AUTO), LONG, POLL),
              "and when nobody uses it systemd can unmount it", m.said())
    e2e.check(m.systemctl("stop", UNIT)[0] == 0, "the agent ends", m.said())


def test_full_run(m):
    e2e.check(m.waits_deferral(), "started again: deferred", m.said())
    left = m("fill_run")
    e2e.check(left == 0, "/run is full", left)
    stop_and_judge(m, "stop with a full /run")
    m("fill_run")
    refused = "no knob is turned: No space left"
    before = m.said().count(refused)
    e2e.check(m.systemctl("start", UNIT)[0] == 0 and m.is_so(ActiveState="active"),
              "starts with a full /run", m.said())
    m("fill_run")
    e2e.check(e2e.wait_for(lambda: m.said().count(refused) > before, LONG),
              "says that it turns none", m.said())
    # Others give pages of /run back now and then: what is turned then stands in the record.
    e2e.check(m.untouched() or re.search("min_ratio(_fine)? found 0", m("text", path=RECORD)),
              "and turns none that it does not record", (m.knobs(), m.said()))
    m("free_run")
    e2e.check(m.waits_deferral(), "with room again it does", m.said())


def memory_short_is(m, value):
    return lambda: f"\nca_nfs_agent_memory_short {value}\n" in m("text", path=METRICS)


def test_memory_limit(m):
    """A limit above the service's own group, as a container's, is all the memory that there is."""
    e2e.check(e2e.wait_for(memory_short_is(m, 0), LONG), "there is memory", m("text", path=METRICS))
    limit = m("squeeze", held="system.slice")
    e2e.check(e2e.wait_for(memory_short_is(m, 1), LONG), "a limit on system.slice counts",
              (limit, m("text", path=METRICS)))
    m("relax", held="system.slice")
    e2e.check(e2e.wait_for(memory_short_is(m, 0), LONG), "and its end", m("text", path=METRICS))


def test_hanging_server(m, server):
    e2e.check(m.waits_deferral(), "deferred", m.agent("--explain"))
    server.process.send_signal(signal.SIGSTOP)
    try:
        stop_and_judge(m, "stop while the server hangs")
    finally:
        server.process.send_signal(signal.SIGCONT)


def test_wrong_settings(m):
    m("write", path=CONFIG, content="interval 11\n")
    e2e.check(m.systemctl("start", UNIT)[0] != 0 and
              m.is_so(ActiveState="failed", ExecMainStatus="2", NRestarts="0"),
              "wrong settings: failed, not started again and again",
              m.show("ActiveState", "NRestarts"))
    e2e.check("interval = 11: must be a number from 0.25 to 10" in m.said(),
              "and the journal says why", m.said())


def run_all(m, server, agent):
    install = {"/usr/sbin/ca-nfs-agent": agent, f"/etc/systemd/system/{UNIT}":
               f"{HERE}/../../packaging/{UNIT}"}
    own = f"/etc/systemd/system/{UNIT}.d"
    m("make_directory", path=own)
    m("write", path=f"{own}/waits.conf", content=WAITS)
    m("install", files=install)
    m("write", path=CONFIG, content=SETTINGS)
    m("make_directory", path=os.path.dirname(METRICS))
    m("list_mount", port=server.port, mport=server.mport, export="/e1", at=MOUNT, option=OPTION)
    find_knobs(m)
    work = test_start(m)
    test_reload(m)
    test_ends(m, signal.SIGKILL, "kill -9")
    test_ends(m, signal.SIGSTOP, "an agent that is stopped")
    stop_and_judge(m, "stop")
    m.systemctl("start", UNIT)
    test_full_run(m)
    test_memory_limit(m)
    test_hanging_server(m, server)
    work.stop().value()
    m.guest.call("client.unmount", at=MOUNT)  # of the same export: the kernel counts what is read of both as one
    test_automount(m, server)
    test_wrong_settings(m)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    plugin = e2e.plugin_from(sys.argv[2:], __doc__.splitlines()[0])
    if not os.path.exists(sys.argv[1]):
        e2e.skip(f"the agent {sys.argv[1]} was not built")
    e2e.enter(("linux.uml", "mount.nfs", "busybox"))
    work = e2e.work_directory()
    agent = shutil.copy(sys.argv[1], f"{work}/ca-nfs-agent")  # the guest's /tmp is its own
    path = e2e.loop_export(work, 1536 << 20)  # more than 65,536 inodes
    e2e.make_files(path, 1, 4 << 20)
    listed = [{"id": 1, "path": path, "pseudo": "/e1", "params": {"Fsstat_Prices": "true"}}]
    # Of another client's reads the network is full: a megabit a second is little.
    server = e2e.Server("ra", listed, work, plugin, ra="Network_Capacity = 1; "
                        "Network_Interface = lo;").start()
    stopping = threading.Event()
    load = threading.Thread(target=read_on, args=(server, stopping))
    load.start()
    try:
        with guests.boot(1, modules=(guests.CLIENT, f"{HERE}/guest_systemd.py"),
                         systemd=True) as (guest,):
            run_all(Machine(guest), server, agent)
    except guests.Unavailable as reason:
        e2e.skip(f"no guest here: {reason}")
    finally:
        stopping.set()
        load.join()
    e2e.check(server.stop() == 0, "the server ends cleanly", server.log_text()[-2000:])
    e2e.finish()


if __name__ == "__main__":
    main()
