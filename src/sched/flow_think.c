/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How long a client takes to ask for its next read, where it asks for one after the other. */
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* Who takes longer is not waited for (ns). */
#define THINK_MAX     UINT64_C(3000000)
#define THINK_SAMPLES 4
/* Who was silent for so long does not ask for one read after the other. */
#define RARE (4 * THINK_MAX)
/* So many groups, those that have had least, are looked at for a read that comes once in a while. */
#define RARE_LOOKED 8

bool flow_is_quick(const struct sched_flow *f)
{
	return f->think.n && f->think.mean <= THINK_MAX;
}

bool flow_comes_rarely(const struct sched_flow *f, uint64_t now)
{
	return now - f->small_served > RARE;
}

bool flow_rare_waits(const struct sched_queue *q)
{
	const struct sched_group *g = group_first(q, FLOW_SMALL);

	for (int looks = 0; g && looks < RARE_LOOKED; g = group_next(g, FLOW_SMALL), looks++)
		if (flow_first(g, FLOW_SMALL)->rare)
			return true;
	return false;
}

void flow_thought(struct sched_flow *f, uint64_t now)
{
	struct flow_think *t = &f->think;
	uint64_t took = now - t->since;

	if (!t->since)
		return;
	t->since = 0;
	if (took > RARE)
		took = RARE;
	if (t->n < THINK_SAMPLES)
		t->n++;
	t->mean = (t->mean * (t->n - 1) + took) / t->n;
}

bool flow_worth_waiting(const struct sched_queue *q, const struct flow_visit *v, uint64_t read,
			uint64_t ahead)
{
	const struct sched_flow *f = v->flow;
	uint64_t bound = f->group->node.vtime;

	/* of a visit's first read it is not known how long its flow's take */
	if (!flow_is_quick(f) || (v->served && 2 * f->think.mean > read))
		return false;
	if (v->promised || v->used + ahead + read / 2 >= flow_visit_time(q))
		return false;
	bound += flow_virtual(ahead + read, group_weight(f->group));
	return group_vtime(group_first(q, FLOW_SMALL)) > bound &&
	       group_vtime(group_first(q, FLOW_CHUNK)) > bound;
}
