/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Groups and flows: found or made, their places by virtual time, what they are charged.
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
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* A group's key: a client's number, or an export's with this bit. */
#define KEY_EXPORT (UINT64_C(1) << 63)

static uint64_t mix(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 32;
}

/* ---- places ------------------------------------------------------------------------------ */

/* Beyond this no idleness earns anything (ns). */
static uint64_t credit(const struct sched_queue *q)
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

bool group_is_export(const struct sched_group *g)
{
	return g->key & KEY_EXPORT;
}

static bool is_idle(const struct flow_node *node)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		if (node->n[kind])
			return false;
	return true;
}

/* Has nothing queued but write-backs that nobody waits for. */
static bool can_wait(const struct flow_node *node)
{
	return !node->n[FLOW_SMALL] && !node->n[FLOW_CHUNK] && !node->n[FLOW_COMMIT];
}

static void place_all(struct flow_set *set, struct flow_node *node)
{
	for (int kind = 0; kind < FLOW_KINDS; kind++) {
		if (node->place[kind].in)
			order_remove(&node->place[kind]);
		if (node->n[kind] && !node->held.in)
			order_insert(&set->backlogged[kind], &node->place[kind], node->vtime, 0);
	}
}

/* What NODE did not use while it had nothing urgent to do is no claim, but for the credit. */
static void forget_idleness(const struct sched_queue *q, struct flow_set *set,
			    struct flow_node *node, uint32_t weight)
{
	uint64_t bound = flow_virtual(credit(q), weight);

	bound = set->level > bound ? set->level - bound : 0;
	if (node->vtime >= bound)
		return;
	node->vtime = bound;
	place_all(set, node);
}

static void node_add(const struct sched_queue *q, struct flow_set *set, struct flow_node *node,
		     uint32_t weight, enum flow_kind kind)
{
	if (can_wait(node) && kind != FLOW_WRITE)
		forget_idleness(q, set, node, weight);
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

	if (can_wait(&f->node)) /* nobody waits: it was held back, and gains nothing by it */
		forget_idleness(q, &g->flows, &f->node, f->node.weight);
	if (can_wait(&g->node))
		forget_idleness(q, &q->flows.groups, &g->node, group_weight(g));
	raise_level(&g->flows, f->node.vtime);
	raise_level(&q->flows.groups, g->node.vtime);
}

/* With a floor no further ahead than this: what it had by that must not be held against it for long. */
static void advance(struct sched_queue *q, struct flow_set *set, struct flow_node *node,
		    uint64_t by)
{
	uint32_t weight = node->weight ? node->weight : SHARE_WEIGHT_DEFAULT;
	uint64_t to = node->vtime + by, most = set->level + flow_virtual(2 * credit(q), weight);

	if (node->limited && to > most && rate_limit_deadline(&node->limit) != UINT64_MAX)
		to = node->vtime > most ? node->vtime : most;
	node->vtime = to;
	place_all(set, node);
}

void flow_charge(struct sched_queue *q, struct sched_flow *f, uint64_t ns)
{
	struct sched_group *g = f->group;

	advance(q, &g->flows, &f->node, flow_virtual(ns, f->node.weight));
	advance(q, &q->flows.groups, &g->node, flow_virtual(ns, group_weight(g)));
}

/* ---- shares ------------------------------------------------------------------------------ */

static int by_export(const void *key, const void *entry)
{
	return *(const uint16_t *)key - ((const struct export_share *)entry)->export_id;
}

static const struct share *share_of_export(const struct sched_shares *s, uint16_t id)
{
	const struct export_share *found = NULL;

	if (s && s->n_exports)
		found = bsearch(&id, s->exports, s->n_exports, sizeof(s->exports[0]), by_export);
	return found ? &found->share : NULL;
}

static const struct share *share_of_client(const struct sched_shares *s, const struct flow_id *id)
{
	/* for a moment it may be of the rules before */
	return s ? &s->rules[id->rule < s->n_rules ? id->rule : 0] : NULL;
}

static uint32_t weight_of_client(const struct sched_shares *s, const struct flow_id *id)
{
	const struct share *share = share_of_client(s, id);

	return share && share->weight ? share->weight : SHARE_WEIGHT_DEFAULT;
}

static struct sched_group *group_find(struct sched_queue *q, uint64_t key)
{
	struct sched_group *g;

	LIST_FOREACH(g, &q->flows.group_hash[mix(key) % FLOW_HASH], hash)
	if (g->key == key)
		break;
	return g;
}

static struct sched_group *group_make(struct sched_queue *q, uint64_t key)
{
	struct sched_group *g = group_find(q, key);

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->key = key;
	g->node.vtime = q->flows.groups.level;
	LIST_INSERT_HEAD(&q->flows.group_hash[mix(key) % FLOW_HASH], g, hash);
	return g;
}

static void group_put(struct sched_group *g)
{
	assert(g->n_flows);
	if (--g->n_flows)
		return;
	for (int kind = 0; kind < FLOW_READ_KINDS; kind++)
		if (g->round[kind].in)
			order_remove(&g->round[kind]);
	flow_limit_forget(&g->node);
	LIST_REMOVE(g, hash);
	free(g);
}

/* The group that F belongs to by the shares in force, with its weight; NULL: no memory. */
static struct sched_group *group_for(struct sched_queue *q, const struct sched_flow *f)
{
	const struct sched_shares *s = q->flows.shares;
	const struct share *own = share_of_export(s, f->id.export_id);
	struct sched_group *g =
		group_make(q, own ? KEY_EXPORT | f->id.export_id : f->id.client & ~KEY_EXPORT);

	if (g && !g->n_flows)
		g->node.weight = own ? own->weight : weight_of_client(s, &f->id);
	return g;
}

