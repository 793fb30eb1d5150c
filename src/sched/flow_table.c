/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Groups and flows: found or made, and forgotten; the shares that they have.
 *
 *   (client, export) --hash--> flow --> group of its client, or of its export where that has a share
 *   recent   [ latest submission ... idle for longest ]    beyond FLOWS_IDLE_MAX these are forgotten
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/flow_limit.h"
#include "sched/parts.h"

/* A group's key: a client's number, or an export's with this bit. */
#define KEY_EXPORT (UINT64_C(1) << 63)
/* So many are looked at for one to forget. */
#define FORGET_LOOKS 8

static uint64_t mix(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 32;
}

bool group_is_export(const struct sched_group *g)
{
	return g->key & KEY_EXPORT;
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

static const struct share *share_of_rule(const struct sched_shares *s, uint16_t rule)
{
	/* for a moment it may be of the rules before */
	return s ? &s->rules[rule < s->n_rules ? rule : 0] : NULL;
}

static uint32_t weight_of_rule(const struct sched_shares *s, uint16_t rule)
{
	const struct share *share = share_of_rule(s, rule);

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

static bool is_limit(const struct share_limit *l)
{
	return l->bandwidth || l->iops || l->time;
}

bool sched_shares_differ(const struct sched_shares *s)
{
	return s->n_rules > 1 || s->n_exports || is_limit(&s->rules[0].floor) ||
	       is_limit(&s->rules[0].ceiling);
}

/* That of F's client: what its group was told last, for another of its flows may have been idle since. */
static uint16_t rule_of(const struct sched_flow *f)
{
	return group_is_export(f->group) ? f->id.rule : f->group->rule;
}

/* The group that F belongs to by the shares in force, with its weight; NULL: no memory. */
static struct sched_group *group_for(struct sched_queue *q, const struct sched_flow *f)
{
	const struct sched_shares *s = q->flows.shares;
	const struct share *own = share_of_export(s, f->id.export_id);
	struct sched_group *g =
		group_make(q, own ? KEY_EXPORT | f->id.export_id : f->id.client & ~KEY_EXPORT);

	if (g && !g->n_flows) {
		g->rule = f->id.rule;
		g->node.weight = own ? own->weight : weight_of_rule(s, g->rule);
	}
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
	g->requests += f->requests;
	g->held += f->held;
	if (old) {
		old->requests -= f->requests;
		old->held -= f->held;
		group_put(old);
	}
	f->group = g;
	f->node.weight = weight_of_rule(q->flows.shares, rule_of(f));
	if (g != old)
		f->node.vtime = g->flows.level;
	for (int kind = 0; kind < FLOW_KINDS; kind++)
		while (f->node.n[kind] < n[kind])
			flow_backlog_add(q, f, kind);
	flow_limit_set(q, f, share_of_rule(q->flows.shares, rule_of(f)),
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
	assert(!f->refs);
	if (q->flows.visit.flow == f)
		q->flows.visit = (struct flow_visit){0};
	if (q->flows.gap.flow == f)
		q->flows.gap = (struct flow_visit){0};
	if (q->writeback.reader == f)
		q->writeback.reader = NULL;
	flow_limit_forget(&f->node);
	if (f->group)
		group_put(f->group);
	if (f->promise.in)
		order_remove(&f->promise);
	if (f->late.in)
		order_remove(&f->late);
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

static void make_latest(struct sched_queue *q, struct sched_flow *f)
{
	TAILQ_REMOVE(&q->flows.recent, f, recent);
	TAILQ_INSERT_HEAD(&q->flows.recent, f, recent);
}

/* Forgets the one that has been idle for longest, if one of the oldest few is: else others are next. */
static void forget_one(struct sched_queue *q)
{
	for (int i = 0; i < FORGET_LOOKS; i++) {
		struct sched_flow *f = TAILQ_LAST(&q->flows.recent, sched_flow_tail);

		/* a ceiling is not forgotten */
		if (!f->refs && f != q->flows.common && !flow_is_held(f)) {
			flow_free(q, f);
			return;
		}
		make_latest(q, f);
	}
}

/* The client's rule is another one. */
void flow_set_rule(struct sched_queue *q, struct sched_flow *f, uint16_t rule)
{
	if (f == q->flows.common || (f->id.rule == rule && rule_of(f) == rule))
		return;
	f->id.rule = rule;
	if (!group_is_export(f->group))
		f->group->rule = rule;
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
	make_latest(q, f);
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
