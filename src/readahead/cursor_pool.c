/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Allocation and recycling of cursors. See cursor_pool.h.
 *
 *   pool lock:   choose one, its file's lock tried; move it to the tail of the probation list
 *   file locks:  it leaves the old file's set; drop that one's lock; it enters the new file's set
 */
#include "readahead/cursor_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "readahead/heur_file.h"

/*
 * How many entries of a list are looked at for one that was not used since it was listed, and for
 * the place of one that was.
 */
#define VICTIM_SCAN 8
/* How many cursors are given back at a time. */
#define RELEASE_BATCH 64
/* Bytes of a huge page, on x86 and, with pages of 4 KiB, on ARM. */
#define HUGE_PAGE ((size_t)2 << 20)

/* SplitMix64's last steps: priorities without order, though the numbers have one. */
static uint32_t priority_of(uint64_t n)
{
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)(n >> 32);
}

/*
 * SIZE cursors, all 0, or NULL. In huge pages if the system gives any: a random read looks at a dozen cursors
 * that lie anywhere among them, each on a page of its own, and a page that the processor must look up costs as
 * much as the cursor.
 */
static struct cursor *allocate(uint32_t size)
{
	size_t bytes = size * sizeof(struct cursor), huge = bytes / HUGE_PAGE * HUGE_PAGE;
	size_t align = huge ? HUGE_PAGE : _Alignof(struct cursor);
	struct cursor *c = aligned_alloc(align, (bytes + align - 1) / align * align);

	if (!c)
		return NULL;
	if (huge)
		madvise(c, huge, MADV_HUGEPAGE);
	memset(c, 0, bytes);
	return c;
}

int cursor_pool_init(struct cursor_pool *p, uint32_t size, uint32_t per_file,
		     void (*retire)(void *, struct cursor *), void *arg)
{
	memset(p, 0, sizeof(*p));
	p->cursors = allocate(size);
	if (!p->cursors)
		return ENOMEM;
	p->size = size;
	p->per_file = per_file;
	p->retire = retire;
	p->arg = arg;
	lock_init(&p->lock, LOCK_POOL);
	TAILQ_INIT(&p->free);
	TAILQ_INIT(&p->probation);
	TAILQ_INIT(&p->proven);
	for (uint32_t i = 0; i < size; i++) {
		p->cursors[i].generation = 1; /* so that an empty reference is nobody's */
		p->cursors[i].priority = priority_of((i + 1) * UINT64_C(0x9e3779b97f4a7c15));
		TAILQ_INSERT_TAIL(&p->free, &p->cursors[i], link);
	}
	return 0;
}

void cursor_pool_fini(struct cursor_pool *p)
{
	lock_fini(&p->lock);
	free(p->cursors);
	p->cursors = NULL;
}

static void list_remove(struct cursor_pool *p, struct cursor *c)
{
	if (c->proven_list) {
		TAILQ_REMOVE(&p->proven, c, link);
		p->n_proven--;
	} else {
		TAILQ_REMOVE(&p->probation, c, link);
		p->n_probation--;
	}
}

/* Puts C into its list by the time of its last use; that was lately, so it is near the tail. */
static void list_append(struct cursor_pool *p, struct cursor *c, uint64_t used, bool proven)
{
	struct cursor_list *list = proven ? &p->proven : &p->probation;
	struct cursor *at = TAILQ_LAST(list, cursor_list);

	c->listed = used;
	c->proven_list = proven;
	for (int i = 0; i < VICTIM_SCAN && at && at->listed > used; i++)
		at = TAILQ_PREV(at, cursor_list, link);
	if (at)
		TAILQ_INSERT_AFTER(list, at, c, link);
	else
		TAILQ_INSERT_HEAD(list, c, link);
	p->n_proven += proven;
	p->n_probation += !proven;
}

/* The file of C, with its lock; NULL: C is in use just now, or on its way to another file. */
static struct heur_file *lock_owner(const struct cursor *c, const struct heur_file *own)
{
	struct heur_file *f = __atomic_load_n(&c->file, __ATOMIC_ACQUIRE);

	if (f == own)
		return f;
	if (!f || !lock_try(&f->lock))
		return NULL;
	if (__atomic_load_n(&c->file, __ATOMIC_RELAXED) == f)
		return f;
	lock_drop_tried(&f->lock);
	return NULL;
}

static void unlock_owner(struct heur_file *f, const struct heur_file *own)
{
	if (f != own)
		lock_drop_tried(&f->lock);
}

/*
 * The least recently used of LIST that can be had, with its file's lock. Those used since they were
 * listed go back to the tail. When all that were looked at are in use: NULL, or with FORCE the last
 * of them.
 */
