/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Readahead_Memory: the bytes asked for and not yet read, over all cursors.
 *
 *   charge (a plan) --> unread, never above memory --> discharge (read, given up, or not needed)
 *
 * A cursor's part is c->charged, guarded by its file's lock. The sums are atomic: any thread.
 *
 * One reader (readers.h) holds 128 times as much as is free at most: alone 99 % of all, two that want all half
 * each, and there is always some for one who comes (Choudhury & Hahne's dynamic threshold, 1998). Streams
 * share what their readers share. What is fetched for a reader's walks counts as his, but as no stream. Nobody, number 0, is
 * one reader, whoever they are: those who come when readers.h has no place for them.
 *
 * Who held much before the others came has too much by that. What of it he does not come to soon he gives up when one of them
 * is refused some, or three quarters are held (sweep.c, dir_walk.h); while nobody wants it he may read as slowly as he likes.
 *
 * Which cursors hold some of it is a bit for each of the pool, so that whoever looks for those few
 * need not visit all. A bit changes with the lock of the cursor's file.
 */
#ifndef READAHEAD_BUDGET_H
#define READAHEAD_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "readahead/readers.h"

struct cursor;

/* Of one reader. */
struct budget_part {
	_Atomic uint64_t held;	  /* bytes */
	_Atomic uint32_t streams; /* cursors that hold it */
	_Atomic bool refused;	  /* some, since the last look */
	_Atomic bool wants;	  /* was refused some before that */
};

struct budget {
	_Atomic uint64_t memory; /* bytes, the bound */
	_Atomic uint64_t unread; /* bytes charged now */
	_Atomic uint64_t unread_max;
	_Atomic uint32_t streams; /* cursors that hold some of it */
	const struct cursor *cursors;
	uint32_t n;		   /* of them */
	_Atomic uint64_t *holders; /* bit i: cursors[i] holds some */
	_Atomic uint32_t readers;  /* that hold some */
	_Atomic uint32_t wanting;  /* who were refused some before the last look */
	_Atomic uint32_t waiting;  /* of them, those of whom no stream held any then */
	struct budget_part of[READERS_MAX + 1];
};

/* Of those N cursors. 0 or ENOMEM. */
int budget_init(struct budget *b, uint64_t memory, const struct cursor *cursors, uint32_t n);
void budget_fini(struct budget *b);
/*
 * Charges LEN more bytes to C, and to the reader C is of when it holds none: false, and nothing charged, where that would
 * pass the bound, or be more than the reader may have.
 */
bool budget_charge(struct budget *b, struct cursor *c, uint64_t len);
/* Releases up to LEN bytes of what C holds; returns how many. */
uint64_t budget_discharge(struct budget *b, struct cursor *c, uint64_t len);
/* The same of READER without a cursor: for who remembers what it holds, and whose that is. */
bool budget_hold(struct budget *b, uint32_t reader, uint64_t len);
void budget_give(struct budget *b, uint32_t reader, uint64_t len);
/* The number of the first cursor from FROM on that holds some of it; of none: that of all cursors. */
uint32_t budget_holder(const struct budget *b, uint32_t from);
/* Bytes that READER holds, and would if all readers held as much. */
uint64_t budget_held(const struct budget *b, uint32_t reader);
uint64_t budget_part(const struct budget *b, uint32_t reader);
/* Bytes that one more stream of READER may hold, if all readers hold as much, and all their streams. */
uint64_t budget_share(const struct budget *b, uint32_t reader);
/*
 * Bytes that one chunk may take now: of those who begin together each finds a part of what the one before left,
 * and none has to wait until the first ones have read theirs.
 */
uint64_t budget_chunk(const struct budget *b);
/* Looks who was refused some since the last look. */
void budget_look(struct budget *b);
/*
 * Bytes that READER holds and should not: more than if all readers held as much, who hold some or were refused it, while
 * another one was refused some or three quarters are held.
 */
uint64_t budget_surplus(const struct budget *b, uint32_t reader);
/* Whether three quarters of it are held. */
bool budget_is_short(const struct budget *b);

#endif
