/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A price loop over made-up devices, of which the test counts who is looked at. */
#ifndef UNIT_SUPPORT_PRICE_H
#define UNIT_SUPPORT_PRICE_H

#include <stdlib.h>
#include <sys/sysmacros.h>

#include "common/log.h"
#include "common/trace.h"
#include "fake_source.h"
#include "pricing/price_loop.h"

#define HOST_DEVICES (PRICE_DEVICES_MAX + 8)

struct fake_devices {
	unsigned int n, depth;
	unsigned int minors[HOST_DEVICES], looked_at[HOST_DEVICES];
	uint32_t taken[HOST_DEVICES];
	struct disk_sample queue[HOST_DEVICES];
	struct price_board boards[HOST_DEVICES];
	/* Of the first device. */
	struct flow_use flows[2];
	struct client_board clients;
};

static bool fake_device(void *arg, unsigned int n, struct priced_device *d)
{
	struct fake_devices *h = arg;

	if (n >= h->n)
		return false;
	*d = (struct priced_device){.major = 8,
				    .minor = h->minors[n],
				    .taken = h->taken[n],
				    .depth = h->depth,
				    .board = &h->boards[n],
				    .clients = n == 0 ? &h->clients : NULL};
	return true;
}

static void fake_queue(void *arg, unsigned int n, struct disk_sample *now)
{
	struct fake_devices *h = arg;

	h->looked_at[n]++;
	*now = h->queue[n];
}

/* Those with a client. */
static inline unsigned int fake_flows(void *arg, unsigned int n, struct flow_use *flows,
				      unsigned int max)
{
	struct fake_devices *h = arg;
	unsigned int found = 0;

	for (unsigned int i = 0; n == 0 && i < 2 && found < max; i++)
		if (h->flows[i].client)
			flows[found++] = h->flows[i];
	return found;
}

static inline struct price_settings usual_settings(void)
{
	return (struct price_settings){.sample = 50 * MS,
				       .interval = SECOND,
				       .memory = 60 * SECOND,
				       .k = {1000, 1000, 100, 10},
				       .saturation_delay = 0.1,
				       .network_capacity = 1000};
}

struct fixture {
	struct fake_source source;
	struct fake_devices hosts;
	struct price_hosts table;
	struct price_loop loop;
	unsigned int published;
};

/* N idle devices, and a machine that does nothing. */
static inline struct fixture *make(unsigned int n)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct price_settings s = usual_settings();

	assert_non_null(f);
	fake_new(&f->source);
	fake_set(&f->source, "/proc/stat", "cpu  100 0 0 1000 0 0 0 0\n");
	fake_set(&f->source, "/proc/net/dev", "eth0: 0 0 0 0 0 0 0 0 0 0\n");
	fake_set(&f->source, "/proc/vmstat",
		 "nr_free_pages 1000\nnr_active_file 1000\nnr_inactive_file 0\nnr_dirty 0\n"
		 "nr_writeback 0\nnr_dirty_threshold 2000\nnr_dirty_background_threshold 1000\n");
	f->hosts.n = n;
	f->hosts.depth = 1;
	f->table = (struct price_hosts){
		.device = fake_device, .queue = fake_queue, .flows = fake_flows, .arg = &f->hosts};
	price_loop_init(&f->loop, &s, &f->table, &f->source.source, NULL);
	return f;
}

static inline void destroy(struct fixture *f)
{
	price_loop_fini(&f->loop);
	client_board_fini(&f->hosts.clients);
	free(f);
}

static inline unsigned int file_reads(const struct fixture *f, const char *name)
{
	for (unsigned int i = 0; i < f->source.n; i++)
		if (!strcmp(f->source.files[i].name, name))
			return f->source.files[i].reads;
	return 0;
}

/* Turns from FROM to UNTIL, each when it is due; counts what is published for the first device. */
static inline void run(struct fixture *f, uint64_t from, uint64_t until)
{
	struct price_snapshot s;
	uint64_t last;

	board_read(&f->hosts.boards[0], &s);
	last = s.time;
	for (uint64_t now = from; now < until; now = price_loop_turn(&f->loop, now)) {
		board_read(&f->hosts.boards[0], &s);
		f->published += s.time != last;
		last = s.time;
	}
}

#endif
