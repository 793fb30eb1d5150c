/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Slots in one array, chained by hash. See client_table.h. */
#include "shares/client_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/address_hash.h"
#include "common/lock.h"
#include "shares/name_queue.h"

/* Locks of chains: a power of two, more than a server has threads at once on the data path. */
#define SHARDS 64
#define NONE   UINT32_MAX
/* Slots that are looked at for one to make room. */
#define LOOKED 32

/* Rounds of client_table_ask_again() that who was asked for in vain again and again sits out, at most. */
#define ROUNDS_MAX 32

/* How far finding out a client's rule is: see client_table.h. */
enum knowing { UNKNOWN, MATCHING, ASKED, UNSURE, KNOWN };

/* A cache line each: clients do not disturb one another. */
struct slot {
	_Alignas(64) struct client_address address;
	_Atomic uint64_t number; /* written with both locks; 0: never used */
	_Atomic uint64_t seen;	 /* ns; the eviction looks without the shard's lock */
	uint32_t next;		 /* in its chain */
	uint32_t turn;		 /* of finding out */
	uint16_t rule;
	uint8_t knowing;
	uint8_t rounds, left; /* UNSURE: how many it sits out, and still has to */
};

struct shard {
	_Alignas(64) struct lock lock;
};

struct client_table {
	client_matcher match;
	void *arg;
	uint32_t max, buckets; /* buckets: a power of two, at least SHARDS */
	struct lock lock;      /* entering */
	uint32_t hand; /* the slot that is looked at next for one to make room; with the lock */
	_Atomic uint32_t used;
	atomic_bool unsure; /* some may be */
	uint32_t *bucket;   /* its first slot; with the shard's lock */
	struct slot *slot;
	struct name_queue asked;
	struct shard shard[SHARDS];
};

/* ---- chains; with their shard's lock ----------------------------------------------------- */

static uint32_t bucket_of(const struct client_table *t, const struct client_address *a)
{
	return (uint32_t)address_hash(a->byte) & (t->buckets - 1);
}

static struct lock *lock_of(struct client_table *t, uint32_t bucket)
{
	return &t->shard[bucket % SHARDS].lock;
}

static struct slot *chain_find(struct client_table *t, uint32_t bucket,
			       const struct client_address *a)
{
	for (uint32_t n = t->bucket[bucket]; n != NONE; n = t->slot[n].next)
		if (!memcmp(&t->slot[n].address, a, sizeof(*a)))
			return &t->slot[n];
	return NULL;
}

static void chain_remove(struct client_table *t, uint32_t bucket, uint32_t slot)
{
	uint32_t *at = &t->bucket[bucket];

	while (*at != slot)
		at = &t->slot[*at].next;
	*at = t->slot[slot].next;
}

/* ---- entering; with the table's lock ----------------------------------------------------- */

/*
 * Of the next slots, the one whose client has asked for nothing for longest. With all of them looked at, each request of
 * one client too many would take as long as the table is large.
 */
static uint32_t oldest(struct client_table *t)
{
	uint32_t found = t->hand, n = t->max < LOOKED ? t->max : LOOKED;
	uint64_t least = UINT64_MAX;

	for (; n > 0; n--, t->hand = (t->hand + 1) % t->max) {
		uint64_t seen = atomic_load_explicit(&t->slot[t->hand].seen, memory_order_relaxed);

		if (seen < least) {
			least = seen;
			found = t->hand;
		}
	}
	return found;
}

/* A slot that is in no chain. */
static uint32_t make_room(struct client_table *t)
{
	uint32_t n, bucket, used = atomic_load(&t->used);

	if (used < t->max) {
		atomic_store(&t->used, used + 1);
		return used;
	}
	n = oldest(t);
	bucket = bucket_of(t, &t->slot[n].address);
	lock_take(lock_of(t, bucket));
	chain_remove(t, bucket, n);
	lock_drop(lock_of(t, bucket));
	return n;
}

static void enter(struct client_table *t, uint32_t bucket, const struct client_address *a,
		  uint64_t now)
{
	uint32_t n = make_room(t);
	struct slot *s = &t->slot[n];
	uint64_t number = atomic_load(&s->number);

	lock_take(lock_of(t, bucket));
	s->address = *a;
	atomic_store(&s->number, number == 0 ? n + 1 : number + t->max);
	atomic_store(&s->seen, now);
	s->rule = 0;
	s->knowing = UNKNOWN;
	s->rounds = 0;
	s->next = t->bucket[bucket];
	t->bucket[bucket] = n;
	lock_drop(lock_of(t, bucket));
}

/* ---- looking ---------------------------------------------------------------------------- */

