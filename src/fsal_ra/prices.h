/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price thread (pricing/price_thread.h) in the plugin: its devices are ours (disk/device.h),
 * its settings those of the block RA { }.
 */
#ifndef RA_PRICES_H
#define RA_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/export_io.h"
#include "pricing/ghost_cache.h"
#include "pricing/ledger.h"

/* For people: "no FSSTAT yet", ... (fsstat.c) */
extern const char *const fsstat_said_text[FSSTAT_SAID];

/* What operators see of a device's prices. Any thread. */
struct prices_view {
	uint64_t age;	   /* ns since the snapshot; UINT64_MAX: none yet */
	double length;	   /* requests waiting and running, averaged */
	double saturation; /* of them saturate the disk */
	struct price_snapshot snapshot;
};
/* Of the Nth device; false: there is none. */
bool ra_prices_view(unsigned int n, struct prices_view *view);
/* As price_thread_clients(). */
unsigned int ra_prices_clients(unsigned int n, struct ledger_entry *entries, unsigned int max);
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
/* The parameters may have changed. */
void ra_prices_update(void);
void ra_prices_stop(void);
/* After the last read. */
void ra_prices_free(void);

#endif /* RA_PRICES_H */
