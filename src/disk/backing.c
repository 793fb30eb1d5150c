/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Our own descriptors: opening, references, their bound. See backing.h. */
#include "disk/backing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

/* Unmapped parts of a file get addresses up here, by inode: file order, after everything mapped. */
#define UNMAPPED_BASE (UINT64_C(1) << 62)
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

void backing_set_limits(uint32_t max, uint64_t idle)
{
	atomic_store(&all.max, max);
	atomic_store(&all.idle, idle);
}

uint32_t backing_count(void)
{
	return atomic_load(&all.n);
}

/* ---- the file ---------------------------------------------------------------------------- */

bool backing_resident(struct backing *b, uint64_t offset, uint64_t len)
{
	return residency_of(&b->residency, b->fd,
			    atomic_load_explicit(&b->size, memory_order_relaxed), offset, len);
}

uint64_t backing_block(struct backing *b, uint64_t offset)
{
	uint64_t block;

	if (extent_map_lookup(&b->extents, offset, extent_fetch_fiemap, &b->fd, &block))
		return block;
	return UNMAPPED_BASE + ((b->file & 0xfffff) << 40) + offset % (UINT64_C(1) << 40);
}

uint64_t backing_place(struct backing *b, uint64_t offset)
{
	uint64_t block = backing_block(b, offset), before;

	if (block < UNMAPPED_BASE || !offset)
		return block;
	before = backing_block(b, offset - 1);
	return before < UNMAPPED_BASE ? before + 1 : block;
}

uint64_t backing_refresh_size(struct backing *b)
{
	struct stat st;

	if (!fstat(b->fd, &st))
		atomic_store_explicit(&b->size, (uint64_t)st.st_size, memory_order_relaxed);
	return atomic_load_explicit(&b->size, memory_order_relaxed);
}

/* ---- references -------------------------------------------------------------------------- */

struct backing *backing_hold(struct backing *b)
{
	unsigned int before = atomic_fetch_add_explicit(&b->holds, 1, memory_order_relaxed);

	assert(before > 0);
	(void)before;
	return b;
}

void backing_release(struct backing *b)
{
	if (atomic_fetch_sub_explicit(&b->holds, 1, memory_order_acq_rel) != 1)
		return;
	assert(atomic_load(&b->uses) == 0 && b->slot == NULL);
	extent_map_fini(&b->extents);
	atomic_fetch_sub(&b->device->backings, 1);
	free(b);
}

bool backing_use(struct backing *b)
{
	unsigned int uses = atomic_load_explicit(&b->uses, memory_order_relaxed);

	while (uses)
		if (atomic_compare_exchange_weak(&b->uses, &uses, uses + 1))
			return true;
	return false;
}

void backing_unuse(struct backing *b)
{
	unsigned int before = atomic_fetch_sub_explicit(&b->uses, 1, memory_order_acq_rel);

	assert(before > 0);
	if (before != 1)
		return;
	residency_fini(&b->residency);
	close(b->fd);
}

void backing_put(struct backing *b)
{
	backing_unuse(b);
	backing_release(b);
}

/* Another use and hold of B, which has one. */
static struct backing *backing_ref(struct backing *b)
{
	atomic_fetch_add_explicit(&b->uses, 1, memory_order_relaxed);
	return backing_hold(b);
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Subvolumes that share a disk have the same inode numbers. */
static uint64_t identity(const struct stat *st, const struct device *device)
{
	uint64_t subvolume = st->st_dev == device->dev ? 0 : (uint64_t)st->st_dev;

	return (uint64_t)st->st_ino ^ subvolume * UINT64_C(0x9e3779b97f4a7c15);
}

/* A backing of FD, which it takes, with a use for the slot and one for the caller. */
static struct backing *backing_new(int fd, const struct stat *st, struct device *device)
{
	struct backing *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->fd = fd;
	b->file = identity(st, device);
	b->device = device;
	atomic_fetch_add(&device->backings, 1);
	atomic_init(&b->holds, 2);
	atomic_init(&b->uses, 2);
	atomic_init(&b->size, (uint64_t)st->st_size);
	residency_init(&b->residency);
	extent_map_init(&b->extents);
	return b;
}

static struct backing *open_backing(struct backing_slot *slot, struct export_io *io, uint64_t now,
				    int *err)
{
	struct device *device;
	struct backing *b = NULL;
	struct stat st;
	int fd = slot->open(slot, O_RDONLY, err);

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

/* ---- the list of open ones --------------------------------------------------------------- */

static void unlink_backing(struct backing *b)
{
	lock_assert_held(&all.lock);
	TAILQ_REMOVE(&all.open, b, link);
	all.n--;
	b->slot = NULL;
}

/*
 * Takes B, which is linked, from its slot. False if the handle is dropping it just now: then that
 * thread waits for the list's lock, so the slot cannot go away meanwhile.
 */
static bool steal(struct backing *b)
{
	struct backing_slot *slot = b->slot;
	bool mine;

	lock_assert_held(&all.lock);
	lock_take(&slot->lock);
	mine = slot->backing == b;
	if (mine)
		slot->backing = NULL;
	lock_drop(&slot->lock);
	if (mine) {
		atomic_store(&b->gone, true);
		unlink_backing(b);
	}
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

static void put_all(struct backing_list *list)
{
	struct backing *b;

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
		b->slot = slot;
		TAILQ_INSERT_TAIL(&all.open, b, link);
		all.n++;
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
	slot->backing = NULL;
	slot->open = open;
	slot->key_len = 0;
	slot->file_hash = UINT64_C(0xcbf29ce484222325);
	atomic_init(&slot->not_before, UINT64_MAX);
	if (key == NULL || key_len > BACKING_KEY_MAX)
		return;
	slot->key_len = (uint8_t)key_len;
	memcpy(slot->key, key, key_len);
	for (size_t i = 0; i < key_len; i++) /* FNV-1a */
		slot->file_hash = (slot->file_hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	atomic_store(&slot->not_before, 0);
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

struct backing *backing_peek(struct backing_slot *slot)
{
	struct backing *b;

	lock_take(&slot->lock);
	b = slot->backing;
	if (b)
		backing_hold(b);
	lock_drop(&slot->lock);
	return b;
}

void backing_invalidate(struct backing_slot *slot)
{
	struct backing *b = backing_peek(slot);

	if (!b)
		return;
	extent_map_invalidate(&b->extents); /* may wait for FIEMAP: not under the slot's lock */
	backing_release(b);
}

void backing_drop(struct backing_slot *slot)
{
	struct backing *b;

	lock_take(&slot->lock);
	b = slot->backing;
	slot->backing = NULL;
	lock_drop(&slot->lock);
	if (!b)
		return;
	atomic_store(&b->gone, true);
	lock_take(&all.lock);
	unlink_backing(b);
	lock_drop(&all.lock);
	backing_put(b);
}

/* ---- closing what nobody needs ----------------------------------------------------------- */

static bool is_idle(const struct backing *b, uint64_t now)
{
	uint64_t used = atomic_load_explicit(&b->used, memory_order_relaxed);

	return now > used && now - used > atomic_load(&all.idle);
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

/* Whether the file of B, of which the caller has a use, has lost its last name. */
static bool is_removed(const struct backing *b)
{
	struct stat st;

	return !fstat(b->fd, &st) && st.st_nlink == 0;
}

/* Gives the uses of SOME back; removed files go to OUT. */
static void close_removed(struct backing **some, unsigned int n, struct backing_list *out)
{
	for (unsigned int i = 0; i < n; i++) {
		struct backing *b = some[i];

		if (is_removed(b)) {
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
