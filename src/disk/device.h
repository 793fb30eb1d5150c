/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Block devices below the exports: each has a dispatcher and a board of prices. It is made when an
 * export on it starts, or a file on it is first used, and stays to the end.
 */
#ifndef DISK_DEVICE_H
#define DISK_DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "pricing/board.h"
#include "sched/dispatcher.h"

#define DEVICES_MAX 64

/* What exports say of their devices; of several the last one counts. Immutable. */
struct device_settings {
	const struct sched_policy *policy;
	uint32_t depth; /* requests at once; 0: by what the device is */
	struct sched_limits limits;
};

struct device {
	dev_t dev;
	bool rotating;		/* says the kernel */
	atomic_bool automatic;	/* Queue_Depth = 0 */
	atomic_bool seeks_free; /* says it rotates, but seeks cost next to nothing */
	/* Demand reads are not queued: the device has many heads, or none. */
	atomic_bool demand_inline;
	struct dispatcher dispatcher;
	struct price_board prices; /* what its use costs: prices.c */
	/*
	 * The kernel's flusher, or another program, is writing to it: demand reads are not queued.
	 */
	atomic_bool foreign_writes;
	_Atomic uint32_t depth_saved; /* of the dispatcher, while they do not */
	double foreign;		      /* share of looks that found it so; as reads: */
	double reads; /* queued or running, averaged; the ticking thread's of writeback.c */
};

/* Whether a demand read is better off in our queue than with the kernel at once. */
static inline bool device_queues_demand(struct device *d)
{
	return !atomic_load_explicit(&d->demand_inline, memory_order_relaxed) &&
	       !atomic_load_explicit(&d->foreign_writes, memory_order_relaxed);
}

/* Requests that the device does at once, as configured or found out. */
static inline uint32_t device_depth(struct device *d)
{
	return atomic_load(&d->foreign_writes) ? atomic_load(&d->depth_saved)
					       : dispatcher_depth(&d->dispatcher);
}

/* What every dispatcher is given, before the first device: the clock, the name of a thread. */
void device_start(const struct dispatcher_ops *ops);
/*
 * The device DEV, made with the settings S if new, and in *INDEX its place in the table; NULL with
 * *ERR: ENOSPC where the table is full, or why no thread could be started.
 */
struct device *device_find(dev_t dev, const struct device_settings *s, unsigned int *index,
			   int *err);
/*
 * Looks at what seeks have cost: a virtual machine's disk often says that it rotates and does not.
 * With Queue_Depth = 0 it is then treated as flash, until seeks are seen to cost again.
 */
void device_learn(struct device *d);
/* Applies S to the devices whose bits are set, as in export_io. */
void device_configure(uint64_t devices, const struct device_settings *s);
/* The Nth device, NULL beyond the last. */
struct device *device_nth(unsigned int n);
/*
 * The highest prices (0..1) among the devices whose bits are set, as in export_io; false where none
 * is. Takes no lock: such a device stays to the end, and in its place.
 */
bool device_prices(uint64_t devices, double *write, double *readahead);
/* The K by which prices of disks rise (pricing/price.h), from now on. */
void device_set_price_k(uint64_t k);
/* What reads would pay for the disk now, 0..1; looked at by one thread, at regular times. */
double device_price(struct device *d);
/* Looks whether others than our write-backs are writing to it; as device_price(). */
void device_watch_writes(struct device *d);
/* Nobody will look for a while: no device counts as written by others. */
void device_forget_writes(void);
/* Joins all threads; what is queued is served first. */
void device_stop_all(void);

#endif /* DISK_DEVICE_H */
