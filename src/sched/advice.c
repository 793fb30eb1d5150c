/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the dispatch queue has observed of the disk, and advises by that. See queue.h. */
#include "sched/parts.h"

/* What lies between two reads is passed over up to this part of what is read in the time of a seek. */
#define HOP_SHARE 4

/*
 * BLOCK is a little behind what was observed last: the disk passed over what lies between, and did not seek. A
 * few such reads among the last ones would make a seek look cheap.
 */
static bool is_hop(const struct sched_queue *q, uint64_t block)
{
	return block > q->observed && block - q->observed <= cost_seek_bytes(&q->cost) / HOP_SHARE;
}

void sched_observe(struct sched_queue *q, uint64_t block, uint64_t len, uint64_t service)
{
	/* the first read after a write-back also waits for what the drive's write cache has left;
	 * one that stalled says nothing of the disk's mechanics */
	if (q->observed != AFTER_WRITEBACK && !is_hop(q, block) &&
	    (!q->limits.stall_time || service < q->limits.stall_time))
		cost_observe(&q->cost, len, service, block == q->observed);
	q->observed = block + len;
}

void sched_passed(struct sched_queue *q, uint64_t end)
{
	q->observed = end;
}

/*
 * Of a stream whose reader has much outstanding several chunks are queued: were each a stream chunks would become shorter, and
 * so more of them.
 */
uint32_t sched_streams(const struct sched_queue *q)
{
	uint32_t chunks = q->flows.ready[FLOW_CHUNK], owners = q->owners.n;
	uint32_t n = (chunks < owners ? chunks : owners) + (q->running ? 1 : 0);

	return n ? n : 1;
}

uint64_t sched_chunk(const struct sched_queue *q)
{
	if (q->direct)
		return cost_chunk_direct(&q->cost, &q->limits.cost);
	return cost_chunk(&q->cost, &q->limits.cost, sched_streams(q), demands_about(q));
}
