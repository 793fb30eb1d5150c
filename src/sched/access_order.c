/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order of pieces by what they took. See access_order.h. */
#include "sched/access_order.h"

#include <assert.h>

/* An average forgets at this rate. */
#define FORGET 4
/* What is not known counts as this share of the mean, if it is near; far ones are tried last. */
#define UNKNOWN	    0.75
#define UNKNOWN_FAR 1.5
#define NEAR	    12

static double expected(const struct access_order *a, int distance)
{
	double ns = a->ns[ACCESS_PIECES + distance];

	if (ns > 0)
		return ns;
	return (distance >= -NEAR && distance <= NEAR ? UNKNOWN : UNKNOWN_FAR) * a->mean;
}

unsigned int access_order_next(const struct access_order *a, uint64_t left, int last)
{
	unsigned int best = (unsigned int)__builtin_ctzll(left);

	assert(left);
	if (last < 0)
		return best;
	for (uint64_t rest = left & (left - 1); rest; rest &= rest - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(rest);

		if (expected(a, (int)i - last) < expected(a, (int)best - last))
			best = i;
	}
	return best;
}

void access_order_observe(struct access_order *a, uint64_t step, int from, int to, uint64_t service)
{
	float *ns = &a->ns[ACCESS_PIECES + to - from];

	assert(to != from && to - from < ACCESS_PIECES && from - to < ACCESS_PIECES);
	if (a->step != step)
		*a = (struct access_order){.step = step};
	a->mean += ((double)service - a->mean) / (a->mean > 0 ? 2 * FORGET : 1);
	*ns += ((float)service - *ns) / (*ns > 0 ? FORGET : 1);
}
