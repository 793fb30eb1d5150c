/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Handles' slots, and the list of open backings with its bound. See backing_slot.h. */
#include "disk/backing_slot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/rcu.h"

/* After an error that may pass no descriptor is asked for so long (ns). */
#define RETRY CLOCK_SECOND
/* Descriptors looked at while the list is locked. */
#define BATCH 64
/* Victims looked for when there is no room. */
#define TRIES 8

TAILQ_HEAD(backing_list, backing);
static struct {
	struct lock lock;
	struct backing_list open;
	_Atomic uint32_t n, max;
	_Atomic uint64_t idle; /* ns */
} all = {.lock = LOCK_INITIALIZER(LOCK_BACKINGS),
	 .open = TAILQ_HEAD_INITIALIZER(all.open),
	 .max = 1024,
	 .idle = 30 * CLOCK_SECOND};

/* The same by file. Where as many are open as may be, 32 share a place by chance. */
#define PLACES 16384u
LIST_HEAD(place_list, backing);
static struct place {
	struct place_list open; /* the list's lock */
	_Atomic uint32_t n;	/* of those, changed with it: 0 tells without it that none is */
} places[PLACES];

static struct place *place_of(const struct backing_slot *slot)
{
	return &places[(slot->file_hash ^ slot->file_hash >> 32) % PLACES];
}

void backing_set_limits(uint32_t max, uint64_t idle)
{
	atomic_store(&all.max, max);
	atomic_store(&all.idle, idle);
}

uint32_t backing_count(void)
{
	return atomic_load(&all.n);
}

/* What SLOT has, which it has no longer; with its lock. */
static struct backing *detach(struct backing_slot *slot)
{
	struct backing *b = slot->backing;

	lock_assert_held(&slot->lock);
	slot->backing = NULL;
	rcu_publish(slot->hot, NULL);
	return b;
}

/* ---- the list of open ones --------------------------------------------------------------- */

static void link_backing(struct backing *b, struct backing_slot *slot)
{
	struct place *place = place_of(slot);

	lock_assert_held(&all.lock);
	TAILQ_INSERT_TAIL(&all.open, b, link);
	all.n++;
	LIST_INSERT_HEAD(&place->open, b, of_file);
	place->n++;
	b->slot = slot;
}

static void unlink_backing(struct backing *b)
{
	lock_assert_held(&all.lock);
	TAILQ_REMOVE(&all.open, b, link);
	all.n--;
	LIST_REMOVE(b, of_file);
	place_of(b->slot)->n--;
	b->slot = NULL;
}

/*
 * Takes B, which is linked, from its slot. False if the handle is dropping it just now: then that
 * thread waits for the list's lock, so the slot cannot go away meanwhile. It may once its own is dropped.
 */
static bool steal(struct backing *b)
{
	struct backing_slot *slot = b->slot;
	bool mine;

	lock_assert_held(&all.lock);
	lock_take(&slot->lock);
	mine = slot->backing == b;
	if (mine) {
		detach(slot);
		unlink_backing(b);
		atomic_store(&b->gone, true);
	}
	lock_drop(&slot->lock);
	return mine;
}

/* Makes room for one more: the least recently used of some goes, a few times if need be. */
static void make_room(struct backing_list *out)
{
	uint32_t max = atomic_load(&all.max);

	lock_assert_held(&all.lock);
	for (int tries = 0; all.n >= max && tries < TRIES; tries++) {
		struct backing *b, *victim = NULL;
		int looked = 0;

		TAILQ_FOREACH(b, &all.open, link) {
			if (!victim || b->used < victim->used)
				victim = b;
			if (++looked == BATCH)
				break;
		}
		if (victim && steal(victim))
			TAILQ_INSERT_TAIL(out, victim, link);
	}
}

/* Gives back the slots' uses of what was stolen from them. */
static void put_all(struct backing_list *list)
{
	bool seen_hot = false;
	struct backing *b;

	TAILQ_FOREACH(b, list, link)
		seen_hot |= b->seen_hot;
	if (seen_hot)
		rcu_wait();
	while ((b = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, b, link);
		backing_put(b);
	}
}

/* Publishes B in its slot, unless another thread was faster: then that one's is returned. */
static struct backing *publish(struct backing_slot *slot, struct backing *b)
{
	struct backing_list out = TAILQ_HEAD_INITIALIZER(out);
	struct backing *other = NULL;

	lock_take(&all.lock);
	make_room(&out);
	lock_take(&slot->lock);
	if (slot->backing) {
		other = backing_ref(slot->backing);
	} else {
		slot->backing = b;
		link_backing(b, slot);
		extent_map_set_changes(&b->extents, slot->changes);
	}
	lock_drop(&slot->lock);
	lock_drop(&all.lock);
	put_all(&out);
	if (!other)
		return b;
	backing_put(b); /* nobody else knows it: both of its references */
	backing_put(b);
	return other;
}

