/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a group of flows got in one interval of the load, the same for all that run at once:
 *
 *   0        from                              to
 *   |warm-up |  w0   |  w1   |  w2   |  w3  ...|  draining
 *            answers count here                      latencies of requests that were
 *                                                    under way at some time in it
 *
 * A request that was sent in the interval and answered after it has its latency counted, else the
 * longest waits would be left out. Seconds count from the beginning of the load.
 */
#ifndef NFSBENCH_STEADY_H
#define NFSBENCH_STEADY_H

#include <stdint.h>

#include "latency.h"

#define STEADY_WINDOWS_MAX 600 /* of one second each; what comes later is in no window */

struct steady {
	double from, to; /* to 0: it goes on */
	uint64_t bytes, requests;
	struct latency latency;
	uint64_t window[STEADY_WINDOWS_MAX]; /* bytes */
};

void steady_begin(struct steady *s, double from);
/* Ends it, unless it has ended. One that has not begun is empty then. */
void steady_end(struct steady *s, double to);
/* An answer of so many bytes to a request sent at `issued`. */
void steady_add(struct steady *s, double issued, double answered, uint64_t bytes);
/* Windows that lie in the interval wholly. */
unsigned int steady_windows(const struct steady *s);
double steady_seconds(const struct steady *s);

#endif
