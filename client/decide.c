/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who offers the lower price, with hysteresis. See decide.h. */
#include <math.h>

#include "decide.h"
#include "pricing/auction.h"

const char *const write_way_names[WRITE_WAYS] = {
	[WRITE_NORMAL] = "normal",
	[WRITE_DEFER] = "defer",
	[WRITE_ACCELERATE] = "accelerate",
};

const char *const decide_why_texts[DECIDE_WHYS] = {
	[WHY_NO_PRICES] = "there are no prices that count",
	[WHY_EVEN] = "neither server nor memory is much cheaper",
	[WHY_MEMORY] = "our memory is full of written data: the server bears that better",
	[WHY_REST] = "data was held back for long enough: the kernel has its way",
	[WHY_NOT_WANTED] = "the server is dearer than our memory, but deferral is off",
	[WHY_DEARER] = "the server is dearer than our memory",
	[WHY_DWELL] = "the server was dearer a moment ago",
	[WHY_CHEAP] = "the server is far cheaper than our memory",
};

double decide_price(const struct decide_limits *l, double dirty)
{
	const struct auction_terms terms = {.k_dirty = l->k, .price_min = l->price_min};
	const struct auction_state state = {.dirty = dirty};

	return auction_bid(&terms, &state);
}

/* Was X above EDGE, is it now? The edge is a band. */
static bool above(double x, double edge, bool was)
{
	return x > (was ? edge / DECIDE_HYSTERESIS : edge * DECIDE_HYSTERESIS);
}

/* Deferral ends, and the kernel has its way for a while. */
static bool rest(struct decision *d, double now)
{
	if (d->way == WRITE_DEFER)
		d->rest_until = now + DECIDE_REST;
	return false;
}

static bool may_defer(struct decision *d, const struct decide_limits *l, double now)
{
	if (d->ours >= DECIDE_CEILING)
		return rest(d, now);
	if (d->way == WRITE_DEFER && now - d->since >= l->defer_max)
		return rest(d, now);
	return l->defer && now >= d->rest_until;
}

/* Of writes that go their normal way though there are prices. */
static enum decide_why why_normal(const struct decision *d, const struct decide_limits *l,
				  double ratio, double now)
{
	if (d->ours >= DECIDE_CEILING)
		return WHY_MEMORY;
	if (!above(ratio, 1, false))
		return WHY_EVEN;
	return !l->defer ? WHY_NOT_WANTED : now < d->rest_until ? WHY_REST : WHY_EVEN;
}

static enum decide_why judge(struct decision *d, const struct decide_limits *l,
			     const struct decide_input *in, double now)
{
	double ratio = in->write / d->ours;

	if (!in->priced)
		return WHY_NO_PRICES;
	if (may_defer(d, l, now) && above(ratio, 1, d->way == WRITE_DEFER))
		return WHY_DEARER;
	if (d->way == WRITE_DEFER && now < d->since + DECIDE_DWELL && now >= d->rest_until)
		return WHY_DWELL; /* only the server's price fell: not for long, perhaps */
	if (l->accelerate && !above(ratio, DECIDE_CHEAP, d->way != WRITE_ACCELERATE))
		return WHY_CHEAP;
	return why_normal(d, l, ratio, now);
}

static enum write_way way_of(enum decide_why why)
{
	return why == WHY_CHEAP			       ? WRITE_ACCELERATE
	       : why == WHY_DEARER || why == WHY_DWELL ? WRITE_DEFER
						       : WRITE_NORMAL;
}

/* A power of two times readahead_min; another one only when it is off by more than half a step. */
static uint32_t readahead(const struct decision *d, const struct decide_limits *l,
			  const struct decide_input *in)
{
	double dear, wanted, kib = l->readahead_min, most = l->readahead_max;

	if (!in->priced || !l->readahead)
		return 0;
	if (in->memory_short && in->readahead_found < most)
		most = fmax(in->readahead_found, l->readahead_min);
	dear = l->price_min < 1 ? log(in->readahead / l->price_min) / -log(l->price_min) : 0;
	dear = fmin(fmax(dear, 0), 1); /* also the logarithm of 0 */
	wanted = l->readahead_min * pow(most / l->readahead_min, 1 - dear);
	if (d->readahead && d->readahead <= most && fabs(log2(wanted / d->readahead)) < 0.75)
		return d->readahead;
	while (kib * M_SQRT2 < wanted && kib < most)
		kib *= 2;
	return (uint32_t)fmin(kib, most);
}

void decide(struct decision *d, const struct decide_limits *l, const struct decide_input *in,
	    double now)
{
	enum write_way way;

	d->ours = decide_price(l, in->dirty);
	d->why = judge(d, l, in, now);
	way = way_of(d->why);
	if (way != d->way)
		d->since = now;
	d->way = way;
	d->readahead = readahead(d, l, in);
}
