/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The tags of floors and ceilings. See rate_limit.h.
 *
 * A cost of N units at a rate of R a second is N * 10^9 / R ns. That is reckoned in floating point,
 * where nothing overflows (N and R may be any), and bounded before it becomes a time again; what a
 * double rounds off of a cost is less than a billionth of it.
 */
#include "sched/rate_limit.h"

#define NS_PER_SECOND 1e9
/* Percent of the disk's time, as ns in a second. */
#define PERCENT_TIME UINT64_C(10000000)
/* A time is never further ahead than this (ns): far from the end of 64 bits. */
#define TAG_MAX (UINT64_MAX / 2)

static uint64_t before(uint64_t time, uint64_t ns)
{
	return time > ns ? time - ns : 0;
}

static uint64_t after(uint64_t time, double ns, uint64_t most)
{
	uint64_t from = time < TAG_MAX ? time : TAG_MAX;

	return from + (ns < (double)most ? (uint64_t)ns : most);
}

/* ---- limits ------------------------------------------------------------------------------ */

static uint64_t rate_of(const struct share_limit *s, enum rate_resource what)
{
	switch (what) {
	case RATE_BYTES:
		return s->bandwidth;
	case RATE_REQUESTS:
		return s->iops;
	default:
		return s->time * PERCENT_TIME;
	}
}

/* What is owed, or was saved, is so many units: at another rate these are another time. */
static void set_rate(struct rate_tag *t, uint64_t rate, uint64_t now)
{
	double scale;

	if (rate == t->rate)
		return;
	if (!rate || !t->rate) {
		*t = (struct rate_tag){.rate = rate, .at = now};
		return;
	}
	scale = (double)t->rate / (double)rate;
	if (t->at > now)
		t->at = after(now, (double)(t->at - now) * scale, RATE_DEBT_MAX);
	else
		t->at = before(now, after(0, (double)(now - t->at) * scale, RATE_LAG_MAX));
	t->rest = 0;
	t->rate = rate;
}

void rate_limit_set(struct rate_limit *l, const struct share_limit *floor,
		    const struct share_limit *ceiling, uint64_t now)
{
	for (int i = 0; i < RATE_RESOURCES; i++) {
		set_rate(&l->floor[i], rate_of(floor, i), now);
		set_rate(&l->ceiling[i], rate_of(ceiling, i), now);
	}
}

/* ---- charges ----------------------------------------------------------------------------- */

static void not_before(struct rate_tag *t, uint64_t time)
{
	if (t->at < time) {
		t->at = time;
		t->rest = 0;
	}
}

/* A cost of UNITS, for which the tag goes no further ahead of START than MOST; nor back. */
static void advance(struct rate_tag *t, uint64_t units, uint64_t start, uint64_t most)
{
	double ns = (double)units * NS_PER_SECOND / (double)t->rate + t->rest;
	uint64_t at = after(t->at, ns, RATE_DEBT_MAX), bound = after(start, (double)most, most);

	if (at > bound || ns >= (double)RATE_DEBT_MAX) {
		t->rest = 0;
		if (t->at < bound)
			t->at = at < bound ? at : bound;
		return;
	}
	t->rest = ns - (double)(uint64_t)ns;
	t->at = at;
}

void rate_limit_wakes(struct rate_limit *l, uint64_t now)
{
	for (int i = 0; i < RATE_RESOURCES; i++)
		not_before(&l->floor[i], before(now, RATE_IDLE_CREDIT));
}

void rate_limit_charge(struct rate_limit *l, const struct rate_cost *cost, uint64_t start,
		       bool reserved)
{
	uint64_t lead = reserved ? RATE_DEBT_MAX : RATE_LEAD_MAX;
	const uint64_t units[RATE_RESOURCES] = {
		[RATE_BYTES] = cost->bytes,
		[RATE_REQUESTS] = cost->requests,
		[RATE_TIME] = cost->time,
	};

	for (int i = 0; i < RATE_RESOURCES; i++) {
		if (l->ceiling[i].rate) {
			not_before(&l->ceiling[i], before(start, RATE_BURST));
			advance(&l->ceiling[i], units[i], start, RATE_DEBT_MAX);
		}
		if (l->floor[i].rate) {
			not_before(&l->floor[i], before(start, RATE_LAG_MAX));
			advance(&l->floor[i], units[i], start, lead);
		}
	}
}

/* ---- what follows ------------------------------------------------------------------------ */

uint64_t rate_limit_opens(const struct rate_limit *l)
{
	uint64_t opens = 0;

	for (int i = 0; i < RATE_RESOURCES; i++)
		if (l->ceiling[i].rate && l->ceiling[i].at > opens)
			opens = l->ceiling[i].at;
	return opens;
}

uint64_t rate_limit_deadline(const struct rate_limit *l)
{
	uint64_t deadline = UINT64_MAX;

	for (int i = 0; i < RATE_RESOURCES; i++)
		if (l->floor[i].rate && l->floor[i].at < deadline)
			deadline = l->floor[i].at;
	return deadline;
}

uint64_t rate_limit_units(const struct rate_tag *t, uint64_t ns)
{
	if (!t->rate)
		return UINT64_MAX;
	return after(0, (double)t->rate * (double)ns / NS_PER_SECOND, TAG_MAX);
}
