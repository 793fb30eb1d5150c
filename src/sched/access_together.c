/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One by one or together, by what either took. See access_together.h. */
#include "sched/access_together.h"

bool access_together_next(const struct access_together *a, uint64_t step)
{
	bool due = !a->quiet && a->ns > 0 && a->step == step;

	return due ? !a->together : a->together;
}

static void judge(struct access_together *a, bool together, double ns)
{
	if (ns < ACCESS_GAIN * a->ns) {
		a->together = together;
		a->ns = ns;
		a->lost = 0;
		a->quiet = ACCESS_DOUBT;
		return;
	}
	if (a->lost < ACCESS_QUIET_DOUBLED)
		a->lost++;
	a->quiet = (uint32_t)ACCESS_QUIET << a->lost;
}

void access_together_observe(struct access_together *a, uint64_t step, bool together,
			     unsigned int n, uint64_t service)
{
	double ns = (double)service / n;

	if (a->step != step) {
		a->step = step;
		a->ns = 0;
	}
	if (together != a->together) {
		if (a->ns > 0)
			judge(a, together, ns);
		return;
	}
	a->ns = ns;
	if (a->quiet)
		a->quiet--;
}
