/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the unit tests share: cmocka, a repeatable generator of numbers, the default tuning. */
#ifndef UNIT_SUPPORT_H
#define UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#define KIB  1024ull
#define MIB  (1024 * KIB)
#define MSEC 1000000ull
#define SEC  (1000 * MSEC)

/* SplitMix64: any state is a good one. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 .. BELOW-1 */
static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
	return random_next(state) % below;
}

#endif
