/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Entries in an array, found through a hash index that is built anew when entries go. See ledger.h.
 *
 * A flow's counter may begin anew: the scheduler forgets flows that are idle. And a flow comes and goes among those that are
 * looked at, and from one entry to another with its export's share. So an entry's use is what each of its flows grew by since
 * the ledger was told of that (flow_told.h).
 */
#include "pricing/ledger.h"
#include "pricing/flow_told.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define INDEX_SLOTS (2 * LEDGER_ENTRIES)
/* An entry that was not active for so many times MEMORY is forgotten: e^-6 of its use is left. */
#define FORGOTTEN 6
/* So much of MEMORY in disk time is believed half. */
#define DOUBT (1.0 / 16)

/* Of an entry's active_at: it was made just now. */
#define NEVER 0

/* An export with a share of its own, while standings are computed. */
struct group {
	uint32_t place;	 /* 0: none */
	double activity; /* sum of its clients' */
	double weighed;	 /* sum of weight * activity */
};

struct ledger {
	unsigned int n;
	uint64_t fed; /* ns: when last */
	uint64_t memory;
	double known; /* the activity of one that was always active */
	struct ledger_entry entries[LEDGER_ENTRIES];
	uint16_t index[INDEX_SLOTS]; /* of an entry, + 1; 0: empty */
	struct group groups[INDEX_SLOTS];
	struct flow_told told;
};

_Static_assert(LEDGER_ENTRIES < UINT16_MAX, "an index fits");

struct ledger *ledger_new(void)
{
	return calloc(1, sizeof(struct ledger));
}

void ledger_free(struct ledger *l)
{
	free(l);
}

static int by_use(const void *a, const void *b)
{
	const struct ledger_entry *const *x = a, *const *y = b;

	return ((*x)->use < (*y)->use) - ((*x)->use > (*y)->use);
}

unsigned int ledger_top(const struct ledger *l, struct ledger_entry *entries, unsigned int max)
{
	const struct ledger_entry *order[LEDGER_ENTRIES];

	for (unsigned int i = 0; i < l->n; i++)
		order[i] = &l->entries[i];
	qsort(order, l->n, sizeof(order[0]), by_use);
	for (unsigned int i = 0; i < l->n && i < max; i++)
		entries[i] = *order[i];
	return l->n;
}

/* ---- entries ---------------------------------------------------------------------------- */

static unsigned int hash(uint64_t client, uint32_t place)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

	return (unsigned int)(((client * odd) ^ place) * odd >> 40);
}

/* Where it is in the index, or would be. */
static uint16_t *index_slot(struct ledger *l, uint64_t client, uint32_t place)
{
	for (unsigned int at = hash(client, place);; at++) {
		uint16_t *slot = &l->index[at % INDEX_SLOTS];
		const struct ledger_entry *e = *slot ? &l->entries[*slot - 1] : NULL;

		if (e == NULL || (e->client == client && e->place == place))
			return slot;
	}
}

/* Its entry, made if new; NULL: all are taken. */
static struct ledger_entry *entry_of(struct ledger *l, uint64_t client, uint32_t place)
{
	uint16_t *slot = index_slot(l, client, place);

	if (*slot == 0) {
		if (l->n == LEDGER_ENTRIES)
			return NULL;
		l->entries[l->n] =
			(struct ledger_entry){.client = client, .place = place, .active_at = NEVER};
		*slot = (uint16_t)++l->n;
	}
	return &l->entries[*slot - 1];
}

static void forget_the_inactive(struct ledger *l, uint64_t now)
{
	unsigned int before = l->n;

	for (unsigned int i = 0; i < l->n;)
		if ((now - l->entries[i].active_at) / FORGOTTEN > l->memory)
			l->entries[i] = l->entries[--l->n];
		else
			i++;
	if (l->n == before)
		return;
	memset(l->index, 0, sizeof(l->index));
	for (unsigned int i = 0; i < l->n; i++)
		*index_slot(l, l->entries[i].client, l->entries[i].place) = (uint16_t)(i + 1);
}

/* ---- use -------------------------------------------------------------------------------- */

static void decay(struct ledger *l, double factor)
{
	for (unsigned int i = 0; i < l->n; i++) {
		struct ledger_entry *e = &l->entries[i];

		e->use *= factor;
		e->activity *= factor;
		e->grown = 0;
		e->found = e->busy = false;
	}
}

/* A flow as it is at NOW, ELAPSED ns after the last time. */
static void add_flow(struct ledger *l, const struct flow_use *f, uint64_t now, uint64_t elapsed)
{
	uint32_t place = f->of_export ? PLACE_OF_EXPORT(f->export_id) : PLACE_ALL;
	struct ledger_entry *e;
	uint64_t grown;

	if (f->client == 0)
		return;
	grown = flow_told(&l->told, f->client, f->export_id, f->disk_time, now, elapsed);
	e = entry_of(l, f->client, place);
	if (e == NULL)
		return;
	e->grown += grown;
	e->weight = f->weight;
	e->group_weight_now = f->group_weight;
	e->busy |= f->backlogged;
	e->found = true;
}

