/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's side of the reverse auction: who offers the lower price, the server or the client's
 * own memory? (CA-NFS, sections 2.1, 2.2, 3.2 and 3.3.)
 *
 *   bid = weight * P(u) of the client's memory, at least price_min; Pmax + epsilon from u = 1 on
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
 * That is what one moment's prices say. What a client does with prices that move is auction_writes.h
 * (least times, turns) and auction_ahead.h. doc/fsstat-prices.md specifies all three; they are installed, with
 * the library of lib/. Pure, plain numbers; any thread.
 */
#ifndef PRICING_AUCTION_H
#define PRICING_AUCTION_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

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
	double weight;			    /* of its memory beside other clients', > 0; 0: 1 */
};

/* Those of ca-nfs-agent. */
#define AUCTION_K_DIRTY	   10000
#define AUCTION_K_WORTH	   10
#define AUCTION_K_NETWORK  1000
#define AUCTION_PRICE_MIN  0.05
#define AUCTION_HYSTERESIS 1.25
#define AUCTION_CHEAP	   0.5
/* All of them, to begin a struct auction_terms with. */
#define AUCTION_TERMS_USUAL                                                                        \
	{                                                                                          \
		AUCTION_K_DIRTY, AUCTION_K_WORTH, AUCTION_K_NETWORK, AUCTION_PRICE_MIN,            \
			AUCTION_HYSTERESIS, AUCTION_CHEAP, 1                                       \
	}

/* How the client stands; utilizations from 0 on. */
struct auction_state {
	double dirty;	/* of the memory that may hold written data */
	double worth;	/* of the read cache: struct ghost_worth */
	double network; /* of its own link; 0: not known */
};

/* The price of the client's own memory: weight * price_min at least. A full one's is AUCTION_CEILING, whatever
 * the weight. */
double auction_bid(const struct auction_terms *t, const struct auction_state *s);
/* The price of the way to the disk, where the server asks PRICE: 0..1. */
double auction_ask(const struct auction_terms *t, const struct auction_state *s, double price);
/* Is ASK above BID, or, where the client took it for that WAS, not clearly below? RATIO = ask / bid. */
bool auction_dear(const struct auction_terms *t, double ratio, bool was);
/* The same of far below. */
bool auction_cheap(const struct auction_terms *t, double ratio, bool was);
/* What to do with written data, where it was WAS. */
enum auction_way auction_write(const struct auction_terms *t, double ask, double bid,
			       enum auction_way was);

#ifdef __cplusplus
}
#endif

#endif
