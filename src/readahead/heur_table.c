/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The nfsheur table over liburcu's hash table. See heur_table.h. */
#include "readahead/heur_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <urcu/compiler.h>

#include "readahead/beside.h"
#include "readahead/stride_history.h"

/* Ejected entries that may wait for RCU before an insertion waits for them. */
#define PENDING_MAX 4096

struct key {
	const void *data;
	size_t len;
};

/* 64-bit multiply-and-fold over 8 bytes at a time (the mixing step of wyhash). */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static unsigned long key_hash(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0x9e3779b97f4a7c15u ^ len, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = fold(h ^ w, 0xd6e8feb86659fd93u);
	}
	w = 0;
	memcpy(&w, p, len);
	return fold(h ^ w, 0xa0761d6478bd642fu);
}

static int key_match(struct cds_lfht_node *node, const void *arg)
{
	const struct heur_file *f = caa_container_of(node, struct heur_file, node);
	const struct key *k = arg;

	return f->key_len == k->len && !memcmp(f->key, k->data, k->len);
}

int heur_table_init(struct heur_table *t, uint32_t size, uint32_t probes, struct cursor_pool *pool)
{
	unsigned long buckets = 1;

	memset(t, 0, sizeof(*t));
	while (buckets < size)
		buckets <<= 1;
	t->place = calloc(size, sizeof(*t->place));
	t->hash = cds_lfht_new_flavor(buckets, buckets, buckets, 0, &urcu_bp_flavor, NULL);
	if (!t->place || !t->hash) {
		free(t->place);
		if (t->hash)
			cds_lfht_destroy(t->hash, NULL);
		return ENOMEM;
	}
	lock_init(&t->insert_lock, LOCK_TABLE);
	t->size = size;
	t->probes = probes < size ? probes : size;
	t->pool = pool;
	return 0;
}

static void free_file(struct rcu_head *head)
{
	struct heur_file *f = caa_container_of(head, struct heur_file, rcu);

	atomic_fetch_sub(&f->table->pending, 1);
	stride_forget(f);
	beside_free(f);
	lock_fini(&f->lock);
	free(f);
}

/* Takes F out of the table, so that nobody finds it; its slot in the clock is the caller's. */
static void unlink_file(struct heur_table *t, struct heur_file *f)
{
	urcu_bp_read_lock();
	cds_lfht_del(t->hash, &f->node);
	urcu_bp_read_unlock();
	atomic_fetch_sub(&t->entries, 1);
}

/* Gives back what F has, which may be much, and F itself when the last who found it is done. */
static void bury(struct heur_table *t, struct heur_file *f)
{
	lock_take(&f->lock);
	f->dead = true;
	cursor_release_all(t->pool, f);
	lock_drop(&f->lock);
	atomic_fetch_add(&t->pending, 1);
	urcu_bp_call_rcu(&f->rcu, free_file);
}

static void eject(struct heur_table *t, struct heur_file *f)
{
	unlink_file(t, f);
	bury(t, f);
}

void heur_table_fini(struct heur_table *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		if (t->place[i])
			eject(t, t->place[i]);
	urcu_bp_barrier();
	cds_lfht_destroy(t->hash, NULL);
	lock_fini(&t->insert_lock);
	free(t->place);
}

/* The place by the clock: of the first entry not used since the hand last passed. */
static uint32_t by_clock(struct heur_table *t)
{
	if (t->used < t->size)
		return t->used++;
	for (;;) {
		struct heur_file *f = t->place[t->hand];
		uint32_t slot = t->hand;

		t->hand = (t->hand + 1) % t->size;
		if (!atomic_exchange_explicit(&f->used, 0, memory_order_relaxed))
			return slot; /* ends: after one turn every entry is unused */
	}
}

static uint64_t last_use(const struct heur_file *f)
{
	return atomic_load_explicit(&f->used, memory_order_relaxed);
}

/* The place by probes: of those of HASH a free one, else that of the least recently used. */
static uint32_t by_probes(const struct heur_table *t, unsigned long hash)
{
	uint32_t home = (uint32_t)(hash % t->size), found = home;

	for (uint32_t i = 0; i < t->probes; i++) {
		uint32_t slot = (home + i) % t->size;

		if (!t->place[slot])
			return slot;
		if (last_use(t->place[slot]) < last_use(t->place[found]))
			found = slot;
	}
	return found;
}

/*
 * A place for an entry of HASH. *EJECTED is the one that had it, for bury() without the insert
 * lock; or NULL.
 */
static uint32_t take_slot(struct heur_table *t, unsigned long hash, struct heur_file **ejected)
{
	uint32_t slot = t->probes ? by_probes(t, hash) : by_clock(t);

	*ejected = t->place[slot];
	if (*ejected) {
		unlink_file(t, *ejected);
		atomic_fetch_add_explicit(&t->evictions, 1, memory_order_relaxed);
	}
	return slot;
}

/* F's place is free, and the clock dense. */
static void leave_slot(struct heur_table *t, const struct heur_file *f)
{
	uint32_t free = f->slot;

	if (!t->probes) {
		free = --t->used;
		t->place[f->slot] = t->place[free];
		t->place[f->slot]->slot = f->slot;
		if (t->hand >= t->used)
			t->hand = 0;
	}
	t->place[free] = NULL;
}

