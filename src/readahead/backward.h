/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Streams that are read from the end: `tac`, some databases and media players, rewinding.
 *
 * Ellard & Seltzer (FREENIX 2003) count such reads as jumps. Here a young run whose requests come one
 * below the other turns, once it is as long as any run must be, and is followed from then on as one
 * that goes forwards, in a mirror (way.h): windows, lateness, waste and memory are the same.
 *
 *   the first requests of a run, as four of a client's come        below the others since one above
 *     0 1 2 3, and most other orders        0    forwards, as soon as all are there
 *     1 2 3 0                               1    either: the next one tells
 *     3 2 1 0 4                             0    forwards
 *     7 6 5 4 3                             4    backward
 *     6 7 4 5 2 3 0 1 (pieces of two)       3    backward
 *
 * A chunk of it is of use only when all of it is there, for the disk goes from left to right. All with
 * the file's lock.
 */
#ifndef READAHEAD_BACKWARD_H
#define READAHEAD_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

struct cursor;
struct cursor_set;
struct readahead;
struct readahead_counters;
struct readahead_read;
struct readahead_tuning;

/* READ is another one of the young run of C, which has not gone on with it yet. */
void backward_note(struct cursor *c, const struct readahead_read *read);
/* Whether more reads may tell that C goes backward; whether they have. */
bool backward_may_be(const struct cursor *c);
bool backward_is(const struct readahead_tuning *t, const struct cursor *c);
/* C goes backward from READ on, and is believed. */
void backward_turn(const struct readahead_tuning *t, struct cursor *c,
		   const struct readahead_read *read);

/* The cursor of SET that goes backward and READ belongs to rather than to C, which may be NULL; NULL. */
struct cursor *backward_match(const struct cursor_set *set, const struct readahead_read *read,
			      uint64_t near, const struct cursor *c);
/* READ belongs to C; returns C. */
struct cursor *backward_follow(struct readahead *ra, const struct readahead_tuning *t,
			       struct readahead_counters *counters, struct cursor *c,
			       const struct readahead_read *read);

#endif
