/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client's READ that the FSAL below has been asked to answer, until it has: on this thread, before it returns, or later on
 * one of its own.
 *
 *   watch, time, enter --> asked ......... answered --> end
 *
 *   watched   whoever takes care of reads that take too long sees it (remote/overdue.h)
 *   timed     how long it took counts for its file and its device (backing_answered())
 *   entered   an export that ends waits for it
 *
 * Within the call's record, and one thread at a time uses it: who asks, before, and then who is told the answer.
 */
#ifndef DISK_UNDER_WAY_H
#define DISK_UNDER_WAY_H

#include "disk/backing.h"
#include "disk/export_io.h"
#include "remote/overdue.h"

struct under_way {
	struct overdue *watched; /* NULL: nobody watches */
	struct overdue_read read;
	struct backing *seen; /* a hold; NULL: neither watched nor timed */
	struct export_io *io; /* entered, with a reference; NULL: not */
	uint64_t offset, len; /* bytes */
	uint64_t begun;	      /* ns; 0: it is not timed */
	bool resident;
};

/* Nothing of it yet. */
void under_way_init(struct under_way *w);
/* It is of B's file; the caller has a hold or use. Where nobody watches B nothing happens. */
void under_way_watch(struct under_way *w, struct backing *b);
/* From now on, before the FSAL is asked; LEN bytes at OFFSET of B's file, which should be in memory, RESIDENT, or not. */
void under_way_time(struct under_way *w, struct backing *b, uint64_t offset, uint64_t len,
		    bool resident);
/* Of IO, which its caller has entered. */
void under_way_enter(struct under_way *w, struct export_io *io);
/* It is answered, with data, BROUGHT, or by an error, which says nothing of where they are. Once, or again, which does nothing. */
void under_way_end(struct under_way *w, bool brought);

#endif
