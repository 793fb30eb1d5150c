/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A client's ratio, and prices at it. See client_price.h. */
#include <math.h>

#include "pricing/client_price.h"

/* Weights alone, with every client at its share, change prices by this power of them. */
#define WEIGHT_POWER 0.25
/* ... within these: even the heaviest client pays for what it takes beyond its share. */
#define WEIGHT_MIN M_SQRT1_2
#define WEIGHT_MAX M_SQRT2
/* Sums of floating point numbers are as equal as that. */
#define ROUNDING 1e-9

static double within(double x, double low, double high)
{
	return fmin(fmax(x, low), high);
}

/* Nothing happens near 1, and no step where that ends. */
static double even(double ratio)
{
	if (ratio > CLIENT_RATIO_EVEN)
		return ratio / CLIENT_RATIO_EVEN;
	return fmin(ratio * CLIENT_RATIO_EVEN, 1);
}

static double by_weight(double weight)
{
	double factor = pow(weight, -WEIGHT_POWER);

	if (fabs(factor - 1) < ROUNDING)
		return 1;
	return within(factor, WEIGHT_MIN, WEIGHT_MAX);
}

double client_ratio(const struct client_standing *s)
{
	double ratio;

	if (!(s->entitled > 0) || !(s->weight > 0))
		return 1;
	ratio = s->use / s->entitled * (1 - s->doubt) + s->doubt;
	return within(even(ratio) * by_weight(s->weight), CLIENT_RATIO_MIN, CLIENT_RATIO_MAX);
}

static double scaled(const struct price_snapshot *s, const double k[PRICE_RESOURCES],
		     enum price_resource r, double ratio)
{
	double u = s->utilization[r];

	return price_of(k[r], u * pow(ratio, sqrt(u)));
}

struct client_prices client_price(const struct price_snapshot *s, const double k[PRICE_RESOURCES],
				  double ratio)
{
	struct client_prices p = {.write = s->write, .readahead = s->readahead};
	double shared = fmax(s->price[PRICE_CPU], s->price[PRICE_NETWORK]);

	if (ratio == 1)
		return p;
	p.readahead = fmax(shared, scaled(s, k, PRICE_DISK, ratio));
	p.write = fmax(p.readahead, scaled(s, k, PRICE_MEMORY, ratio));
	return p;
}
