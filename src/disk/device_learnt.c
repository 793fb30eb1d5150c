/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is kept of a device over a restart: taking it out, and putting it back. See device.h. */
#include "disk/device.h"

void device_learnt(struct device *d, struct learnt *l)
{
	dispatcher_learnt(&d->dispatcher, &l->queue);
	if (atomic_load(&d->learns) != DEVICE_LEARNS_NOTHING)
		l->seeks_free = atomic_load(&d->learns) == DEVICE_LEARNS_DEAR;
	lock_take(&d->evidence_lock);
	l->returns = d->evidence.returns;
	lock_drop(&d->evidence_lock);
}

void device_restore(struct device *d, const struct learnt *l)
{
	dispatcher_restore(&d->dispatcher, &l->queue);
	lock_take(&d->evidence_lock);
	for (uint32_t n = d->evidence.returns; n < l->returns && n < SEEKS_RETURNS_MAX; n++)
		seek_evidence_returned(&d->evidence);
	lock_drop(&d->evidence_lock);
	if (l->seeks_free)
		device_set_seeks_free(d, true);
}

void device_forget(struct device *d)
{
	dispatcher_forget_cost(&d->dispatcher);
	atomic_store(&d->spoilt, false);
	device_forget_evidence(d);
	device_set_seeks_free(d, false);
	device_ask_kind(d);
}

/* So many of a cluster's small reads say what a seek costs, before enough seeks were timed. */
#define SMALLS_MIN 4

/* What a seek costs, in bytes that could be read meanwhile; 0: not known yet. */
static uint64_t seek_bytes(struct device *d)
{
	struct cost_model cost = dispatcher_cost(&d->dispatcher);

	return cost_seek_bytes_seen(&cost, meter_delay_mean(&d->delay, DELAY_SMALL, SMALLS_MIN));
}

uint64_t device_chunk(struct device *d, uint64_t len)
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
		len = depth_search_chunk(&d->search, len, streams);
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
