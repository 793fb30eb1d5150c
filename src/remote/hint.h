/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What of a file is likely to be in the cache of a cluster's client, as far as we brought it there.
 *
 *   file      |--------|--------|--------|--------|    segments of HINT_SEGMENT bytes
 *   brought      ######   ######### ##                 blocks of HINT_BLOCK bytes
 *
 *   places    [ HINT_WAYS ] [ HINT_WAYS ] ...          a segment has one of those of a set, by its number mixed
 *
 * Nobody can ask that cache, so this is a memory of what went in, and it is only advice: who reads always
 * reads through the client. The cache drops what is oldest when others fill it; so each segment has a
 * stamp on a clock that counts the bytes brought into the cache, and counts for nothing when CAPACITY
 * bytes have come after it. A file has HINT_SEGMENTS segments: one more takes the place of the oldest of its set, so that
 * readers far from each other, at whichever distance, have a part each.
 *
 * Any thread.
 */
#ifndef REMOTE_HINT_H
#define REMOTE_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"

#define HINT_BLOCK    (UINT64_C(4) << 10) /* bytes */
#define HINT_BLOCKS   64		  /* of a segment: bits of a word */
#define HINT_SEGMENT  (HINT_BLOCK * HINT_BLOCKS)
#define HINT_SETS     128
#define HINT_WAYS     8
#define HINT_SEGMENTS (HINT_SETS * HINT_WAYS)
/* What is fetched ahead may fill this part of the cache: the rest is what was read, which is older but not gone. */
#define HINT_UNREAD 2

struct hint {
	struct lock lock;
	struct hint_segment {
		uint64_t index;	 /* of the file */
		uint64_t stamp;	 /* bytes brought before */
		uint64_t blocks; /* bit n: the nth is there; 0: the place is free */
	} segment[HINT_SETS][HINT_WAYS];
};

/* H is zero before. */
void hint_init(struct hint *h);
void hint_fini(struct hint *h);
/*
 * [offset, offset + len) has come into the cache, BROUGHT bytes having come before it. END: the file ends
 * there, so that a part of a block is all of it. What no file can have is not remembered.
 */
void hint_add(struct hint *h, uint64_t offset, uint64_t len, bool end, uint64_t brought);
/*
 * The same of what was fetched ahead: of a block that came in part the reader wants that part, as of records, or has the
 * other one.
 */
void hint_add_ahead(struct hint *h, uint64_t offset, uint64_t len, uint64_t brought);
/* Whether all blocks of [offset, offset + len) are likely to be there, CAPACITY being the cache's size. */
bool hint_has(struct hint *h, uint64_t offset, uint64_t len, uint64_t brought, uint64_t capacity);
/* Of MEMORY bytes that may be fetched ahead and unread those that a cache of CAPACITY bytes keeps. */
static inline uint64_t hint_memory(uint64_t memory, uint64_t capacity)
{
	return memory < capacity / HINT_UNREAD ? memory : capacity / HINT_UNREAD;
}
/* They are not; LEN UINT64_MAX: to the end. */
void hint_drop(struct hint *h, uint64_t offset, uint64_t len);

#endif
