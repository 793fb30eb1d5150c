/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Floors and ceilings of groups and flows: who is out of everybody's way, and who goes first.
 *
 *   over its ceiling    out of the order by virtual time, into `held` until its time has come: no visit,
 *                       no gap, no write-back of its, and the disk does not wait for it
 *   behind its floor    before all others, earliest deadline first, of those with reads queued
 *   was over, is not    after those, and after who was kept waiting for too long (flow_late.c), if it has not had more
 *                       than others: were it to wait for a round it would not come to what its ceiling allows
 *
 *   groups by virtual time   [ a | b |   | d ]        held, by time   [ c ]
 *                                  `-- c is over its ceiling --^
 *
 * Tags are in rate_limit.h. Bytes and requests are charged when they go to the disk, so that no more go
 * however many it takes at once; time, and what a write-back wrote, when it is known.
 *
 * Ceilings come first: who is behind its floor and over its ceiling is held. A flow that is held takes
 * its requests out of its group's counts, and a group all of its own out of the queue's: what is left
 * in the orders may go at any moment. So the rest goes on as if these were not there, and nobody looks
 * at them until the first one's time has come. Only who waits in another's chunk that is held takes it
 * over (join.c).
 *
 * Floors have FLOORS_PERCENT of the disk's time at most, all together and however much is asked: for
 * what takes longer than was thought when they were promised must not leave the rest without anything.
 * What a floor gave counts in virtual time as well, but takes it no more than two Demand_Wait ahead.
 *
 * At the end (writeback.hurry) nothing is held.
 */
#include <assert.h>

#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* Nearly a ceiling (percent of it): flow_chunk.c. */
#define MOST_PERCENT 90
/* So many are looked at to find one that may go first. */
#define LOOKS_MAX 64
/* What floors may take of the disk's time, in sum. */
#define FLOORS_PERCENT 90
/* Floors are kept with so much to spare (percent): a second that has one visit less is not short. */
#define FLOOR_MARGIN 12

static bool is_held(const struct flow_node *node)
{
	return node->held.in;
}

static struct sched_group *group_of(struct flow_node *node)
{
	return CONTAINER_OF(node, struct sched_group, node);
}

static uint32_t reads_of(const struct flow_node *node)
{
	return node->n[FLOW_SMALL] + node->n[FLOW_CHUNK];
}

/* ---- floors ------------------------------------------------------------------------------ */

/* When NODE should go before the others for the reason WHICH (ns); UINT64_MAX: never. */
static uint64_t first_at(const struct flow_node *node, enum flow_first which)
{
	if (which == FLOW_DUE)
		return rate_limit_deadline(&node->limit);
	return node->released ? rate_limit_opens(&node->limit) : UINT64_MAX;
}

/* The places of NODE among those that should. */
static void place_first(struct sched_queue *q, struct flow_node *node)
{
	for (int which = 0; which < FLOW_FIRSTS; which++) {
		uint64_t at = first_at(node, which);

		if (node->first[which].in)
			order_remove(&node->first[which]);
		if (reads_of(node) && !is_held(node) && at != UINT64_MAX)
			order_insert(&q->flows.first[which], &node->first[which], at, 0);
	}
}

void flow_limit_backlog(struct sched_queue *q, struct flow_node *node)
{
	if (!node->first[FLOW_DUE].in && reads_of(node))
		rate_limit_wakes(&node->limit, q->flows.now);
	place_first(q, node);
}

static bool is_behind(const struct flow_node *node, uint64_t now)
{
	return node->limited && rate_limit_is_behind(&node->limit, now);
}

bool flow_behind_floor(const struct sched_flow *f, uint64_t now)
{
	return is_behind(&f->node, now) || is_behind(&f->group->node, now);
}

/* Whether NODE, whose time has come, goes before the others now. */
static bool goes_first(const struct sched_queue *q, enum flow_first which,
		       const struct flow_node *node, uint64_t upto, uint64_t now)
{
	const struct flow_node *group = node->flow ? &node->flow->group->node : node;

	if (is_held(group))
		return false;
	if (which == FLOW_OPENED)
		return group->vtime <= upto;
	return is_behind(node, now) && rate_limit_may_go(&q->flows.floors, now);
}

/* The node that AT is the place of. */
static const struct flow_node *node_at(const struct order_node *at, enum flow_first which)
{
	return CONTAINER_OF(at - which, struct flow_node, first[0]);
}

const struct flow_node *flow_goes_first(const struct sched_queue *q, enum flow_first which,
					const struct flow_node *after, uint64_t upto, uint64_t now)
{
	const struct order_node *at =
		after ? order_next(&after->first[which]) : order_first(&q->flows.first[which]);

	for (int n = 0; at && at->high <= now && n < LOOKS_MAX; n++, at = order_next(at)) {
		const struct flow_node *node = node_at(at, which);

		if (goes_first(q, which, node, upto, now))
			return node;
	}
	return NULL;
}

/* ---- ceilings ---------------------------------------------------------------------------- */

static struct flow_set *set_of(struct sched_queue *q, const struct flow_node *node)
{
	return node->flow ? &node->flow->group->flows : &q->flows.groups;
}

/* NODE's places among the others of its set, as far as it has something to do. */
static void leave_set(struct flow_node *node)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		if (node->place[kind].in)
			order_remove(&node->place[kind]);
}

static void enter_set(struct flow_set *set, struct flow_node *node)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		if (node->n[kind])
			order_insert(&set->backlogged[kind], &node->place[kind], node->vtime, 0);
}

/* What the flow F has queued counts in its group, or no more. */
static void count_flow(struct sched_queue *q, struct sched_flow *f, bool counts)
{
	struct sched_group *g = f->group;
	bool idle = true;

	leave_set(&g->node);
	for (int kind = 0; kind < FLOW_KINDS; kind++) {
		uint32_t n = f->node.n[kind];

		idle &= !n;
		g->node.n[kind] += counts ? n : -n;
		if (!is_held(&g->node))
			q->flows.ready[kind] += counts ? n : -n;
	}
	if (!idle)
		g->flows.weight += counts ? f->node.weight : -f->node.weight;
	if (reads_of(&f->node)) {
		g->reading += counts ? 1 : -1;
		if (!is_held(&g->node))
			q->flows.reading += counts ? 1 : -1;
	}
	if (!is_held(&g->node))
		enter_set(&q->flows.groups, &g->node);
	place_first(q, &g->node);
}

/* The same of the group G in the queue. */
static void count_group(struct sched_queue *q, struct sched_group *g, bool counts)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		q->flows.ready[kind] += counts ? g->node.n[kind] : -g->node.n[kind];
	q->flows.reading += counts ? g->reading : -g->reading;
}

static void hold(struct sched_queue *q, struct flow_node *node, uint64_t until)
{
	if (is_held(node)) {
		order_remove(&node->held);
		order_insert(&q->flows.held, &node->held, until, 0);
		return;
	}
	leave_set(node);
	if (node->flow)
		count_flow(q, node->flow, false);
	else
		count_group(q, group_of(node), false);
	order_insert(&q->flows.held, &node->held, until, 0);
	place_first(q, node);
}

static void let_go(struct sched_queue *q, struct flow_node *node)
{
	order_remove(&node->held);
	node->released = node->limited;
	enter_set(set_of(q, node), node);
	flow_forget_held(q, node);
	if (node->flow)
		count_flow(q, node->flow, true);
	else
		count_group(q, group_of(node), true);
	flow_limit_backlog(q, node);
}

/* Whether NODE may go is not what it was. */
static void ceiling_changed(struct sched_queue *q, struct flow_node *node)
{
	uint64_t opens = q->writeback.hurry ? 0 : rate_limit_opens(&node->limit);

	if (opens > q->flows.now)
		hold(q, node, opens);
	else if (is_held(node))
		let_go(q, node);
	place_first(q, node);
}

void flow_release(struct sched_queue *q, uint64_t now)
{
	struct order_node *at;

	q->flows.now = now;
	while ((at = order_first(&q->flows.held)) && (at->high <= now || q->writeback.hurry))
		let_go(q, CONTAINER_OF(at, struct flow_node, held));
}

uint64_t flow_release_at(const struct sched_queue *q)
{
	const struct order_node *first = order_first(&q->flows.held);

	return first ? first->high : UINT64_MAX;
}

uint64_t flow_opens(const struct sched_flow *f, uint64_t least)
{
	const struct order_node *own = &f->node.held, *its = &f->group->node.held;
	uint64_t opens = own->in ? own->high : 0;

	if (its->in && its->high > opens)
		opens = its->high;
	return opens > least ? opens : least;
}

void flow_promise_later(struct sched_queue *q, struct sched_flow *f, uint64_t least)
{
	order_remove(&f->promise);
	order_insert(&q->flows.promises, &f->promise, flow_opens(f, least), 0);
}

/* ---- charges ----------------------------------------------------------------------------- */

static void charge(struct sched_queue *q, struct flow_node *node, const struct rate_cost *cost,
		   const struct sched_req *r)
{
	if (!node->limited)
		return;
	node->released = false;
	rate_limit_charge(&node->limit, cost, r->started, r->reserved);
	rate_limit_charge(&node->most, cost, r->started, false);
	ceiling_changed(q, node);
}

static void charge_both(struct sched_queue *q, const struct rate_cost *cost,
			const struct sched_req *r, uint64_t now)
{
	q->flows.now = now;
	charge(q, &r->in->node, cost, r);
	charge(q, &r->in->group->node, cost, r);
}

void flow_limit_begin(struct sched_queue *q, struct sched_req *r, uint64_t bytes, uint64_t now)
{
	r->charged = bytes;
	if (!r->dropped)
		charge_both(q, &(struct rate_cost){.bytes = bytes, .requests = 1}, r, now);
}

void flow_limit_end(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	struct rate_cost cost = {.time = r->disk_time};
	uint64_t bytes = req_bytes(r);

	if (r->dropped)
		return;
	if (bytes > r->charged)
		cost.bytes = bytes - r->charged;
	charge_both(q, &cost, r, now);
	if (r->reserved)
		rate_limit_charge(&q->flows.floors, &cost, r->started, false);
}

/* ---- limits ------------------------------------------------------------------------------ */

static bool is_limit(const struct share_limit *l)
{
	return l->bandwidth || l->iops || l->time;
}

static uint64_t percent_of(uint64_t limit, uint64_t percent)
{
	return limit / 100 * percent + limit % 100 * percent / 100;
}

static uint64_t with_margin(uint64_t floor)
{
	uint64_t margin = percent_of(floor, FLOOR_MARGIN);

	return floor < UINT64_MAX - margin ? floor + margin : UINT64_MAX;
}

static struct share_limit kept(const struct share_limit *floor)
{
	uint64_t iops = with_margin(floor->iops);

	return (struct share_limit){
		.bandwidth = with_margin(floor->bandwidth),
		.iops = iops < UINT32_MAX ? (uint32_t)iops : UINT32_MAX,
		.time = (uint32_t)with_margin(floor->time),
	};
}

static struct share_limit most_of(const struct share_limit *ceiling)
{
	return (struct share_limit){
		.bandwidth = percent_of(ceiling->bandwidth, MOST_PERCENT),
		.iops = (uint32_t)percent_of(ceiling->iops, MOST_PERCENT),
		.time = (uint32_t)percent_of(ceiling->time, MOST_PERCENT),
	};
}

static void set(struct sched_queue *q, struct flow_node *node, const struct share *share)
{
	static const struct share none;
	struct share_limit floor, most;

	share = share ? share : &none;
	if (!node->limited && !is_limit(&share->floor) && !is_limit(&share->ceiling))
		return;
	node->released = false;
	node->limited = is_limit(&share->floor) || is_limit(&share->ceiling);
	floor = kept(&share->floor);
	rate_limit_set(&node->limit, &floor, &share->ceiling, q->flows.now);
	most = most_of(&share->ceiling);
	rate_limit_set(&node->most, &most, &none.ceiling, q->flows.now);
	ceiling_changed(q, node);
}

void flow_limit_set(struct sched_queue *q, struct sched_flow *f, const struct share *client,
		    const struct share *export)
{
	set(q, &f->node, export ? client : NULL);
	set(q, &f->group->node, export ? export : client);
}

void flow_limit_forget(struct flow_node *node)
{
	if (node->held.in)
		order_remove(&node->held);
	for (int which = 0; which < FLOW_FIRSTS; which++)
		if (node->first[which].in)
			order_remove(&node->first[which]);
}

void flow_limits_init(struct sched_queue *q)
{
	static const struct share_limit none, most = {.time = FLOORS_PERCENT};

	rate_limit_set(&q->flows.floors, &none, &most, 0);
}
