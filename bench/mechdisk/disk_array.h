/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Several spindles behind one address: stripes dealt out in turn, as a RAID 0 does. Pure. Offsets
 * and lengths are bytes.
 */
#ifndef MECHDISK_DISK_ARRAY_H
#define MECHDISK_DISK_ARRAY_H

#include <stdint.h>

#include "disk_params.h"

struct disk_array {
	uint32_t spindles;
	uint64_t stripe; /* bytes that lie together on a spindle */
};

/* A range of one spindle. */
struct disk_part {
	uint64_t offset, length; /* on the spindle; length 0: it has nothing of the range */
};

struct disk_array disk_array_of(const struct disk_params *params);

/* The parameters of one spindle of it: the capacity divided. */
struct disk_params disk_array_spindle(const struct disk_params *params);

/* What `spindle` has of the host's range: one piece, for its stripes follow one another on it. */
struct disk_part disk_array_part(const struct disk_array *array, uint32_t spindle, uint64_t offset,
				 uint64_t length);

/* The host's offset of the byte at `offset` of `spindle`. */
uint64_t disk_array_host(const struct disk_array *array, uint32_t spindle, uint64_t offset);

#endif
