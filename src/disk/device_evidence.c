/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Forgetting it. See device_evidence.h. */
#include "disk/device_evidence.h"

void device_evidence_forget(struct device_evidence *e)
{
	lock_take(&e->lock);
	e->seeks = (struct seek_evidence){.end = 0};
	e->records = (struct access_order){.step = 0};
	e->together = (struct access_together){.step = 0};
	depth_search_init(&e->depth, SEARCH_DEPTH_MAX);
	e->steps = (struct step_search){.used = 0};
	e->delay = (struct meter_delay){.begun = 0};
	lock_drop(&e->lock);
}
