/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a file's read-ahead has been worth, and how much of its plan it therefore gets when the disk
 * is dear.
 *
 * Effectiveness e is the share that was read of the bytes that were fetched ahead in the file. The
 * server states a price of read-ahead, 0 to 1. What a file offers is 9/8 e^2, for a price too stays
 * low until there is little left. An offer of at least the price gets the whole window, and the
 * best offers are above any price: a file that wastes next to nothing is never curbed, however dear
 * the disk is, since its reads would cost more without. A lower offer gets less of the window the
 * further it is below, down to offer^2 at a price of 1; where too little is left to be worth a
 * seek, nothing is fetched. All of it is back at once when the price falls.
 *
 *   share of the window
 *       1 |-----------.                  price <= offer: all of it
 *         |            `.
 *         |              `-.             (offer / price)^2
 * offer^2 |                 `----------
 *         +-----------|---------------|
 *         0         offer             1   price
 *
 * This is the auction of CA-NFS (FAST 2009), sections 2.2 and 3.2, where the offer is a bid and the
 * best bid is Pmax + epsilon. Its measure is another one: confidence (section 3.3) is read-ahead
 * pages read over all pages read, which a client can know. It would call a stream ineffective for
 * the random reads beside it in its file, and a reader of short bursts effective whatever is thrown
 * away behind each. A server sees what was thrown away.
 *
 * What a file did long ago fades. A file of which nothing is known is taken to be worth what others
 * were when nothing was known of them. Where read-ahead was withheld, a reader who goes on in order
 * all the same shows that it would have been read: so a file that has changed is found out.
 *
 * Pure, plain numbers; the caller's lock.
 */
#ifndef READAHEAD_EFFECTIVENESS_H
#define READAHEAD_EFFECTIVENESS_H

#include <stdint.h>

/* Bytes by which a file is judged by itself; until then others' example counts too. */
#define EFFECTIVENESS_WEIGHT (1u << 20)
/* Beyond so many bytes of evidence the old ones fade. */
#define EFFECTIVENESS_MEMORY (16u << 20)

/* What became of bytes read ahead. All zero: nothing is known. */
struct effectiveness {
	uint32_t used, wasted; /* bytes, faded */
};

void effectiveness_add(struct effectiveness *e, uint64_t used, uint64_t wasted);
/* WASTED bytes counted before were not. */
void effectiveness_take_back(struct effectiveness *e, uint64_t wasted);
/* The share that was read, 0..1; EXAMPLE, 0..1: that of others, for want of evidence. */
double effectiveness_of(const struct effectiveness *e, double example);

/* The share of its window, 0..1, that a file of this effectiveness gets at PRICE (0..1). */
double effectiveness_share(double price, double effectiveness);

#endif
