# SPDX-License-Identifier: LGPL-3.0-or-later
"""The kernel's NFS server on the modelled disk: Linux in user mode, with nfsd.ko, as a guest.

    with knfsd.Server(disk, scheduler="bfq", read_ahead_kb=2560) as server:
        ... load server.host, server.port, server.mport ...

It has what bench/compare and bench/papers use of testbed.Server. The disk is lent to the guest for
the time: not mounted here, and without its loop device. Nothing of it is in any cache then:

    nfsbench -- tap --> nfsd -> ext4, XFS -> mq-deadline, bfq -> virtio-blk      in the guest
                                                                     |
                        mechdisk <-- FUSE, direct I/O <-- qemu-storage-daemon    here

the guest is booted for each measurement, the daemon opens the file for direct I/O, and mechdisk has
FUSE keep nothing. (The guest's own ubd driver would do: but it reads 4 KiB at a time.) The virtual
drive takes as many requests at once as the modelled one orders, so with a drive queue of 1 the
guest's elevator orders all that waits. (A loop device takes 128 whatever is below.) Network and
processor of a guest are slower than this machine's: only where the disk is what is waited for may it
be compared; experiment bg of bench/papers says what the rest is.
"""
import json
import os
import shutil
import signal
import socket
import subprocess

import testbed  # noqa: F401: where e2e is
import e2e
import machine
from modelled_disk import Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
UML = f"{HERE}/../test/e2e/user_mode_linux"
PROGRAMS = {"linux.uml": "user-mode-linux", "qemu-storage-daemon": "qemu-system-common",
            "busybox": "busybox-static", "rpcbind": "rpcbind", "ip": "iproute2"}
MODULES = "/usr/lib/uml/modules"
LOAD = f"{os.path.dirname(os.path.abspath(e2e.__file__))}/guest_modules"
NETWORK = "10.78.0"
TAP = "ra-knfsd"
PORTS = {"port": 2049, "mport": 20048, "control": 20049}
MEMORY_MB = 1024  # of the guest; as much page cache at most
THREADS = 64  # of nfsd; the kernel's default of 8 lets 8 reads wait for the disk
BLOCK_MAX = 1 << 20
QUEUE_MAX = 128  # requests that a virtio-blk device can have under way
START_SECONDS, STOP_SECONDS = 30, 30

