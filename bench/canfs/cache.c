/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pages, their lists and who goes first. See cache.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "rpc.h"

#define PAGES_MIN 64

bool cache_init(struct cache *c, uint64_t bytes)
{
	uint32_t buckets = PAGES_MIN;

	memset(c, 0, sizeof(*c));
	TAILQ_INIT(&c->inactive);
	TAILQ_INIT(&c->active);
	TAILQ_INIT(&c->unused);
	c->limit = (uint32_t)(bytes / PAGE_BYTES);
	if (c->limit < PAGES_MIN)
		c->limit = PAGES_MIN;
	while (buckets < c->limit)
		buckets *= 2;
	c->mask = buckets - 1;
	c->buckets = calloc(buckets, sizeof(*c->buckets));
	return c->buckets;
}

static void release(struct page *p)
{
	free(p->data);
	free(p);
}

void cache_free(struct cache *c)
{
	struct page *p, *next;

	for (uint32_t i = 0; c->buckets && i <= c->mask; i++) {
		for (p = c->buckets[i]; p; p = next) {
			next = p->chain;
			release(p);
		}
	}
	while ((p = TAILQ_FIRST(&c->unused))) {
		TAILQ_REMOVE(&c->unused, p, lru);
		release(p);
	}
	free(c->buckets);
	c->buckets = NULL;
}

void cached_file_init(struct cached_file *f)
{
	memset(f, 0, sizeof(*f));
	TAILQ_INIT(&f->pages);
	TAILQ_INIT(&f->dirty);
	TAILQ_INIT(&f->unstable);
}

static struct page **bucket(const struct cache *c, const struct cached_file *f, uint64_t index)
{
	uint64_t x = ((uint64_t)(uintptr_t)f >> 4) * UINT64_C(0x9E3779B97F4A7C15) + index;

	x *= UINT64_C(0xBF58476D1CE4E5B9);
	return &c->buckets[(x >> 32) & c->mask];
}

struct page *cache_find(const struct cache *c, const struct cached_file *f, uint64_t index)
{
	struct page *p = *bucket(c, f, index);

	while (p && (p->file != f || p->index != index || p->gone))
		p = p->chain;
	return p;
}

/* The list on which its state has it, besides those of the file and of the LRU. */
static struct page_list *work_list(struct page *p)
{
	switch (p->state) {
	case PAGE_DIRTY:
		return &p->file->dirty;
	case PAGE_UNSTABLE:
		return &p->file->unstable;
	case PAGE_READING:
	case PAGE_WRITING:
	case PAGE_COMMITTING:
		return p->rpc ? &p->rpc->pages : NULL;
	default:
		return NULL;
	}
}

static void leave(struct cache *c, struct page *p)
{
	struct page_list *list = work_list(p);

	if (list)
		TAILQ_REMOVE(list, p, work);
	if (p->state == PAGE_CLEAN) {
		TAILQ_REMOVE(p->active ? &c->active : &c->inactive, p, lru);
		c->n_active -= p->active;
		c->n_inactive -= !p->active;
	}
	c->count[p->state]--;
	p->file->count[p->state]--;
}

static void enter(struct cache *c, struct page *p, enum page_state state, struct rpc *rpc)
{
	struct page_list *list;

	p->state = state;
	p->rpc = rpc;
	list = work_list(p);
	if (list)
		TAILQ_INSERT_TAIL(list, p, work);
	if (state == PAGE_CLEAN) {
		TAILQ_INSERT_HEAD(p->active ? &c->active : &c->inactive, p, lru);
		c->n_active += p->active;
		c->n_inactive += !p->active;
	}
	c->count[state]++;
	p->file->count[state]++;
}

void cache_move(struct cache *c, struct page *p, enum page_state state, struct rpc *rpc)
{
	leave(c, p);
	enter(c, p, state, rpc);
}

void cache_drop(struct cache *c, struct page *p)
{
	struct page **link = bucket(c, p->file, p->index);

	while (*link != p)
		link = &(*link)->chain;
	*link = p->chain;
	leave(c, p);
	TAILQ_REMOVE(&p->file->pages, p, in_file);
	TAILQ_INSERT_HEAD(&c->unused, p, lru);
	c->pages--;
}

/* What was used again has the active list to itself only as far as its share goes. */
static void balance(struct cache *c)
{
	while (c->n_active > ACTIVE_SHARE * (c->n_inactive + 1)) {
		struct page *p = TAILQ_LAST(&c->active, page_list);

		leave(c, p);
		p->active = p->referenced = false;
		enter(c, p, PAGE_CLEAN, NULL);
	}
}

static bool evict(struct cache *c)
{
	struct page *p;

	balance(c);
	p = TAILQ_LAST(&c->inactive, page_list);
	if (!p)
		p = TAILQ_LAST(&c->active, page_list);
	if (!p)
		return false;
	cache_drop(c, p);
	c->evicted++;
	return true;
}

bool cache_has_room(const struct cache *c, uint32_t pages)
{
	return c->pages + pages <= c->limit + c->count[PAGE_CLEAN];
}

static struct page *page_new(struct cache *c)
{
	struct page *p = TAILQ_FIRST(&c->unused);
	char *data;

	if (p) {
		TAILQ_REMOVE(&c->unused, p, lru);
		data = p->data;
	} else {
		p = malloc(sizeof(*p));
		data = p ? malloc(PAGE_BYTES) : NULL;
		if (!data) {
			free(p);
			return NULL;
		}
	}
	memset(p, 0, sizeof(*p));
	p->data = data;
	return p;
}

struct page *cache_add(struct cache *c, struct cached_file *f, uint64_t index)
{
	struct page **link = bucket(c, f, index), *p;

	assert(!cache_find(c, f, index));
	if (c->pages >= c->limit && !evict(c))
		return NULL;
	p = page_new(c);
	if (!p)
		return NULL;
	p->file = f;
	p->index = index;
	p->chain = *link;
	*link = p;
	TAILQ_INSERT_TAIL(&f->pages, p, in_file);
	c->pages++;
	enter(c, p, PAGE_READING, NULL);
	return p;
}

void cache_touch(struct cache *c, struct page *p)
{
	p->ahead = false;
	if (p->state != PAGE_CLEAN) {
		p->active = p->active || p->referenced;
		p->referenced = true;
		return;
	}
	leave(c, p);
	p->active = p->active || p->referenced;
	p->referenced = true;
	enter(c, p, PAGE_CLEAN, NULL);
}

void cache_invalidate(struct cache *c, struct cached_file *f, uint64_t index)
{
	struct page *p, *next;

	for (p = TAILQ_FIRST(&f->pages); p; p = next) {
		next = TAILQ_NEXT(p, in_file);
		if (p->index < index)
			continue;
		if (p->state == PAGE_CLEAN)
			cache_drop(c, p);
		else if (p->state == PAGE_READING)
			p->gone = true;
	}
}
