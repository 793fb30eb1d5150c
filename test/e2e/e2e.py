#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the end-to-end tests share: a private place to run servers in, small file systems, servers,
and results in TAP form.

A test calls enter() first: it runs itself again in network and mount namespaces of its own, with
a port mapper there, because ganesha.nfsd insists on registering and must not touch this machine's.
Everything started is ended at exit, also after an exception or a signal.
"""
import functools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import nfs3
from place import Unable, settle  # noqa: F401
from processes import (HOST, answers, at_exit, children_of, end_process, lives,  # noqa: F401
                       run, temporary, proc_text, wait_for)

SKIP = 77

_count = 0
_failed = 0
_skipped = []  # parts


def skip(reason):
    print(f"1..0 # SKIP {reason}", flush=True)
    sys.exit(SKIP)


def check(good, what, detail=""):
    """One TAP line; a failed check does not end the test."""
    global _count, _failed
    _count += 1
    _failed += not good
    print(f"{'ok' if good else 'not ok'} {_count} - {what}", flush=True)
    if detail and not good:
        for line in str(detail).splitlines():
            print(f"#   {line}", flush=True)
    return good


def note(text):
    print(f"# {text}", flush=True)


def skip_part(reason):
    """A part of the test cannot run here: unless something fails, the whole counts as skipped."""
    note(f"SKIP {reason}")
    _skipped.append(reason)


def finish():
    print(f"1..{_count}", flush=True)
    sys.exit(1 if _failed or not _count else SKIP if _skipped else 0)


def enter(needed=()):
    """As settle(), of a test: which is skipped where servers cannot run."""
    try:
        settle(needed)
    except Unable as reason:
        skip(str(reason))


def work_directory():
    path = temporary("ra-e2e-")
    at_exit(lambda: shutil.rmtree(path, ignore_errors=True))
    return path


def mount_image(image, where, options="loop,nodelalloc"):
    os.makedirs(where, exist_ok=True)
    try:
        run("mount", "-o", options, image, where)
    except subprocess.CalledProcessError as error:
        skip(f"cannot mount a file system image here: {error.stderr.strip()}")
    at_exit(lambda: subprocess.run(["umount", "-l", where], check=False,
                                   stderr=subprocess.DEVNULL))


@functools.cache
def ganesha_version():
    """Of the installed server, as (4, 3)."""
    found = re.search(r"Release = V(\d+)\.(\d+)", run(shutil.which("ganesha.nfsd"), "-v"))
    return int(found[1]), int(found[2])


def core_params():
    """What the server needs here besides the defaults: from 6 on it does not start without the
    capability CAP_SYS_RESOURCE, which containers lack, unless it is told to."""
    return "Allow_Set_IO_Flusher_Fail = true;" if ganesha_version() >= (6, 0) else ""


def empty_read_is_fatal():
    """From 6.0 to 6.5 at least, and no more in 9.14: a READ of 0 bytes ends a stock server too."""
    return (6, 0) <= ganesha_version() < (9, 0)


def fsstat_of_gone_is_noise():
    """In 6.5, and not in 4.3: FSSTAT of what was removed says OK, with numbers of no meaning."""
    return (6, 0) <= ganesha_version() < (9, 0)


def udp_is_broken():
    """Debian 13's ntirpc (6.3, below Ganesha 6.5) answers nothing over UDP, without any plugin too."""
    return (6, 0) <= ganesha_version() < (9, 0)


