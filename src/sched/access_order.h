/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * In which order a disk reads pieces that lie the same step apart, and may come in any order.
 *
 * What it costs to go from one piece to another depends on how far the disk turns meanwhile: the next
 * one may take nearly a revolution, and that three before it a fifth of one. The drive's geometry is not
 * known here; but pieces a step apart are so many steps from each other each time, and what it took to
 * go so many was observed. Next comes what took the shortest time: the order of Jacobson & Wilkes (HPL-
 * CSP-91-7, 1991) and Seltzer, Chen & Ousterhout (USENIX, winter 1990), by learnt times instead of a
 * model of the drive.
 *
 *   pieces   0  1  2  3  4  5  6  7  8  9       the first time   0 1 2 3 ...   8 ms each
 *   order    9     6     3     0                later            9 6 3 0 ...   2 ms each
 *
 * Distances not tried yet take what the angles of those tried say (access_phase.h), and all are tried anew where the
 * pieces come to lie at other angles. Where times tell no angles, they count as somewhat cheaper than those tried were:
 * one after the other is, until what is known is good enough. Where the order in the file is nearly as fast as any, as
 * on an arm of an array that the pieces lie close on, it stays, also when one of them was held up. Pure; no locking.
 */
#ifndef SCHED_ACCESS_ORDER_H
#define SCHED_ACCESS_ORDER_H

#include <stdint.h>

#include "sched/access_phase.h"

/* Pieces that are put in order together. */
#define ACCESS_PIECES PHASE_DISTANCES

/* All zero: nothing was observed. */
struct access_order {
	uint64_t step;		     /* bytes; of what was observed */
	float ns[2 * ACCESS_PIECES]; /* by distance, ACCESS_PIECES: 0; 0: not observed */
	struct access_phase phase;
};

/*
 * Of the pieces of LEFT (bit i: piece i), at least one, the one to read next after piece LAST, -1: after
 * something else.
 */
unsigned int access_order_next(const struct access_order *a, uint64_t left, int last);
/* Piece TO of those STEP bytes apart came TOOK ns after piece FROM had come, with nothing in between. */
void access_order_observe(struct access_order *a, uint64_t step, int from, int to, uint64_t took);

#endif
