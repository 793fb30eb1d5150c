/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which blocks of a file that a client both reads and writes are in use, so that what a read must
 * return is known to the byte: a block is not read while it is written, nor written while it is
 * in use at all. Whoever finds his block busy takes the next one. One byte a block.
 */
#ifndef NFSBENCH_BLOCKS_H
#define NFSBENCH_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct blocks {
	uint32_t count;
	uint8_t *state; /* owned; see blocks.c */
};

/* 0, or -1 without memory; blocks_free() either way. */
int blocks_init(struct blocks *b, uint32_t count);
void blocks_free(struct blocks *b);

/* The first block from WANTED on, around the end, that can be read (written) now; it is in use
 * from then on. At most 63 at once may be in use: less than blocks_init()'s count. */
uint32_t blocks_take(struct blocks *b, uint32_t wanted, bool write);
/* The answer came. A block that was written stays so, whether the write failed or not. */
void blocks_give(struct blocks *b, uint32_t block, bool write);
/* Written since blocks_init(), and answered. */
bool blocks_written(const struct blocks *b, uint64_t block);

#endif
