/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* fifo: in the order of arrival. */
#include "sched/policy.h"

static void init(void *state)
{
	struct sched_list *all = state;

	TAILQ_INIT(all);
}

static void add(void *state, struct sched_req *r)
{
	struct sched_list *all = state;

	TAILQ_INSERT_TAIL(all, r, order);
}

static void remove_req(void *state, struct sched_req *r)
{
	struct sched_list *all = state;

	TAILQ_REMOVE(all, r, order);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	const struct sched_list *all = state;

	return TAILQ_FIRST(all);
}

const struct sched_policy sched_fifo = {
	.name = "fifo",
	.size = sizeof(struct sched_list),
	.init = init,
	.add = add,
	.remove = remove_req,
	.pick = pick,
};
