/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the parts of the data path share: io.c (a client's read), chunk.c (a prefetch), service.c
 * (engine, threads, counters: their life).
 */
#ifndef RA_IO_H
#define RA_IO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "backing.h"
#include "common/clock.h"
#include "device.h"
#include "prices.h"
#include "readahead/readahead.h"

struct ra_handle;

/* Whether FSSTAT carries prices: the parameter Fsstat_Prices. */
enum fsstat_rule { FSSTAT_AUTO, FSSTAT_ALWAYS, FSSTAT_NEVER };

/*
 * The part of an export that prefetches use: it outlives the export until the last of them is over.
 */
struct export_io {
	atomic_uint refs;
	uint16_t export_id;
	pthread_mutex_t lock;
	pthread_cond_t drained;
	uint32_t pending; /* requests queued or running; lock */
	atomic_bool closing;
	atomic_bool degraded; /* said in the log that the FSAL below has no descriptors */
	struct readahead_tuning *tuning; /* replaced under RCU at SIGHUP */
	/* bit n: its root, or files of it that were used, are on the nth device */
	_Atomic uint64_t devices;
	_Atomic enum fsstat_rule fsstat_rule;
	_Atomic enum fsstat_said fsstat_said; /* the last one */
	_Atomic uint32_t fsstat_turn;
	struct readahead_counters counters;
	struct export_io *next; /* all of them: service.c */
};

/* service.c */
extern struct readahead *ra_engine;
struct export_io *export_io_ref(struct export_io *io);
void export_io_put(struct export_io *io);
/* A request enters; false: the export is closing, do without the queue. */
bool export_io_enter(struct export_io *io);
void export_io_leave(struct export_io *io);
/* The rules in force, copied. */
void export_io_tuning(struct export_io *io, struct readahead_tuning *t);
/* What operators see of an export. */
struct export_view {
	uint16_t export_id;
	bool closing;
	uint32_t pending;
	const struct heuristic_ops *heuristic;
	uint64_t devices; /* as in export_io */
	bool priced;	  /* its read-ahead obeys the price */
	enum fsstat_said fsstat;
	uint64_t counted[READAHEAD_COUNTERS];
};
/* Fills up to MAX entries; returns how many exports there are. */
unsigned int ra_exports_view(struct export_view *view, unsigned int max);
/* Another heuristic for the export of EXPORT_ID, or for all (< 0), until their next update. Returns
 * how many have it now. */
unsigned int ra_exports_set_heuristic(const struct heuristic_ops *h, int64_t export_id);
/* The calling dispatcher thread's buffer of at least LEN bytes, or NULL. */
void *ra_scratch(size_t len);

/* chunk.c */
struct chunk;
/* A chunk for PLAN of B's file, read in steps of STEP bytes; to be submitted. Takes its own references. */
struct chunk *chunk_new(struct export_io *io, struct backing *b, const struct readahead_plan *plan,
			uint64_t step);
/* Hands the chunk to the disk's queue, unless all of it is in memory. The chunk is gone then. */
void chunk_submit(struct chunk *c);

/* io.c: what all dispatchers are handed. */
extern const struct dispatcher_ops ra_dispatcher_ops;

#endif /* RA_IO_H */
