/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What cached data is worth: how much the hit rate depends on the size of the cache.
 *
 *   worth = d(hit rate) / d(ln size) = (hit rate of the larger - of the smaller cache) / ln(ratio)
 *
 * out of two ghost caches (ghost_cache.h); meter_memory.h tells what it means. Servers and clients
 * measure it alike (CA-NFS, section 3.3, "Client and Server Memory"). Not thread-safe.
 */
#ifndef PRICING_GHOST_WORTH_H
#define PRICING_GHOST_WORTH_H

#include <stdint.h>

#include "pricing/ghost_cache.h"
#include "pricing/rate.h"

/* All zero is the beginning. */
struct ghost_worth {
	struct rate pages, missed_small, missed_large;
	double hit_small, hit_large; /* 0..1, over the window */
	double worth;		     /* 0..1 */
};

/*
 * Brings it up to date with the COUNTS of NOW. Over a WINDOW (ns) with fewer reads than READS_MIN
 * pages of 4 KiB a second it is in proportion less.
 */
void ghost_worth_sample(struct ghost_worth *w, uint64_t window, double reads_min, uint64_t now,
			const struct ghost_counts *counts);

#endif
