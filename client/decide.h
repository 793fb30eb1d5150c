/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's side of the auction: whose resources are cheaper now, the server's or our own?
 * (CA-NFS, sections 2.1, 2.2 and 3.1 to 3.3.) What follows from the prices is one table: of
 * each half, writes and read-ahead, the first rule that holds decides. Those that are the agent's own are in
 * decide.c, those of any client in pricing/auction_*.c. doc/ca-nfs-agent.8 shows the same table.
 *
 * For each mount the server states a price for asynchronous writes and one for read-ahead. Data has to
 * take the way over our own network too, so what a way costs is the dearer of both:
 *
 *   theirs = max(the server's price, P(u of our network, by others than its mounts))
 *
 * Ours, of writes, is the price of the memory in which written data would wait instead, the dearer of what
 * is dirty and of what cached data is worth:
 *
 *   ours = weight * max(P(u of dirty memory), P(worth), price_min);   Pmax + epsilon from u = 1 on
 *
 * price_min: if neither is congested, the server writes. Pmax + epsilon: if both are, the server
 * writes too, for it bears that better.
 *
 *   theirs / ours             0    1/2.5  1/2  1/1.6    1/1.25   1   1.25
 *                             |------|-----|-----|---------|-----|-----|------
 *     accelerate         <====*=====>      |     |         |     |     |
 *     normal                         <=====*=====*=========*=====>     |
 *     defer                                                <=====*=====*====>
 *
 * Accelerate: have data written now, while that costs the server little; beside ours without dirty memory,
 * for where that is full the kernel writes already, and everything at once makes others wait; and not while
 * memory is free in which it can wait, for then nobody gains. Accelerate as well, whatever the server asks,
 * where programs read again what memory has no room for beside written data: our price is Pmax + epsilon
 * then. Defer: hold it back. Where two overlap we stay with what we do (hysteresis). The least and the longest times
 * of a deferral, and the turns in which clients go where a server stays dear, are those of
 * pricing/auction_writes.h: so two clients have the same number of turns in a minute, whoever began
 * (unit.agent_turns), where ends that follow the price make their numbers differ by half.
 *
 * Ours, of read-ahead, is what it is worth: the less is fetched for nothing, the more.
 *
 *   ours = weight * price_min / (1 - effectiveness)          from 0.95 on: more than any price
 *
 * The same ratio makes it half as long (where writes are deferred), a quarter, twice as long (where they are
 * accelerated), or leaves it: pricing/auction_ahead.h.
 *
 * Pure: plain numbers, times handed in. No lock: one thread.
 */
#ifndef CLIENT_DECIDE_H
#define CLIENT_DECIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mount_use.h"
#include "pricing/auction_ahead.h"
#include "pricing/auction_writes.h"

/* As enum auction_way; what is sent there is left to the kernel here. */
enum write_way { WRITE_NORMAL, WRITE_DEFER, WRITE_ACCELERATE, WRITE_WAYS };
/* "normal", "defer", "accelerate" */
extern const char *const write_way_names[WRITE_WAYS];

/* Which rule decided: its line in the table. */
enum decide_why {
	WHY_NO_PRICES, /* normal: none that count */
	WHY_DOUBT,     /* normal: they do not move, or jump about (doubt.h) */
	WHY_UNUSED,    /* normal: nothing was written lately */
	WHY_LOST,      /* accelerate: cached data is lost to what is written */
	WHY_VAIN,      /* normal: what was deferred was sent all the same */
	/* The auction's, as enum auction_why. */
	WHY_MEMORY,	/* normal: our memory is as full as it may be */
	WHY_LONG,	/* normal: a deferral has lasted defer_max */
	WHY_DEARER,	/* defer: it is dearer than our memory */
	WHY_DWELL,	/* defer: it was, less than AUCTION_DWELL ago */
	WHY_CHEAP,	/* accelerate: it is far cheaper, for AUCTION_CALM, and memory is taken */
	WHY_REST,	/* normal: data was held back for long enough */
	WHY_NOT_WANTED, /* normal: it is dearer, but deferral is off */
	WHY_EVEN,	/* normal: neither is much cheaper */
	WRITE_RULES,
	AHEAD_NO_PRICES = WRITE_RULES,
	AHEAD_DOUBT,
	AHEAD_OFF,    /* found: read-ahead is not ours to turn */
	AHEAD_UNUSED, /* found: nothing was read lately */
	/* The auction's, as enum auction_ahead_why. */
	AHEAD_SHORT,   /* found: little memory is left */
	AHEAD_CHEAP,   /* found: it was made shorter, and the server is cheap now */
	AHEAD_WAIT,    /* stay: a step was made less than AUCTION_STEP ago */
	AHEAD_UNKNOWN, /* stay: it is not known yet what it is good for */
	AHEAD_FAR,     /* far less: far dearer */
	AHEAD_DEARER,  /* less */
	AHEAD_WORTH,   /* more */
	AHEAD_WASTE,   /* back: longer than found, and not worth that */
	AHEAD_EVEN,    /* stay */
	DECIDE_RULES
};

/* A line of the table, in words. */
struct decide_text {
	const char *when, *then, *why;
};
extern const struct decide_text decide_texts[DECIDE_RULES];
/* Both halves as the manual has them. */
void decide_print_rules(FILE *out);

/* What was neither read nor written for so long (s) is not used; the kernel keeps no written data longer. */
#define DECIDE_UNUSED 30
/* Accelerate where memory is taken by more than this. */
#define DECIDE_PRESSED 0.5

struct decide_limits {
	bool defer, accelerate, readahead;     /* what may be done */
	double k, k_cache;		       /* of our memory: see pricing/price.h */
	double price_min;		       /* > 0 */
	double defer_max;		       /* s */
	uint32_t readahead_min, readahead_max; /* KiB */
};

/* What there is to judge. */
struct decide_input {
	bool priced;		 /* the server states prices, we believe it, and they are fresh */
	bool doubted;		 /* but they are not what prices are */
	double write, readahead; /* the server's, 0..1 */
	double dirty, worth;	 /* our u: of written data from 0 on, of cached data 0..1 */
	double pressed;		 /* how little memory is free for it, 0..1: machine.h */
	double network;		 /* u of our network, by others, 0..1 */
	double weight;		 /* of the mount, > 0; 0: 1 */
	bool writes_unused;	 /* nothing was written for DECIDE_UNUSED */
	bool reads_unused;	 /* nothing was read for so long */
	bool defer_vain;	 /* what was deferred was sent all the same: watch.h */
	bool cache_lost;	 /* programs read again what there is no room for: mount_use.h */
	bool memory_short;	 /* little memory is left for data read ahead */
	enum use_evidence evidence; /* what is known of read-ahead: mount_use.h */
	double effectiveness;	    /* 0..1, where it is known */
	uint32_t readahead_found;   /* KiB, as the mount had it before us; 0: not known */
};

struct decision {
	enum write_way way;
	enum decide_why why, ahead_why;
	uint32_t readahead;	  /* KiB; 0: as found */
	double theirs, ours;	  /* prices of a write */
	double ahead, ahead_ours; /* and of read-ahead */
	double since;		  /* s: when this way began */
	/* What of it lasts. */
	struct auction_writes writes;
	struct auction_ahead reads;
};

/*
 * NOW: seconds, of any clock that only goes forward. The result is in D. All zero is the beginning.
 * True: read-ahead has made a step.
 */
bool decide(struct decision *d, const struct decide_limits *l, const struct decide_input *in,
	    double now);

/* When (s) the table says something else though no price moves: to be judged then, or turns are uneven. */
double decide_due(const struct decision *d, double now);

#endif
