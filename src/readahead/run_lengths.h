/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How far readers go, and so how much of a new run is worth fetching at once.
 *
 * Who shows previews, looks for headers or plays the beginning of each film reads the first part of one file after
 * another, and a chunk fetched behind that costs ten times what was read. Who copies reads all of each. Both begin
 * alike. So of the runs of each reader (readers.h) some are watched until they end, and what became of them says what
 * to expect of the next one:
 *
 *    ends       128K    256K    512K    1M ...   16M
 *    runs         |       |   9   |   1   |                9 of 10 that passed 256K ended before 512K
 *    a new one    =========>|                              the next part of it is fetched when it has passed that, too
 *
 * Behind an end as much again is fetched as long as that takes no longer, if it is for nothing, than the seek that it
 * saves if it is not, by what shares of the runs went on. Where nothing is known all go on; of one that has passed where the
 * others ended, to where none has come, every other one.
 *
 * The survivor function of a length, by the product-limit estimate: E. L. Kaplan and P. Meier, 1958. A run that ends
 * with its file, or is not over, says only how far it came; one for which nothing had to be fetched, nothing.
 *
 * Bounded: RUN_LENGTHS_WATCHED runs of each reader at a time. Any thread; without a lock but those of the files that
 * are looked at, one by one.
 */
#ifndef READAHEAD_RUN_LENGTHS_H
#define READAHEAD_RUN_LENGTHS_H

#include <stdbool.h>
#include <stdint.h>

#include "readahead/cursor.h"
#include "readahead/readers.h"

struct readahead;
struct readahead_read;
struct run_lengths;

/* The ends: RUN_END_FIRST bytes, and each of the following twice the one before. */
#define RUN_ENDS	    8
#define RUN_END_FIRST	    (UINT64_C(128) << 10)
#define RUN_LENGTHS_WATCHED 16

/* NULL: no memory. */
struct run_lengths *run_lengths_new(void);
void run_lengths_free(struct run_lengths *l);
/* READER's number is another one's from now on: nothing is known of him. */
void run_lengths_forget(struct run_lengths *l, uint32_t reader);
/* A run of READER, a number of readers.h, was LENGTH bytes; ENDED: and no more, though there were more. */
void run_lengths_note(struct run_lengths *l, uint32_t reader, uint64_t length, bool ended);
/*
 * Up to how many bytes from its beginning a run of READER is worth fetching that has come to SO_FAR, or that;
 * UINT64_MAX: all. SEEK: bytes that the disk reads in the time of a seek, 0: not known.
 */
uint64_t run_lengths_reach(struct run_lengths *l, uint32_t reader, uint64_t so_far, uint64_t seek);
/* Whether most of READER's runs that came to LENGTH, an end, are known to have gone on; of all's, where none of READER's is. */
bool run_lengths_go_on(struct run_lengths *l, uint32_t reader, uint64_t length);
/* The same, of those too that are not over, as far as they have come. Not with a file's lock. */
bool run_lengths_read_on(struct readahead *ra, uint32_t reader, uint64_t length);
/* A chunk for READER was planned at CURSOR, its index; whether the one before was for that too. */
void run_lengths_fetched_at(struct run_lengths *l, uint32_t reader, uint32_t cursor);
bool run_lengths_stays(struct run_lengths *l, uint32_t reader, uint32_t cursor);
/*
 * The first chunk of a run, that of CURSOR, was planned for READ: those of its reader that are watched are looked at, and it is
 * watched too, if there is room. Not with a file's lock.
 */
void run_lengths_opened(struct readahead *ra, const struct readahead_read *read,
			struct cursor_ref cursor, uint32_t run);
/* Looks at those that are watched; about once a second, before what silent readers hold is given up. */
void run_lengths_sweep(struct readahead *ra, uint64_t now);

#endif
