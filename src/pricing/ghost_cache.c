/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two ghost caches in one LRU list, fed through a ring. See ghost_cache.h.
 *
 * The smaller cache is a prefix of the larger: by recency, what a cache of n pages holds a cache of
 * m > n pages holds too. So one list will do, with a mark at the last entry of the smaller one:
 *
 *      head <-> e <-> e <-> e(last_small) <-> e <-> e <-> head        a ring; index 0 is the head
 *
 * The queue of readers' units: the cell at position p may be filled when its turn is p, and emptied
 * when it is p + 1; then it waits for the next round, p + size. Any number of threads fill, one
 * empties.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>

#include "common/thread_shard.h"
#include "pricing/ghost_cache.h"

#define ENTRIES_MIN (1u << 10)
#define ENTRIES_MAX (1u << 26)
#define RING_MAX    (1u << 24)
/* Memory of one page in the table, and of one unit on its way there (bytes). */
#define ENTRY_COST 32
#define CELL_COST  24
/* ghost_new_within(): units on their way at most; by how much the caches differ from the memory. */
#define USUAL_RING 4096
/* Its part that is much at a time. */
#define RING_MUCH    64
#define USUAL_NEARBY 0.125
/* R is at least 2^-DEPTH_MAX. */
#define DEPTH_MAX 40

struct cell {
	_Atomic uint64_t turn;
	uint64_t hash;
	uint16_t pages; /* a bit for each page of the unit */
	uint8_t depth;	/* see depth_of() */
};

struct entry {
	uint64_t key;
	uint32_t prev, next; /* in the list; next also in the list of free entries */
	uint32_t chain;	     /* in the bucket */
	bool small;	     /* in the smaller cache too */
	uint8_t depth;	     /* of its unit */
};

struct ghost_cache {
	struct ghost_limits limits;
	atomic_uint shift; /* R = 2^-shift: units of at least that depth are followed */

	struct {
		alignas(64) _Atomic uint64_t pages;
	} read[THREAD_SHARDS];
	alignas(64) _Atomic uint64_t dropped, dropped_pages;
	alignas(64) _Atomic uint64_t head; /* where readers fill */

	/* the draining thread's */
	alignas(64) uint64_t tail;
	uint64_t dropped_seen, pages_lost; /* the pages that dropped units stand for */
	uint64_t missed_small, missed_large;
	uint64_t size;		       /* pages, as ghost_resize() was told */
	uint32_t want_small, want_all; /* sizes in followed pages */
	uint32_t n_small, n_all, last_small, unused;
	unsigned int bits; /* of the number of buckets */
	uint32_t *buckets;
	struct entry *entries; /* [0] is the head of the list */
	struct cell *ring;
};

