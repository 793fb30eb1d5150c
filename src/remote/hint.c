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

/* By the golden ratio: of some 50 neighbours each has another set, and so have those at any other distance, about. */
static struct hint_segment *set_of(struct hint *h, uint64_t index)
{
	uint64_t mixed = index * UINT64_C(0x9e3779b97f4a7c15);

	return h->segment[mixed / (UINT64_MAX / HINT_SETS + 1)];
}

/* Where the segment INDEX is remembered; NULL: it is not. */
static struct hint_segment *find(struct hint *h, uint64_t index)
{
	struct hint_segment *set = set_of(h, index);

	for (int i = 0; i < HINT_WAYS; i++)
		if (set[i].index == index && set[i].blocks)
			return &set[i];
	return NULL;
}

/* ... or could be: a free place, or the oldest. */
static struct hint_segment *place_for(struct hint *h, uint64_t index)
{
	struct hint_segment *set = set_of(h, index), *oldest = set;

	for (int i = 0; i < HINT_WAYS; i++) {
		if (!set[i].blocks)
			return &set[i];
		if (set[i].stamp < oldest->stamp)
			oldest = &set[i];
	}
	return oldest;
}

/* Bits of the blocks [from, end) that are in the segment of FROM. */
static uint64_t bits(uint64_t from, uint64_t end)
{
	uint64_t first = from % HINT_BLOCKS, left = end - from;
	uint64_t n = left < HINT_BLOCKS - first ? left : HINT_BLOCKS - first;

	return (n < HINT_BLOCKS ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0)) << first;
}

/* The first block of the segment behind that of BLOCK. */
static uint64_t next_segment(uint64_t block)
{
	return (block / HINT_BLOCKS + 1) * HINT_BLOCKS;
}

static void add(struct hint *h, uint64_t index, uint64_t blocks, uint64_t brought)
{
	struct hint_segment *s = find(h, index);

	if (s == NULL) {
		s = place_for(h, index);
		*s = (struct hint_segment){.index = index};
	}
	s->blocks |= blocks;
	s->stamp = brought;
}

/* The blocks [from, upto). */
static void add_blocks(struct hint *h, uint64_t from, uint64_t upto, uint64_t brought)
{
	lock_take(&h->lock);
	for (uint64_t at = from; at < upto; at = next_segment(at))
		add(h, at / HINT_BLOCKS, bits(at, upto), brought);
	lock_drop(&h->lock);
}

void hint_add(struct hint *h, uint64_t offset, uint64_t len, bool end, uint64_t brought)
{
	uint64_t from = (offset + HINT_BLOCK - 1) / HINT_BLOCK, upto = (offset + len) / HINT_BLOCK;

	if (!is_range(offset, len))
		return;
	if (end && (offset + len) % HINT_BLOCK)
		upto++;
	add_blocks(h, from, upto, brought);
}

void hint_add_ahead(struct hint *h, uint64_t offset, uint64_t len, uint64_t brought)
{
	if (is_range(offset, len))
		add_blocks(h, offset / HINT_BLOCK, (offset + len + HINT_BLOCK - 1) / HINT_BLOCK,
			   brought);
}

static bool has(struct hint *h, uint64_t index, uint64_t blocks, uint64_t brought,
		uint64_t capacity)
{
	const struct hint_segment *s = find(h, index);

	return s != NULL && (s->blocks & blocks) == blocks &&
	       (brought < s->stamp || brought - s->stamp <= capacity);
}

bool hint_has(struct hint *h, uint64_t offset, uint64_t len, uint64_t brought, uint64_t capacity)
{
	uint64_t from = offset / HINT_BLOCK, upto = (offset + len + HINT_BLOCK - 1) / HINT_BLOCK;
	bool all = is_range(offset, len);

	lock_take(&h->lock);
	for (uint64_t at = from; all && at < upto; at = next_segment(at))
		all = has(h, at / HINT_BLOCKS, bits(at, upto), brought, capacity);
	lock_drop(&h->lock);
	return all;
}

/* The blocks [from, upto), which are of a few segments. */
static void drop_few(struct hint *h, uint64_t from, uint64_t upto)
{
	for (uint64_t at = from; at < upto; at = next_segment(at)) {
		struct hint_segment *s = find(h, at / HINT_BLOCKS);

		if (s != NULL)
			s->blocks &= ~bits(at, upto);
	}
}

/* ... or of any number. */
static void drop_many(struct hint *h, uint64_t from, uint64_t upto)
{
	for (int i = 0; i < HINT_SEGMENTS; i++) {
		struct hint_segment *s = &h->segment[i / HINT_WAYS][i % HINT_WAYS];
		uint64_t first = s->index * HINT_BLOCKS, last = first + HINT_BLOCKS;
		uint64_t at = from > first ? from : first, to = upto < last ? upto : last;

		if (at < to)
			s->blocks &= ~bits(at, to);
	}
}

void hint_drop(struct hint *h, uint64_t offset, uint64_t len)
{
	uint64_t from = offset / HINT_BLOCK,
		 end = len > UINT64_MAX - offset ? UINT64_MAX : offset + len;
	uint64_t upto = end / HINT_BLOCK + (end % HINT_BLOCK != 0);

	lock_take(&h->lock);
	if (upto - from < HINT_SETS / 2 * HINT_BLOCKS)
		drop_few(h, from, upto);
	else
		drop_many(h, from, upto);
	lock_drop(&h->lock);
}
