/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of decisions. See decide.h. */
#include <math.h>

#include "decide.h"
#include "pricing/price.h"

const char *const write_way_names[WRITE_WAYS] = {
	[WRITE_NORMAL] = "normal",
	[WRITE_DEFER] = "defer",
	[WRITE_ACCELERATE] = "accelerate",
};

/* What rules look at. */
struct view {
	const struct decision *d;
	const struct decide_limits *l;
	const struct decide_input *in;
	double now;
	double calm;	      /* theirs / ours without dirty memory */
	double ratio;	      /* of writes: theirs / ours */
	double ahead;	      /* of read-ahead */
	uint32_t size, found; /* KiB of read-ahead, now and before us */
};

/* ---- prices ------------------------------------------------------------------------------ */

double decide_price(const struct decide_limits *l, double dirty, double worth)
{
	const struct auction_terms terms = {
		.k_dirty = l->k, .k_worth = l->k_cache, .price_min = l->price_min};
	const struct auction_state state = {.dirty = dirty, .worth = worth};

	return auction_bid(&terms, &state);
}

static double weight_of(const struct decide_input *in)
{
	return in->weight > 0 ? in->weight : 1;
}

/* What makes the kernel write anyhow is no reason to send everything at once: cached data is, and a server
 * that is as good as free. */
static double calm_of(const struct decide_limits *l, const struct decide_input *in)
{
	return decide_price(l, 0, in->worth) * weight_of(in);
}

/* A full memory is dearer than any server, whatever the weight; one that is not is not. */
static double ours_of(const struct decide_limits *l, const struct decide_input *in)
{
	const double price = decide_price(l, in->dirty, in->worth);

	return price >= DECIDE_CEILING ? price : price * weight_of(in);
}

static double theirs_of(const struct decide_input *in, double price)
{
	const struct auction_terms terms = {.k_network = DECIDE_K_NETWORK};
	const struct auction_state state = {.network = in->network};

	return auction_ask(&terms, &state, price);
}

/* What read-ahead is worth to us. */
static double worth_ahead(const struct decide_limits *l, const struct decide_input *in)
{
	const double used = in->evidence == USE_KNOWN ? in->effectiveness : DECIDE_EFFECTIVENESS;

	return weight_of(in) * l->price_min / fmax(1 - used, 1e-3);
}

/* ---- conditions -------------------------------------------------------------------------- */

/* Was X above EDGE, is it now? The edge is a band. */
static bool above(double x, double edge, bool was)
{
	return x > (was ? edge / DECIDE_HYSTERESIS : edge * DECIDE_HYSTERESIS);
}

static bool is_dear(double ratio, bool was)
{
	return above(ratio, 1, was);
}

static bool is_cheap(double ratio, bool was)
{
	return !above(ratio, DECIDE_CHEAP, !was);
}

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

static bool defers(const struct view *v)
{
	return v->d->way == WRITE_DEFER;
}

/* A deferral ended so lately that clients go by turns. */
static bool by_turns(const struct view *v)
{
	return v->d->rest_until > 0 && v->now - v->d->rest_until <= DECIDE_TURNS;
}

/* For another turn it was dear lately and is not cheap now, or leaves no doubt. */
static bool write_dear(const struct view *v)
{
	if (defers(v) || !by_turns(v) || v->ratio > DECIDE_PLAIN)
		return is_dear(v->ratio, defers(v));
	return is_dear(v->ratio, true) && is_dear(v->d->lately / v->d->ours, false);
}

static bool write_cheap(const struct view *v)
{
	return is_cheap(v->calm, v->d->way == WRITE_ACCELERATE);
}

static bool is_full(const struct view *v)
{
	return v->d->ours >= DECIDE_CEILING && !write_cheap(v);
}

static bool was_long(const struct view *v)
{
	return defers(v) && v->now - v->d->since >= v->d->hold;
}

static bool is_vain(const struct view *v)
{
	return v->in->defer_vain && (defers(v) || write_dear(v));
}

static bool may_defer(const struct view *v)
{
	return v->l->defer && v->now >= v->d->rest_until && write_dear(v);
}

static bool is_young(const struct view *v)
{
	return defers(v) && v->now < v->d->since + v->d->dwell && v->d->ours < DECIDE_CEILING;
}

static bool is_lost(const struct view *v)
{
	return v->l->accelerate && v->in->cache_lost;
}

