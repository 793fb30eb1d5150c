/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Readers of one file who run into each other's read-ahead: parts of many clients, tiles of a matrix, several
 * who read the same a little apart.
 *
 *   A   |read|----------- asked for, unread -----------|
 *   B                  |read|                            ^ B's next chunk begins here
 *                      ^^^^^^ used, as if A had read it
 *
 * What was asked for lately, for whichever cursor, is remembered for each file that has several: nobody asks
 * for it a second time, and who reads it shows that it was wanted. So two thousand parts of a file are as many
 * chunks as one stream over it, and weigh on the memory (budget.h) as much. Ellard & Seltzer (FREENIX 2003,
 * section 8) leave such patterns as future work.
 *
 * Only a hint: where what was asked for is found to have gone from memory, all of it is forgotten. Of
 * cursors that go backward, or leave out what lies between their records, nothing is remembered.
 *
 * All with the file's lock, but for beside_free(). Positions are a cursor's (way.h), offsets the file's.
 */
#ifndef READAHEAD_BESIDE_H
#define READAHEAD_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

struct cursor;
struct heur_file;

/* So many ranges of a file are remembered, for so long (ns): what is read twice in that time is in memory. */
#define BESIDE_MAX  64
#define BESIDE_TIME UINT64_C(10000000000)
/* Of a table's files one in so many has a memory of them at most. */
#define BESIDE_FILES_SHARE 64

/* C has asked for the positions FROM to TO, at NOW. */
void beside_note(const struct cursor *c, uint64_t from, uint64_t to, uint64_t now);
/*
 * The first position from FROM on that nobody asked for in C's file lately, and where behind that something
 * was, in *NEXT; UINT64_MAX: nowhere.
 */
uint64_t beside_skip(const struct cursor *c, uint64_t from, uint64_t now, uint64_t *next);
/* The end of what was asked for lately before FROM, of all ranges that begin there; 0: nothing was. */
uint64_t beside_before(const struct cursor *c, uint64_t from, uint64_t now);
/* The cursor other than C that has asked for OFFSET of C's file, and may hold it unread; NULL: none. */
struct cursor *beside_owner(const struct cursor *c, uint64_t offset);
/* Whether another cursor than C and OTHER, that goes the way of C, has passed the position AT before. */
bool beside_passed(const struct cursor *c, const struct cursor *other, uint64_t at);
/* Offsets FROM to TO of F will not come after all. */
void beside_never(struct heur_file *f, uint64_t from, uint64_t to);
/*
 * OFFSET of F is not in memory. True: it was asked for and has come, so it has gone, and so may have whatever else
 * was.
 */
bool beside_gone(struct heur_file *f, uint64_t offset);
/* When nobody else knows F. */
void beside_free(struct heur_file *f);

#endif
