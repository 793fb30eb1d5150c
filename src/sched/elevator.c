/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * elevator: the cyclical one-way scan of 4.4BSD's bufqdisksort (Ellard & Seltzer 2003,
 * section 5.3).
 *
 * Always the next higher address, then back to the lowest. The highest throughput, and unfair: a
 * reader whose next request arrives in time keeps the disk until its file ends. Max_Wait bounds
 * what the others suffer.
 */
#include "sched/policy.h"

static void add(struct sched_queue *q, struct sched_req *r)
{
	order_insert(&q->current, r);
}

static void remove_req(struct sched_queue *q, struct sched_req *r)
{
	TAILQ_REMOVE(&q->current, r, order);
}

static struct sched_req *pick(struct sched_queue *q, uint64_t now)
{
	(void)now;
	return order_scan(&q->current, q->head);
}

const struct sched_policy sched_elevator = {
	.name = "elevator",
	.summary = "one-way scan by disk address: throughput first",
	.add = add,
	.remove = remove_req,
	.pick = pick,
};
