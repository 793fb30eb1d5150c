/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a group's operations did within a window of time:
 *
 *          from                    until
 *    ---|----[----------|----|-------]-----|---
 *       aaaaaaaa        bbbbbb    cccccccccc
 *
 * An operation counts, and its latency, in the window in which it ends: a and b do, c is under way. Each
 * ends once, so that as many count as were answered, however long each took; who counts only those that
 * also begin in the window loses more the longer they take. Latencies are those of what ended too, of
 * which none is left out for its length, but in the beginning: none can be longer than the load has
 * lasted. Therefore a warm-up and a window must be long beside the mean; `under_way` and how old those
 * were at the end tell whether they were.
 *
 * Pure, for one thread.
 */
#ifndef CANFS_TALLY_H
#define CANFS_TALLY_H

#include "client.h"
#include "latency.h"

struct span {
	uint64_t from, until; /* ns; 0: not yet */
};

struct tally {
	uint64_t ops[OP_KINDS], bytes[OP_KINDS];
	struct latency latency[OP_KINDS];
	uint64_t blocked, blocked_ns;	  /* writes that waited for memory */
	uint64_t under_way, under_way_ns; /* at the end; how old all of them together */
};

/* OP has ended now. */
void tally_ended(struct tally *t, const struct span *w, const struct op *op, uint64_t now);
/* It has not where the window ends, which is now. */
void tally_under_way(struct tally *t, const struct op *op, uint64_t now);

#endif