/* While memory is free nobody gains by it. */
static bool is_pressed(const struct view *v)
{
	return above(v->in->pressed, DECIDE_PRESSED, v->d->way == WRITE_ACCELERATE);
}

static bool may_accelerate(const struct view *v)
{
	return v->l->accelerate && is_pressed(v) && write_cheap(v) &&
	       (v->d->way == WRITE_ACCELERATE || v->now - v->d->cheap_since >= DECIDE_CALM);
}

static bool rests(const struct view *v)
{
	return is_dear(v->ratio, false) && v->now < v->d->rest_until;
}

static bool would_defer(const struct view *v)
{
	return is_dear(v->ratio, false) && !v->l->defer;
}

static bool ahead_off(const struct view *v)
{
	return !v->l->readahead || !v->found;
}

static bool no_reads(const struct view *v)
{
	return v->in->reads_unused;
}

static bool too_long(const struct view *v)
{
	return v->in->memory_short && v->size > v->found;
}

static bool server_cheap(const struct view *v)
{
	return v->in->readahead <= v->l->price_min;
}

static bool ahead_cheap(const struct view *v)
{
	return v->size < v->found && server_cheap(v);
}

static bool just_stepped(const struct view *v)
{
	return v->d->stepped > 0 && v->now - v->d->stepped < DECIDE_STEP;
}

static bool not_known(const struct view *v)
{
	return v->in->evidence == USE_TOO_LITTLE;
}

static bool ahead_far(const struct view *v)
{
	return v->ahead > DECIDE_FAR && !server_cheap(v);
}

static bool ahead_dear(const struct view *v)
{
	return is_dear(v->ahead, false) && !server_cheap(v);
}

static bool ahead_worth(const struct view *v)
{
	const bool longer = v->size >= v->found; /* than before us */

	return is_cheap(v->ahead, false) && !(longer && (v->in->memory_short || !server_cheap(v)));
}

static bool ahead_wasted(const struct view *v)
{
	return v->size > v->found && (!is_cheap(v->ahead, true) || !server_cheap(v));
}

static bool always(const struct view *v)
{
	(void)v;
	return true;
}

/* ---- the table --------------------------------------------------------------------------- */

static const struct rule {
	bool (*holds)(const struct view *v);
	int way; /* enum write_way, enum readahead_way */
} rules[DECIDE_RULES] = {
	[WHY_NO_PRICES] = {has_no_prices, WRITE_NORMAL},
	[WHY_DOUBT] = {is_doubted, WRITE_NORMAL},
	[WHY_UNUSED] = {no_writes, WRITE_NORMAL},
	[WHY_LOST] = {is_lost, WRITE_ACCELERATE},
	[WHY_MEMORY] = {is_full, WRITE_NORMAL},
	[WHY_LONG] = {was_long, WRITE_NORMAL},
	[WHY_VAIN] = {is_vain, WRITE_NORMAL},
	[WHY_DEARER] = {may_defer, WRITE_DEFER},
	[WHY_DWELL] = {is_young, WRITE_DEFER},
	[WHY_CHEAP] = {may_accelerate, WRITE_ACCELERATE},
	[WHY_REST] = {rests, WRITE_NORMAL},
	[WHY_NOT_WANTED] = {would_defer, WRITE_NORMAL},
	[WHY_EVEN] = {always, WRITE_NORMAL},
	[AHEAD_NO_PRICES] = {has_no_prices, READAHEAD_FOUND},
	[AHEAD_DOUBT] = {is_doubted, READAHEAD_FOUND},
	[AHEAD_OFF] = {ahead_off, READAHEAD_FOUND},
	[AHEAD_UNUSED] = {no_reads, READAHEAD_FOUND},
	[AHEAD_SHORT] = {too_long, READAHEAD_FOUND},
	[AHEAD_CHEAP] = {ahead_cheap, READAHEAD_FOUND},
	[AHEAD_WAIT] = {just_stepped, READAHEAD_STAY},
	[AHEAD_UNKNOWN] = {not_known, READAHEAD_STAY},
	[AHEAD_FAR] = {ahead_far, READAHEAD_LEAST},
	[AHEAD_DEARER] = {ahead_dear, READAHEAD_LESS},
	[AHEAD_WORTH] = {ahead_worth, READAHEAD_MORE},
	[AHEAD_WASTE] = {ahead_wasted, READAHEAD_BACK},
	[AHEAD_EVEN] = {always, READAHEAD_STAY},
};

