#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""System calls that fail: test_faults.py PLUGIN [CASE...]

What it proves: whichever system call of the plugin fails, and however often, READs bring the right
bytes or fail as stock's do, a COMMIT that succeeds has its bytes on the disk, an error of writing
out is told by a COMMIT, the server lives, and all is well as soon as calls succeed again.

strace attaches to the running server and has every call of one name fail (by EINTR: the first 20)
while a file is read from the disk, another written and committed. What only the plugin calls (VFS
reads by preadv) may fail no READ at all. CASE is CALL:ERROR, unanswered, unanswered_handles,
reused, descriptors or threads.
"""
import collections
import os
import re
import resource
import signal
import subprocess
import sys

import control_client
import e2e
import modelled_disk
import nfs3

SIZE = 4 << 20  # of the file read
WRITTEN = 2 << 20  # ... and of the one written
UNIT = 65536
# Not on a disk: a loop device has no seeks, so that the queue must be insisted on.
SHIPPED = {"Queue_Depth": 1}

# The call, its error, whether COMMIT must tell, and whether stock VFS meets it too.
Fault = collections.namedtuple("Fault", "call error told shared module")
FAULTS = [Fault(call, error, told, shared, module) for call, errors, told, shared, module in (
    ("pread64", ("EIO", "ENOMEM", "EINTR"), False, False, ""),
    ("sync_file_range", ("EIO", "ENOSPC"), True, False, ""),
    ("sync_file_range", ("EINTR", "ENOMEM"), None, False, ""),
    ("ioctl", ("EIO", "ENOMEM"), False, False, ""),  # FIEMAP
    ("fadvise64", ("EIO",), False, False, ""),
    ("mmap", ("ENOMEM", "EAGAIN"), False, False, "Residency_Probe = mincore;"),
    ("mincore", ("ENOMEM", "EAGAIN"), False, False, "Residency_Probe = mincore;"),
    ("cachestat", ("EINTR", "ENOSYS"), False, False, ""),
    # not ENOMEM: stock gives no answer at all then (unanswered)
    ("open_by_handle_at", ("EMFILE", "EIO", "ESTALE"), None, True, ""),
    ("%fstat", ("EIO",), None, True, ""),  # newfstatat, or with newer C libraries fstat
    ("fsync", ("EIO", "ENOSPC"), True, True, ""),
) for error in errors]
ONLY_OUR_FILES = ("mmap", "%fstat", "ioctl")  # others have such calls of their own


class Scene:
    """A server of either kind, a file to read and one to write, and their device."""

    def __init__(self, work, path, kind, plugin, module="", params=SHIPPED):
        self.path = path
        self.server = e2e.Server(kind, [{"id": 1, "path": path, "pseudo": "/e1",
                                         "params": dict(params)}], work, plugin, ra=module).start()
        self.client = nfs3.Client(self.server, "/e1", timeout=60)
        for name in ("f0", "w"):  # what Ganesha does at the first use of a file is not meant
            self.client.lookup(name)
        self.version = 0

    def drop(self):
        e2e.drop_caches()

    def read(self):
        """(statuses, offsets with wrong bytes)"""
        _, fh = self.client.lookup("f0")
        statuses, wrong = collections.Counter(), []
        for at, status, data in self.client.stream(fh, SIZE, UNIT):
            statuses[status] += 1
            if status == nfs3.OK and data != e2e.pattern(0, at, len(data)):
                wrong.append(at)
        return statuses, wrong

    def data(self, at):
        return e2e.pattern(1000 + self.version, at, UNIT)

    def write_and_commit(self):
        """The worst status of WRITEs, and that of COMMIT; whether the bytes are on the disk."""
        _, fh = self.client.lookup("w")
        self.version += 1
        worst = max(self.client.write(fh, at, self.data(at)) for at in range(0, WRITTEN, UNIT))
        status = self.client.commit(fh).status
        return worst, status, self.on_the_disk()

    def commit(self):
        return self.client.commit(self.client.lookup("w")[1]).status

    def on_the_disk(self):
        """The image below the loop device, not the file: that would be the page cache's."""
        with open(f"{self.path}.img", "rb") as image:
            for at in range(0, WRITTEN, UNIT):
                image.seek(modelled_disk.physical(f"{self.path}/w", at))
                if image.read(UNIT) != self.data(at):
                    return False
        return True


