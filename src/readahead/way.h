/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which way a cursor goes. A stream that is read from its file's end towards its beginning is one
 * that is read forwards in a mirror, and is followed as such: by positions instead of offsets.
 *
 *   offsets     0 ....... [d][c][b][a] ...... size      read in the order a, b, c, d
 *   positions                                 WAY_MIRROR - size ...... [a][b][c][d] ....... WAY_MIRROR
 *
 * A cursor that goes forwards has offsets for positions. Those of the two ways are never equal, so
 * that both kinds lie in one set. What is planned for the disk is a range of offsets again, and read
 * from left to right as any other.
 */
#ifndef READAHEAD_WAY_H
#define READAHEAD_WAY_H

#include <stdbool.h>
#include <stdint.h>

/* Offsets of which reads are followed: below (bytes). No file system has larger files. */
#define WAY_OFFSETS (UINT64_C(1) << 60)
/* The position of offset 0 in the mirror. */
#define WAY_MIRROR (UINT64_C(1) << 62)

/* The position of [offset, end), and where what follows it is expected. */
static inline uint64_t way_from(bool backward, uint64_t offset, uint64_t end)
{
	return backward ? WAY_MIRROR - end : offset;
}

static inline uint64_t way_to(bool backward, uint64_t offset, uint64_t end)
{
	return backward ? WAY_MIRROR - offset : end;
}

/* The positions of the first byte that there is, and behind the last one, of a file of SIZE bytes. */
static inline uint64_t way_begin(bool backward, uint64_t size)
{
	return backward ? WAY_MIRROR - (size < WAY_OFFSETS ? size : WAY_OFFSETS) : 0;
}

static inline uint64_t way_end(bool backward, uint64_t size)
{
	return backward ? WAY_MIRROR : size;
}

#endif
