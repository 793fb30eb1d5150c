/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * In what order a reader visits the blocks of its file. A pattern is an array of block numbers,
 * each below `blocks`; a block is one request. All but pattern_random_repeat() are permutations
 * of 0 … blocks-1 (or, for pattern_random(), the beginning of one). Pure functions: the caller
 * owns the array.
 */
#ifndef NFSBENCH_PATTERN_H
#define NFSBENCH_PATTERN_H

#include <stdint.h>

#include "prng.h"

/* `first`, `first`+1, … and around to the blocks before it. */
void pattern_sequential(uint32_t *order, uint32_t blocks, uint32_t first);

/*
 * The s-stride reader of Ellard and Seltzer, section 7: s sequential components that start at
 * i * blocks / s, visited in turn: 0, x, 2x, …, 1, x+1, 2x+1, … stride is 1 … blocks.
 */
void pattern_stride(uint32_t *order, uint32_t blocks, uint32_t stride);

/* The last one first. */
void pattern_backward(uint32_t *order, uint32_t blocks);

/* Of every `every` blocks the first `record`, 1 to `every`. Returns how many those are. */
uint32_t pattern_records(uint32_t *order, uint32_t blocks, uint32_t record, uint32_t every);
/* The N of ORDER, a multiple of GROUP, the last group first. */
void pattern_groups_from_end(uint32_t *order, uint32_t n, uint32_t group);

/*
 * A matrix of `row` blocks a row, in tiles x tiles tiles, which are visited in turn, a block of
 * each: nested strides. What is left over beside and below the tiles is left out. Returns how many
 * blocks are visited.
 */
uint32_t pattern_tiles(uint32_t *order, uint32_t blocks, uint32_t row, uint32_t tiles);

/*
 * Of `cursors` sequential components of the file those that reader `index` of `readers` has: a run
 * of neighbours, visited in turn. Returns how many blocks those are.
 */
uint32_t pattern_cursors(uint32_t *order, uint32_t blocks, uint32_t cursors, uint32_t index,
			 uint32_t readers);

/*
 * Of `files` in random order, the same for the same prng, those that reader `index` of `readers`
 * has: of each file f the numbers f * calls, f * calls + 1, … up to the next file's. The array has
 * room for files * calls. Returns how many numbers those are; 0: no memory.
 */
uint32_t pattern_files(uint32_t *order, uint32_t files, uint32_t calls, uint32_t index,
		       uint32_t readers, struct prng *prng);

/*
 * Sequential, with `percent` of all requests exchanged in pairs that are at most `distance`
 * apart. Returns how many requests left their place (always even; a little less than asked
 * where no free partner is found).
 */
uint32_t pattern_reorder(uint32_t *order, uint32_t blocks, uint32_t percent, uint32_t distance,
			 struct prng *prng);

/* `count` different blocks out of `blocks` in random order; count is at most `blocks`. */
int pattern_random(uint32_t *order, uint32_t count, uint32_t blocks, struct prng *prng);

/* `count` blocks out of `blocks`, each drawn independently. */
void pattern_random_repeat(uint32_t *order, uint32_t count, uint32_t blocks, struct prng *prng);

#endif