/* The client at A, if it is known. *Q is set where the caller is to find out its rule. */
static struct client look(struct client_table *t, uint32_t bucket, const struct client_address *a,
			  uint64_t now, struct client_question *q)
{
	struct client c = {0};
	struct slot *s;

	lock_take(lock_of(t, bucket));
	s = chain_find(t, bucket, a);
	if (s != NULL) {
		c = (struct client){.number = atomic_load(&s->number), .rule = s->rule};
		if (s->knowing == UNKNOWN) {
			s->knowing = MATCHING;
			*q = (struct client_question){*a, c.number, s->turn};
		}
		atomic_store_explicit(&s->seen, now, memory_order_relaxed);
	}
	lock_drop(lock_of(t, bucket));
	return c;
}

/* With the shard's lock: who Q is about; NULL: it is not asked any more. */
static struct slot *asked_for(struct client_table *t, uint32_t bucket,
			      const struct client_question *q)
{
	struct slot *s = chain_find(t, bucket, &q->address);

	return s != NULL && atomic_load(&s->number) == q->number && s->turn == q->turn ? s : NULL;
}

/* False: Q is not asked any more. */
static bool ask_by_name(struct client_table *t, const struct client_question *q)
{
	uint32_t bucket = bucket_of(t, &q->address);
	struct slot *s;

	lock_take(lock_of(t, bucket));
	s = asked_for(t, bucket, q);
	if (s != NULL)
		s->knowing = ASKED;
	lock_drop(lock_of(t, bucket));
	return s != NULL;
}

static bool is_open(uint64_t open, uint16_t rule)
{
	return rule < 64 && open >> rule & 1;
}

/* One round at first, and each time twice as many. */
static void sit_out(struct slot *s)
{
	unsigned int rounds = s->rounds != 0 ? 2 * s->rounds : 1;

	s->rounds = (uint8_t)(rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX);
	s->left = s->rounds;
	s->knowing = UNSURE;
}

/* The answer to Q is RULE, but for those that are OPEN. */
static void settle(struct client_table *t, const struct client_question *q, uint16_t rule,
		   uint64_t open)
{
	uint32_t bucket = bucket_of(t, &q->address);
	struct slot *s;

	lock_take(lock_of(t, bucket));
	s = asked_for(t, bucket, q);
	if (s != NULL && !is_open(open, s->rule))
		s->rule = rule;
	if (s != NULL && open == 0)
		s->knowing = KNOWN;
	else if (s != NULL)
		sit_out(s);
	lock_drop(lock_of(t, bucket));
}

/* The rule of who is asked about, which is OLD until a name server has answered. */
static uint16_t find_out(struct client_table *t, const struct client_question *q, uint16_t old)
{
	uint16_t rule = old;

	if (t->match(&q->address, &rule, t->arg))
		settle(t, q, rule, 0);
	else if (ask_by_name(t, q))
		name_queue_put(&t->asked, (uint32_t)((q->number - 1) % t->max));
	return rule;
}

struct client client_table_find(struct client_table *t, const struct client_address *a,
				uint64_t now)
{
	uint32_t bucket = bucket_of(t, a);
	struct client_question q = {0};
	struct client c = look(t, bucket, a, now, &q);

	if (c.number == 0) {
		lock_take(&t->lock);
		c = look(t, bucket, a, now, &q);
		if (c.number == 0) {
			enter(t, bucket, a, now);
			c = look(t, bucket, a, now, &q);
		}
		lock_drop(&t->lock);
	}
	if (q.number != 0)
		c.rule = find_out(t, &q, c.rule);
	return c;
}

uint64_t client_table_number(struct client_table *t, const struct client_address *a)
{
	uint32_t bucket = bucket_of(t, a);
	const struct slot *s;
	uint64_t number;

	lock_take(lock_of(t, bucket));
	s = chain_find(t, bucket, a);
	number = s != NULL ? atomic_load(&s->number) : 0;
	lock_drop(lock_of(t, bucket));
	return number;
}

/* The slot of the client that has NUMBER; NULL: it is nobody's any more. With the table's lock it stays so. */
static struct slot *slot_of(struct client_table *t, uint64_t number)
{
	struct slot *s = &t->slot[(number - 1) % t->max];

	lock_assert_held(&t->lock); /* only who enters a client writes numbers and addresses */
	return number != 0 && atomic_load(&s->number) == number ? s : NULL;
}

bool client_table_rule(struct client_table *t, uint64_t number, uint16_t *rule)
{
	struct slot *s;
	struct lock *lock;

	lock_take(&t->lock);
	s = slot_of(t, number);
	if (s != NULL) {
		lock = lock_of(t, bucket_of(t, &s->address));
		lock_take(lock);
		*rule = s->rule;
		lock_drop(lock);
	}
	lock_drop(&t->lock);
	return s != NULL;
}

bool client_table_address(struct client_table *t, uint64_t number, struct client_address *a)
{
	const struct slot *s;

	lock_take(&t->lock);
	s = slot_of(t, number);
	if (s != NULL)
		*a = s->address;
	lock_drop(&t->lock);
	return s != NULL;
}

uint32_t client_table_count(struct client_table *t)
{
	return atomic_load(&t->used);
}

