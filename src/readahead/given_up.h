/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What was given up while no READ was looked at: of readers that fell silent, of cursors taken for other runs. It
 * belongs to the account, the host's number of an export, whose READ was followed last, and waits there until the
 * host collects it (readahead_collect).
 *
 *   cursor --sweep, recycled--> its account's sums --collect--> the export's counters
 *
 * Any thread, under any lock.
 */
#ifndef READAHEAD_GIVEN_UP_H
#define READAHEAD_GIVEN_UP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "readahead/counters.h"

#define GIVEN_UP_ACCOUNTS 65536

struct given_up {
	_Atomic uint64_t wasted, unfetched; /* bytes: come; not come */
};

/* To COUNTERS, or where that is NULL to ACCOUNT, one of the GIVEN_UP_ACCOUNTS at ALL. */
static inline void given_up_add(struct given_up *all, struct readahead_counters *counters,
				uint16_t account, uint64_t wasted, uint64_t unfetched)
{
	if (counters != NULL) {
		readahead_count(counters, READAHEAD_WASTED, wasted);
		readahead_count(counters, READAHEAD_UNFETCHED, unfetched);
		return;
	}
	atomic_fetch_add_explicit(&all[account].wasted, wasted, memory_order_relaxed);
	atomic_fetch_add_explicit(&all[account].unfetched, unfetched, memory_order_relaxed);
}

/* What waits at G goes to COUNTERS. */
static inline void given_up_collect(struct given_up *g, struct readahead_counters *counters)
{
	if (atomic_load_explicit(&g->wasted, memory_order_relaxed) != 0)
		readahead_count(counters, READAHEAD_WASTED, atomic_exchange(&g->wasted, 0));
	if (atomic_load_explicit(&g->unfetched, memory_order_relaxed) != 0)
		readahead_count(counters, READAHEAD_UNFETCHED, atomic_exchange(&g->unfetched, 0));
}

#endif
