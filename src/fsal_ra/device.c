/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of devices. See device.h. */
#include "device.h"

#include <math.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "io.h"
#include "pricing/price.h"
#include "ra_methods.h"

#define MS UINT64_C(1000000) /* in ns */
/* Depth chosen for a device that does not rotate. */
#define DEPTH_FLASH 8
/*
 * A seek cheaper than the first is no seek (ns). Dearer than the second, it is one after all: seen
 * by DEPTH_FLASH requests that wait for each other.
 */
#define SEEK_NONE (1 * MS)
#define SEEK_REAL (20 * MS)

/* So many reads for each that the disk does at once ask the highest price of write-back. */
#define READS_SATURATION 4
/* Reads at once on a device that others write to: as many as the kernel would have without us. */
#define DEPTH_OTHERS 32
/* Looks for writes of others that are averaged, and the shares of busy ones that make a change. */
#define OTHERS_AVERAGED 8
#define OTHERS_BUSY	0.5
#define OTHERS_GONE	0.25
/* Looks at the number of reads that are averaged. */
#define READS_AVERAGED 16

static struct {
	pthread_mutex_t lock;
	struct ra_device *device[RA_DEVICES_MAX];
	unsigned int n;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * What the block layer says of the device, or of the disk a partition is on; false: flash, or none.
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

static void limits_of(const struct ra_export_params *p, struct sched_limits *l)
{
	*l = (struct sched_limits){
		.queue_max = (uint32_t)p->queue_limit,
		.max_io = p->max_io,
		.prefetch_max_age = p->prefetch_max_age * MS,
		.writeback_turn = p->writeback_turn * MS,
		.writeback_idle = p->writeback_idle * MS,
		.writeback_share = (double)p->writeback_share / 100,
		.cost =
			{
				.chunk_min = p->chunk_min,
				.chunk_max = p->chunk_max,
				.chunk_default = p->chunk_default,
				.max_wait = p->max_wait * MS,
				.demand_wait = p->demand_wait * MS,
				.seek_share = (uint32_t)p->seek_share,
			},
	};
}

static uint32_t depth_of(const struct ra_device *d, const struct ra_export_params *p)
{
	if (p->queue_depth)
		return (uint32_t)p->queue_depth;
	return d->rotating && !d->headless ? 1 : DEPTH_FLASH;
}

static bool inline_demand(const struct ra_device *d, const struct ra_export_params *p)
{
	return !p->queue_depth && (!d->rotating || d->headless);
}

static void configure(struct ra_device *d, const struct ra_export_params *p)
{
	struct sched_limits limits;
	int err;

	limits_of(p, &limits);
	dispatcher_set_limits(&d->dispatcher, &limits);
	if (dispatcher_set_policy(&d->dispatcher, sched_policy_find(p->scheduler)))
		LogCrit(COMPONENT_FSAL, "RA: device %u:%u: no memory for another scheduler",
			major(d->dev), minor(d->dev));
	atomic_store(&d->written_by_others, false); /* found out anew */
	err = dispatcher_set_depth(&d->dispatcher, depth_of(d, p));
	if (err)
		LogCrit(COMPONENT_FSAL, "RA: device %u:%u: no thread could be started: %s",
			major(d->dev), minor(d->dev), strerror(err));
	atomic_store(&d->automatic, !p->queue_depth);
	atomic_store(&d->demand_inline, inline_demand(d, p));
}

static struct ra_device *make(dev_t dev, struct ra_export *exp)
{
	struct ra_device *d = gsh_calloc(1, sizeof(*d));
	const struct ra_export_params *p = &exp->params;
	struct sched_limits limits;
	int err;

	d->dev = dev;
	d->rotating = is_rotating(dev);
	atomic_init(&d->automatic, !p->queue_depth);
	atomic_init(&d->demand_inline, inline_demand(d, p));
	limits_of(p, &limits);
	err = dispatcher_init(&d->dispatcher, &ra_dispatcher_ops, depth_of(d, p),
			      sched_policy_find(p->scheduler), &limits);
	if (err) {
		LogCrit(COMPONENT_FSAL, "RA: device %u:%u: no dispatcher: %s", major(dev),
			minor(dev), strerror(err));
		gsh_free(d);
		return NULL;
	}
	LogEvent(COMPONENT_FSAL,
		 "RA: device %u:%u (%s): scheduler %s, %u request%s at once, demand reads %s",
		 major(dev), minor(dev), d->rotating ? "rotating" : "not rotating", p->scheduler,
		 dispatcher_depth(&d->dispatcher), dispatcher_depth(&d->dispatcher) == 1 ? "" : "s",
		 atomic_load(&d->demand_inline) ? "not queued" : "queued");
	return d;
}

struct ra_device *device_find(dev_t dev, struct ra_export *exp)
{
	struct ra_device *d = NULL;
	unsigned int i;

