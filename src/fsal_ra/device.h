/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Block devices below the exports: each has a dispatcher and a board of prices. It is made when an
 * export on it starts, or a file on it is first used, and stays to the end.
 */
#ifndef RA_DEVICE_H
#define RA_DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "params.h"
#include "pricing/board.h"
#include "sched/dispatcher.h"

#define RA_DEVICES_MAX 64

struct ra_export;

struct ra_device {
	dev_t dev;
	bool rotating;	       /* says the kernel */
	atomic_bool automatic; /* Queue_Depth = 0 */
	atomic_bool headless;  /* says it rotates, but seeks cost next to nothing */
	/* Demand reads are not queued: the device has many heads, or none. */
	atomic_bool demand_inline;
	struct dispatcher dispatcher;
	struct price_board prices; /* what its use costs: prices.c */
	/*
	 * The kernel's flusher, or another program, is writing to it: demand reads are not queued.
	 */
	atomic_bool written_by_others;
	_Atomic uint32_t depth_alone; /* of the dispatcher, while they do not */
	double others;		      /* share of looks that found it so; as reads: */
	double reads; /* queued or running, averaged; the ticking thread's of writeback.c */
};

/* Whether a demand read is better off in our queue than with the kernel at once. */
static inline bool device_queues_demand(struct ra_device *d)
{
	return !atomic_load_explicit(&d->demand_inline, memory_order_relaxed) &&
	       !atomic_load_explicit(&d->written_by_others, memory_order_relaxed);
}

/* Requests that the device does at once, as configured or found out. */
static inline uint32_t device_depth(struct ra_device *d)
{
	return atomic_load(&d->written_by_others) ? atomic_load(&d->depth_alone)
						  : dispatcher_depth(&d->dispatcher);
}

/*
 * The device DEV, made with the export's parameters if new, from now on among those of the export;
 * NULL when the table is full.
 */
struct ra_device *device_find(dev_t dev, struct ra_export *exp);
/*
 * Looks at what seeks have cost: a virtual machine's disk often says that it rotates and does not.
 * With Queue_Depth = 0 it is then treated as flash, until seeks are seen to cost again.
 */
void device_learn(struct ra_device *d);
/* Applies the export's parameters to its devices. */
void device_configure(struct ra_export *exp);
/* The Nth device, NULL beyond the last. */
struct ra_device *device_nth(unsigned int n);
/*
 * The highest prices (0..1) among the devices whose bits are set, as in export_io; false where none
 * is. Takes no lock: such a device stays to the end, and in its place.
 */
bool device_prices(uint64_t devices, double *write, double *readahead);
/* What reads would pay for the disk now, 0..1; looked at by one thread, at regular times. */
double device_price(struct ra_device *d);
/* Looks whether others than our write-backs are writing to it; as device_price(). */
void device_watch_writes(struct ra_device *d);
/* Nobody will look for a while: no device counts as written by others. */
void device_forget_writes(void);
/* Joins all threads; what is queued is served first. */
void device_stop_all(void);

#endif /* RA_DEVICE_H */
