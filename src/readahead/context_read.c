/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a READ brings along that lies behind what is in memory. See context_read.h. */
#include "readahead/context_read.h"

#include "common/page.h"

/* What is brought is this times what is there. */
#define TIMES 2

/* Bytes before R that must be there, whole pages: one more than it asks for. */
static uint64_t least(const struct context_read *r)
{
	return page_up(r->offset + r->len) - page_down(r->offset) + PAGE_LEAST;
}

/* Whether LEN bytes, whole pages, are there that end FAR before R. */
static bool is_there(const struct context_read *r, uint64_t far, uint64_t len)
{
	return r->is_there(r->arg, page_down(r->offset) - far - len, len);
}

bool context_read_is(const struct context_read *r)
{
	return r->len <= CONTEXT_READ_LEN && r->offset < r->size && r->size - r->offset > r->len &&
	       least(r) <= page_down(r->offset) && is_there(r, 0, least(r));
}

/* Bytes that are there before R, up to MOST, whole pages. */
static uint64_t run_before(const struct context_read *r, uint64_t most)
{
	uint64_t there = least(r), beyond = page_down(most) + PAGE_LEAST;

	while (there + PAGE_LEAST < beyond) {
		uint64_t middle = page_down((there + beyond) / 2);

		if (is_there(r, there, middle - there))
			there = middle;
		else
			beyond = middle;
	}
	return there;
}

uint64_t context_read_length(const struct context_read *r, uint64_t window)
{
	uint64_t most = window < CONTEXT_READ_MAX ? window : CONTEXT_READ_MAX, want;
	uint64_t before = page_down(r->offset);

	if (r->len >= most)
		return r->len;
	want = r->len + TIMES * run_before(r, before < most ? before : most);
	if (want > most)
		want = most;
	if (want > r->size - r->offset)
		want = r->size - r->offset;
	return want;
}
