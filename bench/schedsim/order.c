/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Readers within one file that go neither forwards nor anywhere: the orders of nfsbench. */
#include <stdlib.h>

#include "nfsbench/pattern.h"
#include "sim.h"

/* A row of the matrix that tiles are of (bytes). */
#define ROW MIB

bool order_make(struct sim_client *c, unsigned int index, unsigned int n)
{
	uint32_t blocks = (uint32_t)(c->kind.size / c->kind.request);

	c->order = malloc(blocks * sizeof(*c->order));
	if (!c->order)
		return false;
	if (c->kind.work == SIM_BACKWARD)
		pattern_backward(c->order, blocks);
	else if (c->kind.work == SIM_SHARED)
		pattern_sequential(c->order, blocks, index * blocks / n);
	else if (c->kind.work == SIM_TILES)
		blocks = pattern_tiles(c->order, blocks, (uint32_t)(ROW / c->kind.request),
				       c->kind.parts);
	else
		blocks = pattern_cursors(c->order, blocks, c->kind.parts, index, n);
	c->kind.count = blocks;
	return true;
}
