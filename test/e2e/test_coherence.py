#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The coherence verifier:
test_coherence.py COHERENCE PLUGIN[:CONFIG]|stock MECHDISK|- [its arguments]

One ext4 on a loop device, exported with read-ahead and write-back; the verifier changes files
through NFS and locally while its readers run. On the modelled disk, with its timing, prefetches and
write-backs are under way for long while the files change. CONFIG is one of server_configs.py.

Where an answer is missing the server is looked at while it still is: its threads, its sockets, its
queues.
"""
import os
import shutil
import signal
import subprocess
import sys

import control_client
import e2e
import modelled_disk
import server_configs

SIZE = 512 << 20


def unread():
    """Sockets that something waits in, to be sent or to be read."""
    lines = (e2e.proc_text("self", "net/tcp") + e2e.proc_text("self", "net/tcp6")).splitlines()
    return [line for line in lines if line.split()[4:5] != ["00000000:00000000"]]


def told(pid, task, name):
    try:
        return e2e.proc_text(pid, f"task/{task}/{name}").strip().replace("\n", " ; ")
    except OSError as error:  # it is not for us
        return str(error)


def threads_of(pid):
    """Each with its name, the call that it is in, and where the kernel says so its stack there."""
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        yield f"{task} " + " | ".join(told(pid, task, name)
                                      for name in ("comm", "wchan", "syscall", "stack"))


def look_at(server):
    """What may say where a READ is."""
    pid = server.process.pid
    for line in [*unread(), *threads_of(pid)]:
        e2e.note(line)
    for command in ("stats", "devices", "status"):
        e2e.note(f"{command}: {control_client.ask(command=command)}")
    e2e.note(server.log_text()[-2000:].replace("\n", "\n# "))
    if shutil.which("gdb"):
        shown = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 16"],
                               check=False, capture_output=True, text=True, timeout=60)
        for line in shown.stdout.splitlines():
            e2e.note(line)


def run(command, server):
    """Its exit status."""
    process = subprocess.Popen(command)
    e2e.at_exit(process.kill)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        try:
            look_at(server)
        finally:
            os.kill(process.pid, signal.SIGCONT)
            _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode


def main():
    coherence, mechdisk, more = sys.argv[1], sys.argv[3], sys.argv[4:]
    plugin, config = server_configs.chosen(sys.argv[2])
    e2e.enter()
    work = e2e.work_directory()
    if mechdisk != "-":
        disk = modelled_disk.for_test(work, mechdisk, SIZE >> 20)
        export = disk.mount
        disk.timing(True)
    else:
        export = e2e.loop_export(work, SIZE)
    listed = [{"id": 1, "path": export, "pseudo": "/full"}]
    server = server_configs.server(config, listed, work, plugin).start()
    status = run([coherence, "--stops", "--local", export, *more, server.address], server)
    e2e.check(status == 0, "no stale byte, and space comes back at once",
              f"coherence ended with {status}")
    e2e.check(server.alive(), "the server is alive", server.log_text()[-2000:])
    e2e.check(server.stop() == 0, "the server ends cleanly",
              f"status {server.status}\n{server.log_text()[-2000:]}")
    if config.server == "ra":
        stats = server.stats() or {}
        e2e.note(f"RA_STATS {stats}")
        e2e.check(stats.get("prefetched_bytes", 0) > 0, "read-ahead did run", str(stats))
        if config.name == "eager":
            e2e.check(stats.get("writeback_bytes", 0) > 0, "write-back did run", str(stats))
    e2e.finish()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("\n".join(__doc__.splitlines()[:2]))
    main()
