/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The thread that computes prices. See prices.h. */
#include "prices.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "params.h"
#include "pricing/meter_cpu.h"
#include "pricing/meter_disk.h"
#include "pricing/meter_memory.h"
#include "pricing/meter_net.h"
#include "ra_methods.h"
#include "stats.h"

#define MS UINT64_C(1000000) /* in ns */
/* Devices looked at in one tick. */
#define DEVICES_A_TICK 4
/* What the machine shares is looked at this often a price. */
#define SHARED_A_PRICE 8
/* Averages are over this long (ns): the paper's "few hundreds of milliseconds". */
#define WINDOW (500 * MS)
/* Links carry no more than this share of their speed as data. */
#define NETWORK_FULL 0.95
/* Reads of so many pages a second give the worth of memory its full weight: 1 MiB/s. */
#define READS_MIN 256
/* Requests on one head at which it is saturated, where Disk_Saturation is 0. */
#define SATURATION_A_HEAD 8
/* The two ghost caches are this share smaller and larger than the memory. */
#define GHOST_NEARBY 0.125
/* Memory of one page in the ghost caches, of one unit on its way there; units at most (bytes). */
#define GHOST_ENTRY_COST 32
#define GHOST_RING_COST	 24
#define GHOST_RING_MAX	 4096
/* Files of /proc and /sys that are kept open. */
#define TEXT_FILES 128

struct ghost_cache *ra_ghost;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping;
	/* Of the thread, but for the disks' results: lock. */
	struct price_source source;
	struct meter_cpu cpu;
	struct meter_net net;
	struct meter_memory memory;
	struct meter_disk disk[DEVICES_MAX];
	unsigned int disks; /* that have a meter */
	unsigned int next;  /* to be looked at */
	uint32_t said;	    /* resources of which the log has said that they are unknown */
} prices = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the kernel's texts ----------------------------------------------------------------- */

/*
 * Files that are read again and again stay open: looking their names up would be most of the cost.
 * A name that is not there is remembered too, for as long as its place is not needed.
 */
static struct text_file {
	char name[SOURCE_NAME];
	int fd; /* -1: it is not there */
} files[TEXT_FILES];

static void close_texts(void)
{
	for (int i = 0; i < TEXT_FILES; i++) {
		if (files[i].name[0] != '\0' && files[i].fd >= 0)
			close(files[i].fd);
		files[i].name[0] = '\0';
	}
}

static struct text_file *open_text(const char *name)
{
	static unsigned int oldest;
	struct text_file *f;

