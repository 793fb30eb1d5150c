/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Another policy while requests are queued: each flow's go from one order to the other. */
#include <errno.h>
#include <stdlib.h>

#include "sched/parts.h"

static void drop_next(struct sched_queue *q)
{
	struct sched_flow *f;

	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		free(f->next_state);
		f->next_state = NULL;
	}
}

/* A state of POLICY for each flow; false: no memory. */
static bool make_next(struct sched_queue *q, const struct sched_policy *policy)
{
	struct sched_flow *f;

	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		f->next_state = calloc(1, policy->size);
		if (!f->next_state) {
			drop_next(q);
			return false;
		}
	}
	return true;
}

/* The queued read R goes over to POLICY. */
static void move(struct sched_queue *q, struct sched_req *r, const struct sched_policy *policy,
		 void *shared)
{
	enum flow_kind kind = flow_kind_of(policy, r);

	if (!is_overdue(r)) {
		q->policy->remove(r->in->policy_state, r);
		policy->add(r->in->next_state, shared, r);
	}
	if (kind == r->kind)
		return;
	flow_backlog_remove(q, r->in, r->kind);
	r->kind = kind;
	flow_backlog_add(q, r->in, kind);
	flow_promise(q, r->in, r->arrival);
}

int sched_set_policy(struct sched_queue *q, const struct sched_policy *policy)
{
	struct sched_flow *f;
	struct sched_req *r;
	void *shared;

	if (policy == q->policy)
		return 0;
	shared = calloc(1, policy->shared + 1);
	if (!shared || !make_next(q, policy)) {
		free(shared);
		return ENOMEM;
	}
	/* all start level: being queued again is no turn had */
	TAILQ_FOREACH(r, &q->aged, age)
		if (!is_parked(q, r))
			move(q, r, policy, shared);
	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		free(f->policy_state);
		f->policy_state = f->next_state;
		f->next_state = NULL;
	}
	free(q->policy_shared);
	q->policy_shared = shared;
	q->policy = policy;
	q->stats.switches++;
	return 0;
}
