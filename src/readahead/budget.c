/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The bound on unread bytes, kept by compare and exchange. See budget.h. */
#include "readahead/budget.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readahead/cursor.h"
#include "readahead/heur_file.h"

#define WORD_BITS 64
/* A chunk takes this part of what is free. */
#define FREE_SHARE 4
/* A reader holds so many times as much as is free, at most. */
#define READER_SHARE 128

int budget_init(struct budget *b, uint64_t memory, const struct cursor *cursors, uint32_t n)
{
	atomic_init(&b->memory, memory);
	atomic_init(&b->unread, 0);
	atomic_init(&b->unread_max, 0);
	atomic_init(&b->streams, 0);
	atomic_init(&b->readers, 0);
	atomic_init(&b->wanting, 0);
	atomic_init(&b->waiting, 0);
	memset(b->of, 0, sizeof(b->of));
	b->cursors = cursors;
	b->n = n;
	b->holders = calloc(n / WORD_BITS + 1, sizeof(*b->holders));
	return b->holders != NULL ? 0 : ENOMEM;
}

void budget_fini(struct budget *b)
{
	free(b->holders);
	b->holders = NULL;
}

/* A cursor of READER begins or ceases to hold some. */
static void mark_reader(struct budget *b, uint32_t reader, bool holds)
{
	uint32_t was = atomic_fetch_add_explicit(&b->of[reader].streams, holds ? 1 : -1,
						 memory_order_relaxed);

	if (was == !holds)
		atomic_fetch_add_explicit(&b->readers, holds ? 1 : -1, memory_order_relaxed);
}

/* C begins or ceases to hold some. */
static void mark(struct budget *b, const struct cursor *c, bool holds)
{
	uint32_t i = (uint32_t)(c - b->cursors);
	uint64_t bit = UINT64_C(1) << i % WORD_BITS;

	mark_reader(b, c->payer, holds);
	if (holds)
		atomic_fetch_or_explicit(&b->holders[i / WORD_BITS], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&b->holders[i / WORD_BITS], ~bit, memory_order_relaxed);
	atomic_fetch_add_explicit(&b->streams, holds ? 1 : -1, memory_order_relaxed);
	if (c->file != NULL)
		c->file->holders += holds ? 1 : -1;
}

uint32_t budget_holder(const struct budget *b, uint32_t from)
{
	while (from < b->n) {
		uint64_t word =
			atomic_load_explicit(&b->holders[from / WORD_BITS], memory_order_relaxed) >>
			from % WORD_BITS;

		if (word != 0)
			return from + (uint32_t)__builtin_ctzll(word);
		from += WORD_BITS - from % WORD_BITS;
	}
	return b->n;
}

/*
 * Adds LEN to the sum, which is never above the bound, not even for a moment: another would be
 * refused for it.
 */
static bool add(struct budget *b, uint64_t len)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint64_t held = atomic_load(&b->unread), sum, max;

	do {
		if (held > memory || len > memory - held)
			return false;
		sum = held + len;
	} while (!atomic_compare_exchange_weak(&b->unread, &held, sum));
	max = atomic_load_explicit(&b->unread_max, memory_order_relaxed);
	while (sum > max && !atomic_compare_exchange_weak(&b->unread_max, &max, sum))
		;
	return true;
}

/* Whether READER may hold LEN more. */
static bool may_hold(const struct budget *b, uint32_t reader, uint64_t len)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint64_t unread = atomic_load_explicit(&b->unread, memory_order_relaxed);
	uint64_t held = atomic_load_explicit(&b->of[reader].held, memory_order_relaxed);

	return unread < memory && len <= memory - unread &&
	       held + len <= READER_SHARE * (memory - unread - len);
}

/* That is remembered until the next look. */
static bool refuse(struct budget *b, uint32_t reader)
{
	atomic_store_explicit(&b->of[reader].refused, true, memory_order_relaxed);
	return false;
}

bool budget_charge(struct budget *b, struct cursor *c, uint64_t len)
{
	uint32_t payer = c->charged ? c->payer : c->reader;

	if (!len)
		return true;
	if (!may_hold(b, payer, len) || !add(b, len))
		return refuse(b, payer);
	c->payer = (uint16_t)payer;
	atomic_fetch_add_explicit(&b->of[payer].held, len, memory_order_relaxed);
	if (!c->charged)
		mark(b, c, true);
	c->charged += len;
	return true;
}