	for (int i = 0; i < TEXT_FILES; i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	f = &files[oldest++ % TEXT_FILES];
	if (f->name[0] != '\0' && f->fd >= 0)
		close(f->fd);
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->fd = open(name, O_RDONLY | O_CLOEXEC);
	return f;
}

static ssize_t read_text(struct price_source *s, const char *name, char *buf, size_t size)
{
	struct text_file *f = open_text(name);
	ssize_t n;

	(void)s;
	if (f->fd < 0)
		return -1;
	n = text_read(f->fd, buf, size);
	if (n < 0) { /* a device that went: perhaps another has its name the next time */
		close(f->fd);
		f->name[0] = '\0';
	}
	return n;
}

/* ---- measuring -------------------------------------------------------------------------- */

static double saturation_of(struct device *d)
{
	const struct ra_module_params *p = &ra_module_params;

	if (p->disk_saturation != 0)
		return (double)p->disk_saturation;
	return (double)SATURATION_A_HEAD * device_depth(d);
}

/* Devices come, and do not go. True: there are new ones. */
static bool meet_devices(void)
{
	const struct ra_module_params *p = &ra_module_params;
	struct disk_limits limits = {
		.method = strcasecmp(p->disk_meter, "delay") ? DISK_QUEUE : DISK_DELAY,
		.saturation_delay = (double)p->disk_delay / 1e3,
		.window = WINDOW,
	};
	unsigned int known = prices.disks;
	struct device *d;

	while ((d = device_nth(prices.disks)) != NULL) {
		limits.saturation_length = saturation_of(d);
		meter_disk_init(&prices.disk[prices.disks++], major(d->dev), minor(d->dev),
				&limits);
	}
	return prices.disks != known;
}

static void sample_disk(unsigned int n)
{
	struct device *d = device_nth(n);
	struct disk_sample ours = {0};
	struct dispatcher_stats s;

	dispatcher_stats(&d->dispatcher, &s);
	/* write-backs wait because they are held back, not because the disk is busy */
	ours.waiting = s.queued[SCHED_DEMAND] + s.queued[SCHED_PREFETCH];
	ours.running = s.running;
	for (int i = 0; i < SCHED_CLASSES; i++)
		ours.ended += s.counted.served[i];
	prices.disk[n].limits.saturation_length = saturation_of(d); /* depths change */
	meter_disk_sample(&prices.disk[n], &prices.source, clock_now(), &ours);
}

static void sample_disks(void)
{
	for (unsigned int i = 0; i < prices.disks && i < DEVICES_A_TICK; i++)
		sample_disk(prices.next++ % prices.disks);
}

static void sample_shared(void)
{
	struct ghost_counts counts;

	meter_cpu_sample(&prices.cpu, &prices.source, clock_now());
	meter_net_sample(&prices.net, &prices.source, clock_now());
	if (ra_ghost != NULL)
		ghost_counts(ra_ghost, &counts);
	meter_memory_sample(&prices.memory, &prices.source, clock_now(),
			    ra_ghost != NULL ? &counts : NULL);
	if (ra_ghost != NULL)
		ghost_resize(ra_ghost, prices.memory.read_pages);
}

/* ---- publishing ------------------------------------------------------------------------- */

void ra_prices_k(double k[PRICE_RESOURCES])
{
	const struct ra_module_params *p = &ra_module_params;

	k[PRICE_CPU] = (double)p->k_cpu;
	k[PRICE_NETWORK] = (double)p->k_network;
	k[PRICE_DISK] = (double)p->k_disk;
	k[PRICE_MEMORY] = (double)p->k_memory;
}

/* A resource that cannot be measured costs nothing: the log says so once. */
static void note(struct price_snapshot *s, enum price_resource r, double utilization,
		 const char *unknown)
{
	uint32_t bit = 1u << r;

	s->utilization[r] = utilization;
	if (unknown[0] == '\0')
		return;
	s->unknown |= bit;
	if (prices.said & bit)
		return;
	prices.said |= bit;
	LogEvent(COMPONENT_FSAL, "RA: prices: the use of the %s is not known: %s does not tell%s",
		 price_resource_names[r], unknown,
		 r == PRICE_NETWORK ? " (Network_Capacity and Network_Interface can)" : "");
}

static void publish(void)
{
	struct price_snapshot shared = {.time = clock_now()};
	double k[PRICE_RESOURCES];

	ra_prices_k(k);
	note(&shared, PRICE_CPU, prices.cpu.utilization, prices.cpu.unknown);
	note(&shared, PRICE_NETWORK, prices.net.utilization, prices.net.unknown);
	note(&shared, PRICE_MEMORY, prices.memory.utilization, prices.memory.unknown);
	for (unsigned int i = 0; i < prices.disks; i++) {
		struct price_snapshot s = shared;

		/* Where the kernel does not tell, our own queue does. */
		note(&s, PRICE_DISK, prices.disk[i].utilization, "");
		price_combine(&s, k);
		board_publish(&device_nth(i)->prices, &s);
	}
}

/* ---- the thread ------------------------------------------------------------------------- */

/* Until the monotonic time UNTIL, or the end. With the lock. */
static void sleep_until(uint64_t until)
{
	int err = 0;

	while (!prices.stopping && !err)
		err = clock_cond_wait_until(&prices.wake, &prices.lock, until);
}

static void *compute(void *arg)
{
	const struct ra_module_params *p = &ra_module_params;
	uint64_t shared_at = 0, publish_at = 0;

	SetNameFunction("ra_prices");
	pthread_mutex_lock(&prices.lock);
	while (!prices.stopping) {
		uint64_t now = clock_now();

		if (meet_devices())
			publish_at = now; /* what is known is better than nothing */
		sample_disks();
		if (ra_ghost != NULL)
			ghost_drain(ra_ghost);
		if (now >= shared_at) {
			sample_shared();
			shared_at = now + p->price_interval * MS / SHARED_A_PRICE;
		}
		if (now >= publish_at) {
			publish();
			publish_at = now + p->price_interval * MS;
		}
		sleep_until(now + p->price_sample * MS);
	}
	pthread_mutex_unlock(&prices.lock);
	return NULL;
}

static struct ghost_cache *make_ghost(uint64_t bytes)
{
	struct ghost_limits limits = {.ring = GHOST_RING_MAX, .nearby = GHOST_NEARBY};
	struct ghost_cache *ghost;

