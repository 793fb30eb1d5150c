/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The plugin's statistics, and the starts and stops that lifecycle.c calls in order. */
#ifndef RA_STATS_H
#define RA_STATS_H

#include "readahead/readahead.h"

/* Logs the statistics: a line marked RA_STATS, and one of each device marked RA_DEVICE_STATS. */
void ra_stats_log(void);
/* Logs the counters of one export that goes, marked RA_EXPORT_STATS. */
void ra_stats_log_export(uint16_t export_id, const struct readahead_counters *counters);

/* log_glue.c. Before any line of a room without Ganesha header. */
void ra_log_start(void);
/* control_host.c. The control channel is a convenience: the server goes on without when it fails. */
/* ENGINE: outlives the channel and the last statistics. */
void ra_control_start(struct readahead *engine);
void ra_control_stop(void);

#endif /* RA_STATS_H */
