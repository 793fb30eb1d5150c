/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A queued request leaves all lists that it is in: for the disk, or because it joined another. */
#include <assert.h>

#include "sched/parts.h"

void queue_remove(struct sched_queue *q, struct sched_req *r)
{
	assert(r->state == REQ_QUEUED && q->queued && q->by_class[r->class]);
	q->queued--;
	q->by_class[r->class]--;
	if (r->class == SCHED_WRITEBACK) {
		writeback_remove(q, r);
		return;
	}
	if (r->wanted && !is_parked(q, r))
		TAILQ_REMOVE(&q->waiting, r, wait);
	if (is_overdue(q, r) || is_parked(q, r))
		order_remove(&r->order);
	else
		q->policy->remove(q->policy_state, r);
	assert(!r->order.in);
	TAILQ_REMOVE(&q->aged, r, age);
	if (r->class == SCHED_DEMAND)
		order_remove(&r->place);
}
