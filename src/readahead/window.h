/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How far ahead: the window of a cursor, and how it is cut into chunks.
 *
 *        next            done_end      ra_end          next + window
 *   ......|================|-------------|................|
 *         | arrived, unread| in flight or|  asked for when the
 *                            queued         chunk before it has started
 *
 * A reader who has more outstanding than the chunk that waits for the disk is to the right of ra_end before that has
 * started: then the next one is asked for at once (plan.c).
 *
 * A window opens at full size once the count passes the threshold (a ramp would leave an 8 MiB file
 * nothing to gain from), doubles when a client had to wait for a prefetch already submitted, and
 * halves when prefetched bytes were never read. A chunk is what goes to the disk as one piece:
 * large enough to pay for the seek before it. Chunk boundaries:
 *   - a remainder of a file smaller than half a chunk is joined to the chunk before it;
 *   - with other streams competing, the last chunk of a medium-sized file is an eighth of one, so
 *     that equal streams finish close together and not a whole turn apart.
 */
#ifndef READAHEAD_WINDOW_H
#define READAHEAD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Chunks end on multiples of this, so that reads of common sizes do not straddle them. */
#define CHUNK_ALIGN (64u << 10)

struct window_limits {
	uint64_t init, max; /* bytes */
	uint64_t chunk;	    /* bytes of one chunk at present */
	uint32_t streams;   /* streams competing for the disk, this one included */
};

/* The window a cursor opens with, of a file with this penalty (halvings for wasted bytes). */
uint64_t window_open(const struct window_limits *l, uint32_t penalty);
/* After a client waited for a chunk already submitted. */
uint64_t window_grow(const struct window_limits *l, uint64_t window);
/* After prefetched bytes were never read. */
uint64_t window_shrink(const struct window_limits *l, uint64_t window);

/*
 * The length of the next chunk at FROM of a file of SIZE bytes when READ_TO is where its reader
 * stands: 0 when FROM is at EOF or the window is full.
 */
uint64_t window_next_chunk(const struct window_limits *l, uint64_t window, uint64_t read_to,
			   uint64_t from, uint64_t size);

#endif