static unsigned int shift_of(const struct ghost_cache *g)
{
	return atomic_load_explicit(&g->shift, memory_order_relaxed);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0xd6c9d7f6a1b54a35u;
	x ^= x >> 29;
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

/* ---- readers ---- */

/*
 * Of every pair of neighbouring units one has depth 1 or more, of the two of these in every four
 * one has 2 or more, and so on: which, says a hash of the file and the pair. So exactly one unit in
 * 2^n has depth n or more, wherever one looks, and no stride fits into the pattern. Depths above
 * UPTO are not told apart; most units are done after one or two hashes.
 */
static unsigned int depth_of(uint64_t file, uint64_t unit, unsigned int upto)
{
	unsigned int depth = 0;

	while (depth < upto &&
	       !((mix(file + (unit >> 1) * 0xa0761d6478bd642fu + depth) ^ unit) & 1)) {
		unit >>= 1;
		depth++;
	}
	return depth;
}

static bool ring_put(struct ghost_cache *g, uint64_t hash, unsigned int pages, unsigned int depth)
{
	uint64_t at = atomic_load_explicit(&g->head, memory_order_relaxed);
	struct cell *c;

	for (;;) {
		uint64_t turn;

		c = &g->ring[at & (g->limits.ring - 1)];
		turn = atomic_load_explicit(&c->turn, memory_order_acquire);
		if (turn == at) {
			if (atomic_compare_exchange_weak_explicit(&g->head, &at, at + 1,
								  memory_order_relaxed,
								  memory_order_relaxed))
				break;
		} else if ((int64_t)(turn - at) < 0) {
			return false; /* still full from the last round */
		} else {
			at = atomic_load_explicit(&g->head, memory_order_relaxed);
		}
	}
	c->hash = hash;
	c->pages = (uint16_t)pages;
	c->depth = (uint8_t)depth;
	atomic_store_explicit(&c->turn, at + 1, memory_order_release);
	return true;
}

/* A unit of those that are followed, of which pages FIRST to LAST were read. */
static __attribute__((noinline)) void follow(struct ghost_cache *g, uint64_t file, uint64_t unit,
					     uint64_t first, uint64_t last)
{
	unsigned int from = unit == first / GHOST_PAGES ? first % GHOST_PAGES : 0;
	unsigned int upto = unit == last / GHOST_PAGES ? last % GHOST_PAGES : GHOST_PAGES - 1;
	unsigned int pages = (2u << upto) - (1u << from);
	uint64_t hash = mix(mix(file) + unit);

	if (ring_put(g, hash, pages, depth_of(file, unit, DEPTH_MAX)))
		return;
	atomic_fetch_add_explicit(&g->dropped, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&g->dropped_pages, (uint64_t)__builtin_popcount(pages),
				  memory_order_relaxed);
}

void ghost_read(struct ghost_cache *g, uint64_t file, uint64_t offset, uint64_t length)
{
	unsigned int shift = shift_of(g);
	uint64_t first = offset / GHOST_PAGE, last;

	if (!length)
		return;
	last = (length - 1 > UINT64_MAX - offset ? UINT64_MAX : offset + length - 1) / GHOST_PAGE;
	atomic_fetch_add_explicit(&g->read[thread_shard()].pages, last - first + 1,
				  memory_order_relaxed);
	file = mix(file);
	for (uint64_t unit = first / GHOST_PAGES; unit <= last / GHOST_PAGES; unit++)
		if (depth_of(file, unit, shift) >= shift)
			follow(g, file, unit, first, last);
}

/* ---- the list ---- */

static uint32_t *bucket_of(struct ghost_cache *g, uint64_t key)
{
	return &g->buckets[key * 0x9e3779b97f4a7c15u >> (64 - g->bits)];
}

static uint32_t find(struct ghost_cache *g, uint64_t key)
{
	uint32_t i = *bucket_of(g, key);

	while (i && g->entries[i].key != key)
		i = g->entries[i].chain;
	return i;
}

/* Out of the list, and out of the smaller cache. */
static void take_out(struct ghost_cache *g, uint32_t i)
{
	struct entry *e = &g->entries[i];

	if (i == g->last_small)
		g->last_small = e->prev;
	g->n_small -= e->small;
	g->n_all--;
	g->entries[e->prev].next = e->next;
	g->entries[e->next].prev = e->prev;
}

static void put_first(struct ghost_cache *g, uint32_t i)
{
	struct entry *e = &g->entries[i], *head = &g->entries[0];

	e->prev = 0;
	e->next = head->next;
	g->entries[head->next].prev = i;
	head->next = i;
	e->small = true;
	g->n_small++;
	g->n_all++;
	if (!g->last_small)
		g->last_small = i;
}

static void forget(struct ghost_cache *g, uint32_t i)
{
	uint32_t *link = bucket_of(g, g->entries[i].key);

	take_out(g, i);
	while (*link != i)
		link = &g->entries[*link].chain;
	*link = g->entries[i].chain;
	g->entries[i].next = g->unused;
	g->unused = i;
}

static uint32_t remember(struct ghost_cache *g, uint64_t key, unsigned int depth)
{
	uint32_t i = g->unused, *bucket = bucket_of(g, key);
	struct entry *e = &g->entries[i];

	g->unused = e->next;
	e->key = key;
	e->depth = (uint8_t)depth;
	e->chain = *bucket;
	*bucket = i;
	return i;
}

/* Brings both caches to their sizes. */
static void fit(struct ghost_cache *g)
{
	while (g->n_all > g->want_all)
		forget(g, g->entries[0].prev);
	while (g->n_small > g->want_small) {
		g->entries[g->last_small].small = false;
		g->last_small = g->entries[g->last_small].prev;
		g->n_small--;
	}
	while (g->n_small < g->want_small && g->n_small < g->n_all) {
		g->last_small = g->entries[g->last_small].next;
		g->entries[g->last_small].small = true;
		g->n_small++;
	}
}

static void touch(struct ghost_cache *g, uint64_t key, unsigned int depth)
{
	uint64_t weight = 1ull << shift_of(g);
	uint32_t i = find(g, key);

	if (!i || !g->entries[i].small)
		g->missed_small += weight;
	if (i) {
		take_out(g, i);
	} else {
		g->missed_large += weight;
		i = remember(g, key, depth);
	}
	put_first(g, i);
	fit(g);
}

/* ---- the draining thread ---- */

static void note_dropped(struct ghost_cache *g)
{
	uint64_t dropped = atomic_load_explicit(&g->dropped_pages, memory_order_relaxed);

	g->pages_lost += (dropped - g->dropped_seen) << shift_of(g);
	g->dropped_seen = dropped;
}

bool ghost_drain(struct ghost_cache *g)
{
	uint32_t n;

	for (n = 0; n < g->limits.ring; n++) {
		struct cell *c = &g->ring[g->tail & (g->limits.ring - 1)];
		uint64_t hash;
		unsigned int pages, depth;

		if (atomic_load_explicit(&c->turn, memory_order_acquire) != g->tail + 1)
			break;
		hash = c->hash & ~(uint64_t)(GHOST_PAGES - 1);
		pages = c->pages;
		depth = c->depth;
		atomic_store_explicit(&c->turn, g->tail + g->limits.ring, memory_order_release);
		g->tail++;
		for (; depth >= shift_of(g) && pages; pages &= pages - 1)
			touch(g, hash | (unsigned int)__builtin_ctz(pages), depth);
	}
	note_dropped(g);
	return n > g->limits.ring / RING_MUCH;
}

/* Fewer units are followed: the others' pages go. */
static void purge(struct ghost_cache *g)
{
	for (uint32_t i = g->entries[0].next, next; i; i = next) {
		next = g->entries[i].next;
		if (g->entries[i].depth < shift_of(g))
			forget(g, i);
	}
}

/* The rate goes down when it must, and up again only when there is room to spare. */
static void choose_rate(struct ghost_cache *g, uint64_t large)
{
	unsigned int shift = 0, now = shift_of(g);

	while (shift < DEPTH_MAX && large >> shift > g->limits.entries)
		shift++;
	if (shift < now && large >> shift > g->limits.entries / 4 * 3)
		shift++;
	if (shift == now)
		return;
	note_dropped(g);
	atomic_store_explicit(&g->shift, shift, memory_order_relaxed);
	purge(g);
}

static uint64_t scaled(uint64_t pages, double by)
{
	double x = (double)pages * by;

	return x < 1e18 ? (uint64_t)x : (uint64_t)1e18;
}

static uint32_t at_most(uint64_t n, uint32_t most)
{
	return n < most ? (uint32_t)n : most;
}

void ghost_resize(struct ghost_cache *g, uint64_t pages)
{
	uint64_t large = scaled(pages, 1 + g->limits.nearby);
	uint64_t small = scaled(pages, 1 - g->limits.nearby);

	if (pages == g->size)
		return;
	g->size = pages;
	choose_rate(g, large);
	g->want_all = at_most(large >> shift_of(g), g->limits.entries);
	g->want_small = at_most(small >> shift_of(g), g->limits.entries);
	fit(g);
}

void ghost_counts(const struct ghost_cache *g, struct ghost_counts *counts)
{
	uint64_t read = 0;

	for (int i = 0; i < THREAD_SHARDS; i++)
		read += atomic_load_explicit(&g->read[i].pages, memory_order_relaxed);
	counts->pages = (double)(read > g->pages_lost ? read - g->pages_lost : 0);
	counts->missed_small = (double)g->missed_small;
	counts->missed_large = (double)g->missed_large;
	counts->ratio = g->size ? (1 + g->limits.nearby) / (1 - g->limits.nearby) : 1;
	counts->dropped = atomic_load_explicit(&g->dropped, memory_order_relaxed);
	counts->sampled = 1 / (double)(1ull << shift_of(g));
}

static bool limits_good(const struct ghost_limits *l)
{
	return l->entries >= ENTRIES_MIN && l->entries <= ENTRIES_MAX && l->ring >= 2 &&
	       l->ring <= RING_MAX && !(l->ring & (l->ring - 1)) && l->nearby >= 0.01 &&
	       l->nearby <= 0.5;
}

static void lists_init(struct ghost_cache *g)
{
	/* one more than the table may hold: a page comes in before another one goes */
	for (uint32_t i = 1; i <= g->limits.entries + 1; i++)
		g->entries[i].next = i <= g->limits.entries ? i + 1 : 0;
	g->unused = 1;
	for (uint32_t i = 0; i < g->limits.ring; i++)
		atomic_init(&g->ring[i].turn, i);
}

struct ghost_cache *ghost_new(const struct ghost_limits *limits)
{
	struct ghost_cache *g;

	if (!limits_good(limits)) {
		errno = EINVAL;
		return NULL;
	}
	g = aligned_alloc(alignof(struct ghost_cache), sizeof(*g));
	if (!g)
		return NULL;
	*g = (struct ghost_cache){.limits = *limits};
	for (g->bits = 1; 1u << g->bits < limits->entries;)
		g->bits++;
	g->buckets = calloc(1ul << g->bits, sizeof(*g->buckets));
	g->entries = calloc(limits->entries + 2ul, sizeof(*g->entries));
	g->ring = calloc(limits->ring, sizeof(*g->ring));
	if (!g->buckets || !g->entries || !g->ring) {
		ghost_free(g);
		errno = ENOMEM;
		return NULL;
	}
	lists_init(g);
	return g;
}

struct ghost_cache *ghost_new_within(uint64_t bytes)
{
	struct ghost_limits limits = {.ring = USUAL_RING, .nearby = USUAL_NEARBY};

	while (limits.ring > 1 && limits.ring * CELL_COST > bytes / 8)
		limits.ring /= 2;
	limits.entries = (uint32_t)((bytes - limits.ring * CELL_COST) / ENTRY_COST);
	return ghost_new(&limits);
}

void ghost_free(struct ghost_cache *g)
{
	if (!g)
		return;
	free(g->buckets);
	free(g->entries);
	free(g->ring);
	free(g);
}
