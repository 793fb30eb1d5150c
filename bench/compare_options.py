# SPDX-License-Identifier: LGPL-3.0-or-later
"""The command line of bench/compare: its options, their ranges and defaults, and what follows from
them alone."""
import argparse

import ageing
import disks
import machine
import servers
import workloads
from experiments import rounds

MIB = workloads.MIB


def make_work(name, options):
    return workloads.make(name, size=options.size, mixed_size=options.mixed_size,
                      mixed_seconds=options.mixed_seconds, oltp_seconds=options.oltp_seconds,
                      random_count=options.random_count,
                      request=options.request, outstanding=options.outstanding)


def bytes_type(low, high):
    def parse(text):
        units = {"K": 10, "M": 20, "G": 30}
        digits = text[:-1] if text and text[-1].upper() in units else text
        if not digits.isdigit():
            raise argparse.ArgumentTypeError(f"{text}: a number, with K, M or G")
        value = int(digits) << (units[text[-1].upper()] if digits != text else 0)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: must be {low} to {high}")
        return value
    return parse


def int_type(low, high):
    def parse(text):
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text}: must be {low} to {high}")
        return int(text)
    return parse


def runs_of(text):
    """{work: rounds} of "seq1,seq8:3"."""
    names, colon, number = text.rpartition(":")
    try:
        found = workloads.expand(names)
        for name in found:
            workloads.make(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not colon:
        raise argparse.ArgumentTypeError(f"{text}: must be works, a colon and a number")
    return dict.fromkeys(found, int_type(1, 100)(number))


def parse_options(about):
    """Of this program, which says ABOUT of itself."""
    p = argparse.ArgumentParser(
        description=about,
        epilog=f"Workloads: {workloads.FORMS}; groups: {', '.join(workloads.GROUPS)}.")
    p.add_argument("--work", default="table", help="workloads and groups, with commas (table)")
    p.add_argument("--servers", default="stock,tuned,ra",
                   help=f"of {', '.join(servers.NAMES)} (stock,tuned,ra)")
    p.add_argument("--variant", action="append", default=[], metavar="NAME:KEY=VALUE,…",
                   help="a further server: the plugin with these settings of either block; can "
                   "be repeated")
    p.add_argument("--beside", action="append", default=[], metavar="NAME:LIBFSALRA.SO",
                   help="a further server: the plugin of another build; can be repeated")
    p.add_argument("--ra-option", action="append", default=[], metavar="KEY=VALUE",
                   help="of the plugin's FSAL block; can be repeated")
    p.add_argument("--ra-block", action="append", default=[], metavar="KEY=VALUE",
                   help="of the plugin's global RA block; can be repeated")
    p.add_argument("--runs", "--rounds", type=int_type(1, 100), default=rounds.ROUNDS_FULL,
                   help=f"rounds ({rounds.ROUNDS_FULL})")
    p.add_argument("--runs-of", type=runs_of, default={}, metavar="WORK,…:N",
                   help="rounds of these works, where they are to be more, or fewer")
    p.add_argument("--tries", type=int_type(1, 100), default=rounds.TRIES,
                   help=f"of a round that others disturb ({rounds.TRIES})")
    p.add_argument("--memory", choices=("work", *machine.NAMES), default="work",
                   help="dirty data before the kernel writes: small 32 and 128 MiB, ample 10 and "
                   "20 %%, host as the machine has it; work: as each work asks (work)")
    p.add_argument("--fs", choices=("ext4", "xfs"), default="ext4")
    p.add_argument("--disk", choices=disks.MODELS, default="default",
                   help="the modelled disk, see disks.py (default)")
    p.add_argument("--layout", choices=ageing.LAYOUTS, default="fresh",
                   help="where the files lie: at the beginning of the disk, in pieces all over a "
                   "file system that was aged (ageing.py), or on the inner tracks (fresh)")
    p.add_argument("--drive-queue", type=int_type(1, 32),
                   help="requests the drive orders by itself (as --disk: 1, or 32)")
    p.add_argument("--io-scheduler", default="mq-deadline", help="the kernel's (mq-deadline)")
    p.add_argument("--disk-size", type=int_type(512, 1 << 20), default=4096, metavar="MB")
    p.add_argument("--read-ahead-kb", type=int_type(0, 65536), default=128)
    p.add_argument("--tuned-read-ahead-kb", type=int_type(0, 65536),
                   default=servers.TUNED_KB)
    p.add_argument("--size", type=bytes_type(MIB, 64 << 30), default=256 * MIB,
                   help="bytes read in all by a work, or of all files of endsN and its like (256M)")
    p.add_argument("--mixed-size", type=bytes_type(MIB, 64 << 30), default=128 * MIB,
                   help="bytes of each file of a mixed work (128M)")
    p.add_argument("--mixed-seconds", type=int_type(1, 3600), default=20,
                   help="a mixed work is stopped after so long (20)")
    p.add_argument("--random-count", type=int_type(1, 1 << 24),
                   help="reads of each random reader (1000; beside writers 1500)")
    p.add_argument("--oltp-seconds", type=int_type(1, 3600), default=40,
                   help="an oltp work lasts so long (40)")
    p.add_argument("--request", type=bytes_type(512, MIB), default=32 << 10, help="(32K)")
    p.add_argument("--outstanding", type=int_type(1, 256), default=4,
                   help="requests in flight of each reader (4)")
    p.add_argument("--max-time", type=int_type(1, 86400), default=300,
                   help="seconds one measurement may take (300)")
    p.add_argument("--seed", type=int_type(0, 2**32 - 1), default=1)
    p.add_argument("--plain", metavar="DIR",
                   help="no modelled disk: files in this directory, on whatever disk it is")
    p.add_argument("--json", metavar="FILE",
                   help="for all that was measured, kept after each measurement")
    p.add_argument("--go-on", action="store_true",
                   help="measure only what --json FILE, of a run that was cut off, has not")
    p.add_argument("--png", metavar="FILE", help="a chart of throughput")
    p.add_argument("--finish-png", metavar="WORK:FILE",
                   help="a chart of when the k-th reader of WORK finished")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("--nfsbench", metavar="PATH")
    p.add_argument("--mechdisk", metavar="PATH")
    p.add_argument("--plugin", metavar="PATH", help="libfsalra.so")
    options = p.parse_args()
    if options.go_on and not options.json:
        p.error("--go-on: needs --json FILE, the file to go on from")
    return options


def depth_of(options):
    return options.drive_queue or disks.MODELS[options.disk].get("depth", 1)
