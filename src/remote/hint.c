/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What went into a client's cache lately. See hint.h. */
#include "remote/hint.h"

#include <string.h>

void hint_init(struct hint *h)
{
	lock_init(&h->lock, LOCK_LEAF);
}

void hint_fini(struct hint *h)
{
	lock_fini(&h->lock);
}

/* Whether [offset, offset + len), rounded up to a block, ends where numbers do or before. */
static bool is_range(uint64_t offset, uint64_t len)
{
	return len <= UINT64_MAX - HINT_BLOCK && offset <= UINT64_MAX - HINT_BLOCK - len;
}

/* Where the segment that has the block FROM keeps its place. */
static struct hint_segment *segment_of(struct hint *h, uint64_t block)
{
	return &h->segment[block / HINT_BLOCKS % HINT_SEGMENTS];
}

/* Bits of the blocks [from, end) that are in the segment of FROM. */
static uint32_t bits(uint64_t from, uint64_t end)
{
	uint64_t first = from % HINT_BLOCKS, left = end - from;
	uint64_t n = left < HINT_BLOCKS - first ? left : HINT_BLOCKS - first;

	return (uint32_t)(((UINT64_C(1) << n) - 1) << first);
}

/* The first block of the segment behind that of BLOCK. */
static uint64_t next_segment(uint64_t block)
{
	return (block / HINT_BLOCKS + 1) * HINT_BLOCKS;
}

static void add(struct hint_segment *s, uint64_t index, uint32_t blocks, uint64_t brought)
{
	if (s->index != index)
		*s = (struct hint_segment){.index = index};
	s->blocks |= blocks;
	s->stamp = brought;
}

void hint_add(struct hint *h, uint64_t offset, uint64_t len, bool end, uint64_t brought)
{
	uint64_t from = (offset + HINT_BLOCK - 1) / HINT_BLOCK, upto = (offset + len) / HINT_BLOCK;

	if (!is_range(offset, len))
		return;
	if (end && (offset + len) % HINT_BLOCK)
		upto++;
	lock_take(&h->lock);
	for (uint64_t at = from; at < upto; at = next_segment(at))
		add(segment_of(h, at), at / HINT_BLOCKS, bits(at, upto), brought);
	lock_drop(&h->lock);
}

static bool has(const struct hint_segment *s, uint64_t index, uint32_t blocks, uint64_t brought,
		uint64_t capacity)
{
	return s->index == index && (s->blocks & blocks) == blocks &&
	       (brought < s->stamp || brought - s->stamp <= capacity);
}

bool hint_has(struct hint *h, uint64_t offset, uint64_t len, uint64_t brought, uint64_t capacity)
{
	uint64_t from = offset / HINT_BLOCK, upto = (offset + len + HINT_BLOCK - 1) / HINT_BLOCK;
	bool all = is_range(offset, len);

	lock_take(&h->lock);
	for (uint64_t at = from; all && at < upto; at = next_segment(at))
		all = has(segment_of(h, at), at / HINT_BLOCKS, bits(at, upto), brought, capacity);
	lock_drop(&h->lock);
	return all;
}

void hint_drop(struct hint *h, uint64_t offset, uint64_t len)
{
	uint64_t from = offset / HINT_BLOCK,
		 end = len > UINT64_MAX - offset ? UINT64_MAX : offset + len;
	uint64_t upto = end / HINT_BLOCK + (end % HINT_BLOCK != 0);

	lock_take(&h->lock);
	for (int i = 0; i < HINT_SEGMENTS; i++) {
		struct hint_segment *s = &h->segment[i];
		uint64_t first = s->index * HINT_BLOCKS, last = first + HINT_BLOCKS;
		uint64_t at = from > first ? from : first, to = upto < last ? upto : last;

		if (at < to)
			s->blocks &= ~bits(at, to);
	}
	lock_drop(&h->lock);
}
