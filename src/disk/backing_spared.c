/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* READs and WRITEs for which no backing need be opened, for their device has nothing to gain. See backing_slot.h. */
#include "disk/backing_slot.h"
#include "disk/device.h"
#include "disk/export_io.h"

struct device *backing_last_device(const struct export_io *io, dev_t dev)
{
	struct device *d = atomic_load_explicit(&io->last, memory_order_relaxed);

	return d != NULL && atomic_load_explicit(&d->dev, memory_order_relaxed) == dev ? d : NULL;
}

bool backing_write_spared(const struct export_io *io, dev_t dev)
{
	struct device *d = backing_last_device(io, dev);

	return d != NULL && !device_queues_writeback(d);
}

bool backing_spared(struct backing_slot *slot, const struct export_io *io, dev_t dev,
		    uint64_t offset, uint64_t len)
{
	uint64_t upto = atomic_load_explicit(&slot->spared, memory_order_relaxed);
	struct device *d = backing_last_device(io, dev);
	bool spared;

	if (upto >= BACKING_SPARED)
		return false;
	spared = offset == upto && d != NULL && device_is_plain(d);
	/* another READ at the same time is none that this one goes on from */
	return atomic_compare_exchange_strong(&slot->spared, &upto,
					      spared ? offset + len : UINT64_MAX) &&
	       spared;
}

bool backing_spared_on(struct backing_slot *slot, uint64_t offset)
{
	uint64_t upto = atomic_load_explicit(&slot->spared, memory_order_relaxed);

	if (upto < BACKING_SPARED || upto > offset)
		return false;
	if (offset >= BACKING_SPARED_ON)
		atomic_store_explicit(&slot->spared, UINT64_MAX, memory_order_relaxed);
	return offset < BACKING_SPARED_ON;
}
