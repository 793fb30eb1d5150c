/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A floor and a ceiling of one entity (a group, a flow), as tags: times that what it is given moves.
 *
 *   ceiling    tag <= now: it may go                            tag > now: not before the tag
 *              -----x-----|-------------------------------------------------x-----> time
 *                   tag  now       a request goes, and took COST: tag += cost / ceiling
 *
 *   floor      tag <= now: behind, since the tag                tag > now: it has had its floor
 *              -----x-----|-----------------------------x-------------------------> time
 *                   tag  now   the same: tag += cost / floor
 *
 * These are mClock's tags (Gulati, Merchant & Varman, OSDI 2010, 3.1: R of the reservation, L of the
 * limit), with differences. A cost is what the request took, not one: bytes, requests and ns of the
 * disk each have a tag, of which the strictest counts. It is charged in full when it is known: so the
 * last request may go beyond what is allowed, and is paid for before the next one; in the long run the
 * rate is exact. Tags lag behind the clock, for what was not used, and run ahead of it no more than by
 * a bound:
 *
 *   ceiling    lags by RATE_BURST, as a token bucket: tag = max(tag, start - burst) + cost / ceiling.
 *              From the start of the request, so that a long one does not lose what passed during it
 *   floor      lags by RATE_IDLE_CREDIT when it comes back from idleness (mClock: none; but a client
 *              that asks again only when it was answered need not lose its floor by that); by
 *              RATE_LAG_MAX if the disk could not give it: an hour of that must not become an hour of
 *              nobody else. Runs ahead by RATE_LEAD_MAX for what it was given though it was not
 *              behind (mClock: not at all): nobody pays later with its floor for what was left over
 *
 * When limits change, what is owed either way stays the same in bytes, requests and ns. Only what the
 * disk does counts: what the page cache answers is charged to nobody.
 *
 * Times are ns of any one monotone clock, below 2^63. Pure; no locking of its own; every operation O(1).
 */
#ifndef SCHED_RATE_LIMIT_H
#define SCHED_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/flow.h"

#define RATE_BURST	 UINT64_C(125000000)	 /* ns */
#define RATE_IDLE_CREDIT UINT64_C(100000000)	 /* ns */
#define RATE_LAG_MAX	 UINT64_C(1000000000)	 /* ns */
#define RATE_LEAD_MAX	 UINT64_C(100000000)	 /* ns */
#define RATE_DEBT_MAX	 UINT64_C(3600000000000) /* ns; no tag is further ahead than an hour */

/* What is limited, and its units. */
enum rate_resource { RATE_BYTES, RATE_REQUESTS, RATE_TIME /* ns of the disk */, RATE_RESOURCES };

struct rate_tag {
	uint64_t rate; /* units a second; 0: no limit */
	uint64_t at;   /* ns */
	double rest;   /* ns, below 1: so that many small costs are not rounded away */
};

/* Zeros: neither floor nor ceiling. */
struct rate_limit {
	struct rate_tag ceiling[RATE_RESOURCES], floor[RATE_RESOURCES];
};

/* What requests took of the disk. */
struct rate_cost {
	uint64_t bytes, requests, time; /* ns */
};

/* From now on FLOOR and CEILING hold. At any moment. */
void rate_limit_set(struct rate_limit *l, const struct share_limit *floor,
		    const struct share_limit *ceiling, uint64_t now);
/* It has something to be served, and had nothing just before. */
void rate_limit_wakes(struct rate_limit *l, uint64_t now);
/*
 * It is given COST, by a request that went to the disk at START. RESERVED: because it was behind its
 * floor, before its turn.
 */
void rate_limit_charge(struct rate_limit *l, const struct rate_cost *cost, uint64_t start,
		       bool reserved);
/* Before this time (ns) it may not go; 0: there is no ceiling. */
uint64_t rate_limit_opens(const struct rate_limit *l);
/* If it is served nothing, it is behind its floor from this time (ns) on; UINT64_MAX: no floor. */
uint64_t rate_limit_deadline(const struct rate_limit *l);
/* How much that is in NS, of what the tag counts; UINT64_MAX: no limit. */
uint64_t rate_limit_units(const struct rate_tag *t, uint64_t ns);

static inline bool rate_limit_may_go(const struct rate_limit *l, uint64_t now)
{
	return rate_limit_opens(l) <= now;
}

static inline bool rate_limit_is_behind(const struct rate_limit *l, uint64_t now)
{
	return rate_limit_deadline(l) <= now;
}

#endif
