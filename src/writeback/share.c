/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What dirty memory buys of the disk. See share.h. */
#include "writeback/share.h"

double share_bought(const struct share_limits *l, double memory, double disk, uint64_t age)
{
	double by_price = 0, by_age;

	if (memory >= l->price_min && memory > 0)
		by_price = l->share_max * memory / (memory + disk);
	by_age = l->age_max ? 2 * (double)age / (double)l->age_max - 1 : 1;
	if (by_age > 1)
		by_age = 1;
	by_age *= l->share_max;
	return by_age > by_price ? by_age : by_price;
}
