/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether another request may start beside those that run (place.c: which chunks may, parts.h). Pure.
 *
 *   depth 1:                    [ chunk ]   [ write-back ]   [ chunk r r r chunk ]
 *   a drive with a queue:         r r r                             '-- a gap
 *                               r r r         only scattered reads go together, up to as many as
 *                                 r r r       are of use; a chunk waits until the last has ended
 *                                   c         unless it is as short as they are (a small file), or in pieces, or young:
 *                                             of that its beginning goes, where others wait
 *
 *   depth 1, one by one:        r r r r r     served
 *                              r r r r r       at hand: given to the drive while the one before is served
 *
 * Where nothing is gained by several the next one is at hand all the same: from one read to the next the disk
 * would stand still for as long as answers, threads and the kernel take. It is chosen as if the one that
 * runs were over, whose visit goes on. There is none where a chunk may be next, where the disk is going to
 * wait for the next read of the same flow, and behind the first read after a write-back, by which the
 * write-back's cost is learnt.
 *
 * Those that go together are of whoever is next, one flow or several, or of one gap. Streams keep their
 * turns: beside a chunk or a write-back nothing starts beyond the depth, and none of these starts beside
 * scattered reads; nor does a scattered read once one of these is next.
 */
#ifndef SCHED_PLACE_H
#define SCHED_PLACE_H

#include "sched/queue.h"

/*
 * A longer chunk, or read with what it brings along (bytes), has the disk for itself; so has a longer read, but no
 * Linux client asks for more at a time. A young chunk is cut to that when it goes beside others, but for one whose reader has
 * come past it meanwhile, or that others of the file are to begin behind: that goes beside them as it is.
 */
#define SCATTERED_MAX	(UINT64_C(1) << 20)
#define SHORT_CHUNK_MAX (UINT64_C(256) << 10)

enum sched_place { PLACE_NONE, PLACE_SCATTERED, PLACE_ANY };

/* DEPTH requests may run, BUSY do, SCATTERED of them scattered reads, TOGETHER so many of these. */
static inline enum sched_place sched_place(uint32_t depth, uint32_t busy, uint32_t scattered,
					   uint32_t together)
{
	if (busy < depth)
		return PLACE_ANY;
	return busy == scattered && busy < together ? PLACE_SCATTERED : PLACE_NONE;
}

/* Whether R, as it is submitted, is one of those that may go together. */
static inline bool place_is_scattered(const struct sched_req *r)
{
	if (r->class == SCHED_PREFETCH)
		return ((r->one_step && r->len <= SHORT_CHUNK_MAX) || r->pieces || r->young) &&
		       !r->record && !r->counts && !r->several;
	return r->class == SCHED_DEMAND &&
	       r->len <= (r->brings_more ? SHORT_CHUNK_MAX : SCATTERED_MAX);
}

/* Whether of R, which has a place beside others, only the beginning comes. */
static inline bool place_is_beginning(const struct sched_req *r)
{
	return r->young && r->scattered && !r->pieces;
}

#endif