	if (bytes == 0)
		return NULL;
	while (limits.ring * GHOST_RING_COST > bytes / 8)
		limits.ring /= 2;
	limits.entries = (uint32_t)((bytes - limits.ring * GHOST_RING_COST) / GHOST_ENTRY_COST);
	ghost = ghost_new(&limits);
	if (ghost == NULL)
		LogWarn(COMPONENT_FSAL,
			"RA: prices: no memory for Ghost_Memory = %" PRIu64 " bytes", bytes);
	return ghost;
}

static void init_meters(void)
{
	const struct ra_module_params *p = &ra_module_params;
	struct memory_limits memory = {.reads_min = READS_MIN, .window = WINDOW};
	struct net_limits net = {
		.capacity = p->network_capacity, .full = NETWORK_FULL, .window = WINDOW};
	char path[64];

	if (strcasecmp(p->network_interface, "auto") != 0) {
		snprintf(net.interface, sizeof(net.interface), "%s", p->network_interface);
		snprintf(path, sizeof(path), "/sys/class/net/%s", net.interface);
		if (access(path, F_OK) != 0)
			LogWarn(COMPONENT_FSAL,
				"RA: Network_Interface = %s: there is no such interface at present",
				net.interface);
	}
	prices.source.read = read_text;
	meter_cpu_init(&prices.cpu, WINDOW);
	meter_net_init(&prices.net, &net);
	meter_memory_init(&prices.memory, &memory);
	prices.disks = prices.next = prices.said = 0;
}

void ra_prices_start(void)
{
	int err;

	ra_ghost = make_ghost(ra_module_params.ghost_memory);
	init_meters();
	clock_cond_init(&prices.wake);
	prices.stopping = false;
	err = pthread_create(&prices.thread, NULL, compute, NULL);
	prices.running = err == 0;
	if (err)
		LogCrit(COMPONENT_FSAL, "RA: no thread for prices: %s; all are 0", strerror(err));
}

void ra_prices_stop(void)
{
	if (!prices.running)
		return;
	pthread_mutex_lock(&prices.lock);
	prices.stopping = true;
	pthread_cond_signal(&prices.wake);
	pthread_mutex_unlock(&prices.lock);
	pthread_join(prices.thread, NULL);
	pthread_cond_destroy(&prices.wake);
	close_texts();
	prices.running = false;
}

void ra_prices_free(void)
{
	ghost_free(ra_ghost);
	ra_ghost = NULL;
}

void ra_prices_view(struct device *d, struct prices_view *view)
{
	uint64_t now = clock_now();

	*view = (struct prices_view){.age = UINT64_MAX, .saturation = saturation_of(d)};
	board_read(&d->prices, &view->snapshot);
	if (view->snapshot.time != 0)
		view->age = now > view->snapshot.time ? now - view->snapshot.time : 0;
	pthread_mutex_lock(&prices.lock);
	for (unsigned int i = 0; i < prices.disks; i++)
		if (device_nth(i) == d)
			view->length = prices.disk[i].length;
	pthread_mutex_unlock(&prices.lock);
}
