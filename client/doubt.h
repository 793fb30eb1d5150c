/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prices that cannot be what they seem. A server's meters are never quite still while it has work, and
 * never jump from reply to reply, for they average over half a second and more (doc/prices.md). So prices
 * that would make us act do not count
 *
 *   frozen    where neither has moved by its smallest step for DOUBT_STILL seconds and DOUBT_REPLIES replies;
 *             DOUBT_FULL seconds where one is 1, for a server that is full for long says 1 for long
 *   jumping   where the one of writes went up and down in turn, by a factor of DOUBT_JUMP and more, in
 *             DOUBT_TURNS of the last DOUBT_WINDOW replies
 *
 * and they count again once they move, or DOUBT_WINDOW replies have gone without. A server that states
 * what is wrong, but as a price would, cannot be told from a busy one; the bounds of decide.h and of the
 * knobs hold for it as for any. Pure. One thread.
 */
#ifndef CLIENT_DOUBT_H
#define CLIENT_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

#include "pricing/fsstat_price.h"

#define DOUBT_STILL   60
#define DOUBT_FULL    600
#define DOUBT_REPLIES 20
#define DOUBT_JUMP    4
#define DOUBT_WINDOW  16
#define DOUBT_TURNS   12

/* All zero: nothing was seen. */
struct doubt {
	struct fsstat_prices last;
	double since;	  /* s: when they came to be as they are */
	uint32_t replies; /* since then */
	uint32_t turns;	  /* bits: of the last replies, those that turned back */
	int8_t went;	  /* by the factor up 1, down -1; 0: less than that */
	bool seen, frozen, jumping;
};

/* A reply with prices P came. Prices up to LOW make nobody act: standing still is what they should. */
bool doubt_feed(struct doubt *d, const struct fsstat_prices *p, double low, double now);

#endif
