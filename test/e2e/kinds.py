# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the tests of writing share: kinds of servers, and a disk with servers of a kind on it."""
import collections
import sys
import time

import e2e
import modelled_disk

Kind = collections.namedtuple("Kind", "name server export module")
KINDS = [
    Kind("stock", "stock", {}, {}),
    Kind("ra", "ra", {}, {}),
    # Everything goes to the disk at once, writers are always paced, few files are known.
    Kind("hasty", "ra", {"Writeback_Delay": 0, "Writeback_Idle": 0, "Writeback_Chunk": 65536,
                         "Write_Delay_Max": 20},
         {"Dirty_Budget": 1 << 20, "Writeback_Files": 2}),
    # Nothing does before COMMIT.
    Kind("idle", "ra", {"Writeback_Delay": 30000, "Writeback_Share": 1, "Writeback_Idle": 1000,
                        "Writeback_Chunk": 256 << 20, "Writeback_Max_Age": 30000}, {}),
    Kind("off", "ra", {"Writeback": "false"}, {}),
]



class Place:
    """A disk, a directory for servers, and servers of a kind on it."""

    def __init__(self, mechdisk, plugin, size_mb=384, fs="ext4", record=None):
        self.work, self.plugin, self.servers = e2e.work_directory(), plugin, []
        self.record = f"{self.work}/{record}" if record else None
        self.disk = modelled_disk.for_test(self.work, mechdisk, size_mb, fs=fs, record=self.record)
        self.mount = self.disk.mount

    def serve(self, kind, extra=""):
        listed = [{"id": 1, "path": self.mount, "pseudo": "/e1"}]
        self.servers.append(server(kind, listed, self.work, self.plugin, extra=extra))
        return self.servers[-1].start()

    def remount(self):
        """What is read afterwards comes from the disk."""
        self.disk.timing(False)
        e2e.run("umount", self.mount)
        e2e.run("mount", "-o", "noatime", self.disk.loop, self.mount)

    def close(self):
        for server in self.servers:
            server.stop()
        self.disk.down()


def ends_well(server, what):
    status = server.stop()
    e2e.check(status == 0, f"{what}: the server ends cleanly",
              f"status {status}\n{server.log_text()[-2000:]}")


def chosen(text):
    """(plugin, kind) of an argument: stock, PLUGIN or PLUGIN:KIND."""
    plugin, _, name = text.partition(":")
    if plugin == "stock":
        name, plugin = plugin, None
    else:
        e2e.plugin_from([plugin], "")
    return plugin, next(k for k in KINDS if k.name == (name or "ra"))


def server(kind, listed, work, plugin, **more):
    """A server of the kind, not started; `listed` are its exports, without params."""
    module = " ".join(f"{k} = {v};" for k, v in kind.module.items())
    for export in listed:
        export["params"] = dict(kind.export)
    return e2e.Server(kind.server, listed, work, plugin, ra=module, **more)


def known(kind, plugin):
    """Whether the plugin has the settings of the kind."""
    with open(plugin, "rb") as f:
        text = f.read()
    return all(name.encode() in text for name in (*kind.export, *kind.module))


def run(tests, doc, arguments):
    """Each of `tests` {name: function(mechdisk, plugin, kind)} with each kind, or those that the
    arguments MECHDISK PLUGIN [TEST[:KIND]...] name."""
    if len(arguments) < 2:
        sys.exit(doc.splitlines()[0])
    mechdisk, plugin = arguments[0], e2e.plugin_from(arguments[1:], doc)
    e2e.enter(("mkfs.xfs",))
    KINDS[:] = [k for k in KINDS if k.server == "stock" or known(k, plugin)]
    for wanted in arguments[2:] or tests:
        name, _, only = wanted.partition(":")
        for kind in KINDS:
            if only in ("", kind.name):
                began = time.monotonic()
                e2e.note(f"{name}: {kind.name}")
                tests[name](mechdisk, plugin, kind)
                e2e.note(f"{name}: {kind.name}: {time.monotonic() - began:.1f} s")
    e2e.finish()
