/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One turn: meet new devices, sample some, sample what is shared, publish for all and for each. See price_loop.h. */
#include "pricing/price_loop.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/log.h"
#include "common/trace.h"

/* Links carry no more than this share of their speed as data. */
#define NETWORK_FULL 0.95
/* Reads of so many pages a second give the worth of memory its full weight: 1 MiB/s. */
#define READS_MIN 256
/* The loop rests no longer than so many times Price_Sample: ractl shows what was sampled last. */
#define REST_SAMPLES 10
/*
 * Where no disk's queue is near what makes a price (shares of saturation: below the first, or saturated and above
 * the second), one look of so many is enough within a window: each wakes a thread.
 */
#define CALM_BELOW   0.25
#define CALM_ABOVE   2
#define CALM_SAMPLES 3
/* Requests on one head at which it is saturated, where the settings do not say. */
#define SATURATION_A_HEAD 8

void price_loop_init(struct price_loop *l, const struct price_settings *s,
		     const struct price_hosts *hosts, struct price_source *source,
		     struct ghost_cache *ghost)
{
	struct memory_limits memory = {.reads_min = READS_MIN, .window = PRICE_WINDOW};
	struct net_limits net = {
		.capacity = s->network_capacity, .full = NETWORK_FULL, .window = PRICE_WINDOW};

	memset(l, 0, sizeof(*l));
	l->settings = *s;
	l->hosts = hosts;
	l->source = source;
	l->ghost = ghost;
	memcpy(net.interface, s->network_interface, sizeof(net.interface));
	meter_cpu_init(&l->cpu, PRICE_WINDOW);
	meter_net_init(&l->net, &net);
	meter_memory_init(&l->memory, &memory);
}

void price_loop_set(struct price_loop *l, const struct price_settings *s)
{
	l->settings.sample = s->sample;
	l->settings.interval = s->interval;
	l->settings.memory = s->memory;
	memcpy(l->settings.k, s->k, sizeof(l->settings.k));
	l->settings.saturation_delay = s->saturation_delay;
	l->settings.network_capacity = l->net.limits.capacity = s->network_capacity;
}

void price_loop_fini(struct price_loop *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		ledger_free(l->disks[i].ledger);
}

double price_loop_saturation(uint32_t depth)
{
	return (double)SATURATION_A_HEAD * (depth ? depth : 1);
}

/* ---- measuring -------------------------------------------------------------------------- */

/* Asks the host for the Nth device; its meter begins anew where it is another one. */
static bool describe(struct price_loop *l, unsigned int n, bool *changed)
{
	struct priced_disk *p = &l->disks[n];
	struct priced_device d = {.board = NULL};
	struct disk_limits limits = {.method = l->settings.method,
				     .saturation_delay = l->settings.saturation_delay,
				     .window = PRICE_WINDOW};

	if (l->n <= PRICE_DEVICES_A_TURN)
		limits.step = l->settings.sample;
	if (!l->hosts->device(l->hosts->arg, n, &d))
		return false;
	limits.saturation_length = price_loop_saturation(d.depth);
	if (n >= l->n || d.taken != p->device.taken) {
		meter_disk_init(&p->meter, d.major, d.minor, &limits);
		p->unstable = (struct meter_unstable){0};
		ledger_free(p->ledger);
		p->ledger = NULL;
		*changed = true;
	}
	p->meter.limits = limits; /* depths change, and settings */
	p->device = d;
	return true;
}

/* True: there are devices that were not there before. */
static bool find_new_devices(struct price_loop *l)
{
	bool changed = false;

	while (l->n < PRICE_DEVICES_MAX && describe(l, l->n, &changed))
		l->n++;
	return changed;
}

/* Whether a few requests more or fewer in M's queue change no price, and nothing of its is dirty, which soon is not. */
static bool is_calm(const struct meter_disk *m)
{
	double length = m->before.waiting + (double)m->before.running;
	double share = length / m->limits.saturation_length;

	return !(m->before.unstable > 0) && ((m->utilization < CALM_BELOW && share < CALM_BELOW) ||
					     (m->utilization >= 1 && share > CALM_ABOVE));
}

/* True: one of them is another one than before. */
static bool sample_disks(struct price_loop *l, uint64_t now)
{
	bool changed = false;

	l->calm = true;
	for (unsigned int i = 0; i < l->n && i < PRICE_DEVICES_A_TURN; i++) {
		unsigned int n = l->next++ % l->n;
		struct disk_sample ours = {0};

		if (!describe(l, n, &changed))
			continue;
		l->hosts->queue(l->hosts->arg, n, &ours);
		meter_disk_sample(&l->disks[n].meter, l->source, now, &ours);
		meter_unstable_sample(&l->disks[n].unstable, PRICE_WINDOW,
				      l->disks[n].meter.limits.step, now, ours.unstable);
		l->calm &= is_calm(&l->disks[n].meter);
	}
	return changed;
}

