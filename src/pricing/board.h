/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where prices are posted: one thread publishes a snapshot, any thread reads it, without a lock.
 *
 * There are two slots. Snapshot n goes into slot n % 2 while readers are still at the other; then
 * `latest` becomes n:
 *
 *      latest = 6          slot 0: snapshot 6  <- readers
 *                          slot 1: snapshot 7 being written
 *
 * So a reader never waits for a writer, even one that was stopped in the middle. Only when
 * snapshots n + 1 was published while it read n, it reads again. (CA-NFS, section 3.4: prices are
 * computed once a second, asking for them costs next to nothing.)
 *
 * A board of zero bytes is a board with nothing published: all prices 0. Nothing to free.
 */
#ifndef PRICING_BOARD_H
#define PRICING_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "pricing/price.h"

#define BOARD_WORDS ((sizeof(struct price_snapshot) + 7) / 8)

struct price_board {
	atomic_uint_fast64_t latest; /* how many snapshots were published */
	_Atomic uint64_t slots[2][BOARD_WORDS];
	_Atomic uint64_t write, readahead; /* the bits of two doubles, for hot paths */
};

/* One thread at a time. */
void board_publish(struct price_board *board, const struct price_snapshot *snapshot);

/* Any thread; never waits. Before the first board_publish: a snapshot of zeroes. */
void board_read(const struct price_board *board, struct price_snapshot *snapshot);

static inline double board_price(const _Atomic uint64_t *word)
{
	uint64_t bits = atomic_load_explicit(word, memory_order_relaxed);
	double price;

	memcpy(&price, &bits, sizeof(price));
	return price;
}

/* The two prices by themselves, 0..1: one load each, for hot paths. Any thread. */
static inline double board_write_price(const struct price_board *board)
{
	return board_price(&board->write);
}

static inline double board_readahead_price(const struct price_board *board)
{
	return board_price(&board->readahead);
}

#endif
