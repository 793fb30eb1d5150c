/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A list of what was allocated. See blocks.h. */
#include "blocks.h"

#include <stdlib.h>

struct block {
	LIST_ENTRY(block) link;
	max_align_t memory[];
};

void *block_new(struct blocks *all, size_t size)
{
	struct block *b = calloc(1, sizeof(*b) + size);

	if (!b)
		abort();
	LIST_INSERT_HEAD(all, b, link);
	return b->memory;
}

void block_free(void *memory)
{
	struct block *b = (struct block *)((char *)memory - offsetof(struct block, memory));

	LIST_REMOVE(b, link);
	free(b);
}

void blocks_fini(struct blocks *all)
{
	while (!LIST_EMPTY(all))
		block_free(LIST_FIRST(all)->memory);
}
