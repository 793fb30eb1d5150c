/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the bytes of a striped array lie:
 *
 *     host        |  0  |  1  |  2  |  3  |  4  |  5  | ...      stripes
 *     spindle 0   |  0  |  3  | ...
 *     spindle 1   |  1  |  4  | ...
 *     spindle 2   |  2  |  5  | ...
 *
 * before(x) is how many bytes of a spindle lie before the host's byte x: a range of the host is on
 * each spindle the range from before(start) to before(end).
 */
#include "disk_array.h"

struct disk_array disk_array_of(const struct disk_params *params)
{
	return (struct disk_array){
		.spindles = (uint32_t)params->spindles,
		.stripe = (uint64_t)params->stripe_kb << 10,
	};
}

struct disk_params disk_array_spindle(const struct disk_params *params)
{
	struct disk_params one = *params;

	one.size_mb = params->size_mb / (uint32_t)params->spindles;
	one.spindles = 1;
	return one;
}

static uint64_t before(const struct disk_array *array, uint32_t spindle, uint64_t host)
{
	uint64_t row = array->stripe * array->spindles, rest = host % row;
	uint64_t start = spindle * array->stripe;
	uint64_t within = rest > start ? rest - start : 0;

	return host / row * array->stripe + (within < array->stripe ? within : array->stripe);
}

struct disk_part disk_array_part(const struct disk_array *array, uint32_t spindle, uint64_t offset,
				 uint64_t length)
{
	uint64_t start = before(array, spindle, offset);

	return (struct disk_part){start, before(array, spindle, offset + length) - start};
}

uint64_t disk_array_host(const struct disk_array *array, uint32_t spindle, uint64_t offset)
{
	return (offset / array->stripe * array->spindles + spindle) * array->stripe +
	       offset % array->stripe;
}
