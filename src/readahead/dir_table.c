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

/* Bytes of a part of N entries, without its list: of files, or of subdirectories, of which nothing is held. */
static size_t block_bytes(uint32_t n, bool files)
{
	const struct dir_part *p = NULL;
	size_t an_entry = sizeof(*p->state) + (files ? sizeof(*p->held) + sizeof(*p->due) : 0);

	return sizeof(*p) + DIR_AXES * dir_cursors_count(n) * sizeof(*p->cursors.of) + n * an_entry;
}

static uint64_t part_bytes(const struct dir_part *p)
{
	if (p == NULL)
		return 0;
	return dir_list_bytes(p->list) +
	       dir_block(block_bytes(dir_list_count(p->list), p->held != NULL));
}

static void part_free(struct dir_part *p)
{
	if (p == NULL)
		return;
	dir_list_free(p->list);
	free(p);
}

/* Of LIST, which is its own: of files or of subdirectories. NULL: no memory. */
static struct dir_part *part_new(struct dir_list *list, bool files)
{
	uint32_t n = dir_list_count(list);
	struct dir_part *p = calloc(1, block_bytes(n, files));
	uint8_t *at = (uint8_t *)(p + 1);

	if (p == NULL) {
		dir_list_free(list);
		return NULL;
	}
	p->list = list;
	p->n_left = n;
	p->cursors.n = dir_cursors_count(n);
	p->cursors.of = (struct dir_cursor *)(void *)at;
	at += DIR_AXES * p->cursors.n * sizeof(*p->cursors.of);
	if (files) {
		p->held = (uint32_t *)(void *)at;
		at += n * sizeof(*p->held);
		p->due = (uint16_t *)(void *)at;
		at += n * sizeof(*p->due);
	}
	p->state = at;
	return p;
}

static void drop_part(struct dir_table *t, struct dir *d, struct dir_part **p,
		      const struct dir_owner *owner, void *arg)
{
	if (*p == NULL)
		return;
	owner->drop(arg, d, *p);
	t->parts -= part_bytes(*p);
	part_free(*p);
	*p = NULL;
}

void dir_table_delist(struct dir_table *t, struct dir *d, const struct dir_owner *owner, void *arg)
{
	assert(!d->busy);
	drop_part(t, d, &d->files, owner, arg);
	drop_part(t, d, &d->dirs, owner, arg);
}

void dir_table_forget(struct dir *d)
{
	free(d->recent);
	d->recent = NULL;
	d->n_recent[0] = d->n_recent[1] = 0;
}

/* Whether the parts of D, if it has any, may go for those of KEEP. */
static bool may_go(const struct dir *d, const struct dir *keep, const struct dir_owner *owner,
		   void *arg)
{
	return d != keep && !d->busy && (d->files != NULL || d->dirs != NULL) &&
	       !owner->is_walked(arg, d, keep->used);
}

/* The least recently used directory of some whose parts may go for those of KEEP. NULL: there is none. */
static struct dir *old_listed(struct dir_table *t, const struct dir *keep,
			      const struct dir_owner *owner, void *arg)
{
	struct dir *oldest = NULL;
	int looked = 0;

	for (uint32_t i = 0; i < DIRS_MAX && looked < LOOKED; i++) {
		struct dir *d = &t->dirs[t->listed_hand++ % DIRS_MAX];

		if (!may_go(d, keep, owner, arg))
			continue;
		looked++;
		if (oldest == NULL || d->used < oldest->used)
			oldest = d;
	}
	return oldest;
}

/* Whether there are as many as BYTES that may go for KEEP's. */
static bool may_have(const struct dir_table *t, const struct dir *keep, uint64_t bytes,
		     const struct dir_owner *owner, void *arg)
{
	uint64_t go = 0;

	for (uint32_t i = 0; i < DIRS_MAX && go < bytes; i++)
		if (may_go(&t->dirs[i], keep, owner, arg))
			go += part_bytes(t->dirs[i].files) + part_bytes(t->dirs[i].dirs);
	return go >= bytes;
}

/* For BYTES, of which OLD are KEEP's already. False: there is none, and nothing has gone. */
static bool make_room(struct dir_table *t, const struct dir *keep, uint64_t bytes, uint64_t old,
		      const struct dir_owner *owner, void *arg)
{
	uint64_t all = t->parts - old + bytes;

	if (all > t->memory && !may_have(t, keep, all - t->memory, owner, arg))
		return false;
	while (t->parts - old + bytes > t->memory) {
		struct dir *d = old_listed(t, keep, owner, arg);

		assert(d != NULL);
		dir_table_delist(t, d, owner, arg);
		d->refused = d->crowded = true;
	}
	return true;
}

/* F and S are D's in place of what it has. */
static void replace(struct dir_table *t, struct dir *d, struct dir_part *f, struct dir_part *s,
		    const struct dir_owner *owner, void *arg)
{
	if (f != NULL && d->files != NULL)
		owner->carry(arg, d, d->files, f);
	if (s != NULL && d->dirs != NULL)
		owner->carry(arg, d, d->dirs, s);
	drop_part(t, d, &d->files, owner, arg);
	drop_part(t, d, &d->dirs, owner, arg);
	d->files = f;
	d->dirs = s;
	t->parts += part_bytes(f) + part_bytes(s);
}

bool dir_table_enlist(struct dir_table *t, struct dir *d, struct dir_list *files,
		      struct dir_list *dirs, const struct dir_owner *owner, void *arg)
{
	struct dir_part *f = files != NULL ? part_new(files, true) : NULL;
	struct dir_part *s = dirs != NULL ? part_new(dirs, false) : NULL;
	uint64_t bytes = part_bytes(f) + part_bytes(s);
	uint64_t old = part_bytes(d->files) + part_bytes(d->dirs);
	bool fits = (files == NULL || f != NULL) && (dirs == NULL || s != NULL) &&
		    bytes <= t->memory && make_room(t, d, bytes, old, owner, arg);

	d->crowded = !fits && d->files == NULL && bytes <= t->memory;
	if (fits) {
		replace(t, d, f, s, owner, arg);
	} else {
		part_free(f);
		part_free(s);
	}
	return fits;
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

struct dir *dir_table_get(struct dir_table *t, uint64_t id, uint64_t now,
			  const struct dir_owner *owner, void *arg)
{
	struct dir *d = dir_table_find(t, id);
	uint32_t *bucket = &t->bucket[bucket_of(id)];

	if (d != NULL || id == 0)
		return d;
	d = victim(t);
	if (d == NULL)
		return NULL;
	if (d->id != 0) {
		dir_table_delist(t, d, owner, arg);
		dir_table_forget(d);
		unlink_dir(t, d);
	}
	*d = (struct dir){.id = id, .used = now, .next = *bucket};
	*bucket = (uint32_t)(d - t->dirs) + 1;
	return d;
}
