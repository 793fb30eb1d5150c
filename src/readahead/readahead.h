/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The read-ahead engine: told of every read, it says what to fetch ahead.
 *
 * It does no I/O, looks at no clock and knows no file: the caller hands in file handles as opaque
 * keys, times in ns of any monotonic clock, and carries out the plans it gets back.
 *
 *   readahead_observe()   for each client read        -> perhaps a plan: fetch [offset, +length)
 *   readahead_started()   when its chunk goes to the disk -> perhaps the next plan
 *   readahead_arrived()   as parts of it are in memory
 *   readahead_finished()  once, whatever happened to it
 *   readahead_late()      when a client had to wait for a chunk submitted before
 *
 * All functions may be called from any thread. A read of a known file takes that file's lock, for
 * nanoseconds, and no other.
 */
#ifndef READAHEAD_READAHEAD_H
#define READAHEAD_READAHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readahead/counters.h"
#include "readahead/cursor.h"
#include "readahead/given_up.h"
#include "readahead/heuristic.h"
#include "readahead/readers.h"
#include "readahead/rules.h"
#include "readahead/types.h"

struct readahead;

/* What the whole engine may use; fixed when it is made, but for memory. */
struct readahead_limits {
	uint32_t table_size;   /* files */
	uint32_t table_probes; /* places that a file may have; 0: any (heur_table.h) */
	uint32_t cursors;      /* in all files together */
	uint32_t cursors_per_file;
	uint64_t memory;    /* bytes asked for and not yet read, over all cursors */
	uint64_t idle_time; /* ns without a read after which a cursor's unread bytes are given up */
};

/* State of the engine for operators: a snapshot, each number by itself. */
struct readahead_stats {
	uint64_t unread, unread_max; /* bytes asked for and not yet read: now, highest ever */
	uint64_t memory;	     /* their bound */
	uint64_t cursors_made, cursors_recycled;
	uint32_t cursors, cursors_used, table_size, entries;
	uint64_t evictions;
	uint32_t streams; /* cursors with unread bytes */
};

/* NULL when out of memory. */
struct readahead *readahead_create(const struct readahead_limits *limits);
void readahead_destroy(struct readahead *ra);
/* What is known of who reads: the engine's, for as long as that is there. */
struct readers *readahead_readers(struct readahead *ra);
/* A new bound on unread bytes; holds at once for new plans. */
void readahead_set_memory(struct readahead *ra, uint64_t bytes);
/* ... and of the time (ns) without a read after which they are given up. */
void readahead_set_idle(struct readahead *ra, uint64_t idle_time);

void readahead_observe(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, const struct readahead_read *read,
		       struct readahead_plan *plan);

/*
 * Whether the reader of PLAN, which is being fetched, has asked for more after SINCE (ns), or for anything beyond UPTO. One whose run is young and who
 * has not, though he has all that came before, may want no more: then PLAN ends there.
 */
bool readahead_reads_on(struct readahead *ra, const struct readahead_plan *plan, uint64_t since,
			uint64_t upto);
/* Only the first LEN bytes of PLAN are to be fetched; what was planned behind it stays. *plan says what holds then. */
void readahead_shorten(struct readahead *ra, struct readahead_counters *counters,
		       struct readahead_plan *plan, uint64_t len);
/*
 * Whether that is of use: not where what follows it was asked for too, for another reader or one who is beyond it.
 * Then the disk goes on there anyway.
 */
bool readahead_may_shorten(struct readahead *ra, const struct readahead_plan *plan);
/*
 * The chunk PLAN goes to the disk now. READ carries size, now, chunk, streams, price, kept and has_floor; *next
 * receives the plan to submit behind it, if any.
 */
void readahead_started(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, const struct readahead_plan *plan,
		       const struct readahead_read *read, struct readahead_plan *next);
/* The chunk is in memory up to the offset UPTO. */
void readahead_arrived(struct readahead *ra, const struct readahead_plan *plan, uint64_t upto,
		       uint64_t now);
/*
 * The disk brought [from, to) of the chunk, of records those in it: counted, before
 * readahead_arrived() of it.
 */
void readahead_fetched(struct readahead *ra, struct readahead_counters *counters,
		       const struct readahead_plan *plan, uint64_t from, uint64_t to);
/* [from, to) of the chunk was in memory before it was read: not fetched after all. */
void readahead_already(struct readahead *ra, struct readahead_counters *counters,
		       const struct readahead_plan *plan, uint64_t from, uint64_t to);
/*
 * The chunk is over. UPTO: it is in memory as far as this; short of its end when it failed (ERROR),
 * met EOF, or was dropped. STARTED: readahead_started() was called for it.
 */
void readahead_finished(struct readahead *ra, struct readahead_counters *counters,
			const struct readahead_plan *plan, uint64_t upto, bool started, bool error);
/* A client had to wait for the chunk of PLAN. */
void readahead_late(struct readahead *ra, const struct readahead_tuning *t,
		    const struct cursor_ref *cursor);
/*
 * A client's read at OFFSET was not in memory though it had arrived there. Not needed where the plan says that
 * its reader is not followed.
 */
void readahead_lost(struct readahead *ra, const struct readahead_tuning *t,
		    struct readahead_counters *counters, const struct cursor_ref *cursor,
		    uint64_t offset);

/* Clients read on in the file at NOW, but the engine is not told: it is in memory. */
void readahead_unseen(struct readahead *ra, const void *key, size_t key_len, uint64_t now);
/* Forgets a file that was removed: what was read ahead of it weighs on the memory no longer. */
void readahead_forget(struct readahead *ra, const void *key, size_t key_len);
/*
 * Gives up the unread bytes of cursors idle too long, and where three quarters of the memory are
 * held already those of readers silent for a second. Where that much is held, or another reader was refused some since the
 * last call, one who holds more than his part gives up what his cursors do not come to within the time after which they would
 * be idle, as they went on in the last seconds. Call about once a second. What that comes to waits at
 * the accounts of their reads.
 */
void readahead_sweep(struct readahead *ra, uint64_t now);
/* What waits at ACCOUNT goes to COUNTERS. */
void readahead_collect(struct readahead *ra, uint16_t account, struct readahead_counters *counters);
void readahead_stats(struct readahead *ra, struct readahead_stats *s);

#endif
