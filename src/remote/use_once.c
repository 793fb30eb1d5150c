/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Blocks of what was fetched ahead. See use_once.h.
 *
 *   shard: lock | files -> blocks of each | buckets: (file, index) -> block | all blocks by age
 *
 * A block has a hold for being linked there, and one for each who copies from it; the last frees it. So
 * bytes are copied without the lock, and a block that is dropped meanwhile stays until they are. Its
 * bytes never change while it is linked: what comes for the same place makes a new block of both, which is begun anew where it
 * has no room for what is there.
 */
#include "remote/use_once.h"

#include <stdlib.h>
#include <string.h>

#include "remote/use_once_parts.h"

#define BLOCKS_MAX (USE_ONCE_READ_MAX / USE_ONCE_BLOCK + 1)

/* ---- blocks ------------------------------------------------------------------------------ */

static struct use_once_block **place_of(struct shard *s, uint64_t file, uint64_t index)
{
	struct use_once_block **at =
		&s->bucket[((file * USE_ONCE_SPREAD ^ index) * USE_ONCE_SPREAD >> 40) %
			   USE_ONCE_BUCKETS];

	while (*at != NULL && ((*at)->file != file || (*at)->index != index))
		at = &(*at)->next;
	return at;
}

static void give_back(struct use_once *c, struct use_once_block *b)
{
	uint64_t size = use_once_block_size(b->room);

	if (atomic_fetch_sub_explicit(&b->holds, 1, memory_order_acq_rel) != 1)
		return;
	free(b);
	atomic_fetch_sub(&c->held, size);
}

static void note_oldest(struct shard *s)
{
	const struct use_once_block *b = TAILQ_FIRST(&s->by_age);

	s->oldest = b != NULL ? b->since : UINT64_MAX;
}

/* With the lock. */
static void unlink_block(struct use_once *c, struct shard *s, struct file *f,
			 struct use_once_block *b)
{
	*place_of(s, b->file, b->index) = b->next;
	TAILQ_REMOVE(&s->by_age, b, by_age);
	TAILQ_REMOVE(&f->blocks, b, of_file);
	note_oldest(s);
	give_back(c, b);
}

/* With the lock. BEFORE: one that is younger or as old, NULL: none is. */
static void link_block(struct shard *s, struct file *f, struct use_once_block *b,
		       struct use_once_block *before)
{
	struct use_once_block **at = place_of(s, b->file, b->index);

	b->next = *at;
	*at = b;
	if (before != NULL)
		TAILQ_INSERT_BEFORE(before, b, by_age);
	else
		TAILQ_INSERT_TAIL(&s->by_age, b, by_age);
	TAILQ_INSERT_TAIL(&f->blocks, b, of_file);
	note_oldest(s);
}

/* With the lock: B comes for the place of OLD, of which it has what it keeps, and may be as old by that. */
static void replace_block(struct use_once *c, struct shard *s, struct file *f,
			  struct use_once_block *b, struct use_once_block *old)
{
	struct use_once_block *behind = TAILQ_NEXT(old, by_age);
	bool as_old = b->since <= old->since;

	unlink_block(c, s, f, old);
	link_block(s, f, b, as_old ? behind : NULL);
}

/* The shard with the oldest block, as far as can be seen; NULL: none has any. */
static struct shard *with_oldest(struct use_once *c)
{
	uint64_t oldest = UINT64_MAX;
	struct shard *found = NULL;

	for (struct shard *s = c->shard; s < c->shard + USE_ONCE_SHARDS; s++) {
		uint64_t since = s->oldest;

		if (since >= oldest)
			continue;
		oldest = since;
		found = s;
	}
	return found;
}

static void evict_oldest(struct use_once *c, struct shard *s)
{
	struct use_once_block *b;

	lock_take(&s->lock);
	b = TAILQ_FIRST(&s->by_age);
	if (b != NULL)
		unlink_block(c, s, file_of(s, b->file), b);
	lock_drop(&s->lock);
}

/* Whether what is held is within the bound, once what came first has gone. */
static bool make_room(struct use_once *c)
{
	struct shard *s;

	while (atomic_load(&c->held) > atomic_load(&c->max)) {
		s = with_oldest(c);
		if (s == NULL)
			return false;
		evict_oldest(c, s);
	}
	return true;
}

/* A block that counts as held; NULL: there is no room. */
static struct use_once_block *new_block(struct use_once *c, uint64_t file, uint64_t index,
					uint32_t units, uint64_t now)
{
	struct use_once_block *b = malloc(use_once_block_size(units));

	if (b == NULL)
		return NULL;
	use_once_block_init(b, file, index, units, now);
	atomic_fetch_add(&c->held, use_once_block_size(units));
	if (make_room(c))
		return b;
	give_back(c, b);
	return NULL;
}

