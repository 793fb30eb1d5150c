/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One block of use_once.h: which of its units came, and which were read since.
 *
 *   data   [####|####|    |####|##  ]      16 units; the last one here is the file's, and ends at `end`
 *   there    1    1    0    1    1
 *   read     1    0    0    0    0         all that is there was read: it may go
 *
 * No lock, no allocation: the caller's.
 */
#ifndef REMOTE_USE_ONCE_BLOCK_H
#define REMOTE_USE_ONCE_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "remote/use_once.h"

struct use_once_block {
	TAILQ_ENTRY(use_once_block) by_age, of_file;
	struct use_once_block *next; /* of its bucket */
	uint64_t file, index;
	uint64_t since; /* ns: when the first came of the units that are there */
	atomic_uint holds;
	uint16_t there, read; /* a bit for each unit */
	uint32_t end;	      /* bytes: there is nothing beyond; within a unit at the file's end */
	unsigned char data[USE_ONCE_BLOCK];
};

/* The part of a range that lies in one block: [from, upto) within it. */
struct use_once_part {
	uint64_t index;
	uint32_t from, upto;
};

/* The first part of [offset, end), which is not empty. */
struct use_once_part use_once_part(uint64_t offset, uint64_t end);
/* Nothing is there yet. */
void use_once_block_init(struct use_once_block *b, uint64_t file, uint64_t index, uint64_t now);
/* Part P came, as DATA. What is there of an empty block afterwards are whole units, and P's end. */
void use_once_block_fill(struct use_once_block *b, const struct use_once_part *p,
			 const unsigned char *data);
/*
 * B gets the whole units of OLD that it has not, and is then as old as OLD: nothing becomes younger by it. Where OLD has
 * had half of its AGE (ns) it gets none: what came now would go with them.
 */
void use_once_block_join(struct use_once_block *b, const struct use_once_block *old, uint64_t age);
bool use_once_block_has(const struct use_once_block *b, const struct use_once_part *p);
/* Part P, which is there, was read. Whether nothing is left to be read. */
bool use_once_block_read(struct use_once_block *b, const struct use_once_part *p);

/* A place in the parts of a reply. */
struct use_once_reply {
	const struct iovec *iov;
	size_t done; /* of the first of them */
};

/* The next LEN bytes of R, which has room for them. */
void use_once_copy(struct use_once_reply *r, const unsigned char *data, size_t len);

#endif
