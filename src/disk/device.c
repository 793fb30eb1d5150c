/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of devices. See device.h. */
#include "disk/device.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/lock.h"
#include "common/log.h"
#include "pricing/price.h"

/* Depth chosen for a device that does not rotate. */
#define DEPTH_FLASH 8
/*
 * A seek cheaper than the first is no seek (ns). Dearer than the second, it is one after all: seen
 * by DEPTH_FLASH requests that wait for each other.
 */
#define SEEK_NONE (1 * CLOCK_MS)
#define SEEK_REAL (20 * CLOCK_MS)

/* So many reads for each that the disk does at once ask the highest price of write-back. */
#define READS_SATURATION 4
/* Reads at once on a device that others write to: as many as the kernel would have without us. */
#define DEPTH_FOREIGN 32
/* Looks for writes of others that are averaged, and the shares of busy ones that make a change. */
#define FOREIGN_AVERAGED 8
#define FOREIGN_BUSY	 0.5
#define FOREIGN_GONE	 0.25
/* Looks at the number of reads that are averaged. */
#define READS_AVERAGED 16

static struct {
	struct lock lock;
	const struct dispatcher_ops *ops;
	struct device *device[DEVICES_MAX];
	unsigned int n;
	_Atomic uint64_t price_k;
} table = {.lock = LOCK_INITIALIZER(LOCK_DEVICES), .price_k = 100};

/* What the block layer says of the device, or of the disk a partition is on; false: flash, or none.
 */
static bool is_rotating(dev_t dev)
{
	static const char *const formats[] = {"/sys/dev/block/%u:%u/queue/rotational",
					      "/sys/dev/block/%u:%u/../queue/rotational"};
	char path[96], c;

	for (int i = 0; i < 2; i++) {
		FILE *f;

		snprintf(path, sizeof(path), formats[i], major(dev), minor(dev));
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		c = (char)fgetc(f);
		fclose(f);
		return c == '1';
	}
	return false;
}

static uint32_t depth_of(const struct device *d, const struct device_settings *s)
{
	if (s->depth)
		return s->depth;
	return d->rotating && !d->seeks_free ? 1 : DEPTH_FLASH;
}

static bool inline_demand(const struct device *d, const struct device_settings *s)
{
	return !s->depth && (!d->rotating || d->seeks_free);
}

static void configure(struct device *d, const struct device_settings *s)
{
	int err;

	dispatcher_set_limits(&d->dispatcher, &s->limits);
	if (dispatcher_set_policy(&d->dispatcher, s->policy))
		log_line(LOG_LEVEL_CRIT, "device %u:%u: no memory for another scheduler",
			 major(d->dev), minor(d->dev));
	atomic_store(&d->foreign_writes, false); /* found out anew */
	err = dispatcher_set_depth(&d->dispatcher, depth_of(d, s));
	if (err)
		log_line(LOG_LEVEL_CRIT, "device %u:%u: no thread could be started: %s",
			 major(d->dev), minor(d->dev), strerror(err));
	atomic_store(&d->automatic, !s->depth);
	atomic_store(&d->demand_inline, inline_demand(d, s));
}

static struct device *make(dev_t dev, const struct device_settings *s, int *err)
{
	struct device *d = calloc(1, sizeof(*d));

	*err = ENOMEM;
	if (d == NULL)
		return NULL;
	d->dev = dev;
	d->rotating = is_rotating(dev);
	atomic_init(&d->automatic, !s->depth);
	atomic_init(&d->demand_inline, inline_demand(d, s));
	*err = dispatcher_init(&d->dispatcher, table.ops, depth_of(d, s), s->policy, &s->limits);
	if (*err) {
		log_line(LOG_LEVEL_CRIT, "device %u:%u: no dispatcher: %s", major(dev), minor(dev),
			 strerror(*err));
		free(d);
		return NULL;
	}
	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u (%s): scheduler %s, %u request%s at once, demand reads %s",
		 major(dev), minor(dev), d->rotating ? "rotating" : "not rotating", s->policy->name,
		 dispatcher_depth(&d->dispatcher), dispatcher_depth(&d->dispatcher) == 1 ? "" : "s",
		 atomic_load(&d->demand_inline) ? "not queued" : "queued");
	return d;
}

void device_start(const struct dispatcher_ops *ops)
{
	table.ops = ops;
}

struct device *device_find(dev_t dev, const struct device_settings *s, unsigned int *index,
			   int *err)
{
	struct device *d = NULL;
	unsigned int i;

	lock_take(&table.lock);
	for (i = 0; i < table.n && !d; i++)
		if (table.device[i]->dev == dev)
			d = table.device[i];
	if (d != NULL) {
		*index = i - 1;
	} else if (table.n == DEVICES_MAX) {
		*err = ENOSPC;
	} else {
		d = make(dev, s, err);
		*index = table.n;
		if (d != NULL)
			table.device[table.n++] = d;
	}
	lock_drop(&table.lock);
	return d;
}

