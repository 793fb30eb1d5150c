# SPDX-License-Identifier: LGPL-3.0-or-later
"""Modelled disks by name (bench/compare --disk NAME): what a rule found on one must hold on others.

    default    7200 rpm, seeks of 0.8 to 15 ms, 150 to 75 MB/s, writes joined as by a write cache
    nojoin     the same without a write cache: consecutive writes lose a revolution each
    slowwrite  the same, each write 2 ms longer, as of a drive that reads back what it wrote
    queue32    the same, ordering up to 32 commands by itself
    fast       another 7200 rpm drive: short seeks, 250 to 120 MB/s, more zones and segments
    slow       5400 rpm: long seeks that grow nearly as a line, 110 to 50 MB/s, few zones
    flash      nothing moves: 100 us a command and 500 MB/s
    flash8     eight channels of 100 us and 300 MB/s, striped by 64 KiB: as an SSD, faster with
               many outstanding
    cloud      a volume behind a network: 60 us a command and 250 MB/s, each answered
               0.8 ms later, others being served meanwhile
    raid4      four of the default striped by 64 KiB, each ordering up to 32 commands by itself
    raid4fifo  the same without tagged queues: an arm serves its commands as they come
"""

MODELS = {
    "default": {},
    "nojoin": {"write-join": 0},
    "slowwrite": {"write-extra": 2},
    "queue32": {"depth": 32},
    "fast": {"seek-min": 0.5, "seek-max": 8.5, "seek-knee": 0.5, "rate-outer": 250,
             "rate-inner": 120, "zones": 24, "segments": 8},
    "slow": {"rpm": 5400, "seek-min": 1, "seek-max": 22, "seek-knee": 0.2, "rate-outer": 110,
             "rate-inner": 50, "zones": 8},
    "flash": {"solid": 1, "overhead": 100, "rate-outer": 500, "rate-inner": 500},
    "flash8": {"solid": 1, "overhead": 100, "rate-outer": 300, "rate-inner": 300, "spindles": 8,
               "stripe": 64, "depth": 32, "interface": 3000},
    "cloud": {"solid": 1, "overhead": 60, "rate-outer": 250, "rate-inner": 250, "depth": 32,
              "latency": 0.8},
    "raid4": {"spindles": 4, "stripe": 64, "depth": 32},
    "raid4fifo": {"spindles": 4, "stripe": 64},
}
