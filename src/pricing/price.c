/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pricing function and the dearest resource. See price.h.
 *
 * k^u - 1 is computed as expm1(u log1p(k - 1)): near k = 1, and near u = 0, the difference of two
 * numbers that are almost equal would lose all digits.
 */
#include <math.h>

#include "pricing/price.h"

const char *const price_resource_names[PRICE_RESOURCES] = {
	[PRICE_CPU] = "cpu",
	[PRICE_NETWORK] = "network",
	[PRICE_DISK] = "disk",
	[PRICE_MEMORY] = "memory",
};

/* Also what is no number ends at LOW. */
static double clamp(double x, double low, double high)
{
	if (!(x > low))
		return low;
	return x < high ? x : high;
}

double price_of(double k, double u)
{
	double over = clamp(k, PRICE_K_MIN, PRICE_K_MAX) - 1;

	u = clamp(u, 0, 1);
	if (over == 0 || u == 1)
		return u;
	return clamp(expm1(u * log1p(over)) / over, 0, 1);
}

/* The dearest of the first N resources; memory is the last of them. */
static enum price_resource dearest(const struct price_snapshot *s, int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (s->price[i] > s->price[best])
			best = i;
	return (enum price_resource)best;
}

void price_combine(struct price_snapshot *s, const double k[PRICE_RESOURCES])
{
	for (int i = 0; i < PRICE_RESOURCES; i++)
		s->price[i] = price_of(k[i], s->utilization[i]);
	s->write_by = dearest(s, PRICE_RESOURCES);
	s->readahead_by = dearest(s, PRICE_MEMORY);
	s->write = s->price[s->write_by];
	s->readahead = s->price[s->readahead_by];
}