static void sample_shared(struct price_loop *l, uint64_t now)
{
	struct ghost_counts counts;

	meter_cpu_sample(&l->cpu, l->source, now);
	meter_net_sample(&l->net, l->source, now);
	if (l->ghost)
		ghost_counts(l->ghost, &counts);
	meter_memory_sample(&l->memory, l->source, now, l->ghost ? &counts : NULL);
	if (l->ghost)
		ghost_resize(l->ghost, l->memory.read_pages);
}

/* ---- publishing ------------------------------------------------------------------------- */

/* A resource that cannot be measured costs nothing: the log says so once. */
static void note(struct price_loop *l, struct price_snapshot *s, enum price_resource r,
		 double utilization, const char *unknown)
{
	uint32_t bit = 1u << r;

	s->utilization[r] = utilization;
	if (!unknown[0])
		return;
	s->unknown |= bit;
	if (l->told & bit)
		return;
	l->told |= bit;
	log_line(LOG_LEVEL_EVENT, "prices: the use of the %s is not known: %s does not tell%s",
		 price_resource_names[r], unknown,
		 r == PRICE_NETWORK ? " (Network_Capacity and Network_Interface can)" : "");
}

static uint64_t permille(double price)
{
	return (uint64_t)(price * 1000 + 0.5);
}

/* What each client is told of the Nth device, where that is not the device's own price. */
static void publish_clients(struct price_loop *l, unsigned int i, const struct price_snapshot *s)
{
	struct priced_disk *p = &l->disks[i];
	unsigned int n;

	if (l->hosts->flows == NULL || p->device.clients == NULL)
		return;
	n = l->hosts->flows(l->hosts->arg, i, l->flows, LEDGER_FLOWS);
	if (p->ledger == NULL && n != 0)
		p->ledger = ledger_new(); /* without memory all are told the same */
	if (p->ledger == NULL) {
		client_board_publish(p->device.clients, NULL, 0);
		return;
	}
	ledger_feed(p->ledger, l->flows, n, s->time, l->settings.memory);
	n = ledger_quotes(p->ledger, s, l->settings.k, l->quotes);
	client_board_publish(p->device.clients, l->quotes, n);
}

static void publish(struct price_loop *l, uint64_t now)
{
	struct price_snapshot shared = {.time = now};

	note(l, &shared, PRICE_CPU, l->cpu.utilization, l->cpu.unknown);
	note(l, &shared, PRICE_NETWORK, l->net.utilization, l->net.unknown);
	note(l, &shared, PRICE_MEMORY, l->memory.utilization, l->memory.unknown);
	for (unsigned int i = 0; i < l->n; i++) {
		const struct priced_device *d = &l->disks[i].device;
		struct price_snapshot s = shared;

		/* where the kernel does not tell, the host's own queue does */
		s.utilization[PRICE_DISK] = l->disks[i].meter.utilization;
		/* it fills one memory or the other; of an unknown one at least this is known */
		if (l->disks[i].unstable.utilization > s.utilization[PRICE_MEMORY])
			s.utilization[PRICE_MEMORY] = l->disks[i].unstable.utilization;
		price_combine(&s, l->settings.k);
		board_publish(d->board, &s);
		publish_clients(l, i, &s);
		trace(TRACE_PRICE, 0, 0, makedev(d->major, d->minor), permille(s.write),
		      permille(s.readahead), s.write_by);
	}
}

/*
 * When what the machine shares is looked at next: where the window of the next price begins, and for the price.
 * In between nobody asks, and each look costs a tenth of a millisecond and more.
 */
static uint64_t next_look(const struct price_loop *l, uint64_t now)
{
	uint64_t before = PRICE_WINDOW + l->settings.sample; /* turns may be so late */

	return l->publish_at > now + before ? l->publish_at - before : l->publish_at;
}

/*
 * When the next turn is due. What is sampled before the window of the next price begins is in no price; then only
 * devices that take turns, and readers that leave much in the ring, need more turns. Within it, where all is calm,
 * few are enough.
 */
static uint64_t next_turn(const struct price_loop *l, bool much, uint64_t now)
{
	uint64_t next = now + l->settings.sample, due = l->shared_at;
	uint64_t rest = now + REST_SAMPLES * l->settings.sample;

	if (l->n > PRICE_DEVICES_A_TURN || much || due <= next)
		return next;
	if (due >= l->publish_at) {
		if (!l->calm)
			return next;
		rest = now + CALM_SAMPLES * l->settings.sample;
	}
	return due < rest ? due : rest;
}

uint64_t price_loop_turn(struct price_loop *l, uint64_t now)
{
	bool much = false, found = find_new_devices(l);
	bool changed = sample_disks(l, now);

	if (found || changed)
		l->publish_at = now; /* what is known is better than nothing, or another's */
	if (l->ghost)
		much = ghost_drain(l->ghost);
	if (now >= l->shared_at || now >= l->publish_at) {
		sample_shared(l, now);
		if (now >= l->publish_at) {
			publish(l, now);
			l->publish_at = now + l->settings.interval;
		}
		l->shared_at = next_look(l, now);
	}
	return next_turn(l, much, now);
}
