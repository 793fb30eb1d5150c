/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The agent's own reasons, and the auction behind them. See decide.h. */
#include <assert.h>
#include <math.h>

#include "decide.h"

const char *const write_way_names[WRITE_WAYS] = {
	[WRITE_NORMAL] = "normal",
	[WRITE_DEFER] = "defer",
	[WRITE_ACCELERATE] = "accelerate",
};

/* The auction's ways and reasons are ours, in the same order. */
static_assert((int)WRITE_NORMAL == AUCTION_SEND && (int)WRITE_DEFER == AUCTION_DEFER &&
		      (int)WRITE_ACCELERATE == AUCTION_ACCELERATE,
	      "ways");
static_assert(WHY_EVEN - WHY_MEMORY == AUCTION_WHY_EVEN - AUCTION_WHY_FULL, "reasons");
static_assert(AHEAD_EVEN - AHEAD_SHORT == AUCTION_AHEAD_EVEN - AUCTION_AHEAD_SHORT,
	      "reasons of read-ahead");

/* What rules look at. */
struct view {
	const struct decision *d;
	const struct decide_limits *l;
	const struct decide_input *in;
	const struct auction_terms *t;
	double now;
};

static struct auction_terms terms_of(const struct decide_limits *l, const struct decide_input *in)
{
	return (struct auction_terms){
		.k_dirty = l->k,
		.k_worth = l->k_cache,
		.k_network = AUCTION_K_NETWORK,
		.price_min = l->price_min,
		.hysteresis = AUCTION_HYSTERESIS,
		.cheap = AUCTION_CHEAP,
		.weight = in->weight,
	};
}

/* ---- our own reasons --------------------------------------------------------------------- */

static bool has_no_prices(const struct view *v)
{
	return !v->in->priced;
}

static bool is_doubted(const struct view *v)
{
	return v->in->doubted;
}

static bool no_writes(const struct view *v)
{
	return v->in->writes_unused;
}

static bool is_lost(const struct view *v)
{
	return v->l->accelerate && v->in->cache_lost;
}

static bool is_vain(const struct view *v)
{
	return v->in->defer_vain &&
	       (v->d->way == WRITE_DEFER || auction_writes_dear(&v->d->writes, v->t, v->now));
}

static bool ahead_off(const struct view *v)
{
	return !v->l->readahead || !v->in->readahead_found;
}

static bool no_reads(const struct view *v)
{
	return v->in->reads_unused;
}

static const struct rule {
	bool (*holds)(const struct view *v);
	enum write_way way; /* of writes; read-ahead is as it was found */
} rules[DECIDE_RULES] = {
	[WHY_NO_PRICES] = {has_no_prices, WRITE_NORMAL},
	[WHY_DOUBT] = {is_doubted, WRITE_NORMAL},
	[WHY_UNUSED] = {no_writes, WRITE_NORMAL},
	[WHY_LOST] = {is_lost, WRITE_ACCELERATE},
	[WHY_VAIN] = {is_vain, WRITE_NORMAL},
	[AHEAD_NO_PRICES] = {.holds = has_no_prices},
	[AHEAD_DOUBT] = {.holds = is_doubted},
	[AHEAD_OFF] = {.holds = ahead_off},
	[AHEAD_UNUSED] = {.holds = no_reads},
};

/* Of our own rules from FIRST on the first that holds, else END, the first of the auction's. */
static enum decide_why first_of(const struct view *v, enum decide_why first, enum decide_why end)
{
	unsigned int i = first;

	while (i < end && !rules[i].holds(v))
		i++;
	return (enum decide_why)i;
}

/* ---- what follows ------------------------------------------------------------------------ */

/* While memory is free nobody gains by acceleration. */
static bool is_pressed(const struct view *v)
{
	const double h = AUCTION_HYSTERESIS;

	return v->in->pressed > DECIDE_PRESSED * (v->d->way == WRITE_ACCELERATE ? 1 / h : h);
}

static enum decide_why judge_writes(struct auction_writes *w, const struct view *v)
{
	const enum decide_why why = first_of(v, 0, WHY_MEMORY);
	const struct auction_may may = {
		.defer = v->l->defer,
		.accelerate = v->l->accelerate && is_pressed(v),
		.defer_most = v->l->defer_max,
	};

	if (why == WHY_MEMORY)
		return WHY_MEMORY + auction_writes_judge(w, v->t, &may, v->now) - AUCTION_WHY_FULL;
	auction_writes_go(w, &may, (enum auction_way)rules[why].way, v->now);
	return why;
}

/* Read of what was fetched ahead; below 0: not known. */
static double used_of(const struct decide_input *in)
{
	if (in->evidence == USE_TOO_LITTLE)
		return -1;
	return in->evidence == USE_KNOWN ? in->effectiveness : AUCTION_USED;
}

static bool judge_readahead(struct decision *d, const struct view *v)
{
	const enum decide_why why = first_of(v, AHEAD_NO_PRICES, AHEAD_SHORT);
	const struct auction_ahead_limits limits = {v->l->readahead_min, v->l->readahead_max};
	const struct auction_ahead_state state = {
		.price = v->in->readahead,
		.network = v->in->network,
		.used = used_of(v->in),
		.found = v->in->readahead_found,
		.memory_short = v->in->memory_short,
	};
	bool stepped;

	auction_ahead_hear(&d->reads, v->t, &state);
	if (why == AHEAD_SHORT)
		stepped = auction_ahead_judge(&d->reads, v->t, &limits, &state, v->now);
	else
		stepped = auction_ahead_end(&d->reads, v->now);
	if (why != AHEAD_SHORT)
		d->ahead_why = why;
	else if (d->reads.why != AUCTION_AHEAD_WAIT && d->reads.why != AUCTION_AHEAD_UNKNOWN)
		d->ahead_why = why + (d->reads.why - AUCTION_AHEAD_SHORT); /* else as it was */
	d->ahead = d->reads.ask;
	d->ahead_ours = d->reads.bid;
	d->readahead = d->reads.size;
	return stepped;
}

bool decide(struct decision *d, const struct decide_limits *l, const struct decide_input *in,
	    double now)
{
	const struct auction_terms terms = terms_of(l, in);
	const struct auction_state state = {
		.dirty = in->dirty, .worth = in->worth, .network = in->network};
	const struct view v = {.d = d, .l = l, .in = in, .t = &terms, .now = now};

	auction_writes_hear(&d->writes, &terms, &state, in->priced ? in->write : -1, now);
	d->why = judge_writes(&d->writes, &v);
	d->theirs = d->writes.ask;
	d->ours = d->writes.bid;
	d->way = (enum write_way)d->writes.way;
	d->since = d->writes.since;
	return judge_readahead(d, &v);
}

double decide_due(const struct decision *d, double now)
{
	return auction_writes_due(&d->writes, now);
}
