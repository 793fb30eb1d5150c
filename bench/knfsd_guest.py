#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs in User-mode Linux, started by knfsd.py: the kernel's NFS server, on one file system.

    knfsd_guest.py SETTINGS        a JSON file, see knfsd.Server.settings()

It mounts the block device, tells the kernel what is exported, starts its threads, answers MOUNT
itself (one file handle, whatever path is asked for) and waits for a word on the control port:
"stop" unmounts and ends. What the kernel asks mountd for in other set-ups it is told beforehand, by
the same files of /proc/net/rpc; so no daemon but the port mapper is needed.
"""
import json
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading

MOUNT, EXPORT_FLAGS = "/mnt/disk", 0x2 | 0x20 | 0x400 | 0x2000  # insecure port, wdelay, no subtree
# check, fsid: those of an ordinary export with "insecure,sync,no_subtree_check,no_root_squash"
NEVER = 0x7fffffff
DOMAIN, FSID = "bench", 1
MOUNT_PROGRAM, OK, UNAVAILABLE = 100005, 0, 3


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def tune(device, settings):
    queue = f"/sys/block/{device}/queue"
    for name in ("rotational", "scheduler", "read_ahead_kb"):  # limits change the last
        write(f"{queue}/{name}", str(settings[name]))
    for name, value in settings["vm"].items():
        write(f"/proc/sys/vm/{name}", str(value))
    with open(f"{queue}/scheduler", encoding="ascii") as file:
        print(f"guest: {device}: {file.read().strip()}, read_ahead_kb {settings['read_ahead_kb']}")


def export():
    """The client, what it may mount, and how its handles are told apart; the root's handle."""
    rpc = "/proc/net/rpc"
    for client in clients():
        write(f"{rpc}/auth.unix.ip/channel", f"nfsd {client} {NEVER} {DOMAIN}\n")
    write(f"{rpc}/nfsd.export/channel",
          f"{DOMAIN} {MOUNT} {NEVER} {EXPORT_FLAGS} 65534 65534 {FSID}\n")
    fsid = struct.pack("<I", FSID).hex()
    write(f"{rpc}/nfsd.fh/channel", f"{DOMAIN} 1 \\x{fsid} {NEVER} {MOUNT}\n")
    file = os.open("/proc/fs/nfsd/filehandle", os.O_RDWR)
    os.write(file, f"{DOMAIN} {MOUNT} 64\n".encode())
    text = os.read(file, 4096).decode().strip()
    os.close(file)
    return bytes.fromhex(text.removeprefix("\\x"))


def clients():
    """Addresses that a client may have: the tap's network."""
    return [f"{SETTINGS['network']}.{n}" for n in range(1, 65)]


def serve_nfs(settings):
    write("/proc/fs/nfsd/max_block_size", f"{settings['max_block_size']}\n")
    write("/proc/fs/nfsd/versions", "+3 -4\n")
    write("/proc/fs/nfsd/portlist", f"tcp {settings['port']}\n")
    write("/proc/fs/nfsd/threads", f"{settings['threads']}\n")


def exactly(connection, length):
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Mount(socketserver.BaseRequestHandler):
    """MOUNT version 3: NULL, MNT and UMNT of the one export there is."""
    handle_of_root = b""

    def handle(self):
        try:
            while True:
                length = struct.unpack(">I", exactly(self.request, 4))[0] & 0x7fffffff
                call = exactly(self.request, length)
                xid, _, _, program, _, procedure = struct.unpack(">6I", call[:24])
                if program != MOUNT_PROGRAM:
                    return
                body = self.mounted() if procedure == 1 else b""
                reply = struct.pack(">6I", xid, 1, 0, 0, 0, 0) + body
                self.request.sendall(struct.pack(">I", 0x80000000 | len(reply)) + reply)
        except (EOFError, OSError):
            pass

    def mounted(self):
        root = self.handle_of_root
        padding = b"\0" * (-len(root) % 4)
        return struct.pack(">2I", OK, len(root)) + root + padding + struct.pack(">2I", 1, 1)


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def wait_for_stop(port):
    with socket.create_server(("0.0.0.0", port)) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                if connection.recv(64).startswith(b"stop"):
                    finish()
                    connection.sendall(b"stopped\n")
                    return


def finish():
    """No thread, no export, and the file system whole on the disk."""
    write("/proc/fs/nfsd/threads", "0\n")
    for cache in ("nfsd.fh", "nfsd.export", "auth.unix.ip"):
        write(f"/proc/net/rpc/{cache}/flush", f"{NEVER}\n")
    os.sync()
    subprocess.run(["umount", MOUNT], check=True)


def main():
    global SETTINGS
    with open(sys.argv[1], encoding="utf-8") as file:
        SETTINGS = json.load(file)
    device = SETTINGS["device"]
    tune(device, SETTINGS)
    os.makedirs(MOUNT)
    subprocess.run(["mount", "-t", SETTINGS["fs"], "-o", "noatime", f"/tmp/{device}", MOUNT],
                   check=True)
    subprocess.run(["mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd"], check=True)
    serve_nfs(SETTINGS)
    Mount.handle_of_root = export()
    server = Tcp(("0.0.0.0", SETTINGS["mport"]), Mount)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("guest: serving", flush=True)
    wait_for_stop(SETTINGS["control"])


if __name__ == "__main__":
    main()
