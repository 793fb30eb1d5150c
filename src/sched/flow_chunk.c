/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long a chunk of a flow with a floor or a ceiling is.
 *
 *   ceiling 10 MB/s    |8 MB|------- nothing for 800 ms -------|8 MB|---    as the queue advises
 *                      |#|--|#|--|#|--|#|--|#|--|#|--|#|--|#|--|#|--|#|     as is done here
 *
 * Otherwise what arrives within a second would depend on where in it a chunk falls, and readers would
 * get the same by fits and starts. It costs seeks, and who shares the disk with many would have less than
 * his ceiling by that. So who lately had less than nearly all of it may have longer chunks, as long as
 * what he is behind that.
 */
#include "sched/flow_limit.h"

#include "common/clock.h"

/* A chunk is no longer than what a ceiling of bytes or of time lets through, and a floor gives, in so
 * long (ns). */
#define CHUNK_BYTES_TIME UINT64_C(50000000)
#define CHUNK_TIME	 UINT64_C(250000000)
#define CHUNK_FLOOR_TIME UINT64_C(100000000)
#define CHUNK_UNIT	 (UINT64_C(256) << 10)

/* What NODE's ceiling of WHAT lets through in NS, or in as long as it has been behind nearly that. */
static uint64_t let_through(const struct flow_node *node, enum rate_resource what, uint64_t ns,
			    uint64_t now)
{
	uint64_t behind = elapsed(node->most.floor[what].at, now);

	behind = behind < RATE_LAG_MAX ? behind : RATE_LAG_MAX;
	return rate_limit_units(&node->limit.ceiling[what], behind > ns ? behind : ns);
}

/* Bytes that take the disk NS, or none that are known to. */
static uint64_t bytes_in(const struct sched_queue *q, uint64_t ns)
{
	double left = (double)ns - q->cost.seek_ns;

	if (ns == UINT64_MAX || !cost_run_known(&q->cost))
		return UINT64_MAX;
	return left > 0 ? (uint64_t)(left / q->cost.ns_per_byte) : 0;
}

/* Bytes of a chunk that NODE should have at most. */
static uint64_t chunk_most(const struct sched_queue *q, const struct flow_node *node, bool reserved,
			   uint64_t now)
{
	const struct rate_limit *l = &node->limit;
	uint64_t bytes = let_through(node, RATE_BYTES, CHUNK_BYTES_TIME, now);
	uint64_t more = bytes_in(q, let_through(node, RATE_TIME, CHUNK_TIME, now));

	bytes = more < bytes ? more : bytes;
	more = rate_limit_units(&l->floor[RATE_BYTES], CHUNK_FLOOR_TIME);
	return reserved && more < bytes ? more : bytes;
}

uint64_t flow_chunk(const struct sched_queue *q, const struct sched_req *r, uint64_t chunk,
		    uint64_t now)
{
	const struct flow_node *nodes[] = {&r->in->node, &r->in->group->node};
	uint64_t most = UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		uint64_t its = nodes[i]->limited ? chunk_most(q, nodes[i], r->reserved, now) : most;

		most = its < most ? its : most;
	}
	if (most >= chunk)
		return chunk;
	most -= most % CHUNK_UNIT;
	if (most < q->limits.cost.chunk_min)
		most = q->limits.cost.chunk_min;
	return most < chunk ? most : chunk; /* a beginning is shorter than any */
}