class Strace:
    """Attached to all threads of a server; every `call` returns -1 with `error`."""

    def __init__(self, scene, fault):
        self.output = f"{scene.server.work}/strace"
        when = ":when=1..20" if fault.error == "EINTR" else ""  # it asks for another try
        paths = []
        if fault.call in ONLY_OUR_FILES:
            paths = ["-P", f"{scene.path}/f0", "-P", f"{scene.path}/w"]
        self.process = subprocess.Popen(
            ["strace", "-f", *paths, "-o", self.output, "-p", str(scene.server.process.pid),
             "-e", f"trace={fault.call}",
             "-e", f"inject={fault.call}:error={fault.error}{when}"],
            stderr=subprocess.PIPE, text=True)
        e2e.at_exit(lambda: e2e.end_process(self.process))
        self.said = self.process.stderr.readline()
        if "attached" not in self.said:
            e2e.skip(f"strace cannot attach here: {self.said.strip()}")

    def detach(self):
        """How many calls were made to fail."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(120)
        with open(self.output, encoding="utf-8", errors="replace") as f:
            return f.read().count("(INJECTED)")


def under(fault, scene):
    """(reads, wrong, written, again, injected) while the call fails."""
    scene.drop()
    strace = Strace(scene, fault)
    reads, wrong = scene.read()
    written = scene.write_and_commit()
    again = scene.commit()
    return reads, wrong, written, again, strace.detach()


def recovered(scene, what):
    """The calls succeed again: so does everything, at the latest when a kept error was told."""
    scene.commit()
    scene.drop()
    reads, wrong = scene.read()
    written = scene.write_and_commit()
    e2e.check(set(reads) == {nfs3.OK} and not wrong, f"{what}: afterwards READs are right",
              (reads, wrong[:3]))
    e2e.check(written == (nfs3.OK, nfs3.OK, True), f"{what}: afterwards COMMIT means what it says",
              written)


def judge(what, fault, stock, ra):
    reads, wrong, (worst, commit, there), again, injected = ra
    e2e.note(f"{what}: {injected} calls failed; READs {dict(reads)}, WRITE {worst}, "
             f"COMMIT {commit} and {again}" + (f"; stock {stock}" if stock else ""))
    e2e.check(injected, f"{what}: the call was made")
    e2e.check(not wrong, f"{what}: no wrong byte was read", wrong[:5])
    e2e.check(commit != nfs3.OK or worst != nfs3.OK or there,
              f"{what}: what COMMIT promised is on the disk")
    if fault.told:
        e2e.check(commit != nfs3.OK, f"{what}: COMMIT tells", commit)
    if stock is None or set(stock[0]) == {nfs3.OK}:
        e2e.check(set(reads) == {nfs3.OK}, f"{what}: no READ fails that would not with stock",
                  reads)
    if stock and stock[2][1] != nfs3.OK:
        e2e.check(commit != nfs3.OK, f"{what}: COMMIT fails where stock's does", (stock[2], commit))
    if fault.told is False:
        e2e.check((worst, commit, again) == (nfs3.OK,) * 3, f"{what}: no WRITE or COMMIT fails",
                  (worst, commit, again))


def one_fault(work, path, plugin, fault):
    what, stock = f"{fault.call}: {fault.error}", None
    if fault.shared:
        scene = Scene(work, path, "stock", plugin)
        stock = under(fault, scene)
        scene.client.close()
        scene.server.stop()
    scene = Scene(work, path, "ra", plugin, fault.module)
    judge(what, fault, stock, under(fault, scene))
    recovered(scene, what)
    ends_well(scene, what)


def ends_well(scene, what):
    scene.client.close()
    e2e.check(scene.server.stop() == 0, f"{what}: the server lives, and ends cleanly",
              scene.server.log_text()[-2000:])


def unanswered(work, path, plugin):
    """READs that fail below so that stock Ganesha gives no answer at all: as by a descriptor that
    is lost."""
    for error in ("EBADF", "ENOMEM"):
        what, scene = f"preadv: {error}", Scene(work, path, "ra", plugin)
        fh = scene.client.lookup("f0")[1]
        scene.drop()
        strace = Strace(scene, Fault("preadv", error, None, False, ""))
        status = scene.client.read(fh, 0, UNIT)[0]
        injected = strace.detach()
        e2e.check(injected and status == nfs3.JUKEBOX, f"{what}: the client is told to come again",
                  (injected, status))
        e2e.check("gives no answer" in scene.server.log_text(), f"{what}: the log says so",
                  scene.server.log_text()[-1500:])
        recovered(scene, what)
        ends_well(scene, what)


def unanswered_handles(work, path, plugin):
    """A file that is to be found by its handle, which the server does not know yet, fails so; and the
    first time only, as one does whose inode's number goes to a new file at that moment."""
    for when, wanted in (("", nfs3.JUKEBOX), (":when=1", nfs3.OK)):
        what, scene = f"open_by_handle_at: ENOMEM{when}", Scene(work, path, "ra", plugin)
        fh = scene.client.lookup("f0")[1]
        scene.client.close()
        e2e.check(scene.server.stop() == 0, f"{what}: the server ends")
        scene.server.start()  # it knows no file
        scene.client = nfs3.Client(scene.server, "/e1", timeout=60)
        strace = Strace(scene, Fault("open_by_handle_at", f"ENOMEM{when}", None, False, ""))
        status = scene.client.read(fh, 0, UNIT)[0]
        injected = strace.detach()
        e2e.check(injected and status == wanted, f"{what}: the client has an answer",
                  (injected, status))
        e2e.check("found no file" in scene.server.log_text(), f"{what}: the log says so",
                  scene.server.log_text()[-1500:])
        recovered(scene, what)
        ends_well(scene, what)


