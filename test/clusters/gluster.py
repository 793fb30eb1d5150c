# SPDX-License-Identifier: LGPL-3.0-or-later
"""A GlusterFS volume on this machine: one brick, or a replica of several, in directories.

    with gluster.Gluster(work, [directory]) as cluster:
    with gluster.Gluster(work, [one, other], delay_ms=2) as cluster:     # a replica of two

glusterd refuses localhost as a brick's host: it listens at 127.0.0.2. The bricks are its children,
in a namespace of processes that ends with it.
"""
import ctypes
import ctypes.util
import glob
import os
import signal
import subprocess

import daemons
import e2e

HOST = "127.0.0.2"
VOLUME = "gv"
UP_SECONDS = 60
BEST = {"performance.read-ahead": "on", "performance.read-ahead-page-count": "16",
        "performance.io-cache": "on"}
CONF = """volume management
  type mgmt/glusterd
  option working-directory {work}/work
  option run-directory {work}/run
  option transport-type socket
  option transport.socket.bind-address {host}
  option transport.socket.listen-port 24007
  option glusterd-sockfile {work}/run/glusterd.socket
end-volume
"""


class Gluster:
    """`delay_ms`: what each read of a brick takes longer, or of `delayed` calls. `options`: of the
    volume."""
    name, path, fsal_name = "gluster", "/", "GLUSTER"
    # How old a byte may be that a read shows: vouched for so long (src/remote/use_once.h), by an
    # attribute that the client library keeps for a second.
    bound_s = 1.25 + 1
    end_is_loose = False
    fails_alone = True  # where the last brick with some data is away a READ of it fails
    sleeps_at_end = True  # libgfapi, of a gateway: ten seconds
    example = {"gluster1.example.net": HOST, "Volume = media": f"Volume = {VOLUME}"}
    example_pseudo = "/media"

    def __init__(self, work, bricks, delay_ms=0, options=None, delayed="read"):
        self.work, self.bricks = f"{work}/gluster", [f"{b}/brick" for b in bricks]
        self.delay_ms, self.delayed, self.options = delay_ms, delayed, options or {}
        self.daemon = self.native = None
        self.tuned = False

    def _cli(self, *words):
        done = subprocess.run(
            ["gluster", "--mode=script", f"--glusterd-sock={self.work}/run/glusterd.socket",
             f"--log-file={self.work}/log/cli.log", *words],
            check=False, text=True, capture_output=True, timeout=60)
        if done.returncode:
            raise daemons.Unavailable(f"gluster {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def _answers(self):
        try:
            self._cli("volume", "list")
            return True
        except daemons.Unavailable:
            return False

    def _settings(self):
        chosen = {"nfs.disable": "on", **self.options}
        if self.delay_ms:
            chosen.update({"debug.delay-gen": "posix", "delay-gen.delay-percentage": "100",
                           "delay-gen.delay-duration": str(int(self.delay_ms * 1000)),
                           "delay-gen.enable": self.delayed})
        return [word for pair in chosen.items() for word in pair]

    def up(self):
        daemons.need_fsal(self.fsal_name)
        daemons.need("glusterfs-server", "glusterd", "gluster")
        library()
        for name in ("work", "run", "log"):
            os.makedirs(f"{self.work}/{name}")
        os.makedirs("/run/gluster", exist_ok=True)
        for brick in self.bricks:
            os.makedirs(brick, exist_ok=True)
        e2e.at_exit(self.down)
        conf = f"{self.work}/glusterd.vol"
        with open(conf, "w", encoding="utf-8") as file:
            file.write(CONF.format(work=self.work, host=HOST))
        self.daemon = daemons.Daemon(
            f"{self.work}/glusterd.out", "glusterd", "-N", "-f", conf,
            "-p", f"{self.work}/run/glusterd.pid", "-l", f"{self.work}/log/glusterd.log",
            apart=True).start()
        daemons.await_or_tell(self._answers, UP_SECONDS, "glusterd answers", self.daemon)
        replica = ("replica", str(len(self.bricks))) if len(self.bricks) > 1 else ()
        self._cli("volume", "create", VOLUME, *replica,
                  *(f"{HOST}:{brick}" for brick in self.bricks), "force")
        self._cli("volume", "set", VOLUME, *self._settings())
        self._cli("volume", "start", VOLUME)
        daemons.await_or_tell(self.storage_is_up, UP_SECONDS, "the bricks are up", self.daemon)
        self.native = Native(self.work)
        e2e.at_exit(self.leave)  # before the daemons end: it waits for them
        return self

    def leave(self):
        if self.native:
            self.native.close()
        self.native = None

    def down(self):
        self.leave()
        if self.daemon:
            self.daemon.kill()
        self.daemon = None

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def _brick_process(self, brick):
        """The number of the process that serves it, as seen from here."""
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"glusterfsd") and brick.encode() in words:
                return int(path.split("/")[2])
        return None

    def stop_storage(self):
        """The last of the bricks goes, as in a crash."""
        os.kill(self._brick_process(self.bricks[-1]), signal.SIGKILL)

    def copies(self):
        return len(self.bricks)

    def start_storage(self):
        self._cli("volume", "start", VOLUME, "force")

    def storage_is_up(self):
        return all(self._brick_process(brick) for brick in self.bricks)

    def bytes_read(self):
        """By the bricks' processes, since they began: what clients write is among it."""
        found = 0
        for brick in self.bricks:
            with open(f"/proc/{self._brick_process(brick)}/io", encoding="ascii") as file:
                found += int(file.readline().split()[1])  # rchar
        return found

    def forget_ended(self):
        """Of a gateway that has ended nothing is left."""

    def drop_caches(self):
        """The bricks' page cache."""
        e2e.drop_caches()

    def fsal(self, path):
        return (f'FSAL {{ Name = GLUSTER; Hostname = "{HOST}"; Volume = "{VOLUME}";'
                f' Volpath = "{path}"; }}')

    def tune(self, on):
        """Gateways that start from now on: Gluster's own read-ahead and cache at their best, or as
        shipped."""
        if on != self.tuned:
            for option, best in BEST.items():
                self._cli("volume", *(("set", VOLUME, option, best) if on else
                                      ("reset", VOLUME, option)))
        self.tuned = on

    def tell_changes(self, on):
        """Gateways that start from now on are told when others change a file (upcalls)."""
        self._cli("volume", "set", VOLUME, "features.cache-invalidation", "on" if on else "off")

    def blocks(self, _):
        return ""

    def another_client(self):
        return Native(self.work)


