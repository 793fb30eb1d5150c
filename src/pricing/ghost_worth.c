/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What cached data is worth, for servers and clients. See ghost_worth.h. */
#include <math.h>

#include "pricing/ghost_worth.h"
#include "pricing/meter.h"

void ghost_worth_sample(struct ghost_worth *w, uint64_t window, double reads_min, uint64_t now,
			const struct ghost_counts *c)
{
	double pages, small, large, seconds;

	rate_add(&w->pages, window, now, c->pages);
	rate_add(&w->missed_small, window, now, c->missed_small);
	rate_add(&w->missed_large, window, now, c->missed_large);
	pages = rate_growth(&w->pages, window, &seconds);
	small = rate_growth(&w->missed_small, window, &seconds);
	large = rate_growth(&w->missed_large, window, &seconds);

	w->hit_small = pages > 0 ? 1 - meter_share(small, pages) : 0;
	w->hit_large = pages > 0 ? 1 - meter_share(large, pages) : 0;
	w->worth = meter_share(w->hit_large - w->hit_small, log(c->ratio)) *
		   meter_share(pages, reads_min * seconds);
}
