/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a device's reads have shown: forgotten where it is another one; and how long a cluster's requests are. See device.h. */
#include "disk/device.h"
#include "disk/scratch.h"

void device_forget_evidence(struct device *d)
{
	lock_take(&d->evidence_lock);
	d->evidence = (struct seek_evidence){.end = 0};
	d->records = (struct access_order){.step = 0};
	d->together = (struct access_together){.step = 0};
	depth_search_init(&d->search, SEARCH_DEPTH_MAX);
	d->steps_search = (struct step_search){.used = 0};
	d->delay = (struct meter_delay){.begun = 0};
	lock_drop(&d->evidence_lock);
}

uint64_t device_step(struct device *d, uint64_t step, uint32_t *steps)
{
	uint64_t most = SCRATCH_MAX / step;

	*steps = 0;
	if (!device_joins_only(d))
		return step;
	lock_take(&d->evidence_lock);
	*steps = step_search_next(&d->steps_search, most < STEP_MAX ? (uint32_t)most : STEP_MAX);
	lock_drop(&d->evidence_lock);
	return step * *steps;
}
