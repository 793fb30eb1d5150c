/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much a read brings along that is not in memory, before there is a stream: as much as the kernel's own
 * read-ahead would. A small file comes in one or two requests, and of a larger one no more than without us.
 *
 *   [ read |  as much again  ]                      the first read of a file, from its beginning
 *   [ what was read so far   | read ... of that twice the last part ]   one that goes on where that ended
 *   [ read |  the rest of FIRST_READS ]             one with which more than a quarter of that was read
 *   [ what is missing | read | ...                  and what its reader asked for before, where that is not in memory: it may
 *                                                   come late to the disk, and would cost a seek of its own
 *   [ read |  as much again  ]                      elsewhere the second of a run, right behind the first
 *
 * Of a stream the rest comes ahead of it: a READ of it that is late waits for no more than the kernel's window of by
 * default, however large read_ahead_kb is, and nobody waits behind it for more. But where it begins its first chunk may
 * wait for the turns of others, and its first READs do not wait for that (sched/join.c): by themselves they bring
 * FIRST_READS of the file in two requests, which is all that many a reader wants.
 *
 * Who is known to come further in most files that he begins with (file_begin.h) has all of that by the first one, up to the
 * last mark, where the disk reads it in the time of a seek; and else as much at once as these READs bring together.
 *
 * Who begins at the end (of an archive, a film, a table or a log: its index is there; or to read it backward) goes on before
 * it, which no window of the kernel brings: each READ costs a turn of the disk. The first one brings the end as a whole,
 * where that costs little beside a seek, but for readers who do not go on (file_end.h):
 *
 *                   [            LAST_READ  | read |  ]
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
/* Bytes: the kernel's default of read_ahead_kb. */
#define FIRST_READ_WINDOW (UINT64_C(128) << 10)
/* Bytes of a file's end that the first READ there brings, of which a seek takes so many times the time. */
#define LAST_READ	(UINT64_C(64) << 10)
#define LAST_READ_SEEKS 4

struct first_read {
	uint64_t offset, len, size; /* bytes; size: of the file */
	uint64_t window;	    /* the kernel's, read_ahead_kb, in bytes */
	uint64_t seek;		    /* bytes that the disk reads in the time of one; 0: not known */
	uint64_t comes_to; /* up to where its reader wants it (file_begin.h); 0: not known */
	uint32_t count;	   /* the sequentiality count of its cursor */
	bool followed;	   /* something was asked for ahead of its reader */
	bool ends;	   /* the first of its file, at the end, of which all is worth bringing */
	bool second;	   /* the second of a run, right behind the first */
	bool missing; /* what its reader asked for before it, from the beginning on, is not in memory */
};

/* Whether it goes on from where its file begins. */
static inline bool first_read_begins(const struct first_read *r)
{
	return r->offset == 0 || (r->count > 1 && r->offset <= r->len * r->count);
}

/* Whether OFFSET lies at the end of a file of SIZE bytes. */
static inline bool first_read_at_end(uint64_t offset, uint64_t size)
{
	return offset < size && size - offset <= LAST_READ;
}

/* Whether the end of a file is little to read beside a SEEK, as above. */
static inline bool first_read_end_is_cheap(uint64_t seek)
{
	return !seek || seek >= LAST_READ_SEEKS * LAST_READ;
}

/* Bytes of a file's end that a first READ of LEN there brings, WINDOW and SEEK as above; 0: no more than it asks for. */
static inline uint64_t first_read_tail(uint64_t len, uint64_t window, uint64_t seek)
{
	if (len >= window || !first_read_end_is_cheap(seek))
		return 0;
	return window < LAST_READ ? window : LAST_READ;
}

/* Whether it brings the end of its file. */
static inline bool first_read_ends(const struct first_read *r)
{
	return r->ends && first_read_at_end(r->offset, r->size) && first_read_end_is_cheap(r->seek);
}

/* Whether it is of the reads that bring FIRST_READS in all: where the kernel's window is not shorter than by default. */
static inline bool first_read_is_of_first(const struct first_read *r)
{
	return r->window >= FIRST_READ_WINDOW && r->offset + r->len <= FIRST_READS;
}

/* Whether it is, and its reader has asked for all before it, from the beginning on. */
static inline bool first_read_goes_on(const struct first_read *r)
{
	return r->offset != 0 && first_read_is_of_first(r) &&
	       r->offset + r->len <= r->len * r->count;
}

/*
 * Whether it is such a read at all, for which neither the window need be known nor how far its reader comes; else what it
 * asks for is what to fetch.
 */
static inline bool first_read_is(const struct first_read *r)
{
	return first_read_begins(r) || first_read_ends(r) || r->second;
}

/* Bytes to fetch from the offset on: LEN at least. */
uint64_t first_read_length(const struct first_read *r);
/* ... and before it. */
uint64_t first_read_before(const struct first_read *r);

#endif
