/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long a visit is, and how far ahead of the others who is still served with them.
 *
 *   virtual time ->   least |<- slack: half a slice ->|       ahead: waits
 *                      [ a    b          c            ]          d
 */
#include "sched/flow_limit.h"
#include "sched/parts.h"

/*
 * Where no small read waits for the end of a turn a visit is so many slices long: what it costs to come
 * and go is a small part of it then.
 */
#define VISIT_SLICES 2

/* What one visit may have so that all that have reads come within three quarters of Max_Wait (ns). */
static uint64_t fair_time(const struct sched_queue *q, uint64_t time)
{
	uint64_t fit = q->limits.cost.max_wait * 3 / (4 * (uint64_t)(q->flows.reading + 1));

	return time < fit ? time : fit;
}

/* Disk time without a break while small reads wait (ns). */
uint64_t flow_slice(const struct sched_queue *q)
{
	return fair_time(q, cost_slice(&q->cost, &q->limits.cost, 1));
}

/* Disk time of a visit where no small read waits for the end of a turn (ns). */
uint64_t flow_visit_time(const struct sched_queue *q)
{
	return fair_time(q, VISIT_SLICES * cost_slice(&q->cost, &q->limits.cost, 1));
}

/* Of a slice, what a short chunk takes. */
#define SHORT_PART 2

uint64_t flow_short_time(const struct sched_queue *q)
{
	return flow_slice(q) / SHORT_PART;
}

/* How far ahead of NODE, of WEIGHT, another may be and still go with it (virtual ns). */
uint64_t flow_slack(const struct sched_queue *q, uint32_t weight)
{
	return flow_virtual(flow_slice(q) / 2, weight);
}

uint64_t group_vtime(const struct sched_group *g)
{
	return g ? g->node.vtime : UINT64_MAX;
}

/* How far (virtual time) groups may be that go next, of all that have reads. */
uint64_t flow_level_of_reads(const struct sched_queue *q)
{
	const struct sched_group *small = group_first(q, FLOW_SMALL);
	const struct sched_group *chunk = group_first(q, FLOW_CHUNK);
	const struct sched_group *least = group_vtime(small) < group_vtime(chunk) ? small : chunk;

	return least ? least->node.vtime + flow_slack(q, group_weight(least)) : 0;
}

bool flow_reads_behind(const struct sched_queue *q, const struct sched_group *g)
{
	uint64_t bound = g->node.vtime;

	for (int kind = 0; kind < FLOW_READ_KINDS; kind++) {
		const struct sched_group *other = group_first(q, kind);

		if (other == g)
			other = group_next(other, kind);
		if (other && other->node.vtime + flow_slack(q, group_weight(other)) < bound)
			return true;
	}
	return false;
}

bool flow_reads_behind_within(const struct sched_queue *q, const struct sched_flow *f)
{
	for (int kind = 0; kind < FLOW_READ_KINDS; kind++) {
		const struct sched_flow *other = flow_first(f->group, kind);

		if (other && other != f &&
		    other->node.vtime + flow_slack(q, other->node.weight) < f->node.vtime)
			return true;
	}
	return false;
}

bool flow_is_behind(const struct sched_flow *f, const struct sched_flow *g)
{
	if (flow_opens(f, 0) != flow_opens(g, 0)) /* over its ceiling, or for longer */
		return flow_opens(f, 0) < flow_opens(g, 0);
	if (f->group == g->group)
		return f->node.vtime < g->node.vtime;
	return f->group->node.vtime < g->group->node.vtime;
}
