/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What clients have written to a cluster's files through this gateway and nobody has made stable since: how much of it
 * may be anywhere on its way, the cluster client's memory or that of its storage.
 *
 *   bytes of a file                 .---- a COMMIT of ours, in the name of the next WRITE, which waits for it
 *     its part  - - - - - - -/- - -/|- - - - - - -/|      its part: 3/4 of the bound, evenly for all files that
 *                          /     /  |           /  |      have some, and of UNSTABLE_FILE at least
 *                        /     /    |   .-----/    |    meanwhile other WRITEs are paced by how much there is in all
 *                      /     /      |_/            |_   (writeback/pacing.h)
 *               WRITEs      COMMIT of a client: none is due
 *
 * Of less than that a COMMIT is a seek or two, and the transaction of a journal, for next to nothing: 32 files at 384 KiB
 * each took 2.4 times as long to be written to one disk. So with many files the bound is as much as they need.
 *
 * A bound costs a lone writer a third of his speed, and is there for who reads: so it holds while somebody does who has to
 * wait for the cluster, and for UNSTABLE_READERS after. What was written before is made stable at once then, file by file.
 *
 * What nobody writes to any more is on nobody's way for long: the cluster's client and its storage write out by themselves what has
 * been dirty for half a minute. So what a file has counts for UNSTABLE_AGE after its last WRITE, or a writer who went, or who never
 * COMMITs, would hold up the others for as long as the handle is there.
 *
 * A file's bytes are those written less those that had been when the last one began that has succeeded: so two that
 * overlap count nothing twice.
 *
 * An error of a write-out the cluster's client tells once. Where that is to one of ours, it is recorded before ours is over
 * (fsal_ra/far_write.c), and a COMMIT of a client that found none waits for that, for it may have been its error:
 *
 *   ours      |---- told it ------ recorded ----|
 *   a client's     |---- told none ----|........| waits, then looks at what was recorded
 *
 * Pure: times are handed in. Any thread; a lock of its own, a leaf.
 */
#ifndef REMOTE_UNSTABLE_H
#define REMOTE_UNSTABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/lock.h"

/* Bytes a second until one was measured, and the least believed. */
#define UNSTABLE_RATE_FIRST 100e6
#define UNSTABLE_RATE_LEAST 1e6

/* Bytes that the bound has for each file that has some, at least. */
#define UNSTABLE_FILE (UINT64_C(2) << 20)

/* ns; so long after a READ that went to the cluster there are readers. */
#define UNSTABLE_READERS UINT64_C(2000000000)

/* ns; so long after its last WRITE a file's bytes count: the kernel's dirty_expire_centisecs, beyond the clients' few seconds. */
#define UNSTABLE_AGE UINT64_C(30000000000)
/*
 * ns; so long after the last WRITE of all what there is makes nothing dear: the cluster's client has written it out by then
 * (client_oc_max_dirty_age), and who holds his writes back for the price would keep it up, for no WRITE of his makes it stable.
 */
#define UNSTABLE_PRICED UINT64_C(5000000000)
/* Files that are found to be as old in one call, at most. */
#define UNSTABLE_AGED 16

/* On the stack of a thread that waits for the end of one of ours. */
struct unstable_wait {
	LIST_ENTRY(unstable_wait) link;
	pthread_cond_t over;
	bool is_over;
};
LIST_HEAD(unstable_waits, unstable_wait);

/* Of one file; zero: nothing was written. Its owner's, who calls unstable_forget() before it goes. */
struct unstable_file {
	uint64_t written, stable;	 /* bytes, ever */
	bool due;			 /* one of ours is under way */
	struct unstable_waits waits;	 /* ... for whose end these wait */
	uint64_t wrote;			 /* ns: when, last */
	TAILQ_ENTRY(unstable_file) link; /* of those that have some */
};
TAILQ_HEAD(unstable_files, unstable_file);

/* Of all files. */
struct unstable {
	struct lock lock;
	uint64_t max;		      /* bytes; 0: no bound, nothing is ever due */
	uint64_t bytes;		      /* of all files */
	uint32_t files;		      /* that have some */
	struct unstable_files by_age; /* ... the one that was not written to for longest first */
	double rate;		      /* bytes a second that become stable */
	_Atomic uint64_t read;	      /* ns: when a READ went to the cluster; 0: none did */
};

#define UNSTABLE_INITIALIZER(u)                                                                    \
	{                                                                                          \
		.lock = LOCK_INITIALIZER(LOCK_LEAF), .rate = UNSTABLE_RATE_FIRST,                  \
		.by_age = TAILQ_HEAD_INITIALIZER((u).by_age)                                       \
	}

void unstable_set_max(struct unstable *u, uint64_t max);
/* A READ goes to the cluster at NOW. Without the lock. */
void unstable_read(struct unstable *u, uint64_t now);
/* Before a WRITE of F at NOW: whether to make the file stable first. Then unstable_end() with OURS follows. */
bool unstable_is_due(struct unstable *u, struct unstable_file *f, uint64_t now);
/* BYTES were written at NOW, and are not stable. */
void unstable_wrote(struct unstable *u, struct unstable_file *f, uint64_t bytes, uint64_t now);
/* A COMMIT of F begins: returns what unstable_end() is to be told. */
uint64_t unstable_begin(struct unstable *u, const struct unstable_file *f);
/* It has ended, after TOOK ns; DONE: with success. OURS: it was due. */
void unstable_end(struct unstable *u, struct unstable_file *f, uint64_t begun, bool done, bool ours,
		  uint64_t took);
/*
 * Waits until the one of ours that is under way is over, if one is, or until UNTIL (clock_now()): false: it is not. A later one
 * is nobody's business.
 */
bool unstable_wait_ours(struct unstable *u, struct unstable_file *f, uint64_t until);
/* F goes: what it may still have is nobody's. */
void unstable_forget(struct unstable *u, struct unstable_file *f);
/* All bytes over the bound as it is at NOW, which they may exceed; 0: no bound. And the rate, bytes a second. */
double unstable_level(struct unstable *u, uint64_t now, double *rate);
/* The same as prices have it: 0 from UNSTABLE_PRICED after the last WRITE on. */
double unstable_priced(struct unstable *u, uint64_t now);
/* All bytes, at NOW. */
uint64_t unstable_bytes(struct unstable *u, uint64_t now);

#endif
