/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flows of which nothing has gone to the disk for three quarters of Max_Wait though somebody waits: one read each. And,
 * where there are no turns of chunks between which promises are kept, of who has a few small reads and has had more than
 * others, when its promise is due: by one read that took seconds it may be seconds ahead.
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
/* A read that takes so much of Max_Wait is longer than any that does not hang. */
#define HANGS_PART 16
/* So many promises are looked at for one of who has a few; then not for so long (ns). */
#define PROMISES_LOOKED 8
#define LOOK_AGAIN	UINT64_C(1000000)
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

/* Whether all that it keeps waiting is a few reads: of its client, or where those of an export share with others its own. */
static bool has_few(const struct sched_flow *f)
{
	return (group_is_export(f->group) ? f->requests : f->group->requests) <= FLOW_FEW;
}

/* Whether turns of chunks come, with promises kept between them: those whose time comes before UPTO (virtual). */
static bool chunks_have_turns(const struct sched_queue *q, uint64_t upto)
{
	return group_vtime(group_first(q, FLOW_CHUNK)) <= upto;
}

/* Whose promise is due, of those ahead who have a few; the others go behind, to be looked at later. */
static struct sched_flow *promised(struct sched_queue *q, uint64_t now)
{
	uint64_t upto = flow_level_of_reads(q);
	struct order_node *at = order_first(&q->flows.promises);

	if (chunks_have_turns(q, upto))
		return NULL;
	for (int n = 0; at && at->high <= now; n++, at = order_first(&q->flows.promises)) {
		struct sched_flow *f = CONTAINER_OF(at, struct sched_flow, promise);

		if (f->group->node.vtime > upto && !flow_is_held(f) && !flow_is_kept(q, f) &&
		    has_few(f))
			return f;
		if (n == PROMISES_LOOKED) {
			q->flows.late_resume = now + LOOK_AGAIN;
			return NULL;
		}
		flow_promise_later(q, f, now + 1);
	}
	return NULL;
}

uint64_t flow_patience(const struct sched_queue *q)
{
	return q->limits.cost.max_wait * 3 / 4;
}

/* Who was kept from the disk for so much of Max_Wait that what is left is for the read itself. */
static struct sched_flow *kept_waiting(struct sched_queue *q, uint64_t now)
{
	struct order_node *at = order_first(&q->flows.late), *next;

	for (int n = 0; at && n < LOOKS_MAX; n++, at = next) {
		struct sched_flow *f = CONTAINER_OF(at, struct sched_flow, late);
		uint64_t since = waits_since(f, now);

		if (now - at->high < flow_patience(q))
			return NULL;
		next = order_next(at);
		if (since <= at->high && flow_is_kept(q, f)) /* one of its reads is at the disk */
			continue;
		if (since <= at->high)
			return f;
		order_remove(at);
		if (since != UINT64_MAX)
			flow_late_watch(q, f, since);
	}
	return NULL;
}

struct sched_flow *flow_late(struct sched_queue *q, enum flow_kind *kind, uint64_t now)
{
	struct sched_flow *f;

	if (now < q->flows.late_resume)
		return NULL;
	f = kept_waiting(q, now);
	*kind = f ? TAILQ_FIRST(&f->waiting)->kind : FLOW_SMALL;
	return f ? f : promised(q, now);
}

void flow_late_served(struct sched_queue *q, uint64_t ns, uint64_t now)
{
	/* one that hangs is no reason to leave all others waiting */
	uint64_t most = q->limits.cost.max_wait / HANGS_PART;

	if (ns > most)
		ns = most;
	q->flows.late_resume = now + flow_rest(ns, LATE_PERCENT);
}
