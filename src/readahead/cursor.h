/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One pool of cursors shared by all files.
 *
 * A cursor follows one sequential run within a file: where its next read should start, how
 * sequential it has been (seqcount), and how far ahead of it data was asked for. Ellard & Seltzer
 * (FREENIX 2003, section 7) give each file a small constant number of cursors; their future work
 * asks for one pool shared by all files, which this is: a file may have two or two thousand.
 *
 *   file A  order: [ 0.1M -> c7 | 64M -> c2 | 128M -> c9 ]      sorted by the next offset expected
 *   file B  order: [ 3M -> c1 ]
 *   pool    probation: c9 c1 ...      (never matched again yet: a random read makes these)
 *           proven:    c7 c2 ...      (matched at least once)
 *
 * When the pool is empty a cursor is recycled, the least recently used first; where more than a
 * quarter of the pool is on probation, one of those. A file that holds most of that list recycles
 * its own. So a file scanned at random cannot take the cursors of the others. Recency is a time
 * stamp that a match updates without any shared lock; the lists are put right when a victim is
 * looked for.
 *
 * Locks: the file's lock guards its cursors; the pool's lock guards its lists and is taken only to
 * allocate or free. Order: file lock, then pool lock, then (trylock only) the victim's file lock.
 */
#ifndef READAHEAD_CURSOR_H
#define READAHEAD_CURSOR_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct heur_file;

/*
 * Where a cursor stands in its file. What was asked for begins at or behind the start of its run
 * and is read, and arrives, from left to right:
 *
 *      start      read_end          done_end           ra_end
 *   ......|===========|=================|-----------------|............
 *         | read      | arrived, unread | queued or       | not asked for
 *         |           |                 | in flight       |
 *                   next: here, or to the right of it when reads run ahead of what was asked for,
 *                         or to the left when one read came from far ahead of the others
 *
 *   start <= next, start <= read_end
 *   ra_end = 0: nothing is asked for, nothing has arrived, nothing is charged
 *   else done_end <= ra_end, and charged <= ra_end - read_end: some may have been in memory before
 *   read_end >= ra_end: all of it was read, as when a chunk was cut short behind its readers
 *   read_end >= next, as far as that was asked for
 */
struct cursor {
	TAILQ_ENTRY(cursor) link; /* free, probation or proven list; pool lock */
	struct heur_file *file;	  /* owner, NULL when free; read under RCU */
	uint64_t generation;	  /* grows at every recycling, so that a stale reference shows */
	bool proven_list;	  /* on the proven list; pool lock */
	uint64_t listed; /* value of `used` when it was put at its list's tail; pool lock */

	/* All below: the file's lock. Offsets and lengths in bytes, times in ns. */
	uint64_t used;	    /* time of the last match */
	uint64_t start;	    /* where this run began */
	uint64_t seen;	    /* bit n: the nth request's worth of bytes from `start` was read */
	uint32_t unit;	    /* ... each of this many bytes: the first read's length */
	uint64_t next;	    /* the offset after the last sequential read */
	uint32_t count;	    /* sequentiality count */
	uint32_t window;    /* bytes to keep asked for ahead of `next` */
	uint64_t ra_end;    /* asked for up to here; 0: nothing */
	uint64_t done_end;  /* arrived up to here */
	uint64_t done_time; /* when */
	uint64_t read_end;  /* of what was asked for, read by clients up to here */
	uint64_t charged;   /* bytes asked for and not yet read, held against Readahead_Memory */
	uint64_t doubted;   /* of them, bytes taken for wasted since the reader has fallen silent */
	uint32_t queued;    /* chunks submitted and not yet started */
	bool withheld;	    /* the last chunk was not planned, for the price */
};

/* Asserts the order above; after each change, with the file's lock. */
static inline void cursor_check(const struct cursor *c)
{
	assert(c->start <= c->next && c->start <= c->read_end);
	assert(c->ra_end || (!c->done_end && !c->charged));
	assert(c->done_end <= c->ra_end);
	assert(c->charged <= (c->ra_end > c->read_end ? c->ra_end - c->read_end : 0));
	assert(c->read_end >= (c->next < c->ra_end ? c->next : c->ra_end));
	assert(c->queued <= 1);
	(void)c;
}

TAILQ_HEAD(cursor_list, cursor);

/* A reference that survives recycling: compare generations under the file's lock. */
struct cursor_ref {
	uint32_t index;
	uint64_t generation;
};

struct cursor_pool {
	pthread_mutex_t lock;
	struct cursor *cursors;
	uint32_t size;
	uint32_t n_probation, n_proven;
	struct cursor_list free, probation, proven;
	uint64_t made, recycled; /* counters; pool lock */
	/* Called under both locks for a cursor about to leave its file: releases what it holds. */
	void (*retire)(void *arg, struct cursor *c);
	void *arg;
};

/* The cursors of one file, sorted by the next offset; embedded in its heur_file. */
struct cursor_set {
	struct cursor_slot {
		uint64_t next;
		struct cursor *c;
	} * order;
	uint32_t n, room;
	uint32_t unproven; /* of them, with a count below 2 */
};

/* SIZE cursors, at least 1. Returns 0 or ENOMEM. */
int cursor_pool_init(struct cursor_pool *p, uint32_t size, void (*retire)(void *, struct cursor *),
		     void *arg);
void cursor_pool_fini(struct cursor_pool *p);

/*
 * The cursor of the set that a read at OFFSET continues, or NULL: the one that expects exactly this
 * offset, else the nearest one within NEAR bytes, else one that has already asked for it.
 * *pos receives its place in the order. File lock.
 */
struct cursor *cursor_match(const struct cursor_set *set, uint64_t offset, uint64_t near,
			    uint32_t *pos);

/* A new cursor for FILE expecting OFFSET, from the pool or recycled; NULL when none can be had. */
struct cursor *cursor_new(struct cursor_pool *p, struct heur_file *file, uint64_t offset,
			  uint64_t now);

/* Sets c->next and keeps the order sorted; POS as cursor_match gave it. File lock. */
void cursor_move(struct cursor_set *set, uint32_t pos, uint64_t next);

/* Gives back every cursor of FILE (its lock held). */
void cursor_release_all(struct cursor_pool *p, struct heur_file *file);

#endif
