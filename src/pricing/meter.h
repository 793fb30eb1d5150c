/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What all meters share. */
#ifndef PRICING_METER_H
#define PRICING_METER_H

#include <stdio.h>
#include <string.h>

#include "pricing/source.h"

/* PART of WHOLE, from 0 to 1; 0 of nothing. */
static inline double meter_share(double part, double whole)
{
	if (!(part > 0) || !(whole > 0))
		return 0;
	return part < whole ? part / whole : 1;
}

/* Remembers the first file that told nothing. */
static inline void meter_unknown(char unknown[SOURCE_NAME], const char *name)
{
	if (!unknown[0])
		memcpy(unknown, name, strnlen(name, SOURCE_NAME - 1) + 1);
}

#endif
