/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Readers in one array, by hash with a few places each. See readers.h. */
#include "readahead/readers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/address_hash.h"
#include "common/lock.h"
#include "common/thread_shard.h"

/* USED is written no more often than this (ns): it is shared by all threads. */
#define TOUCH UINT64_C(1000000000)

/* FREE, then READY; BUSY while it gets another reader. */
enum state { FREE, BUSY, READY };

struct slot {
	_Alignas(64) _Atomic uint32_t state;
	_Atomic uint64_t high, low; /* the address */
	_Atomic uint64_t used;	    /* ns */
	struct {
		_Alignas(64) _Atomic uint64_t value[READER_COUNTERS];
	} shard[READERS_SHARDS];
};

struct readers {
	struct lock lock; /* entering */
	void (*forget)(void *arg, uint32_t number);
	void *arg;
	struct slot slot[READERS_MAX];
};

/* An address as two numbers, and a third by which it has its places. */
struct key {
	uint64_t high, low, hash;
};

static uint32_t place_of(const struct key *k, uint32_t n)
{
	return (uint32_t)((k->hash + n) % READERS_MAX);
}

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void put(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

/* Its number; 0: it is not known. */
static uint32_t known(struct readers *r, const struct key *k)
{
	for (uint32_t n = 0; n < READERS_PROBES; n++) {
		uint32_t place = place_of(k, n);
		struct slot *s = &r->slot[place];
		uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);

		if (state == FREE)
			return 0;
		if (state == READY && get(&s->low) == k->low && get(&s->high) == k->high)
			return place + 1;
	}
	return 0;
}

/* A place for one more: a free one, else that of who was silent for longest; NULL: none. */
static struct slot *room(struct readers *r, const struct key *k, uint64_t now)
{
	struct slot *oldest = NULL;

	for (uint32_t n = 0; n < READERS_PROBES; n++) {
		struct slot *s = &r->slot[place_of(k, n)];

		if (atomic_load(&s->state) == FREE)
			return s;
		if (oldest == NULL || get(&s->used) < get(&oldest->used))
			oldest = s;
	}
	return now > READERS_IDLE && get(&oldest->used) < now - READERS_IDLE ? oldest : NULL;
}

static uint32_t enter(struct readers *r, const struct key *k, uint64_t now)
{
	struct slot *s;
	uint32_t number;

	if (room(r, k, now) == NULL)
		return 0;
	lock_take(&r->lock);
	number = known(r, k);
	s = number == 0 ? room(r, k, now) : NULL;
	if (s != NULL) {
		atomic_store(&s->state, BUSY);
		put(&s->high, k->high);
		put(&s->low, k->low);
		put(&s->used, now);
		for (int i = 0; i < READERS_SHARDS; i++)
			for (int c = 0; c < READER_COUNTERS; c++)
				put(&s->shard[i].value[c], 0);
		number = (uint32_t)(s - r->slot) + 1;
		if (r->forget != NULL)
			r->forget(r->arg, number);
		atomic_store_explicit(&s->state, READY, memory_order_release);
	}
	lock_drop(&r->lock);
	return number;
}

uint32_t readers_find(struct readers *r, const struct reader_address *a, uint64_t now)
{
	struct key k;
	uint32_t number;
	struct slot *s;

	memcpy(&k.high, a->byte, sizeof(k.high));
	memcpy(&k.low, a->byte + sizeof(k.high), sizeof(k.low));
	if (k.high == 0 && k.low == 0)
		return 0;
	k.hash = address_hash(a->byte);
	number = known(r, &k);
	if (number == 0)
		return enter(r, &k, now);
	s = &r->slot[number - 1];
	if (get(&s->used) + TOUCH < now)
		put(&s->used, now);
	return number;
}

void readers_count(struct readers *r, uint32_t reader, enum reader_counter which, uint64_t n)
{
	if (reader == 0 || n == 0)
		return;
	atomic_fetch_add_explicit(
		&r->slot[reader - 1].shard[thread_shard() % READERS_SHARDS].value[which], n,
		memory_order_relaxed);
}

/* ---- looking ----------------------------------------------------------------------------- */

/* A reader as it was found: its time goes on. */
struct found {
	const struct slot *slot;
	uint64_t used; /* ns */
};

static void look_at(const struct slot *s, struct reader_look *l)
{
	struct key k = {get(&s->high), get(&s->low), 0};

	memcpy(l->address.byte, &k.high, sizeof(k.high));
	memcpy(l->address.byte + sizeof(k.high), &k.low, sizeof(k.low));
	l->used = get(&s->used);
	for (int c = 0; c < READER_COUNTERS; c++) {
		l->value[c] = 0;
		for (int i = 0; i < READERS_SHARDS; i++)
			l->value[c] += get(&s->shard[i].value[c]);
	}
}

static int last_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? 1 : -1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

uint32_t readers_look(const struct readers *r, struct reader_look *looks, uint32_t max)
{
	struct found there[READERS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < READERS_MAX; i++)
		if (atomic_load_explicit(&r->slot[i].state, memory_order_acquire) == READY)
			there[n++] = (struct found){&r->slot[i], get(&r->slot[i].used)};
	if (n != 0)
		qsort(there, n, sizeof(there[0]), last_first);
	for (uint32_t i = 0; i < n && i < max; i++)
		look_at(there[i].slot, &looks[i]);
	return n;
}

/* ---- life -------------------------------------------------------------------------------- */

struct readers *readers_new(void (*forget)(void *arg, uint32_t number), void *arg)
{
	struct readers *r = aligned_alloc(64, sizeof(*r));

	if (r == NULL)
		return NULL;
	memset(r, 0, sizeof(*r));
	lock_init(&r->lock, LOCK_LEAF);
	r->forget = forget;
	r->arg = arg;
	return r;
}

void readers_free(struct readers *r)
{
	if (r == NULL)
		return;
	lock_fini(&r->lock);
	free(r);
}
