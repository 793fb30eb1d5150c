/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of devices. See device.h. */
#include "disk/device.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/lock.h"
#include "common/log.h"
#include "disk/block_queue.h"
#include "pricing/price.h"

/* So many reads for each that the disk does at once ask the highest price of write-back. */
#define READS_SATURATION 4
/* Looks at the number of reads that are averaged. */
#define READS_AVERAGED 16
/* The kernel's read-ahead is asked for so often (ns). */
#define WINDOW_INTERVAL UINT64_C(1000000000)

_Static_assert(DRIVE_QUEUE_MAX < SCHED_STALLED_MAX, "a drive that hangs can be passed");

static struct {
	struct lock lock;
	const struct dispatcher_ops *ops;
	const char *sysfs;
	struct device *device[DEVICES_MAX];
	unsigned int n;
	_Atomic uint64_t price_k;
	struct sched_shares shares; /* n_rules 0: none were set */
	atomic_bool unlike;	    /* by them not all clients are alike */
	void (*adjust)(dev_t dev, struct device_settings *s);
	bool stopped; /* their threads are over */
} table = {.lock = LOCK_INITIALIZER(LOCK_DEVICES), .price_k = 100};

/* What the block layer says of the device; false: flash, or none. */
static bool is_rotating(dev_t dev)
{
	return block_queue_number(table.sysfs, dev, "rotational") == 1;
}

/* ---- modes; with the table's lock -------------------------------------------------------- */

static bool is_cluster(dev_t dev)
{
	return major(dev) == DEVICE_CLUSTER_MAJOR;
}

/* What DEV is, as far as it says. */
static void init_mode(struct device_mode *m, dev_t dev, uint32_t depth)
{
	device_mode_init(m, !is_cluster(dev) && is_rotating(dev), 1, depth);
	if (is_cluster(dev))
		device_mode_set_cluster(m);
}

/* What follows from D's mode, for the threads that take no lock, and for the dispatcher. */
static void apply_mode(struct device *d)
{
	const struct device_mode *m = &d->mode;
	uint32_t depth = device_mode_depth(m);

	lock_assert_held(&table.lock);
	atomic_store(&d->rotating, m->rotating);
	atomic_store(&d->queues, device_mode_queues(m));
	atomic_store(&d->own_queues, device_mode_own_queues(m));
	atomic_store(&d->written, device_mode_written(m));
	atomic_store(&d->own_depth, device_mode_own_depth(m));
	atomic_store(&d->learns, device_mode_learns(m));
	dispatcher_set_together(&d->dispatcher, device_mode_scattered(m));
	dispatcher_set_past(&d->dispatcher, m->cluster, device_is_direct(d));
	if (dispatcher_set_depth(&d->dispatcher, depth) || dispatcher_depth(&d->dispatcher) < depth)
		log_line(LOG_LEVEL_CRIT, "device %u:%u: only %u of %u threads could be started",
			 major(d->dev), minor(d->dev), dispatcher_depth(&d->dispatcher), depth);
}

/* What its drive takes at once, which can be changed while we run. */
static void ask_drive(struct device *d)
{
	struct drive_queue drive = drive_queue_of(table.sysfs, atomic_load(&d->dev));

	if (is_cluster(atomic_load(&d->dev)))
		return;
	atomic_store(&d->drive_stated, drive.stated);
	atomic_store(&d->spindles, drive.spindles);
	d->mode.drive_queue = drive.bound;
}

/* Its kind, which can be changed while we run, as its disk can. */
static void ask_kind(struct device *d)
{
	dev_t dev = atomic_load(&d->dev);

	if (!is_cluster(dev))
		device_mode_set_rotating(&d->mode, is_rotating(dev));
}

