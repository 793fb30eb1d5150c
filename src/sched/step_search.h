/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long the requests are in which a chunk is read from a cluster.
 *
 * Each request costs the network's latency and some of the cluster's processors, whatever its length; but while a long one is
 * on its way a single disk below stands still, and who waits for its first byte waits for its last. Which counts for more is
 * found out within chunks, so that seeks between these say nothing: what is in use and twice as much, or half, take turns.
 *
 *   a chunk   |1 |1 |2   |1 |2   |1 |2   |1 |2   | 2   |4       |2   |4       | ...      1 is Prefetch_Step
 *                 '---- four of each ----' twice as fast: used, and on it goes
 *
 * The double wins with STEP_GAIN times the rate, the half with STEP_KEEP. What has lost is tried again ever more rarely, by
 * turns the double and the half. Of each the slowest and the fastest quarter do not count. A trial that has not been
 * decided after STEP_PATIENCE requests, for chunks are too short, or others were on their way beside them, is lost.
 *
 * At first clients' small reads tell. Of those that are at the cluster together each takes less than STEP_CHEAP, which no
 * single disk can do: then long ones are used at once, and shorter ones have to show that they are as good.
 *
 * Pure; no locking of its own.
 */
#ifndef SCHED_STEP_SEARCH_H
#define SCHED_STEP_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* A request is up to so many times as long as Prefetch_Step. */
#define STEP_MAX 4
/* Requests of each that are timed; so many times as many where the rates are so near (a share) to what decides. */
#define STEP_PAIRS  4
#define STEP_LONGER 4
#define STEP_NEAR   0.15
#define STEP_GAIN   1.15
#define STEP_KEEP   0.95
/* Requests of a trial, of any kind. */
#define STEP_PATIENCE 96
/* Requests until what lost is tried again: at first, how many times as many with each that is lost, and how often. */
#define STEP_QUIET	  16
#define STEP_BACK_OFF	  4
#define STEP_BACK_OFF_MAX 4

/* Of so many small reads each takes less (ns), all in all; those left out that never left the cluster's client. */
#define STEP_SMALLS 12
#define STEP_CHEAP  1.5e6
#define STEP_LOCAL  UINT64_C(100000)

/* What requests of one length took, the quickest first; of more than there is room for those that came first. */
#define STEP_TIMES (STEP_PAIRS * STEP_LONGER)
struct step_times {
	uint32_t n;
	uint64_t ns[STEP_TIMES];
};

/* All zero: nothing is known. */
struct step_search {
	uint32_t used;	/* times Prefetch_Step; 0 is 1 */
	bool down;	/* the next trial is of the half */
	uint32_t turn;	/* in a trial: requests handed out */
	uint32_t quiet; /* requests until it begins */
	uint32_t lost;	/* trials in a row */
	bool told;	/* small reads tell no more */
	uint64_t unit;	/* bytes of a step, in the present trial; 0: not yet */
	struct step_times as_used, tried;
	uint32_t smalls;     /* small reads, until a trial was decided, or they told */
	uint64_t small_busy; /* ns, that one of them at least was under way */
	uint64_t small_upto; /* ns: up to where that was counted */
};

/* Times Prefetch_Step: what is in use. */
static inline uint32_t step_search_used(const struct step_search *s)
{
	return s->used ? s->used : 1;
}
/* How many times Prefetch_Step the next request has, MAX (1..STEP_MAX) at most. */
uint32_t step_search_next(struct step_search *s, uint32_t max);
/*
 * One of STEPS times Prefetch_Step, BYTES, took NS; it went on where the one before it had ended, and all of it came from
 * the cluster. True: requests have another length from now on.
 */
bool step_search_came(struct step_search *s, uint32_t steps, uint64_t bytes, uint64_t ns);

/* A small read of a client took TOOK ns at the cluster, until NOW. True: as above. */
bool step_search_small(struct step_search *s, uint64_t took, uint64_t now);

#endif
