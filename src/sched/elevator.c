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

static void init(void *state)
{
	struct sched_list *all = state;

	TAILQ_INIT(all);
}

static void add(void *state, struct sched_req *r)
{
	order_insert(state, r);
}

static void remove_req(void *state, struct sched_req *r)
{
	struct sched_list *all = state;

	TAILQ_REMOVE(all, r, order);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	return order_scan(state, q->head);
}

const struct sched_policy sched_elevator = {
	.name = "elevator",
	.size = sizeof(struct sched_list),
	.init = init,
	.add = add,
	.remove = remove_req,
	.pick = pick,
};