	pthread_mutex_lock(&table.lock);
	for (i = 0; i < table.n && !d; i++)
		if (table.device[i]->dev == dev)
			d = table.device[i];
	if (!d && table.n < RA_DEVICES_MAX) {
		pthread_mutex_lock(&ra_params_lock);
		d = make(dev, exp);
		pthread_mutex_unlock(&ra_params_lock);
		if (d) {
			table.device[table.n] = d;
			i = ++table.n;
		}
	}
	if (d)
		atomic_fetch_or(&exp->io->devices, UINT64_C(1) << (i - 1));
	pthread_mutex_unlock(&table.lock);
	return d;
}

void device_learn(struct ra_device *d)
{
	struct cost_model cost = dispatcher_cost(&d->dispatcher);
	bool headless = atomic_load(&d->headless);

	if (!d->rotating || !atomic_load(&d->automatic))
		return;
	if (!cost_seek_known(&cost) ||
	    (headless ? cost.seek_ns < SEEK_REAL : cost.seek_ns >= SEEK_NONE))
		return;
	headless = !headless;
	pthread_mutex_lock(&table.lock); /* against a reload, and against another thread */
	if (!atomic_load(&d->automatic) || atomic_exchange(&d->headless, headless) == headless) {
		pthread_mutex_unlock(&table.lock);
		return;
	}
	atomic_store(&d->demand_inline, headless);
	if (dispatcher_set_depth(&d->dispatcher, headless ? DEPTH_FLASH : 1))
		LogWarn(COMPONENT_FSAL, "RA: device %u:%u: fewer threads than wanted",
			major(d->dev), minor(d->dev));
	pthread_mutex_unlock(&table.lock);
	LogEvent(COMPONENT_FSAL,
		 "RA: device %u:%u says it rotates, and a seek costs %.2f ms: treated as %s",
		 major(d->dev), minor(d->dev), cost.seek_ns / 1e6,
		 headless ? "flash (Queue_Depth = 1 would insist)" : "a rotating disk again");
}

void device_configure(struct ra_export *exp)
{
	pthread_mutex_lock(&table.lock);
	pthread_mutex_lock(&ra_params_lock);
	for (unsigned int i = 0; i < table.n; i++)
		if (atomic_load(&exp->io->devices) & (UINT64_C(1) << i))
			configure(table.device[i], &exp->params);
	pthread_mutex_unlock(&ra_params_lock);
	pthread_mutex_unlock(&table.lock);
}

struct ra_device *device_nth(unsigned int n)
{
	struct ra_device *d;

	pthread_mutex_lock(&table.lock);
	d = n < table.n ? table.device[n] : NULL;
	pthread_mutex_unlock(&table.lock);
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

double device_price(struct ra_device *d)
{
	d->reads += (dispatcher_reads(&d->dispatcher) - d->reads) / READS_AVERAGED;
	return price_of((double)ra_module_params.k_disk,
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
static void set_written_by_others(struct ra_device *d, bool busy)
{
	uint32_t depth = dispatcher_depth(&d->dispatcher);

	if (busy)
		atomic_store(&d->depth_alone, depth);
	else
		depth = atomic_load(&d->depth_alone);
	atomic_store(&d->written_by_others, busy);
	if (busy && depth < DEPTH_OTHERS)
		depth = DEPTH_OTHERS;
	if (dispatcher_set_depth(&d->dispatcher, depth))
		LogWarn(COMPONENT_FSAL, "RA: device %u:%u: fewer threads than wanted",
			major(d->dev), minor(d->dev));
}

void device_watch_writes(struct ra_device *d)
{
	bool busy = atomic_load(&d->written_by_others);

	if (dispatcher_writes(&d->dispatcher))
		return; /* ours */
	d->others += ((writes_in_flight(d->dev) ? 1 : 0) - d->others) / OTHERS_AVERAGED;
	if (busy ? d->others >= OTHERS_GONE : d->others <= OTHERS_BUSY)
		return;
	pthread_mutex_lock(&table.lock); /* against a reload */
	if (atomic_load(&d->written_by_others) == busy)
		set_written_by_others(d, !busy);
	pthread_mutex_unlock(&table.lock);
}

void device_forget_writes(void)
{
	pthread_mutex_lock(&table.lock);
	for (unsigned int i = 0; i < table.n; i++) {
		struct ra_device *d = table.device[i];

		d->others = 0;
		if (atomic_load(&d->written_by_others))
			set_written_by_others(d, false);
	}
	pthread_mutex_unlock(&table.lock);
}

void device_stop_all(void)
{
	for (unsigned int i = 0; i < table.n; i++) {
		dispatcher_fini(&table.device[i]->dispatcher);
		gsh_free(table.device[i]);
	}
	table.n = 0;
}
