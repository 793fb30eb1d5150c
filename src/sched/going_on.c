/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests that go on where a read at the drive is.
 *
 *   at the drive    | a: 0-64K |  b  |  c  |  d  |
 *   a asks for        64-256K                        it goes at once: the drive takes it on its way
 *
 * Where several are at a drive that orders them, one that lies next to another costs it no seek as long as both are
 * there. A turn later the arm is elsewhere, and comes back for it. So it goes before its turn, and is charged; but not
 * if its client has had more than others.
 */
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* So many are looked at. */
#define LOOKS_MAX 16
/* Of Max_Wait, what a read of its client may have waited for. */
#define LATE_PART 2

/* Whether a read of R's file is at the drive that R goes on from, or that goes on from R (as much of it as would go). */
static bool goes_on(const struct sched_queue *q, const struct sched_req *r)
{
	uint64_t end = r->young ? r->offset + SHORT_CHUNK_MAX : req_end(r);
	const struct sched_req *at;

	TAILQ_FOREACH(at, &q->active, age)
		if (at->file == r->file && at->class == SCHED_DEMAND && at->offset <= end &&
		    r->offset <= at->offset + at->io_len)
			return true;
	return false;
}

void going_on_add(struct sched_queue *q, struct sched_req *r)
{
	r->goes_on = r->scattered && q->running && !is_parked(q, r) && goes_on(q, r);
	if (r->goes_on)
		TAILQ_INSERT_TAIL(&q->going_on, r, on);
}

void going_on_remove(struct sched_queue *q, struct sched_req *r)
{
	if (r->goes_on)
		TAILQ_REMOVE(&q->going_on, r, on);
	r->goes_on = false;
}

/* Whether one of F's own reads waits for long: it has its turn before any goes beside others. */
static bool is_late(const struct sched_queue *q, const struct sched_flow *f)
{
	const struct sched_req *oldest = TAILQ_FIRST(&f->waiting);

	return f->overdue.batch.n ||
	       (oldest && q->flows.now - oldest->arrival >= q->limits.cost.max_wait / LATE_PART);
}

/* Whether R may go now: beside what is at the drive, and not of who has had more than others. */
static bool may_go(const struct sched_queue *q, const struct sched_req *r)
{
	return goes_with_others(q, r) && !is_parked(q, r) && !flow_is_held(r->in) &&
	       r->in->group->node.vtime <= flow_level_of_reads(q) &&
	       !flow_reads_behind_within(q, r->in) && !is_late(q, r->in);
}

struct sched_req *going_on_pick(struct sched_queue *q)
{
	struct sched_req *r, *next;
	int looks = LOOKS_MAX;

	if (!q->scattered_only || q->at_hand)
		return NULL;
	for (r = TAILQ_FIRST(&q->going_on); r && looks; r = next, looks--) {
		next = TAILQ_NEXT(r, on);
		if (!goes_on(q, r)) {
			going_on_remove(q, r); /* the other one has left */
		} else if (may_go(q, r)) {
			flow_serve(q, r->in);
			q->policy->pick(r->in->policy_state, q); /* what it notes of its picks */
			return r;
		}
	}
	return NULL;
}