/* ---- what arrives ------------------------------------------------------------------------ */

/*
 * B, the caller's until now, into the cache, if no drop of its file came after MARK. Not 0: it is to come again with room for
 * so many units, of which some are there already.
 */
static uint32_t enter(struct use_once *c, struct use_once_block *b, uint64_t mark)
{
	struct shard *s;
	struct file *f = lock_file(c, b->file, &s);
	struct use_once_block *old = NULL;
	bool is_refused = f == NULL || f->mark != mark || b->there == 0;
	uint32_t units = 0, came = use_once_block_unread(b);

	if (!is_refused)
		old = *place_of(s, b->file, b->index);
	if (old != NULL)
		units = use_once_block_join(b, old, c->age);
	if (!is_refused && units <= b->room) {
		units = 0;
		if (old != NULL)
			replace_block(c, s, f, b, old);
		else
			link_block(s, f, b, NULL);
		f->came += (uint64_t)came * USE_ONCE_UNIT;
		b = NULL;
	}
	lock_drop(&s->lock);
	if (b != NULL)
		give_back(c, b);
	return units;
}

void use_once_put(struct use_once *c, uint64_t file, uint64_t mark, uint64_t offset,
		  const void *data, uint64_t len, uint64_t asked, uint64_t now)
{
	uint64_t end = offset + len;
	uint32_t of_last = asked < end ? (uint32_t)(asked % USE_ONCE_UNIT) : 0; /* 0: all of it */

	for (uint64_t at = offset; at < end;) {
		struct use_once_part p = use_once_part(at, end);
		uint32_t units = use_once_part_units(&p);

		while (units != 0) {
			struct use_once_block *b = new_block(c, file, p.index, units, now);

			if (b == NULL)
				return;
			use_once_block_fill(b, &p, (const unsigned char *)data + (at - offset),
					    at + p.upto - p.from == end ? of_last : 0);
			units = enter(c, b, mark);
		}
		at += p.upto - p.from;
	}
}

struct file *use_once_file(struct shard *s, uint64_t serial)
{
	struct file *f = file_of(s, serial);

	if (f != NULL || (f = calloc(1, sizeof(*f))) == NULL)
		return f;
	f->serial = serial;
	f->mark = ++s->marks;
	TAILQ_INIT(&f->blocks);
	TAILQ_INSERT_HEAD(&s->files, f, link);
	return f;
}

uint64_t use_once_mark(struct use_once *c, uint64_t file)
{
	struct shard *s = shard_of(c, file);
	struct file *f;
	uint64_t mark;

	lock_take(&s->lock);
	f = use_once_file(s, file);
	mark = f != NULL ? f->mark : 0;
	lock_drop(&s->lock);
	return mark;
}

/* ---- what is read ------------------------------------------------------------------------ */

static bool is_vouched_for(const struct file *f, uint64_t now)
{
	return f != NULL && f->known && now < f->checked + USE_ONCE_VOUCHED;
}

/* With the lock: the blocks of [offset, end) into FOUND. How many; 0: something is not there. */
static unsigned int find(struct use_once *c, struct shard *s, uint64_t file, uint64_t offset,
			 uint64_t end, uint64_t now, struct use_once_block **found)
{
	unsigned int n = 0;

	for (uint64_t at = offset; at < end; n++) {
		struct use_once_part p = use_once_part(at, end);
		struct use_once_block *b = *place_of(s, file, p.index);

		if (b == NULL || now >= b->since + c->age || !use_once_block_has(b, &p))
			return 0;
		found[n] = b;
		at += p.upto - p.from;
	}
	return n;
}

/* With the lock: the N blocks FOUND are held by the caller, and count as read. */
static void take_blocks(struct use_once *c, struct shard *s, struct file *f, uint64_t offset,
			uint64_t end, struct use_once_block **found, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct use_once_part p = use_once_part(offset, end);

		atomic_fetch_add_explicit(&found[i]->holds, 1, memory_order_relaxed);
		if (use_once_block_read(found[i], &p))
			unlink_block(c, s, f, found[i]);
		offset += p.upto - p.from;
	}
}

/* The blocks of [offset, offset + len) that may be given. */
static unsigned int look(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len,
			 uint64_t now, struct use_once_block **found, bool take)
{
	struct shard *s = shard_of(c, file);
	struct file *f;
	unsigned int n = 0;

	if (len == 0 || len > USE_ONCE_READ_MAX || offset > UINT64_MAX - len)
		return 0;
	lock_take(&s->lock);
	f = file_of(s, file);
	if (is_vouched_for(f, now))
		n = find(c, s, file, offset, offset + len, now, found);
	if (take)
		take_blocks(c, s, f, offset, offset + len, found, n);
	lock_drop(&s->lock);
	return n;
}

