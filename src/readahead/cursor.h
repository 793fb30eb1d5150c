/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A cursor follows one sequential run within a file: where its next read should start, how
 * sequential it has been (seqcount), and how far ahead of it data was asked for. Ellard & Seltzer
 * (FREENIX 2003, section 7) give each file a small constant number of cursors; their future work
 * asks for one pool shared by all files (cursor_pool.h). Those of one file are a cursor_set.
 */
#ifndef READAHEAD_CURSOR_H
#define READAHEAD_CURSOR_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/page.h"
#include "readahead/way.h"

struct heur_file;

/*
 * Where a cursor stands in its file. What was asked for begins at or behind the start of its run
 * and is read, and arrives, from left to right (of one that goes backward: in the mirror, way.h):
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
	/* In its file's set: the file's lock. */
	struct cursor *left, *right; /* cursor_set.c: the tree */
	uint64_t next;		     /* the offset after the last sequential read */
	uint64_t ra_end;	     /* asked for up to here; 0: nothing */
	TAILQ_ENTRY(cursor) order;   /* its neighbours by `next` */
	TAILQ_ENTRY(cursor) age;     /* its neighbours by last use, among the proven or unproven */

	struct heur_file *file; /* owner, NULL when free; read under RCU */
	uint64_t generation;	/* grows at every recycling, so that a stale reference shows */

	/* All below: the file's lock. Offsets and lengths in bytes, times in ns. */
	uint64_t used;	   /* time of the last match that was none of what was read before */
	uint64_t start;	   /* where this run began */
	uint64_t seen;	   /* bit n: the nth request's worth of bytes from `start` was read */
	uint64_t read_end; /* of what was asked for, read by clients up to here */
	uint32_t unit;	   /* of `seen`, bytes: the first read's length; of records: see stride.c */
	uint32_t count;	   /* sequentiality count */
	uint32_t window;   /* bytes to keep asked for ahead of `next` */
	uint32_t priority; /* cursor_set.c: of the tree, for life */

	uint64_t done_end;  /* arrived up to here */
	uint64_t done_time; /* when */
	uint64_t charged;   /* bytes asked for and not yet read, held against Readahead_Memory */
	uint64_t doubted;   /* of them, bytes taken for wasted since the reader has fallen silent */
	uint32_t run;	    /* grows when a new run begins: a chunk of an earlier one shows */
	uint8_t down; /* reads of a young run that came below all others since one came above */
	uint8_t pace; /* reads in a row of which each passed over as much as the one before */
	uint8_t way;  /* an enum way: where it is not forwards, the offsets above are positions */
	bool proven_list; /* on the proven list. In the pool: the pool's lock; here there is room */
	uint32_t gap;	  /* of WAY_FORWARD: bytes that its last read but one passed over */
	uint32_t lately;  /* bytes it came to in the last seconds: sweep.c */
	union {
		uint32_t record;  /* of a stride: bytes of a record */
		uint32_t missing; /* of WAY_FORWARD: bit n: the nth before its last was passed */
	};
	uint32_t step;	/* ... and from the beginning of one to that of the next */
	uint64_t phase; /* ... and the position where a step begins */
	uint64_t quiet; /* another follows this run as a record that ends here */
	uint64_t own;	/* before this, from `start` on, others asked (beside.h), or not all came */
	uint64_t credited; /* bytes from `read_end` to `ra_end` that others read: counted already */
	uint8_t queued;	   /* chunks that are submitted and not yet started */
	bool withheld : 1; /* the last chunk was not planned, for the price */
	bool example : 1;  /* what is doubted of it tells what to expect of new files */
	bool fined : 1;	   /* its file has smaller windows for what is doubted of it */
	bool has_floor : 1; /* its reader, when his last chunk went to the disk */
	bool repeats : 1;   /* its last read was of what was read before */
	uint16_t account;   /* whose read it followed last: given_up.h */
	uint16_t payer;	    /* while something is charged: the reader who holds it, of budget.h */
	uint16_t reader;    /* ... and readers.h */
	uint64_t taken;	    /* bytes that were asked for ahead of it and read since, all in all */

	/* In the pool: the pool's lock. */
	TAILQ_ENTRY(cursor) link; /* free, probation or proven list */
	uint64_t listed;	  /* value of `used` when it was put at its list's tail */
} __attribute__((aligned(64)));

