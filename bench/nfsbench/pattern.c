/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The orders of pattern.h. */
#include "pattern.h"

#include <stdlib.h>
#include <string.h>

void pattern_sequential(uint32_t *order, uint32_t blocks, uint32_t first)
{
	for (uint32_t i = 0; i < blocks; i++)
		order[i] = (uint32_t)(((uint64_t)first + i) % blocks);
}

static uint32_t component_start(uint32_t blocks, uint32_t stride, uint32_t component)
{
	return (uint32_t)((uint64_t)component * blocks / stride);
}

/* The components `from` to `to` of `n`, in turn. */
static uint32_t components(uint32_t *order, uint32_t blocks, uint32_t n, uint32_t from, uint32_t to)
{
	uint32_t first = component_start(blocks, n, from), end = component_start(blocks, n, to);
	uint32_t filled = 0;

	/* Components differ by one block at most; the shorter ones drop out of the last round. */
	for (uint32_t round = 0; filled < end - first; round++) {
		for (uint32_t c = from; c < to; c++) {
			uint32_t block = component_start(blocks, n, c) + round;

			if (block < component_start(blocks, n, c + 1))
				order[filled++] = block;
		}
	}
	return filled;
}

void pattern_stride(uint32_t *order, uint32_t blocks, uint32_t stride)
{
	components(order, blocks, stride, 0, stride);
}

uint32_t pattern_cursors(uint32_t *order, uint32_t blocks, uint32_t cursors, uint32_t index,
			 uint32_t readers)
{
	return components(order, blocks, cursors, component_start(cursors, readers, index),
			  component_start(cursors, readers, index + 1));
}

void pattern_backward(uint32_t *order, uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		order[i] = blocks - 1 - i;
}

uint32_t pattern_records(uint32_t *order, uint32_t blocks, uint32_t record, uint32_t every)
{
	uint32_t filled = 0;

	for (uint64_t at = 0; at < blocks; at += every)
		for (uint32_t i = 0; i < record && at + i < blocks; i++)
			order[filled++] = (uint32_t)(at + i);
	return filled;
}

static void turn_round(uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t first = order[i];

		order[i] = order[n - 1 - i];
		order[n - 1 - i] = first;
	}
}

void pattern_groups_from_end(uint32_t *order, uint32_t n, uint32_t group)
{
	turn_round(order, n);
	for (uint32_t i = 0; i < n; i += group)
		turn_round(order + i, group);
}

uint32_t pattern_tiles(uint32_t *order, uint32_t blocks, uint32_t row, uint32_t tiles)
{
	uint32_t width = row / tiles, height = blocks / row / tiles, filled = 0;

	for (uint32_t in = 0; in < width * height; in++)
		for (uint32_t tile = 0; tile < tiles * tiles; tile++) {
			uint32_t y = tile / tiles * height + in / width;

			order[filled++] = y * row + tile % tiles * width + in % width;
		}
	return filled;
}

uint32_t pattern_reorder(uint32_t *order, uint32_t blocks, uint32_t percent, uint32_t distance,
			 struct prng *prng)
{
	uint64_t want = (uint64_t)blocks * percent / 100;
	uint64_t tries = 40 * want;
	uint32_t moved = 0;

	pattern_sequential(order, blocks, 0);
	while (moved + 2 <= want && tries--) {
		uint32_t a = prng_below(prng, blocks);
		uint64_t b = (uint64_t)a + 1 + prng_below(prng, distance);

		/* A request still in place has not been exchanged: take only such pairs. */
		if (b >= blocks || order[a] != a || order[b] != b)
			continue;
		order[a] = (uint32_t)b;
		order[b] = a;
		moved += 2;
	}
	return moved;
}

int pattern_random(uint32_t *order, uint32_t count, uint32_t blocks, struct prng *prng)
{
	uint32_t *all = malloc(sizeof(*all) * ((size_t)blocks + 1));

	if (!all)
		return -1;
	pattern_sequential(all, blocks, 0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = i + prng_below(prng, blocks - i);
		uint32_t picked = all[j];

		all[j] = all[i];
		all[i] = picked;
	}
	memcpy(order, all, sizeof(*order) * count);
	free(all);
	return 0;
}

uint32_t pattern_files(uint32_t *order, uint32_t files, uint32_t calls, uint32_t index,
		       uint32_t readers, struct prng *prng)
{
	uint32_t first = component_start(files, readers, index);
	uint32_t n = component_start(files, readers, index + 1) - first;

	if (pattern_random(order, files, files, prng))
		return 0;
	memmove(order, order + first, sizeof(*order) * n);
	/* The last file first: what it grows into has been taken already. */
	for (uint32_t i = n; i-- > 0;) {
		uint32_t number = order[i] * calls;

		for (uint32_t call = 0; call < calls; call++)
			order[i * calls + call] = number + call;
	}
	return n * calls;
}

void pattern_random_repeat(uint32_t *order, uint32_t count, uint32_t blocks, struct prng *prng)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = prng_below(prng, blocks);
}
