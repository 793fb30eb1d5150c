/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What flows have queued and have had: their requests from submission to the end, and the figures that
 * operators see.
 */
#include <assert.h>
#include <string.h>

#include "sched/flow_limit.h"
#include <stdlib.h>

#include "sched/parts.h"
#include "sched/place.h"

/* ---- requests ---------------------------------------------------------------------------- */

void flow_hold(struct sched_flow *f, uint32_t requests, uint64_t bytes)
{
	f->requests += requests;
	f->group->requests += requests;
	f->held += bytes;
	f->group->held += bytes;
}

void flow_free_room(struct sched_flow *f, uint32_t requests, uint64_t bytes)
{
	assert(f->requests >= requests && f->held >= bytes);
	flow_hold(f, -requests, -bytes);
}

void flow_enter(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_flow *f = r->in, *on_disk = q->flows.visit.flow;

	f->refs++;
	if (r->class == SCHED_WRITEBACK)
		return;
	r->rare = r->class == SCHED_DEMAND && r->scattered && flow_comes_rarely(f, now);
	r->behind = on_disk && on_disk != f ? on_disk->id : (struct flow_id){0};
	flow_hold(f, 1, r->class == SCHED_DEMAND ? r->len : 0);
	if (r->class == SCHED_DEMAND)
		flow_thought(f, now);
}

void flow_rehome(struct sched_req *r, struct sched_flow *f)
{
	bool read = r->class != SCHED_WRITEBACK;

	r->in->stats.queued[r->class]--;
	r->in->refs--;
	flow_free_room(r->in, read, 0);
	r->in = f;
	f->stats.queued[r->class]++;
	f->refs++;
	flow_hold(f, read, 0);
}

/* It is queued, joined or being answered no more. */
void flow_unqueue(const struct sched_req *r)
{
	if (r->class == SCHED_WRITEBACK)
		return;
	flow_free_room(r->in, 1, 0);
}

void flow_leave(const struct sched_req *r, uint64_t now)
{
	struct sched_flow *f = r->in;

	assert(f->refs);
	f->refs--;
	if (r->class != SCHED_DEMAND)
		return;
	flow_free_room(f, 0, r->len);
	if (!f->held)
		f->think.since = now;
}

bool flow_has_room(const struct sched_queue *q, const struct sched_req *r, uint32_t reads)
{
	const struct sched_limits *l = &q->limits;
	const struct sched_flow *f = r->in;
	bool shared = group_is_export(f->group); /* others are in the group */
	uint32_t requests = shared ? f->requests : f->group->requests;
	uint64_t held = shared ? f->held : f->group->held;

	if (!f->id.client) /* nobody's */
		return true;
	if (requests && requests >= l->queue_max - reads)
		return false;
	return r->class != SCHED_DEMAND || !held || held + r->len <= l->queue_bytes - q->held;
}

/* ---- figures ----------------------------------------------------------------------------- */

/* So much waiting, ns, in the name of another makes who was it before forgotten. */
#define BEHIND_MAX (2 * UINT64_C(1000000000))

/*
 * Who kept F waiting most lately: the majority by time, found in one pass (Boyer & Moore), with votes up
 * to a bound, so that who has had the disk for an hour and has left is not it for another hour.
 */
static void count_behind(struct flow_stats *s, const struct flow_id *id, uint64_t wait)
{
	bool same = s->behind.client == id->client && s->behind.export_id == id->export_id;

	if (same) {
		s->behind_time += wait;
	} else if (s->behind_time > wait) {
		s->behind_time -= wait;
	} else {
		s->behind = *id;
		s->behind_time = wait - s->behind_time;
	}
	if (s->behind_time > BEHIND_MAX)
		s->behind_time = BEHIND_MAX;
}

void flow_count_wait(const struct sched_req *r, unsigned int bucket, uint64_t wait)
{
	struct flow_stats *s = &r->in->stats;

	s->waits[bucket]++;
	if (wait > s->wait_max)
		s->wait_max = wait;
	if (r->behind.client || r->behind.export_id)
		count_behind(s, &r->behind, wait);
}

void flow_count_served(const struct sched_req *r)
{
	struct flow_stats *s = &r->in->stats;

	if (r->dropped)
		return;
	s->served[r->class]++;
	s->bytes[r->class] += req_bytes(r);
	s->disk_time[r->class] += r->disk_time;
}

static void describe(const struct sched_flow *f, struct flow_stats *s)
{
	*s = f->stats;
	s->id = f->id;
	s->weight = f->node.weight;
	s->group_weight = group_weight(f->group);
	s->of_export = group_is_export(f->group);
	s->backlogged = f->refs;
	s->throttled = flow_is_held(f);
	s->held = f->held;
	s->joined = f->requests - s->queued[SCHED_DEMAND] - s->queued[SCHED_PREFETCH];
}

unsigned int sched_flows(const struct sched_queue *q, struct flow_stats *stats, unsigned int max)
{
	const struct sched_flow *f;
	unsigned int n = 0;

	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		if (n == max)
			break;
		describe(f, &stats[n++]);
	}
	return q->flows.n;
}

void sched_client_totals(const struct sched_queue *q, struct client_total *totals, size_t n)
{
	const struct sched_flow *f;

	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		const struct client_total key = {.client = f->id.client};
		struct client_total *t =
			bsearch(&key, totals, n, sizeof(*totals), client_total_order);

		if (t == NULL)
			continue;
		for (int c = 0; c < FLOW_CLASSES; c++) {
			t->disk_time += f->stats.disk_time[c];
			t->requests += f->stats.served[c];
		}
		t->read += f->stats.bytes[SCHED_DEMAND] + f->stats.bytes[SCHED_PREFETCH];
		t->written += f->stats.bytes[SCHED_WRITEBACK];
		t->refused += f->stats.refused;
	}
}
