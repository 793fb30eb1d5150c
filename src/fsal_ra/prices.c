/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Our devices and parameters for the price thread. See prices.h. */
#include "prices.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "params.h"
#include "pricing/price_thread.h"
#include "pricing/proc_source.h"
#include "ra_methods.h"
#include "control_host.h"
#include "far_write.h"
#include "thread_name.h"

_Static_assert(PRICE_DEVICES_MAX >= DEVICES_MAX, "each device has a price");

struct ghost_cache *ra_ghost;

static struct price_thread *thread;
static struct proc_source proc;
static struct flow_stats *flows; /* LEDGER_FLOWS of them: the price thread's */

static bool describe_device(void *arg, unsigned int n, struct priced_device *p)
{
	struct device *d = device_nth(n);

	(void)arg;
	if (d == NULL)
		return false;
	*p = (struct priced_device){.taken = atomic_load(&d->taken),
				    .major = major(d->dev),
				    .minor = minor(d->dev),
				    .depth = device_depth(d),
				    .board = &d->prices,
				    .clients = &d->client_prices};
	return true;
}

static void look_at_queue(void *arg, unsigned int n, struct disk_sample *now)
{
	struct device *d = device_nth(n);
	struct dispatcher_stats s;

	(void)arg;
	dispatcher_stats(&d->dispatcher, &s);
	/* write-backs wait because they are held back, not because the disk is busy */
	now->waiting = s.queued[SCHED_DEMAND] + s.queued[SCHED_PREFETCH];
	now->running = s.running;
	if (device_joins_only(d)) {
		now->longer = meter_delay_sample(&d->evidence.delay, clock_now());
		now->unstable = far_write_level();
	}
	for (int i = 0; i < SCHED_CLASSES; i++)
		now->ended += s.counted.served[i];
}

static struct flow_use use_of(const struct flow_stats *f)
{
	struct flow_use use = {
		.client = f->id.client,
		.export_id = f->id.export_id,
		.of_export = f->of_export,
		.weight = f->of_export ? f->weight : f->group_weight,
		.group_weight = f->group_weight,
		.backlogged = f->backlogged,
	};

	for (int i = 0; i < FLOW_CLASSES; i++)
		use.disk_time += f->disk_time[i];
	return use;
}

static unsigned int look_at_flows(void *arg, unsigned int n, struct flow_use *use, unsigned int max)
{
	unsigned int found;

	(void)arg;
	if (flows == NULL)
		return 0;
	found = dispatcher_flows(&device_nth(n)->dispatcher, flows, max);
	if (found > max)
		found = max;
	for (unsigned int i = 0; i < found; i++)
		use[i] = use_of(&flows[i]);
	return found;
}

static const struct price_hosts hosts = {
	.device = describe_device, .queue = look_at_queue, .flows = look_at_flows};

static void look_for_interface(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s", name);
	if (access(path, F_OK) != 0)
		LogWarn(COMPONENT_FSAL,
			"RA: Network_Interface = %s: there is no such interface at present", name);
}

static struct price_settings settings(void)
{
	const struct ra_module_params *p = &ra_module_params;
	struct price_settings s = {
		.sample = p->price_sample * CLOCK_MS,
		.interval = p->price_interval * CLOCK_MS,
		.memory = p->price_memory * CLOCK_SECOND,
		.method = strcasecmp(p->disk_meter, "delay") ? DISK_QUEUE : DISK_DELAY,
		.saturation_delay = (double)p->disk_delay / 1e3,
		.network_capacity = p->network_capacity,
	};

	s.k[PRICE_CPU] = (double)p->k_cpu;
	s.k[PRICE_NETWORK] = (double)p->k_network;
	s.k[PRICE_DISK] = (double)p->k_disk;
	s.k[PRICE_MEMORY] = (double)p->k_memory;
	if (strcasecmp(p->network_interface, "auto") != 0)
		snprintf(s.network_interface, sizeof(s.network_interface), "%s",
			 p->network_interface);
	return s;
}

static void start_ghost(uint64_t bytes)
{
	ra_ghost = bytes != 0 ? ghost_new_within(bytes) : NULL;
	if (bytes != 0 && ra_ghost == NULL)
		LogWarn(COMPONENT_FSAL,
			"RA: prices: no memory for Ghost_Memory = %" PRIu64 " bytes", bytes);
}

void ra_prices_start(void)
{
	struct price_settings s = settings();
	int err;

	start_ghost(ra_module_params.ghost_memory);
	if (s.network_interface[0] != '\0')
		look_for_interface(s.network_interface);
	proc_source_init(&proc);
	flows = calloc(LEDGER_FLOWS, sizeof(*flows));
	if (flows == NULL)
		LogWarn(COMPONENT_FSAL, "RA: prices: no memory: all clients are told the same");
	thread = price_thread_start(&s, &hosts, &proc.source, ra_ghost, ra_name_thread, &err);
	if (thread == NULL)
		LogCrit(COMPONENT_FSAL, "RA: no thread for prices: %s; all are 0", strerror(err));
}

void ra_prices_update(void)
{
	struct price_settings s = settings();

	if (thread != NULL)
		price_thread_set(thread, &s);
}

void ra_prices_stop(void)
{
	price_thread_stop(thread);
	thread = NULL;
	proc_source_fini(&proc);
	free(flows);
	flows = NULL;
}

void ra_prices_free(void)
{
	ghost_free(ra_ghost);
	ra_ghost = NULL;
}

void ra_prices_k(double k[PRICE_RESOURCES])
{
	struct price_settings s = settings();

	memcpy(k, s.k, sizeof(s.k));
	if (thread != NULL)
		price_thread_k(thread, k);
}

unsigned int ra_prices_clients(unsigned int n, struct ledger_entry *entries, unsigned int max)
{
	return thread != NULL ? price_thread_clients(thread, n, entries, max) : 0;
}

bool ra_prices_view(unsigned int n, struct prices_view *view)
{
	struct device *d = device_nth(n);
	uint64_t now = clock_now();

	if (d == NULL)
		return false;
	*view = (struct prices_view){.age = UINT64_MAX};
	view->saturation = price_loop_saturation(device_depth(d));
	board_read(&d->prices, &view->snapshot);
	if (view->snapshot.time != 0)
		view->age = elapsed(view->snapshot.time, now);
	if (thread != NULL)
		view->length = price_thread_length(thread, n);
	return true;
}