class Server:
    """One ganesha.nfsd. `exports` is a list of dicts: id, path, pseudo, squash, params (of the RA
    block, kind 'ra' only; what is not named is as shipped), sub ("NULL/VFS": one above the other),
    protocols ("3") and more (parameters of the EXPORT itself). see_as=(mount,
    path) binds `mount` to `path` in a mount namespace of the server's own and hides `hide`: two
    servers can so export one path. lock_manager: NLM too, on .lock_port."""

    next_port = 20490
    udp = False  # NFS over it too

    def __init__(self, kind, exports, work, plugin=None, ra="", see_as=None, hide=(), wrap=(),
                 extra="", lock_manager=False):
        self.lock_manager = lock_manager
        self.kind, self.exports, self.work, self.plugin = kind, exports, work, plugin
        self.ra, self.see_as, self.hide, self.wrap, self.extra = ra, see_as, hide, wrap, extra
        self.port, self.mport = Server.next_port, Server.next_port + 1
        self.lock_port = Server.next_port + 2
        Server.next_port += 10
        name = f"{kind}-{self.port}"
        self.conf, self.log = f"{work}/{name}.conf", f"{work}/{name}.log"
        self.pid_file = f"{work}/{name}.pid"
        self.process = None
        self.status = None
        self.second = 0  # of the last start, or a later one

    @property
    def address(self):
        return f"{HOST}:{self.port}:{self.mport}"

    def fsal(self, export):
        below = ""
        for name in reversed(list(filter(None, (export.get("sub", "VFS") or "").split("/")))):
            below = f"FSAL {{ Name = {name}; {below} }}"
        if self.kind != "ra":
            return below
        params = " ".join(f"{k} = {v};" for k, v in export.get("params", {}).items())
        return f"FSAL {{ Name = RA; {params} {below} }}"

    def plugins(self):
        """A directory with the distribution's FSALs and ours."""
        directory = f"{self.work}/plugins"
        if self.kind != "ra":
            return ""
        if not os.path.isdir(directory):
            os.makedirs(directory)
            for lib in distribution_fsals():
                os.symlink(lib, f"{directory}/{os.path.basename(lib)}")
            os.symlink(os.path.realpath(self.plugin), f"{directory}/libfsalra.so")
        return f"Plugins_Dir = \"{directory}\";"

    def keeps(self):
        """Whether it would keep what it learns of disks, and nobody said where: each begins anew."""
        if self.kind != "ra" or "Learnt_Directory" in self.ra or "RA {" in self.extra:
            return False
        if self.plugin is None:  # the installed one, as its users have it
            return False
        with open(self.plugin, "rb") as plugin:  # an older one does not know the parameter
            return b"Learnt_Directory" in plugin.read()

    def write_config(self):
        all_protocols = max((e.get("protocols", "3") for e in self.exports), key=len, default="3")
        text = (f"NFS_CORE_PARAM {{ Protocols = {all_protocols}; "
                f"Enable_NLM = {str(self.lock_manager).lower()}; NLM_Port = {self.lock_port};"
                " Enable_RQUOTA = false;"
                f" Enable_UDP = {str(self.udp).lower()}; mount_path_pseudo = true;"
                f" {core_params()} NFS_Port = {self.port}; MNT_Port = {self.mport};"
                f" {self.plugins()} }}\n"
                "NFSV4 { Graceless = true; }\n"
                "EXPORT_DEFAULTS { Access_Type = RW; SecType = sys; Transports ="
                f" {'TCP, UDP' if self.udp else 'TCP'}; }}\n" + self.extra)
        ra = self.ra + ("" if not self.keeps() else " Learnt_Directory = none;")
        if self.kind == "ra" and ra:
            text += f"RA {{ {ra} }}\n"
        for e in self.exports:
            text += (f"EXPORT {{ Export_Id = {e['id']}; Path = \"{e['path']}\";"
                     f" Pseudo = \"{e['pseudo']}\"; Squash = {e.get('squash', 'none')};"
                     f" Protocols = {e.get('protocols', '3')}; {e.get('more', '')}"
                     f" {self.fsal(e)} }}\n")
        with open(self.conf + ".new", "w", encoding="utf-8") as conf:
            conf.write(text)
        os.rename(self.conf + ".new", self.conf)  # a reload under way reads one or the other

    def command(self):
        daemon = [*self.wrap, shutil.which("ganesha.nfsd"), "-F", "-f", self.conf, "-L", self.log,
                  "-p", self.pid_file, "-N", "EVENT"]
        if not self.see_as:
            return daemon
        mount, path = self.see_as
        hide = " ".join(self.hide)
        script = f"mount --bind {mount} {path} && umount -l {hide} && exec \"$@\""
        return ["unshare", "-m", "bash", "-c", script, "bash", *daemon]

    def launch(self):
        """Starts without waiting for it to serve, with an empty log."""
        self.write_config()
        if os.path.exists(self.log):
            os.remove(self.log)
        # Ganesha's write verifier is the second of its start: two starts in one would share it
        wait_for(lambda: int(time.time()) > self.second, 10)
        self.second = int(time.time())
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        at_exit(self.stop)

    def start(self, seconds=60):
        self.launch()
        up = wait_for(lambda: self.process.poll() is not None or
                      "NFS SERVER INITIALIZED" in self.log_text(), seconds, step=0.01)
        if not up or self.process.poll() is not None or not answers(self.port):
            raise RuntimeError(f"{self.kind} server did not start:\n" + self.log_text()[-3000:])
        self.second = int(time.time())  # it looked at the clock some time after launch()
        unknown = re.findall(r".*Unknown (?:parameter|block|token)\b.*", self.log_text())
        if unknown:  # the test would not test what it says
            raise RuntimeError(f"{self.kind} server does not know:\n" + "\n".join(unknown))
        return self

    def stop(self, seconds=60):
        if self.process:
            self.status = end_process(self.process, seconds)
            self.process = None
        return self.status

    def kill(self):
        """SIGKILL, as a crash; start() may follow."""
        self.process.kill()
        self.process.wait()
        self.process = None

    def sighup(self):
        self.process.send_signal(signal.SIGHUP)

    def reload(self, seconds=60):
        """Writes the configuration, and returns when the server has read it."""
        done = "Reread exports complete"
        before = self.log_text().count(done)
        self.write_config()
        self.sighup()
        if not wait_for(lambda: self.log_text().count(done) > before, seconds):
            raise RuntimeError(f"no answer to SIGHUP in {seconds} s:\n{self.log_text()[-2000:]}")

    def alive(self):
        return self.process.poll() is None

    def log_text(self):
        try:
            with open(self.log, errors="replace") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def stats(self):
        """What the plugin counted: the log's last RA_STATS line, with the lines RA_DEVICE_STATS that
        follow it as "devices"; None without one."""
        log = self.log_text()
        found = list(re.finditer(r"RA_STATS (\{.*\})", log))
        if not found:
            return None
        stats = json.loads(found[-1].group(1))
        devices = re.findall(r"RA_DEVICE_STATS (\{.*\})", log[found[-1].end():])
        stats.setdefault("devices", [json.loads(line) for line in devices])  # 0.1.0 has them inside
        return stats


