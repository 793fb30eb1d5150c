# SPDX-License-Identifier: LGPL-3.0-or-later
"""A small NFSv3 client for the Python tests: raw calls over TCP, AUTH_UNIX as root or as another user.
With a `source`, 127.0.0.N, it is another client to the server.

Statuses are returned, not raised; ConnectionError and socket.timeout mean there was no answer.
"""
import collections
import socket
import struct

MOUNT, NFS = 100005, 100003
OK, NOENT, IO, NOSPC, STALE = 0, 2, 5, 28, 70
JUKEBOX = 10008  # come again; NFSv4 calls it DELAY
GETATTR, SETATTR, LOOKUP, READ, WRITE, CREATE, MKDIR = 1, 2, 3, 6, 7, 8, 9
REMOVE, RENAME, LINK, FSSTAT, COMMIT = 12, 14, 15, 18, 21
UNSTABLE, DATA_SYNC, FILE_SYNC = 0, 1, 2

# What fattr3 holds; times are nanoseconds.
Attributes = collections.namedtuple("Attributes", "type mode nlink uid gid size used rdev fsid "
                                    "fileid atime mtime ctime")
# An answer to WRITE; to COMMIT, where count and committed are 0. before: (size, mtime, ctime).
Written = collections.namedtuple("Written", "status before after count committed verifier")
# An answer to READ, whole.
Got = collections.namedtuple("Got", "status attributes count eof data")


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


