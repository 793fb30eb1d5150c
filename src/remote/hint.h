/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What of a file is likely to be in the cache of a cluster's client, as far as we brought it there.
 *
 *   file      |--------|--------|--------|--------|    segments of HINT_SEGMENT bytes
 *   brought      ######   ######### ##                 blocks of HINT_BLOCK bytes, whole ones
 *
 * Nobody can ask that cache, so this is a memory of what went in, and it is only advice: who reads always
 * reads through the client. The cache drops what is oldest when others fill it; so each segment has a
 * stamp on a clock that counts the bytes brought into the cache, and counts for nothing when CAPACITY
 * bytes have come after it. A file has HINT_SEGMENTS segments: one further on takes the place of another.
 *
 * Any thread.
 */
#ifndef REMOTE_HINT_H
#define REMOTE_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"

#define HINT_BLOCK    (UINT64_C(32) << 10) /* bytes */
#define HINT_BLOCKS   32		   /* of a segment: bits of a word */
#define HINT_SEGMENT  (HINT_BLOCK * HINT_BLOCKS)
#define HINT_SEGMENTS 256
/* What is fetched ahead may fill this part of the cache: the rest is what was read, which is older but not gone. */
#define HINT_UNREAD 2

struct hint {
	struct lock lock;
	struct hint_segment {
		uint64_t index;	 /* of the file */
		uint64_t stamp;	 /* bytes brought before */
		uint32_t blocks; /* bit n: the nth is there */
	} segment[HINT_SEGMENTS];
};

/* H is zero before. */
void hint_init(struct hint *h);
void hint_fini(struct hint *h);
/*
 * [offset, offset + len) has come into the cache, BROUGHT bytes having come before it. END: the file ends
 * there, so that a part of a block is all of it. What no file can have is not remembered.
 */
void hint_add(struct hint *h, uint64_t offset, uint64_t len, bool end, uint64_t brought);
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
