# SPDX-License-Identifier: LGPL-3.0-or-later
"""The control channel as tests use it: one connection, many requests, and counters to wait for.

    ask(command="scheduler", name="fifo")       # the answer, see doc/control-protocol.md
    stats("writing")["dirty_files"]             # a section of `stats`
    done, seen = wait_for_stats(lambda d: d["depth"] == 8, 10, "device")
"""
import json
import socket
import time

from processes import wait_for

SOCKET = "/run/ganesha/ra.sock"


class Channel:
    def __init__(self, path=SOCKET):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r")

    def ask(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = self.lines.readline()
        if not answer:
            raise ConnectionError("the server closed the control channel")
        return json.loads(answer)

    def close(self):
        self.lines.close()
        self.socket.close()


def ask(**request):
    """One request on a connection of its own; None when no server answers."""
    try:
        channel = Channel()
    except OSError:
        return None
    try:
        return channel.ask(**request)
    finally:
        channel.close()


def stats(section="counters"):
    """A section of the answer to `stats`: counters, engine, writing or devices; None: all of it."""
    answer = ask(command="stats")
    return answer[section] if section else answer


def device(number=0):
    """What `devices` says of one."""
    return ask(command="devices")["devices"][number]


def settled(seconds=60):
    """Waits until nothing of the first export is queued or under way; whether it came to that."""
    return wait_for(lambda: not ask(command="status")["exports"][0]["pending"], seconds)


def wait_for_stats(condition, seconds, section="writing", step=0.1):
    """Until condition(section) holds: (whether it did, what was seen last)."""
    end = time.monotonic() + seconds
    while True:
        seen = device() if section == "device" else stats(section)
        if condition(seen) or time.monotonic() > end:
            return condition(seen), seen
        time.sleep(step)
