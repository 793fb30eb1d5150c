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
	[READAHEAD_CHUNKS] = "chunks",
	[READAHEAD_PREFETCHED] = "prefetched_bytes",
	[READAHEAD_USED] = "used_bytes",
	[READAHEAD_WASTED] = "wasted_bytes",
	[READAHEAD_PREFETCH_ERRORS] = "prefetch_errors",
	[READAHEAD_REFUSED] = "refused",
	[READAHEAD_CURBED] = "curbed",
};

static unsigned int thread_shard(void)
{
	static atomic_uint threads;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	return mine % READAHEAD_COUNTER_SHARDS;
}

void readahead_count(struct readahead_counters *c, enum readahead_counter which, uint64_t n)
{
	atomic_fetch_add_explicit(&c->shard[thread_shard()].value[which], n, memory_order_relaxed);
}

uint64_t readahead_counted(const struct readahead_counters *c, enum readahead_counter which)
{
	uint64_t sum = 0;

	for (int i = 0; i < READAHEAD_COUNTER_SHARDS; i++)
		sum += atomic_load_explicit(&c->shard[i].value[which], memory_order_relaxed);
	return sum;
}
