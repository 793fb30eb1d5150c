/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether a drive serves scattered reads faster when it has several of them. One with a queue of its
 * own takes them in the order of its arm and its rotation, which nobody else can know; one without
 * takes them as they come, and the order they could have had here is lost.
 *
 *   used:      one by one                                                       together
 *   reads:  | 32, timed | ... | 32, timed | ... | 32, timed | ... | 32, timed | ...
 *             as used     ^     together     ^     as used           together
 *                         '- settling: until the drive has as many as it is to have
 *
 * What is not used is the challenger: it is tried in every other window, and the ratios of the times
 * a read takes are summed, each less a margin, against the better of the windows before and after:
 * what else changes meanwhile, as a queue that grows and is then served in denser order, is no gain of
 * the challenger's. Few that say the same replace what is used; the challenger
 * loses sooner, and is tried again after so many reads that trials are a few in a hundred;
 * or at once when twice as many reads are outstanding as when it lost, for then there is more to be
 * put in order. Pauses do not count, so that no accident decides.
 *
 * Of a drive of which nothing is known the first reads go together, and the order in which they come back may tell at
 * once: one that takes later ones before earlier ones puts them in order, or has several arms, and is given several
 * until the times refute that. Of one that does not the times alone decide.
 *
 *   sent   1 2 3 4 5 6 7 8      back   1 2 3 4 5 ...  as they came           1 5 3 2 ...  in an order of its own
 *
 * Together is tried with half of what is outstanding, DEPTH_TRIAL_MIN at least: of a drive without a
 * queue the rest is still sorted here, so that a trial costs it next to nothing. A challenger that is far
 * slower is left after a quarter of a window. Of two outstanding one may be for another arm of an array;
 * with one there is nothing to choose from, and nothing is learnt.
 *
 * Time counts only while scattered reads are at the drive: streams and write-backs between them do
 * not matter. Pure: the clock is handed in, no lock.
 */
#ifndef SCHED_DEPTH_EVIDENCE_H
#define SCHED_DEPTH_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads that are timed together. */
#define DEPTH_WINDOW 32
/* Outstanding on the average: with fewer a window says nothing. Two that ask again at once are nearly 2. */
#define DEPTH_LOAD_MIN 1.6
/* Together is tried with at least so many. */
#define DEPTH_TRIAL_MIN 8
/*
 * Reads until the next trial: after one that was won, when what it replaced may say that this was a
 * mistake; after one that was lost, where together is used, and where it is not. With each that is
 * lost it is twice as many, so many times.
 */
#define DEPTH_CONFIRM	    300
#define DEPTH_QUIET	    2400
#define DEPTH_QUIET_ALONE   300
#define DEPTH_QUIET_DOUBLED 4

/* Reads that were timed together, on the average. */
struct depth_window {
	double ns;   /* that one took */
	double load; /* outstanding */
	double len; /* bytes, with what a seek is worth: a few long ones more make no great difference */
};

struct depth_evidence {
	uint32_t bound;	   /* reads together at most; 1: never more */
	bool together;	   /* what is used; false: one by one */
	bool probing;	   /* nothing is known yet: the order in which reads come will tell */
	bool trying;	   /* the challenger has its window */
	bool decided;	   /* since it was begun, once at least */
	uint32_t trial;	   /* reads together in a trial */
	uint32_t settling; /* reads not timed any more before the present window */
	uint32_t reads;	   /* of the present window */
	uint32_t overtook; /* while probing: came before others that had been there for longer */
	double chance; /* ... that all the others came as they do of one with an order of its own */
	uint64_t load; /* the sum of what was outstanding */
	uint64_t bytes;		   /* ... of what was read */
	uint64_t busy;		   /* ns: what they took */
	uint64_t at;		   /* ns: up to where time was counted; 0: none was yet */
	uint64_t quiet;		   /* reads until the next trial */
	uint64_t due;		   /* ns: since when one is; 0: none is */
	uint32_t lost;		   /* trials in a row */
	double lost_at;		   /* outstanding, at most, when one was */
	struct depth_window used;  /* the last one of what is used */
	struct depth_window tried; /* the challenger's, before the present one; its ns is 0: none */
	double sum;		   /* for the challenger, against it */
	double ns[2];		   /* a read took lately one by one, together; 0: not known */
};

/* A drive that may be given BOUND reads at once. Nothing is known of it. */
void depth_evidence_init(struct depth_evidence *e, uint32_t bound);
/*
 * What was decided of the drive once, and what a read took then (ns, one by one and together); nothing where
 * it was decided anew since. Soon the other way is tried again.
 */
void depth_evidence_restore(struct depth_evidence *e, bool together, const double ns[2]);
/* So many scattered reads may be at the drive now: 1..bound. */
uint32_t depth_evidence_level(const struct depth_evidence *e);
/* It is NOW, and RUNNING scattered reads have been at the drive since the last call. */
void depth_evidence_pass(struct depth_evidence *e, uint32_t running, uint64_t now);
/*
 * One of RUNNING scattered reads has come, LEN bytes from the medium, not from memory; OUTSTANDING: they, it and
 * those that are queued.
 */
void depth_evidence_read(struct depth_evidence *e, uint32_t running, uint32_t outstanding,
			 uint64_t len, uint64_t now);
/*
 * Something else was at the drive as well: the present window begins anew. Whether nothing should be: there is a
 * trial, or one is due.
 */
void depth_evidence_disturbed(struct depth_evidence *e);
bool depth_evidence_waits(const struct depth_evidence *e);
/*
 * One of THERE that were at the drive together has left it, whose order tells: of the others OLDER had been there
 * for longer, YOUNGER for less.
 */
void depth_evidence_order(struct depth_evidence *e, uint32_t there, uint32_t older,
			  uint32_t younger);

#endif
