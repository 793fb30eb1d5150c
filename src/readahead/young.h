/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Runs that may be over soon, for all that is known of their readers (run_lengths.h): what is fetched ahead in them at first.
 *
 *   streams that compete   the first chunk                          the next one
 *   this one alone         short                                    as long as all before it, when most of that was read
 *   a few                  shorter than others                      when half of that was read
 *   more                   whole, but ends where its reader stops   when half of that was read, until he has come far
 *                          (readahead_reads_on)
 *
 * A chunk for who wants no more costs bytes where he is alone, and a seek where he is not. Of a lone backward reader every
 * chunk costs one.
 *
 * Of whom the first chunk was cut to what his first READs bring (sched: several begin at a drive that takes them together)
 * nothing else is fetched until he goes beyond that.
 *
 * Where nothing seeks, and the kernel reads ahead of READs, a first chunk comes when that has brought some, and of a backward
 * reader, for whom it does not, each brings as much as he has come to. Who goes backward in the end of a file that his
 * first READ brought needs none until he leaves it. All with the file's lock.
 */
#ifndef READAHEAD_YOUNG_H
#define READAHEAD_YOUNG_H

#include <stdbool.h>
#include <stdint.h>

struct cursor;
struct readahead;
struct readahead_read;
struct readahead_tuning;
struct window_limits;

/* Whether C's run may be over soon, for all that is known of its reader. */
bool young_is_unknown(const struct readahead *ra, const struct readahead_tuning *t,
		      const struct cursor *c);
/* Whether it is too early for the first chunk of C: what it would bring is there, or comes without it. */
bool young_is_early(const struct readahead *ra, const struct readahead_tuning *t,
		    const struct cursor *c, const struct readahead_read *read);
/*
 * Whether that reader has just begun with what was asked for: who reads on comes far enough while that arrives, and of
 * who does not no second chunk is thrown away. Among several streams until he has come to SHORT_RUN; of one of several in
 * a file, who go on in what is fetched for each other, only of a first one that was cut short (sched).
 */
bool young_has_enough(const struct readahead *ra, const struct readahead_tuning *t,
		      const struct cursor *c, const struct readahead_read *read);
/* Cuts chunks of L, of which C's next one begins at FROM, to what is worth while so early in its run. */
void young_chunk(const struct readahead *ra, struct window_limits *l,
		 const struct readahead_tuning *t, const struct cursor *c,
		 const struct readahead_read *read, uint64_t from);

#endif