uint64_t budget_discharge(struct budget *b, struct cursor *c, uint64_t len)
{
	uint64_t held;

	if (len > c->charged)
		len = c->charged;
	if (!len)
		return 0;
	c->charged -= len;
	atomic_fetch_sub_explicit(&b->of[c->payer].held, len, memory_order_relaxed);
	if (!c->charged)
		mark(b, c, false);
	held = atomic_fetch_sub(&b->unread, len);
	assert(held >= len);
	(void)held;
	return len;
}

bool budget_hold(struct budget *b, uint32_t reader, uint64_t len)
{
	if (!may_hold(b, reader, len) || !add(b, len))
		return refuse(b, reader);
	atomic_fetch_add_explicit(&b->of[reader].held, len, memory_order_relaxed);
	return true;
}

void budget_give(struct budget *b, uint32_t reader, uint64_t len)
{
	uint64_t held = atomic_fetch_sub(&b->unread, len);

	assert(held >= len);
	(void)held;
	atomic_fetch_sub_explicit(&b->of[reader].held, len, memory_order_relaxed);
}

uint64_t budget_held(const struct budget *b, uint32_t reader)
{
	return atomic_load_explicit(&b->of[reader].held, memory_order_relaxed);
}

static uint32_t streams_of(const struct budget *b, uint32_t reader)
{
	return atomic_load_explicit(&b->of[reader].streams, memory_order_relaxed);
}

uint64_t budget_part(const struct budget *b, uint32_t reader)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint32_t readers = atomic_load_explicit(&b->readers, memory_order_relaxed);

	readers += !streams_of(b, reader);
	if (!readers || readers > READERS_MAX + 1) /* another changes both just now */
		readers = 1;
	return memory / readers;
}

uint64_t budget_share(const struct budget *b, uint32_t reader)
{
	if (reader > READERS_MAX)
		reader = 0;
	return budget_part(b, reader) / ((uint64_t)streams_of(b, reader) + 1);
}

uint64_t budget_chunk(const struct budget *b)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint64_t held = atomic_load_explicit(&b->unread, memory_order_relaxed);

	return held < memory ? (memory - held) / FREE_SHARE : 0;
}

void budget_look(struct budget *b)
{
	uint32_t wanting = 0, waiting = 0;

	for (uint32_t r = 0; r <= READERS_MAX; r++) {
		bool wants = atomic_load_explicit(&b->of[r].refused, memory_order_relaxed);

		if (wants)
			atomic_store_explicit(&b->of[r].refused, false, memory_order_relaxed);
		if (wants != atomic_load_explicit(&b->of[r].wants, memory_order_relaxed))
			atomic_store_explicit(&b->of[r].wants, wants, memory_order_relaxed);
		wanting += wants;
		waiting += wants && !streams_of(b, r);
	}
	atomic_store_explicit(&b->wanting, wanting, memory_order_relaxed);
	atomic_store_explicit(&b->waiting, waiting, memory_order_relaxed);
}

uint64_t budget_surplus(const struct budget *b, uint32_t reader)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint64_t held = budget_held(b, reader);
	uint32_t wanting = atomic_load_explicit(&b->wanting, memory_order_relaxed);
	bool wants = atomic_load_explicit(&b->of[reader].wants, memory_order_relaxed);
	uint32_t all = atomic_load_explicit(&b->readers, memory_order_relaxed) +
		       atomic_load_explicit(&b->waiting, memory_order_relaxed);

	all += !streams_of(b, reader) && !wants; /* he holds it for walks alone */
	wanting -= wanting && wants;
	if (!wanting && !budget_is_short(b))
		return 0;
	if (!all || all > 2 * READERS_MAX + 2) /* another changes it just now */
		all = 1;
	return held > memory / all ? held - memory / all : 0;
}

bool budget_is_short(const struct budget *b)
{
	return atomic_load(&b->unread) > atomic_load(&b->memory) / 4 * 3;
}
