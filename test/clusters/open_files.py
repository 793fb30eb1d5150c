# SPDX-License-Identifier: LGPL-3.0-or-later
"""Open files as Ganesha counts them: at half of its limit it closes files all the time, at the limit every READ is
answered by JUKEBOX. What a part of test_cluster.py does."""
import ctypes
import subprocess
import time

import control_client
import e2e
import gateway
from laid_out import STREAM_SIZE, STREAMS, lay_out_streams

ROUNDS = 4
COUNTER = "open_fd_count"  # of libganesha_nfsd; from 5.0 on there is none
CLOSED_S = 20  # at most, until nothing is open that nobody reads


def counter_at(pid):
    """Where the process has it; None: this server has none."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        mapped = [line.split() for line in maps if "/libganesha_nfsd.so" in line]
    start, path = min((int(words[0].split("-")[0], 16), words[-1]) for words in mapped)
    symbols = subprocess.run(["nm", "-D", path], check=True, capture_output=True, text=True).stdout
    offsets = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(f" B {COUNTER}")]
    return start + offsets[0] if offsets else None


def counted(pid, at):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(at)
        return ctypes.c_ssize_t.from_buffer_copy(memory.read(ctypes.sizeof(ctypes.c_ssize_t))).value


def open_files(bed):
    """Eight files are read and let go, again and again: no more of them are open, and none less than none."""
    if bed.kind != "ra":
        return
    lay_out_streams(bed)
    server = bed.gateway(ra="Descriptor_Idle = 100;")
    pid = server.process.pid
    at, found = counter_at(pid), []
    for _ in range(ROUNDS if at else 0):
        readers = e2e.Readers(server, gateway.PSEUDO, STREAMS, STREAM_SIZE)
        e2e.wait_for(lambda readers=readers: readers.reads > 500 or readers.broken, 30)
        readers.stop()
        e2e.wait_for(lambda: not control_client.stats("engine")["descriptors"], CLOSED_S)
        time.sleep(0.5)  # the last one is being closed
        found.append(counted(pid, at))
    gateway.ends_well(server, "open files")
    if not at:
        e2e.note(f"open files: this core has no {COUNTER}")
        return
    e2e.note(f"open files, as the core counts them: {found}")
    e2e.check(max(found) <= STREAMS and min(found) >= 0, "open files: those that clients read, and no more", found)
