/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Promises: of a flow that is further ahead than others one small read in Demand_Wait goes to the disk all the
 * same. By when the next one goes is kept here; that it does is flow_visit.c's.
 */
#include "sched/parts.h"

void flow_promise(struct sched_queue *q, struct sched_flow *f, uint64_t since)
{
	if (!f->node.n[FLOW_SMALL]) {
		if (f->promise.in)
			order_remove(&f->promise);
		return;
	}
	if (f->promise.in)
		return;
	if (since < f->small_served)
		since = f->small_served;
	order_insert(&q->flows.promises, &f->promise, since + flow_promise_time(q, f), 0);
}

void flow_keep_promise(struct sched_queue *q, struct sched_flow *f, uint64_t now)
{
	f->small_served = now;
	if (f->promise.in)
		order_remove(&f->promise);
	flow_promise(q, f, now);
}
