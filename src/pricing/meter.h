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

/*
 * Level seconds of what stands at NOW and stood at BEFORE when it was looked at SECONDS ago. STEP (ns): what a look speaks for, what
 * lies further back the one before does; 0: it speaks for all since that one.
 */
static inline double meter_stood(double seconds, uint64_t step, double before, double now)
{
	double told = (double)step / 1e9;

	if (!step || told > seconds)
		told = seconds;
	return now * told + before * (seconds - told);
}

/* Remembers the first file that told nothing. */
static inline void meter_unknown(char unknown[SOURCE_NAME], const char *name)
{
	if (!unknown[0])
		memcpy(unknown, name, strnlen(name, SOURCE_NAME - 1) + 1);
}

#endif
