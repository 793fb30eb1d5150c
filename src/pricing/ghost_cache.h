/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two ghost caches: which share of the reads would be hits with slightly less, and with slightly
 * more memory (CA-NFS, section 3.3, "Client and Server Memory"; the method is AWOL's). They hold no
 * data, only which pages an LRU cache of those sizes would have.
 *
 * Sampling. Of every 2^n units of 64 KiB of a file one is followed, R = 2^-n of all, chosen by
 * hash; the caches are then R times as large. n is the smallest with which the larger cache fits
 * into the table, so memory is bounded whatever the server has. Within a unit that is followed,
 * pages of 4 KiB are kept one by one. To find out that a unit is not followed takes two hashes on
 * average: a READ of 1 MiB costs a quarter of a microsecond, a small one 20 ns. One out of each
 * 2^n, and not each with a chance of 2^-n: a loop or a scan is then sampled exactly, and what
 * varies is only which of its neighbours a popular unit stands for.
 *
 *   readers  ghost_read(): followed? --no, mostly--> done
 *                              | yes
 *                              v
 *               ring, lock-free; full: the unit is dropped and counted
 *                              |
 *   price thread           ghost_drain(): one LRU list; the smaller cache is its upper part
 *
 *        most recent  [ in both caches ................. | only in the larger .... ]  least recent
 *
 * Rates. Pages read are counted exactly, misses are those of the sample divided by R. So hot pages
 * that the sample happens not to have, or has, do no harm: they hardly ever miss.
 */
#ifndef PRICING_GHOST_CACHE_H
#define PRICING_GHOST_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GHOST_PAGE  4096u
#define GHOST_UNIT  65536u /* what is followed or not, as a whole */
#define GHOST_PAGES (GHOST_UNIT / GHOST_PAGE)

struct ghost_limits {
	uint32_t entries; /* pages in the table, 1024 .. 2^26: 32 bytes of memory each */
	uint32_t ring;	  /* units on their way to it, a power of two: 24 bytes each */
	double nearby;	  /* the caches are smaller and larger by this share, 0.01 .. 0.5 */
};

struct ghost_counts {
	double pages;			   /* of 4 KiB, read since the start */
	double missed_small, missed_large; /* of these, misses of each cache */
	double ratio;			   /* of the larger size to the smaller */
	uint64_t dropped;		   /* units that found the ring full */
	double sampled;			   /* R, 0..1 */
};

struct ghost_cache;

/* NULL with errno EINVAL or ENOMEM. Sized 0: ghost_resize() comes next. */
struct ghost_cache *ghost_new(const struct ghost_limits *limits);
/* As large as fits into BYTES; with less than GHOST_MEMORY_MIN they could tell nothing. */
#define GHOST_MEMORY_MIN 65536
struct ghost_cache *ghost_new_within(uint64_t bytes);
/* Nobody may be in any function of it. NULL: nothing. */
void ghost_free(struct ghost_cache *g);

/* Any thread: a READ. FILE identifies the file, such as a hash of its handle. Takes no lock. */
void ghost_read(struct ghost_cache *g, uint64_t file, uint64_t offset, uint64_t length);

/* One thread at a time, from here on. */

/* The memory that can hold read data now has PAGES pages. Cheap when that changed little. */
void ghost_resize(struct ghost_cache *g, uint64_t pages);
/*
 * Takes what readers have left in the ring, at most a ring full. True: that was much, one in 64 and more; then
 * again soon, within 100 ms or so. Else ten times as long is not too long.
 */
bool ghost_drain(struct ghost_cache *g);
void ghost_counts(const struct ghost_cache *g, struct ghost_counts *counts);

#endif
