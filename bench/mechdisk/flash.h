/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Flash: a command takes the same time wherever it is. */
#ifndef MECHDISK_FLASH_H
#define MECHDISK_FLASH_H

#include "disk_model.h"

struct flash {
	int64_t overhead_ns, write_extra_ns;
	double ns_per_byte;
};

static inline struct flash flash_of(const struct disk_params *params)
{
	return (struct flash){
		.overhead_ns = (int64_t)(params->overhead_us * 1000),
		.write_extra_ns = (int64_t)(params->write_extra_ms * 1e6),
		.ns_per_byte = 1e3 / params->rate_outer,
	};
}

static inline int64_t flash_ns(const struct flash *flash, enum disk_op op, uint64_t length)
{
	return flash->overhead_ns + (int64_t)((double)length * flash->ns_per_byte) +
	       (op == DISK_WRITE ? flash->write_extra_ns : 0);
}

#endif
