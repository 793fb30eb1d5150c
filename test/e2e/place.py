# SPDX-License-Identifier: LGPL-3.0-or-later
"""A place to run servers in: network and mount namespaces of our own, with a port mapper there,
because ganesha.nfsd insists on registering and must not touch this machine's.

    place.settle(shared=True)     # Unable where servers cannot run, in words

Where no namespaces are to be had, as in an unprivileged container, a shared place is the machine's
own.
"""
import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from processes import ENDS, HOST, answers, at_exit, clean_up, end_process, run, wait_for

NEEDED = ("ganesha.nfsd", "rpcbind")
NEEDED_APART = ("unshare", "ip", "mkfs.ext4", "losetup", "mount", "findmnt")  # not in a shared one
# What a server keeps of its NFSv4 clients goes with ours, and makes nothing on this machine, whose
# /var/lib may be read-only; without /var/lib/nfs a server keeps nothing.
OWN_PLACE = ("ip link set lo up && mount -t tmpfs none /run && { [ ! -d /var/lib/nfs ] || "
             "{ mount -t tmpfs -o mode=755 none /var/lib/nfs && mkdir /var/lib/nfs/ganesha; }; }")
# What a server and its port mapper leave in /run; ours goes at the end where it is the machine's.
RUN_FILES = ("/run/ganesha", "/run/rpcbind", "/run/rpcbind.sock", "/run/rpcbind.lock")


class Unable(Exception):
    """Servers cannot run here; the text says what is missing."""


def _own_namespaces(shared):
    """Runs this program again in network and mount namespaces of its own, where it returns true.
    Where they are not to be had, or are of no use, it raises Unable, or if SHARED will do returns
    false."""
    if os.environ.get("RA_E2E_INSIDE") == str(os.getpid()):
        return True
    said = subprocess.run(["unshare", "-n", "-m", "sh", "-c", OWN_PLACE], check=False, text=True,
                          capture_output=True) if shutil.which("unshare") else None
    if said is None or said.returncode:
        if not shared:
            raise Unable("cannot make namespaces here (CAP_SYS_ADMIN, CAP_NET_ADMIN): " +
                         said.stderr.strip())
        return False
    os.environ["RA_E2E_INSIDE"] = str(os.getpid())  # unshare execs: the number stays
    os.execvp("unshare", ["unshare", "-n", "-m", sys.executable] + sys.argv)


def _need(tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Unable(f"{tool} is not installed")
    if os.geteuid() != 0:
        raise Unable("needs root (namespaces, loop devices, file handles)")
    if not os.path.exists("/etc/mtab"):
        raise Unable("there is no /etc/mtab, by which FSAL_VFS finds file systems: "
                     "ln -s /proc/self/mounts /etc/mtab")


def _keep_run():
    """At the end /run, which others use too, is as it was."""
    ours = [path for path in RUN_FILES if not os.path.lexists(path)]

    def tidy():
        for path in ours:
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                os.remove(path)

    at_exit(tidy)


def _start_mapper():
    with tempfile.TemporaryFile() as said:
        mapper = subprocess.Popen(["rpcbind", "-f", "-w"], stdout=said, stderr=said,
                                  start_new_session=True)
        at_exit(lambda: end_process(mapper))
        if wait_for(lambda: answers(111) or mapper.poll() is not None, 60) and answers(111):
            return
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
    if not os.path.exists("/etc/services"):
        text = "there is no /etc/services (package netbase)"
    raise Unable("rpcbind does not start here: " + (
        text or "does it have CAP_NET_BIND_SERVICE, CAP_SETUID and CAP_SETGID?"))


def _join_mapper():
    """The machine's own: whose NFS server is registered there would lose its entries."""
    listed = subprocess.run(["rpcinfo", "-p", HOST], check=False, text=True, capture_output=True)
    if re.search(r"^\s*100003\b", listed.stdout, re.M):
        raise Unable("an NFS server runs here, and no namespace to be apart from it can be had")


def _end(number, _):
    """Once: who is impatient must not get half of what is undone."""
    for sig in ENDS:
        signal.signal(sig, signal.SIG_IGN)
    sys.exit(128 + number)


def settle(needed=(), shared=False):
    """Continues in namespaces of our own. SHARED: the machine's own will do where there are none, as in
    an unprivileged container. Unable where servers cannot run."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    _need((*NEEDED, *needed, *(() if shared else NEEDED_APART)))
    private = _own_namespaces(shared)
    for sig in ENDS:
        signal.signal(sig, _end)
    atexit.register(clean_up)
    if private:
        run("sh", "-c", OWN_PLACE)
    else:
        _keep_run()
    os.makedirs("/run/ganesha", exist_ok=True)
    if answers(111):
        _join_mapper()
    else:
        _start_mapper()