bool use_once_has(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len, uint64_t now)
{
	struct use_once_block *found[BLOCKS_MAX];

	return look(c, file, offset, len, now, found, false) != 0;
}

static uint64_t room_in(const struct iovec *iov, int n)
{
	uint64_t room = 0;

	for (int i = 0; i < n; i++)
		room += iov[i].iov_len;
	return room;
}

bool use_once_take(struct use_once *c, uint64_t file, const struct iovec *iov, int n,
		   uint64_t offset, uint64_t len, uint64_t now)
{
	struct use_once_block *found[BLOCKS_MAX];
	struct use_once_reply reply = {.iov = iov};
	unsigned int blocks;

	if (room_in(iov, n) < len)
		return false;
	blocks = look(c, file, offset, len, now, found, true);
	for (uint64_t at = offset, i = 0; i < blocks; i++) {
		struct use_once_part p = use_once_part(at, offset + len);

		use_once_copy(&reply, use_once_block_data(found[i], &p), p.upto - p.from);
		give_back(c, found[i]);
		at += p.upto - p.from;
	}
	return blocks != 0;
}

/* ---- what goes --------------------------------------------------------------------------- */

void use_once_drop_blocks(struct use_once *c, struct shard *s, struct file *f, uint64_t offset,
			  uint64_t end)
{
	struct use_once_block *b, *next;

	f->mark = ++s->marks;
	for (b = TAILQ_FIRST(&f->blocks); b != NULL; b = next) {
		uint64_t begin = b->index * USE_ONCE_BLOCK;

		next = TAILQ_NEXT(b, of_file);
		/* One that knows where the file ended goes too: it may end elsewhere now. */
		if (b->end != USE_ONCE_BLOCK || (begin < end && offset < begin + USE_ONCE_BLOCK))
			unlink_block(c, s, f, b);
	}
}

void use_once_drop(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len)
{
	struct shard *s;
	struct file *f = lock_file(c, file, &s);

	if (f != NULL)
		use_once_drop_blocks(c, s, f, offset,
				     len > UINT64_MAX - offset ? UINT64_MAX : offset + len);
	lock_drop(&s->lock);
}

void use_once_forget(struct use_once *c, uint64_t file)
{
	struct shard *s;
	struct file *f = lock_file(c, file, &s);

	if (f != NULL) {
		use_once_drop_blocks(c, s, f, 0, UINT64_MAX);
		TAILQ_REMOVE(&s->files, f, link);
	}
	lock_drop(&s->lock);
	free(f);
}

void use_once_sweep(struct use_once *c, uint64_t now)
{
	for (struct shard *s = c->shard; s < c->shard + USE_ONCE_SHARDS; s++) {
		struct use_once_block *b;

		lock_take(&s->lock);
		while ((b = TAILQ_FIRST(&s->by_age)) != NULL && now >= b->since + c->age)
			unlink_block(c, s, file_of(s, b->file), b);
		lock_drop(&s->lock);
	}
}

/* ---- life -------------------------------------------------------------------------------- */

struct use_once *use_once_new(uint64_t max, uint64_t age)
{
	struct use_once *c = aligned_alloc(USE_ONCE_LINE, sizeof(*c));

	if (c == NULL)
		return NULL;
	memset(c, 0, sizeof(*c));
	atomic_init(&c->max, max);
	c->age = age;
	for (struct shard *s = c->shard; s < c->shard + USE_ONCE_SHARDS; s++) {
		lock_init(&s->lock, LOCK_LEAF);
		TAILQ_INIT(&s->files);
		TAILQ_INIT(&s->by_age);
		note_oldest(s);
	}
	return c;
}

static void forget_all(struct use_once *c, struct shard *s)
{
	struct file *f;

	while ((f = TAILQ_FIRST(&s->files)) != NULL)
		use_once_forget(c, f->serial);
	lock_fini(&s->lock);
}

void use_once_free(struct use_once *c)
{
	if (c == NULL)
		return;
	for (struct shard *s = c->shard; s < c->shard + USE_ONCE_SHARDS; s++)
		forget_all(c, s);
	free(c);
}

void use_once_limit(struct use_once *c, uint64_t max)
{
	atomic_store(&c->max, max);
	make_room(c);
}

uint64_t use_once_age(const struct use_once *c)
{
	return c->age;
}

uint64_t use_once_held(struct use_once *c)
{
	return atomic_load(&c->held);
}
