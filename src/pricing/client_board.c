/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two hash tables with open addressing, and a count. See client_board.h; why a reader that mixed two
 * publications notices: board.c.
 */
#include "pricing/client_board.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * CLIENT_BOARD_MAX) /* half of them stay empty: a search ends soon */

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "a power of two");

struct slot {
	_Atomic uint64_t client;
	_Atomic uint64_t place;	 /* ... + 1; 0: empty */
	_Atomic uint64_t prices; /* the bits of two floats: write, read-ahead */
};

struct client_tables {
	atomic_uint_fast64_t latest; /* how often it was published */
	struct slot slots[2][SLOTS];
};

static uint64_t first_slot(uint64_t client, uint32_t place)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

	return ((client * odd) ^ place) * odd >> 40;
}

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t pack(const struct client_quote *q)
{
	uint32_t half[2];

	memcpy(&half[0], &q->write, sizeof(half[0]));
	memcpy(&half[1], &q->readahead, sizeof(half[1]));
	return (uint64_t)half[0] << 32 | half[1];
}

static void unpack(uint64_t packed, struct client_prices *p)
{
	uint32_t half[2] = {(uint32_t)(packed >> 32), (uint32_t)packed};
	float price[2];

	memcpy(price, half, sizeof(price));
	*p = (struct client_prices){.write = price[0], .readahead = price[1]};
}

static void enter(struct slot *slots, const struct client_quote *q)
{
	uint64_t at = first_slot(q->client, q->place) % SLOTS;

	while (load(&slots[at].place) != 0)
		at = (at + 1) % SLOTS;
	store(&slots[at].client, q->client);
	store(&slots[at].prices, pack(q));
	store(&slots[at].place, (uint64_t)q->place + 1);
}

void client_board_publish(struct client_board *b, const struct client_quote *quotes, unsigned int n)
{
	struct client_tables *t = atomic_load_explicit(&b->tables, memory_order_relaxed);
	struct slot *slots;
	uint64_t next;

	if (t == NULL && n == 0)
		return;
	if (t == NULL && (t = calloc(1, sizeof(*t))) == NULL)
		return;
	next = atomic_load_explicit(&t->latest, memory_order_relaxed) + 1;
	slots = t->slots[next % 2];
	for (unsigned int i = 0; i < SLOTS; i++)
		store(&slots[i].place, 0);
	for (unsigned int i = 0; i < n && i < CLIENT_BOARD_MAX; i++)
		enter(slots, &quotes[i]);
	atomic_store_explicit(&t->latest, next, memory_order_release);
	atomic_store_explicit(&b->tables, t, memory_order_release);
}

/* A table that is written meanwhile may look full: the search ends all the same. */
static bool search(const struct slot *slots, uint64_t client, uint32_t place,
		   struct client_prices *p)
{
	uint64_t at = first_slot(client, place), found;

	for (unsigned int i = 0; i < SLOTS; i++, at++) {
		const struct slot *s = &slots[at % SLOTS];

		found = load(&s->place);
		if (found == 0)
			return false;
		if (found != (uint64_t)place + 1 || load(&s->client) != client)
			continue;
		unpack(load(&s->prices), p);
		return true;
	}
	return false;
}

/* A share of the export's own keeps what the client is told elsewhere away from it. */
static bool search_places(const struct slot *slots, uint64_t client, uint16_t export_id,
			  struct client_prices *p)
{
	struct client_prices none;

	if (search(slots, client, PLACE_OF_EXPORT(export_id), p))
		return true;
	return !search(slots, 0, PLACE_OF_EXPORT(export_id), &none) &&
	       search(slots, client, PLACE_ALL, p);
}

bool client_board_find(const struct client_board *b, uint64_t client, uint16_t export_id,
		       struct client_prices *p)
{
	const struct client_tables *t = atomic_load_explicit(&b->tables, memory_order_acquire);
	struct client_prices found;
	uint64_t n;
	bool any;

	if (t == NULL)
		return false;
	do {
		n = atomic_load_explicit(&t->latest, memory_order_acquire);
		any = search_places(t->slots[n % 2], client, export_id, &found);
	} while (atomic_load_explicit(&t->latest, memory_order_relaxed) != n);
	if (any)
		*p = found;
	return any;
}

void client_board_fini(struct client_board *b)
{
	free(atomic_exchange(&b->tables, NULL));
}
