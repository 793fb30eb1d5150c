/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads beyond Max_Wait: before the policy's, and without ending the scan.
 *
 *   age of the oldest   Max_Wait                  Max_Wait or more
 *                          |                          |
 *   disk     policy ...  [ batch, in scan order ] policy ... [ batch ] policy ...
 *                        |<------- t ---------->|<--- t --->|
 *
 * Taken one by one and oldest first, they cost a whole seek each, and beyond the load at which all
 * reads wait that long nothing else would ever be taken: first come, first served, and slower. So
 * when the oldest is overdue a batch is frozen: all that have waited half of Max_Wait, in the order
 * of their addresses, beginning with the oldest. While the disk bears the load that is a handful,
 * which is over before the next one is overdue, and a handful goes oldest first; beyond it, half the
 * queue, whose scan is as dense as the policy's. After a batch the policy has the disk for as long
 * as the batch took: what is overdue gets half of the time that reads have. All this is of one flow, and
 * goes on in its visits: nobody waits for the thousands of another. A handful of each of many flows is none:
 * where such go together (flow_near.c) it goes in scan order too.
 */
#include <assert.h>

#include "sched/parts.h"

/* A handful: so few seeks in half of Max_Wait are no loss. */
#define OVERDUE_FEW 8

/* Reads, of those that somebody waits for, that have waited half of Max_Wait; counts to MAX. */
static uint32_t count_old(const struct sched_queue *q, const struct sched_flow *f, uint64_t now,
			  uint32_t max)
{
	const struct sched_req *r;
	uint32_t n = 0;

	TAILQ_FOREACH(r, &f->waiting, wait) {
		if (n == max || now - r->arrival < q->limits.cost.max_wait / 2)
			break; /* by arrival: nor have those behind it */
		n++;
	}
	return n;
}

static void freeze(struct sched_queue *q, struct sched_flow *f, uint64_t now)
{
	bool few = count_old(q, f, now, OVERDUE_FEW + 1) <= OVERDUE_FEW && !flow_goes_near(q);
	struct sched_req *r = TAILQ_FIRST(&f->waiting);

	f->overdue.few = few;
	f->overdue.at = few ? 0 : r->block;
	f->overdue.begun = now;
	f->overdue.open = true;
	for (; r && now - r->arrival >= q->limits.cost.max_wait / 2; r = TAILQ_NEXT(r, wait)) {
		q->policy->remove(f->policy_state, r);
		order_insert(&f->overdue.batch, &r->order, few ? r->arrival : r->block,
			     r->sequence);
	}
}

/* The batch is over, which is seen at NOW: that may be long after, where F had nothing more to do. */
static void end(const struct sched_queue *q, struct sched_overdue *o, uint64_t now)
{
	uint64_t latest = o->taken + q->limits.cost.max_wait / 2,
		 over = now < latest ? now : latest;

	o->open = false;
	o->resume = over + (over - o->begun);
}

struct sched_req *overdue_pick(struct sched_queue *q, struct sched_flow *f, uint64_t now)
{
	struct sched_overdue *o = &f->overdue;
	const struct sched_req *oldest = TAILQ_FIRST(&f->waiting);
	struct sched_req *r;

	if (!o->batch.n && o->open)
		end(q, o, now);
	if (!o->batch.n) {
		if (!oldest || now - oldest->arrival < q->limits.cost.max_wait || now < o->resume)
			return NULL;
		freeze(q, f, now);
	}
	r = ordered_req(order_scan(&o->batch, o->at));
	assert(r);
	o->at = r->order.high;
	o->taken = now;
	return r;
}
