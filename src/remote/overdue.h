/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads under way at a cluster's client, so that one that takes too long is noticed while it waits.
 *
 * libcephfs (all of Ceph 16, mended in later ones: Ceph's tracker, 65971) forgets readers: one that comes
 * while the capability to cache is being taken back, which waits for a read under way, sleeps until the
 * cluster says something of that file, and is not woken when that read is over. As long as another client
 * keeps the file open for writing and is idle nobody says anything.
 *
 *   read A   ----under way------------|            its end gives the capability back, and wakes nobody
 *   revoke         *
 *   read B           ----sleeps------------------- ... until anything is heard of the file
 *
 * So a file of which a read is under way for OVERDUE_AFTER is named here, and again every OVERDUE_AGAIN;
 * who asks for its attributes then hears of it.
 *
 * Any thread. The clock is handed in.
 */
#ifndef REMOTE_OVERDUE_H
#define REMOTE_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/lock.h"

#define OVERDUE_AFTER                                                                              \
	UINT64_C(250000000) /* ns: longer than what is quick, shorter than what a client notices */
#define OVERDUE_AGAIN UINT64_C(500000000) /* ns */

/* One read, on its caller's stack. */
struct overdue_read {
	TAILQ_ENTRY(overdue_read) link;
	void *file;
	uint64_t due; /* ns */
};

struct overdue {
	struct lock lock;
	TAILQ_HEAD(, overdue_read) reads; /* the oldest first */
};

#define OVERDUE_INITIALIZER(o)                                                                     \
	{                                                                                          \
		LOCK_INITIALIZER(LOCK_LEAF), TAILQ_HEAD_INITIALIZER((o).reads)                     \
	}

/* R, of FILE, is under way from NOW (ns) on, until overdue_end(). */
void overdue_begin(struct overdue *o, struct overdue_read *r, void *file, uint64_t now);
void overdue_end(struct overdue *o, struct overdue_read *r);
/*
 * A file of which a read is overdue at NOW, NULL: none. HOLD(file) is called with the lock, while that read
 * has not ended; where it says no, the next file is named. All reads of a file that are overdue count as
 * named.
 */
void *overdue_next(struct overdue *o, uint64_t now, bool (*hold)(void *file));

#endif
