/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's side of the auction: whose resources are cheaper now, the server's or our own?
 * (CA-NFS, sections 2.1, 2.2 and 3.2.)
 *
 * For each mount the server states a price for asynchronous writes. Ours is that of the memory in
 * which written data would wait instead:
 *
 *   u = (dirty + under write-back) / ((background limit + dirty limit) / 2)
 *   ours = P(u), at least price_min; and Pmax + epsilon from u = 1 on
 *
 * price_min: if neither is congested, the server writes. Pmax + epsilon: if both are, the server
 * writes too, for it bears that better.
 *
 *   server's price / ours     0    1/2.5  1/2  1/1.6    1/1.25   1   1.25
 *                             |------|-----|-----|---------|-----|-----|------
 *     accelerate         <====*=====>      |     |         |     |     |
 *     normal                         <=====*=====*=========*=====>     |
 *     defer                                                <=====*=====*====>
 *
 * Accelerate: have data written now, while that costs the server little. Defer: hold it back. Where
 * two overlap we stay with what we do (hysteresis). Deferral lasts DWELL seconds at least and
 * defer_max at most, and then the kernel has its way for REST seconds, so that with its own 5 s
 * between two looks no data waits longer than the 30 s that it would at most without us. The same,
 * and at once, where dirty memory has reached u = 1.
 *
 * Read-ahead is not written off or on, but turned: readahead_max where it costs up to price_min,
 * readahead_min at Pmax, by equal factors between, in powers of two.
 *
 * Pure: plain numbers, times handed in. No lock: one thread.
 */
#ifndef CLIENT_DECIDE_H
#define CLIENT_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "pricing/auction.h"

enum write_way { WRITE_NORMAL, WRITE_DEFER, WRITE_ACCELERATE, WRITE_WAYS };
/* "normal", "defer", "accelerate" */
extern const char *const write_way_names[WRITE_WAYS];

/* Why writes go as they go. */
enum decide_why {
	WHY_NO_PRICES,	/* normal: none that count */
	WHY_EVEN,	/* normal: neither is much cheaper */
	WHY_MEMORY,	/* normal: our memory is as full as it may be */
	WHY_REST,	/* normal: data was held back for long enough */
	WHY_NOT_WANTED, /* normal: it is dearer, but deferral is off */
	WHY_DEARER,	/* defer: it is dearer than our memory */
	WHY_DWELL,	/* defer: it was, less than DECIDE_DWELL ago */
	WHY_CHEAP,	/* accelerate: it is far cheaper */
	DECIDE_WHYS
};
/* In words. */
extern const char *const decide_why_texts[DECIDE_WHYS];

/* After defer_max the kernel has its way this long (s): longer than its flusher sleeps. */
#define DECIDE_REST 6
/* Deferral is not given up earlier for a lower price (s): prices of a busy server jump. */
#define DECIDE_DWELL 3
/* Dearer than any server: Pmax + epsilon. */
#define DECIDE_CEILING	  AUCTION_CEILING
#define DECIDE_HYSTERESIS 1.25
/* The server's price below this share of ours: accelerate. */
#define DECIDE_CHEAP 0.5

struct decide_limits {
	bool defer, accelerate, readahead;     /* what may be done */
	double k;			       /* of our memory: see pricing/price.h */
	double price_min;		       /* > 0 */
	double defer_max;		       /* s */
	uint32_t readahead_min, readahead_max; /* KiB */
};

/* What there is to judge. */
struct decide_input {
	bool priced;		  /* the server states prices, we believe it, and they are fresh */
	double write, readahead;  /* the server's, 0..1 */
	double dirty;		  /* our u, from 0 on */
	bool memory_short;	  /* little memory is left for data read ahead */
	uint32_t readahead_found; /* KiB, as the mount had it before us */
};

struct decision {
	enum write_way way;
	enum decide_why why;
	uint32_t readahead; /* KiB; 0: as found */
	double ours;	    /* our price of a write */
	double since;	    /* s: when this way began */
	double rest_until;  /* s: no deferral before */
};

/* Ours, price_min to DECIDE_CEILING. */
double decide_price(const struct decide_limits *l, double dirty);

/*
 * NOW: seconds, of any clock that only goes forward. The result is in D. All zero is the beginning.
 */
void decide(struct decision *d, const struct decide_limits *l, const struct decide_input *in,
	    double now);

#endif
