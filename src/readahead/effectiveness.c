/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Effectiveness of a file's read-ahead, and its share at a price. See effectiveness.h. */
#include "readahead/effectiveness.h"

/* What a file that wastes nothing offers. One that wastes 1/18 offers the highest price. */
#define OFFER_MAX 1.125

static uint32_t at_most(uint64_t n, uint32_t most)
{
	return n < most ? (uint32_t)n : most;
}

void effectiveness_add(struct effectiveness *e, uint64_t used, uint64_t wasted)
{
	e->used += at_most(used, EFFECTIVENESS_MEMORY);
	e->wasted += at_most(wasted, EFFECTIVENESS_MEMORY);
	while (e->used + e->wasted > EFFECTIVENESS_MEMORY) {
		e->used /= 2;
		e->wasted /= 2;
	}
}

void effectiveness_take_back(struct effectiveness *e, uint64_t wasted)
{
	e->wasted -= at_most(wasted, e->wasted);
}

double effectiveness_of(const struct effectiveness *e, double example)
{
	return (e->used + example * EFFECTIVENESS_WEIGHT) /
	       ((double)e->used + e->wasted + EFFECTIVENESS_WEIGHT);
}

double effectiveness_share(double price, double effectiveness)
{
	double offer = OFFER_MAX * effectiveness * effectiveness;

	if (offer >= price || offer >= 1)
		return 1;
	return (offer / price) * (offer / price);
}
