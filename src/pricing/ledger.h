/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who used how much of a disk's time lately, and how that stands against what he is entitled to: an
 * entry for each client, fed at regular times with what the scheduler has counted for its flows.
 *
 *   use(t)       the sum of the client's disk time, each second of it weighted by e^(-age / memory)
 *   activity(t)  the same mean of "had something on the disk, or in its queue": 0..1
 *
 *   entitled = weight * activity / sum of (weight * activity)
 *
 * Between two activities that are no more than LEDGER_PAUSE apart it was active, too, for up to
 * LEDGER_PAUSE_USE times the disk time that it uses then: a client that holds data back because of its price is
 * still there. Else it would be entitled to less for doing so, and be told a higher price than one that writes as
 * much a little at a time; of two equal clients one would hold back for ever, and the other never
 * (unit.price_auction). One that writes a line of a log each time is not there for that.
 *
 * So a client that goes is forgotten as its use is, by and by; one that asks once a minute takes
 * nothing from the others' entitlement; and there is no moment at which prices jump. While the
 * disk was hardly used in memory's reach, little is known: client_standing.doubt.
 *
 * The clients of an export with a share of its own have entries of their own there, and divide that
 * export's among them, as they do in the scheduler (sched/flow.h):
 *
 *   client a, all exports without a share     weight 100
 *   export 7                                  weight 300, activity: its clients' sum, at most all the time
 *     +-- client a on export 7                weight 100 of the 300 times ...
 *     '-- client c on export 7                weight 100
 *
 * Entries are bounded; who comes when all are taken, by clients of which something is known, is not
 * remembered and pays the device's plain price. Not thread-safe.
 */
#ifndef PRICING_LEDGER_H
#define PRICING_LEDGER_H

#include "pricing/client_board.h"

#define LEDGER_ENTRIES CLIENT_BOARD_MAX
/* Flows that are looked at each time, those most lately active: a device's lock is held for that. */
#define LEDGER_FLOWS 256

/* ns; a turn and its rest of clients that hold back by turns (auction_writes.h), and three times as long as
 * a Linux client's flusher sleeps. */
#define LEDGER_PAUSE UINT64_C(15000000000)
/* Who uses 3 % of a disk, or more, is there in all such pauses. */
#define LEDGER_PAUSE_USE 32

/* A flow as the scheduler counted it. */
struct flow_use {
	uint64_t client;       /* 0: the server itself, which pays nothing */
	uint64_t disk_time;    /* ns since it is known */
	uint32_t weight;       /* of the client; >= 1 */
	uint32_t group_weight; /* of its export, if that has a share of its own; >= 1 */
	uint16_t export_id;
	bool of_export;	 /* its export has a share of its own */
	bool backlogged; /* has something on the disk, or in its queue */
};

struct ledger_entry {
	uint64_t client;
	uint32_t place; /* PLACE_ALL, or of an export with a share of its own */
	uint32_t weight;
	double group_weight; /* decayed: that of an export without a Weight changes with who is there */
	uint64_t active_at; /* ns: when it last was */
	double use;	    /* ns, decayed */
	double activity;    /* decayed */
	double pause;	    /* ns: of the last one, not made up for yet */
	double ratio;	    /* client_ratio() */
	struct client_standing standing;
	/* While it is fed. */
	uint64_t grown; /* ns: by what its flows used */
	uint32_t group_weight_now;
	bool found, busy;
};

struct ledger;

/* NULL: no memory. */
struct ledger *ledger_new(void);
void ledger_free(struct ledger *l); /* NULL is none */
/* The flows' counters are these at NOW (ns, above 0, never less than before); MEMORY: ns, > 0. */
void ledger_feed(struct ledger *l, const struct flow_use *flows, unsigned int n, uint64_t now,
		 uint64_t memory);
/* Copies up to MAX entries, those that used most lately first; returns how many there are. */
unsigned int ledger_top(const struct ledger *l, struct ledger_entry *entries, unsigned int max);
/*
 * Fills QUOTES, LEDGER_ENTRIES of them, with the exports that have a share and a client who is remembered, and with the
 * prices of clients that do not stand as they should; returns how many these are. Where both are more, the last clients pay
 * the device's price.
 */
unsigned int ledger_quotes(const struct ledger *l, const struct price_snapshot *s,
			   const double k[PRICE_RESOURCES], struct client_quote *quotes);

#endif
