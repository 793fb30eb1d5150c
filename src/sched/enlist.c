/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A queued request in the lists of its flow: those of its reads and of who waits, the policy's order or
 * the write-backs', and the flow's place among the others.
 */
#include <assert.h>

#include "sched/parts.h"

enum flow_kind flow_kind_of(const struct sched_policy *policy, const struct sched_req *r)
{
	if (r->class == SCHED_WRITEBACK)
		return r->wanted ? FLOW_COMMIT : FLOW_WRITE;
	return r->class == SCHED_DEMAND && policy->gap ? FLOW_SMALL : FLOW_CHUNK;
}

static void enlist_writeback(struct sched_flow *f, struct sched_req *r)
{
	if (r->wanted)
		TAILQ_INSERT_TAIL(&f->wanted, r, wait);
	else
		order_batch_insert(&f->writebacks, &r->order, r->block, r->sequence);
}

void queue_enlist(struct sched_queue *q, struct sched_req *r)
{
	struct sched_flow *f = r->in;

	r->kind = flow_kind_of(q->policy, r);
	flow_backlog_add(q, f, r->kind);
	flow_promise(q, f, r->arrival);
	if (r->class == SCHED_WRITEBACK) {
		enlist_writeback(f, r);
		return;
	}
	TAILQ_INSERT_TAIL(&f->reads, r, mine);
	f->rare += r->rare;
	if (r->wanted) {
		TAILQ_INSERT_TAIL(&f->waiting, r, wait);
		flow_late_watch(q, f, r->arrival);
		flow_joined_watch(q, r);
	}
	flow_guests_of(q, r);
	q->policy->add(f->policy_state, q->policy_shared, r);
}

void queue_delist(struct sched_queue *q, struct sched_req *r)
{
	struct sched_flow *f = r->in;

	assert(r->state == REQ_QUEUED);
	if (is_parked(q, r)) {
		order_remove(&r->order);
		return;
	}
	flow_backlog_remove(q, f, r->kind);
	flow_promise(q, f, r->arrival);
	if (r->wanted)
		TAILQ_REMOVE(r->class == SCHED_WRITEBACK ? &f->wanted : &f->waiting, r, wait);
	if (r->class != SCHED_WRITEBACK) {
		TAILQ_REMOVE(&f->reads, r, mine);
		f->rare -= r->rare;
	}
	if (r->class == SCHED_PREFETCH && r->place.in)
		order_remove(&r->place);
	flow_guest_no_more(r);
	if (is_overdue(r) || r->kind == FLOW_WRITE)
		order_remove(&r->order);
	else if (r->kind != FLOW_COMMIT)
		q->policy->remove(f->policy_state, r);
	assert(!r->order.in);
}

void queue_count_chunk(struct sched_queue *q, const struct sched_req *r, bool comes)
{
	uint32_t *of = &q->owners.of[r->owner % SCHED_OWNERS];

	q->short_chunks += comes ? is_short_chunk(r) : -is_short_chunk(r);
	if (r->class != SCHED_PREFETCH)
		return;
	if (comes)
		q->owners.n += (*of)++ == 0;
	else
		q->owners.n -= --*of == 0;
}

void queue_remove(struct sched_queue *q, struct sched_req *r)
{
	assert(q->queued && q->by_class[r->class] && r->in->stats.queued[r->class]);
	q->queued--;
	q->by_class[r->class]--;
	r->in->stats.queued[r->class]--;
	queue_count_chunk(q, r, false);
	queue_delist(q, r);
	if (r->class == SCHED_WRITEBACK) {
		q->writeback.running++; /* whoever removes one runs it */
		return;
	}
	going_on_remove(q, r);
	TAILQ_REMOVE(&q->aged, r, age);
	if (r->class == SCHED_DEMAND)
		order_remove(&r->place);
}
