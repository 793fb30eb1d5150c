/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Groups and flows: their places by virtual time, what they are charged.
 *
 *   virtual time ->      a:|        b:|  level            a has had least for its weight: it is next
 *                                      |
 *   newcomer     ->     [<- credit ->] c                  begins at the level, less a bounded credit
 *
 * Start-time fair queueing, but with the length of a service known only after it: who is charged ns of
 * disk time moves on by ns / weight (as Linux' BFQ and CFS do). A node's place is where it stands
 * before its next service, its start tag.
 */
#include <assert.h>

#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* So many reads under way that they, not visits, are what a read waits for. */
#define NEAR_RUNNING 8

static bool is_idle(const struct flow_node *node)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		if (node->n[kind])
			return false;
	return true;
}

static void node_add(const struct sched_queue *q, struct flow_set *set, struct flow_node *node,
		     uint32_t weight, enum flow_kind kind)
{
	if (flow_can_wait(node) && kind != FLOW_WRITE)
		flow_forget_idleness(q, set, node, weight);
	if (!node->n[kind]++ && !node->held.in)
		order_insert(&set->backlogged[kind], &node->place[kind], node->vtime, 0);
}

static void node_remove(struct flow_set *set, struct flow_node *node, enum flow_kind kind)
{
	assert(node->n[kind]);
	if (!--node->n[kind] && node->place[kind].in)
		order_remove(&node->place[kind]);
}

static bool reads_in(const struct sched_flow *f)
{
	return f->node.n[FLOW_SMALL] || f->node.n[FLOW_CHUNK];
}

/* Who has a floor is among those with reads, or no more. */
static void limits_follow(struct sched_queue *q, struct sched_flow *f)
{
	if (f->node.limited)
		flow_limit_backlog(q, &f->node);
	if (f->group->node.limited)
		flow_limit_backlog(q, &f->group->node);
}

void flow_backlog_add(struct sched_queue *q, struct sched_flow *f, enum flow_kind kind)
{
	struct sched_group *g = f->group;
	bool begins = kind < FLOW_READ_KINDS && !reads_in(f), idle = is_idle(&f->node);

	node_add(q, &g->flows, &f->node, f->node.weight, kind);
	if (!f->node.held.in) {
		g->reading += begins;
		if (idle)
			g->flows.weight += f->node.weight;
		node_add(q, &q->flows.groups, &g->node, group_weight(g), kind);
	}
	if (!flow_is_held(f)) {
		q->flows.reading += begins;
		q->flows.ready[kind]++;
	}
	limits_follow(q, f);
}

void flow_backlog_remove(struct sched_queue *q, struct sched_flow *f, enum flow_kind kind)
{
	struct sched_group *g = f->group;
	bool ends;

	node_remove(&g->flows, &f->node, kind);
	ends = kind < FLOW_READ_KINDS && !reads_in(f);
	if (!f->node.held.in) {
		node_remove(&q->flows.groups, &g->node, kind);
		g->reading -= ends;
		if (is_idle(&f->node))
			g->flows.weight -= f->node.weight;
	}
	if (!flow_is_held(f)) {
		q->flows.reading -= ends;
		q->flows.ready[kind]--;
	}
	limits_follow(q, f);
}

static struct flow_node *node_of(struct order_node *place, enum flow_kind kind)
{
	return place ? CONTAINER_OF(place - kind, struct flow_node, place[0]) : NULL;
}

struct sched_group *group_first(const struct sched_queue *q, enum flow_kind kind)
{
	struct flow_node *node = node_of(order_first(&q->flows.groups.backlogged[kind]), kind);

	return node ? CONTAINER_OF(node, struct sched_group, node) : NULL;
}

bool flow_goes_near(const struct sched_queue *q)
{
	return q->running >= NEAR_RUNNING && !q->scattered_only && q->policy->gap &&
	       !group_first(q, FLOW_CHUNK) && q->flows.groups.backlogged[FLOW_SMALL].n > 1;
}

struct sched_group *group_next(const struct sched_group *g, enum flow_kind kind)
{
	struct flow_node *node = node_of(order_next(&g->node.place[kind]), kind);

	return node ? CONTAINER_OF(node, struct sched_group, node) : NULL;
}

struct sched_flow *flow_first(const struct sched_group *g, enum flow_kind kind)
{
	struct flow_node *node = node_of(order_first(&g->flows.backlogged[kind]), kind);

	return node ? CONTAINER_OF(node, struct sched_flow, node) : NULL;
}

struct sched_flow *flow_next(const struct sched_flow *f, enum flow_kind kind)
{
	struct flow_node *node = node_of(order_next(&f->node.place[kind]), kind);

	return node ? CONTAINER_OF(node, struct sched_flow, node) : NULL;
}

/*
 * Newcomers begin where who is served stands; but who was served ahead of others, by its round or by a
 * share of its own, does not take them along.
 */
static void raise_level(struct flow_set *set, uint64_t vtime)
{
	for (int kind = 0; kind < FLOW_WRITE; kind++) {
		const struct order_node *first = order_first(&set->backlogged[kind]);

		if (first && first->high < vtime)
			vtime = first->high;
	}
	if (vtime > set->level)
		set->level = vtime;
}

void flow_serve(struct sched_queue *q, struct sched_flow *f)
{
	struct sched_group *g = f->group;

	if (flow_can_wait(&f->node)) /* nobody waits: it was held back, and gains nothing by it */
		flow_forget_idleness(q, &g->flows, &f->node, f->node.weight);
	if (flow_can_wait(&g->node))
		flow_forget_idleness(q, &q->flows.groups, &g->node, group_weight(g));
	raise_level(&g->flows, f->node.vtime);
	raise_level(&q->flows.groups, g->node.vtime);
}

/* With a floor no further ahead than this: what it had by that must not be held against it for long. */
static void advance(struct sched_queue *q, struct flow_set *set, struct flow_node *node,
		    uint64_t ns, uint32_t weight)
{
	uint64_t to = node->vtime + flow_virtual(ns, weight);
	uint64_t most = set->level + flow_virtual(2 * flow_credit(q), weight);

	if (node->limited && to > most && rate_limit_deadline(&node->limit) != UINT64_MAX)
		to = node->vtime > most ? node->vtime : most;
	node->vtime = to;
	flow_raise_places(node);
}

void flow_charge_within(struct sched_queue *q, struct sched_flow *f, uint64_t ns)
{
	advance(q, &f->group->flows, &f->node, ns, f->node.weight);
}

void flow_charge(struct sched_queue *q, struct sched_flow *f, uint64_t ns)
{
	struct sched_group *g = f->group;
	uint32_t weight = g->node.weight ? g->node.weight : g->flows.weight;

	if (!g->node.weight && (is_idle(&f->node) || f->node.held.in)) /* that counts it no more */
		weight += f->node.weight;
	flow_charge_within(q, f, ns);
	advance(q, &q->flows.groups, &g->node, ns, weight);
}
