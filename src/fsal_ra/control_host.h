/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What operators see and turn, and the log's lines at the end: what lifecycle.c calls in order. See
 * control_host.c; ra_log_start() is in log_writer.c.
 */
#ifndef RA_CONTROL_HOST_H
#define RA_CONTROL_HOST_H

#include "readahead/readahead.h"

/* Logs the statistics: a line marked RA_STATS, and one of each device marked RA_DEVICE_STATS. */
void ra_stats_log(void);
/* Logs the counters of one export that goes, marked RA_EXPORT_STATS. */
void ra_stats_log_export(uint16_t export_id, const struct readahead_counters *counters);

/* Before any line of a room without Ganesha header. */
void ra_log_start(void);
/*
 * The control channel is a convenience: the server goes on without when it fails. ENGINE outlives
 * it and the last statistics.
 */
void ra_control_start(struct readahead *engine);
/* Tries once more where another server had it, a while ago: from one thread, at times, which ends before ra_control_stop(). */
void ra_control_again(uint64_t now);
void ra_control_stop(void);

#endif /* RA_CONTROL_HOST_H */
