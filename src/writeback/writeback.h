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
 * Files: dirty_files.c the table, turn.c a turn, commit.h COMMIT, left.h what is its fsync's, flusher.c the thread.
 */
#ifndef WRITEBACK_WRITEBACK_H
#define WRITEBACK_WRITEBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/backing_slot.h"
#include "disk/export_io.h"
#include "writeback/ops.h"
#include "writeback/stats.h"

struct writeback_limits {
	uint32_t files;	  /* known at a time */
	uint32_t entries; /* ... with those of which only an error is left; at least files */
	/* The thread has started: gives it a name. NULL: it needs none. */
	void (*name_thread)(const char *name);
	/*
	 * The rule by which FLOW's client is served may have become another since it wrote: is set. With LOCK_DIRTY; waits
	 * for nobody. NULL: there are no rules.
	 */
	void (*refresh)(struct flow_id *flow);
};

/* 0 or an errno. dirty_memory_start() was before. */
int writeback_start(const struct writeback_limits *limits, const struct writeback_ops *ops);
/* No client calls any more. */
void writeback_stop(void);

/*
 * An UNSTABLE write of [offset, offset + len) to the file of SLOT has succeeded, of FLOW, which the
 * file's write-backs are charged to from now on, through the export IO with the settings S. On a thread that may open a backing. True when the writer may be
 * paced: its write-back is ours, and enough waits for it on its device.
 */
bool writeback_wrote(struct backing_slot *slot, struct export_io *io,
		     const struct writeback_settings *s, struct flow_id flow, uint64_t offset,
		     uint64_t len);

/*
 * Somebody else than a turn is about to make the file of SLOT stable, and may be told an error of write-out that is nobody
 * else's then: a place for that, which writeback_expected() takes back. NULL: there is none, and he must not.
 */
struct kept_error;
struct kept_error *writeback_expect(struct backing_slot *slot);
/*
 * He was told ERR (an errno; 0: none) of the file, which the log calls FILE of DEV: that is logged, and the file's next COMMIT
 * fails with it.
 */
void writeback_expected(struct kept_error *place, dev_t dev, uint64_t file, int err);

/*
 * A name of the file of SLOT was removed: if it was the last, what is dirty is forgotten, and the
 * descriptor that kept its space is closed. On a thread that may open a backing.
 */
void writeback_unlinked(struct backing_slot *slot);
/* A rename may have replaced a file: those without a name are looked for soon. Costs nothing. */
void writeback_renamed(void);
/* The export goes: what is dirty is the kernel's to write out. Errors are kept. */
void writeback_leave(const struct export_io *io);

/* For operators: see stats.h. */
void writeback_stats(struct writeback_stats *s);

#endif
