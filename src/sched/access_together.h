/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether pieces that may come in any order are handed to the drive one by one, in the order that was
 * learnt (access_order.h) and the next one before it needs it, or several together, in the drive's own.
 *
 *   runs of 8    | alone | together? | alone ............ | together? | alone ...      an arm without a queue
 *   runs of 8    | alone | together! | together ........ | alone? | together ...      arms, or a queue, or flash
 *
 * A drive with a queue of its own knows its geometry, an array has several arms, flash has none: what one
 * by one wins on a single arm is lost there. So both are tried, each against the run before it, and what is
 * slower is tried again ever more rarely. Pure; no locking of its own.
 */
#ifndef SCHED_ACCESS_TOGETHER_H
#define SCHED_ACCESS_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

/* Pieces of a run, which is handed out together or one by one, and timed. */
#define ACCESS_RUN 8
/* Where together is used: pieces at the drive, so that it has a choice when those of a run are done. */
#define ACCESS_UNDER_WAY 24
/* The challenger must take less than this share of what a piece took before. */
#define ACCESS_GAIN 0.8
/* Runs until what lost is tried again: at first, and how often they are doubled. */
#define ACCESS_QUIET	     16
#define ACCESS_QUIET_DOUBLED 4
/* ... and what won for the first time has won against a run that may have been slow by chance, or still learnt. */
#define ACCESS_DOUBT 4

struct access_together {
	bool together;	/* what is used */
	uint32_t quiet; /* runs until the other is tried */
	uint32_t lost;	/* trials in a row */
	uint64_t step;	/* bytes between the pieces of the run before */
	double ns;	/* a piece took, in that run as used; 0: not known */
};

/* How the next run, of pieces STEP bytes apart, is handed out; all zero: nothing was observed. */
bool access_together_next(const struct access_together *a, uint64_t step);
/* A run of N pieces STEP bytes apart, handed out TOGETHER or one by one, took SERVICE ns. */
void access_together_observe(struct access_together *a, uint64_t step, bool together,
			     unsigned int n, uint64_t service);

#endif