/* Of the rules from FIRST on the first that holds; the last one of each half always does. */
static enum decide_why first_of(const struct view *v, enum decide_why first)
{
	unsigned int i = first;

	while (!rules[i].holds(v))
		i++;
	return (enum decide_why)i;
}

/* ---- what follows ------------------------------------------------------------------------ */

/* A deferral begins: the first for a while, or one of those that go by turns. */
static void begin_deferral(struct decision *d, const struct view *v)
{
	const bool turn = by_turns(v);

	d->hold = turn ? fmin(DECIDE_HOLD, v->l->defer_max) : v->l->defer_max;
	d->dwell = turn ? d->hold : DECIDE_DWELL;
}

static void judge_writes(struct decision *d, const struct view *v)
{
	const enum decide_why why = first_of(v, 0);
	const enum write_way way = (enum write_way)rules[why].way, was = d->way;

	if (way != was)
		d->since = v->now;
	if (way == WRITE_DEFER && was != WRITE_DEFER)
		begin_deferral(d, v);
	if (was == WRITE_DEFER && way != WRITE_DEFER)
		d->rest_until = v->now + DECIDE_REST;
	d->way = way;
	d->why = why;
}

/* KiB that SIZE becomes; always between the limits. */
static uint32_t resized(const struct view *v, enum readahead_way way)
{
	const uint32_t least = v->l->readahead_min, most = v->l->readahead_max;
	const uint32_t part = v->size / (way == READAHEAD_LEAST ? 4 : 2);
	const uint32_t twice = v->size < most / 2 ? v->size * 2 : most;

	switch (way) {
	case READAHEAD_LESS:
	case READAHEAD_LEAST:
		return part < least ? least : part > most ? most : part;
	case READAHEAD_MORE:
		return twice < least ? least : twice;
	case READAHEAD_BACK:
		return part < v->found || part < least ? v->found : part;
	default:
		return v->size;
	}
}

/* A limit is no reason to go the wrong way: what was found may lie beyond it. */
static bool is_step(const struct view *v, enum readahead_way way, uint32_t size)
{
	return way == READAHEAD_MORE ? size > v->size : size < v->size;
}

static bool judge_readahead(struct decision *d, const struct view *v)
{
	const enum decide_why why = first_of(v, WRITE_RULES);
	const enum readahead_way way = (enum readahead_way)rules[why].way;
	const uint32_t was = d->readahead, size = resized(v, way);
	const uint32_t least = v->l->readahead_min, most = v->l->readahead_max;

	if (way != READAHEAD_STAY || why == AHEAD_EVEN)
		d->ahead_why = why;
	if (way == READAHEAD_FOUND)
		d->readahead = 0;
	else if (way != READAHEAD_STAY && is_step(v, way, size))
		d->readahead = size == v->found ? 0 : size;
	else if (was) /* the limits may be others now */
		d->readahead = was < least ? least : was > most ? most : was;
	if (d->readahead != was)
		d->stepped = v->now;
	return d->readahead != was;
}

/* What was asked lately, more for being later. */
static void remember(struct decision *d, bool priced, double now)
{
	const double since = d->lately_at > 0 ? now - d->lately_at : INFINITY;

	d->lately += (d->theirs - d->lately) * (1 - exp(-since / DECIDE_LATELY));
	d->lately_at = priced ? now : 0;
}

bool decide(struct decision *d, const struct decide_limits *l, const struct decide_input *in,
	    double now)
{
	struct view v = {.d = d, .l = l, .in = in, .now = now, .found = in->readahead_found};

	d->ours = ours_of(l, in);
	d->theirs = theirs_of(in, in->write);
	remember(d, in->priced, now);
	d->ahead = fmax(theirs_of(in, in->readahead), l->price_min);
	d->ahead_ours = worth_ahead(l, in);
	v.size = d->readahead ? d->readahead : v.found;
	v.ratio = d->theirs / d->ours;
	v.calm = d->theirs / calm_of(l, in);
	v.ahead = d->ahead / d->ahead_ours;
	if (!in->priced || !write_cheap(&v))
		d->cheap_since = 0;
	else if (d->cheap_since <= 0)
		d->cheap_since = now;
	judge_writes(d, &v);
	return judge_readahead(d, &v);
}

double decide_due(const struct decision *d, double now)
{
	if (d->way == WRITE_DEFER)
		return d->since + (now < d->since + d->dwell ? d->dwell : d->hold);
	return d->rest_until > now ? d->rest_until : INFINITY;
}
