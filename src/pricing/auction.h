/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's side of the reverse auction: who offers the lower price, the server or the client's
 * own memory? (CA-NFS, sections 2.1, 2.2, 3.2 and 3.3.)
 *
 *   bid = P(u) of the client's memory, at least price_min; Pmax + epsilon from u = 1 on
 *   u   = what is dirty of what may be, or what the read cache is worth: the dearer of the two
 *   ask = the server's price, or that of the client's own network: the dearer, for data has to take
 *         the whole way
 *
 *   ask / bid             0     cheap/h  cheap*h      1/h     h
 *                         |-------|--------|-----------|------|-------
 *     accelerate      <===========*========*           |      |
 *     send                        *====================*======*
 *     defer                                            *======*======>
 *
 * Accelerate: have data written now, while that costs little. Defer: keep it. Where two overlap it
 * stays as it was; h is the hysteresis. A full memory never defers.
 *
 * Pure, plain numbers; any thread.
 */
#ifndef PRICING_AUCTION_H
#define PRICING_AUCTION_H

enum auction_way { AUCTION_SEND, AUCTION_DEFER, AUCTION_ACCELERATE, AUCTION_WAYS };
/* "send", "defer", "accelerate" */
extern const char *const auction_way_names[AUCTION_WAYS];

/* Dearer than any server: Pmax + epsilon. */
#define AUCTION_CEILING 1.001

struct auction_terms {
	double k_dirty, k_worth, k_network; /* steepness of each price: pricing/price.h */
	double price_min;		    /* the client's lowest price, > 0 */
	double hysteresis;		    /* h, at least 1 */
	double cheap;			    /* a share of the bid, 0..1 */
};

/* How the client stands; utilizations from 0 on. */
struct auction_state {
	double dirty;	/* of the memory that may hold written data */
	double worth;	/* of the read cache: struct ghost_worth */
	double network; /* of its own link; 0: not known */
};

/* The price of the client's own memory, price_min .. AUCTION_CEILING. */
double auction_bid(const struct auction_terms *t, const struct auction_state *s);
/* The price of the way to the disk, where the server asks PRICE: 0..1. */
double auction_ask(const struct auction_terms *t, const struct auction_state *s, double price);
/* What to do with written data, where it was WAS. */
enum auction_way auction_write(const struct auction_terms *t, double ask, double bid,
			       enum auction_way was);

#endif
