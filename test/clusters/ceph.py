# SPDX-License-Identifier: LGPL-3.0-or-later
"""A Ceph cluster on this machine: one monitor, one MDS, OSDs in memory or on block devices.

    with ceph.Ceph(work, delay_ms=2) as cluster:    # in memory, replies 2 ms late in the mean
    with ceph.Ceph(work, devices=["/dev/loop0"]) as cluster:

It listens at 127.0.0.1 of the namespace that it is started in. It is asked and told by librados,
for the program `ceph` takes half a second each time. Without a manager, which only statistics need.
"""
import json
import os
import re
import uuid

import daemons
import e2e

PORTS = "[v2:127.0.0.1:3300,v1:127.0.0.1:6789]"
UP_SECONDS = 60
NO_READ_AHEAD = "client_readahead_max_bytes = 1\n"  # 0: without a limit
USER = "nfs"  # of gateways: what is set for it alone holds
ALL = "allow *"
BEST = "client_readahead_min = 4194304\n"
CONF = """[global]
fsid = {fsid}
mon_host = {ports}
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
keyring = {work}/keyring
osd_pool_default_size = {osds}
osd_pool_default_min_size = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
auth_allow_insecure_global_id_reclaim = false
mon_osd_down_out_interval = 0
mon_osd_min_down_reporters = 1
osd_heartbeat_grace = 5
osd_heartbeat_interval = 1
run_dir = {work}/run
pid_file =
log_file = {work}/$name.log
admin_socket = {work}/run/$name.asok
mon_data = {work}/mon
osd_data = {work}/osd.$id
mds_data = {work}/mds
osd_memory_target = 1073741824
bluestore_default_buffered_read = false
{store}
[client]
admin_socket = {work}/run/$name.$pid.$cctid.asok
log_file = {work}/client.$pid.log
{client}
"""


