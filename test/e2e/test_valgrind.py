#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Memory errors and leaks of the plugin: test_valgrind.py PLUGIN

A server with RA over VFS, which writes back at once and paces writers, runs under valgrind while
files are read, written, committed and removed, the configuration is reloaded and an export is taken
away. Ganesha and its libraries have leaks of their own: only reports with a frame of libfsalra.so
count.
"""
import re
import sys

import e2e
import nfs3
import server_configs
import verifying_client

FILES, FILE_SIZE = 4, 2 << 20


def reports(text):
    """Valgrind's reports: paragraphs of lines that begin with ==PID==."""
    lines = [re.sub(r"^==\d+== ?", "", line) for line in text.splitlines()
             if re.match(r"^==\d+==", line)]
    return [r for r in re.split(r"\n\s*\n", "\n".join(lines)) if " at 0x" in r]


def ours(report):
    """A still reachable block is no leak."""
    return "libfsalra" in report and "still reachable" not in report


def work_a_little(server, path):
    readers = e2e.Readers(server, "/e1", FILES, FILE_SIZE)
    writers = verifying_client.Writers(server, "/e1", count=2, cells=1024).start()
    works = e2e.wait_for(lambda: readers.reads > 300 and
                         all(w.commits > 3 for w in writers.writers), 120)
    e2e.check(works, "readers and writers get on under valgrind",
              (readers.reads, [w.commits for w in writers.writers]))
    client = nfs3.Client(server, "/e1", timeout=120)
    for n in range(20):
        _, fh = client.create(f"new{n}")
        client.write(fh, 0, b"x" * 65536, stable=n % 3)
        client.read(fh, 0, 65536)
        client.remove(f"new{n}")
        client.getattr(fh)
        client.fsstat()
    server.exports[0]["params"].update({"Heuristic": "always", "Scheduler": "elevator"})
    removed = server.exports.pop()
    for change in (lambda: None, lambda: server.exports.append(removed),
                   lambda: server.exports[0].update(params={"Heuristic": "nonesuch"})):
        change()
        before = readers.reads, sum(w.commits for w in writers.writers)
        server.reload(120)
        e2e.check(e2e.wait_for(lambda: readers.reads > before[0] + 100 and
                               sum(w.commits for w in writers.writers) > before[1] + 2, 120),
                  "... and after a reload", readers.reads)
    writers.finish()
    e2e.check(not writers.failed and not writers.statuses(), "writes are right under valgrind",
              f"{writers.failed} {writers.statuses()}")
    wrong = writers.differences(path, writers.levels("sent"))
    e2e.check(not wrong, "... and their bytes", "\n".join(wrong))
    readers.stop()
    e2e.check(not readers.wrong and not readers.errors(), "reads are right under valgrind",
              f"{readers.wrong[:3]} {readers.errors()}")
    e2e.note(f"{readers.reads} READs")
    client.close()


def main():
    plugin = e2e.plugin_from(sys.argv[1:], __doc__.splitlines()[0])
    e2e.enter(("valgrind",))
    work = e2e.work_directory()
    path = e2e.loop_export(work, 256 << 20)
    e2e.make_files(path, FILES, FILE_SIZE)
    output = f"{work}/valgrind"
    listed = [{"id": n, "path": path, "pseudo": f"/e{n}"} for n in (1, 2)]
    _, config = server_configs.chosen(f"{plugin}:eager")
    server = server_configs.server(config, listed, work, plugin,
                                   wrap=("valgrind", "--leak-check=full",
                                         "--keep-debuginfo=yes", "--num-callers=30",
                                         f"--log-file={output}"))
    server.start(120)
    work_a_little(server, path)
    status = server.stop(90)
    e2e.check(status == 0, "the server ends cleanly", f"{status}\n{server.log_text()[-2000:]}")
    with open(output, errors="replace") as f:
        text = f.read()
    e2e.check("LEAK SUMMARY" in text, "valgrind did report", text[-2000:])
    found = [r for r in reports(text) if ours(r)]
    e2e.note(f"{len(reports(text))} reports in all, {len(found)} with a frame of the plugin")
    e2e.check(not found, "no memory error or leak of the plugin", "\n\n".join(found[:10]))
    e2e.finish()


if __name__ == "__main__":
    main()
