/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a client does with written data while prices move: the auction (auction.h) with least times, a longest
 * time, and turns. doc/fsstat-prices.md specifies it, doc/fsstat-prices.vectors tests it.
 *
 *   struct auction_terms t = AUCTION_TERMS_USUAL;
 *   struct auction_writes w = {0};
 *   const struct auction_may may = {true, true, AUCTION_DEFER_MOST};
 *
 *   each time a price comes or ends, the client stands otherwise, or auction_writes_due() is over:
 *           auction_writes_hear(&w, &t, &state, price, now);
 *           auction_writes_judge(&w, &t, &may, now);
 *           do as w.way says
 *
 * A deferral lasts DWELL at least, for prices of a busy server jump, and may.defer_most at most, which may be
 * less; then there is none for REST, so that with a kernel that looks at what is old every 5 s no data waits longer
 * than the 30 s that it would without. It ends at once where the bid has reached its ceiling. Accelerated is what
 * has been cheap for CALM, beside the bid without dirty memory: that this is full is no reason to send everything
 * at once.
 *
 * Where the server is dear again within TURNS after a deferral's rest, clients go by turns: each further deferral lasts
 * HOLD, whatever the price does meanwhile. Whether there is another is by what was asked LATELY, on average, unless
 * the ratio is above PLAIN. So clients with equal prices have the same number of turns in a minute, whoever began.
 *
 * Plain C, no clock, no allocation. One thread.
 */
#ifndef PRICING_AUCTION_WRITES_H
#define PRICING_AUCTION_WRITES_H

#include "auction.h"

#ifdef __cplusplus
extern "C" {
#endif

/* s */
#define AUCTION_DWELL	   3
#define AUCTION_DEFER_MOST 24
#define AUCTION_REST	   6
#define AUCTION_CALM	   3
/* By turns (s); with REST a quarter of a minute. */
#define AUCTION_TURNS 60
#define AUCTION_HOLD  9
/* s; so many bids. Two clients are told prices at moments of their own, and near the edge only one would go on. */
#define AUCTION_LATELY 8
#define AUCTION_PLAIN  2.5

/* Why a way is taken: the first that holds. */
enum auction_why {
	AUCTION_WHY_NO_PRICES, /* send */
	AUCTION_WHY_FULL,      /* send: the bid is at its ceiling, and the server not far cheaper */
	AUCTION_WHY_LONG,      /* send: the deferral has lasted as long as it may */
	AUCTION_WHY_DEARER,    /* defer: the server is dearer */
	AUCTION_WHY_DWELL,     /* defer: it was a moment ago */
	AUCTION_WHY_CHEAP,     /* accelerate: it has been far cheaper for CALM */
	AUCTION_WHY_REST,      /* send: it is dearer, but a deferral ended less than REST ago */
	AUCTION_WHY_NOT_WANTED, /* send: it is dearer, but deferral is off */
	AUCTION_WHY_EVEN,	/* send */
	AUCTION_WHYS
};

/* What the client may do. */
struct auction_may {
	bool defer, accelerate;
	double defer_most; /* s, above 0, up to AUCTION_DEFER_MOST */
};

/* All zero is the beginning. */
struct auction_writes {
	enum auction_way way;
	double ask, bid, calm;	  /* prices; calm: the bid without dirty memory */
	double since;		  /* s: when this way began */
	double hold, dwell;	  /* s: this deferral at most and at least; dwell <= hold */
	double rest_until;	  /* s: no deferral before; 0: there was none */
	double lately, lately_at; /* mean ask; s: until when, 0: no prices */
	double cheap_since;	  /* s; 0: it is not far cheaper */
};

/* NOW: s, above 0, of any clock that only goes forward. PRICE: the server's of writes, 0..1; below 0: there is
 * none that counts. */
void auction_writes_hear(struct auction_writes *w, const struct auction_terms *t,
			 const struct auction_state *s, double price, double now);
/* After auction_writes_hear(): W->way, and why. */
enum auction_why auction_writes_judge(struct auction_writes *w, const struct auction_terms *t,
				      const struct auction_may *may, double now);
/* Instead, where the client has a reason of its own for WAY. */
void auction_writes_go(struct auction_writes *w, const struct auction_may *may,
		       enum auction_way way, double now);
/* After auction_writes_hear(): whether the server is dear enough to defer, or to go on so. */
bool auction_writes_dear(const struct auction_writes *w, const struct auction_terms *t, double now);
/* When (s) the way may be another though no price moves, or turns are uneven; INFINITY: never. */
double auction_writes_due(const struct auction_writes *w, double now);

#ifdef __cplusplus
}
#endif

#endif