/* F was found. */
static inline void note_use(struct heur_table *t, struct heur_file *f)
{
	if (t->probes)
		atomic_store_explicit(
			&f->used, 1 + atomic_fetch_add_explicit(&t->uses, 1, memory_order_relaxed),
			memory_order_relaxed);
	else if (!last_use(f))
		atomic_store_explicit(&f->used, 1, memory_order_relaxed);
}

static struct heur_file *lookup(struct heur_table *t, unsigned long hash, const struct key *k)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(t->hash, hash, key_match, k, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? caa_container_of(node, struct heur_file, node) : NULL;
}

/* As lookup(), for whoever holds the insert lock, or only asks whether there is one. */
static struct heur_file *find(struct heur_table *t, unsigned long hash, const struct key *k)
{
	struct heur_file *f;

	urcu_bp_read_lock();
	f = lookup(t, hash, k);
	urcu_bp_read_unlock();
	return f;
}

static struct heur_file *make_file(struct heur_table *t, const struct key *k)
{
	struct heur_file *f = calloc(1, sizeof(*f) + k->len);

	if (!f)
		return NULL;
	f->table = t;
	f->key_len = (uint16_t)k->len;
	memcpy(f->key, k->data, k->len);
	lock_init(&f->lock, LOCK_FILE);
	cursor_set_init(&f->set);
	note_use(t, f);
	cds_lfht_node_init(&f->node);
	return f;
}

/* Enters F at HASH; returns the entry whose place it took, NULL: none. Insert lock. */
static struct heur_file *enter(struct heur_table *t, unsigned long hash, struct heur_file *f)
{
	struct heur_file *ejected;

	f->slot = take_slot(t, hash, &ejected);
	t->place[f->slot] = f;
	atomic_fetch_add(&t->entries, 1);
	urcu_bp_read_lock();
	cds_lfht_add(t->hash, hash, &f->node);
	urcu_bp_read_unlock();
	return ejected;
}

static int insert(struct heur_table *t, unsigned long hash, const struct key *k)
{
	struct heur_file *f, *ejected = NULL;
	bool entered;

	if (atomic_load(&t->pending) > PENDING_MAX)
		urcu_bp_barrier();
	f = make_file(t, k);
	if (!f)
		return ENOMEM;
	lock_take(&t->insert_lock);
	entered = !find(t, hash, k); /* else another thread was faster */
	if (entered)
		ejected = enter(t, hash, f);
	lock_drop(&t->insert_lock);
	if (ejected)
		bury(t, ejected);
	if (!entered) {
		lock_fini(&f->lock);
		free(f);
	}
	return 0;
}

struct heur_file *heur_file_get(struct heur_table *t, const void *key, size_t key_len, bool create)
{
	struct key k = {.data = key, .len = key_len};
	unsigned long hash = key_hash(key, key_len);

	/* An entry can be ejected between lookup and lock; more than a few times is thrashing. */
	for (int tries = 0; tries < 8; tries++) {
		struct heur_file *f;

		urcu_bp_read_lock();
		f = lookup(t, hash, &k);
		if (f) {
			note_use(t, f);
			lock_take(&f->lock);
			if (!f->dead)
				return f; /* the RCU read lock is kept until heur_file_put() */
			lock_drop(&f->lock);
		}
		urcu_bp_read_unlock();
		if (!create || insert(t, hash, &k))
			return NULL;
	}
	return NULL;
}

void heur_file_put(struct heur_file *f)
{
	lock_drop(&f->lock);
	urcu_bp_read_unlock();
}

void heur_table_forget(struct heur_table *t, const void *key, size_t key_len)
{
	struct key k = {.data = key, .len = key_len};
	unsigned long hash = key_hash(key, key_len);
	struct heur_file *f;

	if (!find(t, hash, &k)) /* most files that are removed were not read lately: no lock */
		return;
	lock_take(&t->insert_lock);
	f = find(t, hash, &k);
	if (f) {
		leave_slot(t, f);
		unlink_file(t, f);
	}
	lock_drop(&t->insert_lock);
	if (f)
		bury(t, f);
}

struct cursor *heur_cursor_nth(struct heur_table *t, uint32_t i)
{
	struct cursor *c = &t->pool->cursors[i];
	struct heur_file *f;

	urcu_bp_read_lock();
	f = __atomic_load_n(&c->file, __ATOMIC_ACQUIRE);
	if (f) {
		lock_take(&f->lock);
		if (__atomic_load_n(&c->file, __ATOMIC_RELAXED) == f)
			return c;
		lock_drop(&f->lock);
	}
	urcu_bp_read_unlock();
	return NULL;
}

struct cursor *heur_cursor_get(struct heur_table *t, struct cursor_ref ref)
{
	struct cursor *c = heur_cursor_nth(t, ref.index);

	if (c && c->generation != ref.generation) {
		heur_file_put(c->file);
		return NULL;
	}
	return c;
}
