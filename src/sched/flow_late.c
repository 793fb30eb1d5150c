/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flows of which nothing has gone to the disk for Max_Wait though somebody waits: one read each.
 *
 *   others   |#########|#########|...|########|   |####...      little weight beside much: its turn would
 *   f        r waits ------- Max_Wait --------|#r#|             come after minutes, and its client give up
 *
 * That is not held against f, and takes LATE_PERCENT of the disk's time at most, all such flows together:
 * with many each waits longer, and weights hold but for so much.
 */
#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

#define LATE_PERCENT 5
/* So many are looked at for one that is late. */
#define LOOKS_MAX 64

void flow_late_watch(struct sched_queue *q, struct sched_flow *f, uint64_t since)
{
	if (!f->late.in)
		order_insert(&q->flows.late, &f->late, since, 0);
}

/* Since when F has waited (ns); UINT64_MAX: nobody waits. */
static uint64_t waits_since(const struct sched_flow *f, uint64_t now)
{
	const struct sched_req *oldest = TAILQ_FIRST(&f->waiting);

	if (!oldest)
		return UINT64_MAX;
	if (flow_is_held(f)) /* its own ceiling keeps it */
		return now;
	return oldest->arrival > f->started ? oldest->arrival : f->started;
}

struct sched_flow *flow_late(struct sched_queue *q, uint64_t now)
{
	struct order_node *at = order_first(&q->flows.late);

	if (now < q->flows.late_resume)
		return NULL;
	for (int n = 0; at && n < LOOKS_MAX; n++, at = order_first(&q->flows.late)) {
		struct sched_flow *f = CONTAINER_OF(at, struct sched_flow, late);
		uint64_t since = waits_since(f, now);

		if (now - at->high < q->limits.cost.max_wait)
			return NULL;
		if (since <= at->high)
			return f;
		order_remove(at);
		if (since != UINT64_MAX)
			flow_late_watch(q, f, since);
	}
	return NULL;
}

void flow_late_served(struct sched_queue *q, uint64_t ns, uint64_t now)
{
	q->flows.late_resume = now + ns * (100 - LATE_PERCENT) / LATE_PERCENT;
}
