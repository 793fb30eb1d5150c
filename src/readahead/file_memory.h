/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What only some of a table's files have, so that what all of them take has a bound: a memory, counted in the
 * table. Any thread, under any lock.
 */
#ifndef READAHEAD_FILE_MEMORY_H
#define READAHEAD_FILE_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* SIZE bytes, zero, counted in *COUNT; NULL: there are MOST, or no memory. */
static inline void *file_memory_new(_Atomic uint32_t *count, uint32_t most, size_t size)
{
	void *memory = NULL;

	if (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) < most)
		memory = calloc(1, size);
	if (memory == NULL)
		atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
	return memory;
}

/* NULL does nothing. */
static inline void file_memory_free(_Atomic uint32_t *count, void *memory)
{
	if (memory == NULL)
		return;
	free(memory);
	atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
}

#endif
