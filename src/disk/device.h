/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Block devices below the exports: each has a dispatcher and a board of prices.
 *
 * An entry of the table is made when an export on the device starts, or a file on it is first used.
 * It stays in its place to the end. When no export uses it any more and the table is full, another
 * device takes it over; or it begins anew with the next export, for the number may be another disk's by then. What depth it has follows from device_mode.h.
 */
#ifndef DISK_DEVICE_H
#define DISK_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "disk/device_evidence.h"
#include "disk/device_mode.h"
#include "disk/drive_queue.h"
#include "disk/extents.h"
#include "disk/learnt.h"
#include "pricing/board.h"
#include "pricing/client_board.h"
#include "sched/dispatcher.h"

#define DEVICES_MAX 64

/* Bytes that a step of a chunk has at the device, with what is asked for ahead of it; and turns' worth that are enough. */
#define DEVICE_STEP   (UINT64_C(768) << 10)
#define DEVICE_ENOUGH 2

/*
 * A cluster that a FSAL reaches by itself has a number with this major one, which no block device has, and
 * a minor one below the bound (20 bits, as the kernel's).
 */
#define DEVICE_CLUSTER_MAJOR  65536u
#define DEVICE_CLUSTER_MINORS (1u << 20)

/* What exports say of their devices; of several the last one counts. Immutable. */
struct device_settings {
	const struct sched_policy *policy;
	uint32_t depth; /* requests at once; 0: by what the device is */
	struct sched_limits limits;
};

/* fsyncs of COMMITs: under way now; that are over, ever. */
struct device_fsyncs {
	_Atomic uint32_t now, over;
};

struct device {
	_Atomic dev_t dev;
	_Atomic uint32_t taken; /* how often the entry was given to a device: it may be another */
	_Atomic uint32_t backings; /* that are on it */
	uint32_t exports;	   /* that use it; the table's lock */
	struct device_mode mode;   /* the table's lock; of it, for any thread: */
	atomic_bool rotating;
	atomic_bool queues, own_queues, written;
	_Atomic uint32_t own_depth;
	_Atomic uint32_t drive_stated, spindles; /* drive_queue.h's */
	_Atomic enum device_learns learns;
	_Atomic uint32_t reading; /* reads that we know of, at the device now */
	_Atomic uint32_t steps;	  /* of them steps of chunks */
	_Atomic uint32_t asking;  /* threads that ask where a file of it lies: extents.h */
	_Atomic uint32_t
		piece; /* bytes that the kernel starts at one call, 0: not known: fetch.h */
	/* So many of that size came whole in a row, and so many are to before it is doubled; it was just now: fetch_local.c */
	_Atomic uint32_t pieces_whole, pieces_wanted;
	atomic_bool piece_tried;
	atomic_bool spoilt;	      /* a page could not be read: arrival.h */
	_Atomic uint32_t window;      /* bytes: device_window() */
	_Atomic uint64_t next_window; /* ns: when it is asked for again */
	_Atomic uint64_t next_sample; /* ns: when a READ past the queue is measured again */
	atomic_bool cluster; /* it is one: reads join what is fetched, or mostly pass the queue */
	struct device_fsyncs settling; /* of what went by turns, and so is ours */
	struct device_fsyncs fsyncs;   /* of what had none */
	uint32_t fsyncs_seen;	       /* that were over, at the last look */
	_Atomic uint64_t brought;      /* bytes that came from a cluster into its client's cache */
	struct device_evidence evidence;
	struct dispatcher dispatcher;
	struct price_board prices;	   /* what its use costs */
	struct client_board client_prices; /* ... clients that have used it much or little */
	double reads;			   /* queued or running, averaged: device_price() */
};

/* Whether a demand read is better off in our queue than with the kernel at once. */
static inline bool device_queues_demand(struct device *d)
{
	return atomic_load_explicit(&d->queues, memory_order_relaxed);
}

/* Whether a read joins a chunk that covers it, and else goes past the queue, unless other clients come first. */
static inline bool device_joins_only(struct device *d)
{
	return atomic_load_explicit(&d->cluster, memory_order_relaxed);
}

