# SPDX-License-Identifier: LGPL-3.0-or-later
"""A small NFSv4.1 (or 4.2) client for the Python tests: one session, raw COMPOUNDs over TCP, AUTH_UNIX as root.

Each COMPOUND under way has a slot of the session. Statuses are returned, not raised, where a test may
expect others than OK; what must not fail raises ConnectionError.
"""
import struct

from nfs3 import NFS, OK, Connection, opaque

CLOSE, GETFH, LOOKUP, OPEN, PUTFH, PUTROOTFH, READ, SAVEFH = 4, 10, 15, 18, 22, 24, 25, 32
EXCHANGE_ID, CREATE_SESSION, SEQUENCE, RECLAIM_COMPLETE, COPY = 42, 43, 53, 58, 60
FOR_READ, FOR_WRITE, FOR_BOTH, NO_DELEGATION = 1, 2, 3, 0x400
DENY_READ, DENY_WRITE = 1, 2
# Stateids that stand for none: READs without an OPEN; the second kind heeds no denial.
ANONYMOUS, BYPASS = b"\0" * 16, b"\xff" * 16
SLOTS = 64
CHANNEL = struct.pack(">7I", 0, 1 << 20, 1 << 20, 4096, 16, SLOTS, 0)


def op(number, body=b""):
    return struct.pack(">I", number) + body


class Client:
    """A session; `instance` tells a client that has restarted from the one that it was before."""

    def __init__(self, server, name="e2e", instance=1, timeout=60, minor=1):
        self.minor = minor
        self.rpc = Connection(server.port, NFS, timeout=timeout, version=4)
        self.name = name
        owner = struct.pack(">Q", instance) + opaque(name.encode())
        reply = self._alone(op(EXCHANGE_ID, owner + struct.pack(">III", 0, 0, 0)))
        self.clientid, sequence = reply.u64(), reply.u32()
        body = struct.pack(">QII", self.clientid, sequence, 0) + CHANNEL * 2
        reply = self._alone(op(CREATE_SESSION, body + struct.pack(">III", 0, 1, 0)))
        self.session = reply.take(16)
        reply.take(8 + 5 * 4)
        self.slots = [[slot, 0] for slot in range(min(SLOTS, reply.u32()))]
        self.used = {}  # slot by xid
        self.call(op(RECLAIM_COMPLETE, struct.pack(">I", 0)))

    def close(self):
        self.rpc.close()

    def _alone(self, operation):
        """One operation without a session; its result, behind its status."""
        status, reply = self._result(self.rpc.call(1, self._compound([operation])))
        if status != OK:
            raise ConnectionError(f"{self.name}: no session: status {status}")
        return reply

    def _compound(self, operations):
        head = struct.pack(">II", self.minor, len(operations))
        return opaque(b"") + head + b"".join(operations)

    @staticmethod
    def _result(reply):
        """(status, reply at the result of the first operation, behind its status)"""
        status = reply.u32()
        reply.opaque()
        reply.take(12)  # operations, the first one's number and status
        return status, reply

    def send(self, *operations):
        """Queues a COMPOUND in a free slot and returns its xid."""
        slot = self.slots.pop()
        slot[1] += 1
        first = op(SEQUENCE, self.session + struct.pack(">IIII", slot[1], slot[0], SLOTS - 1, 0))
        xid = self.rpc.send(1, self._compound([first, *operations]))
        self.used[xid] = slot
        return xid

    def receive(self):
        """(xid, status of the COMPOUND, reply at the number of the second operation)"""
        xid, reply = self.rpc.receive()
        self.slots.append(self.used.pop(xid))
        status, reply = self._result(reply)
        reply.take(16 + 5 * 4)
        return xid, status, reply

    def call(self, *operations):
        """(status, reply) while nothing else is under way."""
        sent = self.send(*operations)
        xid, status, reply = self.receive()
        if xid != sent:
            raise ConnectionError("an answer to another call")
        return status, reply

    def open(self, path, access=FOR_READ, deny=0):
        """(status, file handle, stateid) of a file that is there."""
        names = path.strip("/").split("/")
        return self.opened(self.call(*self.open_operations(names, access, deny)), len(names))

    def open_operations(self, names, access=FOR_READ, deny=0):
        owner = struct.pack(">Q", self.clientid) + opaque(b"owner")
        body = struct.pack(">III", 0, access | NO_DELEGATION, deny) + owner
        body += struct.pack(">II", 0, 0) + opaque(names[-1].encode())
        down = [op(LOOKUP, opaque(name.encode())) for name in names[:-1]]
        return [op(PUTROOTFH), *down, op(OPEN, body), op(GETFH)]

    @staticmethod
    def opened(answer, names):
        status, reply = answer
        if status != OK:
            return status, b"", b""
        reply.take(names * 8 + 8)  # PUTROOTFH, LOOKUPs; OPEN
        stateid = reply.take(16)
        reply.take(20 + 4)
        reply.take(4 * reply.u32())
        if reply.u32() == 3:  # no delegation, and why
            reply.take(4)
        reply.take(8)
        return status, reply.opaque(), stateid

    @staticmethod
    def read_operations(fh, stateid, offset, count):
        body = stateid + struct.pack(">QI", offset, count)
        return [op(PUTFH, opaque(fh)), op(READ, body)]

    @staticmethod
    def data(status, reply):
        """What a READ brought; b"" where it failed."""
        if status != OK:
            return b""
        reply.take(8 + 8 + 4)
        return reply.opaque()

    @staticmethod
    def close_operations(fh, stateid):
        return [op(PUTFH, opaque(fh)), op(CLOSE, struct.pack(">I", 0) + stateid)]

    def copy(self, source, target, source_offset, target_offset, count):
        """(status, bytes copied) of a synchronous COPY from `source` to `target`, each (fh, stateid)."""
        body = source[1] + target[1] + struct.pack(">QQQ", source_offset, target_offset, count)
        status, reply = self.call(op(PUTFH, opaque(source[0])), op(SAVEFH),
                                  op(PUTFH, opaque(target[0])),
                                  op(COPY, body + struct.pack(">III", 0, 1, 0)))
        if status != OK:
            return status, 0
        reply.take(3 * 8 + 8)  # PUTFH, SAVEFH, PUTFH; COPY
        if reply.u32():
            raise ConnectionError("a COPY that was to be synchronous is not")
        return status, reply.u64()
