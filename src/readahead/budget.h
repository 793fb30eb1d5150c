/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Readahead_Memory: the bytes asked for and not yet read, over all cursors.
 *
 *   charge (a plan) --> unread, never above memory --> discharge (read, given up, or not needed)
 *
 * A cursor's part is c->charged, guarded by its file's lock. The sums are atomic: any thread.
 *
 * Which cursors hold some of it is a bit for each of the pool, so that whoever looks for those few
 * need not visit all. A bit changes with the lock of the cursor's file.
 */
#ifndef READAHEAD_BUDGET_H
#define READAHEAD_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cursor;

struct budget {
	_Atomic uint64_t memory; /* bytes, the bound */
	_Atomic uint64_t unread; /* bytes charged now */
	_Atomic uint64_t unread_max;
	_Atomic uint32_t streams; /* cursors that hold some of it */
	const struct cursor *cursors;
	uint32_t n;		   /* of them */
	_Atomic uint64_t *holders; /* bit i: cursors[i] holds some */
};

/* Of those N cursors. 0 or ENOMEM. */
int budget_init(struct budget *b, uint64_t memory, const struct cursor *cursors, uint32_t n);
void budget_fini(struct budget *b);
/* Charges LEN more bytes to C; false, and nothing charged, where that would pass the bound. */
bool budget_charge(struct budget *b, struct cursor *c, uint64_t len);
/* Releases up to LEN bytes of what C holds; returns how many. */
uint64_t budget_discharge(struct budget *b, struct cursor *c, uint64_t len);
/* The same for nobody's cursor: for who remembers what it holds. */
bool budget_hold(struct budget *b, uint64_t len);
void budget_give(struct budget *b, uint64_t len);
/* The number of the first cursor from FROM on that holds some of it; of none: that of all cursors. */
uint32_t budget_holder(const struct budget *b, uint32_t from);
/* Bytes that one more stream may hold, if all hold as much. */
uint64_t budget_share(const struct budget *b);
/*
 * Bytes that one chunk may take now: of those who begin together each finds a part of what the one before left,
 * and none has to wait until the first ones have read theirs.
 */
uint64_t budget_chunk(const struct budget *b);
/* Whether three quarters of it are held. */
bool budget_is_short(const struct budget *b);

#endif
