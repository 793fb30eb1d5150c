/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scattered reads at the drive, as depth_evidence.h is told of them. See dispatcher.h. */
#include "sched/dispatcher_parts.h"

/* Reads of several clients so lately (ns) that there will be more. */
#define CROWD_RECENT UINT64_C(1000000000)

void dispatcher_set_together(struct dispatcher *d, uint32_t max)
{
	if (!max)
		max = 1;
	lock_take(&d->lock);
	if (max > 1 && max != d->evidence.bound)
		depth_evidence_init(&d->evidence, max);
	d->together = max;
	lock_drop(&d->lock);
}

static bool is_same(const struct flow_id *a, const struct flow_id *b)
{
	return a->client == b->client && a->export_id == b->export_id;
}

void dispatcher_to_drive(struct dispatcher *d, const struct sched_req *r)
{
	if (!is_scattered(r))
		return;
	depth_evidence_pass(&d->evidence, d->at_drive, d->ops->now());
	d->at_drive++;
	if (d->last.client && !is_same(&d->last, &r->flow))
		d->crowded_until = d->ops->now() + CROWD_RECENT;
	d->last = r->flow;
}

void dispatcher_from_drive(struct dispatcher *d, const struct sched_req *r)
{
	if (!is_scattered(r))
		return;
	assert(d->at_drive);
	depth_evidence_pass(&d->evidence, d->at_drive, d->ops->now());
	d->at_drive--;
}

uint64_t dispatcher_came(struct dispatcher *d, uint64_t len, uint64_t service)
{
	uint64_t now = d->ops->now(), since = now - d->came;

	if (d->together <= 1 || !d->at_drive || len > SCATTERED_MAX)
		return service;
	d->came = now;
	if (dispatcher_crowded(d)) /* whose they are says more of their time than the drive does */
		depth_evidence_pause(&d->evidence);
	else
		depth_evidence_read(&d->evidence, d->at_drive,
				    d->at_drive + d->queue.by_class[SCHED_DEMAND], now);
	return d->at_drive > 1 && since < service ? since : service;
}
