/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* READs of files that are in memory as a whole, past everything else. See backing_slot.h and hot.h. */
#include "common/clock.h"
#include "common/rcu.h"
#include "disk/backing_slot.h"

/* Readers may find B in its slot, if it is still there. */
static void show_hot(struct backing_slot *slot, struct backing *b)
{
	lock_take(&slot->lock);
	if (slot->backing == b) {
		b->seen_hot = true;
		rcu_publish(slot->hot, b);
	}
	lock_drop(&slot->lock);
}

void backing_found_cached(struct backing_slot *slot, struct backing *b, struct readahead *engine,
			  uint64_t now)
{
	uint64_t took = 0;
	bool whole;

	if (!hot_read(&b->hot, now))
		return;
	whole = backing_resident_whole(b, &took);
	hot_looked(&b->hot, whole, took, now);
	if (!whole)
		return;
	if (engine != NULL)
		readahead_unseen(engine, slot->key, slot->key_len, now);
	show_hot(slot, b);
}

/* Least recently used goes first; to the second will do. */
static void note_use(struct backing *b, uint64_t now)
{
	if (now - atomic_load_explicit(&b->used, memory_order_relaxed) > CLOCK_SECOND)
		atomic_store_explicit(&b->used, now, memory_order_relaxed);
}

size_t backing_read_hot(struct backing_slot *slot, const struct iovec *iov, int n, uint64_t offset,
			uint64_t len, uint64_t now)
{
	struct backing *b;
	size_t got = 0;

	if (__atomic_load_n(&slot->hot, __ATOMIC_RELAXED) == NULL)
		return 0; /* most are not */
	rcu_begin();
	b = rcu_read(slot->hot);
	if (b != NULL && hot_is(&b->hot, now)) {
		got = backing_read_cached(b, iov, n, offset, len);
		if (got != 0)
			note_use(b, now);
		else
			hot_forget(&b->hot);
	}
	rcu_end();
	return got;
}

void backing_cool(struct backing_slot *slot)
{
	struct backing *b = backing_peek(slot);

	if (b == NULL)
		return;
	hot_forget(&b->hot);
	backing_release(b);
}
