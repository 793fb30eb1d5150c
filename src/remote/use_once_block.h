/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One block of use_once.h: which of its units came, and which were read since. It has room for those that came, and no others:
 * of records a step apart that is little of it.
 *
 *   block  [####|####|    |####|##  ]      16 units; the last one here is the file's, and ends at `end`
 *   there    1    1    0    1    1
 *   read     1    0    0    0    0         all that is there was read: it may go
 *   data   [####|####|####|##  ]           those that are there, in their order
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
	uint32_t room;	      /* units that `data` has room for */
	uint16_t asked[USE_ONCE_BLOCK /
		       USE_ONCE_UNIT]; /* bytes of a unit; 0: all, or it is not there */
	unsigned char data[];
};

/* Bytes that a block with room for so many units takes. */
static inline uint64_t use_once_block_size(uint32_t room)
{
	return sizeof(struct use_once_block) + (uint64_t)room * USE_ONCE_UNIT;
}

/* The part of a range that lies in one block: [from, upto) within it. */
struct use_once_part {
	uint64_t index;
	uint32_t from, upto;
};

/* The first part of [offset, end), which is not empty. */
struct use_once_part use_once_part(uint64_t offset, uint64_t end);
/* Units that P has, those that it has in part included. */
uint32_t use_once_part_units(const struct use_once_part *p);
/* Nothing is there yet. */
void use_once_block_init(struct use_once_block *b, uint64_t file, uint64_t index, uint32_t room,
			 uint64_t now);
/*
 * Part P came, as DATA, for whose units there is room. What is there of an empty block afterwards are whole units, and P's
 * end. Of its last unit so many bytes were ASKED for; 0: all.
 */
void use_once_block_fill(struct use_once_block *b, const struct use_once_part *p,
			 const unsigned char *data, uint32_t asked);
/*
 * B gets the whole units of OLD that it has not, and is then as old as OLD: nothing becomes younger by it. Where OLD has
 * had half of its AGE (ns) it gets none: what came now would go with them. Returns for how many units B must have room; where it
 * has less, nothing is done.
 */
uint32_t use_once_block_join(struct use_once_block *b, const struct use_once_block *old,
			     uint64_t age);
/* Where part P lies, which is there. */
const unsigned char *use_once_block_data(const struct use_once_block *b,
					 const struct use_once_part *p);
/* Units that are there, and were not read. */
static inline uint32_t use_once_block_unread(const struct use_once_block *b)
{
	return (uint32_t)__builtin_popcount(b->there & ~(unsigned int)b->read);
}
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
