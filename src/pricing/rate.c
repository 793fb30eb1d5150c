/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Growth of a counter over a sliding window. See rate.h. */
#include <string.h>

#include "pricing/rate.h"

void rate_add(struct rate *r, uint64_t window, uint64_t now, double count)
{
	unsigned int last = r->n - 1;

	if (r->n && count < r->at[last].count)
		r->n = 0;
	if (r->n && now <= r->at[last].time)
		return;
	if (r->n >= 2 && r->at[last].time - r->at[last - 1].time < window / (RATE_POINTS - 2))
		r->n--;
	if (r->n == RATE_POINTS)
		memmove(&r->at[0], &r->at[1], --r->n * sizeof(r->at[0]));
	r->at[r->n].time = now;
	r->at[r->n++].count = count;
}

double rate_growth(const struct rate *r, uint64_t window, double *seconds)
{
	unsigned int base, last;

	*seconds = 0;
	if (r->n < 2)
		return 0;
	base = last = r->n - 1;
	while (base && r->at[last].time - r->at[base].time < window)
		base--;
	*seconds = (double)(r->at[last].time - r->at[base].time) / 1e9;
	return r->at[last].count - r->at[base].count;
}

double rate_per_second(const struct rate *r, uint64_t window)
{
	double seconds, growth = rate_growth(r, window, &seconds);

	return seconds > 0 ? growth / seconds : 0;
}
