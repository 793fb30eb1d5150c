/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests that go on where a read at the drive is.
 *
 *   at the drive    | a: 0-64K |  b  |  c  |  d  |
 *   a asks for        64-256K                        it goes at once: the drive takes it on its way
 *
 * Where several are at a drive that orders them, one that lies next to another costs it no seek as long as both are
 * there. A turn later the arm is elsewhere, and comes back for it. So it goes before its turn, and is charged.
 */
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* Whether a read of R's file is at the drive that R goes on from, or that goes on from R. */
static bool goes_on(const struct sched_queue *q, const struct sched_req *r)
{
	const struct sched_req *at;

	TAILQ_FOREACH(at, &q->active, age)
		if (at->file == r->file && at->class == SCHED_DEMAND && at->offset <= req_end(r) &&
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

struct sched_req *going_on_pick(struct sched_queue *q)
{
	struct sched_req *r = TAILQ_FIRST(&q->going_on);

	if (!r || !q->scattered_only || q->at_hand || (is_short_chunk(r) && !q->short_too) ||
	    is_parked(q, r) || flow_is_held(r->in))
		return NULL;
	flow_serve(q, r->in);
	q->policy->pick(r->in->policy_state, q); /* what it notes of its picks */
	return r;
}
