/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How soon a small read that comes once in a while may break in on a chunk: a token bucket, into which all time
 * falls for which nothing but chunks has had the disk, or nobody.
 *
 *   credit | MOST slices  ....________
 *          |                 /        \_            each gap takes one slice's worth
 *          |               _/           \_  _
 *          |  one slice  _/ . . . . . . . \/ \ . . . below it such a read waits, as others do
 *   chunks |###########################|g|##|g|####
 *
 * In the long run gaps by credit are no more than one a slice, as by the rule of slices (queue.c), which counts the
 * time within one chunk only; and those that open by that rule, and between chunks, take theirs too. But who asks for
 * a read now and then does not find the disk just begun with a chunk each time, and a handful of them does not use up
 * at once what was saved for long. Pure; no locking of its own.
 */
#ifndef SCHED_GAP_CREDIT_H
#define SCHED_GAP_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

/* Slices that are kept, at most. */
#define GAP_CREDIT_MOST 4

struct gap_credit {
	uint64_t since; /* ns: the time from then on is there to be used */
	bool chunk;	/* the disk has had a chunk since the last gap */
};

/* A chunk is over. */
void gap_credit_chunk(struct gap_credit *c);
/* ... a request that was none, and had the disk for NS. Between chunks it, and those after it, are a gap. */
void gap_credit_other(struct gap_credit *c, uint64_t ns, uint64_t slice, uint64_t now);
/* A gap opens within a chunk. */
void gap_credit_take(struct gap_credit *c, uint64_t slice, uint64_t now);
/* What there is (ns). */
uint64_t gap_credit_left(const struct gap_credit *c, uint64_t slice, uint64_t now);

#endif