static struct cursor *find_victim(struct cursor_pool *p, struct cursor_list *list,
				  struct heur_file *own, bool force)
{
	for (int i = 0; i < VICTIM_SCAN; i++) {
		struct cursor *c = TAILQ_FIRST(list);
		struct heur_file *f;

		if (!c)
			return NULL;
		f = lock_owner(c, own);
		if (!f) {
			TAILQ_REMOVE(list, c, link);
			TAILQ_INSERT_TAIL(list, c, link);
			continue;
		}
		if (c->used == c->listed || (force && i == VICTIM_SCAN - 1))
			return c;
		list_remove(p, c);
		list_append(p, c, c->used, c->count >= CURSOR_PROVEN);
		unlock_owner(f, own);
	}
	return NULL;
}

/* One of another file's, or by chance of the own: by the rules for who may take from whom. */
static struct cursor *recycle_any(struct cursor_pool *p, struct heur_file *own)
{
	const struct cursor *proven = TAILQ_FIRST(&p->proven);
	const struct cursor *probation = TAILQ_FIRST(&p->probation);
	struct cursor *c = NULL;

	/* a quarter of the pool is left to newcomers; within that the older list head goes */
	if (probation &&
	    (p->n_probation > p->size / 4 || !proven || probation->listed <= proven->listed)) {
		c = find_victim(p, &p->probation, own, false);
		if (!c && own->set.n_unproven > 1) /* all in use: no reason to take another's */
			return TAILQ_FIRST(&own->set.unproven);
	}
	if (!c)
		c = find_victim(p, &p->proven, own, false);
	if (!c)
		c = find_victim(p, &p->probation, own, true);
	if (!c)
		c = find_victim(p, &p->proven, own, true);
	return c;
}

/* Whether FILE should make do with what it has. */
static bool has_its_share(const struct cursor_pool *p, const struct heur_file *file)
{
	return file->set.n >= p->per_file ||
	       (file->set.n_unproven > 1 && file->set.n_unproven > p->n_probation / 2);
}

/* A free cursor, or one of a file whose lock is held then; listed as used at NOW. Pool lock. */
static struct cursor *take(struct cursor_pool *p, struct heur_file *own, uint64_t now)
{
	struct cursor *c = own->set.n < p->per_file ? TAILQ_FIRST(&p->free) : NULL;

	if (c) {
		TAILQ_REMOVE(&p->free, c, link);
	} else {
		c = has_its_share(p, own) ? cursor_set_oldest(&own->set) : recycle_any(p, own);
		if (!c)
			return NULL;
		list_remove(p, c);
		p->recycled++;
	}
	list_append(p, c, now, false);
	p->made++;
	return c;
}

/* C leaves its file, whose lock is held. References to it are void. */
static void leave(struct cursor_pool *p, struct cursor *c, struct heur_file *to)
{
	if (p->retire)
		p->retire(p->arg, c);
	cursor_set_remove(&c->file->set, c);
	c->generation++;
	__atomic_store_n(&c->file, to, __ATOMIC_RELEASE);
}

/* All that a new run begins with. */
static void reset(struct cursor *c, uint64_t offset, uint64_t now)
{
	c->used = now;
	c->start = c->next = c->read_end = offset;
	c->count = 1;
	c->seen = c->unit = 0;
	c->window = 0;
	c->ra_end = c->done_end = c->done_time = 0;
	c->charged = c->doubted = c->taken = 0;
	c->down = 0;
	c->queued = 0;
	c->withheld = c->example = c->has_floor = false;
	c->way = WAY_FORWARD;
	c->quiet = 0;
	c->own = c->credited = 0;
	c->gap = c->pace = 0;
	c->missing = 0;
	c->lately = CURSOR_LATELY;
}

struct cursor *cursor_new(struct cursor_pool *p, struct heur_file *file, uint64_t offset,
			  uint64_t now)
{
	struct heur_file *was;
	struct cursor *c;

	lock_take(&p->lock);
	c = take(p, file, now);
	lock_drop(&p->lock);
	if (!c)
		return NULL;
	was = c->file;
	if (was) {
		leave(p, c, file);
		unlock_owner(was, file);
	} else {
		__atomic_store_n(&c->file, file, __ATOMIC_RELEASE);
	}
	reset(c, offset, now);
	cursor_set_insert(&file->set, c);
	return c;
}

/* Gives back up to RELEASE_BATCH of FILE's; others may use the pool in between. */
static void release_some(struct cursor_pool *p, struct heur_file *file)
{
	lock_take(&p->lock);
	for (int i = 0; i < RELEASE_BATCH && file->set.n; i++) {
		struct cursor *c = TAILQ_FIRST(&file->set.order);

		list_remove(p, c);
		leave(p, c, NULL);
		TAILQ_INSERT_HEAD(&p->free, c, link);
	}
	lock_drop(&p->lock);
}

void cursor_release_all(struct cursor_pool *p, struct heur_file *file)
{
	while (file->set.n)
		release_some(p, file);
}
