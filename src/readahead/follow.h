/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which cursor a read belongs to, and whether what that cursor follows is a stream.
 *
 *   read --> nearest cursor of its file?  -- none --> a new one, count 1
 *              |
 *            how does it stand to it?  (heuristic.h)
 *              exact    count + 1, on to its end
 *              repeat   nothing
 *              near     count as it is; on to its end, unless it lags behind
 *              jump     what was fetched is wasted; the cursor starts anew here
 *
 * A young run is believed too when its first Seq_Threshold requests have all come, in any order.
 * All with the file's lock.
 */
#ifndef READAHEAD_FOLLOW_H
#define READAHEAD_FOLLOW_H

#include <stdbool.h>

struct cursor;
struct heur_file;
struct readahead;
struct readahead_counters;
struct readahead_read;
struct readahead_tuning;

/* The cursor of F that READ belongs to, updated by it; NULL where none can be had. */
struct cursor *follow(struct readahead *ra, const struct readahead_tuning *t,
		      struct readahead_counters *counters, struct heur_file *f,
		      const struct readahead_read *read);

/*
 * Whether C has earned read-ahead. Its count says so; or, for a young cursor, that the last reads
 * of the file all continued one or another: a stride reader need not prove each cursor anew. Chance
 * puts some reads of a random reader behind earlier ones, the more often the more cursors there
 * are: that many halvings longer must the streak be. And where a file's reads seldom continue a
 * cursor, a run must be four times as long before it is believed.
 */
bool follow_sequential(const struct readahead_tuning *t, const struct heur_file *f,
		       const struct cursor *c);

#endif
