# SPDX-License-Identifier: LGPL-3.0-or-later
"""Between NFSv3 clients and a server: passes everything on, and notes each call in its order, by the
client's address.

    relay = Relay(server.port)        # clients connect to relay.port
    relay.calls["127.0.0.10"]         # [Call, ...]
"""
import collections
import socket
import struct
import threading
import time

import nfs3

# offset and count of READ, WRITE and COMMIT, else 0; times of time.monotonic(), answered None: not yet
Call = collections.namedtuple("Call", "procedure offset count at")


class Relay:
    def __init__(self, port):
        self.to, self.calls, self.answers = port, collections.defaultdict(list), {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, address = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            for s in (client, server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, target, note in ((client, server, self._note_call),
                                         (server, client, self._note_answer)):
                threading.Thread(target=self._pass_on, args=(source, target, address[0], note),
                                 daemon=True).start()

    @staticmethod
    def _records(source):
        """(its bytes on the wire, the message) of each; libnfs and Ganesha send one fragment each."""
        buffer = b""
        while True:
            while len(buffer) < 4 or len(buffer) < 4 + (length := struct.unpack_from(
                    ">I", buffer)[0] & 0x7fffffff):
                got = source.recv(1 << 20)
                if not got:
                    return
                buffer += got
            yield buffer[:4 + length], buffer[4:4 + length]
            buffer = buffer[4 + length:]

    def _pass_on(self, source, target, address, note):
        try:
            for wire, message in self._records(source):
                note(address, message)
                target.sendall(wire)
        except OSError:
            pass
        for s in (source, target):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _note_call(self, address, message):
        call = nfs3.Reply(message)
        call.at = 20
        procedure = call.u32()
        for _ in range(2):  # credentials, verifier
            call.u32()
            call.opaque()
        offset = count = 0
        if procedure in (nfs3.READ, nfs3.WRITE, nfs3.COMMIT):
            call.opaque()
            offset, count = call.u64(), call.u32()
        self.calls[address].append(Call(procedure, offset, count, time.monotonic()))

    def _note_answer(self, address, _):
        self.answers.setdefault(address, []).append(time.monotonic())
