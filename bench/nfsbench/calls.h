/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The calls of one client that datagrams carry, until each is answered once.
 *
 *   calls_add -> waiting -> calls_next: sent -> calls_answered: ANSWER_FIRST, forgotten
 *                              ^    |
 *                              +----+ no answer in time: the same xid again
 *
 * Who owns the table sends what calls_next() names and says what came. Once in a tick the calls that
 * have waited too long are found, by the estimates of that moment (the paper's "recalculated on every
 * NFS clock tick"), not by those of when they were sent. A call that is sent again has the xid that it
 * had, so that the server can tell; an answer that comes after the first one is late, and counted.
 *
 * A call that was sent again measures nothing (Karn and Partridge, "Improving Round-Trip Time Estimates
 * in Reliable Transport Protocols", 1987). Their second rule follows: the time to wait, doubled with
 * each sending, is kept for the calls of its class that follow, until one is answered that was sent
 * once. Else, when answers begin to take longer than the estimate, as they do where a queue grows,
 * every call is sent twice, none is measured, and what is sent again keeps the queue full. The paper
 * does not say what the calls that follow wait for.
 *
 * Times are nanoseconds, handed in, and never go back. One thread.
 */
#ifndef NFSBENCH_CALLS_H
#define NFSBENCH_CALLS_H

#include <stddef.h>

#include "rto.h"

#define CALLS_BUCKETS 1024 /* lists that an xid may be in */
#define CALLS_RECENT  4096 /* answered xids that are known */

/* How to wait; the two that the paper compares are rto_fixed and rto_dynamic in udp.c. */
struct calls_policy {
	bool dynamic;	      /* estimates and the window; else the constant and no bound */
	uint64_t constant;    /* ns, of classes without an estimate */
	uint64_t least, most; /* ns, of any time to wait */
	uint64_t tick;	      /* ns */
	double window_first, window_most; /* calls */
};

struct call {
	uint32_t xid;
	enum rpc_class class;
	unsigned int sendings, doublings; /* of its time to wait */
	uint64_t added, sent;		  /* ns; sent: for the last time */
	uint64_t rto;			  /* ns: what was in force when it was answered */
	char *datagram;			  /* the owner's */
	size_t length;
	/* The table's own. */
	bool is_again;
	struct call *next, *previous, *same_bucket;
};

struct calls_list {
	struct call *first, *last;
};

struct calls_counts {
	uint64_t answered, retransmitted;
	uint64_t rtt_samples;
	double rtt_sum; /* ns, of calls sent once */
};

struct calls {
	struct calls_policy policy;
	struct rto rto[RPC_CLASSES];
	unsigned int doublings[RPC_CLASSES]; /* that are kept, see above */
	struct window window;
	struct calls_counts counts[RPC_CLASSES];
	uint64_t late, unknown; /* answers */
	unsigned int capacity, used, unanswered;
	uint64_t next_tick;
	struct call *all, *free;
	struct calls_list waiting, sent, again;
	struct call *bucket[CALLS_BUCKETS];
	uint32_t recent[CALLS_RECENT];
	bool recent_used[CALLS_RECENT];
};

enum calls_answer { ANSWER_FIRST, ANSWER_LATE, ANSWER_UNKNOWN };

/* Room for so many calls. 0, or -1 without memory; calls_free() frees the table, not datagrams. */
int calls_init(struct calls *c, const struct calls_policy *policy, unsigned int capacity);
void calls_free(struct calls *c);

/* A new call, whose owner fills in datagram and length. NULL: full, or the xid is there already. */
struct call *calls_add(struct calls *c, uint32_t xid, uint32_t procedure, uint64_t now);
bool calls_full(const struct calls *c);

/* The call to send now, which counts as sent; NULL if none is to be sent. */
struct call *calls_next(struct calls *c, uint64_t now);

/* An answer with this xid came. ANSWER_FIRST: *call is a copy of the call, which is forgotten. */
enum calls_answer calls_answered(struct calls *c, uint32_t xid, uint64_t now, struct call *call);

/* How long the next call of a class would wait. */
uint64_t calls_rto(const struct calls *c, enum rpc_class class);

/* When calls_next() is to be asked again if nothing comes; UINT64_MAX: no matter. */
uint64_t calls_due(const struct calls *c);

#endif