static void configure(struct device *d, const struct device_settings *s)
{
	dispatcher_set_limits(&d->dispatcher, &s->limits);
	if (dispatcher_set_policy(&d->dispatcher, s->policy))
		log_line(LOG_LEVEL_CRIT, "device %u:%u: no memory for another scheduler",
			 major(d->dev), minor(d->dev));
	ask_kind(d);
	ask_drive(d);
	device_mode_configure(&d->mode, s->depth);
	apply_mode(d);
}

static void say_taken(struct device *d, const struct device_settings *s)
{
	uint32_t depth = device_depth(d);

	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u (%s): scheduler %s, %u request%s at once, demand reads %s",
		 major(d->dev), minor(d->dev),
		 d->cluster    ? "a cluster"
		 : d->rotating ? "rotating"
			       : "not rotating",
		 s->policy->name, depth, depth == 1 ? "" : "s",
		 d->cluster		   ? "queued where other clients come first"
		 : device_queues_demand(d) ? "queued"
					   : "not queued");
}

/* The kernel's own read-ahead, which can be changed while we run. */
static void ask_window(struct device *d)
{
	uint64_t kib = block_queue_number(table.sysfs, atomic_load(&d->dev), "read_ahead_kb");

	atomic_store(&d->window, kib < UINT32_MAX >> 10 ? (uint32_t)kib << 10 : UINT32_MAX);
}

/* ---- the table; with its lock ------------------------------------------------------------ */

static void take(struct device *d, dev_t dev, const struct device_settings *s)
{
	char name[DISPATCHER_NAME_MAX];

	snprintf(name, sizeof(name), "%u:%u", major(dev), minor(dev));
	dispatcher_set_name(&d->dispatcher, name);
	atomic_store(&d->dev, dev);
	atomic_fetch_add(&d->taken, 1);
	atomic_store(&d->piece, 0);
	atomic_store(&d->spoilt, false);
	ask_window(d);
	atomic_store(&d->next_window, 0);
	init_mode(&d->mode, dev, s->depth);
	atomic_store(&d->cluster, d->mode.cluster);
	ask_drive(d);
	device_evidence_forget(&d->evidence);
	apply_mode(d);
	say_taken(d, s);
}

static void share(struct device *d)
{
	if (table.shares.n_rules != 0 && dispatcher_set_shares(&d->dispatcher, &table.shares))
		log_line(LOG_LEVEL_CRIT, "device %u:%u: no memory for other shares", major(d->dev),
			 minor(d->dev));
}

/* A new entry at the table's end. */
static struct device *append(dev_t dev, const struct device_settings *s, int *err)
{
	struct device *d = calloc(1, sizeof(*d));
	struct device_mode m;

	*err = ENOMEM;
	if (d == NULL)
		return NULL;
	init_mode(&m, dev, s->depth);
	*err = dispatcher_init(&d->dispatcher, table.ops, device_mode_depth(&m), s->policy,
			       &s->limits);
	if (*err) {
		log_line(LOG_LEVEL_CRIT, "device %u:%u: no dispatcher: %s", major(dev), minor(dev),
			 strerror(*err));
		free(d);
		return NULL;
	}
	lock_init(&d->evidence.lock, LOCK_LEAF);
	take(d, dev, s);
	share(d);
	table.device[table.n++] = d;
	return d;
}

static bool is_unused(struct device *d)
{
	return d->exports == 0 && atomic_load(&d->backings) == 0;
}

static struct device *find(dev_t dev)
{
	for (unsigned int i = 0; i < table.n; i++)
		if (table.device[i]->dev == dev)
			return table.device[i];
	return NULL;
}

static struct device *find_unused(void)
{
	for (unsigned int i = 0; i < table.n; i++)
		if (is_unused(table.device[i]))
			return table.device[i];
	return NULL;
}

/* An export has this device from now on, if it had not before. */
static void mark(struct device *d, _Atomic uint64_t *devices)
{
	for (unsigned int i = 0; i < table.n; i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (table.device[i] == d && !(atomic_fetch_or(devices, bit) & bit))
			d->exports++;
	}
}

