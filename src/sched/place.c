/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Chunks beside others, by what is at the drive and waits. See place.h. */
#include "sched/parts.h"

/*
 * Whether of R, a young chunk, the beginning goes beside others: another one waits, or something of another file is there; and
 * nobody waits for more than that.
 */
static bool begins_beside(const struct sched_queue *q, const struct sched_req *r)
{
	const struct sched_req *last = TAILQ_LAST(&r->waiters, sched_list), *at;

	if (last && req_end(last) > r->offset + SHORT_CHUNK_MAX)
		return false;
	if (q->short_chunks > (r->state == REQ_QUEUED))
		return true;
	TAILQ_FOREACH(at, &q->active, age)
		if (at->file != r->file)
			return true;
	return false;
}

bool goes_with_others(const struct sched_queue *q, const struct sched_req *r)
{
	if (!is_short_chunk(r))
		return true;
	if (r->pieces)
		return q->pieces_too;
	return r->young ? q->young_too && begins_beside(q, r) : q->short_too;
}

bool pieces_are_there(const struct sched_queue *q)
{
	const struct sched_req *r;

	TAILQ_FOREACH(r, &q->active, age)
		if (is_short_chunk(r) && r->pieces)
			return true;
	return false;
}
