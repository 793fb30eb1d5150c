/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ncscan: N-step C-SCAN (Ellard & Seltzer 2003, section 5.3). The schedule of the current scan is
 * frozen; what arrives during it belongs to the next scan. Nobody can hold the disk by asking fast.
 */
#include "sched/policy.h"

static void add(struct sched_queue *q, struct sched_req *r)
{
	order_insert(&q->next, r);
}

static bool in_list(const struct sched_list *list, const struct sched_req *r)
{
	const struct sched_req *at;

	TAILQ_FOREACH(at, list, order)
		if (at == r)
			return true;
	return false;
}

static void remove_req(struct sched_queue *q, struct sched_req *r)
{
	if (in_list(&q->current, r))
		TAILQ_REMOVE(&q->current, r, order);
	else
		TAILQ_REMOVE(&q->next, r, order);
}

static struct sched_req *pick(struct sched_queue *q, uint64_t now)
{
	(void)now;
	if (TAILQ_EMPTY(&q->current))
		TAILQ_CONCAT(&q->current, &q->next, order);
	return order_scan(&q->current, q->head);
}

const struct sched_policy sched_ncscan = {
	.name = "ncscan",
	.summary = "N-step C-SCAN: the current scan is frozen, arrivals wait for the next",
	.add = add,
	.remove = remove_req,
	.pick = pick,
};
