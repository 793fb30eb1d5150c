/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rate of a flow. Its client wants a request when it is due, however long the answers before it
 * take: one that a slow answer holds back counts from then on, so that the answer's time is in the
 * latencies of all that waited for it.
 */
#ifndef NFSBENCH_PACE_H
#define NFSBENCH_PACE_H

#include <stdint.h>

#define PACE_DEBT                                                                                  \
	50 /* intervals that are caught up with; what a longer stall held back is left out */

/* A request goes out at NS, not before *DUE, which becomes the next one's. When it was due. */
static inline uint64_t pace_take(uint64_t *due, uint64_t interval, uint64_t ns)
{
	uint64_t was = *due;

	*due = (ns - was > PACE_DEBT * interval ? ns : was) + interval;
	return was;
}

#endif
