# SPDX-License-Identifier: LGPL-3.0-or-later
"""The servers that bench/compare sets side by side: what each is, by its name in the tables.

    stock   Ganesha's VFS                tuned   with a read_ahead_kb chosen by hand
    ra      the plugin above it          bfq     stock, the device under the kernel's BFQ
    strict  stock, the kernel keeping at most STRICT_BYTES of the device's data dirty
    tuned16 stock with a read_ahead_kb of 16384
    knfsd   the kernel's own server, in a guest (knfsd.py), and knfsdbfq under BFQ: for works that read

A setting is a dict: kind (of testbed.Server), read_ahead_kb, fsal and ra (parameters), and where they
differ from the disk's own: scheduler (of the block device), strict (bytes), plugin (the file, where it
is another build's).
"""
import os
import re
import sys

import isolation
import knfsd
import testbed

MIB = 1024 * 1024
STRICT_BYTES = 8 * MIB
TUNED_KB = 2560  # the read_ahead_kb that administrators choose for such disks
NAMES = ("stock", "tuned", "ra", "bfq", "strict", "tuned16", "knfsd", "knfsdbfq")
PARAMETERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "fsal_ra",
                          "params.def")


def assignments(items, option):
    """Heuristic=cursor,Scheduler=turns … as a dict."""
    pairs = {}
    for item in items:
        for part in filter(None, item.split(",")):
            key, equals, value = part.partition("=")
            if not equals or not key or not value:
                sys.exit(f"compare: {option} {item}: must be KEY=VALUE, several with commas")
            pairs[key] = value
    return pairs


def of_global_block():
    """The names, in small letters, of the parameters of the plugin's global RA block."""
    with open(PARAMETERS, encoding="utf-8") as table:
        return {name.lower() for name in re.findall(r"^RA_\w+\(MODULE, (\w+),", table.read(), re.M)}


def variant_of(fsal, block, rest):
    """The plugin with the settings REST on top of those, each in the block that it belongs to."""
    ours = of_global_block()
    own = assignments([rest], "--variant")
    return {"kind": "ra",
            "ra": {**block, **{k: v for k, v in own.items() if k.lower() in ours}},
            "fsal": {**fsal, **{k: v for k, v in own.items() if k.lower() not in ours}}}


def variants(items, program, known, fsal, block):
    """{name: setting} of the items NAME:KEY=VALUE,… of the program's --variant; KNOWN names are taken."""
    found = {}
    for variant in items:
        name, colon, rest = variant.partition(":")
        if not colon or not name or name in known:
            sys.exit(f"{program}: --variant {variant}: must be NAME:KEY=VALUE,… with a new name")
        found[name] = variant_of(fsal, block, rest)
    return found


def settings(options):
    """Of the servers and variants that the command line names, in its order."""
    fsal = assignments(options.ra_option, "--ra-option")
    block = assignments(options.ra_block, "--ra-block")
    known = {
        "stock": {},
        "tuned": {"read_ahead_kb": options.tuned_read_ahead_kb},
        "ra": {"kind": "ra", "fsal": fsal, "ra": block},
        "bfq": {"scheduler": "bfq"},
        "strict": {"strict": STRICT_BYTES},
        "tuned16": {"read_ahead_kb": 16384},
        "knfsd": {"kind": "knfsd"},
        "knfsdbfq": {"kind": "knfsd", "scheduler": "bfq"},
    }
    found = {}
    for name in options.servers.split(","):
        if name not in known:
            sys.exit(f"compare: --servers {name}: must be of {', '.join(NAMES)}")
        found[name] = known[name]
    found.update(variants(options.variant, "compare", known, fsal, block))
    for beside in options.beside:
        name, colon, path = beside.partition(":")
        if not colon or not name or name in known or name in found:
            sys.exit(f"compare: --beside {beside}: must be NAME:LIBFSALRA.SO with a new name")
        if not os.path.isfile(path):
            sys.exit(f"compare: --beside {beside}: no such file")
        found[name] = {"kind": "ra", "fsal": fsal, "ra": block, "plugin": os.path.abspath(path)}
    base = {"kind": "stock", "read_ahead_kb": options.read_ahead_kb, "fsal": {}, "ra": {}}
    return {name: {**base, **setting} for name, setting in found.items()}


def missing(setting, disk):
    """What this machine lacks for the setting, None if nothing; `disk` is up."""
    if setting["kind"] == "knfsd":
        return knfsd.lacking() or (None if disk.modelled else "a guest needs a modelled disk")
    if setting.get("scheduler") and not disk.has_scheduler(setting["scheduler"]):
        return f"no I/O scheduler {setting['scheduler']} for the disk"
    if setting.get("strict") and not disk.has_strict_limit():
        return "no strict_limit and max_bytes of the disk in /sys/class/bdi (Linux 6.2)"
    return None


def prepare(setting, disk):
    """The disk as the server wants it; limits first, for the kernel may change what follows."""
    if setting["kind"] == "knfsd":
        return  # the guest has a device of its own
    disk.set_scheduler(setting.get("scheduler"))
    disk.set_strict_limit(setting.get("strict", 0))
    disk.set_read_ahead(setting["read_ahead_kb"])


def knows_shares(plugin):
    """Whether that build of the plugin has weights and floors."""
    with open(plugin, "rb") as file:
        return b"Floor_Bandwidth" in file.read()


def start(setting, disk, work, plugin):
    """A server as the setting says, not yet started; it is told of the work's weights and floors if
    it can have any."""
    if setting["kind"] == "knfsd":
        return knfsd.Server(disk, setting["read_ahead_kb"], setting.get("scheduler"))
    exports, rules = [], ""
    if work.clients:
        rules, second = isolation.shares_config(work.clients, disk.mount)
        shared = setting["kind"] == "ra" and knows_shares(plugin)
        rules = rules if shared else ""
        if second:
            floor = {"Floor_Bandwidth": second["floor"]} if shared else {}
            exports = [{"id": 2, "path": second["path"], "pseudo": second["path"],
                        "params": {**setting["fsal"], **floor}}]
    return testbed.Server(kind=setting["kind"], path=disk.mount, fsal=setting["fsal"],
                          ra=setting["ra"], plugin=plugin, exports=exports, ra_rules=rules)


def labels(servers):
    """Names for a legend."""
    texts = {}
    for name, s in servers.items():
        kind = {"stock": "stock VFS", "knfsd": "Linux's nfsd in a guest"}.get(
            s["kind"], "read-ahead plugin")
        if s.get("plugin"):
            kind += f" of {s['plugin']}"
        extra = [f"{k} {v}" for k, v in {**s["fsal"], **s["ra"]}.items()]
        if s.get("scheduler"):
            extra.append(f"I/O scheduler {s['scheduler']}")
        if s.get("strict"):
            extra.append(f"strict_limit, max_bytes {s['strict'] // MIB} MiB")
        texts[name] = f"{name}: {kind}, read_ahead_kb {s['read_ahead_kb']}" \
            + "".join(f", {e}" for e in extra)
    return texts
