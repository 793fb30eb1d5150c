/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The mean of a level. See meter_unstable.h. */
#include "pricing/meter.h"
#include "pricing/meter_unstable.h"

void meter_unstable_sample(struct meter_unstable *m, uint64_t window, uint64_t step, uint64_t now,
			   double level)
{
	double seconds = m->last && now > m->last ? (double)(now - m->last) / 1e9 : 0;

	level = meter_share(level, 1);
	m->sum += meter_stood(seconds, step, m->before, level);
	m->before = level;
	m->last = now;
	rate_add(&m->level, window, now, m->sum);
	m->utilization = meter_share(rate_per_second(&m->level, window), 1);
}
