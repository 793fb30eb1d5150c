/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads that go past the queue to a cluster, which serves many at once: counted, and admitted.
 *
 *   nobody else about     a a a a a a ------------------------------------> cluster
 *   others about          b ---------------------------------------------->     who has not had more than they
 *                         a a a a --> [ queue: a a a ] --> so many at once ->   who has: in the flows' order
 *
 * Each is charged its part of the time that passes, as those are that come out of the queue (flow_clock.c). So what
 * a client has had by all its reads decides when the next one goes, be it a chunk or a small one. Who is over a
 * ceiling, or has had more than somebody else who is about, has to queue; and behind its own reads, while somebody is
 * about or it has a floor or a ceiling.
 *
 * How many of those that queue are there at once is found out by what is served in all (depth_search.h): the fewest
 * that lose nothing of it, for each of them is before the reads of who has had less.
 */
#include <assert.h>

#include "sched/flow_limit.h"
#include "sched/parts.h"

/* Who has asked for something so lately (ns) will ask again. */
#define ABOUT UINT64_C(1000000000)
/* So many flows are looked at. */
#define LOOKS_MAX 64
/* Reads in a window of the search. */
#define SEARCH_READS 64

void sched_set_past(struct sched_queue *q, bool on)
{
	if (on && !q->past.on)
		depth_search_init(&q->past.search, SEARCH_DEPTH_MAX);
	q->past.on = on;
}

uint32_t sched_past_places(const struct sched_queue *q)
{
	return depth_search_depth(&q->past.search);
}

static bool is_about(const struct sched_flow *f, uint64_t now)
{
	return !flow_is_held(f) && (f->refs || (f->started && now - f->started < ABOUT));
}

/* Whether F, of a group or in one, has had so much more than OTHER (of WEIGHT) that this one goes first. */
static bool is_ahead(const struct sched_queue *q, const struct flow_set *set,
		     const struct flow_node *node, const struct flow_node *other, uint32_t weight)
{
	uint64_t had = flow_level_least(q, set, other, weight);

	return node->vtime > had + flow_slack(q, weight);
}

static bool is_behind(const struct sched_queue *q, const struct sched_flow *other,
		      const struct sched_flow *f)
{
	if (other->group == f->group)
		return is_ahead(q, &f->group->flows, &f->node, &other->node, other->node.weight);
	return is_ahead(q, &q->flows.groups, &f->group->node, &other->group->node,
			group_weight(other->group));
}

/* Somebody else is about who has had less than F, or while F has reads QUEUED, which come first. */
static bool others_first(const struct sched_queue *q, const struct sched_flow *f, bool queued,
			 uint64_t now)
{
	const struct sched_flow *other;
	int looks = 0;

	TAILQ_FOREACH(other, &q->flows.recent, recent) {
		if (looks++ == LOOKS_MAX)
			break;
		if (other != f && is_about(other, now) && (queued || is_behind(q, other, f)))
			return true;
	}
	return false;
}

static bool may_pass(const struct sched_queue *q, const struct sched_flow *f, uint64_t now)
{
	bool limited = f->node.limited || f->group->node.limited;
	bool queued = f->node.n[FLOW_SMALL];

	if (flow_is_held(f) || (limited && queued))
		return false;
	return flow_behind_floor(f, now) || !others_first(q, f, queued, now);
}

bool sched_past_begin(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_flow *f = flow_get(q, &r->flow);

	assert(r->state == REQ_IDLE && r->class == SCHED_DEMAND);
	flow_release(q, now);
	flow_set_rule(q, f, r->flow.rule);
	if (!may_pass(q, f, now))
		return false;
	r->in = f;
	r->arrival = r->submitted = r->started = now;
	r->io_len = r->len;
	r->disk_time = 0;
	r->dropped = r->on_clock = false;
	r->reserved = flow_behind_floor(f, now);
	q->past.n++;
	q->stats.submitted[SCHED_DEMAND]++;
	f->refs++;
	f->stats.running++;
	f->started = now;
	flow_serve(q, f);
	clock_start(q, r, now);
	flow_limit_begin(q, r, r->len, now);
	return true;
}

void sched_past_end(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_flow *f = r->in;

	assert(q->past.n && f->refs && f->stats.running);
	clock_stop(q, r, now);
	q->past.n--;
	f->stats.running--;
	flow_limit_end(q, r, now);
	flow_charge(q, f, r->disk_time);
	q->stats.bytes[SCHED_DEMAND] += r->io_len;
	flow_count_served(r);
	account_wait(q, r, now);
	past_served(q, now);
	f->refs--;
}

void past_served(struct sched_queue *q, uint64_t now)
{
	struct depth_search *s = &q->past.search;

	/* else it is not this that bounds what is served */
	if (!q->past.on || !q->by_class[SCHED_DEMAND])
		return;
	depth_search_brought(s, SEARCH_WINDOW / SEARCH_READS, now);
	if (s->coming)
		depth_search_began(s, 1);
}
