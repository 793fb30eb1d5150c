/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The treap. See order.h.
 *
 *        p              n           rotate_up(n): n goes above its parent p; the order of the keys
 *       / \            / \          a < n < b < p < c stays
 *      n   c   --->   a   p
 *     / \                / \
 *    a   b              b   c
 */
#include "sched/order.h"

#include <assert.h>

/* A hash of the address: as good as a random number, and always the same. */
static uint64_t priority(const struct order_node *node)
{
	uint64_t z = (uint64_t)(uintptr_t)node * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
	return z ^ (z >> 32);
}

static bool before(const struct order_node *a, uint64_t high, uint64_t low)
{
	return a->high < high || (a->high == high && a->low < low);
}

/* The pointer that points to NODE. */
static struct order_node **link_to(struct order_node *node)
{
	struct order_node *parent = node->parent;

	return parent ? &parent->child[parent->child[1] == node] : &node->in->root;
}

static void rotate_up(struct order_node *node)
{
	struct order_node *parent = node->parent;
	int side = parent->child[1] == node;

	*link_to(parent) = node;
	node->parent = parent->parent;
	parent->child[side] = node->child[!side];
	if (parent->child[side])
		parent->child[side]->parent = parent;
	node->child[!side] = parent;
	parent->parent = node;
}

void order_insert(struct order *o, struct order_node *node, uint64_t high, uint64_t low)
{
	struct order_node **at = &o->root, *parent = NULL;
	uint64_t mine = priority(node);

	assert(!node->in);
	while (*at) {
		parent = *at;
		/* behind those of the same key */
		at = &parent->child[parent->high < high ||
				    (parent->high == high && parent->low <= low)];
	}
	*node = (struct order_node){.parent = parent, .in = o, .high = high, .low = low};
	*at = node;
	o->n++;
	while (node->parent && priority(node->parent) < mine)
		rotate_up(node);
}

void order_remove(struct order_node *node)
{
	struct order_node *only;

	assert(node->in && node->in->n);
	while (node->child[0] && node->child[1])
		rotate_up(node->child[priority(node->child[0]) < priority(node->child[1])]);
	only = node->child[node->child[1] != NULL];
	*link_to(node) = only;
	if (only)
		only->parent = node->parent;
	node->in->n--;
	node->in = NULL;
}

void order_raise(struct order_node *node, uint64_t high, uint64_t low)
{
	const struct order_node *next = order_next(node);
	struct order *o = node->in;

	assert(o && (node->high < high || (node->high == high && node->low <= low)));
	if (!next || next->high > high || (next->high == high && next->low > low)) {
		node->high = high;
		node->low = low;
		return;
	}
	order_remove(node);
	order_insert(o, node, high, low);
}

struct order_node *order_first(const struct order *o)
{
	struct order_node *node = o->root;

	while (node && node->child[0])
		node = node->child[0];
	return node;
}

struct order_node *order_from(const struct order *o, uint64_t high, uint64_t low)
{
	struct order_node *node = o->root, *best = NULL;

	while (node) {
		bool right = before(node, high, low);

		if (!right)
			best = node;
		node = node->child[right];
	}
	return best;
}

struct order_node *order_scan(const struct order *o, uint64_t high)
{
	struct order_node *node = order_from(o, high, 0);

	return node ? node : order_first(o);
}

struct order_node *order_next(const struct order_node *node)
{
	struct order_node *at;

	if (node->child[1]) {
		for (at = node->child[1]; at->child[0]; at = at->child[0])
			;
		return at;
	}
	for (at = node->parent; at && at->child[1] == node; at = at->parent)
		node = at;
	return at;
}
