/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Disk scheduling policies behind one ops table, changed while requests are queued. */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "common/container.h"
#include "sched/queue.h"

/*
 * A policy sees reads only, and keeps each in an order of its own with the node `order` of the
 * request. Its state is its own, SIZE bytes for each flow: zeros when the policy is set or the flow
 * begins, freed when another one is set or it is forgotten; it sees the reads of its flow only. Of the
 * queue it may look at all and change nothing.
 */
struct sched_policy {
	const char *name;
	size_t size;
	size_t shared;
	/* R was queued. SHARED: SHARED bytes for all flows together, zeros at first. */
	void (*add)(void *state, void *shared, struct sched_req *r);
	/* R leaves the policy: picked, absorbed by a chunk, merged, or past Max_Wait. */
	void (*remove)(void *state, struct sched_req *r);
	/* The request to serve next, without removing it; NULL only if it has none. */
	struct sched_req *(*pick)(void *state, const struct sched_queue *q);
	/*
	 * The demand read to serve next in a gap within a chunk; FIRST: the gap opens. NULL: none
	 * left. A policy without gaps leaves it NULL.
	 */
	struct sched_req *(*gap)(void *state, const struct sched_queue *q, bool first);
	/* The chunk R, which was picked, has LESS bytes fewer than were added. NULL: never mind. */
	void (*shortened)(void *state, void *shared, const struct sched_req *r, uint64_t less);
	/* A demand read was served that was not added, for nothing else was there. NULL: never mind. */
	void (*passed)(void *state);
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

/* The policy of NAME, in which capitals do not matter, or NULL. */
const struct sched_policy *sched_policy_find(const char *name);
/* The Nth policy, NULL beyond the last: for lists of the right names. */
const struct sched_policy *sched_policy_nth(unsigned int n);

/* For a policy's files. The request of a node in a policy's order, of NULL NULL. */
static inline struct sched_req *ordered_req(struct order_node *node)
{
	return node ? CONTAINER_OF(node, struct sched_req, order) : NULL;
}

/* A `remove` that only takes R out of its order. */
static inline void policy_remove(void *state, struct sched_req *r)
{
	order_remove(&r->order);
}

#endif
