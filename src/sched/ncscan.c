/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ncscan: N-step C-SCAN (Ellard & Seltzer 2003, section 5.3). The schedule of the current scan is
 * frozen; what arrives during it belongs to the next scan. Nobody can hold the disk by asking fast.
 */
#include "sched/policy.h"

struct ncscan {
	struct sched_list current, next; /* by address: this scan, the one after */
};

static void init(void *state)
{
	struct ncscan *s = state;

	TAILQ_INIT(&s->current);
	TAILQ_INIT(&s->next);
}

static void add(void *state, struct sched_req *r)
{
	struct ncscan *s = state;

	order_insert(&s->next, r);
}

static bool in_list(const struct sched_list *list, const struct sched_req *r)
{
	const struct sched_req *at;

	TAILQ_FOREACH(at, list, order)
		if (at == r)
			return true;
	return false;
}

static void remove_req(void *state, struct sched_req *r)
{
	struct ncscan *s = state;

	if (in_list(&s->current, r))
		TAILQ_REMOVE(&s->current, r, order);
	else
		TAILQ_REMOVE(&s->next, r, order);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	struct ncscan *s = state;

	if (TAILQ_EMPTY(&s->current))
		TAILQ_CONCAT(&s->current, &s->next, order);
	return order_scan(&s->current, q->head);
}

const struct sched_policy sched_ncscan = {
	.name = "ncscan",
	.size = sizeof(struct ncscan),
	.init = init,
	.add = add,
	.remove = remove_req,
	.pick = pick,
};
