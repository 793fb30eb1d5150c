#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs in a guest for as long as it lives, and does what guests.py asks: guest_worker.py PORT
FILE...

It connects to SERVER:PORT. Each line that comes is a call, {"id": 7, "call": "client.mount",
"with": {"port": 2049}}: a function of one of the Python files, by the file's name, in a thread of
its own. Its answer is {"id": 7, "value": ...} or {"id": 7, "error": text}. A function with a
parameter `stop` gets an Event, which {"stop": 7} sets. The connection's end is the guest's.
"""
import importlib
import inspect
import json
import os
import socket
import sys
import threading
import traceback


def module_of(path):
    """("client", the module) of .../guest_client.py"""
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    module = importlib.import_module(name)
    return name.removeprefix("guest_"), module


class Worker:
    def __init__(self, connection, modules):
        self.connection, self.modules = connection, modules
        self.stops, self.lock = {}, threading.Lock()

    def answer(self, **reply):
        with self.lock:
            self.connection.sendall((json.dumps(reply) + "\n").encode())

    def run(self, number, call, arguments):
        try:
            module, _, name = call.partition(".")
            function = getattr(self.modules[module], name)
            if "stop" in inspect.signature(function).parameters:
                arguments["stop"] = self.stops[number]
            self.answer(id=number, value=function(**arguments))
        except Exception:  # whatever it is, the caller judges it
            self.answer(id=number, error=traceback.format_exc())
        finally:
            self.stops.pop(number, None)

    def take(self, line):
        told = json.loads(line)
        if "stop" in told:
            event = self.stops.get(told["stop"])
            if event:
                event.set()
            return
        self.stops[told["id"]] = threading.Event()
        threading.Thread(target=self.run, daemon=True,
                         args=(told["id"], told["call"], told["with"])).start()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    modules = dict(module_of(path) for path in sys.argv[2:])
    connection = socket.create_connection((os.environ["SERVER"], int(sys.argv[1])), 30)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    worker = Worker(connection, modules)
    for line in connection.makefile():
        worker.take(line)
    os._exit(0)  # threads that hang in a mount do not keep the guest


if __name__ == "__main__":
    main()
