#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A plugin that does not fit takes no server down: test_misfit.py GATE PLUGIN FIT-CHECK

Servers with two exports, one of FSAL_VFS and one with RA above it, load the gate (src/gate) as they
do where the package is installed. With the plugin that fits both are served. With one that does not
(a symbol missing, a structure otherwise, a crash, no file), the server serves the first, the second
is not there, and the log says why. fit-check says the same without a server.
"""
import os
import shutil
import subprocess
import sys

import e2e
import fake_core
import nfs3

SIZE = 1 << 20
CRASHES = "int ra_fit(void *out) { __builtin_trap(); }"


class Server(e2e.Server):
    """With the gate and, below it, the plugin; `core` is a directory with another core library."""

    def __init__(self, work, name, gate, plugin, core=None):
        exports = [{"id": 1, "path": f"{work}/export", "pseudo": "/e1", "params": {}}]
        super().__init__("ra", exports, work, wrap=("env", f"LD_LIBRARY_PATH={core or ''}"))
        self.directory = f"{work}/{name}"
        os.makedirs(f"{self.directory}/ra")
        for library in e2e.distribution_fsals():
            os.symlink(library, f"{self.directory}/{os.path.basename(library)}")
        shutil.copy(gate, f"{self.directory}/libfsalra.so")
        if plugin:
            shutil.copy(plugin, f"{self.directory}/ra/libfsalra.so")
        self.extra = (f"EXPORT {{ Export_Id = 9; Path = {work}/plain; Pseudo = /plain;"
                      " Squash = none; Protocols = 3; FSAL { Name = VFS; } }\n")

    def plugins(self):
        return f"Plugins_Dir = {self.directory};"


def reads(server, export):
    """The bytes of a file of the export's, or None where it is not served."""
    try:
        client = nfs3.Client(server, export)
    except (OSError, RuntimeError):
        return None
    _, fh = client.lookup("f0")
    data = b"".join(client.read(fh, at, 65536)[1] for at in range(0, SIZE, 65536))
    client.close()
    return data


def fits(work, gate, plugin):
    server = Server(work, "fits", gate, plugin).start()
    e2e.check(reads(server, "/e1") == e2e.pattern(0, 0, SIZE), "fits: RA's export is served")
    e2e.check(reads(server, "/plain") == e2e.pattern(0, 0, SIZE), "fits: the other too")
    e2e.check(server.stop() == 0 and server.stats(), "fits: the server ends well",
              server.log_text()[-2000:])


def misfit(work, name, files, why):
    """files: gate, plugin, directory of another core library."""
    server = Server(work, name, *files)
    try:
        server.start()
    except RuntimeError as error:
        e2e.check(False, f"{name}: the server starts", error)
        return
    log = server.log_text()
    said = [line for line in log.splitlines() if "does not fit this server" in line]
    e2e.check(len(said) == 1 and "CRIT" in said[0] and why in said[0],
              f"{name}: the log says \"{why}\"", "\n".join(said) or log[-3000:])
    e2e.check(reads(server, "/plain") == e2e.pattern(0, 0, SIZE), f"{name}: FSAL_VFS is served")
    e2e.check(reads(server, "/e1") is None, f"{name}: RA's export is not there")
    e2e.check(server.stop() == 0, f"{name}: the server ends well", server.log_text()[-2000:])


def check_by_hand(name, fit_check, plugin, core, status, why):
    library = f"{core}/{os.path.basename(fake_core.library())}" if core else fake_core.library()
    result = subprocess.run([fit_check, plugin, library], check=False, capture_output=True,
                            text=True)
    e2e.check(result.returncode == status and why in result.stdout,
              f"{name}: fit-check says \"{why}\"", result.stdout + result.stderr)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    gate, plugin, fit_check = sys.argv[1:]
    e2e.enter(needed=("cc", "nm"))
    work = e2e.work_directory()
    for directory in ("export", "plain", "core-symbol", "core-slot"):
        os.mkdir(f"{work}/{directory}")
    for directory in ("export", "plain"):
        e2e.mount_image(e2e_image(work, directory), f"{work}/{directory}")
        e2e.make_files(f"{work}/{directory}", 1, SIZE)
    symbol = fake_core.only_ours(plugin)
    fake_core.without_symbol(f"{work}/core-symbol", symbol)
    fake_core.with_slot(f"{work}/core-slot")
    stub = f"{work}/crashes.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", stub], input=CRASHES, text=True,
                   check=True)

    fits(work, gate, plugin)
    missing = f"undefined symbol: {symbol}"
    slot = "FAIL struct fsal_obj_ops"
    misfit(work, "symbol", (gate, plugin, f"{work}/core-symbol"), missing)
    misfit(work, "slot", (gate, plugin, f"{work}/core-slot"), slot)
    misfit(work, "crash", (gate, stub), "ended by signal")
    misfit(work, "nothing", (gate, None), "cannot open shared object file")
    check_by_hand("fits", fit_check, plugin, None, 0, "fits")
    check_by_hand("symbol", fit_check, plugin, f"{work}/core-symbol", 1, missing)
    check_by_hand("slot", fit_check, plugin, f"{work}/core-slot", 1, slot)
    e2e.finish()


def e2e_image(work, name):
    image = f"{work}/{name}.img"
    e2e.run("truncate", "-s", "16M", image)
    e2e.run("mkfs.ext4", "-q", "-F", image)
    return image


main()