void device_learn(struct device *d)
{
	struct cost_model cost = dispatcher_cost(&d->dispatcher);
	bool seeks_free = atomic_load(&d->seeks_free);

	if (!d->rotating || !atomic_load(&d->automatic))
		return;
	if (!cost_seek_known(&cost) ||
	    (seeks_free ? cost.seek_ns < SEEK_REAL : cost.seek_ns >= SEEK_NONE))
		return;
	seeks_free = !seeks_free;
	lock_take(&table.lock); /* against a reload, and against another thread */
	if (!atomic_load(&d->automatic) ||
	    atomic_exchange(&d->seeks_free, seeks_free) == seeks_free) {
		lock_drop(&table.lock);
		return;
	}
	atomic_store(&d->demand_inline, seeks_free);
	if (dispatcher_set_depth(&d->dispatcher, seeks_free ? DEPTH_FLASH : 1))
		log_line(LOG_LEVEL_WARN, "device %u:%u: fewer threads than wanted", major(d->dev),
			 minor(d->dev));
	lock_drop(&table.lock);
	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u says it rotates, and a seek costs %.2f ms: treated as %s",
		 major(d->dev), minor(d->dev), cost.seek_ns / 1e6,
		 seeks_free ? "flash (Queue_Depth = 1 would insist)" : "a rotating disk again");
}

void device_configure(uint64_t devices, const struct device_settings *s)
{
	lock_take(&table.lock);
	for (unsigned int i = 0; i < table.n; i++)
		if (devices & (UINT64_C(1) << i))
			configure(table.device[i], s);
	lock_drop(&table.lock);
}

struct device *device_nth(unsigned int n)
{
	struct device *d;

	lock_take(&table.lock);
	d = n < table.n ? table.device[n] : NULL;
	lock_drop(&table.lock);
	return d;
}

bool device_prices(uint64_t devices, double *write, double *readahead)
{
	*write = *readahead = 0;
	for (uint64_t left = devices; left != 0; left &= left - 1) {
		const struct price_board *b = &table.device[__builtin_ctzll(left)]->prices;

		*write = fmax(*write, board_write_price(b));
		*readahead = fmax(*readahead, board_readahead_price(b));
	}
	return devices != 0;
}

void device_set_price_k(uint64_t k)
{
	atomic_store(&table.price_k, k);
}

double device_price(struct device *d)
{
	d->reads += (dispatcher_reads(&d->dispatcher) - d->reads) / READS_AVERAGED;
	return price_of((double)atomic_load(&table.price_k),
			d->reads / (READS_SATURATION * device_depth(d)));
}

/* Writes that the kernel has given to the device; 0 where it does not say. */
static unsigned long writes_in_flight(dev_t dev)
{
	unsigned long reads, writes;
	char path[64];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/inflight", major(dev), minor(dev));
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	n = fscanf(f, "%lu %lu", &reads, &writes);
	fclose(f);
	return n == 2 ? writes : 0;
}

/*
 * Reads that are still queued must not wait one by one behind those that now go straight to the disk:
 * as long as others write, many of them are let go at once.
 */
static void set_foreign_writes(struct device *d, bool busy)
{
	uint32_t depth = dispatcher_depth(&d->dispatcher);

	if (busy)
		atomic_store(&d->depth_saved, depth);
	else
		depth = atomic_load(&d->depth_saved);
	atomic_store(&d->foreign_writes, busy);
	if (busy && depth < DEPTH_FOREIGN)
		depth = DEPTH_FOREIGN;
	if (dispatcher_set_depth(&d->dispatcher, depth))
		log_line(LOG_LEVEL_WARN, "device %u:%u: fewer threads than wanted", major(d->dev),
			 minor(d->dev));
}

void device_watch_writes(struct device *d)
{
	bool busy = atomic_load(&d->foreign_writes);

	if (dispatcher_writes(&d->dispatcher))
		return; /* ours */
	d->foreign += ((writes_in_flight(d->dev) ? 1 : 0) - d->foreign) / FOREIGN_AVERAGED;
	if (busy ? d->foreign >= FOREIGN_GONE : d->foreign <= FOREIGN_BUSY)
		return;
	lock_take(&table.lock); /* against a reload */
	if (atomic_load(&d->foreign_writes) == busy)
		set_foreign_writes(d, !busy);
	lock_drop(&table.lock);
}

void device_forget_writes(void)
{
	lock_take(&table.lock);
	for (unsigned int i = 0; i < table.n; i++) {
		struct device *d = table.device[i];

		d->foreign = 0;
		if (atomic_load(&d->foreign_writes))
			set_foreign_writes(d, false);
	}
	lock_drop(&table.lock);
}

void device_stop_all(void)
{
	for (unsigned int i = 0; i < table.n; i++) {
		dispatcher_fini(&table.device[i]->dispatcher);
		free(table.device[i]);
	}
	table.n = 0;
}
