/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The part of an export that its requests use: counters, settings, devices. It outlives the export
 * until the last prefetch is over.
 *
 *   request:  enter ---> queued or running ---> leave        ref: keeps the memory
 *   the end:  close (enter says no from now on), drain (waits, bounded, until all have left; when half
 *             of the bound is over, hurries: reads still queued are to end without I/O)
 *
 * The bound is one for all exports that go one after the other, as they do when the server ends: what one was
 * waited for the next ones are waited for less. Time in which nobody waits gives it back.
 *
 * Settings are replaced as a whole (export_settings.h): no request reads what a reload writes.
 */
#ifndef DISK_EXPORT_IO_H
#define DISK_EXPORT_IO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/lock.h"
#include "disk/export_settings.h"

/* Why the last FSSTAT of an export carried prices, or did not. */
enum fsstat_said {
	FSSTAT_UNASKED,
	FSSTAT_PRICES,	  /* it did */
	FSSTAT_OFF,	  /* Fsstat_Prices = false */
	FSSTAT_NFSV4,	  /* auto, and the export also serves NFSv4 */
	FSSTAT_NO_DEVICE, /* the FSAL below has no local file system */
	FSSTAT_FEW_FILES, /* too few inodes to hide a price in their number: exact counts */
	FSSTAT_SAID
};

struct device;

struct export_io {
	atomic_uint refs;
	uint16_t export_id;
	struct lock lock;
	pthread_cond_t drained;
	_Atomic uint32_t pending; /* requests queued or running */
	_Atomic uint32_t handles; /* of a remote FSAL that our backings have open */
	_Atomic uint32_t answers; /* requests that answer just now */
	atomic_bool closing, hurries, abandoned;
	uint64_t made;		   /* when (ns) */
	_Atomic uint64_t deadline; /* ns; 0: nobody has waited for its end */
	_Atomic uint32_t said;	   /* bits: causes of missing descriptors that the log has */
	/* bit n: its root, or files of it that were used, are on the nth device */
	_Atomic uint64_t devices;
	_Atomic(struct device *) last;	      /* the one that was found last; NULL: none */
	_Atomic enum fsstat_said fsstat_said; /* the last one */
	_Atomic uint32_t fsstat_turn;
	struct export_settings *settings; /* in force; replaced with the list's lock */
	struct readahead *engine;	  /* of the module: it outlives all exports */
	struct readahead_counters counters;
	struct export_io *next; /* the list of all; its lock */
};

/* A new one with one reference and settings of its own, in the list of all; NULL: no memory. */
struct export_io *export_io_new(uint16_t export_id, struct readahead *engine,
				const struct export_settings *s);
struct export_io *export_io_ref(struct export_io *io);
/* Any thread; waits for nothing. */
void export_io_put(struct export_io *io);

/* A request enters; false: the export is closing, do without the queue. Both: with a reference. */
bool export_io_enter(struct export_io *io);
/* ... once more, by a request that has entered and not left. */
void export_io_enter_again(struct export_io *io);
void export_io_leave(struct export_io *io);
/* No request enters any more. Waits for nothing. */
void export_io_close(struct export_io *io);
/*
 * Closes and waits until all requests have left: returns how many have not. Not on a thread that such a request
 * needs. Up to TIMEOUT ns, less what exports that went just before were waited for, but DRAIN_LEAST at least: requests
 * of a disk that answers get that far. After half of that export_io_hurries(). The first time decides: another one
 * waits for what is left of it.
 */
uint32_t export_io_drain(struct export_io *io, uint64_t timeout);
/* ns, or TIMEOUT where that is less. */
#define DRAIN_LEAST (250 * UINT64_C(1000000))
/* Until when (ns) its end may be waited for; 0: export_io_drain() has not been called. */
uint64_t export_io_deadline(struct export_io *io);
/*
 * A request that has entered, and waited, answers, until it has answered(); false: it must not, for what it
 * refers to has gone.
 */
bool export_io_answers(struct export_io *io);
void export_io_answered(struct export_io *io);
/*
 * The server ends, and frees what requests refer to, though some have not left: of exports that are closed none
 * begins to answer any more. The first time of an export waits up to TIMEOUT ns for those that do. Returns how many
 * still do.
 */
uint32_t exports_abandon(uint64_t timeout);
/* Something else that ends with an export was waited for, from BEGUN (ns) until now: that counts for those that follow. */
void export_io_waited(uint64_t begun);

/* Whether reads of the export are to end without I/O, lest they outlast it: their clients ask again. */
static inline bool export_io_hurries(struct export_io *io)
{
	return atomic_load_explicit(&io->hurries, memory_order_relaxed);
}

/* New settings, copied. Waits for readers: not with a lock. ENOMEM: the old ones stay. */
int export_io_configure(struct export_io *io, const struct export_settings *s);
/* The same, but its devices stay as they are. */
int export_io_tune(struct export_io *io, const struct export_settings *s);
/* Those in force, copied: what a READ needs, what a write needs, all. */
uint64_t export_io_tuning(struct export_io *io, struct readahead_tuning *t); /* prefetch_step */
void export_io_writeback(struct export_io *io, struct writeback_settings *w);
void export_io_settings(struct export_io *io, struct export_settings *s);
enum fsstat_rule export_io_fsstat_rule(struct export_io *io);
/* How long (ns) a read may wait for room in the queue: not at all while the export goes. */
uint64_t export_io_full_wait(struct export_io *io);

/*
 * The device that the file of FD is on, from now on among those of the export; NULL and *ERR: as by
 * device_use(), or by stat. NOW: ns.
 */
struct device *export_io_device(struct export_io *io, int fd, uint64_t now, int *err);
/* The same of the cluster of number MINOR: device_use_cluster(). */
struct device *export_io_cluster(struct export_io *io, unsigned int minor, int *err);
/* A write of LEN bytes has taken TOOK ns: where a cluster is below, that says how busy it is. */
void export_io_wrote(struct export_io *io, uint64_t len, bool stable, uint64_t took);
/*
 * A handle of the FSAL below is opened for a backing; false: the export is closing, none may be. When it is
 * closed handle_closed() says so; export_io_handles_closed() waits for that up to TIMEOUT ns, and returns
 * how many are open still. The backings must have been dropped before.
 */
bool export_io_handle_opens(struct export_io *io);
void export_io_handle_closed(struct export_io *io);
uint32_t export_io_handles_closed(struct export_io *io, uint64_t timeout);
/* Says in the log, once for each cause, that its files have no descriptors because of ERR. */
void export_io_say_degraded(struct export_io *io, int err);

/* What operators see of an export. */
struct export_stats {
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
unsigned int exports_stats(struct export_stats *stats, unsigned int max);
/* The devices of the export, as in export_io; 0: there is none of this id, or it has none. */
uint64_t exports_devices(uint16_t export_id);
/* The counters of all exports, past ones included. */
void exports_sum(struct readahead_counters *sum);
/* What ENGINE gave up since goes to the exports whose READs it was for; about once a second. */
void exports_collect(struct readahead *engine);
/* Where counts go that belong to no export any more. */
struct readahead_counters *exports_past(void);
#endif
