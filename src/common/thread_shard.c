/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Threads are numbered as they first ask. See thread_shard.h. */
#include "common/thread_shard.h"

#include <stdatomic.h>

unsigned int thread_shard(void)
{
	static atomic_uint threads;
	static _Thread_local unsigned int mine THREAD_LOCAL_FAST;

	if (!mine)
		mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	return mine % THREAD_SHARDS;
}