CHURN = """
import os, sys
while True:
    os.close(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(sys.argv[1])
"""


def reused(work, path, plugin):
    """A file is gone, and its inode's number goes from one new file to the next: in each of these moments the
    kernel says ENOMEM of the old one's handle. Some ten of a thousand READs met that, and had no answer."""
    what, scene = "a number that is used again", Scene(work, path, "ra", plugin)
    with open(f"{path}/gone", "wb"):
        pass
    fh = scene.client.lookup("gone")[1]
    os.unlink(f"{path}/gone")
    churn = subprocess.Popen([sys.executable, "-c", CHURN, f"{path}/gone"])
    e2e.at_exit(churn.kill)
    statuses = collections.Counter(scene.client.read(fh, 0, UNIT)[0] for _ in range(3000))
    churn.kill()
    churn.wait()
    e2e.note(f"{what}: {dict(statuses)}; met: {'found no file' in scene.server.log_text()}")
    e2e.check(set(statuses) <= {nfs3.STALE, nfs3.JUKEBOX}, f"{what}: each READ has an answer",
              statuses)
    ends_well(scene, what)


def descriptors(work, path, plugin):
    """None is left (EMFILE at every open), for the whole process; then they are back."""
    what, scene = "no descriptors", Scene(work, path, "ra", plugin)
    pid = scene.server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd")) + 1
    scene.drop()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
    reads, wrong = scene.read()
    written = scene.write_and_commit()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    e2e.note(f"{what}: READs {dict(reads)}, WRITE and COMMIT {written}")
    e2e.check(not wrong, f"{what}: no wrong byte was read", wrong[:5])
    e2e.check(written[0] != nfs3.OK or written[1] != nfs3.OK or written[2],
              f"{what}: what COMMIT promised is on the disk", written)
    recovered(scene, what)
    ends_well(scene, what)


def threads(work, path, plugin):
    """No thread can be started while SIGHUP asks for more."""
    what, scene = "no threads", Scene(work, path, "ra", plugin)
    fault = Fault("clone3", "EAGAIN", False, False, "")
    strace = Strace(scene, fault)
    scene.server.exports[0]["params"]["Queue_Depth"] = 32
    scene.server.reload()
    injected = strace.detach()  # before any load: ntirpc does not end once its own threads failed
    scene.drop()
    reads, wrong = scene.read()
    written = scene.write_and_commit()
    e2e.note(f"{what}: {injected} failed; {control_client.device()}")
    e2e.check(injected, f"{what}: starting one was tried")
    e2e.check(re.search(r"RA: device .*only \d+ of \d+ threads could be started",
                        scene.server.log_text()),
              f"{what}: the log says so", scene.server.log_text()[-1500:])
    e2e.check(set(reads) == {nfs3.OK} and not wrong and written == (nfs3.OK, nfs3.OK, True),
              f"{what}: the others do the work", (reads, wrong, written))
    scene.server.exports[0]["params"]["Queue_Depth"] = 16
    scene.server.reload()
    e2e.check(control_client.device()["depth"] == 16, f"{what}: later they can be started")
    recovered(scene, what)
    ends_well(scene, what)


def strace_knows(call):
    return not subprocess.run(["strace", "-e", f"trace={call}", "true"], check=False,
                              capture_output=True).returncode


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__.splitlines()[0])
    e2e.enter(("strace", "filefrag"))
    work = e2e.work_directory()
    path = e2e.loop_export(work, 1 << 30)  # blocks of 4096 bytes
    e2e.make_files(path, 1, SIZE)
    with open(f"{path}/w", "wb") as f:
        f.write(bytes(WRITTEN))
        os.fsync(f.fileno())
    wanted = sys.argv[2:]
    for fault in FAULTS:
        if not strace_knows(fault.call):
            e2e.note(f"{fault.call}: this strace does not know it")
        elif not wanted or f"{fault.call}:{fault.error}" in wanted:
            one_fault(work, path, plugin, fault)
    for case in (unanswered, unanswered_handles, reused, descriptors, threads):
        if not wanted or case.__name__ in wanted:
            case(work, path, plugin)
    e2e.finish()


if __name__ == "__main__":
    main()
