/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* fifo: in the order of arrival. */
#include "sched/policy.h"

struct fifo {
	struct order all; /* by arrival */
};

static void add(void *state, void *shared, struct sched_req *r)
{
	struct fifo *f = state;

	order_insert(&f->all, &r->order, r->sequence, 0);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	const struct fifo *f = state;

	return ordered_req(order_first(&f->all));
}

const struct sched_policy sched_fifo = {
	.name = "fifo",
	.size = sizeof(struct fifo),
	.add = add,
	.remove = policy_remove,
	.pick = pick,
};