void device_start(const struct dispatcher_ops *ops, const char *sysfs)
{
	table.sysfs = sysfs != NULL ? sysfs : "/sys/dev/block";
	table.ops = ops;
}

void device_set_adjust(void (*adjust)(dev_t dev, struct device_settings *s))
{
	lock_take(&table.lock);
	table.adjust = adjust;
	lock_drop(&table.lock);
}

static struct device_settings adjusted(dev_t dev, const struct device_settings *s)
{
	struct device_settings copy = *s;

	if (table.adjust != NULL)
		table.adjust(dev, &copy);
	return copy;
}

/*
 * DEV's entry. One that nobody used any more begins anew: its number may be another disk's by now, and the export that
 * said how it is treated is gone.
 */
static struct device *enter(dev_t dev, const struct device_settings *asked, int *err)
{
	struct device *d = find(dev);
	struct device_settings s;

	if (d != NULL && !is_unused(d))
		return d;
	if (d == NULL && table.n == DEVICES_MAX) {
		*err = ENOSPC;
		d = find_unused();
		if (d == NULL)
			return NULL;
	}
	s = adjusted(dev, asked);
	if (d == NULL)
		return append(dev, &s, err);
	dispatcher_forget_cost(&d->dispatcher);
	take(d, dev, &s);
	configure(d, &s);
	return d;
}

bool device_is_used_locked(dev_t dev)
{
	struct device *d = find(dev);

	return d != NULL && !is_unused(d);
}

bool device_is_used(dev_t dev)
{
	bool used;

	lock_take(&table.lock);
	used = device_is_used_locked(dev);
	lock_drop(&table.lock);
	return used;
}

struct device *device_use(dev_t dev, const struct device_settings *s, _Atomic uint64_t *devices,
			  int *err)
{
	struct device *d;

	lock_take(&table.lock);
	d = enter(dev, s, err);
	if (d != NULL)
		mark(d, devices);
	lock_drop(&table.lock);
	return d;
}

struct device *device_use_cluster(unsigned int minor, const struct device_settings *s,
				  _Atomic uint64_t *devices, int *err)
{
	assert(minor < DEVICE_CLUSTER_MINORS);
	return device_use(makedev(DEVICE_CLUSTER_MAJOR, minor), s, devices, err);
}

void device_unuse(uint64_t devices)
{
	lock_take(&table.lock);
	for (unsigned int i = 0; i < table.n; i++)
		if (devices & (UINT64_C(1) << i)) {
			assert(table.device[i]->exports > 0);
			table.device[i]->exports--;
		}
	lock_drop(&table.lock);
}

void device_configure(uint64_t devices, const struct device_settings *s)
{
	struct device_settings own;

	lock_take(&table.lock);
	for (unsigned int i = 0; i < table.n; i++) {
		if (!(devices & (UINT64_C(1) << i)))
			continue;
		own = adjusted(table.device[i]->dev, s);
		configure(table.device[i], &own);
	}
	lock_drop(&table.lock);
}

bool device_shares_differ(void)
{
	return atomic_load_explicit(&table.unlike, memory_order_relaxed);
}

void device_set_shares(const struct sched_shares *shares)
{
	atomic_store_explicit(&table.unlike, sched_shares_differ(shares), memory_order_relaxed);
	lock_take(&table.lock);
	table.shares = *shares;
	for (unsigned int i = 0; i < table.n; i++)
		share(table.device[i]);
	lock_drop(&table.lock);
}

const char *device_sysfs(void)
{
	return table.sysfs;
}

void device_ask_kind(struct device *d)
{
	lock_take(&table.lock);
	ask_kind(d);
	apply_mode(d);
	lock_drop(&table.lock);
}

bool device_set_seeks_free(struct device *d, bool are_free)
{
	bool changed;

	lock_take(&table.lock);
	changed = device_mode_learn(&d->mode, are_free ? DEVICE_LEARNS_FREE : DEVICE_LEARNS_DEAR);
	if (changed)
		apply_mode(d);
	lock_drop(&table.lock);
	return changed;
}

