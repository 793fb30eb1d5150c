/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The shared pool of cursors: match by binary search, allocation, recycling. See cursor.h. */
#include "readahead/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readahead/heur_table.h"

/* How many entries of a list, or of a file, are looked at for the least recently used one. */
#define VICTIM_SCAN 64

int cursor_pool_init(struct cursor_pool *p, uint32_t size, void (*retire)(void *, struct cursor *),
		     void *arg)
{
	memset(p, 0, sizeof(*p));
	p->cursors = calloc(size, sizeof(*p->cursors));
	if (!p->cursors)
		return ENOMEM;
	p->size = size;
	p->retire = retire;
	p->arg = arg;
	pthread_mutex_init(&p->lock, NULL);
	TAILQ_INIT(&p->free);
	TAILQ_INIT(&p->probation);
	TAILQ_INIT(&p->proven);
	for (uint32_t i = 0; i < size; i++) {
		p->cursors[i].generation = 1; /* so that an empty reference is nobody's */
		TAILQ_INSERT_TAIL(&p->free, &p->cursors[i], link);
	}
	return 0;
}

void cursor_pool_fini(struct cursor_pool *p)
{
	pthread_mutex_destroy(&p->lock);
	free(p->cursors);
	p->cursors = NULL;
}

/* First place whose `next` is not below OFFSET. */
static uint32_t lower_bound(const struct cursor_set *set, uint64_t offset)
{
	uint32_t low = 0, high = set->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (set->order[mid].next < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct cursor *cursor_match(const struct cursor_set *set, uint64_t offset, uint64_t near,
			    uint32_t *pos)
{
	uint32_t at = lower_bound(set, offset);
	uint64_t after = UINT64_MAX, before = UINT64_MAX;

	if (at < set->n)
		after = set->order[at].next - offset;
	if (at > 0)
		before = offset - set->order[at - 1].next;
	if (at < set->n && after <= near && after <= before) {
		*pos = at;
		return set->order[at].c;
	}
	if (at > 0 && (before <= near || offset < set->order[at - 1].c->ra_end)) {
		*pos = at - 1;
		return set->order[at - 1].c;
	}
	return NULL;
}

static int set_insert(struct cursor_set *set, struct cursor *c)
{
	uint32_t at;

	if (set->n == set->room) {
		uint32_t room = set->room ? set->room * 2 : 2;
		struct cursor_slot *order = realloc(set->order, room * sizeof(*order));

		if (!order)
			return ENOMEM;
		set->order = order;
		set->room = room;
	}
	at = lower_bound(set, c->next);
	memmove(&set->order[at + 1], &set->order[at], (set->n - at) * sizeof(*set->order));
	set->order[at] = (struct cursor_slot){.next = c->next, .c = c};
	set->n++;
	return 0;
}

static void set_remove(struct cursor_set *set, const struct cursor *c)
{
	uint32_t at = lower_bound(set, c->next);

	while (set->order[at].c != c) /* several may expect the same offset */
		at++;
	set->n--;
	memmove(&set->order[at], &set->order[at + 1], (set->n - at) * sizeof(*set->order));
	if (c->count < 2)
		set->unproven--;
}

void cursor_move(struct cursor_set *set, uint32_t pos, uint64_t next)
{
	struct cursor_slot moved = {.next = next, .c = set->order[pos].c};

	while (pos + 1 < set->n && set->order[pos + 1].next < next) {
		set->order[pos] = set->order[pos + 1];
		pos++;
	}
	while (pos > 0 && set->order[pos - 1].next > next) {
		set->order[pos] = set->order[pos - 1];
		pos--;
	}
	set->order[pos] = moved;
	moved.c->next = next;
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

/*
 * Puts C into its list by the time of its last use; it was used lately, so that is near the tail.
 */
static void list_append(struct cursor_pool *p, struct cursor *c)
{
	struct cursor_list *list = c->count >= 2 ? &p->proven : &p->probation;
	struct cursor *at = TAILQ_LAST(list, cursor_list);

	c->listed = c->used;
	c->proven_list = c->count >= 2;
	for (int i = 0; i < VICTIM_SCAN && at && at->listed > c->listed; i++)
		at = TAILQ_PREV(at, cursor_list, link);
	if (at)
		TAILQ_INSERT_AFTER(list, at, c, link);
	else
		TAILQ_INSERT_HEAD(list, c, link);
	if (c->proven_list)
		p->n_proven++;
	else
		p->n_probation++;
}

/* Takes C from its file, whose lock is held, and from its list. */
static void detach(struct cursor_pool *p, struct cursor *c)
{
	if (p->retire)
		p->retire(p->arg, c);
	list_remove(p, c);
	set_remove(&c->file->set, c);
	__atomic_store_n(&c->file, NULL, __ATOMIC_RELEASE);
	c->generation++;
}

/*
 * The least recently used of LIST that can be had, putting right the place of those used since.
 * When all that were looked at are in use: NULL, or with FORCE the last of them.
 */
static struct cursor *recycle_from(struct cursor_pool *p, struct cursor_list *list,
				   struct heur_file *own, bool force)
{
	for (int i = 0; i < VICTIM_SCAN; i++) {
		struct cursor *c = TAILQ_FIRST(list);
		struct heur_file *f;
		bool idle;

		if (!c)
			return NULL;
		f = c->file;
		if (f != own && pthread_mutex_trylock(&f->lock)) {
			TAILQ_REMOVE(list, c, link); /* busy now, so not the least recent */
			TAILQ_INSERT_TAIL(list, c, link);
			continue;
		}
		idle = c->used == c->listed;
		if (idle || (force && i == VICTIM_SCAN - 1)) {
			detach(p, c);
			idle = true;
		} else {
			list_remove(p, c);
			list_append(p, c);
		}
		if (f != own)
			pthread_mutex_unlock(&f->lock);
		if (idle)
			return c;
	}
	return NULL;
}

/* The least recently used unproven cursor among some of the file's own. */
static struct cursor *recycle_own(struct cursor_pool *p, struct heur_file *file, uint64_t now)
{
	struct cursor_set *set = &file->set;
	struct cursor *oldest = NULL;
	uint32_t n = set->n < VICTIM_SCAN ? set->n : VICTIM_SCAN;

	for (uint32_t i = 0; i < n; i++) {
		struct cursor *c = set->order[(now + i) % set->n].c;

		if (c->count < 2 && (!oldest || c->used < oldest->used))
			oldest = c;
	}
	if (oldest)
		detach(p, oldest);
	return oldest;
}

static struct cursor *recycle(struct cursor_pool *p, struct heur_file *file, uint64_t now)
{
	struct cursor *c = NULL, *proven = TAILQ_FIRST(&p->proven);
	struct cursor *probation = TAILQ_FIRST(&p->probation);

	if (file->set.unproven > 1 && file->set.unproven > p->n_probation / 2)
		c = recycle_own(p, file, now);
	/* a quarter of the pool is left to newcomers; within that the older list head goes */
	if (!c && probation &&
	    (p->n_probation > p->size / 4 || !proven || probation->listed <= proven->listed)) {
		c = recycle_from(p, &p->probation, file, false);
		if (!c && file->set.unproven > 1) /* all in use: no reason to take another file's */
			c = recycle_own(p, file, now);
	}
	if (!c)
		c = recycle_from(p, &p->proven, file, false);
	if (!c)
		c = recycle_from(p, &p->probation, file, true);
	if (!c)
		c = recycle_from(p, &p->proven, file, true);
	if (c)
		p->recycled++;
	return c;
}

struct cursor *cursor_new(struct cursor_pool *p, struct heur_file *file, uint64_t offset,
			  uint64_t now)
{
	struct cursor *c;

	pthread_mutex_lock(&p->lock);
	c = TAILQ_FIRST(&p->free);
	if (c)
		TAILQ_REMOVE(&p->free, c, link);
	else
		c = recycle(p, file, now);
	if (!c)
		goto out;
	c->used = now;
	c->start = c->next = c->read_end = offset;
	c->count = 1;
	c->seen = c->unit = 0;
	c->window = 0;
	c->ra_end = c->done_end = c->done_time = c->charged = 0;
	c->doubted = 0;
	c->queued = 0;
	c->withheld = false;
	if (set_insert(&file->set, c)) {
		TAILQ_INSERT_HEAD(&p->free, c, link);
		c = NULL;
		goto out;
	}
	file->set.unproven++;
	__atomic_store_n(&c->file, file, __ATOMIC_RELEASE);
	list_append(p, c);
	p->made++;
out:
	pthread_mutex_unlock(&p->lock);
	return c;
}

void cursor_release_all(struct cursor_pool *p, struct heur_file *file)
{
	pthread_mutex_lock(&p->lock);
	while (file->set.n) {
		struct cursor *c = file->set.order[file->set.n - 1].c;

		detach(p, c);
		TAILQ_INSERT_HEAD(&p->free, c, link);
	}
	pthread_mutex_unlock(&p->lock);
	free(file->set.order);
	file->set = (struct cursor_set){0};
}
