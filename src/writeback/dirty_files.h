/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of files with dirty data, and what the room asks of the world around it. Not for others.
 *
 *   insert --> [ record: dirty ranges, COMMITs that wait, a request of the disk's queue ] --> release
 *                 |  idle, or queued or running (busy)
 *                 |  gone: nothing of it is to be written any more, its use is given back
 *
 * A file is found by its key. Its record holds a use of a backing, so that the descriptor stays open,
 * closed by Ganesha or not, until the data is out or the file has lost its last link. It is released
 * when nobody needs it: not busy, nothing dirty, nobody waits for it. An error that no COMMIT has
 * told stays behind, without it (errors.h).
 *
 * One lock around all of it: `wb.lock`, of rank LOCK_DIRTY; the kernel is never called with it.
 */
#ifndef WRITEBACK_DIRTY_FILES_H
#define WRITEBACK_DIRTY_FILES_H

#include <pthread.h>

#include "common/lock.h"
#include "sched/queue.h"
#include "writeback/dirty_set.h"
#include "writeback/errors.h"
#include "writeback/ops.h"
#include "writeback/stats.h"

/* A COMMIT that waits for its range. On its thread's stack. */
struct commit_wait {
	TAILQ_ENTRY(commit_wait) link;
	struct dirty_set own; /* what of its range was dirty, and has not been begun */
	uint64_t offset, len; /* its range */
	uint64_t until;	      /* the last step that it has to wait for */
	struct flow_id flow;  /* whose it is */
	uint64_t served;      /* twice the turn that last took from it; one less: when it came */
	bool placed;	      /* its thread is one of those that may wait */
};
TAILQ_HEAD(commit_list, commit_wait);

struct dirty_file {
	TAILQ_ENTRY(dirty_file) link; /* all */
	TAILQ_ENTRY(dirty_file) hash;
	struct sched_req req;
	struct backing *backing;	/* a hold, and until it is gone a use */
	struct kept_error *error;	/* of its own; with the key */
	const struct export_io *io;	/* the last writer's; compared, never followed */
	struct flow_id flow;		/* the last writer's */
	uint64_t chunk, delay, age_max; /* bytes, ns, ns: the last writer's export */
	struct dirty_set dirty;
	struct commit_list commits; /* oldest first */
	pthread_cond_t progress;    /* a step or a turn is over */
	uint32_t waiters;	    /* threads that need the record */
	uint32_t hurried;	    /* ... of which so many wait for the end of the present turn */
	uint64_t begun, done;	    /* steps */
	uint64_t turn;		    /* number of the present or last one, from 1 on */
	uint64_t syncing;	    /* bytes that fsyncs of it, under way, are to write */
	bool busy;		    /* its request is queued or running */
	bool running;
	bool gone;
	double scattered; /* share of its last writes that were far from the one before */
	uint64_t next;	  /* where the last one ended */
	uint64_t wrote;	  /* ns: when */
};
TAILQ_HEAD(dirty_file_list, dirty_file);

#define DIRTY_FILE_HASH 1024
/* Records that are treated at a time with the lock held once. */
#define TABLE_BATCH 64

struct dirty_files {
	struct lock lock;
	const struct writeback_ops *ops;
	void (*refresh)(struct flow_id *flow); /* as in struct writeback_limits */
	uint32_t max, entries;		       /* records; with kept errors, and places for such */
	uint32_t expected;		       /* such places */
	bool said_full;			       /* that errors leave no room */
	bool running, stopping;
	pthread_cond_t wake;	    /* the flusher: the first record */
	bool came;		    /* ... since it looked, gone again or not */
	struct dirty_file_list all; /* oldest first */
	struct dirty_file_list hash[DIRTY_FILE_HASH];
	struct dirty_file *swept; /* the next to be looked at; NULL: the first */
	struct dirty_file *next;  /* the next to be offered a turn; NULL: the first */
	struct {
		const struct device *device;
		uint64_t bytes;
	} waiting[DEVICES_MAX]; /* for our turns, about */
	uint32_t n_waiting;
	struct writeback_stats stats;
};
extern struct dirty_files wb;

/* ---- with the lock ---- */

/* NULL: not in the table. */
struct dirty_file *dirty_files_find(const struct file_key *key);
/*
 * A new one, which takes over the use and the hold of B; NULL: no room, or no memory. *LOST: a kept
 * error that made room, for errors_give_up(), or NULL.
 */
struct dirty_file *dirty_files_insert(const struct file_key *key, struct backing *b,
				      struct kept_error **lost);
/* A place for an error of the file, in the table or not; NULL: no room, or no memory. *LOST as above. */
struct kept_error *dirty_files_expect(const struct file_key *key, struct kept_error **lost);
/*
 * PLACE goes. Its file, FILE of DEV, has failed by ERR, an errno; 0: it has not. Its next COMMIT says so, or says what it failed by
 * before: returns whether it is the first.
 */
bool dirty_files_expected(struct kept_error *place, dev_t dev, uint64_t file, int err);
/* Takes F out if nobody needs it; it is then to be freed by dirty_file_free(), without the lock. */
bool dirty_file_take_out(struct dirty_file *f);
/* Bytes that wait for its turns, those that COMMITs wait for included. */
uint64_t dirty_file_bytes(const struct dirty_file *f);
/* The same of all files on D, and what fsyncs are to write, about: the flusher counts anew, from 0 on, and between it is only added to. */
void dirty_files_count_anew(void);
void dirty_files_add_waiting(const struct device *d, uint64_t bytes);
uint64_t dirty_files_waiting(const struct device *d);
/* Devices of which more than LEAST bytes wait. */
uint32_t dirty_files_disks(uint64_t least);
/* Whether its writes are left to the kernel. */
bool dirty_file_scattered(const struct dirty_file *f);
/* A write of it ended: whether it goes on near where the last one did is averaged. */
void dirty_file_note_place(struct dirty_file *f, uint64_t offset, uint64_t len);
/* Keeps the record while a thread waits; unpin: as dirty_file_take_out(). */
void dirty_file_pin(struct dirty_file *f);
bool dirty_file_unpin(struct dirty_file *f);
/*
 * Waits for the end of the turn that F is having, or until UNTIL: returns whether it is over. F is
 * pinned. The turn ends after its present step.
 */
bool dirty_file_wait_turn(struct dirty_file *f, uint64_t until);

/*
 * Nothing of F is to be written any more; REMOVED: it has no name either. What it had is returned, to
 * be given back without the lock.
 */
struct abandoned {
	struct backing *backing;
	struct dirty_file *file;
	int untold; /* its error, if it was removed with one */
};
struct abandoned dirty_file_abandon(struct dirty_file *f, bool removed);

/* ---- without the lock ---- */

void dirty_file_free(struct dirty_file *f);
void dirty_files_give_back(const struct abandoned *a);
/* Abandons all that CONDITION, called with the lock, picks. */
void dirty_files_abandon_all(bool (*condition)(const struct dirty_file *f, const void *arg),
			     const void *arg);
/* Looks at the next MAX files, up to TABLE_BATCH, and abandons those without a name. */
void dirty_files_sweep(uint32_t max);
/* The same of one file; and waits for the end of a turn that it may be having, up to UNTIL. */
void dirty_files_removed(const struct file_key *key, uint64_t until);

#endif
