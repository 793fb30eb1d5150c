/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * By how much a disk has turned from one piece to the next, of pieces that lie the same step apart.
 *
 * From the end of one piece to that of another, DISTANCE steps away, a disk makes a part of a turn that is the
 * same each time, and perhaps whole turns that it was too late for:
 *
 *   took = (distance * turn - floor(distance * turn) + n) * period        turn: of a revolution, for one step
 *
 * so that a few pieces tell TURN, and TURN what it takes to go any distance; trying each of them takes a
 * revolution or so for each. Neither the drive's geometry nor its speed is known: of the PHASE_PERIODS usual ones,
 * and of PHASE_BINS turns, that pair is believed which the last pieces agree with, those before them less and less:
 * on the inner tracks a step is more of a turn. Whether the arm is there in time is learnt too, by what was missed, from
 * what arms need at least: a miss costs a turn, half a millisecond too much only that.
 *
 * Where pieces agree with none, as on flash, on several spindles, or beside others' reads, nothing is known. The idea
 * that angles decide is that of access_order.h; that they can be had from times alone is ours. Pure; no locking.
 */
#ifndef SCHED_ACCESS_PHASE_H
#define SCHED_ACCESS_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#define PHASE_BINS    256
#define PHASE_PERIODS 6
/* Distances are less, either way. */
#define PHASE_DISTANCES 64

/* All zero: nothing was observed. */
struct access_phase {
	float score[PHASE_PERIODS][PHASE_BINS]; /* how well each agrees with what was observed */
	float weight;				/* ... all of it, as far as it counts still */
	float least[PHASE_DISTANCES]; /* ns: what the arm needs, by distance; not known: 0 */
	uint8_t period, turn;	      /* what agrees best */
	bool known;		      /* ... and well */
	uint8_t surprises;
};

/* It took TOOK ns from the end of one piece to that of another. True: what was known holds no longer. */
bool access_phase_observe(struct access_phase *p, int distance, uint64_t took);
/* ns that it takes to go so far; 0: not known. */
double access_phase_expect(const struct access_phase *p, int distance);

#endif