/* It is active, for SHARE of what is remembered; and it was in the pause before, where that was short, as far as what
 * it USED (ns) since makes up for. */
static void count_activity(const struct ledger *l, struct ledger_entry *e, uint64_t now,
			   uint64_t used, double share)
{
	const uint64_t silent = now - e->active_at, looked = now - l->fed;
	double back;

	if (e->active_at != NEVER && silent > looked)
		e->pause = silent <= LEDGER_PAUSE ? (double)(silent - looked) : 0;
	back = fmin(e->pause, LEDGER_PAUSE_USE * (double)used);
	e->pause -= back;
	e->activity += share + 1 - exp(-back / (double)l->memory);
	e->activity = fmin(e->activity, l->known);
}

/* What it used since the last look; of a new one only that it is there. */
static void count(const struct ledger *l, struct ledger_entry *e, uint64_t now, double share)
{
	bool fresh = e->active_at == NEVER;
	uint64_t grown = fresh ? 0 : e->grown;

	if (fresh)
		e->group_weight = e->group_weight_now;
	if (e->busy)
		e->group_weight += (e->group_weight_now - e->group_weight) * share;
	e->use += (double)grown;
	if (grown != 0 || e->busy)
		count_activity(l, e, now, grown, share);
	if (grown != 0 || e->busy || fresh)
		e->active_at = now;
}

/* ---- standing --------------------------------------------------------------------------- */

static struct group *group_of(struct ledger *l, uint32_t place)
{
	unsigned int at = hash(0, place);

	while (l->groups[at % INDEX_SLOTS].place != 0 && l->groups[at % INDEX_SLOTS].place != place)
		at++;
	l->groups[at % INDEX_SLOTS].place = place;
	return &l->groups[at % INDEX_SLOTS];
}

static void sum_groups(struct ledger *l)
{
	memset(l->groups, 0, sizeof(l->groups));
	for (unsigned int i = 0; i < l->n; i++) {
		const struct ledger_entry *e = &l->entries[i];
		struct group *g;

		if (e->place == PLACE_ALL)
			continue;
		g = group_of(l, e->place);
		g->activity += e->activity;
		g->weighed += e->weight * e->activity;
	}
}

/* What it would be entitled to in units of weight, if it were always active. */
static double claim(struct ledger *l, const struct ledger_entry *e)
{
	const struct group *g;

	if (e->place == PLACE_ALL)
		return e->weight;
	g = group_of(l, e->place);
	if (!(g->weighed > 0))
		return 0;
	return e->group_weight * fmin(g->activity, l->known) * e->weight / g->weighed;
}

static void stand(struct ledger *l)
{
	double use = 0, claims = 0, activity = 0, half = DOUBT * (double)l->memory;

	sum_groups(l);
	for (unsigned int i = 0; i < l->n; i++) {
		struct ledger_entry *e = &l->entries[i];

		e->standing.weight = claim(l, e);
		use += e->use;
		activity += e->activity;
		claims += e->standing.weight * e->activity;
	}
	for (unsigned int i = 0; i < l->n; i++) {
		struct ledger_entry *e = &l->entries[i];
		struct client_standing *s = &e->standing;

		s->use = use > 0 ? e->use / use : 0;
		s->entitled = claims > 0 ? s->weight * e->activity / claims : 0;
		s->weight = claims > 0 ? s->weight * activity / claims : 1;
		s->doubt = half / (use + half);
		e->ratio = client_ratio(s);
	}
}

/* ----------------------------------------------------------------------------------------- */

void ledger_feed(struct ledger *l, const struct flow_use *flows, unsigned int n, uint64_t now,
		 uint64_t memory)
{
	uint64_t passed = l->fed != 0 ? elapsed(l->fed, now) : 0;
	double factor = exp(-(double)passed / (double)memory);

	assert(memory > 0);
	l->memory = memory;
	l->known = l->known * factor + 1 - factor;
	decay(l, factor);
	forget_the_inactive(l, now);
	for (unsigned int i = 0; i < n; i++)
		add_flow(l, &flows[i], now, passed);
	for (unsigned int i = 0; i < l->n; i++)
		if (l->entries[i].found)
			count(l, &l->entries[i], now, 1 - factor);
	l->fed = now;
	stand(l);
}

/* Those of exports with a share: sum_groups() has found them. */
static unsigned int quote_places(const struct ledger *l, struct client_quote *quotes)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < INDEX_SLOTS; i++)
		if (l->groups[i].place != 0)
			quotes[n++] = (struct client_quote){.place = l->groups[i].place};
	return n;
}

unsigned int ledger_quotes(const struct ledger *l, const struct price_snapshot *s,
			   const double k[PRICE_RESOURCES], struct client_quote *quotes)
{
	unsigned int n = quote_places(l, quotes);

	for (unsigned int i = 0; i < l->n && n < LEDGER_ENTRIES; i++) {
		const struct ledger_entry *e = &l->entries[i];
		struct client_prices p;

		if (e->ratio == 1)
			continue;
		p = client_price(s, k, e->ratio);
		quotes[n++] = (struct client_quote){.client = e->client,
						    .place = e->place,
						    .write = (float)p.write,
						    .readahead = (float)p.readahead};
	}
	return n;
}
