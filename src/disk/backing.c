/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What all backings have: references, and the way to what their kind does. See backing.h. */
#include "disk/backing.h"

#include <assert.h>
#include <stdlib.h>

#include "common/clock.h"

/* Unmapped parts of a file get addresses up here, by inode: file order, after everything mapped. */
#define UNMAPPED_BASE (UINT64_C(1) << 62)

/* ---- references -------------------------------------------------------------------------- */

void backing_init(struct backing *b, const struct backing_ops *ops, struct device *device,
		  uint64_t file, uint64_t size)
{
	b->ops = ops;
	b->file = file & BACKING_FILE_MAX;
	b->device = device;
	atomic_fetch_add(&device->backings, 1);
	atomic_init(&b->holds, 2);
	atomic_init(&b->uses, 2);
	atomic_init(&b->size, size);
	extent_map_init(&b->extents);
	b->extents.askers = &device->asking;
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
	if (b->ops->fini != NULL)
		b->ops->fini(b);
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
	if (before == 1)
		b->ops->close(b);
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
	return b->ops->resident(b, offset, len);
}

/* Of an OFFSET without a place. */
static uint64_t file_order(const struct backing *b, uint64_t offset)
{
	return UNMAPPED_BASE + ((b->file & 0xfffff) << 40) + offset % (UINT64_C(1) << 40);
}

static uint64_t place_of(struct backing *b, uint64_t offset, bool if_few)
{
	uint64_t block;

	return b->ops->block(b, offset, if_few, &block) ? block : file_order(b, offset);
}

uint64_t backing_block(struct backing *b, uint64_t offset)
{
	return place_of(b, offset, false);
}

uint64_t backing_block_if_few(struct backing *b, uint64_t offset)
{
	return place_of(b, offset, true);
}

bool backing_written(struct backing *b, uint64_t offset, uint64_t len, struct extent_span *span)
{
	uint64_t block = file_order(b, offset);

	*span = (struct extent_span){.block = block, .end = block + len, .pieces = 1};
	return b->ops->written(b, offset, len, span);
}

uint64_t backing_reach(struct backing *b, uint64_t offset, uint64_t turn, uint64_t seek)
{
	return b->ops->reach != NULL ? b->ops->reach(b, offset, turn, seek, false) : turn;
}

uint64_t backing_reach_if_few(struct backing *b, uint64_t offset, uint64_t turn, uint64_t seek)
{
	return b->ops->reach != NULL ? b->ops->reach(b, offset, turn, seek, true) : turn;
}

uint64_t backing_whole(struct backing *b, uint64_t offset, uint64_t len)
{
	return b->ops->whole != NULL ? b->ops->whole(b, offset, len) : len;
}

int backing_in_order(struct backing *b, uint64_t offset, uint64_t len, struct extent *pieces)
{
	return b->ops->in_order != NULL ? b->ops->in_order(b, offset, len, pieces) : 0;
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

	if (b->ops->place_known(b, offset, &block))
		return block;
	if (offset && b->ops->place_known(b, offset - 1, &block))
		return block + 1;
	return file_order(b, offset);
}

uint64_t backing_refresh_size(struct backing *b)
{
	b->ops->refresh_size(b);
	return atomic_load_explicit(&b->size, memory_order_relaxed);
}

bool backing_is_removed(struct backing *b)
{
	return b->ops->is_removed(b);
}

void backing_changed(struct backing *b, uint64_t offset, uint64_t len)
{
	hot_forget(&b->hot); /* the next READ counts as access of what was written */
	b->ops->changed(b, offset, len);
}

bool backing_begins(const struct backing *b)
{
	return b->ops->begin != NULL;
}

bool backing_prefetches(struct backing *b, uint64_t now, bool takes)
{
	return b->ops->prefetches == NULL || b->ops->prefetches(b, now, takes);
}

void backing_answered(struct backing *b, uint64_t offset, uint64_t len, bool resident,
		      uint64_t took)
{
	if (b->ops->answered != NULL)
		b->ops->answered(b, offset, len, resident, took);
}

struct overdue *backing_asks(struct backing *b, struct overdue_read *r)
{
	return b->ops->asks != NULL ? b->ops->asks(b, r, clock_now()) : NULL;
}

void backing_show(struct backing *b, const struct use_once_attrs *a)
{
	if (b == NULL)
		return;
	if (b->ops->shown != NULL)
		b->ops->shown(b, a);
	backing_release(b);
}