/* F goes to the group G, with all that it has queued. */
static void join_group(struct sched_queue *q, struct sched_flow *f, struct sched_group *g)
{
	struct sched_group *old = f->group;
	uint32_t n[FLOW_KINDS];

	memcpy(n, f->node.n, sizeof(n));
	for (int kind = 0; old && kind < FLOW_KINDS; kind++)
		while (f->node.n[kind])
			flow_backlog_remove(q, f, kind);
	g->n_flows++;
	if (old)
		group_put(old);
	f->group = g;
	f->node.weight = weight_of_client(q->flows.shares, &f->id);
	if (g != old)
		f->node.vtime = g->flows.level;
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		while (f->node.n[kind] < n[kind])
			flow_backlog_add(q, f, kind);
	flow_limit_set(q, f, share_of_client(q->flows.shares, &f->id),
		       share_of_export(q->flows.shares, f->id.export_id));
}

int sched_set_shares(struct sched_queue *q, const struct sched_shares *shares, uint64_t now)
{
	struct sched_shares *copy = malloc(sizeof(*copy));
	struct sched_flow *f;

	if (!copy)
		return ENOMEM;
	*copy = *shares;
	free(q->flows.shares);
	q->flows.shares = copy;
	q->flows.now = now;
	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		struct sched_group *g = group_for(q, f);

		if (!g) /* no memory: it stays with its old one */
			continue;
		join_group(q, f, g);
		if (group_is_export(g))
			g->node.weight = share_of_export(copy, f->id.export_id)->weight;
		else
			g->node.weight = f->node.weight;
	}
	return 0;
}

/* ---- flows ------------------------------------------------------------------------------- */

static struct sched_flow_list *flow_list(struct sched_queue *q, const struct flow_id *id)
{
	return &q->flows.hash[mix(id->client << 16 ^ id->export_id) % FLOW_HASH];
}

static void flow_free(struct sched_queue *q, struct sched_flow *f)
{
	assert(!f->refs && is_idle(&f->node));
	if (q->flows.visit.flow == f)
		q->flows.visit = (struct flow_visit){0};
	if (q->flows.gap.flow == f)
		q->flows.gap = (struct flow_visit){0};
	flow_limit_forget(&f->node);
	if (f->group)
		group_put(f->group);
	if (f->promise.in)
		order_remove(&f->promise);
	TAILQ_REMOVE(&q->flows.recent, f, recent);
	LIST_REMOVE(f, hash);
	q->flows.n--;
	free(f->policy_state);
	free(f);
}

static struct sched_flow *flow_make(struct sched_queue *q, const struct flow_id *id)
{
	struct sched_flow *f = calloc(1, sizeof(*f));
	struct sched_group *g;

	if (!f)
		return NULL;
	f->id = *id;
	f->node.flow = f;
	TAILQ_INIT(&f->reads);
	TAILQ_INIT(&f->waiting);
	TAILQ_INIT(&f->wanted);
	LIST_INSERT_HEAD(flow_list(q, id), f, hash);
	TAILQ_INSERT_HEAD(&q->flows.recent, f, recent);
	q->flows.n++;
	f->policy_state = calloc(1, q->policy->size);
	g = f->policy_state ? group_for(q, f) : NULL;
	if (!g) {
		flow_free(q, f);
		return NULL;
	}
	join_group(q, f, g);
	return f;
}

/* Forgets the one that has been idle for longest, if one of the oldest few is. */
static void forget_one(struct sched_queue *q)
{
	struct sched_flow *f = TAILQ_LAST(&q->flows.recent, sched_flow_tail);

	for (int i = 0; f && i < 8; i++, f = TAILQ_PREV(f, sched_flow_tail, recent)) {
		if (f->refs || f == q->flows.common ||
		    flow_is_held(f)) /* a ceiling is not forgotten */
			continue;
		flow_free(q, f);
		return;
	}
}

/* The client's rule is another one. */
static void change_rule(struct sched_queue *q, struct sched_flow *f, uint16_t rule)
{
	f->id.rule = rule;
	join_group(q, f, f->group);
	if (!group_is_export(f->group))
		f->group->node.weight = f->node.weight;
}

struct sched_flow *flow_get(struct sched_queue *q, const struct flow_id *id)
{
	struct sched_flow *f;

	LIST_FOREACH(f, flow_list(q, id), hash)
	if (f->id.client == id->client && f->id.export_id == id->export_id)
		break;
	if (!f) {
		if (q->flows.n > FLOWS_IDLE_MAX)
			forget_one(q);
		f = flow_make(q, id);
	}
	if (!f)
		return q->flows.common;
	if (f->id.rule != id->rule)
		change_rule(q, f, id->rule);
	if (f != TAILQ_FIRST(&q->flows.recent)) {
		TAILQ_REMOVE(&q->flows.recent, f, recent);
		TAILQ_INSERT_HEAD(&q->flows.recent, f, recent);
	}
	return f;
}

int flows_init(struct sched_queue *q)
{
	static const struct flow_id nobody;

	TAILQ_INIT(&q->flows.recent);
	flow_limits_init(q);
	q->flows.common = flow_make(q, &nobody);
	return q->flows.common ? 0 : ENOMEM;
}

void flows_fini(struct sched_queue *q)
{
	struct sched_flow *f;

	while ((f = TAILQ_FIRST(&q->flows.recent))) {
		f->refs = 0; /* what may still be queued stays its submitter's */
		for (int kind = 0; kind < FLOW_KINDS; kind++)
			while (f->node.n[kind])
				flow_backlog_remove(q, f, kind);
		flow_free(q, f);
	}
	free(q->flows.shares);
	q->flows.shares = NULL;
}
