/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Window growth and chunk boundaries. See window.h. */
#include "readahead/window.h"

/* A file longer than this many chunks finishes evenly anyway. */
#define TAIL_CHUNKS 16
/* The last chunk of a medium-sized file is this fraction of one. */
#define TAIL_SHARE 8

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t window_open(const struct window_limits *l, uint32_t penalty)
{
	uint64_t window = l->init >> penalty;

	return window < CHUNK_ALIGN ? CHUNK_ALIGN : min_u64(window, l->max);
}

uint64_t window_grow(const struct window_limits *l, uint64_t window)
{
	return min_u64(window * 2, l->max);
}

uint64_t window_shrink(const struct window_limits *l, uint64_t window)
{
	(void)l;
	return window / 2 < CHUNK_ALIGN ? CHUNK_ALIGN : window / 2;
}

static uint64_t cut(const struct window_limits *l, uint64_t from, uint64_t size)
{
	uint64_t left = size - from, chunk = l->chunk, tail = chunk / TAIL_SHARE;

	if (left <= chunk + chunk / 2)
		return left > chunk / 2 && l->streams > 1 && size >= 2 * chunk &&
				       size <= TAIL_CHUNKS * chunk
			       ? left - tail
			       : left;
	if (l->streams > 1 && size >= 2 * chunk && size <= TAIL_CHUNKS * chunk) {
		/* even chunks, of about that size, before the tail */
		uint64_t n = (left - tail + chunk / 2) / chunk;

		chunk = (left - tail + n - 1) / n;
	}
	chunk += CHUNK_ALIGN - 1 - (from + chunk - 1) % CHUNK_ALIGN;
	return min_u64(chunk, left);
}

uint64_t window_next_chunk(const struct window_limits *l, uint64_t window, uint64_t read_to,
			   uint64_t from, uint64_t size)
{
	uint64_t ahead = from > read_to ? from - read_to : 0, chunk;

	if (from >= size)
		return 0;
	chunk = cut(l, from, size);
	if (window < chunk)
		chunk = window + CHUNK_ALIGN - 1 - (from + window - 1) % CHUNK_ALIGN;
	chunk = min_u64(chunk, size - from);
	/* a whole chunk must fit: crumbs cost a seek each */
	return ahead + chunk <= (window > chunk ? window : chunk) ? chunk : 0;
}
