/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who offers the lower price, with hysteresis. See auction.h. */
#include <math.h>

#include "auction.h"
#include "pricing/price.h"

const char *const write_way_names[WRITE_WAYS] = {
	[WRITE_NORMAL] = "normal",
	[WRITE_DEFER] = "defer",
	[WRITE_ACCELERATE] = "accelerate",
};

double auction_price(const struct auction_limits *l, double dirty)
{
	if (dirty >= 1)
		return AUCTION_CEILING;
	return fmax(l->price_min, price_of(l->k, dirty));
}

/* Was X above EDGE, is it now? The edge is a band. */
static bool above(double x, double edge, bool was)
{
	return x > (was ? edge / AUCTION_HYSTERESIS : edge * AUCTION_HYSTERESIS);
}

/* Deferral ends, and the kernel has its way for a while. */
static bool rest(struct auction *a, double now)
{
	if (a->way == WRITE_DEFER)
		a->rest_until = now + AUCTION_REST;
	return false;
}

static bool may_defer(struct auction *a, const struct auction_limits *l, double now)
{
	if (a->ours >= AUCTION_CEILING)
		return rest(a, now);
	if (a->way == WRITE_DEFER && now - a->since >= l->defer_max)
		return rest(a, now);
	return l->defer && now >= a->rest_until;
}

static enum write_way write_way(struct auction *a, const struct auction_limits *l,
				const struct auction_view *view, double now)
{
	double ratio = view->write / a->ours;

	if (!view->priced)
		return WRITE_NORMAL;
	if (may_defer(a, l, now) && above(ratio, 1, a->way == WRITE_DEFER))
		return WRITE_DEFER;
	if (a->way == WRITE_DEFER && now < a->since + AUCTION_DWELL && now >= a->rest_until)
		return WRITE_DEFER; /* only the server's price fell: not for long, perhaps */
	if (l->accelerate && !above(ratio, AUCTION_CHEAP, a->way != WRITE_ACCELERATE))
		return WRITE_ACCELERATE;
	return WRITE_NORMAL;
}

/* A power of two times readahead_min; another one only when it is off by more than half a step. */
static uint32_t readahead(const struct auction *a, const struct auction_limits *l,
			  const struct auction_view *view)
{
	double dear, wanted, kib = l->readahead_min, most = l->readahead_max;

	if (!view->priced || !l->readahead)
		return 0;
	if (view->memory_short && view->readahead_found < most)
		most = fmax(view->readahead_found, l->readahead_min);
	dear = l->price_min < 1 ? log(view->readahead / l->price_min) / -log(l->price_min) : 0;
	dear = fmin(fmax(dear, 0), 1); /* also the logarithm of 0 */
	wanted = l->readahead_min * pow(most / l->readahead_min, 1 - dear);
	if (a->readahead && a->readahead <= most && fabs(log2(wanted / a->readahead)) < 0.75)
		return a->readahead;
	while (kib * M_SQRT2 < wanted && kib < most)
		kib *= 2;
	return (uint32_t)fmin(kib, most);
}

void auction_decide(struct auction *a, const struct auction_limits *l,
		    const struct auction_view *view, double now)
{
	enum write_way way;

	a->ours = auction_price(l, view->dirty);
	way = write_way(a, l, view, now);
	if (way != a->way)
		a->since = now;
	a->way = way;
	a->readahead = readahead(a, l, view);
}
