/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lists sorted by device address. Queues of a disk are short (each stream has a chunk or two, each
 * client a few demands), so a sorted list is enough, as in 4.4BSD's bufqdisksort.
 */
#include "sched/policy.h"

void order_insert(struct sched_list *list, struct sched_req *r)
{
	struct sched_req *at;

	TAILQ_FOREACH_REVERSE(at, list, sched_list, order)
		if (at->block <= r->block) {
			TAILQ_INSERT_AFTER(list, at, r, order);
			return;
		}
	TAILQ_INSERT_HEAD(list, r, order);
}

struct sched_req *order_scan(const struct sched_list *list, uint64_t head)
{
	struct sched_req *r;

	TAILQ_FOREACH(r, list, order)
		if (r->block >= head)
			return r;
	return TAILQ_FIRST(list);
}
