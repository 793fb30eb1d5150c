/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How far to read ahead. See auction_ahead.h. */
#include <math.h>

#include "pricing/auction_ahead.h"

enum step { FOUND, STAY, LEAST, LESS, MORE, BACK };

/* What rules look at. */
struct view {
	const struct auction_ahead *a;
	const struct auction_terms *t;
	const struct auction_ahead_limits *l;
	const struct auction_ahead_state *s;
	double now, ratio;
	uint32_t size; /* KiB, at present */
};

static bool server_cheap(const struct view *v)
{
	return v->s->price <= v->t->price_min;
}

static bool no_prices(const struct view *v)
{
	return !(v->s->price >= 0);
}

static bool too_long(const struct view *v)
{
	return v->s->memory_short && v->size > v->s->found;
}

static bool ends_cheap(const struct view *v)
{
	return v->size < v->s->found && server_cheap(v);
}

static bool just_stepped(const struct view *v)
{
	return v->a->stepped > 0 && v->now - v->a->stepped < AUCTION_STEP;
}

static bool not_known(const struct view *v)
{
	return v->s->used < 0;
}

static bool is_far(const struct view *v)
{
	return v->ratio > AUCTION_FAR && !server_cheap(v);
}

static bool is_dear(const struct view *v)
{
	return auction_dear(v->t, v->ratio, false) && !server_cheap(v);
}

static bool is_worth(const struct view *v)
{
	const bool longer = v->size >= v->s->found;

	return auction_cheap(v->t, v->ratio, false) &&
	       !(longer && (v->s->memory_short || !server_cheap(v)));
}

static bool is_wasted(const struct view *v)
{
	return v->size > v->s->found && (!auction_cheap(v->t, v->ratio, true) || !server_cheap(v));
}

static bool always(const struct view *v)
{
	(void)v;
	return true;
}

static const struct rule {
	bool (*holds)(const struct view *v);
	enum step step;
} rules[AUCTION_AHEAD_WHYS] = {
	[AUCTION_AHEAD_NO_PRICES] = {no_prices, FOUND}, [AUCTION_AHEAD_SHORT] = {too_long, FOUND},
	[AUCTION_AHEAD_CHEAP] = {ends_cheap, FOUND},	[AUCTION_AHEAD_WAIT] = {just_stepped, STAY},
	[AUCTION_AHEAD_UNKNOWN] = {not_known, STAY},	[AUCTION_AHEAD_FAR] = {is_far, LEAST},
	[AUCTION_AHEAD_DEARER] = {is_dear, LESS},	[AUCTION_AHEAD_WORTH] = {is_worth, MORE},
	[AUCTION_AHEAD_WASTE] = {is_wasted, BACK},	[AUCTION_AHEAD_EVEN] = {always, STAY},
};

void auction_ahead_hear(struct auction_ahead *a, const struct auction_terms *t,
			const struct auction_ahead_state *s)
{
	const struct auction_state way = {.network = s->network};
	const double weight = t->weight > 0 ? t->weight : 1;

	a->ask = fmax(auction_ask(t, &way, s->price), t->price_min);
	a->bid = weight * t->price_min / fmax(1 - (s->used < 0 ? AUCTION_USED : s->used), 1e-3);
}

static uint32_t between(uint32_t x, const struct auction_ahead_limits *l)
{
	return x < l->least ? l->least : x > l->most ? l->most : x;
}

/* Twice as far, but not further than found where the server is not cheap. */
static uint32_t longer(const struct view *v)
{
	uint32_t twice = v->size < v->l->most / 2 ? v->size * 2 : v->l->most;

	if (twice < v->l->least)
		twice = v->l->least;
	return twice > v->s->found && !server_cheap(v) ? v->s->found : twice;
}

/* KiB that it becomes; always between the limits, but for what was found. */
static uint32_t resized(const struct view *v, enum step step)
{
	const uint32_t part = v->size / (step == LEAST ? 4 : 2);

	switch (step) {
	case LESS:
	case LEAST:
		return between(part, v->l);
	case MORE:
		return longer(v);
	case BACK:
		return part < v->s->found || part < v->l->least ? v->s->found : part;
	default:
		return v->size;
	}
}

/* A limit is no reason to go the wrong way: what was found may lie beyond it. */
static bool is_step(const struct view *v, enum step step, uint32_t size)
{
	return step == MORE ? size > v->size : size < v->size;
}

static uint32_t next_size(const struct view *v, enum step step)
{
	const uint32_t size = resized(v, step), was = v->a->size;

	if (step == FOUND)
		return 0;
	if (step != STAY && is_step(v, step, size))
		return size == v->s->found ? 0 : size;
	return was ? between(was, v->l) : 0; /* the limits may be others now */
}

static bool turn(struct auction_ahead *a, uint32_t size, double now)
{
	if (size == a->size)
		return false;
	a->size = size;
	a->stepped = now;
	return true;
}

bool auction_ahead_judge(struct auction_ahead *a, const struct auction_terms *t,
			 const struct auction_ahead_limits *l, const struct auction_ahead_state *s,
			 double now)
{
	const struct view v = {.a = a,
			       .t = t,
			       .l = l,
			       .s = s,
			       .now = now,
			       .ratio = a->ask / a->bid,
			       .size = a->size ? a->size : s->found};
	unsigned int i = 0;

	while (!rules[i].holds(&v))
		i++;
	a->why = (enum auction_ahead_why)i;
	return turn(a, next_size(&v, rules[i].step), now);
}

bool auction_ahead_end(struct auction_ahead *a, double now)
{
	return turn(a, 0, now);
}