class Reply:
    """Takes values off the front of an answer."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        return struct.unpack_from(">I", self.data, self.at - 4)[0]

    def u64(self):
        self.at += 8
        return struct.unpack_from(">Q", self.data, self.at - 8)[0]

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def opaque(self):
        n = self.u32()
        self.at += n + -n % 4
        return self.data[self.at - n - -n % 4:][:n]

    def verifier(self):
        return self.take(8)

    def time(self):
        return self.u32() * 1000000000 + self.u32()

    def attributes(self):
        """None where the server sent none."""
        return self.fattr() if self.u32() else None

    def fattr(self):
        first = [self.u32() for _ in range(5)]
        then = [self.u64() for _ in range(5)]
        return Attributes(*first, *then, *(self.time() for _ in range(3)))

    def changes(self):
        """(before, after) of wcc_data."""
        before = (self.u64(), self.time(), self.time()) if self.u32() else None
        return before, self.attributes()

    def skip_attributes(self):
        if self.u32():
            self.at += 84


class Connection:
    def __init__(self, port, program, host="127.0.0.1", timeout=60, version=3, source=None, uid=0):
        source, self.uid = source and (source, 0), uid
        self.sock = socket.create_connection((host, port), timeout, source)
        # as the kernel's client: else a call waits for the answer of the one before it
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.program, self.version, self.xid = program, version, 1
        self.buffer = b""
        self.unanswered = 0

    def busy(self):
        return self.unanswered > 0

    def close(self):
        self.sock.close()

    def send(self, procedure, body):
        """Queues one call and returns its xid."""
        self.xid += 1
        cred = struct.pack(">I", 0) + opaque(b"e2e")
        cred += struct.pack(">III", self.uid, self.uid, 0)
        head = struct.pack(">IIIIII", self.xid, 0, 2, self.program, self.version, procedure)
        call = head + struct.pack(">I", 1) + opaque(cred) + struct.pack(">II", 0, 0) + body
        self.sock.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        self.unanswered += 1
        return self.xid

    def _take(self, n):
        parts, have = [self.buffer], len(self.buffer)
        while have < n:
            got = self.sock.recv(max(65536, n - have))
            if not got:
                raise ConnectionError("the server closed the connection")
            parts.append(got)
            have += len(got)
        data = b"".join(parts)
        self.buffer = data[n:]
        return data[:n]

    def receive(self):
        """(xid, Reply) of whichever answer comes next."""
        record, last = b"", False
        while not last:
            mark = struct.unpack(">I", self._take(4))[0]
            last = bool(mark & 0x80000000)
            record += self._take(mark & 0x7fffffff)
        self.unanswered -= 1
        reply = Reply(record)
        xid = reply.u32()
        kind, state = reply.u32(), reply.u32()
        reply.u32()
        reply.opaque()  # verifier
        accept = reply.u32()
        if (kind, state, accept) != (1, 0, 0):
            raise ConnectionError(f"call rejected: {kind} {state} {accept}")
        return xid, reply

    def call(self, procedure, body):
        xid = self.send(procedure, body)
        while True:
            got, reply = self.receive()
            if got == xid:
                return reply


class Client:
    """One mounted export."""

    def __init__(self, server, export, timeout=60, source=None, uid=0):
        mount = Connection(server.mport, MOUNT, timeout=timeout, source=source)
        reply = mount.call(1, opaque(export.encode()))
        mount.close()
        status = reply.u32()
        if status:
            raise ConnectionError(f"mount of {export}: status {status}")
        self.root = reply.opaque()
        self.nfs = Connection(server.port, NFS, timeout=timeout, source=source, uid=uid)

    def close(self):
        self.nfs.close()

    def lookup(self, name, directory=None):
        reply = self.nfs.call(LOOKUP, opaque(directory or self.root) + opaque(name.encode()))
        status = reply.u32()
        return status, reply.opaque() if status == OK else b""

    def _make(self, procedure, name, directory, how):
        body = opaque(directory or self.root) + opaque(name.encode()) + how
        reply = self.nfs.call(procedure, body)
        status = reply.u32()
        return status, reply.opaque() if status == OK and reply.u32() else b""

    def create(self, name, directory=None):
        how = struct.pack(">8I", 0, 1, 0o666, 0, 0, 0, 0, 0)  # UNCHECKED, a mode, no more
        return self._make(CREATE, name, directory, how)

    def mkdir(self, name, directory=None):
        return self._make(MKDIR, name, directory, struct.pack(">7I", 1, 0o777, 0, 0, 0, 0, 0))

    def remove(self, name):
        return self.nfs.call(REMOVE, opaque(self.root) + opaque(name.encode())).u32()

    def getattr(self, fh):
        return self.nfs.call(GETATTR, opaque(fh)).u32()

    def attributes(self, fh):
        """None when GETATTR fails."""
        reply = self.nfs.call(GETATTR, opaque(fh))
        return reply.fattr() if reply.u32() == OK else None

    def truncate(self, fh, size):
        # no mode, uid, gid; the size; no times, no guard
        change = struct.pack(">IIIIQIII", 0, 0, 0, 1, size, 0, 0, 0)
        return self.nfs.call(SETATTR, opaque(fh) + change).u32()

    def set_times(self, fh, accessed, changed):
        """Both in whole seconds."""
        change = struct.pack(">IIIIIIIIIII", 0, 0, 0, 0, 2, accessed, 0, 2, changed, 0, 0)
        return self.nfs.call(SETATTR, opaque(fh) + change).u32()

    def rename(self, old, new):
        return self.nfs.call(RENAME, opaque(self.root) + opaque(old.encode())
                             + opaque(self.root) + opaque(new.encode())).u32()

    def link(self, fh, new):
        return self.nfs.call(LINK, opaque(fh) + opaque(self.root) + opaque(new.encode())).u32()

    @staticmethod
    def fsstat_result(reply):
        """(status, {tbytes, fbytes, abytes, tfiles, ffiles, afiles})"""
        status = reply.u32()
        reply.skip_attributes()
        names = ("tbytes", "fbytes", "abytes", "tfiles", "ffiles", "afiles")
        return status, {name: reply.u64() for name in names} if status == OK else {}

    def fsstat(self):
        return self.fsstat_result(self.nfs.call(FSSTAT, opaque(self.root)))

    @staticmethod
    def read_body(fh, offset, count):
        return opaque(fh) + struct.pack(">QI", offset, count)

    @staticmethod
    def read_result(reply):
        """(status, data)"""
        status = reply.u32()
        reply.skip_attributes()
        if status != OK:
            return status, b""
        reply.u32()
        reply.u32()
        return status, reply.opaque()

    def read(self, fh, offset, count):
        return self.read_result(self.nfs.call(READ, self.read_body(fh, offset, count)))

    def read_whole(self, fh, offset, count):
        reply = self.nfs.call(READ, self.read_body(fh, offset, count))
        status, attributes = reply.u32(), reply.attributes()
        if status != OK:
            return Got(status, attributes, 0, None, b"")
        return Got(status, attributes, reply.u32(), reply.u32(), reply.opaque())

    @staticmethod
    def write_body(fh, offset, data, stable=UNSTABLE):
        return opaque(fh) + struct.pack(">QII", offset, len(data), stable) + opaque(data)

    @staticmethod
    def write_result(reply):
        status = reply.u32()
        before, after = reply.changes()
        if status != OK:
            return Written(status, before, after, 0, 0, None)
        return Written(status, before, after, reply.u32(), reply.u32(), reply.verifier())

    def write(self, fh, offset, data, stable=UNSTABLE):
        """The status."""
        return self.write_whole(fh, offset, data, stable).status

    def write_whole(self, fh, offset, data, stable=UNSTABLE):
        return self.write_result(self.nfs.call(WRITE, self.write_body(fh, offset, data, stable)))

    @staticmethod
    def commit_body(fh, offset=0, count=0):
        return opaque(fh) + struct.pack(">QI", offset, count)

    @staticmethod
    def commit_result(reply):
        status = reply.u32()
        before, after = reply.changes()
        return Written(status, before, after, 0, 0, reply.verifier() if status == OK else None)

    def commit(self, fh, offset=0, count=0):
        return self.commit_result(self.nfs.call(COMMIT, self.commit_body(fh, offset, count)))

    def stream(self, fh, size, request=65536, outstanding=4):
        """Yields (offset, status, data) of a file read in order, `outstanding` at a time."""
        waiting, at = {}, 0
        while at < size or waiting:
            while at < size and len(waiting) < outstanding:
                waiting[self.nfs.send(READ, self.read_body(fh, at, request))] = at
                at += request
            xid, reply = self.nfs.receive()
            yield (waiting.pop(xid), *self.read_result(reply))
