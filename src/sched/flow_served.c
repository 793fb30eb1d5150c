/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a visit had: its requests go to the disk, and are over. Then the disk may wait for the next one (flow_think.c).
 */
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* The disk waits for a client's next read so many times its usual think time (ns). */
#define ANTICIPATE_TIMES 2
#define ANTICIPATE_LEAST UINT64_C(500000)

void flow_started(struct sched_queue *q, struct sched_req *r)
{
	struct flow_visit *v = r->in_gap ? &q->flows.gap : &q->flows.visit;

	if (r->class == SCHED_WRITEBACK)
		return;
	r->in->started = r->started;
	if (r->kind == FLOW_CHUNK)
		q->flows.after_gap = false;
	r->promised = v->flow == r->in && v->promised && (!v->along || v->free);
	r->late = r->promised && v->late;
	if (v->guest == r) {
		flow_guest_started(q, r);
		v->guest = NULL;
	}
	if (v->flow == r->in)
		v->started++;
	if (v->flow == r->in && flow_begins_among(q, r))
		v->budget = 0;
}

static void add_to(struct flow_visit *v, const struct sched_flow *f, uint64_t ns)
{
	if (v->flow != f)
		return;
	v->used += ns;
	v->served++;
}

void flow_served(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	struct sched_flow *f = r->in;
	struct flow_visit *v = &q->flows.visit, *of = r->in_gap ? &q->flows.gap : v;
	uint64_t wait;

	flow_limit_end(q, r, now);
	if (r->class == SCHED_WRITEBACK) {
		flow_charge(q, f, r->disk_time);
		return;
	}
	if (!r->promised)
		flow_charge(q, f, r->disk_time);
	else
		flow_charge_within(q, f, r->disk_time);
	if (r->kind == FLOW_SMALL)
		flow_keep_promise(q, f, now);
	if (r->late)
		flow_late_served(q, r->disk_time, now);
	flow_joined_served(q, v, r, now);
	flow_guest_served(q, r);
	flow_along_served(q, of, r, now);
	add_to(of, f, r->disk_time);
	if (r->in_gap || r->class != SCHED_DEMAND || v->flow != f || !v->served)
		return;
	if (flow_has_reads(f) || q->flows.clock.n || flow_is_held(f) || !q->flows.reading ||
	    !flow_worth_waiting(q, v, v->used / v->served, 0))
		return;
	wait = ANTICIPATE_TIMES * f->think.mean;
	v->wait_until = now + (wait > ANTICIPATE_LEAST ? wait : ANTICIPATE_LEAST);
}