/* ---- rules that are others ---------------------------------------------------------------- */

/* With the shard's lock: what is being found out does not count. */
static void forget(struct slot *s, uint32_t kept)
{
	s->turn++;
	s->knowing = UNKNOWN;
	s->rounds = 0;
	if (s->rule >= kept)
		s->rule = 0;
}

void client_table_rematch(struct client_table *t, uint32_t kept)
{
	for (uint32_t bucket = 0; bucket < t->buckets; bucket++) {
		lock_take(lock_of(t, bucket));
		for (uint32_t n = t->bucket[bucket]; n != NONE; n = t->slot[n].next)
			forget(&t->slot[n], kept);
		lock_drop(lock_of(t, bucket));
	}
}

/* A is matched anew; until then RULE holds for it, if there is one. */
static void rematch_one(struct client_table *t, const struct client_address *a,
			const uint16_t *rule)
{
	uint32_t bucket = bucket_of(t, a);
	struct slot *s;

	lock_take(lock_of(t, bucket));
	s = chain_find(t, bucket, a);
	if (s != NULL)
		forget(s, UINT32_MAX);
	if (s != NULL && rule != NULL)
		s->rule = *rule;
	lock_drop(lock_of(t, bucket));
}

void client_table_rematch_one(struct client_table *t, const struct client_address *a)
{
	rematch_one(t, a, NULL);
}

void client_table_give_back(struct client_table *t, const struct client_address *a, uint16_t rule)
{
	rematch_one(t, a, &rule);
}

/* ---- names ------------------------------------------------------------------------------ */

/* What the client in slot N, which may be another than the one that came into the queue, has to be asked for. */
static bool still_asks(struct client_table *t, uint32_t n, struct client_question *q)
{
	struct slot *s = &t->slot[n];
	struct lock *shard;
	bool asks;

	lock_take(&t->lock); /* only who enters a client writes addresses */
	shard = lock_of(t, bucket_of(t, &s->address));
	lock_take(shard);
	asks = s->knowing == ASKED;
	*q = (struct client_question){s->address, atomic_load(&s->number), s->turn};
	lock_drop(shard);
	lock_drop(&t->lock);
	return asks;
}

bool client_table_question(struct client_table *t, struct client_question *q)
{
	uint32_t n;

	while (name_queue_take(&t->asked, &n))
		if (still_asks(t, n, q))
			return true;
	return false;
}

void client_table_answer(struct client_table *t, const struct client_question *q, uint16_t rule,
			 uint64_t open)
{
	settle(t, q, rule, open);
	if (open != 0)
		atomic_store(&t->unsure, true);
}

/* With the shard's lock: whether it sits out more rounds. */
static bool sits_out(struct slot *s)
{
	if (s->knowing == UNSURE && --s->left == 0)
		s->knowing = UNKNOWN;
	return s->knowing == UNSURE;
}

void client_table_ask_again(struct client_table *t)
{
	bool unsure = false;

	if (!atomic_exchange(&t->unsure, false))
		return;
	for (uint32_t bucket = 0; bucket < t->buckets; bucket++) {
		lock_take(lock_of(t, bucket));
		for (uint32_t n = t->bucket[bucket]; n != NONE; n = t->slot[n].next)
			unsure = sits_out(&t->slot[n]) || unsure;
		lock_drop(lock_of(t, bucket));
	}
	if (unsure)
		atomic_store(&t->unsure, true);
}

void client_table_end_questions(struct client_table *t)
{
	name_queue_end(&t->asked);
}

/* ---- life ------------------------------------------------------------------------------- */

/* All but the queue */
static void destroy(struct client_table *t)
{
	for (int i = 0; i < SHARDS; i++)
		lock_fini(&t->shard[i].lock);
	lock_fini(&t->lock);
	free(t->bucket);
	free(t->slot);
	free(t);
}

struct client_table *client_table_new(uint32_t max, client_matcher match, void *arg)
{
	struct client_table *t = aligned_alloc(64, sizeof(*t));

	if (t == NULL)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->match = match;
	t->arg = arg;
	t->max = max;
	for (t->buckets = SHARDS; t->buckets < max;)
		t->buckets *= 2;
	t->bucket = malloc(t->buckets * sizeof(*t->bucket));
	t->slot = aligned_alloc(64, max * sizeof(*t->slot));
	lock_init(&t->lock, LOCK_CLIENTS);
	for (int i = 0; i < SHARDS; i++)
		lock_init(&t->shard[i].lock, LOCK_LEAF);
	if (t->bucket == NULL || t->slot == NULL || !name_queue_init(&t->asked, max)) {
		destroy(t);
		return NULL;
	}
	memset(t->bucket, 0xff, t->buckets * sizeof(*t->bucket));
	memset(t->slot, 0, max * sizeof(*t->slot));
	return t;
}

void client_table_free(struct client_table *t)
{
	if (t == NULL)
		return;
	name_queue_fini(&t->asked);
	destroy(t);
}
