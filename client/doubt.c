/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Frozen and jumping prices. See doubt.h. */
#include <math.h>

#include "doubt.h"

static bool same(const struct fsstat_prices *a, const struct fsstat_prices *b)
{
	return a->write == b->write && a->readahead == b->readahead; /* out of 8 bits each */
}

/* 1: up by the factor, -1: down, 0: neither. */
static int8_t jump(double from, double to, double low)
{
	from = fmax(from, low);
	to = fmax(to, low);
	return to >= from * DOUBT_JUMP ? 1 : from >= to * DOUBT_JUMP ? -1 : 0;
}

static bool count_turns(struct doubt *d, const struct fsstat_prices *p, double low)
{
	const uint32_t window = (1u << DOUBT_WINDOW) - 1;
	const int8_t went = jump(d->last.write, p->write, low);

	d->turns = (d->turns << 1 | (went && went == -d->went)) & window;
	if (went)
		d->went = went;
	if (d->jumping)
		return d->turns != 0;
	return __builtin_popcount(d->turns) >= DOUBT_TURNS;
}

static bool is_frozen(const struct doubt *d, const struct fsstat_prices *p, double low, double now)
{
	const double dear = fmax(p->write, p->readahead);

	return dear > low && d->replies >= DOUBT_REPLIES &&
	       now - d->since >= (dear >= 1 ? DOUBT_FULL : DOUBT_STILL);
}

bool doubt_feed(struct doubt *d, const struct fsstat_prices *p, double low, double now)
{
	if (d->seen)
		d->jumping = count_turns(d, p, low);
	if (!d->seen || !same(&d->last, p)) {
		d->since = now;
		d->replies = 0;
	}
	d->seen = true;
	d->last = *p;
	d->replies++;
	d->frozen = is_frozen(d, p, low, now);
	return d->frozen || d->jumping;
}
