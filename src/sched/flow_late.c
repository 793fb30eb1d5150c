/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flows of which nothing has gone to the disk for Max_Wait though somebody waits: one read each. And, where there are
 * no turns of chunks between which promises are kept, of who has a few small reads and has had more than others, when
 * its promise is due: by one read that took seconds it may be seconds ahead.
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
/* Reads of a client, queued: a few. */
#define FEW 2
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

/* Whose promise is due, of those ahead who have a few; the others go behind, to be looked at later. */
static struct sched_flow *promised(struct sched_queue *q, uint64_t now)
{
	uint64_t upto = flow_level_of_reads(q);
	struct order_node *at;

	if (group_first(q, FLOW_CHUNK))
		return NULL;
	for (int n = 0; n < LOOKS_MAX; n++) {
		struct sched_flow *f;

		at = order_first(&q->flows.promises);
		if (!at || at->high > now)
			return NULL;
		f = CONTAINER_OF(at, struct sched_flow, promise);
		if (f->group->node.vtime > upto && !flow_is_held(f) && f->group->requests <= FEW)
			return f;
		flow_promise_later(q, f, now + 1);
	}
	return NULL;
}

/* Who was kept from the disk for Max_Wait. */
static struct sched_flow *kept_waiting(struct sched_queue *q, uint64_t now)
{
	struct order_node *at = order_first(&q->flows.late);

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

struct sched_flow *flow_late(struct sched_queue *q, uint64_t now)
{
	struct sched_flow *f;

	if (now < q->flows.late_resume)
		return NULL;
	f = kept_waiting(q, now);
	return f ? f : promised(q, now);
}

void flow_late_served(struct sched_queue *q, uint64_t ns, uint64_t now)
{
	uint64_t most = flow_slice(q); /* one that hangs is no reason to leave all others waiting */

	if (ns > most)
		ns = most;
	q->flows.late_resume = now + ns * (100 - LATE_PERCENT) / LATE_PERCENT;
}
