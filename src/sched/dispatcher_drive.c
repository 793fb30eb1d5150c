/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scattered reads at the drive, as depth_evidence.h is told of them. See dispatcher.h. */
#include "sched/dispatcher_parts.h"

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

void dispatcher_to_drive(struct dispatcher *d, const struct sched_req *r)
{
	if (!is_scattered(r))
		return;
	depth_evidence_pass(&d->evidence, d->at_drive, d->ops->now());
	d->at_drive++;
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
	depth_evidence_read(&d->evidence, d->at_drive,
			    d->at_drive + d->queue.by_class[SCHED_DEMAND], now);
	return d->at_drive > 1 && since < service ? since : service;
}
