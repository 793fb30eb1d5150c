/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where groups and flows stand by virtual time, and the least that is due to one: see flow_tree.c.
 */
#include <assert.h>

#include "common/container.h"
#include "sched/parts.h"

uint64_t flow_credit(const struct sched_queue *q)
{
	return q->limits.cost.demand_wait;
}

uint64_t flow_virtual(uint64_t ns, uint32_t weight)
{
	return ns * SHARE_WEIGHT_DEFAULT / weight;
}

static uint32_t weight_in(const struct flow_node *node, const struct flow_set *beneath)
{
	uint32_t weight = node->weight;

	if (!weight)
		weight = beneath->weight;
	return weight ? weight : SHARE_WEIGHT_DEFAULT;
}

uint32_t group_weight(const struct sched_group *g)
{
	return weight_in(&g->node, &g->flows);
}

/* Whom more is due by weight needs no promise; whom less is due has them less often (ns). */
uint64_t flow_promise_time(const struct sched_queue *q, const struct sched_flow *f)
{
	uint32_t weight = group_weight(f->group);

	return weight < SHARE_WEIGHT_DEFAULT ? flow_virtual(q->limits.cost.demand_wait, weight)
					     : q->limits.cost.demand_wait;
}

bool flow_can_wait(const struct flow_node *node)
{
	return !node->n[FLOW_SMALL] && !node->n[FLOW_CHUNK] && !node->n[FLOW_COMMIT];
}

void flow_raise_places(struct flow_node *node)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++) {
		assert(!node->place[kind].in == (!node->n[kind] || node->held.in));
		if (node->place[kind].in)
			order_raise(&node->place[kind], node->vtime, 0);
	}
}

uint64_t flow_level_least(const struct sched_queue *q, const struct flow_set *set,
			  const struct flow_node *node, uint32_t weight)
{
	uint64_t bound = flow_virtual(flow_credit(q), weight);

	bound = set->level > bound ? set->level - bound : 0;
	return node->vtime > bound ? node->vtime : bound;
}

void flow_forget_idleness(const struct sched_queue *q, struct flow_set *set, struct flow_node *node,
			  uint32_t weight)
{
	uint64_t bound = flow_level_least(q, set, node, weight);

	if (node->vtime >= bound)
		return;
	node->vtime = bound;
	flow_raise_places(node);
}

void flow_forget_held(struct sched_queue *q, struct flow_node *node)
{
	struct sched_group *g =
		node->flow ? node->flow->group : CONTAINER_OF(node, struct sched_group, node);

	if (node->flow)
		flow_forget_idleness(q, &g->flows, node, node->weight);
	if (!node->flow || flow_can_wait(&g->node)) /* else others of it could go */
		flow_forget_idleness(q, &q->flows.groups, &g->node, group_weight(g));
}
