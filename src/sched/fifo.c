/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* fifo: in the order of arrival. */
#include "sched/policy.h"

static void add(struct sched_queue *q, struct sched_req *r)
{
	TAILQ_INSERT_TAIL(&q->current, r, order);
}

static void remove_req(struct sched_queue *q, struct sched_req *r)
{
	TAILQ_REMOVE(&q->current, r, order);
}

static struct sched_req *pick(struct sched_queue *q, uint64_t now)
{
	(void)now;
	return TAILQ_FIRST(&q->current);
}

const struct sched_policy sched_fifo = {
	.name = "fifo",
	.summary = "in the order of arrival",
	.add = add,
	.remove = remove_req,
	.pick = pick,
};
