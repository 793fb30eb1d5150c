/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Neighbours that a visit takes along: small reads near the heads when its time is over.
 *
 *   head     |-- r, promised --| n |    n | n |                  far
 *            seek                a few blocks on: a fraction of the seek that coming again costs
 *
 * A client that has many small reads queued near each other (the files of a directory) would have one
 * of them for each promise, and the heads come back for the next. A visit takes so many along that their
 * way is no longer than the seek it began with, and they are charged.
 *
 * Where all others are streams, of several clients, neighbours take up to a slice: a client that asks for
 * the next ones meanwhile has them too. They are as the read that was promised, and not held against it:
 * ALONG_PERCENT of the disk's time at most. Until the streams have had the rest of it, the client's next
 * visit waits for as long as was promised, rather than going early for a few of its reads: fewer visits,
 * with more in each. (Of one other client, streams would have less than half.)
 */
#include "sched/parts.h"

/* Reads that one visit takes along, where not only streams wait. */
#define ALONG_MAX 16
/* Others with streams, at least. */
#define STREAM_CLIENTS 2
/* Near: no farther from the heads than what is read in so many times a usual seek. */
#define NEAR_SEEKS 8
/* Of the disk's time, what they may have without being charged. */
#define ALONG_PERCENT 22

/* How long it takes to read on from the heads to the end of R (ns); or back. */
static double way_to(const struct sched_queue *q, const struct sched_req *r)
{
	uint64_t end = r->block + r->len;

	return (double)(end > q->head ? end - q->head : q->head - end) * q->cost.ns_per_byte;
}

/* Whether NEXT is little more way, as always; V counts it. */
static bool is_on(const struct sched_queue *q, struct flow_visit *v, const struct sched_req *next)
{
	double way = way_to(q, next);

	if (v->along == ALONG_MAX || next->block < q->head || v->way + way > q->cost.seek_ns)
		return false;
	v->way += way;
	return true;
}

/* NS that those taken along have had, and those of them under way are going to have. */
static uint64_t taken(const struct flow_visit *v)
{
	uint32_t under_way = v->started > v->served ? v->started - v->served : 0;
	uint64_t had = v->used - v->used_before;

	return v->along ? had + under_way * (had / v->along) : 0;
}

/* Whether NEXT is near and V has time for it, as where only streams wait. */
static bool is_near(const struct sched_queue *q, struct flow_visit *v, const struct sched_req *next)
{
	if (!v->along)
		v->used_before = v->used;
	return way_to(q, next) < NEAR_SEEKS * q->cost.seek_ns && taken(v) <= flow_slice(q);
}

/* Whether all others are streams, and had their part of the time since the last ones were taken along. */
static bool is_free(const struct sched_queue *q, uint64_t now)
{
	const struct order *groups = q->flows.groups.backlogged;

	return groups[FLOW_SMALL].n <= 1 && groups[FLOW_CHUNK].n >= STREAM_CLIENTS &&
	       now >= q->flows.along_resume;
}

void flow_along_served(struct sched_queue *q, const struct flow_visit *v, const struct sched_req *r,
		       uint64_t now)
{
	uint64_t since = q->flows.along_resume > now ? q->flows.along_resume : now;

	if (v->flow != r->in || r->kind != FLOW_SMALL || !v->along || !v->free)
		return;
	q->flows.along_resume = since + flow_rest(r->disk_time, ALONG_PERCENT);
	r->in->along_resume = q->flows.along_resume;
}

bool flow_takes_along(const struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	const struct sched_req *next;

	if (v->kind != FLOW_SMALL || !v->flow->node.n[FLOW_SMALL] || !cost_run_known(&q->cost) ||
	    !cost_seek_known(&q->cost))
		return false;
	next = q->policy->gap(v->flow->policy_state, q, true);
	if (!next)
		return false;
	if (!v->along)
		v->free = is_free(q, now);
	if (v->free ? !is_near(q, v, next) : !is_on(q, v, next))
		return false;
	v->along++;
	return true;
}
