# SPDX-License-Identifier: LGPL-3.0-or-later
"""Several real Linux clients at once: User-mode Linux guests (test/e2e/guest) that do what they are
asked until the end.

    with guests.boot(2, mb=512, modules=(f"{HERE}/guest_client.py",)) as (one, two):
        one.call("client.mount", port=2049, mport=20490, export="/srv")     # returns its value
        job = two.start("client.something", seconds=5)                      # begins it
        job.stop()                                                          # sets its `stop`
        job.value(60)                                                       # waits for it

Call e2e.enter() first: each guest has a tap device of its own in our network namespace, by whose
address it reaches the servers that listen here. Unavailable where there can be no guests.
"""
import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

import e2e

HERE = os.path.dirname(os.path.realpath(__file__))
CLIENT = f"{HERE}/guest_client.py"
BOOT_SECONDS, CALL_SECONDS, END_SECONDS = 90, 120, 10
LIFE_SECONDS = 6 * 3600
FIRST_NET = 20  # the guests are in 10.77.20.0/24 and on


class Unavailable(Exception):
    """There can be no guests here; the text says why."""


class Failed(RuntimeError):
    """What a guest was asked for failed there; the text says how."""


class Job:
    """One call. value() gives what it returned, or raises Failed."""

    def __init__(self, guest, number, what):
        self.guest, self.number, self.what = guest, number, what
        self.future = concurrent.futures.Future()

    def stop(self):
        self.guest.send({"stop": self.number})
        return self

    def value(self, seconds=CALL_SECONDS):
        try:
            return self.future.result(seconds)
        except concurrent.futures.TimeoutError as error:
            raise Failed(f"guest {self.guest.number}: {self.what}: no answer in {seconds} s; the "
                         f"guest said:\n{self.guest.log_text()[-1500:]}") from error


class Guest:
    def __init__(self, number, modules, mb, systemd=False, seconds=LIFE_SECONDS):
        self.number, self.jobs, self.lock = number, {}, threading.Lock()
        self.connection, self.next = None, 0
        self.work = e2e.temporary("ra-guests-")
        self.listener = socket.create_server(("0.0.0.0", 0))
        self.listener.settimeout(1)
        environment = {**os.environ, "GUEST_TAP": f"ra-g{number}", "GUEST_SECONDS": str(seconds),
                       "GUEST_NET": str(FIRST_NET + number), "GUEST_MB": str(mb),
                       "GUEST_SYSTEMD": "1" if systemd else ""}
        with open(f"{self.work}/log", "wb") as log:
            self.process = subprocess.Popen(
                [f"{HERE}/guest", "/usr/bin/python3", "-B", f"{HERE}/guest_worker.py",
                 str(self.listener.getsockname()[1]), *modules], env=environment, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        e2e.at_exit(self.end)

    def log_text(self):
        try:
            with open(f"{self.work}/log", encoding="utf-8", errors="replace") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def connect(self):
        """Waits until its worker has come."""
        end = time.monotonic() + BOOT_SECONDS
        while not self.connection:
            if time.monotonic() > end:
                raise Failed(f"guest {self.number} does not start:\n{self.log_text()[-1500:]}")
            try:
                self.connection = self.listener.accept()[0]
            except TimeoutError:
                if self.process.poll() == e2e.SKIP:
                    raise Unavailable(self.log_text().strip()[-200:]) from None
                if self.process.poll() is not None:
                    raise Failed(f"guest {self.number} ended:\n{self.log_text()[-1500:]}") from None
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self):
        lost = None
        try:
            for line in self.connection.makefile():
                told = json.loads(line)
                job = self.jobs.pop(told["id"])
                if "error" in told:
                    job.future.set_exception(
                        Failed(f"guest {self.number}: {job.what}: {told['error']}"))
                else:
                    job.future.set_result(told["value"])
        except (OSError, ValueError) as error:
            lost = error
        for job in list(self.jobs.values()):
            job.future.set_exception(Failed(f"guest {self.number} is gone: {lost or ''}"))

    def send(self, told):
        with self.lock:
            self.connection.sendall((json.dumps(told) + "\n").encode())

    def start(self, call, **arguments):
        with self.lock:
            self.next += 1
            job = self.jobs[self.next] = Job(self, self.next, call)
        self.send({"id": job.number, "call": call, "with": arguments})
        return job

    def call(self, call, patience=CALL_SECONDS, **arguments):
        """Waits so many seconds for what it returns."""
        return self.start(call, **arguments).value(patience)

    def _processes(self):
        """All that it started, by /proc: `timeout` has made a group of its own."""
        found, look = [], [self.process.pid]
        while look:
            pid = look.pop()
            found.append(pid)
            look += e2e.children_of(pid)
        return found

    def end(self):
        """Once its worker's connection ends it powers off; one that does not is killed."""
        self.listener.close()
        if self.connection:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        if self.process.poll() is None:
            for pid in self._processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        subprocess.run(["rm", "-rf", self.work], check=False)


@contextlib.contextmanager
def boot(count, mb=256, modules=(CLIENT,), systemd=False):
    """`count` guests of `mb` MiB each, as a list; where told to, with systemd as process 1."""
    found = []
    try:
        for number in range(count):
            found.append(Guest(number, modules, mb, systemd))
        for guest in found:
            guest.connect()
        yield found
    finally:
        for guest in found:
            guest.end()