/* ---- opening --------------------------------------------------------------------------- */

static struct backing *open_backing(struct backing_slot *slot, struct export_io *io, uint64_t now,
				    int *err)
{
	struct device *device;
	struct backing *b = NULL;
	struct stat st;
	int fd = slot->open(slot, O_RDONLY, err);

	if (fd < 0 && *err == EOPNOTSUPP && slot->open_remote != NULL)
		return slot->open_remote(slot, io, now, err);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		*err = EOPNOTSUPP;
		close(fd);
		return NULL;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* the kernel's read-ahead off */
	device = export_io_device(io, fd, now, err);
	if (device != NULL) {
		*err = ENOMEM;
		b = backing_new(fd, &st, device);
	}
	if (b == NULL)
		close(fd);
	return b;
}

static struct backing *open_and_publish(struct backing_slot *slot, struct export_io *io,
					uint64_t now)
{
	int err = 0;
	struct backing *b = open_backing(slot, io, now, &err);
	bool never = err == EOPNOTSUPP || err == EPERM;

	if (b != NULL)
		return publish(slot, b);
	export_io_say_degraded(io, err);
	atomic_store_explicit(&slot->not_before, never ? UINT64_MAX : now + RETRY,
			      memory_order_relaxed);
	return NULL;
}

/* ---- slots ------------------------------------------------------------------------------- */

