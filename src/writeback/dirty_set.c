/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Dirty ranges of a file. See dirty_set.h. */
#include "writeback/dirty_set.h"

#include <string.h>

static uint64_t end_of(uint64_t offset, uint64_t len)
{
	return len > UINT64_MAX - offset ? UINT64_MAX : offset + len;
}

static void delete_range(struct dirty_set *s, uint32_t i)
{
	memmove(&s->range[i], &s->range[i + 1], (--s->n - i) * sizeof(s->range[0]));
}

static void insert_range(struct dirty_set *s, uint32_t i, const struct dirty_range *r)
{
	memmove(&s->range[i + 1], &s->range[i], (s->n++ - i) * sizeof(s->range[0]));
	s->range[i] = *r;
}

/* A and B, of one range of LEN bytes: what may be dirty of it. */
static uint64_t sum_within(uint64_t a, uint64_t b, uint64_t len)
{
	return b > len || a > len - b ? len : a + b;
}

/*
 * The newest write at the end of A and B together. What is written again within is no reason to take the rest for
 * younger; nor may what was written backward pass for younger than its oldest write, wherever that is.
 */
static uint64_t newest_of(const struct dirty_range *a, const struct dirty_range *b)
{
	const struct dirty_range *front = b->offset < a->offset ? b : a, *back = front == a ? b : a;

	if (back == b && b->end <= a->end)
		return a->newest;
	if (front->since > back->since)
		return back->since;
	return a->newest > b->newest ? a->newest : b->newest;
}

/* A, which touches B or is near it, swallows it: RUNS separate writes more. */
static void swallow(struct dirty_range *a, const struct dirty_range *b, uint32_t runs)
{
	a->newest = newest_of(a, b);
	if (b->offset < a->offset)
		a->offset = b->offset;
	if (b->end > a->end)
		a->end = b->end;
	if (b->since < a->since)
		a->since = b->since;
	a->bytes = sum_within(a->bytes, b->bytes, a->end - a->offset);
	a->runs += runs;
}

/* The range I swallows the one behind it. */
static void join_next(struct dirty_set *s, uint32_t i)
{
	swallow(&s->range[i], &s->range[i + 1], s->range[i + 1].runs);
	delete_range(s, i + 1);
}

/* The one with the least to write, and of such the oldest, which the kernel writes first. */
static uint32_t smallest(const struct dirty_set *s)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < s->n; i++) {
		const struct dirty_range *r = &s->range[i], *least = &s->range[at];

		if (r->bytes < least->bytes ||
		    (r->bytes == least->bytes && r->since < least->since))
			at = i;
	}
	return at;
}

/* Room for one more: the two nearest become one, or the smallest is left to the kernel. */
static void make_room(struct dirty_set *s)
{
	uint64_t gap, least = UINT64_MAX;
	uint32_t at = 0;

	for (uint32_t i = 0; i + 1 < s->n; i++) {
		gap = s->range[i + 1].offset - s->range[i].end;
		if (gap < least) {
			least = gap;
			at = i;
		}
	}
	if (least <= DIRTY_GAP)
		join_next(s, at);
	else
		delete_range(s, smallest(s));
}

static void add_range(struct dirty_set *s, const struct dirty_range *r)
{
	uint32_t i = 0;

	while (i < s->n && s->range[i].end < r->offset)
		i++;
	if (i < s->n && s->range[i].offset <= r->end) {
		/* it touches: a continuation or a rewrite is no separate run */
		swallow(&s->range[i], r, r->runs - 1);
		while (i + 1 < s->n && s->range[i + 1].offset <= s->range[i].end)
			join_next(s, i);
		return;
	}
	if (s->n == DIRTY_RANGES) {
		make_room(s);
		add_range(s, r); /* places have moved */
		return;
	}
	insert_range(s, i, r);
}

void dirty_add(struct dirty_set *s, uint64_t offset, uint64_t len, uint64_t now)
{
	struct dirty_range r = {.offset = offset,
				.end = end_of(offset, len),
				.since = now,
				.newest = now,
				.runs = 1};

	r.bytes = r.end - r.offset;
	if (r.bytes)
		add_range(s, &r);
}