/* Whether reads go past the queue, and nothing is to be learnt from them. */
static inline bool device_is_plain(struct device *d)
{
	return !device_queues_demand(d) && !device_joins_only(d) &&
	       atomic_load_explicit(&d->learns, memory_order_relaxed) != DEVICE_LEARNS_DEAR;
}

/* ... and whether it would be if nobody else wrote: then write-back is worth turns with reads. */
static inline bool device_queues_writeback(struct device *d)
{
	return atomic_load_explicit(&d->own_queues, memory_order_relaxed);
}

/* Whether reads go past the queue of a device of our own, whoever else writes: as flash, it serves them beside each other. */
static inline bool device_is_direct(struct device *d)
{
	return !device_queues_writeback(d) && !device_joins_only(d);
}

/* Whether the kernel has writes for it that are not of our turns: reads are at it together, not one by one. */
static inline bool device_is_written(struct device *d)
{
	return atomic_load_explicit(&d->written, memory_order_relaxed);
}

/* Whether the kernel writes to it besides our turns: for fsyncs, or for others. */
static inline bool device_is_crowded(struct device *d)
{
	return atomic_load_explicit(&d->fsyncs.now, memory_order_relaxed) || device_is_written(d);
}

/*
 * Whether a device that serves reads beside each other is kept busy for long by steps of ours, of which the caller has MINE, or will
 * have one: what is asked for ahead of one then only makes others wait, whose READs go there past us.
 */
static inline bool device_is_shared(struct device *d, uint32_t mine)
{
	uint32_t n = atomic_load_explicit(&d->steps, memory_order_relaxed) + 1 - mine;

	return device_is_direct(d) &&
	       n * DEVICE_STEP > DEVICE_ENOUGH * dispatcher_chunk(&d->dispatcher);
}

/* What arrival.h is told of a file's device. */
static inline atomic_bool *device_spoilt(struct device *d)
{
	return device_is_direct(d) ? NULL : &d->spoilt;
}

/* How that was at some time, and whether it was so then or has been at all since. */
struct device_crowd {
	bool there;
	uint32_t over;
};

static inline struct device_crowd device_crowd(struct device *d)
{
	return (struct device_crowd){.there = device_is_crowded(d),
				     .over = atomic_load(&d->fsyncs.over)};
}

static inline bool device_was_crowded(struct device *d, const struct device_crowd *since)
{
	return since->there || device_is_crowded(d) || atomic_load(&d->fsyncs.over) != since->over;
}

/* Requests that the device does at once, as configured or found out. */
static inline uint32_t device_depth(struct device *d)
{
	return atomic_load_explicit(&d->own_depth, memory_order_relaxed);
}

/*
 * Before the first device: what every dispatcher is given (the clock, the name of a thread), and where
 * the kernel describes devices: NULL is /sys/dev/block.
 */
void device_start(const struct dispatcher_ops *ops, const char *sysfs);
/*
 * ADJUST may change the settings that a device is made or configured with, before they hold; with the
 * table's lock: it waits for nothing. NULL, as at first: they hold as they are.
 */
void device_set_adjust(void (*adjust)(dev_t dev, struct device_settings *s));
/* Whether DEV is there, and used by an export or a file. */
bool device_is_used(dev_t dev);
/* The same for ADJUST, which has the table's lock. */
bool device_is_used_locked(dev_t dev);
/*
 * The device DEV, made with the settings S if new, or if nobody used it any more; its bit in *DEVICES is set, and stands for an
 * export's use of it. NULL with *ERR: ENOSPC where the table is full of used ones, or why no thread
 * could be started.
 */
struct device *device_use(dev_t dev, const struct device_settings *s, _Atomic uint64_t *devices,
			  int *err);
/* The same of the cluster of this MINOR, below DEVICE_CLUSTER_MINORS. */
struct device *device_use_cluster(unsigned int minor, const struct device_settings *s,
				  _Atomic uint64_t *devices, int *err);
/* BYTES came from the cluster D at NOW, by a prefetch: its depth may change. Not with a lock. */
void device_brought(struct device *d, uint64_t bytes, uint64_t now);
/*
 * Bytes that a chunk of D's which begins now should have at most, where the dispatcher says LEN, and Prefetch_Step STEP. Not
 * with a lock.
 */
