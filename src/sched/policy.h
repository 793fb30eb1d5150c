/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Disk scheduling policies behind one ops table, changed while requests are queued. */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "sched/queue.h"

/*
 * A policy sees reads only. Its state is its own: SIZE bytes, allocated by the queue when the policy
 * is set, freed when another one is; of the queue it may look at all and change nothing.
 */
struct sched_policy {
	const char *name;
	size_t size;
	/* Nothing is queued. */
	void (*init)(void *state);
	/* R was queued. */
	void (*add)(void *state, struct sched_req *r);
	/* R leaves the queue: picked, absorbed by a chunk, merged, or past Max_Wait. */
	void (*remove)(void *state, struct sched_req *r);
	/* The request to serve next, without removing it; never NULL while one is queued. */
	struct sched_req *(*pick)(void *state, const struct sched_queue *q);
	/*
	 * The demand read to serve next in a gap within a chunk; FIRST: the gap opens. NULL: none
	 * left. A policy without gaps leaves it NULL.
	 */
	struct sched_req *(*gap)(void *state, const struct sched_queue *q, bool first);
};

/* The table of policies: a new one is a line here, and a file that defines sched_NAME. */
#define SCHED_POLICIES(POLICY)                                                                     \
	POLICY(fifo)                                                                               \
	POLICY(elevator)                                                                           \
	POLICY(ncscan)                                                                             \
	POLICY(turns)

#define POLICY(name) extern const struct sched_policy sched_##name;
SCHED_POLICIES(POLICY)
#undef POLICY

/* The policy of NAME, or NULL. */
const struct sched_policy *sched_policy_find(const char *name);
/* The Nth policy, NULL beyond the last: for lists of the right names. */
const struct sched_policy *sched_policy_nth(unsigned int n);

/* order.c: lists sorted by device address, shared by the policies. */
void order_insert(struct sched_list *list, struct sched_req *r);
/* The first at or after HEAD, else the first of all: one step of a one-way scan. NULL: empty. */
struct sched_req *order_scan(const struct sched_list *list, uint64_t head);

#endif