INIT = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
for own in /mnt /run /tmp /var/lib/nfs; do mount -t tmpfs own $own; done
mkdir -p /run/lock /run/rpcbind
. {load}
load_module virtio_blk queue_depth={depth}
load_module bfq
load_module nfsd
mknod /tmp/vda b $(tr : ' ' </sys/block/vda/dev)
ip link set lo up
ip address add {network}.2/24 dev vec0
ip link set vec0 up
rpcbind -w
echo "guest: Linux $(uname -r)"
/usr/bin/python3 -B {program} {settings}
echo "guest: ended with $?"
busybox poweroff -f
"""


def _has_module(listed, module):
    with open(listed, encoding="ascii") as file:
        return f"/{module}.ko" in file.read()


def lacking():
    """What this machine lacks for such a guest, in words; None if nothing."""
    for program, package in PROGRAMS.items():
        if not shutil.which(program):
            return f"no {program} (package {package})"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    releases = os.listdir(MODULES) if os.path.isdir(MODULES) else []
    for module in ("nfsd", "bfq", "virtio_blk"):
        if not any(_has_module(f"{MODULES}/{release}/modules.dep", module) for release in releases):
            return f"User-mode Linux has no module {module}"
    return None


def _make_tap():
    if subprocess.run(["ip", "link", "show", TAP], check=False, capture_output=True).returncode:
        try:
            e2e.run("ip", "tuntap", "add", TAP, "mode", "tap")
            e2e.run("ip", "address", "add", f"{NETWORK}.1/24", "dev", TAP)
            e2e.run("ip", "link", "set", TAP, "up")
        except subprocess.CalledProcessError as error:
            raise Unavailable(f"cannot make a tap device: {error.stderr.strip()}") from error


class Server:
    """One guest; `disk` is a modelled disk that is up."""

    def __init__(self, disk, read_ahead_kb=128, scheduler=None, memory="host", threads=THREADS,
                 memory_mb=MEMORY_MB):
        """`scheduler`: of the guest's kernel, None: the disk's; `memory`: machine.MEMORY's dirty
        data, "host": as the guest's kernel has it."""
        self.disk, self.threads, self.memory_mb = disk, threads, memory_mb
        self.read_ahead_kb, self.scheduler = read_ahead_kb, scheduler or disk.scheduler
        self.vm = machine.MEMORY.get(memory, {})
        self.host, self.port, self.mport = f"{NETWORK}.2", PORTS["port"], PORTS["mport"]
        self.exports = [{"id": 1, "path": disk.mount, "pseudo": disk.mount}]
        self.process = self.daemon = self.work = None

    @property
    def pid(self):
        """Of the guest: its processor time is that of kernel, server, network and disk driver."""
        return self.process.pid

    def settings(self):
        model = self.disk.model
        return {"device": "vda", "fs": self.disk.fs, "scheduler": self.scheduler,
                "read_ahead_kb": self.read_ahead_kb, "rotational": int(not model.get("solid")),
                "vm": self.vm, "threads": self.threads, "max_block_size": BLOCK_MAX,
                "network": NETWORK, **PORTS}

    def depth(self):
        model = self.disk.model
        return min(QUEUE_MAX, int(model.get("depth", 1)) * int(model.get("spindles", 1)))

    def start(self):
        lack = lacking()
        if lack:
            raise Unavailable(f"the kernel's NFS server: {lack}")
        self.work = e2e.temporary("ra-knfsd-")
        e2e.at_exit(self.stop)
        _make_tap()
        self.disk.lend()
        self._start_daemon()
        self._boot()
        return self

    def _start_daemon(self):
        self.daemon = self._launch("daemon.log", [
            "qemu-storage-daemon", "--blockdev",
            f"driver=file,node-name=disk,filename={self.disk.file},aio=threads,cache.direct=on",
            "--export", "type=vhost-user-blk,id=export,node-name=disk,writable=on,num-queues=1,"
            f"addr.type=unix,addr.path={self.work}/socket"])
        self._await(lambda: os.path.exists(f"{self.work}/socket"), self.daemon, "daemon.log",
                    "qemu-storage-daemon")

    def _boot(self):
        settings, init = f"{self.work}/settings.json", f"{self.work}/init"
        with open(settings, "w", encoding="utf-8") as file:
            json.dump(self.settings(), file)
        with open(init, "w", encoding="utf-8") as file:
            file.write(INIT.format(load=LOAD, depth=self.depth(), network=NETWORK,
                                   program=f"{HERE}/knfsd_guest.py", settings=settings))
        os.chmod(init, 0o755)
        self.process = self._launch("guest.log", [
            UML, f"mem={self.memory_mb}M", f"uml_dir={self.work}", "umid=guest",
            f"virtio_uml.device={self.work}/socket:2", "root=/dev/root", "rootfstype=hostfs",
            "rootflags=/", "ro", f"init={init}", "con0=null,fd:1", "con=null",
            f"vec0:transport=tap,ifname={TAP},depth=128,gro=1", "quiet", "panic=1"])
        self._await(lambda: "guest: serving" in self.log_text(), self.process, "guest.log",
                    "the guest")

    def _launch(self, log, command):
        with open(f"{self.work}/{log}", "wb") as file:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                    start_new_session=True)

    def _await(self, ready, process, log, what):
        done = e2e.wait_for(lambda: ready() or process.poll() is not None, START_SECONDS)
        if not done or process.poll() is not None:
            said = self.log_text(log)[-2000:]
            self.stop()
            raise RuntimeError(f"{what} did not start:\n{said}")

    def log_text(self, name="guest.log"):
        try:
            with open(f"{self.work}/{name}", errors="replace", encoding="utf-8") as file:
                return file.read()
        except (FileNotFoundError, TypeError):
            return ""

    def _ask_to_stop(self):
        try:
            with socket.create_connection((self.host, PORTS["control"]), STOP_SECONDS) as control:
                control.sendall(b"stop\n")
                return control.recv(64) == b"stopped\n"
        except OSError:
            return False

    def _end(self, process):
        """All of its group: user processes of the guest are processes of ours."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def stop(self, seconds=STOP_SECONDS):
        """0: the guest has unmounted the disk and ended. The disk is back here then."""
        status = 0
        if self.process:
            self.disk.timing(False)
            status = 0 if self.process.poll() is None and self._ask_to_stop() else 1
            if status == 0:
                e2e.wait_for(lambda: self.process.poll() is not None, seconds)
            self._end(self.process)
        if self.daemon:
            e2e.end_process(self.daemon, seconds)
        if self.disk.lent:
            self.disk.take_back()
        if self.work and status == 0:
            shutil.rmtree(self.work, ignore_errors=True)
        self.process = self.daemon = None
        return status

    def final_stats(self):
        return {}

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

