/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What each flow had used when the ledger was last told, so that only what it used since counts, however long it was not
 * among those that are looked at, and whichever entry it counts for.
 *
 *   (client, export) --hash--> one of FLOW_TOLD_WAYS places --> disk time, when
 *
 * Where all these are taken the one told longest ago is forgotten. Of a flow that is not known nobody knows when it used what
 * it did: that counts where it can have been within an interval. Not thread-safe.
 */
#ifndef PRICING_FLOW_TOLD_H
#define PRICING_FLOW_TOLD_H

#include <stdint.h>

#define FLOW_TOLD_MAX  4096 /* flows: as many as a scheduler knows; a power of two */
#define FLOW_TOLD_WAYS 16

struct flow_told {
	struct {
		uint64_t client; /* 0: free */
		uint64_t disk_time;
		uint64_t at; /* ns */
		uint16_t export_id;
	} flow[FLOW_TOLD_MAX];
};

/*
 * What the flow of CLIENT, not 0, on that export used since it was told last, now that it is DISK_TIME (ns) in all; NOW and
 * INTERVAL, from the last time: ns. Less than then: its counter began anew, nothing.
 */
uint64_t flow_told(struct flow_told *t, uint64_t client, uint16_t export_id, uint64_t disk_time,
		   uint64_t now, uint64_t interval);

#endif