/* Of RUNS in a range of LEN bytes, those in PART bytes: at least one. */
static uint32_t runs_in(const struct dirty_range *r, uint64_t part)
{
	double share = (double)part / (double)(r->end - r->offset);
	uint32_t runs = (uint32_t)(share * r->runs + 0.5);

	return runs ? runs : 1;
}

/* Since when (ns) R is dirty at OFFSET, if it was written from front to end. */
static uint64_t since_at(const struct dirty_range *r, uint64_t offset)
{
	double part = (double)(offset - r->offset) / (double)(r->end - r->offset);

	return r->since + (uint64_t)((double)(r->newest - r->since) * part);
}

static struct dirty_range cut(const struct dirty_range *r, uint64_t offset, uint64_t end)
{
	struct dirty_range part = {.offset = offset,
				   .end = end,
				   .since = since_at(r, offset),
				   .newest = since_at(r, end)};
	uint64_t len = end - offset, whole = r->end - r->offset;
	uint64_t clean = (uint64_t)((double)(whole - r->bytes) * ((double)len / (double)whole));

	part.runs = runs_in(r, len);
	part.bytes = clean < len ? len - clean : 1;
	return part;
}

void dirty_remove(struct dirty_set *s, uint64_t offset, uint64_t len)
{
	uint64_t end = end_of(offset, len);

	for (uint32_t i = 0; i < s->n; i++) {
		struct dirty_range old = s->range[i];

		if (old.end <= offset || old.offset >= end)
			continue;
		if (old.offset < offset && end < old.end) { /* out of its middle */
			if (s->n == DIRTY_RANGES)
				return; /* no room to say so: it stays as dirty as it was */
			s->range[i] = cut(&old, old.offset, offset);
			old = cut(&old, end, old.end);
			insert_range(s, i + 1, &old);
			return;
		}
		if (old.offset < offset) {
			s->range[i] = cut(&old, old.offset, offset);
		} else if (end < old.end) {
			s->range[i] = cut(&old, end, old.end);
		} else {
			delete_range(s, i--);
		}
	}
}

void dirty_move(struct dirty_set *from, struct dirty_set *to, uint64_t offset, uint64_t len)
{
	uint64_t end = end_of(offset, len);

	for (uint32_t i = 0; i < from->n; i++) {
		const struct dirty_range *r = &from->range[i];
		uint64_t a = r->offset > offset ? r->offset : offset;
		uint64_t b = r->end < end ? r->end : end;

		if (a < b) {
			struct dirty_range part = cut(r, a, b);

			add_range(to, &part);
		}
	}
	dirty_remove(from, offset, len);
}

/* The range to go on with: the first that ends beyond the cursor, else the first. */
static uint32_t next_range(const struct dirty_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->range[i].end > s->cursor)
			return i;
	return 0;
}

bool dirty_take(struct dirty_set *s, uint64_t max, uint32_t runs, struct dirty_range *step)
{
	uint32_t i = next_range(s);
	struct dirty_range *r = &s->range[i];
	uint64_t len;

	if (!s->n)
		return false;
	len = r->end - r->offset;
	if (r->runs > runs && (double)len * runs / r->runs < (double)max)
		max = (uint64_t)((double)len * runs / r->runs) + 1;
	if (len <= max) {
		*step = *r;
		delete_range(s, i);
	} else {
		*step = cut(r, r->offset, r->offset + max);
		*r = cut(r, r->offset + max, r->end);
	}
	s->cursor = step->end;
	return true;
}

uint64_t dirty_where(const struct dirty_set *s)
{
	return s->range[next_range(s)].offset;
}

uint64_t dirty_longest(const struct dirty_set *s)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->range[i].bytes > longest)
			longest = s->range[i].bytes;
	return longest;
}

uint64_t dirty_bytes(const struct dirty_set *s)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->n; i++)
		bytes += s->range[i].bytes;
	return bytes;
}

uint64_t dirty_since(const struct dirty_set *s)
{
	uint64_t since = UINT64_MAX;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->range[i].since < since)
			since = s->range[i].since;
	return since;
}
