/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The states of blocks.h: two flags, and the number of reads under way above them. */
#include "blocks.h"

#include <stdlib.h>

enum { WRITTEN = 1, WRITING = 2, READING = 4 };

int blocks_init(struct blocks *b, uint32_t count)
{
	b->count = count;
	b->state = calloc(count, 1);
	return b->state ? 0 : -1;
}

void blocks_free(struct blocks *b)
{
	free(b->state);
	b->state = NULL;
}

static bool usable(uint8_t state, bool write)
{
	return write ? state < WRITING : !(state & WRITING);
}

uint32_t blocks_take(struct blocks *b, uint32_t wanted, bool write)
{
	while (!usable(b->state[wanted], write))
		wanted = wanted + 1 < b->count ? wanted + 1 : 0;
	b->state[wanted] += write ? WRITING : READING;
	return wanted;
}

void blocks_give(struct blocks *b, uint32_t block, bool write)
{
	b->state[block] -= write ? WRITING : READING;
	if (write)
		b->state[block] |= WRITTEN;
}

bool blocks_written(const struct blocks *b, uint64_t block)
{
	return b->state[block] & WRITTEN;
}