class Ceph:
    """`delay_ms`: the mean time by which each answer reaches a client late, up to twice as much."""
    name, path, fsal_name = "ceph", "/bench", "CEPH"
    sleeps_at_end = False  # libcephfs, of a gateway
    bound_s = 0  # how old a byte may be that a read shows
    # libcephfs 16 answers a READ across the end of a file that another makes longer with bytes from
    # further on: those before the old end are lost. The stock FSAL does so too.
    end_is_loose = True
    fails_alone = False  # where the last OSD with some data is away who reads it waits
    example_pseudo = "/media"

    def __init__(self, work, devices=(), osds=1, delay_ms=0):
        self.work, self.devices, self.delay_ms = f"{work}/ceph", list(devices), delay_ms
        self.osds = len(self.devices) or osds
        self.conf, self.ra_conf = f"{self.work}/ceph.conf", f"{self.work}/ceph-ra.conf"
        self.example = {"/etc/ceph/ceph.conf": self.ra_conf, "Path = /media": f"Path = {self.path}",
                        'User_Id = "nfs"': f'User_Id = "{USER}"'}
        self.daemons = {}
        self.rados = self.native = None

    # ---- bring-up ----

    def _write_conf(self):
        delay = "" if not self.delay_ms else (
            f"ms_inject_delay_type = osd\nms_inject_delay_max = {self.delay_ms * 2 / 1000}\n"
            "ms_inject_delay_probability = 1\n")
        store = "" if self.devices else ("osd_objectstore = memstore\n"
                                         f"memstore_device_bytes = {2 << 30}")
        fsid = uuid.uuid4()
        own = f"[client.{USER}]\n{NO_READ_AHEAD}"
        for path, more in ((self.conf, ""), (self.ra_conf, own)):
            with open(path, "w", encoding="utf-8") as conf:
                conf.write(CONF.format(fsid=fsid, ports=PORTS, work=self.work, osds=self.osds,
                                       store=store, client=delay))
                for number, device in enumerate(self.devices):
                    conf.write(f"[osd.{number}]\nbluestore_block_path = {device}\n")
                conf.write(more)

    def _key(self, name, **caps):
        listed = [word for which, what in caps.items() for word in ("--cap", which, what)]
        create = [] if os.path.exists(f"{self.work}/keyring") else ["-C"]
        e2e.run("ceph-authtool", *create, f"{self.work}/keyring", "--gen-key", "-n", name, *listed)

    def _keys(self):
        self._key("mon.", mon=ALL)
        for client in ("admin", USER):
            self._key(f"client.{client}", mon=ALL, osd=ALL, mds=ALL, mgr=ALL)
        self._key("mds.a", mon="allow profile mds", osd=ALL, mds="allow")
        for number in range(self.osds):
            self._key(f"osd.{number}", mon="allow profile osd", osd=ALL)

    def _start(self, kind, name):
        daemon = daemons.Daemon(f"{self.work}/{kind}.{name}.out", f"ceph-{kind}", "-f",
                                "-c", self.conf, "-i", str(name))
        self.daemons[f"{kind}.{name}"] = daemon.start()
        return daemon

    def _make(self, kind, name, *more):
        e2e.run(f"ceph-{kind}", "-c", self.conf, "-i", str(name), "--mkfs",
                "--keyring", f"{self.work}/keyring", *more)

    def _monitor(self):
        self._make("mon", "a")
        self._start("mon", "a")
        self.rados = rados_module().Rados(conffile=self.conf)
        self.rados.connect(timeout=UP_SECONDS)

    def tell(self, prefix, **arguments):
        """The answer of a command of the monitor's, of those that have one."""
        status, out, said = self.rados.mon_command(
            json.dumps({"prefix": prefix, "format": "json", **arguments}), b"", timeout=30)
        if status:
            raise daemons.Unavailable(f"ceph {prefix}: {said}")
        return json.loads(out) if out.strip() else None

    def _pools(self):
        for name in ("data", "meta"):
            self.tell("osd pool create", pool=name, pg_num=8)
        self.tell("fs new", fs_name="cephfs", metadata="meta", data="data")

    def _file_system(self):
        def active():
            states = self.tell("mds stat")["fsmap"]["filesystems"][0]["mdsmap"]["info"].values()
            return any(s["state"] == "up:active" for s in states)
        daemons.await_or_tell(active, UP_SECONDS, "no active MDS", *self.daemons.values())

    def up(self):
        daemons.need_fsal(self.fsal_name)
        daemons.need("ceph-mon, ceph-osd, ceph-mds", "ceph-mon", "ceph-osd", "ceph-mds",
                     "ceph-authtool")
        rados_module(), cephfs_module()
        for name in ("mon", "mds", "run", *(f"osd.{n}" for n in range(self.osds))):
            os.makedirs(f"{self.work}/{name}")
        e2e.at_exit(self.down)
        self._write_conf()
        self._keys()
        self._monitor()
        for number in range(self.osds):
            one = str(uuid.uuid4())
            self.tell("osd new", uuid=one)
            self._make("osd", number, "--osd-uuid", one)
            self._start("osd", number)
        self._pools()
        self._start("mds", "a")
        self._file_system()
        self.native = Native(self.conf)
        e2e.at_exit(self.leave)  # before the daemons end: it waits for them
        self.native.make_directory(self.path)
        return self

    def leave(self):
        if self.native:
            self.native.close()
        if self.rados:
            self.rados.shutdown()
        self.native = self.rados = None

    def down(self):
        self.leave()
        for name in sorted(self.daemons):  # none waits for another: all of it is thrown away
            self.daemons[name].kill()

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    # ---- what a test does with it ----

    def stop_storage(self):
        """The last of the OSDs goes, as in a crash; in memory it keeps its data only by ending
        well."""
        daemon = self.daemons[f"osd.{self.osds - 1}"]
        if self.devices:
            daemon.kill()
        else:
            daemon.stop(60)

    def copies(self):
        return self.osds

    def bytes_read(self):
        """By clients of the OSDs, since those began."""
        return sum(daemons.asked_by_socket(f"{self.work}/run/osd.{n}.asok", "perf dump")
                   ["osd"]["op_r_out_bytes"] for n in range(self.osds))

    def start_storage(self):
        self._start("osd", self.osds - 1)

    def storage_is_up(self):
        return all(osd["up"] for osd in self.tell("osd dump")["osds"])

    def forget_ended(self):
        """FSAL_CEPH leaves its sessions, so that it can go on where it was; for minutes nobody gets
        what they hold. Those of gateways that have ended go."""
        for session in self.native.tell("session ls"):
            pid = session["client_metadata"].get("pid")
            if pid and not os.path.exists(f"/proc/{pid}"):
                self.native.tell("session evict", filters=[f"id={session['id']}"])

    def drop_caches(self):
        """Nothing is cached but by the clients: BlueStore reads past the page cache, unbuffered."""

    def fsal(self, _):
        """The FSAL block of an export of that path."""
        return f'FSAL {{ Name = CEPH; User_Id = "{USER}"; }}'

    def delay(self, ms):
        """Gateways that start from now on get their answers so late, in the mean; only of a cluster
        that had a delay."""
        for path in self.conf, self.ra_conf:
            with open(path, encoding="utf-8") as conf:
                text = conf.read()
            with open(path, "w", encoding="utf-8") as conf:
                conf.write(re.sub(r"(ms_inject_delay_max) = .*", rf"\1 = {ms * 2 / 1000}", text))

    def set_for_gateways(self, settings=NO_READ_AHEAD):
        """For gateways with the plugin that start from now on: in ceph.conf, for their user."""
        with open(self.ra_conf, encoding="utf-8") as conf:
            text = conf.read().partition(f"[client.{USER}]")[0]
        with open(self.ra_conf, "w", encoding="utf-8") as conf:
            conf.write(f"{text}[client.{USER}]\n{settings}\n")

    def tune(self, on):
        """Gateways without the plugin that start from now on: the library's own read-ahead at its
        best here."""
        with open(self.conf, encoding="utf-8") as conf:
            text = conf.read().replace(BEST, "")
        with open(self.conf, "w", encoding="utf-8") as conf:
            conf.write(text.replace("[client]\n", f"[client]\n{BEST if on else ''}", 1))

    def blocks(self, kind):
        """Of a configuration, beside the exports. Above the plugin the library does not read ahead
        itself."""
        return f"CEPH {{ Ceph_Conf = {self.ra_conf if kind == 'ra' else self.conf}; }}\n"

    def another_client(self):
        return Native(self.conf)


