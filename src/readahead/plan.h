/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What to fetch next for a cursor: one chunk at a time, the next one when it has started.
 *
 *   where from    behind what was asked for already; where the reader is beyond that, from where
 *                 his run began, or from where he is; behind what others asked for  (beside.h)
 *   how far       the window by the rules (rules.h), a stream's share of the memory at most
 *   at what price less of it where the disk is dear and the file wastes  (effectiveness.h)
 *   in one piece  a chunk                                               (window.h)
 *                 a part of what memory is left at most                 (budget.h)
 *   may it        as long as the memory allows                          (budget.h)
 *
 * With the file's lock.
 */
#ifndef READAHEAD_PLAN_H
#define READAHEAD_PLAN_H

struct cursor;
struct readahead;
struct readahead_counters;
struct readahead_plan;
struct readahead_read;
struct readahead_tuning;

/*
 * Plans C's next chunk. READ's offset is a position of C (way.h); its size, and the plan's offset, are the
 * file's. *plan is left as it is where there is none.
 */
void plan_chunk(struct readahead *ra, const struct readahead_tuning *t,
		struct readahead_counters *counters, struct cursor *c,
		const struct readahead_read *read, struct readahead_plan *plan);

#endif