def library():
    name = ctypes.util.find_library("gfapi")
    if not name:
        raise daemons.Unavailable("libgfapi is not installed (package libgfapi0)")
    lib = ctypes.CDLL(name, use_errno=True)
    for name in ("glfs_new", "glfs_open", "glfs_creat"):
        getattr(lib, name).restype = ctypes.c_void_p
    for name in ("glfs_pwrite", "glfs_pread"):
        getattr(lib, name).restype = ctypes.c_ssize_t
    return lib


class Native:
    """A client of the volume's own, by libgfapi. write() and truncate() return when the bricks
    have it: the library writes behind unless told to wait."""

    def __init__(self, work):
        self.lib = library()
        self.fs = ctypes.c_void_p(self.lib.glfs_new(VOLUME.encode()))
        self.lib.glfs_set_volfile_server(self.fs, b"tcp", HOST.encode(), 24007)
        self.lib.glfs_set_logging(self.fs, f"{work}/log/native.log".encode(), 4)
        self._good(self.lib.glfs_init(self.fs), "glfs_init")

    @staticmethod
    def _good(status, what):
        if status is None or status < 0:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
        return status

    def make_directory(self, path):
        self._good(self.lib.glfs_mkdir(self.fs, path.encode(), 0o777), "glfs_mkdir")

    def open(self, path, create=False):
        if create:
            found = self.lib.glfs_creat(self.fs, path.encode(), os.O_RDWR, 0o666)
        else:
            found = self.lib.glfs_open(self.fs, path.encode(), os.O_RDWR)
        return ctypes.c_void_p(self._good(found or -1, f"open of {path}"))

    def write(self, file, offset, data):
        self._good(self.lib.glfs_pwrite(file, data, ctypes.c_size_t(len(data)),
                                        ctypes.c_int64(offset), 0, None, None), "glfs_pwrite")
        self.settle(file)

    def read(self, file, offset, length):
        buffer = ctypes.create_string_buffer(length)
        got = self._good(self.lib.glfs_pread(file, buffer, ctypes.c_size_t(length),
                                             ctypes.c_int64(offset), 0, None), "glfs_pread")
        return buffer.raw[:got]

    def truncate(self, file, size):
        self._good(self.lib.glfs_ftruncate(file, ctypes.c_int64(size), None, None),
                   "glfs_ftruncate")
        self.settle(file)

    def counts(self, path):
        """What the volume says of itself, by the names that FSSTAT has for it."""
        found = (ctypes.c_ulong * 16)()  # struct statvfs: eight numbers that matter, and others
        self._good(self.lib.glfs_statvfs(self.fs, path.encode(), found), "glfs_statvfs")
        _, unit, blocks, free, available, *files = found[:8]
        return {"tbytes": blocks * unit, "fbytes": free * unit, "abytes": available * unit,
                **dict(zip(("tfiles", "ffiles", "afiles"), files))}

    def settle(self, file):
        self._good(self.lib.glfs_fsync(file, None, None), "glfs_fsync")

    def shut(self, file):
        self.lib.glfs_close(file)

    def remove(self, path):
        self._good(self.lib.glfs_unlink(self.fs, path.encode()), "glfs_unlink")

    def close(self):
        self.lib.glfs_fini(self.fs)
