/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One descriptor of ours: its references, and what is asked of its file. See backing.h. */
#include "disk/backing.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* Unmapped parts of a file get addresses up here, by inode: file order, after everything mapped. */
#define UNMAPPED_BASE (UINT64_C(1) << 62)

/* ---- references -------------------------------------------------------------------------- */

/* Subvolumes that share a disk have the same inode numbers. */
static uint64_t identity(const struct stat *st, const struct device *device)
{
	uint64_t subvolume = st->st_dev == device->dev ? 0 : (uint64_t)st->st_dev;

	return (uint64_t)st->st_ino ^ subvolume * UINT64_C(0x9e3779b97f4a7c15);
}

struct backing *backing_new(int fd, const struct stat *st, struct device *device)
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

struct backing *backing_ref(struct backing *b)
{
	atomic_fetch_add_explicit(&b->uses, 1, memory_order_relaxed);
	return backing_hold(b);
}

/* ---- the file ---------------------------------------------------------------------------- */

bool backing_resident(struct backing *b, uint64_t offset, uint64_t len)
{
	return residency_of(&b->residency, b->fd,
			    atomic_load_explicit(&b->size, memory_order_relaxed), offset, len);
}

/* Of an OFFSET without a place. */
static uint64_t file_order(const struct backing *b, uint64_t offset)
{
	return UNMAPPED_BASE + ((b->file & 0xfffff) << 40) + offset % (UINT64_C(1) << 40);
}

uint64_t backing_block(struct backing *b, uint64_t offset)
{
	uint64_t block;

	if (extent_map_lookup(&b->extents, offset, extent_fetch_fiemap, &b->fd, &block))
		return block;
	return file_order(b, offset);
}

bool backing_written(struct backing *b, uint64_t offset, uint64_t len, uint64_t *block)
{
	return extent_map_written(&b->extents, offset, len, extent_fetch_fiemap, &b->fd, block);
}

uint64_t backing_place(struct backing *b, uint64_t offset)
{
	uint64_t block = backing_block(b, offset), before;

	if (block < UNMAPPED_BASE || !offset)
		return block;
	before = backing_block(b, offset - 1);
	return before < UNMAPPED_BASE ? before + 1 : block;
}

uint64_t backing_place_known(struct backing *b, uint64_t offset)
{
	uint64_t block;

	if (extent_map_peek(&b->extents, offset, &block))
		return block;
	if (offset && extent_map_peek(&b->extents, offset - 1, &block))
		return block + 1;
	return file_order(b, offset);
}

uint64_t backing_refresh_size(struct backing *b)
{
	struct stat st;

	if (!fstat(b->fd, &st))
		atomic_store_explicit(&b->size, (uint64_t)st.st_size, memory_order_relaxed);
	return atomic_load_explicit(&b->size, memory_order_relaxed);
}