struct device *device_nth(unsigned int n)
{
	struct device *d;

	lock_take(&table.lock);
	d = n < table.n ? table.device[n] : NULL;
	lock_drop(&table.lock);
	return d;
}

void device_stop_work(void)
{
	/* their last requests still give exports, and with them devices, back */
	for (unsigned int i = 0; i < table.n && !table.stopped; i++)
		dispatcher_fini(&table.device[i]->dispatcher);
	table.stopped = true;
}

void device_stop_all(void)
{
	device_stop_work();
	table.stopped = false;
	lock_take(&table.lock);
	for (unsigned int i = 0; i < table.n; i++) {
		lock_fini(&table.device[i]->evidence.lock);
		client_board_fini(&table.device[i]->client_prices);
		free(table.device[i]);
	}
	table.n = 0;
	lock_drop(&table.lock);
}

/* ---- prices ------------------------------------------------------------------------------ */

bool device_client_prices(uint64_t devices, uint64_t client, uint16_t export_id, double *write,
			  double *readahead)
{
	*write = *readahead = 0;
	for (uint64_t left = devices; left != 0; left &= left - 1) {
		const struct device *d = table.device[__builtin_ctzll(left)];
		struct client_prices p = {.write = board_write_price(&d->prices),
					  .readahead = board_readahead_price(&d->prices)};

		if (client != 0)
			client_board_find(&d->client_prices, client, export_id, &p);
		*write = fmax(*write, p.write);
		*readahead = fmax(*readahead, p.readahead);
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

/* ---- what is found out ------------------------------------------------------------------- */

void device_set_learnt(struct device *d)
{
	lock_take(&table.lock);
	lock_take(&d->evidence.lock);
	d->mode.learnt = depth_search_depth(&d->evidence.depth);
	lock_drop(&d->evidence.lock);
	apply_mode(d);
	lock_drop(&table.lock);
}

uint32_t device_window(struct device *d, uint64_t now)
{
	uint64_t next = atomic_load_explicit(&d->next_window, memory_order_relaxed);

	if (now >= next &&
	    atomic_compare_exchange_strong(&d->next_window, &next, now + WINDOW_INTERVAL))
		ask_window(d);
	return atomic_load_explicit(&d->window, memory_order_relaxed);
}

/* Whether what the kernel writes to D now is our turns', or of an fsync behind them. */
static bool is_ours(struct device *d)
{
	return dispatcher_writes(&d->dispatcher) || atomic_load(&d->settling.now);
}

/* Whether the kernel has writes for D; *OURS: that may be of our turns. */
static bool has_writes(struct device *d, bool *ours)
{
	uint64_t reads, writes = 0;

	*ours = is_ours(d);
	if (*ours)
		return false;
	block_numbers(table.sysfs, d->dev, "inflight", &reads, &writes);
	*ours = writes != 0 && is_ours(d); /* begun meanwhile */
	return writes != 0;
}

void device_watch_writes(struct device *d)
{
	uint32_t over = atomic_load(&d->fsyncs.over);
	bool fsyncs = atomic_load(&d->fsyncs.now) || over != d->fsyncs_seen, ours, writes;

	d->fsyncs_seen = over;
	if (is_cluster(d->dev))
		return;
	writes = has_writes(d, &ours);
	lock_take(&table.lock);
	if (ours ? device_mode_no_look(&d->mode) : device_mode_look(&d->mode, writes, fsyncs))
		apply_mode(d);
	lock_drop(&table.lock);
}

void device_forget_writes(void)
{
	lock_take(&table.lock);
	for (unsigned int i = 0; i < table.n; i++)
		if (device_mode_forget(&table.device[i]->mode))
			apply_mode(table.device[i]);
	lock_drop(&table.lock);
}
