/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The auction over time: least times and turns. See auction_writes.h. */
#include <math.h>

#include "pricing/auction_writes.h"

/* What rules look at. */
struct view {
	const struct auction_writes *w;
	const struct auction_terms *t;
	const struct auction_may *may;
	double now;
};

/* ---- conditions -------------------------------------------------------------------------- */

static bool defers(const struct auction_writes *w)
{
	return w->way == AUCTION_DEFER;
}

static bool accelerates(const struct auction_writes *w)
{
	return w->way == AUCTION_ACCELERATE;
}

static bool is_dear(const struct view *v, double ask, bool was)
{
	return auction_dear(v->t, ask / v->w->bid, was);
}

/* A deferral ended so lately that clients go by turns. */
static bool by_turns(const struct auction_writes *w, double now)
{
	return w->rest_until > 0 && now - w->rest_until <= AUCTION_TURNS;
}

/* For another turn it was dear lately and is not cheap now, or leaves no doubt. */
bool auction_writes_dear(const struct auction_writes *w, const struct auction_terms *t, double now)
{
	const double ratio = w->ask / w->bid;

	if (defers(w) || !by_turns(w, now) || ratio > AUCTION_PLAIN)
		return auction_dear(t, ratio, defers(w));
	return auction_dear(t, ratio, true) && auction_dear(t, w->lately / w->bid, false);
}

static bool is_cheap(const struct auction_writes *w, const struct auction_terms *t)
{
	return auction_cheap(t, w->ask / w->calm, accelerates(w));
}

static bool has_no_prices(const struct view *v)
{
	return v->w->lately_at <= 0;
}

static bool is_full(const struct view *v)
{
	return v->w->bid >= AUCTION_CEILING && !is_cheap(v->w, v->t);
}

static bool was_long(const struct view *v)
{
	return defers(v->w) && v->now >= v->w->since + v->w->hold;
}

static bool may_defer(const struct view *v)
{
	return v->may->defer && v->now >= v->w->rest_until &&
	       auction_writes_dear(v->w, v->t, v->now);
}

static bool is_young(const struct view *v)
{
	return defers(v->w) && v->now < v->w->since + v->w->dwell && v->w->bid < AUCTION_CEILING;
}

static bool may_accelerate(const struct view *v)
{
	return v->may->accelerate && is_cheap(v->w, v->t) &&
	       (accelerates(v->w) || v->now - v->w->cheap_since >= AUCTION_CALM);
}

static bool rests(const struct view *v)
{
	return is_dear(v, v->w->ask, false) && v->now < v->w->rest_until;
}

static bool would_defer(const struct view *v)
{
	return is_dear(v, v->w->ask, false) && !v->may->defer;
}

static bool always(const struct view *v)
{
	(void)v;
	return true;
}

static const struct rule {
	bool (*holds)(const struct view *v);
	enum auction_way way;
} rules[AUCTION_WHYS] = {
	[AUCTION_WHY_NO_PRICES] = {has_no_prices, AUCTION_SEND},
	[AUCTION_WHY_FULL] = {is_full, AUCTION_SEND},
	[AUCTION_WHY_LONG] = {was_long, AUCTION_SEND},
	[AUCTION_WHY_DEARER] = {may_defer, AUCTION_DEFER},
	[AUCTION_WHY_DWELL] = {is_young, AUCTION_DEFER},
	[AUCTION_WHY_CHEAP] = {may_accelerate, AUCTION_ACCELERATE},
	[AUCTION_WHY_REST] = {rests, AUCTION_SEND},
	[AUCTION_WHY_NOT_WANTED] = {would_defer, AUCTION_SEND},
	[AUCTION_WHY_EVEN] = {always, AUCTION_SEND},
};

/* ---- what follows ------------------------------------------------------------------------ */

/* What was asked lately, more for being later. */
static void remember(struct auction_writes *w, bool priced, double now)
{
	const double since = w->lately_at > 0 ? now - w->lately_at : INFINITY;

	w->lately += (w->ask - w->lately) * (1 - exp(-since / AUCTION_LATELY));
	w->lately_at = priced ? now : 0;
}

void auction_writes_hear(struct auction_writes *w, const struct auction_terms *t,
			 const struct auction_state *s, double price, double now)
{
	const struct auction_state calm = {.worth = s->worth};
	const bool priced = price >= 0;

	w->bid = auction_bid(t, s);
	w->calm = auction_bid(t, &calm);
	w->ask = auction_ask(t, s, priced ? price : 0);
	remember(w, priced, now);
	if (!priced || !is_cheap(w, t))
		w->cheap_since = 0;
	else if (w->cheap_since <= 0)
		w->cheap_since = now;
}

/* The first deferral for a while, or one of those that go by turns. */
static void begin_deferral(struct auction_writes *w, double most, double now)
{
	const bool turn = by_turns(w, now);

	w->hold = turn ? fmin(AUCTION_HOLD, most) : most;
	w->dwell = turn ? w->hold : fmin(AUCTION_DWELL, w->hold);
}

void auction_writes_go(struct auction_writes *w, const struct auction_may *may,
		       enum auction_way way, double now)
{
	if (way == w->way)
		return;
	w->since = now;
	if (way == AUCTION_DEFER)
		begin_deferral(w, may->defer_most, now);
	else if (defers(w))
		w->rest_until = now + AUCTION_REST;
	w->way = way;
}

enum auction_why auction_writes_judge(struct auction_writes *w, const struct auction_terms *t,
				      const struct auction_may *may, double now)
{
	const struct view v = {.w = w, .t = t, .may = may, .now = now};
	unsigned int i = 0;

	while (!rules[i].holds(&v))
		i++;
	auction_writes_go(w, may, rules[i].way, now);
	return (enum auction_why)i;
}

double auction_writes_due(const struct auction_writes *w, double now)
{
	if (defers(w))
		return w->since + (now < w->since + w->dwell ? w->dwell : w->hold);
	return w->rest_until > now ? w->rest_until : INFINITY;
}