void backing_slot_init(struct backing_slot *slot, backing_opener open, const void *key,
		       size_t key_len)
{
	const uint8_t *bytes = key;

	lock_init(&slot->lock, LOCK_SLOT);
	slot->backing = slot->hot = NULL;
	slot->open = open;
	slot->open_remote = NULL;
	slot->changes = 0;
	slot->key_len = 0;
	slot->file_hash = UINT64_C(0xcbf29ce484222325);
	atomic_init(&slot->spared, 0);
	atomic_init(&slot->not_before, UINT64_MAX);
	if (key == NULL || key_len > BACKING_KEY_MAX)
		return;
	slot->key_len = (uint8_t)key_len;
	memcpy(slot->key, key, key_len);
	for (size_t i = 0; i < key_len; i++) /* FNV-1a */
		slot->file_hash = (slot->file_hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	atomic_store(&slot->not_before, 0);
}

void backing_slot_set_remote(struct backing_slot *slot, backing_remote_opener open)
{
	slot->open_remote = open;
}

void backing_slot_fini(struct backing_slot *slot)
{
	backing_drop(slot);
	lock_fini(&slot->lock);
}

struct backing *backing_get(struct backing_slot *slot, struct export_io *io, uint64_t now)
{
	struct backing *b;

	if (now < atomic_load_explicit(&slot->not_before, memory_order_relaxed))
		return NULL;
	lock_take(&slot->lock);
	b = slot->backing;
	if (b)
		backing_ref(b);
	lock_drop(&slot->lock);
	if (!b)
		b = open_and_publish(slot, io, now);
	if (b)
		atomic_store_explicit(&b->used, now, memory_order_relaxed);
	return b;
}

void backing_drop(struct backing_slot *slot)
{
	struct backing *b;

	lock_take(&slot->lock);
	b = detach(slot);
	lock_drop(&slot->lock);
	if (!b)
		return;
	atomic_store(&b->gone, true);
	lock_take(&all.lock);
	unlink_backing(b);
	lock_drop(&all.lock);
	if (b->seen_hot)
		rcu_wait();
	backing_put(b);
}

/* With the list's lock, under which the slot of what is linked stays, and slots never change their keys. */
static bool is_of(const struct backing *b, const struct backing_slot *slot)
{
	return b->slot != slot && b->slot->file_hash == slot->file_hash &&
	       b->slot->key_len == slot->key_len &&
	       memcmp(b->slot->key, slot->key, slot->key_len) == 0;
}

/* What other handles have open of the file of SLOT; if none has, that is told without the lock mostly. */
static void show_others(const struct backing_slot *slot, const struct use_once_attrs *a)
{
	struct place *place = place_of(slot);
	struct backing *b;

	if (atomic_load(&place->n) == 0)
		return;
	lock_take(&all.lock);
	LIST_FOREACH(b, &place->open, of_file)
		if (is_of(b, slot))
			backing_show(backing_hold(b), a);
	lock_drop(&all.lock);
}

void backing_shown(struct backing_slot *slot, const struct use_once_attrs *a)
{
	struct backing *b = backing_peek(slot);

	if (b != NULL)
		backing_show(b, a);
	else
		show_others(slot, a);
}

void backing_drop_others(struct backing_slot *slot)
{
	struct backing_list out = TAILQ_HEAD_INITIALIZER(out);
	struct backing *b, *next;

	lock_take(&all.lock);
	for (b = LIST_FIRST(&place_of(slot)->open); b != NULL; b = next) {
		next = LIST_NEXT(b, of_file);
		if (is_of(b, slot) && steal(b))
			TAILQ_INSERT_TAIL(&out, b, link);
	}
	lock_drop(&all.lock);
	put_all(&out);
}

/* ---- closing what nobody needs ----------------------------------------------------------- */

static bool is_idle(const struct backing *b, uint64_t now)
{
	uint64_t used = atomic_load_explicit(&b->used, memory_order_relaxed);

	return elapsed(used, now) > atomic_load(&all.idle);
}

/*
 * Looks at up to MAX of the list's first, which become its last: idle ones go to OUT, the others, with
 * a use each, to SOME. Returns how many it looked at, their number in *N.
 */
static uint32_t take_some(uint64_t now, bool everything, uint32_t max, struct backing_list *out,
			  struct backing **some, unsigned int *n)
{
	struct backing *b;
	uint32_t looked = 0;

	*n = 0;
	lock_take(&all.lock);
	while (looked < max && looked < BATCH && (b = TAILQ_FIRST(&all.open)) != NULL) {
		TAILQ_REMOVE(&all.open, b, link);
		TAILQ_INSERT_TAIL(&all.open, b, link);
		looked++;
		if ((everything || is_idle(b, now)) && steal(b))
			TAILQ_INSERT_TAIL(out, b, link);
		else if (!everything)
			some[(*n)++] = backing_ref(b);
	}
	lock_drop(&all.lock);
	return looked;
}

/* Gives the uses of SOME back; removed files go to OUT. */
static void close_removed(struct backing **some, unsigned int n, struct backing_list *out)
{
	for (unsigned int i = 0; i < n; i++) {
		struct backing *b = some[i];

		if (backing_is_removed(b)) {
			lock_take(&all.lock);
			if (b->slot != NULL && steal(b))
				TAILQ_INSERT_TAIL(out, b, link);
			lock_drop(&all.lock);
		}
		backing_put(b);
	}
}

void backing_sweep(uint64_t now, bool everything)
{
	struct backing_list out = TAILQ_HEAD_INITIALIZER(out);
	uint32_t left = backing_count(), looked;
	struct backing *some[BATCH];
	unsigned int n;

	do {
		looked = take_some(now, everything, left, &out, some, &n);
		left -= looked;
		close_removed(some, n, &out);
		put_all(&out);
	} while (left && looked);
}

/* A batch of those of the export IO goes to OUT; false: there was none. */
static bool take_of_export(const struct export_io *io, struct backing_list *out)
{
	struct backing *b, *next;
	int n = 0;

	lock_take(&all.lock);
	for (b = TAILQ_FIRST(&all.open); b != NULL && n < BATCH; b = next) {
		next = TAILQ_NEXT(b, link);
		if (b->io != io || !steal(b))
			continue;
		TAILQ_INSERT_TAIL(out, b, link);
		n++;
	}
	lock_drop(&all.lock);
	return n != 0;
}

void backing_sweep_export(const struct export_io *io)
{
	struct backing_list out = TAILQ_HEAD_INITIALIZER(out);

	while (take_of_export(io, &out))
		put_all(&out);
}

/* A name that is looked for, and its place among them. */
struct sought {
	uint64_t file;
	unsigned int at;
};

static int by_file(const void *a, const void *b)
{
	const struct sought *x = a, *y = b;

	return x->file < y->file ? -1 : x->file > y->file ? 1 : 0;
}

/* The first of the N, which are sorted, that is FILE or above it. */
static unsigned int lowest(const struct sought *s, unsigned int n, uint64_t file)
{
	unsigned int low = 0;

	while (low < n) {
		unsigned int middle = low + (n - low) / 2;

		if (s[middle].file < file)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

void backings_find(const uint64_t *file, struct backing **found, unsigned int n)
{
	struct sought sought[BACKINGS_FIND_MAX];
	struct backing *b;

	assert(n <= BACKINGS_FIND_MAX);
	memset(found, 0, n * sizeof(*found));
	for (unsigned int i = 0; i < n; i++)
		sought[i] = (struct sought){.file = file[i], .at = i};
	qsort(sought, n, sizeof(*sought), by_file);
	lock_take(&all.lock);
	TAILQ_FOREACH(b, &all.open, link)
		for (unsigned int i = lowest(sought, n, b->file);
		     i < n && sought[i].file == b->file; i++)
			if (found[sought[i].at] == NULL)
				found[sought[i].at] = backing_ref(b);
	lock_drop(&all.lock);
}
