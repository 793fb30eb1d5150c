/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is kept of a device over a restart: taking it out, and putting it back. See device.h. */
#include "disk/device.h"

void device_learnt(struct device *d, struct learnt *l)
{
	dispatcher_learnt(&d->dispatcher, &l->queue);
	if (atomic_load(&d->learns) != DEVICE_LEARNS_NOTHING)
		l->seeks_free = atomic_load(&d->learns) == DEVICE_LEARNS_DEAR;
	lock_take(&d->evidence.lock);
	l->returns = d->evidence.seeks.returns;
	lock_drop(&d->evidence.lock);
}

void device_restore(struct device *d, const struct learnt *l)
{
	dispatcher_restore(&d->dispatcher, &l->queue);
	lock_take(&d->evidence.lock);
	for (uint32_t n = d->evidence.seeks.returns; n < l->returns && n < SEEKS_RETURNS_MAX; n++)
		seek_evidence_returned(&d->evidence.seeks);
	lock_drop(&d->evidence.lock);
	if (l->seeks_free)
		device_set_seeks_free(d, true);
}

void device_forget(struct device *d)
{
	dispatcher_forget_cost(&d->dispatcher);
	atomic_store(&d->spoilt, false);
	device_evidence_forget(&d->evidence);
	device_set_seeks_free(d, false);
	device_ask_kind(d);
}
