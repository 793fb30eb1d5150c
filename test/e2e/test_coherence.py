#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The coherence verifier: 
test_coherence.py COHERENCE PLUGIN[:CONFIG]|stock MECHDISK|- [its arguments]

One ext4 on a loop device, exported with read-ahead and write-back; the verifier changes files
through NFS and locally while its readers run. On the modelled disk, with its timing, prefetches and
write-backs are under way for long while the files change. CONFIG is one of server_configs.py.
"""
import subprocess
import sys

import e2e
import modelled_disk
import server_configs

SIZE = 512 << 20


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
    done = subprocess.run([coherence, "--local", export, *more, server.address], check=False)
    e2e.check(done.returncode == 0, "no stale byte, and space comes back at once",
              f"coherence ended with {done.returncode}")
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
