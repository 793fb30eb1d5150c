/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a read brings along. See first_read.h. */
#include "readahead/first_read.h"

#include "readahead/file_begin.h"

/* A first read is multiplied by this where it is at most so small a part of the window. */
#define TINY_PART   32
#define TINY_TIMES  4
#define SMALL_PART  4
#define SMALL_TIMES 2

/* The kernel's first window, of WINDOW at most, for a read of R's length. */
static uint64_t initial(const struct first_read *r, uint64_t window)
{
	uint64_t len = 4096;

	while (len < r->len)
		len *= 2;
	if (len <= window / TINY_PART)
		return len * TINY_TIMES;
	return len <= window / SMALL_PART ? len * SMALL_TIMES : window;
}

/* ... and with it its reader has asked for so much, in whichever order, that it brings the rest. */
static bool brings_rest(const struct first_read *r)
{
	return first_read_is_of_first(r) && (uint64_t)r->len * r->count > FIRST_READS / 4;
}

/* What one at the end of its file brings from its offset on. */
static uint64_t to_end(const struct first_read *r)
{
	uint64_t rest = r->size - r->offset;

	return first_read_ends(r) && rest <= r->window && rest > r->len ? rest : r->len;
}

/* What the second one of a run elsewhere brings. */
static uint64_t elsewhere(const struct first_read *r, uint64_t window)
{
	uint64_t want = initial(r, window), rest = r->size - r->offset;

	if (want > rest)
		want = rest;
	return want > r->len ? want : r->len;
}

/* Bytes from its offset on that its reader will come to: all of them, where that takes no longer than a seek. */
static uint64_t to_come(const struct first_read *r)
{
	uint64_t most = r->seek > FIRST_READS ? r->seek : FIRST_READS, to = r->comes_to;

	if (most > FILE_MARK_LAST)
		most = FILE_MARK_LAST;
	if (r->window < FIRST_READ_WINDOW || (r->second && !first_read_begins(r)))
		return 0;
	if (to > r->size)
		to = r->size;
	if (to > most)
		to = FIRST_READS;
	return to > r->offset ? to - r->offset : 0;
}

/* What it brings as the kernel would: no more of a stream than by default. */
static uint64_t in_window(const struct first_read *r)
{
	uint64_t window = r->window, most, want;
	bool rest;

	if (r->followed && window > FIRST_READ_WINDOW)
		window = FIRST_READ_WINDOW;
	if (r->len >= window || r->offset >= r->size)
		return r->len;
	if (!first_read_begins(r))
		return r->second ? elsewhere(r, window) : to_end(r);
	rest = brings_rest(r);
	most = rest || (r->followed && first_read_is_of_first(r)) ? FIRST_READS - r->offset
								  : window;
	want = rest ? most : r->offset + initial(r, r->window);
	if (want > most)
		want = most;
	if (want > r->size - r->offset)
		want = r->size - r->offset;
	return want > r->len ? want : r->len;
}

uint64_t first_read_length(const struct first_read *r)
{
	uint64_t want = in_window(r), come = to_come(r);

	return come > want ? come : want;
}

uint64_t first_read_before(const struct first_read *r)
{
	uint64_t most = first_read_tail(r->len, r->window, r->seek), rest = r->size - r->offset;

	if (first_read_begins(r))
		return r->missing && first_read_is_of_first(r) ? r->offset : 0;
	if (!first_read_ends(r) || rest >= most)
		return 0;
	return most - rest < r->offset ? most - rest : r->offset;
}