/* What a new cursor is taken to have read lately (bytes): nobody knows yet that it is slow. */
#define CURSOR_LATELY (UINT32_C(32) << 20)
/* What it took lately fades over about so long (ms): who pauses for a second is not slow. */
#define CURSOR_FADE 5000u
/* From this count on a cursor is proven: it was continued at least once. */
#define CURSOR_PROVEN 2
/* So many requests of its run may have passed one that comes late. */
#define CURSOR_LATE_MAX 7

/* There are many: Cursor_Pool of them at once. */
_Static_assert(sizeof(struct cursor) <= 256, "a cursor has become larger");

TAILQ_HEAD(cursor_list, cursor);

/*
 * Bytes of the pages that a record of C lies on, which is what memory holds and the disk brings of it. Where its steps are
 * no whole pages each record begins elsewhere on one, and all are taken for those on the most.
 */
static inline uint64_t cursor_record_pages(const struct cursor *c)
{
	uint64_t first = c->way == WAY_STRIDE_BACK ? c->phase + c->step - c->record : c->phase;
	uint64_t in = c->step % PAGE_LEAST ? PAGE_LEAST - 1 : first % PAGE_LEAST;

	if (c->record >= c->step)
		return c->step; /* they lie together */
	return page_up(in + c->record);
}

/*
 * Bytes that memory holds of records that lie a step apart from C's phase on, up to the position AT: each at the beginning of
 * its step, which in the mirror is the end. With a record's last byte comes the rest of its pages.
 */
static inline uint64_t cursor_record_bytes(const struct cursor *c, uint64_t at)
{
	uint64_t far = at > c->phase ? at - c->phase : 0, in = far % c->step;
	uint64_t gap = c->way == WAY_STRIDE_BACK ? c->step - c->record : 0;
	uint64_t pages = cursor_record_pages(c);

	in = in > gap ? in - gap : 0;
	return far / c->step * pages + (in < c->record ? in : pages);
}

/* Bytes that are held for C of what it reads from the position FROM to TO, which is not before it. */
static inline uint64_t cursor_bytes(const struct cursor *c, uint64_t from, uint64_t to)
{
	if (!way_is_stride(c->way))
		return to - from;
	return cursor_record_bytes(c, to) - cursor_record_bytes(c, from);
}

/* Bytes that C comes to within TIME (ns), if it goes on as it did lately, and a page in any case. */
static inline uint64_t cursor_comes_to(const struct cursor *c, uint64_t time)
{
	return PAGE_LEAST + c->lately * (time / CLOCK_MS) / CURSOR_FADE;
}

/* Whether the order above holds. */
static inline bool cursor_in_order(const struct cursor *c)
{
	uint64_t unread = c->ra_end > c->read_end ? cursor_bytes(c, c->read_end, c->ra_end) : 0;
	uint64_t asked_and_passed = c->next < c->ra_end ? c->next : c->ra_end;

	return c->start <= c->next && c->start <= c->read_end &&
	       (c->ra_end || (!c->done_end && !c->charged)) && c->done_end <= c->ra_end &&
	       c->charged <= unread && c->read_end >= asked_and_passed;
}

/* After each change of a cursor, with its file's lock. */
static inline void cursor_check(const struct cursor *c)
{
	assert(cursor_in_order(c));
	(void)c;
}

/* Whether nothing was asked for yet in C's run. */
static inline bool cursor_is_first(const struct cursor *c)
{
	return c->ra_end <= c->start;
}

/* What was asked for is of no use any more, and what of it is under way means nothing to C. */
static inline void cursor_end_run(struct cursor *c)
{
	c->ra_end = c->done_end = 0;
	c->own = c->credited = 0;
	c->run++;
}

/* Whether what C passed over last is less than two requests of LEN bytes: by chance two such gaps are alike too often. */
static inline bool cursor_gap_is_short(const struct cursor *c, uint32_t len)
{
	return c->gap < 2 * (uint64_t)len;
}

/* A reference that survives recycling: compare generations under the file's lock. */
struct cursor_ref {
	uint32_t index;
	uint64_t generation;
};

#endif
