/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Small reads of many clients that go to the disk several at once.
 *
 *   place      a   b a c   b     c    a       all that are queued, of groups not far ahead
 *   heads ->   1   2 3 4   5     6    7       one scan
 *
 * Where one goes at a time a visit keeps its flow's reads together, and short visits keep others from waiting. With
 * some tens on their way each waits for these anyway, and what a visit is worth is not known before most of it is
 * under way: visits one after another were all over the disk. So one by one the nearest ahead of the heads goes, of
 * all groups that had no more than a visit's time more than who had least, what each has under way counted.
 * (C-SCAN among those whom fairness lets go, as it chooses within a flow.)
 */
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* So many groups are looked at. */
#define NEAR_LOOKED 32

/* What F has had, with what it has under way as long as that usually takes (virtual ns of its group). */
static uint64_t had_by(const struct sched_queue *q, const struct sched_flow *f)
{
	uint64_t under_way = f->demands * (uint64_t)q->cost.seek_ns;

	return f->group->node.vtime + flow_virtual(under_way, group_weight(f->group));
}

/* The read that F would have next; what is overdue goes on from the heads, too. */
static const struct sched_req *next_of(struct sched_queue *q, struct sched_flow *f, uint64_t now)
{
	const struct sched_req *r;

	if (!f->overdue.few)
		f->overdue.at = q->head;
	r = overdue_pick(q, f, now);
	return r ? r : q->policy->gap(f->policy_state, q, true);
}

/* Whose is nearest, of those that may go; NULL: none. */
static struct sched_flow *nearest_of(struct sched_queue *q, uint64_t now)
{
	const struct sched_group *g = group_first(q, FLOW_SMALL);
	struct sched_flow *nearest = NULL;
	uint64_t upto = g->node.vtime + flow_virtual(flow_visit_time(q), group_weight(g));
	uint64_t way = UINT64_MAX;

	for (int n = 0; g && g->node.vtime <= upto && n < NEAR_LOOKED;
	     g = group_next(g, FLOW_SMALL), n++) {
		struct sched_flow *f = flow_first(g, FLOW_SMALL);
		const struct sched_req *r =
			flow_is_held(f) || had_by(q, f) > upto ? NULL : next_of(q, f, now);

		if (r && r->block - q->head < way) { /* what lies behind the heads is far ahead */
			way = r->block - q->head;
			nearest = f;
		}
	}
	return nearest;
}

bool flow_near_begin(struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	struct sched_flow *f = flow_goes_near(q) ? nearest_of(q, now) : NULL;

	if (f)
		*v = (struct flow_visit){.flow = f, .kind = FLOW_SMALL};
	return f;
}
