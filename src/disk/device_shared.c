/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parts and logical volumes of one disk. See device_shared.h. */
#include "disk/device_shared.h"

#include <sys/sysmacros.h>

#include "common/log.h"
#include "disk/block_disks.h"

void device_say_shared(struct device *d)
{
	dev_t dev = atomic_load(&d->dev), of, disk;
	struct device *other;

	for (unsigned int n = 0; (other = device_nth(n)) != NULL; n++) {
		of = atomic_load(&other->dev);
		if (other == d || !device_is_used(of) ||
		    !block_disks_shared(device_sysfs(), dev, of, &disk))
			continue;
		log_line(LOG_LEVEL_WARN,
			 "device %u:%u is on the same disk as %u:%u (%u:%u): each has a queue of "
			 "its own, and shares hold within each",
			 major(dev), minor(dev), major(of), minor(of), major(disk), minor(disk));
		return;
	}
}
