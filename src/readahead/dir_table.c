/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records of directories, and the memory of their lists. See dir_table.h. */
#include "readahead/dir_table.h"

#include <assert.h>
#include <stdlib.h>

/* Records, or those with parts, of which the least recently used one is sought. */
#define LOOKED 32

static uint32_t bucket_of(uint64_t id)
{
	return (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 40) % DIRS_MAX;
}

struct dir *dir_table_find(struct dir_table *t, uint64_t id)
{
	for (uint32_t at = t->bucket[bucket_of(id)]; at != 0; at = t->dirs[at - 1].next)
		if (t->dirs[at - 1].id == id)
			return &t->dirs[at - 1];
	return NULL;
}

static void unlink_dir(struct dir_table *t, struct dir *d)
{
	uint32_t *at = &t->bucket[bucket_of(d->id)];

	while (&t->dirs[*at - 1] != d)
		at = &t->dirs[*at - 1].next;
	*at = d->next;
}

/* ---- parts ------------------------------------------------------------------------------- */

static uint64_t part_bytes(const struct dir_part *p)
{
	uint64_t n;

	if (p == NULL)
		return 0;
	n = dir_list_count(p->list);
	return sizeof(*p) + dir_list_bytes(p->list) +
	       n * (sizeof(*p->state) + sizeof(*p->held) + sizeof(*p->due));
}

static void part_free(struct dir_part *p)
{
	if (p == NULL)
		return;
	dir_list_free(p->list);
	free(p->state);
	free(p->held);
	free(p->due);
	free(p);
}

/* Of LIST, which is its own. NULL: no memory. */
static struct dir_part *part_new(struct dir_list *list)
{
	struct dir_part *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		dir_list_free(list);
		return NULL;
	}
	p->list = list;
	p->state = calloc(dir_list_count(list) + 1u, sizeof(*p->state));
	p->held = calloc(dir_list_count(list) + 1u, sizeof(*p->held));
	p->due = calloc(dir_list_count(list) + 1u, sizeof(*p->due));
	p->n_left = dir_list_count(list);
	if (p->state != NULL && p->held != NULL && p->due != NULL)
		return p;
	part_free(p);
	return NULL;
}

static void drop_part(struct dir_table *t, struct dir *d, struct dir_part **p, dir_drop drop,
		      void *arg)
{
	if (*p == NULL)
		return;
	drop(arg, d, *p);
	t->parts -= part_bytes(*p);
	part_free(*p);
	*p = NULL;
}

void dir_table_delist(struct dir_table *t, struct dir *d, dir_drop drop, void *arg)
{
	assert(!d->busy);
	drop_part(t, d, &d->files, drop, arg);
	drop_part(t, d, &d->dirs, drop, arg);
}

/* The least recently used directory of some that have parts and no job, but for KEEP. NULL: none has. */
static struct dir *old_listed(struct dir_table *t, const struct dir *keep)
{
	struct dir *oldest = NULL;
	int looked = 0;

	for (uint32_t i = 0; i < DIRS_MAX && looked < LOOKED; i++) {
		struct dir *d = &t->dirs[t->listed_hand++ % DIRS_MAX];

		if (d == keep || d->busy || (d->files == NULL && d->dirs == NULL))
			continue;
		looked++;
		if (oldest == NULL || d->used < oldest->used)
			oldest = d;
	}
	return oldest;
}

/* For BYTES, of which OLD are KEEP's already. False: there is none. */
static bool make_room(struct dir_table *t, const struct dir *keep, uint64_t bytes, uint64_t old,
		      dir_drop drop, void *arg)
{
	while (t->parts - old + bytes > t->memory) {
		struct dir *d = old_listed(t, keep);

		if (d == NULL)
			return false;
		dir_table_delist(t, d, drop, arg);
	}
	return true;
}

bool dir_table_enlist(struct dir_table *t, struct dir *d, struct dir_list *files,
		      struct dir_list *dirs, dir_carry carry, dir_drop drop, void *arg)
{
	struct dir_part *f = files != NULL ? part_new(files) : NULL;
	struct dir_part *s = dirs != NULL ? part_new(dirs) : NULL;
	uint64_t bytes = part_bytes(f) + part_bytes(s);
	uint64_t old = part_bytes(d->files) + part_bytes(d->dirs);
	bool fits = (files == NULL || f != NULL) && (dirs == NULL || s != NULL) &&
		    bytes <= t->memory && make_room(t, d, bytes, old, drop, arg);

	if (fits && f != NULL && d->files != NULL)
		carry(arg, d, d->files, f);
	if (fits && s != NULL && d->dirs != NULL)
		carry(arg, d, d->dirs, s);
	drop_part(t, d, &d->files, drop, arg);
	drop_part(t, d, &d->dirs, drop, arg);
	if (!fits) {
		part_free(f);
		part_free(s);
		return false;
	}
	d->files = f;
	d->dirs = s;
	t->parts += bytes;
	return true;
}

/* ---- records ----------------------------------------------------------------------------- */

/* A record for one more: a free one, or the least recently used of some. NULL: these are busy. */
static struct dir *victim(struct dir_table *t)
{
	struct dir *oldest = NULL;

	for (int i = 0; i < LOOKED; i++) {
		struct dir *d = &t->dirs[t->hand++ % DIRS_MAX];

		if (d->id == 0)
			return d;
		if (!d->busy && (oldest == NULL || d->used < oldest->used))
			oldest = d;
	}
	return oldest;
}

struct dir *dir_table_get(struct dir_table *t, uint64_t id, uint64_t now, dir_drop drop, void *arg)
{
	struct dir *d = dir_table_find(t, id);
	uint32_t *bucket = &t->bucket[bucket_of(id)];

	if (d != NULL || id == 0)
		return d;
	d = victim(t);
	if (d == NULL)
		return NULL;
	if (d->id != 0) {
		dir_table_delist(t, d, drop, arg);
		unlink_dir(t, d);
	}
	*d = (struct dir){.id = id, .used = now, .next = *bucket};
	*bucket = (uint32_t)(d - t->dirs) + 1;
	return d;
}