def rados_module():
    try:
        import rados
    except ImportError as error:
        raise daemons.Unavailable("python3-rados is not installed") from error
    return rados


def cephfs_module():
    try:
        import cephfs
    except ImportError as error:
        raise daemons.Unavailable("python3-cephfs is not installed") from error
    return cephfs


class Native:
    """A client of the cluster's own, which knows nothing of a gateway. What it wrote is seen by
    all others when write() returns: whoever reads it makes it give up its capability first."""

    def __init__(self, conf):
        self.conf, self.fs = conf, cephfs_module().LibCephFS(conffile=conf)
        self.fs.mount()

    def make_directory(self, path):
        self.fs.mkdirs(path, 0o777)
        self.fs.chmod(path, 0o777)

    def tell(self, prefix, **arguments):
        """The answer of a command of the MDS."""
        status, out, said = self.fs.mds_command(
            "a", json.dumps({"prefix": prefix, "format": "json", **arguments}), b"")
        if status:
            raise OSError(-status, f"mds {prefix}: {said}")
        return json.loads(out) if out.strip() else None

    def open(self, path, create=False):
        return self.fs.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o666)

    def write(self, file, offset, data):
        self.fs.write(file, data, offset)

    def read(self, file, offset, length):
        return self.fs.read(file, offset, length)

    def truncate(self, file, size):
        self.fs.ftruncate(file, size)

    def counts(self, path):
        """What the cluster says of a directory to who has mounted that, by the names that FSSTAT has
        for it."""
        fs = cephfs_module().LibCephFS(conffile=self.conf)
        fs.mount(mount_root=path.encode())
        found = fs.statfs("/")
        fs.unmount()
        fs.shutdown()
        return {"tbytes": found["f_blocks"] * found["f_frsize"],
                "fbytes": found["f_bfree"] * found["f_frsize"],
                "abytes": found["f_bavail"] * found["f_frsize"], "tfiles": found["f_files"],
                "ffiles": found["f_ffree"], "afiles": found["f_favail"]}

    def settle(self, file):
        self.fs.fsync(file, 0)

    def shut(self, file):
        self.fs.close(file)

    def remove(self, path):
        self.fs.unlink(path)

    def close(self):
        self.fs.unmount()
        self.fs.shutdown()
