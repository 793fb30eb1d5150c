/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The interval of steady.h. */
#include "steady.h"

void steady_begin(struct steady *s, double from)
{
	*s = (struct steady){.from = from};
}

void steady_end(struct steady *s, double to)
{
	if (s->to == 0)
		s->to = to > s->from ? to : s->from;
}

void steady_add(struct steady *s, double issued, double answered, uint64_t bytes)
{
	double at = answered - s->from;

	if (at < 0 || (s->to > 0 && issued >= s->to))
		return;
	latency_add(&s->latency, (uint64_t)((answered - issued) * 1e6));
	if (s->to > 0 && answered >= s->to)
		return;
	s->bytes += bytes;
	s->requests++;
	if (at < STEADY_WINDOWS_MAX)
		s->window[(unsigned int)at] += bytes;
}

double steady_seconds(const struct steady *s)
{
	return s->to > s->from ? s->to - s->from : 0;
}

unsigned int steady_windows(const struct steady *s)
{
	double whole = steady_seconds(s);

	return whole < STEADY_WINDOWS_MAX ? (unsigned int)whole : STEADY_WINDOWS_MAX;
}
