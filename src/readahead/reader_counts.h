/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Small counts of what readers did (file_begin.h, file_end.h), without a lock: two changes at once may be one. Of their
 * shares it makes no difference.
 */
#ifndef READAHEAD_READER_COUNTS_H
#define READAHEAD_READER_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

static inline uint32_t reader_count(const _Atomic uint16_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static inline void reader_count_set(_Atomic uint16_t *n, uint32_t value)
{
	atomic_store_explicit(n, (uint16_t)value, memory_order_relaxed);
}

/* One more, up to MOST. */
static inline void reader_count_more(_Atomic uint16_t *n, uint32_t most)
{
	uint32_t now = reader_count(n);

	reader_count_set(n, now < most ? now + 1 : most);
}

/* What is old counts half. */
static inline void reader_count_halve(_Atomic uint16_t *n)
{
	reader_count_set(n, reader_count(n) / 2);
}

#endif
