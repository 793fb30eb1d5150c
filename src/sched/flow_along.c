/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Neighbours that a visit takes along: small reads just ahead of the heads when its time is over.
 *
 *   head     |-- r, promised --| n |    n | n |                  far
 *            seek                a few blocks on: a fraction of the seek that coming again costs
 *
 * A client that has many small reads queued near each other (the files of a directory) would have one
 * of them for each promise, and the heads come back for the next. What they cost is charged as the rest
 * of the visit is; a visit takes so many along that their way is no longer than the seek it began with.
 */
#include "sched/parts.h"

/* Reads that one visit takes along. */
#define ALONG_MAX 16

bool flow_takes_along(const struct sched_queue *q, struct flow_visit *v)
{
	const struct sched_req *next;
	double way;

	if (v->kind != FLOW_SMALL || v->along == ALONG_MAX || !v->flow->node.n[FLOW_SMALL] ||
	    !cost_run_known(&q->cost) || !cost_seek_known(&q->cost))
		return false;
	next = q->policy->gap(v->flow->policy_state, q, true);
	if (!next || next->block < q->head)
		return false;
	way = (double)(next->block - q->head + next->len) * q->cost.ns_per_byte;
	if (v->way + way > q->cost.seek_ns)
		return false;
	v->way += way;
	v->along++;
	return true;
}
