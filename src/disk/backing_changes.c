/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A handle's file changes: what is known of it is void. See backing_slot.h. */
#include "disk/backing_slot.h"

#include <assert.h>

/* The same as backing_peek(), while BY more changes of the file are under way. */
static struct backing *peek_changing(struct backing_slot *slot, int by)
{
	struct backing *b;

	lock_take(&slot->lock);
	assert(by >= 0 || slot->changes > 0);
	slot->changes += (uint32_t)by;
	b = slot->backing;
	if (b) {
		extent_map_set_changes(&b->extents, slot->changes);
		backing_hold(b);
	}
	lock_drop(&slot->lock);
	return b;
}

struct backing *backing_peek(struct backing_slot *slot)
{
	return peek_changing(slot, 0);
}

/* Gives B back, a hold or NULL. */
static void changed(struct backing *b, uint64_t offset, uint64_t len)
{
	if (!b)
		return;
	backing_changed(b, offset, len); /* may wait: not under the slot's lock */
	backing_release(b);
}

void backing_invalidate(struct backing_slot *slot, uint64_t offset, uint64_t len)
{
	changed(backing_peek(slot), offset, len);
}

void backing_change_begins(struct backing_slot *slot, uint64_t offset, uint64_t len)
{
	changed(peek_changing(slot, 1), offset, len);
}

void backing_change_ends(struct backing_slot *slot, uint64_t offset, uint64_t len)
{
	changed(peek_changing(slot, -1), offset, len);
}
