/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an export's reads and prefetches came to.
 *
 * Of the bytes planned ahead of a reader each is in the end read, given up, or not fetched after all; until
 * then it is held against Readahead_Memory:
 *
 *   PLANNED = USED + WASTED + UNFETCHED + unread
 *
 * A plan costs nothing by itself. What the disk was asked for is counted where it comes (PREFETCHED); what
 * comes for a reader that is gone is noted as planned, and wasted. No counter ever goes down.
 */
#ifndef READAHEAD_COUNTERS_H
#define READAHEAD_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/thread_shard.h"

enum readahead_counter {
	READAHEAD_READS,
	READAHEAD_READ_BYTES,
	READAHEAD_RESIDENT, /* reads whose data was in memory on arrival */
	READAHEAD_JOINED,   /* reads that waited for a prefetch queued or in flight */
	READAHEAD_LATE,	    /* reads that found their prefetch submitted but not arrived */
	READAHEAD_DEMAND,   /* reads that went to the disk themselves */
	READAHEAD_ALONG, /* bytes that these brought along besides their own (first_read.h, context_read.h), at most */
	READAHEAD_CHUNKS,	   /* prefetches submitted */
	READAHEAD_PLANNED,	   /* bytes to be fetched ahead of a reader */
	READAHEAD_UNFETCHED,	   /* ... in memory before, or given up before they came */
	READAHEAD_USED,		   /* ... and read */
	READAHEAD_WASTED,	   /* ... come, and given up unread */
	READAHEAD_PREFETCHED,	   /* bytes that the disk brought ahead of a reader */
	READAHEAD_PREFETCH_ERRORS, /* prefetches that failed; never seen by a client */
	READAHEAD_REFUSED,	   /* plans not made for want of Readahead_Memory */
	READAHEAD_CURBED,	   /* plans made smaller, or not at all, for the price */
	READAHEAD_COUNTERS
};

extern const char *const readahead_counter_names[READAHEAD_COUNTERS];

/* Counters of one export: a thread has lines of the cache of its own, as far as there are. */
struct readahead_counters {
	struct {
		_Atomic uint64_t value[READAHEAD_COUNTERS];
	} __attribute__((aligned(64))) shard[THREAD_SHARDS];
};

/* A read of so many bytes. */
void readahead_count_read(struct readahead_counters *c, uint64_t bytes);
void readahead_count(struct readahead_counters *c, enum readahead_counter which, uint64_t n);
uint64_t readahead_counted(const struct readahead_counters *c, enum readahead_counter which);

#endif
