/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ordered sets of requests: by device address, by file and offset, by what a stream has had.
 *
 *              (key 40)              a search tree by key that is a heap by priority, the priority
 *             /        \             being a hash of the node's address: a treap (Aragon & Seidel,
 *        (key 12)    (key 71)        1989). Its depth is about 2 ln n whatever comes in which order.
 *             \
 *          (key 30)
 *
 * The node lies in its request: nothing is allocated and nothing fails. Insert, remove and search
 * take O(log n). Among equal keys the order is that of insertion. No locking of its own.
 */
#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order;

struct order_node {
	struct order_node *child[2], *parent;
	struct order *in;   /* NULL: in none */
	uint64_t high, low; /* the key */
};

struct order {
	struct order_node *root;
	uint32_t n;
};

/* NODE is in no order. */
void order_insert(struct order *o, struct order_node *node, uint64_t high, uint64_t low);
/* NODE is in one. */
void order_remove(struct order_node *node);
/* As to remove NODE, which is in one, and to insert it again with a key that is no lower. */
void order_raise(struct order_node *node, uint64_t high, uint64_t low);
/* NULL: empty. */
struct order_node *order_first(const struct order *o);
/* The first of that key or a higher one; NULL: none. */
struct order_node *order_from(const struct order *o, uint64_t high, uint64_t low);
/* The first at or after HIGH, else the first of all: one step of a one-way scan. NULL: empty. */
struct order_node *order_scan(const struct order *o, uint64_t high);
/* NULL: NODE is the last. */
struct order_node *order_next(const struct order_node *node);

/*
 * Two of them, for an N-step scan (Ellard & Seltzer 2003, section 5.3): what comes while the present batch is served
 * belongs to the next one, so that who comes again and again keeps nobody waiting for more than one batch.
 */
struct order_batches {
	struct order of[2];
	unsigned int present;
};

static inline struct order *order_batch(struct order_batches *b)
{
	return &b->of[b->present];
}

/* NODE belongs to the next batch. */
static inline void order_batch_insert(struct order_batches *b, struct order_node *node,
				      uint64_t high, uint64_t low)
{
	order_insert(&b->of[!b->present], node, high, low);
}

/* Where the present batch has been served, what has come since is it. */
static inline void order_batch_freeze(struct order_batches *b)
{
	if (!order_batch(b)->n)
		b->present = !b->present;
}

#endif
