/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many prefetches a cluster should be given at once, found out from what they bring.
 *
 * One disk below wants one at a time: several make it seek between them. Behind latency, and over many
 * disks, one at a time leaves it idle. The depth in use is compared with its double and its half:
 *
 *   bytes:  | window, used | settle, window, tried | window, used | ... pause ... | ...
 *
 *   the double wins with SEARCH_GAIN times the rate, the half with SEARCH_KEEP: of two that are equal
 *   the lower is better, for it leaves the cluster to others
 *
 * A trial that is far behind ends early; one that is lost makes the next pause twice as long, one that
 * is won makes it short again and is followed by another in the same direction; so does a rate that is
 * another one than before. Pauses in the traffic
 * do not count: a window during which nothing came for SEARCH_GAP begins anew. Where readers ask for less
 * than the cluster can give, all depths have the same rate, and the lowest stays.
 *
 * Pure: the clock is handed in, no lock.
 */
#ifndef SCHED_DEPTH_SEARCH_H
#define SCHED_DEPTH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define SEARCH_DEPTH_MAX 32
/* Bytes that are timed together; left out first, for each at once. */
#define SEARCH_WINDOW (UINT64_C(8) << 20)
#define SEARCH_SETTLE (UINT64_C(1) << 20)
#define SEARCH_GAIN   1.2
#define SEARCH_KEEP   0.95
/* After this part of a window a trial that has less than this share of the rate is lost. */
#define SEARCH_EARLY  4
#define SEARCH_BEHIND 0.6
/* Windows between trials. */
#define SEARCH_PAUSE_MIN 2
#define SEARCH_PAUSE_MAX 128
#define SEARCH_GAP	 UINT64_C(200000000) /* ns */

struct depth_search {
	uint32_t max;	 /* highest */
	uint32_t used;	 /* what is in use */
	uint32_t tried;	 /* 0: no trial */
	bool up;	 /* the next trial is of the double */
	double rate;	 /* bytes a ns, of the last window of what is in use; 0: none yet */
	uint32_t pause;	 /* windows between trials, now */
	uint32_t since;	 /* windows since the last trial */
	uint64_t settle; /* bytes left to be left out */
	uint64_t begun;	 /* ns: the window; 0: not yet */
	uint64_t last;	 /* ns: when something came last */
	uint64_t bytes;	 /* in it */
};

/* Nothing is known; MAX 1..SEARCH_DEPTH_MAX. */
void depth_search_init(struct depth_search *s, uint32_t max);
/* Prefetches at once, now. */
static inline uint32_t depth_search_depth(const struct depth_search *s)
{
	return s->tried ? s->tried : s->used;
}
/* BYTES were brought at NOW (ns). True: the depth is another one. */
bool depth_search_brought(struct depth_search *s, uint64_t bytes, uint64_t now);

#endif
