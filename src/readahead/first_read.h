/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much a read brings along that is not in memory, before there is a stream: as much as the kernel's own
 * read-ahead would. A small file comes in one or two requests, and of a larger one no more than without us.
 *
 *   [ read |  as much again  ]                      the first read of a file, from its beginning
 *   [ what was read so far   | read ... of that twice the last part ]   one that goes on where that ended
 *
 * Of a stream the rest comes ahead of it: a READ of it that is late waits for no more than the kernel's window of by
 * default, however large read_ahead_kb is, and nobody waits behind it for more. But where it begins its first chunk may
 * wait for the turns of others, and its first READs do not wait for that (sched/join.c): by themselves they bring
 * FIRST_READS of the file in two or three requests, which is all that many a reader wants.
 */
#ifndef READAHEAD_FIRST_READ_H
#define READAHEAD_FIRST_READ_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Bytes of a file that the READs with which a stream begins bring in all; and of these, where those READs lie that do not
 * wait for its first chunk.
 */
#define FIRST_READS	(UINT64_C(256) << 10)
#define FIRST_READS_OWN (FIRST_READS / 2)

struct first_read {
	uint64_t offset, len, size; /* bytes; size: of the file */
	uint64_t window;	    /* the kernel's, read_ahead_kb, in bytes */
	uint32_t count;		    /* the sequentiality count of its cursor */
	bool followed;		    /* something was asked for ahead of its reader */
};

/* Whether it is such a read at all, for which the window need not be known; else LEN is what to fetch. */
static inline bool first_read_begins(const struct first_read *r)
{
	return r->offset == 0 || (r->count > 1 && r->offset <= r->len * r->count);
}

/* Bytes to fetch from the offset on: LEN at least. */
uint64_t first_read_length(const struct first_read *r);

#endif
