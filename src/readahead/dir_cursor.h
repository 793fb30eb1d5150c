/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where clients are in the order of a directory's entries: the cursors of a file (cursor.h), over places
 * in place of offsets. A cursor is followed on each axis, since nobody says which order a client keeps.
 *
 *   places   . . R R . R R . . .        R: read    count 4, span 5: most of what it passed was read
 *                      ^at
 *
 * A read up to DIR_AHEAD places further, or DIR_BACK places back, is the same walk's: clients skip some, and
 * several requests are under way at once. With half of the places that it passed, and no fewer, read, a
 * cursor is a stream. Plain values; the owner's lock.
 */
#ifndef READAHEAD_DIR_CURSOR_H
#define READAHEAD_DIR_CURSOR_H

#include "readahead/dir_list.h"

#define DIR_CURSORS 8 /* walks of one directory at a time, on each axis, at most */
#define DIR_AHEAD   8 /* places */
#define DIR_BACK    8 /* places */
#define DIR_COUNT   4 /* reads before a cursor is a stream */

struct dir_cursor {
	uint32_t at;	/* the furthest place read */
	uint32_t tail;	/* below this place what was fetched and not read has been given up */
	uint32_t count; /* reads, each further than the last; 0: none */
	uint32_t span;	/* places passed */
	uint64_t used;	/* ns */
};

/* Those of a directory: N on each axis. In a small one there is no room for many walks beside each other. */
struct dir_cursors {
	struct dir_cursor *of; /* DIR_AXES times N, the owner's memory */
	uint32_t n;
};

/* How many there are on each axis of a directory of ENTRIES: so many, that far apart, match a read of any of them. */
static inline uint32_t dir_cursors_count(uint32_t entries)
{
	uint32_t n = 1 + entries / (DIR_AHEAD + DIR_BACK);

	return n < DIR_CURSORS ? n : DIR_CURSORS;
}

static inline struct dir_cursor *dir_cursors_on(const struct dir_cursors *cs, enum dir_axis axis)
{
	return &cs->of[axis * cs->n];
}

/*
 * The entry INDEX of L is read at NOW. Returns the axis, and its cursor in *C, that tells most: the one with
 * the highest count that it matches. Where others tell no more than LAST, the axis of the read before, it stays: with a new
 * cursor where nothing is matched.
 */
enum dir_axis dir_cursors_read(struct dir_cursors *cs, const struct dir_list *l, uint32_t index,
			       enum dir_axis last, uint64_t now, struct dir_cursor **c);
/* The cursor on AXIS whose place another one may take: a free one, or that which was used least lately. */
struct dir_cursor *dir_cursors_oldest(const struct dir_cursors *cs, enum dir_axis axis);
/* The cursor on AXIS that is at PLACE, of several that which tells most; NULL: none. */
struct dir_cursor *dir_cursors_at(const struct dir_cursors *cs, enum dir_axis axis, uint32_t place);
/* Whether C is a stream: COUNT reads, DIR_COUNT as a rule, and half of what it passed. */
bool dir_cursor_streams(const struct dir_cursor *c, uint32_t count);

#endif