uint64_t device_chunk(struct device *d, uint64_t len, uint64_t step);
/*
 * Bytes of its next request, where Prefetch_Step says STEP: *STEPS times that; 0: it is no cluster, and nothing is to be
 * said of it. Any thread, not with a lock.
 */
uint64_t device_step(struct device *d, uint64_t step, uint32_t *steps);
/* A request of STEPS, of BYTES, that went on where the one before it had ended, took NS. Not with a lock. */
void device_stepped(struct device *d, uint32_t steps, uint64_t bytes, uint64_t ns);
/* A small read of a client, which found nothing, took TOOK ns at the cluster D, until NOW. Not with a lock. */
void device_answered_small(struct device *d, uint64_t took, uint64_t now);
/* A chunk of LEN bytes begins: what is tried of a cluster may begin with it. Not with a lock. */
void device_began(struct device *d, uint64_t len);
/* The depth found out of a cluster, which has changed, is in force where none is configured. Not with a lock. */
void device_set_learnt(struct device *d);
/* The export with these bits is gone. */
void device_unuse(uint64_t devices);
/*
 * LEN bytes that lie in SPAN came from the device, not from memory, in SERVICE ns, READERS reads being
 * under way when that began: what it costs to seek, and whether it does. A virtual machine's disk often
 * says that it rotates and does not. STEPS: steps of chunks that were under way, of which it was one (0: it was none), and
 * GOES_ON: whether the one before it in its chunk came too.
 */
void device_observe(struct device *d, const struct extent_span *span, uint64_t len,
		    uint64_t service, uint32_t readers, uint32_t steps, bool goes_on);
/* Whether a READ that goes past the queue should be measured now. */
bool device_sample_due(struct device *d, uint64_t now);
/* The kernel's own read-ahead on D's files, in bytes, as of the last second; 0: none. */
uint32_t device_window(struct device *d, uint64_t now);
/* Applies S to the devices whose bits are set. */
void device_configure(uint64_t devices, const struct device_settings *s);
/* Shares in force on all devices, also those to come. Copied. */
void device_set_shares(const struct sched_shares *shares);
/* Whether by them anybody has a weight, floor or ceiling of his own, so that all work is to be charged. */
bool device_shares_differ(void);
/*
 * What was found out of D so far, into L, where what cannot be learnt with its Queue_Depth stays; and what was
 * found out of this disk by a server before, which counts where nothing was found out yet.
 */
void device_learnt(struct device *d, struct learnt *l);
void device_restore(struct device *d, const struct learnt *l);
/* It is another disk than it was: all that was found out is void. */
void device_forget(struct device *d);
/* Its seeks cost next to nothing, or do: as far as it may be learnt of it. True: that is new. */
bool device_set_seeks_free(struct device *d, bool are_free);
/* Whether it rotates is asked again. Not with a lock. */
void device_ask_kind(struct device *d);
/* Where the kernel describes devices. */
const char *device_sysfs(void);
/* The Nth device, NULL beyond the last. */
struct device *device_nth(unsigned int n);
/*
 * The highest prices (0..1) among the devices whose bits are set, for this client on this export, 0: one that nothing is
 * known of; false where none is. Takes no lock: such an entry stays to the end.
 */
bool device_client_prices(uint64_t devices, uint64_t client, uint16_t export_id, double *write,
			  double *readahead);
/* The same for any client. */
static inline bool device_prices(uint64_t devices, double *write, double *readahead)
{
	return device_client_prices(devices, 0, 0, write, readahead);
}
/* The K by which prices of disks rise (pricing/price.h), from now on. */
void device_set_price_k(uint64_t k);
/* What reads would pay for the disk now, 0..1; looked at by one thread, at regular times. */
double device_price(struct device *d);
/* Looks whether others than our write-backs are writing to it; as device_price(). */
void device_watch_writes(struct device *d);
/* Nobody will look for a while: no device counts as written by others. */
void device_forget_writes(void);
/*
 * Joins all threads; what is queued is served first. Devices are there as before, for who still has a backing, and
 * nothing may be submitted.
 */
void device_stop_work(void);
/* The same, where that was not done; then all of it goes. */
void device_stop_all(void);

#endif
