/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which way a cursor goes. A stream that is read from its file's end towards its beginning is one
 * that is read forwards in a mirror, and is followed as such: by positions instead of offsets.
 *
 *   offsets     0 ....... [d][c][b][a] ...... size      read in the order a, b, c, d
 *   positions                                 WAY_MIRROR - size ...... [a][b][c][d] ....... WAY_MIRROR
 *
 * A cursor that goes forwards has offsets for positions. One that follows records (stride.h) has them
 * too, but WAY_RECORDS further on; of one whose records come from the end that is the mirror's place.
 * Positions of different ways are never equal, so that all cursors lie in one set. What is planned for
 * the disk is a range of offsets again, and read from left to right.
 */
#ifndef READAHEAD_WAY_H
#define READAHEAD_WAY_H

#include <stdbool.h>
#include <stdint.h>

enum way { WAY_FORWARD, WAY_BACKWARD, WAY_STRIDE, WAY_STRIDE_BACK };

/* Offsets of which reads are followed: below (bytes). No file system has larger files. */
#define WAY_OFFSETS (UINT64_C(1) << 60)
/* The position of offset 0 in the mirror, and of a cursor that follows records. */
#define WAY_MIRROR  (UINT64_C(1) << 62)
#define WAY_RECORDS (UINT64_C(1) << 63)

static inline bool way_is_stride(enum way way)
{
	return way >= WAY_STRIDE;
}

static inline bool way_is_back(enum way way)
{
	return way == WAY_BACKWARD || way == WAY_STRIDE_BACK;
}

/* The position of offset 0 in the mirror that is WAY's. */
static inline uint64_t way_mirror(enum way way)
{
	return way == WAY_BACKWARD ? WAY_MIRROR : WAY_RECORDS + WAY_MIRROR;
}

/* The position of [offset, end), and where what follows it is expected. */
static inline uint64_t way_from(enum way way, uint64_t offset, uint64_t end)
{
	if (way == WAY_FORWARD)
		return offset;
	return way_is_back(way) ? way_mirror(way) - end : WAY_RECORDS + offset;
}

static inline uint64_t way_to(enum way way, uint64_t offset, uint64_t end)
{
	if (way == WAY_FORWARD)
		return end;
	return way_is_back(way) ? way_mirror(way) - offset : WAY_RECORDS + end;
}

/* The offset where the positions FROM to TO begin. */
static inline uint64_t way_offset(enum way way, uint64_t from, uint64_t to)
{
	if (way == WAY_FORWARD)
		return from;
	return way_is_back(way) ? way_mirror(way) - to : from - WAY_RECORDS;
}

/* The positions of the first byte that there is, and behind the last one, of a file of SIZE bytes. */
static inline uint64_t way_begin(enum way way, uint64_t size)
{
	if (way_is_back(way))
		return way_mirror(way) - (size < WAY_OFFSETS ? size : WAY_OFFSETS);
	return way == WAY_FORWARD ? 0 : WAY_RECORDS;
}

static inline uint64_t way_end(enum way way, uint64_t size)
{
	if (way == WAY_FORWARD)
		return size;
	return way_is_back(way) ? way_mirror(way)
				: WAY_RECORDS + (size < WAY_OFFSETS ? size : WAY_OFFSETS);
}

#endif
