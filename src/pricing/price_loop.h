/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How prices come about: who is measured when, and what is posted where.
 *
 *   every Price_Sample      disks' queues (diskstats and the hosts' own), what is not stable of a cluster's, ring of the
 *                           ghost caches; not from a price until the window of the next begins, while little is in the
 *                           ring; every third time within it, where no queue is near what makes a price
 *   twice a price           processor, network, memory: where its window begins, and where that ends
 *   every Price_Interval    a snapshot for each device: its own disk, what is not stable of its cluster, and what the
 *                           machine shares
 *                              |
 *                              v
 *                           the device's board (board.h) ---> whoever wants a price
 *                              |  + who used it lately (ledger.h)
 *                              v
 *                           its clients' board (client_board.h) ---> FSSTAT
 *
 * One turn of the loop is a function of the time; price_thread.h turns it in real time, a
 * simulation in its own. At most PRICE_DEVICES_A_TURN devices are looked at in a turn, the others
 * in the next ones, so that the cost does not grow with their number; the kernel's counters are
 * sums over time and miss nothing.
 *
 * The devices are the host's, described through a table of functions: this knows neither a
 * queue nor a file system. Not thread-safe.
 */
#ifndef PRICING_PRICE_LOOP_H
#define PRICING_PRICE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "pricing/board.h"
#include "pricing/client_board.h"
#include "pricing/ghost_cache.h"
#include "pricing/ledger.h"
#include "pricing/meter_cpu.h"
#include "pricing/meter_disk.h"
#include "pricing/meter_memory.h"
#include "pricing/meter_net.h"
#include "pricing/meter_unstable.h"

/* Devices that have a price; those beyond have none. */
#define PRICE_DEVICES_MAX 64
/* Devices looked at in one turn. */
#define PRICE_DEVICES_A_TURN 4
/* Averages are over this long (ns): the paper's "few hundreds of milliseconds". */
#define PRICE_WINDOW UINT64_C(500000000)

/* A device as its host describes it. */
struct priced_device {
	unsigned int major, minor;
	uint32_t taken;		      /* another number: its place was given to another device */
	uint32_t depth;		      /* requests that may be on it at once */
	struct price_board *board;    /* where its prices are posted; stays as long as the loop */
	struct client_board *clients; /* ... and those of clients that have their own; NULL: none */
};

struct price_hosts {
	/* Describes the Nth device; false: there are no more. More may come; none goes. */
	bool (*device)(void *arg, unsigned int n, struct priced_device *d);
	/* Its queue with the host as it is now. */
	void (*queue)(void *arg, unsigned int n, struct disk_sample *now);
	/* What its flows used so far: fills up to MAX; returns how many. NULL: nobody counts. */
	unsigned int (*flows)(void *arg, unsigned int n, struct flow_use *flows, unsigned int max);
	void *arg;
};

struct price_settings {
	uint64_t sample, interval; /* ns; sample <= interval */
	uint64_t memory;	   /* ns: how long use counts; see ledger.h */
	double k[PRICE_RESOURCES];
	enum disk_method method;
	double saturation_delay;	  /* seconds */
	char network_interface[NET_NAME]; /* "": the busiest one */
	uint64_t network_capacity;	  /* Mbit/s; 0: what the interface states */
};

struct price_loop {
	struct price_settings settings;
	const struct price_hosts *hosts;
	struct price_source *source;
	struct ghost_cache *ghost;	/* NULL: none */
	uint64_t shared_at, publish_at; /* ns */
	bool calm; /* at the last look no disk's queue was near what makes a price */
	struct meter_cpu cpu;
	struct meter_net net;
	struct meter_memory memory;
	struct priced_disk {
		struct priced_device device;
		struct meter_disk meter;
		struct meter_unstable unstable;
		struct ledger *ledger; /* NULL: nobody used it yet */
	} disks[PRICE_DEVICES_MAX];
	unsigned int n;	   /* disks known */
	unsigned int next; /* to be looked at */
	uint32_t told;	   /* bit 1 << resource: the log has said that it is unknown */
	/* For a moment. */
	struct flow_use flows[LEDGER_FLOWS];
	struct client_quote quotes[LEDGER_ENTRIES];
};

/* HOSTS, SOURCE and GHOST stay the caller's, as long as the loop. */
void price_loop_init(struct price_loop *l, const struct price_settings *s,
		     const struct price_hosts *hosts, struct price_source *source,
		     struct ghost_cache *ghost);
void price_loop_fini(struct price_loop *l);
/* New intervals, memory and k, from the next turn on; how disks and the network are measured stays. */
void price_loop_set(struct price_loop *l, const struct price_settings *s);
/* One turn at NOW (ns); returns when the next one is due. */
uint64_t price_loop_turn(struct price_loop *l, uint64_t now);
/* Requests waiting and under way that saturate a disk on which DEPTH may be at once; 0 is as 1. */
double price_loop_saturation(uint32_t depth);

#endif
