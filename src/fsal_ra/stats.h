/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The plugin's statistics, and the starts and stops that service.c calls in order. */
#ifndef RA_STATS_H
#define RA_STATS_H

#include "readahead/readahead.h"

/* The counters of all exports, past ones included. */
void ra_stats_sum(struct readahead_counters *sum);
/* Logs the statistics: a line marked RA_STATS, and one of each device marked RA_DEVICE_STATS. */
void ra_stats_log(void);
/* Logs the counters of one export that goes, marked RA_EXPORT_STATS. */
void ra_stats_log_export(uint16_t export_id, const struct readahead_counters *counters);

int ra_calls_start(void);
void ra_calls_stop(void);
void ra_scratch_start(void);
void ra_scratch_stop(void);
/* log_glue.c. Before any line of a room without Ganesha header. */
void ra_log_start(void);
/* control_host.c. The control channel is a convenience: the server goes on without when it fails. */
void ra_control_start(void);
void ra_control_stop(void);

#endif /* RA_STATS_H */
