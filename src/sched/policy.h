/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Disk scheduling policies behind one ops table, changed while requests are queued. */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "sched/queue.h"

struct sched_policy {
	const char *name;
	const char *summary;
	/* R was queued. */
	void (*add)(struct sched_queue *q, struct sched_req *r);
	/* R leaves the queue: absorbed by a chunk, merged, or past Max_Wait. */
	void (*remove)(struct sched_queue *q, struct sched_req *r);
	/* The request to serve next, without removing it; never NULL while one is queued. */
	struct sched_req *(*pick)(struct sched_queue *q, uint64_t now);
	/*
	 * The demand read to serve next in a gap within a chunk; FIRST: the gap opens. NULL: none
	 * left. A policy without gaps leaves it NULL.
	 */
	struct sched_req *(*gap)(struct sched_queue *q, bool first);
};

extern const struct sched_policy sched_fifo, sched_elevator, sched_ncscan, sched_turns;

/* The policy of NAME, or NULL. */
const struct sched_policy *sched_policy_find(const char *name);
/* The Nth policy, NULL beyond the last: for lists of the right names. */
const struct sched_policy *sched_policy_nth(unsigned int n);

/* order.c: lists sorted by device address, shared by the policies. */
void order_insert(struct sched_list *list, struct sched_req *r);
/* The first at or after HEAD, else the first of all: one step of a one-way scan. NULL: empty. */
struct sched_req *order_scan(const struct sched_list *list, uint64_t head);

#endif
