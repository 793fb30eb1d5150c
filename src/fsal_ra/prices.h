/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prices in the server: who measures, who is told.
 *
 *   every Price_Sample      disks' queues (diskstats and our dispatchers), ring of the ghost caches
 *   eight times a price     processor, network, memory
 *   every Price_Interval    a snapshot for each device: its own disk, and what the machine shares
 *                              |
 *                              v
 *                           device->prices (pricing/board.h) ---> FSSTAT, read-ahead, write-back, ractl
 *
 * One thread does all of it. At most DEVICES_A_TICK devices are looked at each time, so that its
 * cost does not grow with their number; the kernel's counters are sums over time and miss nothing.
 * Whoever wants a price reads the board: no lock, no waiting, no call into here.
 */
#ifndef RA_PRICES_H
#define RA_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/export_io.h"
#include "pricing/ghost_cache.h"

/* For people: "no FSSTAT yet", ... (fsstat.c) */
extern const char *const fsstat_said_text[FSSTAT_SAID];

/* What operators see of a device's prices. Any thread. */
struct prices_view {
	uint64_t age;	   /* ns since the snapshot; UINT64_MAX: none yet */
	double length;	   /* requests waiting and running, averaged */
	double saturation; /* of them saturate the disk */
	struct price_snapshot snapshot;
};
void ra_prices_view(struct device *d, struct prices_view *view);
/* The k of each resource in force. */
void ra_prices_k(double k[PRICE_RESOURCES]);

/* The ghost caches, NULL without: from the start of the module to its end. */
extern struct ghost_cache *ra_ghost;

/* A client's READ, for the worth of memory: no lock, no allocation. FILE: a hash of its key. */
static inline void ra_prices_read(uint64_t file, uint64_t offset, uint64_t length)
{
	if (ra_ghost != NULL)
		ghost_read(ra_ghost, file, offset, length);
}

/* Without its thread all prices are 0: the server goes on, and says so. */
void ra_prices_start(void);
void ra_prices_stop(void);
/* After the last read. */
void ra_prices_free(void);

#endif /* RA_PRICES_H */
