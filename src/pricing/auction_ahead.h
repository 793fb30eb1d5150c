/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How far a client reads ahead while prices move. What is asked is the server's price of read-ahead, what is bid
 * what read-ahead is worth: the less is fetched for nothing, the more (CA-NFS, section 3.3).
 *
 *   bid = weight * price_min / (1 - used)        from used = 0.95 on more than any price
 *   ask = the server's price, or that of the client's own network; price_min at least
 *
 *   ask / bid     up to 0.4: twice as far    above 1.25: half    above FAR: a quarter    else as it is
 *
 * A step every STEP seconds, and what it is good for is to be measured anew after each. A server that is cheap
 * (price_min at most) never makes it shorter than it is without prices, one that is not never longer.
 *
 * As auction_writes.h: specified and tested beside it, plain C, no clock, no allocation. One thread.
 */
#ifndef PRICING_AUCTION_AHEAD_H
#define PRICING_AUCTION_AHEAD_H

#include <stdint.h>

#include "auction.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AUCTION_STEP 2 /* s */
/* So many bids: two steps at once. */
#define AUCTION_FAR 5
/* Read of what is fetched ahead, where it is not known. */
#define AUCTION_USED 0.8

/* Why it is as far as it is: the first that holds. */
enum auction_ahead_why {
	AUCTION_AHEAD_NO_PRICES, /* as found */
	AUCTION_AHEAD_SHORT,	 /* as found: it is longer, and memory is short */
	AUCTION_AHEAD_CHEAP,	 /* as found: it was shorter, and the server is cheap now */
	AUCTION_AHEAD_WAIT,	 /* stays: a step was made less than STEP ago */
	AUCTION_AHEAD_UNKNOWN,	 /* stays: it is not known yet what it is good for */
	AUCTION_AHEAD_FAR,	 /* a quarter: far dearer */
	AUCTION_AHEAD_DEARER,	 /* half */
	AUCTION_AHEAD_WORTH,	 /* twice */
	AUCTION_AHEAD_WASTE,	 /* half: longer than found, and not worth that */
	AUCTION_AHEAD_EVEN,	 /* stays */
	AUCTION_AHEAD_WHYS
};

/* KiB; it may be found beyond. */
struct auction_ahead_limits {
	uint32_t least, most;
};

struct auction_ahead_state {
	double price;	/* the server's of read-ahead, 0..1; below 0: there is none that counts */
	double network; /* u of the client's own link, 0..1; 0: not known */
	double used; /* read of what was fetched ahead since the last step, 0..1; below 0: not known */
	uint32_t found;	   /* KiB, as it is without prices; above 0 */
	bool memory_short; /* not further than found */
};

/* All zero is the beginning. */
struct auction_ahead {
	uint32_t size;		    /* KiB; 0: as found */
	enum auction_ahead_why why; /* as it was judged last */
	double ask, bid;
	double stepped; /* s: when it was turned last; 0: never */
};

void auction_ahead_hear(struct auction_ahead *a, const struct auction_terms *t,
			const struct auction_ahead_state *s);
/* After auction_ahead_hear(). NOW as in auction_writes.h. True: A->size is another. */
bool auction_ahead_judge(struct auction_ahead *a, const struct auction_terms *t,
			 const struct auction_ahead_limits *l, const struct auction_ahead_state *s,
			 double now);
/* Instead, where the client has a reason of its own: as found. */
bool auction_ahead_end(struct auction_ahead *a, double now);

#ifdef __cplusplus
}
#endif

#endif
