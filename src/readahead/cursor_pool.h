/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One pool of cursors shared by all files: a file may have two or two thousand.
 *
 *   file A  0.1M -> c7 | 64M -> c2 | 128M -> c9       its set, by the next offset expected
 *   file B  3M -> c1
 *   pool    probation: c9 c1 ...      (never matched again yet: a random read makes these)
 *           proven:    c7 c2 ...      (matched at least once)
 *
 * When the pool is empty a cursor is recycled, the least recently used first; where more than a
 * quarter of the pool is on probation, one of those. A file that holds most of that list, or as
 * many as one file may have, recycles its own. So a file scanned at random cannot take the cursors
 * of the others. Recency is a time stamp that a match updates without any shared lock; the lists
 * are put right when a victim is looked for: one that was used since it was listed goes to the tail
 * of its list again.
 *
 * Locks: a file's lock guards its set; the pool's lock guards its lists, is taken only to allocate
 * or free, and only for a bounded number of steps that does not depend on how many cursors there
 * are. Order: file lock, then pool lock, then (trylock only) the victim's file lock.
 */
#ifndef READAHEAD_CURSOR_POOL_H
#define READAHEAD_CURSOR_POOL_H

#include <stdint.h>

#include "common/lock.h"
#include "readahead/cursor.h"

struct cursor_pool {
	struct lock lock;
	struct cursor *cursors;
	uint32_t size, per_file;
	uint32_t n_probation, n_proven;
	struct cursor_list free, probation, proven;
	uint64_t made, recycled; /* counters; pool lock */
	/* Called under the file's lock for a cursor about to leave it: releases what it holds. */
	void (*retire)(void *arg, struct cursor *c);
	void *arg;
};

/* SIZE cursors, at least 1, of which one file may have PER_FILE, at least 1. 0 or ENOMEM. */
int cursor_pool_init(struct cursor_pool *p, uint32_t size, uint32_t per_file,
		     void (*retire)(void *, struct cursor *), void *arg);
void cursor_pool_fini(struct cursor_pool *p);

/*
 * A new cursor in FILE's set expecting OFFSET, from the pool or recycled; NULL when none can be
 * had. FILE's lock is held, and that of RCU.
 */
struct cursor *cursor_new(struct cursor_pool *p, struct heur_file *file, uint64_t offset,
			  uint64_t now);

/* Gives back every cursor of FILE (its lock held). */
void cursor_release_all(struct cursor_pool *p, struct heur_file *file);

#endif
