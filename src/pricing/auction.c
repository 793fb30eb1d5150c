/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bids, asks and who wins. See auction.h. */
#include <math.h>

#include "pricing/auction.h"
#include "pricing/price.h"

const char *const auction_way_names[AUCTION_WAYS] = {
	[AUCTION_SEND] = "send",
	[AUCTION_DEFER] = "defer",
	[AUCTION_ACCELERATE] = "accelerate",
};

double auction_bid(const struct auction_terms *t, const struct auction_state *s)
{
	double dear = fmax(price_of(t->k_dirty, s->dirty), price_of(t->k_worth, s->worth));
	double weight = t->weight > 0 ? t->weight : 1;

	return s->dirty >= 1 ? AUCTION_CEILING : weight * fmax(t->price_min, dear);
}

double auction_ask(const struct auction_terms *t, const struct auction_state *s, double price)
{
	return fmax(price, price_of(t->k_network, s->network));
}

/* Was X above EDGE, is it now? The edge is a band. */
static bool above(const struct auction_terms *t, double x, double edge, bool was)
{
	return x > (was ? edge / t->hysteresis : edge * t->hysteresis);
}

bool auction_dear(const struct auction_terms *t, double ratio, bool was)
{
	return above(t, ratio, 1, was);
}

bool auction_cheap(const struct auction_terms *t, double ratio, bool was)
{
	return !above(t, ratio, t->cheap, !was);
}

enum auction_way auction_write(const struct auction_terms *t, double ask, double bid,
			       enum auction_way was)
{
	double ratio = ask / bid;

	if (bid < AUCTION_CEILING && auction_dear(t, ratio, was == AUCTION_DEFER))
		return AUCTION_DEFER;
	if (auction_cheap(t, ratio, was == AUCTION_ACCELERATE))
		return AUCTION_ACCELERATE;
	return AUCTION_SEND;
}
