/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How full that is which clients have written through a gateway and nobody has made stable, of what it may be: the dirty memory
 * of a cluster, whose client library, and whose storage's memory, the kernel's count of dirty pages does not see.
 *
 *   level  .75 - - - - /|- - - - /|- - -      it rises with WRITEs and falls with COMMITs, in seconds or in less: so what
 *                    /  |      /  |           counts is its mean over the window, as of a disk's queue
 *              ____/    |____/    |___
 *
 * Pure: levels and times are handed in. Not thread-safe.
 */
#ifndef PRICING_METER_UNSTABLE_H
#define PRICING_METER_UNSTABLE_H

#include <stdint.h>

#include "pricing/rate.h"

/* Zero: nothing was seen. */
struct meter_unstable {
	uint64_t last;	    /* ns, of the last sample */
	double before;	    /* the last sample: level */
	double sum;	    /* level seconds */
	struct rate level;  /* of SUM */
	double utilization; /* 0..1, mean of the window */
};

/*
 * At NOW (ns) it stands at LEVEL: 0 or more, 1 is full; what is above counts as full. WINDOW: ns. STEP: ns that a sample speaks
 * for, what lies further back the one before does; 0: it speaks for all since that one.
 */
void meter_unstable_sample(struct meter_unstable *m, uint64_t window, uint64_t step, uint64_t now,
			   double level);

#endif
