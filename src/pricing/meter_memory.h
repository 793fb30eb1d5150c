/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How precious the server's memory is: the higher of two (CA-NFS, section 3.3, "Client and Server
 * Memory"), which prices asynchronous writes. Above a cluster a third one counts, meter_unstable.h.
 *
 * Writes fill it up:
 *
 *   dirty = (dirty + under write-back) / ((background limit + dirty limit) / 2)
 *
 * all from /proc/vmstat, where the limits are pages already, whether they were set as bytes or as a
 * ratio. Half-way between the two limits the kernel begins to make writers wait: that is full.
 * At the background limit, where it begins to write back, this is 0.67 with its usual 10 % and
 * 20 %.
 *
 * Reads need it:
 *
 *   worth = d(hit rate) / d(ln size) = (hit rate of the larger - of the smaller cache) / ln(ratio)
 *
 * from two ghost caches somewhat larger and smaller than the memory that can hold read data now
 * (ghost_cache.h). The paper looks at the fraction of reads that hit between the two sizes; divided
 * by how far the sizes are apart this needs no parameter: 1 says that a little less memory loses
 * hits in proportion, as with random reads of a set that just fits. What fits with ease, and what
 * does not fit at all, makes 0: taking memory away costs no hit. With few reads it shrinks in
 * proportion: full weight from reads_min pages a second on.
 *
 * Not thread-safe.
 */
#ifndef PRICING_METER_MEMORY_H
#define PRICING_METER_MEMORY_H

#include <stdint.h>

#include "pricing/ghost_cache.h"
#include "pricing/ghost_worth.h"
#include "pricing/source.h"

struct memory_limits {
	double reads_min; /* pages of 4 KiB a second, > 0 */
	uint64_t window;  /* ns: over which reads are averaged */
};

struct meter_memory {
	struct memory_limits limits;
	struct ghost_worth reads;

	uint64_t read_pages; /* the kernel's pages that can hold read data: cached or free,
			      * and not dirty */
	uint64_t dirty_pages, full_pages; /* dirty and under write-back; where that is full */
	double hit_small, hit_large;	  /* 0..1, of the two ghost caches, over the window */
	double dirty, worth;		  /* 0..1 */
	double utilization;		  /* 0..1, the higher */
	char unknown[SOURCE_NAME];	  /* the file that told nothing; "": all is known */
};

void meter_memory_init(struct meter_memory *m, const struct memory_limits *limits);
/* Reads one file, and brings the results up to date. READS: of the ghost caches; NULL: none. */
void meter_memory_sample(struct meter_memory *m, struct price_source *s, uint64_t now,
			 const struct ghost_counts *reads);

#endif
