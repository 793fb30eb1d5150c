/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Counters spread over lines of the cache: a thread keeps to one of them. See counters.h. */
#include "readahead/counters.h"

const char *const readahead_counter_names[READAHEAD_COUNTERS] = {
	[READAHEAD_READS] = "reads",
	[READAHEAD_READ_BYTES] = "read_bytes",
	[READAHEAD_RESIDENT] = "resident",
	[READAHEAD_JOINED] = "joined",
	[READAHEAD_LATE] = "late",
	[READAHEAD_DEMAND] = "demand",
	[READAHEAD_ALONG] = "along_bytes",
	[READAHEAD_CHUNKS] = "chunks",
	[READAHEAD_PLANNED] = "planned_bytes",
	[READAHEAD_UNFETCHED] = "unfetched_bytes",
	[READAHEAD_USED] = "used_bytes",
	[READAHEAD_WASTED] = "wasted_bytes",
	[READAHEAD_PREFETCHED] = "prefetched_bytes",
	[READAHEAD_PREFETCH_ERRORS] = "prefetch_errors",
	[READAHEAD_REFUSED] = "refused",
	[READAHEAD_CURBED] = "curbed",
};

static void add(_Atomic uint64_t *value, uint64_t n)
{
	atomic_fetch_add_explicit(value, n, memory_order_relaxed);
}

void readahead_count(struct readahead_counters *c, enum readahead_counter which, uint64_t n)
{
	add(&c->shard[thread_shard()].value[which], n);
}

void readahead_count_read(struct readahead_counters *c, uint64_t bytes)
{
	_Atomic uint64_t *value = c->shard[thread_shard()].value;

	add(&value[READAHEAD_READS], 1);
	add(&value[READAHEAD_READ_BYTES], bytes);
}

uint64_t readahead_counted(const struct readahead_counters *c, enum readahead_counter which)
{
	uint64_t sum = 0;

	for (int i = 0; i < THREAD_SHARDS; i++)
		sum += atomic_load_explicit(&c->shard[i].value[which], memory_order_relaxed);
	return sum;
}
