/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much a cluster is asked for at once, and in how large requests: what the searches say, and what they are told. See
 * device.h, sched/depth_search.h, sched/step_search.h.
 */
#include "disk/device.h"
#include "disk/scratch.h"

/* So many of a cluster's small reads say what a seek costs, before enough seeks were timed. */
#define SMALLS_MIN 4

/* What a seek costs, in bytes that could be read meanwhile; 0: not known yet. */
static uint64_t seek_bytes(struct device *d)
{
	struct cost_model cost = dispatcher_cost(&d->dispatcher);

	return cost_seek_bytes_seen(&cost,
				    meter_delay_mean(&d->evidence.delay, DELAY_SMALL, SMALLS_MIN));
}

uint64_t device_chunk(struct device *d, uint64_t len, uint64_t step)
{
	struct device_evidence *e = &d->evidence;
	uint64_t seek;
	uint32_t streams;

	if (!device_joins_only(d))
		return len;
	seek = seek_bytes(d);
	streams = dispatcher_streams(&d->dispatcher);
	lock_take(&e->lock);
	depth_search_seeks(&e->depth, seek);
	if (depth_search_depth(&e->depth) == device_depth(d)) /* else another is configured */
		len = depth_search_chunk(&e->depth, len, streams,
					 step * step_search_used(&e->steps));
	lock_drop(&e->lock);
	return len;
}

uint64_t device_step(struct device *d, uint64_t step, uint32_t *steps)
{
	uint64_t most = SCRATCH_MAX / step;

	*steps = 0;
	if (!device_joins_only(d))
		return step;
	lock_take(&d->evidence.lock);
	*steps = step_search_next(&d->evidence.steps, most < STEP_MAX ? (uint32_t)most : STEP_MAX);
	lock_drop(&d->evidence.lock);
	return step * *steps;
}

/* Drops the lock of the evidence. The depth that was found out holds, if it CHANGED. */
static void publish(struct device *d, bool changed)
{
	lock_drop(&d->evidence.lock);
	if (changed)
		device_set_learnt(d);
}

void device_began(struct device *d, uint64_t len)
{
	if (!device_joins_only(d))
		return;
	lock_take(&d->evidence.lock);
	publish(d, depth_search_began(&d->evidence.depth, len));
}

void device_brought(struct device *d, uint64_t bytes, uint64_t now)
{
	atomic_fetch_add_explicit(&d->brought, bytes, memory_order_relaxed);
	lock_take(&d->evidence.lock);
	publish(d, depth_search_brought(&d->evidence.depth, bytes, now));
}

void device_stepped(struct device *d, uint32_t steps, uint64_t bytes, uint64_t ns)
{
	struct device_evidence *e = &d->evidence;

	lock_take(&e->lock);
	publish(d, step_search_came(&e->steps, steps, bytes, ns) && depth_search_other(&e->depth));
}

void device_answered_small(struct device *d, uint64_t took, uint64_t now)
{
	struct device_evidence *e = &d->evidence;

	lock_take(&e->lock);
	publish(d, step_search_small(&e->steps, took, now) && depth_search_other(&e->depth));
}
