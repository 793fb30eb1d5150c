/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-back through the disk's queue: what clients wrote UNSTABLE goes to the disk early while that
 * is idle, late while reads need it, and in long pieces either way.
 *
 *   UNSTABLE WRITE -> page cache (the sub-FSAL), and the range into the file's dirty set
 *   a run of Writeback_Chunk bytes, or data older than Writeback_Delay
 *                  -> one request of the file in the disk's queue, which accelerates or defers it
 *   its turn       -> sync_file_range() step by step, for one slice of time; the rest queues again
 *   COMMIT         -> its range goes first, as demand; then the sub-FSAL's fsync finds little to do
 *
 * Data stays in the page cache and the kernel stays free to write it out itself: by age after 30 s,
 * or beyond its background threshold. A ticking thread keeps the level below that (dirty_memory.h)
 * by buying time of the disk with the price of memory (share.h). The ranges are only a hint: nothing
 * depends on them but speed. Errors are no hint: see errors.h and commit.c.
 *
 * Files: dirty_files.c the table, turn.c a turn, commit.c COMMIT, flusher.c the thread.
 */
#ifndef WRITEBACK_WRITEBACK_H
#define WRITEBACK_WRITEBACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk/backing_slot.h"
#include "disk/export_io.h"
#include "sched/dispatcher.h"

/* What is asked of the kernel and of the disk's queue; a test hands in its own. */
struct writeback_ops {
	uint64_t (*now)(void);
	/* Waits for COND until the time UNTIL; may return early. 0 or ETIMEDOUT. */
	int (*wait)(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until);
	/* Wakes all who do. */
	void (*wake)(pthread_cond_t *cond);
	/* As sync_file_range(2), but 0 or an errno. */
	int (*sync)(const struct backing *b, uint64_t offset, uint64_t len, unsigned int flags);
	/* The error of the file that B's descriptor has not told yet; 0: none. Starts no I/O. */
	int (*pending)(const struct backing *b);
	/* Whether the file has lost its last link. */
	bool (*nameless)(const struct backing *b);
	/* backing_place() */
	uint64_t (*place)(struct backing *b, uint64_t offset);
	/* dispatcher_submit(), dispatcher_want(), dispatcher_writeback_slice() */
	enum sched_verdict (*submit)(struct dispatcher *d, struct sched_req *r);
	void (*want)(struct dispatcher *d, struct sched_req *r);
	uint64_t (*slice)(struct dispatcher *d);
};
extern const struct writeback_ops writeback_linux_ops;

struct writeback_limits {
	uint32_t files; /* known at a time, with those of which only an error is left */
	/* The thread has started: gives it a name. NULL: it needs none. */
	void (*name_thread)(const char *name);
};

/* 0 or an errno. dirty_memory_start() was before. */
int writeback_start(const struct writeback_limits *limits, const struct writeback_ops *ops);
/* No client calls any more. */
void writeback_stop(void);

/*
 * A client's UNSTABLE write of [offset, offset + len) to the file of SLOT has succeeded, through the
 * export IO with the settings S. On a thread that may open a backing. True when the writer may be
 * paced: its write-back is ours, and enough waits for it.
 */
bool writeback_wrote(struct backing_slot *slot, struct export_io *io,
		     const struct writeback_settings *s, uint64_t offset, uint64_t len);

/* A COMMIT. */
struct commit {
	struct backing_slot *slot;
	uint64_t offset, len; /* bytes; len 0: to the end of the file */
	uint64_t wait;	      /* ns: longest time that its range goes by turns */
	/*
	 * Where much else of the file is dirty, only the range is made stable, by an fdatasync of it:
	 * less than the FSAL below would do.
	 */
	bool part;
	/* Makes the file stable, by the FSAL below: 0 or an errno. After an error it is called again. */
	int (*fsync_below)(void *arg);
	void *arg;
};
/*
 * Waits until the range is written out, as far as it was known to be dirty, and no longer than wait;
 * then makes it stable. Returns 0, or the errno that the client must be told: fsync_below's, or one
 * that a write-back of the file met since the last COMMIT. EAGAIN: a write-back hangs, so it is not
 * known yet; the client should ask again.
 */
int writeback_commit(const struct commit *c);

/*
 * A name of the file of SLOT was removed: if it was the last, what is dirty is forgotten, and the
 * descriptor that kept its space is closed. On a thread that may open a backing.
 */
void writeback_unlinked(struct backing_slot *slot);
/* A rename may have replaced a file: those without a name are looked for soon. Costs nothing. */
void writeback_renamed(void);
/* The export goes: what is dirty is the kernel's to write out. Errors are kept. */
void writeback_leave(const struct export_io *io);

/* For operators. */
struct writeback_stats {
	uint32_t files;	    /* with dirty data known */
	uint32_t kept;	    /* errors to tell of files beyond these */
	uint64_t pushed;    /* bytes that write-backs covered */
	uint64_t commits;   /* COMMITs that waited */
	uint64_t parts;	    /* ... that made only their range stable */
	uint64_t errors;    /* write-backs that failed */
	uint64_t told;	    /* COMMITs that were told so */
	uint64_t untracked; /* writes to files beyond Writeback_Files */
};
void writeback_stats(struct writeback_stats *s);

#endif
