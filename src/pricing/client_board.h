/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the prices of single clients are posted, for a device: one thread publishes all of them, any
 * thread looks one up, without a lock.
 *
 *   latest = 6    table 0: [client 9, all exports | 0.31 | 0.10] [ ] [client 4, export 7 | ...  <- readers
 *                 table 1: publication 7 being written
 *
 * Two hash tables take turns as the two slots of board.h do, and for the same reason: a reader never
 * waits for a writer. It goes through its table again only if the next one was published meanwhile.
 *
 * Only clients whose price differs from the device's own (board.h) are here, and which exports have a share of their own:
 * who is not found on such a one pays the device's price there, whatever his is on all others. A board of zero bytes
 * has none, and no memory.
 */
#ifndef PRICING_CLIENT_BOARD_H
#define PRICING_CLIENT_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pricing/client_price.h"

/* Clients that one board holds. */
#define CLIENT_BOARD_MAX 1024
/* For what a price holds: an export with a share of its own, or all that have none. */
#define PLACE_ALL	    0u
#define PLACE_OF_EXPORT(id) ((uint32_t)(id) + 1)

struct client_quote {
	uint64_t client; /* 0: none; its place has a share of its own, and there are no prices */
	uint32_t place;
	float write, readahead; /* 0..1 */
};

struct client_tables;
struct client_board {
	_Atomic(struct client_tables *) tables; /* NULL: no client had a price of its own yet */
};

/*
 * These and no others, from now on; those beyond CLIENT_BOARD_MAX are left out, and with them all where
 * there is no memory. One thread at a time.
 */
void client_board_publish(struct client_board *b, const struct client_quote *quotes,
			  unsigned int n);
/*
 * The prices of CLIENT, not 0, on this export; false: it has none of its own, and P is as before. Any thread;
 * never waits; a few loads.
 */
bool client_board_find(const struct client_board *b, uint64_t client, uint16_t export_id,
		       struct client_prices *p);
/* When nobody looks any more. */
void client_board_fini(struct client_board *b);

#endif
