# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the tests of writing share: sets of settings that servers run with, and a disk with such
servers on it. A parameter that the plugin does not know fails the test: e2e.Server.start()."""
import collections
import sys
import time

import e2e
import modelled_disk

Config = collections.namedtuple("Config", "name server export module")
CONFIGS = [
    Config("stock", "stock", {}, {}),
    Config("ra", "ra", {}, {}),
    # Everything is queued and goes to the disk at once, writers are always paced, few files are
    # known.
    Config("eager", "ra", {"Writeback_Delay": 0, "Writeback_Idle": 0, "Writeback_Chunk": 65536,
                           "Write_Delay_Max": 20, "Queue_Depth": 1},
           {"Dirty_Budget": 1 << 20, "Writeback_Files": 2}),
    # Nothing does before COMMIT.
    Config("idle", "ra", {"Writeback_Delay": 30000, "Writeback_Share": 1, "Writeback_Idle": 1000,
                          "Writeback_Chunk": 256 << 20, "Writeback_Max_Age": 30000}, {}),
    Config("off", "ra", {"Writeback": "false"}, {}),
]
EARLY = ("ra", "eager")  # these write out within seconds, by themselves


class Place:
    """A disk, a directory for servers, and servers on it."""

    def __init__(self, mechdisk, plugin, size_mb=384, fs="ext4", record=None, options=""):
        self.work, self.plugin, self.servers = e2e.work_directory(), plugin, []
        self.record = f"{self.work}/{record}" if record else None
        self.disk = modelled_disk.for_test(self.work, mechdisk, size_mb, fs=fs, record=self.record,
                                           options=options)
        self.mount = self.disk.mount

    def serve(self, config, extra=""):
        listed = [{"id": 1, "path": self.mount, "pseudo": "/e1"}]
        self.servers.append(server(config, listed, self.work, self.plugin, extra=extra))
        return self.servers[-1].start()

    def remount(self):
        """What is read afterwards comes from the disk."""
        self.disk.timing(False)
        e2e.run("umount", self.mount)
        e2e.run("mount", "-o", self.disk.options, self.disk.loop, self.mount)

    def close(self):
        for server in self.servers:
            server.stop()
        self.disk.down()


def ends_well(server, what):
    status = server.stop()
    e2e.check(status == 0, f"{what}: the server ends cleanly",
              f"status {status}\n{server.log_text()[-2000:]}")


def chosen(text):
    """(plugin, config) of an argument: stock, PLUGIN or PLUGIN:CONFIG."""
    plugin, _, name = text.partition(":")
    if plugin == "stock":
        name, plugin = plugin, None
    else:
        e2e.plugin_from([plugin], "")
    return plugin, named(name or "ra")


def named(name):
    return next(c for c in CONFIGS if c.name == name)


def server(config, listed, work, plugin, **more):
    """A server with these settings, not started; `listed` are its exports, without params."""
    module = " ".join(f"{k} = {v};" for k, v in config.module.items())
    for export in listed:
        export["params"] = dict(config.export)
    return e2e.Server(config.server, listed, work, plugin, ra=module, **more)


def run(tests, doc, arguments):
    """Each of `tests` {name: function(mechdisk, plugin, config)} with each of CONFIGS, or
    those that the arguments MECHDISK PLUGIN [TEST[:CONFIG]...] name."""
    if len(arguments) < 2:
        sys.exit(doc.splitlines()[0])
    mechdisk, plugin = arguments[0], e2e.plugin_from(arguments[1:], doc)
    e2e.enter(("mkfs.xfs",))
    for wanted in arguments[2:] or tests:
        name, _, only = wanted.partition(":")
        for config in CONFIGS:
            if only in ("", config.name):
                began = time.monotonic()
                e2e.note(f"{name}: {config.name}")
                tests[name](mechdisk, plugin, config)
                e2e.note(f"{name}: {config.name}: {time.monotonic() - began:.1f} s")
    e2e.finish()
