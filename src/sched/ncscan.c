/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ncscan: N-step C-SCAN (Ellard & Seltzer 2003, section 5.3). The schedule of the current scan is
 * frozen; what arrives during it belongs to the next scan. Nobody can hold the disk by asking fast.
 */
#include "sched/policy.h"

struct ncscan {
	struct order_batches scans; /* by address */
};

static void add(void *state, void *shared, struct sched_req *r)
{
	struct ncscan *s = state;

	order_batch_insert(&s->scans, &r->order, r->block, r->sequence);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	struct ncscan *s = state;

	order_batch_freeze(&s->scans);
	return ordered_req(order_scan(order_batch(&s->scans), q->head));
}

const struct sched_policy sched_ncscan = {
	.name = "ncscan",
	.size = sizeof(struct ncscan),
	.add = add,
	.remove = policy_remove,
	.pick = pick,
};