def distribution_fsals():
    listed = run("dpkg", "-L", "nfs-ganesha-vfs") if shutil.which("dpkg") else ""
    found = [p for p in listed.splitlines() if re.search(r"/libfsal\w+\.so$", p)]
    directory = os.path.dirname(found[0]) if found else "/usr/lib64/ganesha"
    return [f"{directory}/{name}" for name in sorted(os.listdir(directory))
            if re.fullmatch(r"libfsal(?!ra\.)\w+\.so", name)]


def make_files(directory, count, size, prefix="f"):
    """Files whose every 8 bytes tell file and offset (see pattern), on disk and not cached."""
    for number in range(count):
        with open(f"{directory}/{prefix}{number}", "wb") as f:
            for at in range(0, size, 1 << 20):
                f.write(pattern(number, at, min(1 << 20, size - at)))
            f.flush()
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pattern(number, offset, length):
    """Bytes of file `number` from `offset` (a multiple of 4096)."""
    pages = [struct.pack(">II", number, (offset >> 12) + i) * 512 for i in range(-(-length >> 12))]
    return b"".join(pages)[:length]


def loop_export(work, size, name="export", options="loop", rotating=False):
    """A directory to export: an ext4 of its own on a loop device, which takes after the disk below
    unless told whether it rotates."""
    image = f"{work}/{name}.img"
    with open(image, "w") as f:
        f.truncate(size)
    run("mkfs.ext4", "-q", "-F", image)
    mount_image(image, f"{work}/{name}", options)
    loop = os.path.basename(run("findmnt", "-n", "-o", "SOURCE", f"{work}/{name}").strip())
    with open(f"/sys/block/{loop}/queue/rotational", "w", encoding="ascii") as file:
        file.write(str(int(rotating)))
    os.chmod(f"{work}/{name}", 0o777)
    return f"{work}/{name}"


def evictions():
    """How often this machine has taken pages away: when asked to, and such as were wanted again."""
    with open("/proc/vmstat", encoding="ascii") as f:
        counts = dict(line.split() for line in f)
    return sum(int(counts.get(name, 0)) for name in ("drop_pagecache", "workingset_refault_file"))


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")


class Readers:
    """Threads that each read one file over and over, with a connection of their own, and check
    the bytes. Statuses other than OK are counted, not fatal."""

    def __init__(self, server, export, count, size, prefix="f"):
        self.server, self.export, self.size, self.prefix = server, export, size, prefix
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.reads, self.wrong, self.statuses, self.broken = 0, [], {}, []
        self.threads = [threading.Thread(target=self._read, args=(n,), daemon=True)
                        for n in range(count)]
        for thread in self.threads:
            thread.start()

    def _read(self, number):
        try:
            client = nfs3.Client(self.server, self.export)
            while not self.stopping.is_set():
                status, fh = client.lookup(f"{self.prefix}{number}")
                if status != nfs3.OK:
                    self._note(status)
                    time.sleep(0.05)
                    continue
                for offset, status, data in client.stream(fh, self.size):
                    self._note(status)
                    if status == nfs3.OK and data != pattern(number, offset, len(data)):
                        self.wrong.append(f"{self.prefix}{number} at {offset}")
                    if self.stopping.is_set() or status != nfs3.OK:
                        break
                while client.nfs.busy():
                    client.nfs.receive()
        except OSError as error:
            self.broken.append(str(error))

    def _note(self, status):
        with self.lock:
            self.reads += 1
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def errors(self):
        return {s: n for s, n in self.statuses.items() if s != nfs3.OK}

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(30)


def plugin_from(arguments, usage):
    """The plugin's path out of the arguments of a test; skips when it was not built."""
    if not arguments:
        sys.exit(usage)
    if not os.path.exists(arguments[0]):
        skip(f"the plugin {arguments[0]} was not built")
    return arguments[0]
