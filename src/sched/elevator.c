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

struct elevator {
	struct order all; /* by address */
};

static void add(void *state, void *shared, struct sched_req *r)
{
	struct elevator *e = state;

	order_insert(&e->all, &r->order, r->block, r->sequence);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	const struct elevator *e = state;

	return ordered_req(order_scan(&e->all, q->head));
}

const struct sched_policy sched_elevator = {
	.name = "elevator",
	.size = sizeof(struct elevator),
	.add = add,
	.remove = policy_remove,
	.pick = pick,
};
