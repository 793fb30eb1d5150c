/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Short chunks that small reads have joined: what was promised to these holds for the chunk.
 *
 *   files near each other    r     r  r    r   r      some follow each other, by chance or not: a stream
 *   read ahead                     |-- chunk --|      what lies in it joins, and nothing small is left
 *   disk                     |#### a ####|#### b ####|-- chunk --|#### c ####|
 *                                  |<-- Demand_Wait at most -->|
 *
 * Such a read would wait for a whole round of others' turns, where it had waited for one of them by
 * itself. A chunk is short if it takes no more than half a slice, and its flow had small reads served
 * lately: a stream's own reads wait for its turn. It is charged as always, so nobody has more by this, and
 * all of them take JOINED_PERCENT of the disk's time at most.
 *
 * The first chunk of a stream (flow_begin.c) is here too, while its client has had no more than others, and in no part of
 * that time: by itself that makes its client one who had more.
 */
#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

#define JOINED_PERCENT 25
/* So many are looked at for one that is due. */
#define LOOKS_MAX 64

/* The chunk R is short, and of a flow that had small reads lately. */
static bool is_short(const struct sched_queue *q, const struct sched_req *r)
{
	uint64_t served = r->in->small_served;
	double takes = (double)r->len * q->cost.ns_per_byte;

	return cost_run_known(&q->cost) && served &&
	       q->flows.now - served <= q->limits.cost.max_wait &&
	       takes <= (double)flow_short_time(q);
}

void flow_joined_watch(struct sched_queue *q, struct sched_req *r)
{
	if (r->class != SCHED_PREFETCH || r->place.in || !q->policy->gap)
		return;
	if (flow_begins(q, r) || is_short(q, r))
		order_insert(&q->flows.joined, &r->place, r->arrival + flow_promise_time(q, r->in),
			     0);
}

/* Whether R goes before its turn: who begins as long as its client has had no more than others; RESUMED: any other. */
static bool may_go(const struct sched_queue *q, const struct sched_req *r, bool resumed)
{
	if (!flow_begins(q, r))
		return resumed;
	return r->in->group->node.vtime <= flow_level_of_reads(q) &&
	       !flow_reads_behind_within(q, r->in);
}

struct sched_req *flow_joined_next(struct sched_queue *q, const struct sched_flow *f, uint64_t now)
{
	bool resumed = now >= q->flows.joined_resume;
	struct order_node *at = order_first(&q->flows.joined), *next;
	/* what a turn of a slice would keep waiting, with the seek that comes before the chunk */
	uint64_t until = now + flow_slice(q) + (uint64_t)q->cost.seek_ns;

	for (int n = 0; at && at->high <= until && n < LOOKS_MAX; n++, at = next) {
		struct sched_req *r = CONTAINER_OF(at, struct sched_req, place);

		next = order_next(at);
		if (flow_is_held(r->in)) { /* out of the others' way until it may go */
			order_remove(at);
			order_insert(&q->flows.joined, at, flow_opens(r->in, until + 1), 0);
		} else if ((!f || r->in == f) && (f || may_go(q, r, resumed))) {
			return r;
		}
	}
	return NULL;
}

/* One had the disk for NS, or is about to: the next one has to wait so long for that. */
static void pay(struct sched_queue *q, uint64_t ns, uint64_t now)
{
	q->flows.joined_resume = now + flow_rest(ns, JOINED_PERCENT);
}

bool flow_joined_begin(struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	struct sched_req *r = flow_joined_next(q, NULL, now);

	if (!r)
		return false;
	*v = (struct flow_visit){.flow = r->in, .kind = FLOW_CHUNK, .joined = true};
	if (flow_begins(q, r))
		flow_serve(q, r->in);
	else
		pay(q, flow_slice(q), now);
	return true;
}

void flow_joined_served(struct sched_queue *q, const struct flow_visit *v,
			const struct sched_req *r, uint64_t now)
{
	if (v->joined && v->flow == r->in && r->class == SCHED_PREFETCH && !flow_begins(q, r))
		pay(q, r->disk_time, now);
}
