/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How many prefetches a cluster is asked for at once: what the search says, and what it is told. See device.h. */
#include "disk/device.h"

/* So many of a cluster's small reads say what a seek costs, before enough seeks were timed. */
#define SMALLS_MIN 4

/* What a seek costs, in bytes that could be read meanwhile; 0: not known yet. */
static uint64_t seek_bytes(struct device *d)
{
	struct cost_model cost = dispatcher_cost(&d->dispatcher);

	return cost_seek_bytes_seen(&cost, meter_delay_mean(&d->delay, DELAY_SMALL, SMALLS_MIN));
}

uint64_t device_chunk(struct device *d, uint64_t len, uint64_t step)
{
	uint64_t seek;
	uint32_t streams;

	if (!device_joins_only(d))
		return len;
	seek = seek_bytes(d);
	streams = dispatcher_streams(&d->dispatcher);
	lock_take(&d->evidence_lock);
	depth_search_seeks(&d->search, seek);
	if (depth_search_depth(&d->search) == device_depth(d)) /* else another is configured */
		len = depth_search_chunk(&d->search, len, streams,
					 step * step_search_used(&d->steps_search));
	lock_drop(&d->evidence_lock);
	return len;
}

void device_began(struct device *d, uint64_t len)
{
	uint32_t depth;
	bool changed;

	if (!device_joins_only(d))
		return;
	lock_take(&d->evidence_lock);
	changed = depth_search_began(&d->search, len);
	depth = depth_search_depth(&d->search);
	lock_drop(&d->evidence_lock);
	if (changed)
		device_set_learnt(d, depth);
}

void device_brought(struct device *d, uint64_t bytes, uint64_t now)
{
	uint32_t depth;
	bool changed;

	atomic_fetch_add_explicit(&d->brought, bytes, memory_order_relaxed);
	lock_take(&d->evidence_lock);
	changed = depth_search_brought(&d->search, bytes, now);
	depth = depth_search_depth(&d->search);
	lock_drop(&d->evidence_lock);
	if (changed)
		device_set_learnt(d, depth);
}

/* Ends what the lock was taken for; requests had USED times Prefetch_Step before. */
static void end_search(struct device *d, uint32_t used)
{
	bool changed = false;
	uint32_t depth;

	lock_assert_held(&d->evidence_lock);
	if (step_search_used(&d->steps_search) != used)
		changed = depth_search_other(&d->search);
	depth = depth_search_depth(&d->search);
	lock_drop(&d->evidence_lock);
	if (changed)
		device_set_learnt(d, depth);
}

void device_stepped(struct device *d, uint32_t steps, uint64_t bytes, uint64_t ns)
{
	uint32_t used;

	lock_take(&d->evidence_lock);
	used = step_search_used(&d->steps_search);
	step_search_came(&d->steps_search, steps, bytes, ns);
	end_search(d, used);
}

void device_answered_small(struct device *d, uint64_t took, uint64_t now)
{
	uint32_t used;

	lock_take(&d->evidence_lock);
	used = step_search_used(&d->steps_search);
	step_search_small(&d->steps_search, took, now);
	end_search(d, used);
}
