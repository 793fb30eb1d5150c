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
 *   the lower is better, for it leaves the cluster to others; the rate is the better one of the two
 *   windows before the trial
 *
 * A trial that is far behind ends early; one that is lost makes the next pause SEARCH_BACK_OFF times as
 * long, one that is won makes it short again and is followed by another in the same direction; so do
 * SEARCH_OTHERS windows in a row with another rate than before: the cluster is another one, or its use is.
 * One alone is chance. What begins during a trial should be short (depth_search_chunk()): else it goes on
 * beside others when the trial is lost. A trial of the double waits for the first short one, so that no long
 * one is under way; SEARCH_PATIENCE windows at most, for some chunks cannot be cut. Pauses in the traffic
 * do not count: a window during which nothing came for SEARCH_GAP begins anew. Where readers ask for less
 * than the cluster can give, all depths have the same rate, and the lowest stays.
 *
 * Where a seek is known to cost much, the first trial waits for longer: a disk is below, most likely one, and
 * while a trial is lost it could have brought a window more. Fewer streams than requests at once are fetched in
 * pieces side by side, not in chunks far apart between which one disk would seek:
 *
 *   one stream, 2 at once:   [ 1 ][ 2 ][ 3 ][ 4 ]...     and not    [ 1 ......... ][ 2 ......... ]
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
#define SEARCH_SETTLE (UINT64_C(512) << 10)
#define SEARCH_GAIN   1.2
#define SEARCH_KEEP   0.95
/* After this part of a window a trial that has less than this share of the rate is lost. */
#define SEARCH_EARLY	4
#define SEARCH_HOPELESS 0.8
/* A rate of less than this share of another one is another rate. */
#define SEARCH_BEHIND 0.6
/* Windows between trials. */
#define SEARCH_PAUSE_MIN 2
#define SEARCH_PAUSE_MAX 128
#define SEARCH_BACK_OFF	 4
#define SEARCH_OTHERS	 3
/* ... before the first one where a seek takes as long as it takes to read SEARCH_DEAR bytes. */
#define SEARCH_PAUSE_DEAR 24
#define SEARCH_DEAR	  (UINT64_C(512) << 10)
#define SEARCH_PATIENCE	  4
/* Bytes of a chunk that begins before or during a trial; with fewer streams than requests at once. */
#define SEARCH_CHUNK (UINT64_C(1) << 20)
#define SEARCH_PIECE (UINT64_C(512) << 10)
#define SEARCH_GAP   UINT64_C(200000000) /* ns */

struct depth_search {
	uint32_t max;	 /* highest */
	uint32_t used;	 /* what is in use */
	uint32_t tried;	 /* 0: no trial */
	uint32_t coming; /* what is tried as soon as a short chunk begins; 0: nothing */
	uint32_t waited; /* windows since that was chosen */
	bool up;	 /* the next trial is of the double */
	bool dear;	 /* seeks are */
	double rate;	 /* bytes a ns, of the last window of what is in use; 0: none yet */
	double before;	 /* ... of the one before that */
	double usual;	 /* ... of the last one that was like those before it */
	uint32_t others; /* windows in a row since, that were not */
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
/*
 * Bytes that a chunk should have at most which begins now, with STREAMS about, and would have LEN; a request has REQUEST
 * (step_search.h).
 */
static inline uint64_t depth_search_chunk(const struct depth_search *s, uint64_t len,
					  uint32_t streams, uint64_t request)
{
	uint32_t depth = s->coming ? s->coming : depth_search_depth(s);
	uint64_t most = streams < depth		? SEARCH_PIECE
			: s->tried || s->coming ? SEARCH_CHUNK
						: UINT64_MAX;

	if (!s->coming && most < request)
		most = request;
	return len < most ? len : most;
}
/* A chunk of LEN bytes begins. True: the depth is another one. */
bool depth_search_began(struct depth_search *s, uint64_t len);
/* A seek is known to take as long as it takes to read BYTES; 0: not known. */
static inline void depth_search_seeks(struct depth_search *s, uint64_t bytes)
{
	s->dear = bytes >= SEARCH_DEAR;
}
/* BYTES were brought at NOW (ns), about: callers may come in another order. True: the depth is another one. */
bool depth_search_brought(struct depth_search *s, uint64_t bytes, uint64_t now);

/* Requests have another length from now on: what was brought before says nothing. True: the depth is another one. */
bool depth_search_other(struct depth_search *s);

#endif
