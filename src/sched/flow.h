/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flows: whom disk time is divided among. What is shared is the time that requests keep the disk, as
 * observed (Argon, FAST 2007; Fahrrad, EuroSys 2008), by start-time fair queueing (Goyal, Vin & Cheng,
 * SIGCOMM 1996), above the policies: a policy orders what one flow has queued.
 *
 *   device
 *     +-- client a   weight 100     a client's flows over exports that have no share of their own
 *     |     +-- flow (a, export 1)    [ its policy's order, its overdue reads, its write-backs ]
 *     |     '-- flow (a, export 2)
 *     +-- client b   weight 100
 *     '-- export 7   weight 300     has a share of its own: its clients divide that among them
 *           +-- flow (a, export 7)
 *           '-- flow (c, export 7)
 *
 * The upper level are groups. So a client gets no more by mounting more exports, and an export with a
 * Weight gets that however many clients it has.
 */
#ifndef SCHED_FLOW_H
#define SCHED_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/* Whom a request is charged to. The submitter's. */
struct flow_id {
	uint64_t client; /* a number that the host gives each address; 0: the server's own work */
	uint16_t export_id;
	uint16_t rule; /* which of sched_shares.rules holds for the client */
};

#define SHARE_WEIGHT_DEFAULT 100
#define SHARE_WEIGHT_MAX     10000

/* A floor or a ceiling; each field 0: none. With several the strictest counts. */
struct share_limit {
	uint64_t bandwidth; /* bytes/s of the disk: what the page cache answers does not count */
	uint32_t iops;	    /* requests/s of the disk */
	uint32_t time;	    /* percent of the disk's time, 1..100 */
};

struct share {
	uint32_t weight; /* 1..SHARE_WEIGHT_MAX; of an export also 0: as much as its clients have */
	struct share_limit floor, ceiling;
};

struct export_share {
	uint16_t export_id;
	struct share share; /* with something in it: an export without one is not listed */
};

#define SHARE_RULES_MAX	  64
#define SHARE_EXPORTS_MAX 1024
/* Who may have how much: immutable once handed over. */
struct sched_shares {
	uint32_t n_rules;		     /* at least 1 */
	struct share rules[SHARE_RULES_MAX]; /* 0: of clients that no rule names */
	uint32_t n_exports;
	struct export_share exports[SHARE_EXPORTS_MAX]; /* by export_id */
};

/* Whether by S anybody has a weight of its own, a floor or a ceiling: so that all work must be charged. */
bool sched_shares_differ(const struct sched_shares *s);

/* For operators: a flow since it is known. */
#define FLOW_CLASSES	  3  /* as SCHED_CLASSES: demand, prefetch, write-back */
#define FLOW_WAIT_BUCKETS 40 /* bucket b: waits below 2^b us */
struct flow_stats {
	struct flow_id id;
	uint32_t weight;       /* its own, within its group */
	uint32_t group_weight; /* of its group, as it counts now */
	bool of_export;	       /* its group is its export's; else its client's */
	bool backlogged;       /* has something queued, or on the disk */
	bool throttled;	       /* held back by a ceiling now */
	uint32_t queued[FLOW_CLASSES], joined, running;
	uint64_t held; /* bytes of replies that its queued reads own */
	uint64_t served[FLOW_CLASSES], bytes[FLOW_CLASSES], refused;
	uint64_t disk_time[FLOW_CLASSES];  /* ns */
	uint64_t wait_max;		   /* ns, of a demand read */
	uint64_t waits[FLOW_WAIT_BUCKETS]; /* demand reads, by their wait */
	struct flow_id behind; /* the flow that had the disk for longest while it waited, lately */
	uint64_t behind_time;  /* ns by which; goes up and down; 0: none */
};

/* ... and a client with all its flows that are known. */
struct client_total {
	uint64_t client;
	uint64_t disk_time;	/* ns */
	uint64_t read, written; /* bytes */
	uint64_t requests, refused;
};

/* Their order, for qsort(3) and bsearch(3). */
static inline int client_total_order(const void *a, const void *b)
{
	const uint64_t x = ((const struct client_total *)a)->client,
		       y = ((const struct client_total *)b)->client;

	return x < y ? -1 : x > y;
}

#endif
