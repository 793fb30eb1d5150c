/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The treap against a plain array: whatever is inserted and removed, in whatever order. */
#include "common/container.h"
#include "sched/order.h"
#include "support.h"

#define NODES 300
#define STEPS 20000
#define KEYS  50 /* so few that many are equal */

struct entry {
	struct order_node node;
	uint64_t high, low, turn; /* its key, and when it was inserted */
};

static struct entry entries[NODES];
static struct order set;

/* Whether A comes before B. */
static bool before(const struct entry *a, const struct entry *b)
{
	if (a->high != b->high)
		return a->high < b->high;
	return a->low != b->low ? a->low < b->low : a->turn < b->turn;
}

/* The first of those in the set whose key is KEY or more, and that comes after AFTER. */
static struct entry *oracle(uint64_t high, uint64_t low, const struct entry *after)
{
	struct entry *best = NULL;

	for (int i = 0; i < NODES; i++) {
		struct entry *e = &entries[i];

		if (e->node.in && (e->high > high || (e->high == high && e->low >= low)) &&
		    (!after || before(after, e)) && (!best || before(e, best)))
			best = e;
	}
	return best;
}

static struct entry *entry_of(struct order_node *node)
{
	return node ? CONTAINER_OF(node, struct entry, node) : NULL;
}

static void check_searches(uint64_t *seed)
{
	uint64_t high = random_below(seed, KEYS), low = random_below(seed, 2);
	struct entry *first = oracle(0, 0, NULL), *from = oracle(high, low, NULL);
	struct entry *scan = oracle(high, 0, NULL);

	assert_ptr_equal(entry_of(order_first(&set)), first);
	assert_ptr_equal(entry_of(order_from(&set, high, low)), from);
	assert_ptr_equal(entry_of(order_scan(&set, high)), scan ? scan : first);
	if (from)
		assert_ptr_equal(entry_of(order_next(&from->node)), oracle(0, 0, from));
}

static void test_as_an_array_would(void **state)
{
	uint64_t seed = 7, turn = 0;
	uint32_t n = 0;

	for (int i = 0; i < STEPS; i++) {
		struct entry *e = &entries[random_below(&seed, NODES)];

		if (e->node.in) {
			order_remove(&e->node);
			n--;
		} else {
			e->high = random_below(&seed, KEYS);
			e->low = random_below(&seed, 2);
			e->turn = ++turn;
			order_insert(&set, &e->node, e->high, e->low);
			n++;
		}
		assert_int_equal(set.n, n);
		if (i % 8 == 0)
			check_searches(&seed);
	}
}

/* A key that is no lower, as if it were inserted anew. */
static void test_raised_as_if_inserted(void **state)
{
	uint64_t seed = 11, turn = 0;

	for (int i = 0; i < NODES; i++)
		if (entries[i].node.in)
			order_remove(&entries[i].node);
	for (int i = 0; i < STEPS; i++) {
		struct entry *e = &entries[random_below(&seed, NODES)];
		bool there = e->node.in && e->high < KEYS;
		uint64_t more = there ? random_below(&seed, 3) : 0;

		if (e->node.in && !there) {
			order_remove(&e->node);
			continue;
		}
		e->high = there ? e->high + more : random_below(&seed, KEYS);
		e->low = there && !more ? e->low : random_below(&seed, 2);
		e->turn = ++turn;
		if (there)
			order_raise(&e->node, e->high, e->low);
		else
			order_insert(&set, &e->node, e->high, e->low);
		if (i % 8 == 0)
			check_searches(&seed);
	}
}

static uint32_t depth(const struct order_node *node)
{
	uint32_t left, right;

	if (!node)
		return 0;
	left = depth(node->child[0]);
	right = depth(node->child[1]);
	return 1 + (left > right ? left : right);
}

/* In order, against it, all equal: none makes a list of it. */
static void test_stays_flat(void **state)
{
	static struct order_node nodes[4096];

	for (int how = 0; how < 3; how++) {
		struct order o = {0};

		for (uint64_t i = 0; i < 4096; i++) {
			nodes[i] = (struct order_node){0};
			order_insert(&o, &nodes[i], how == 0 ? i : how == 1 ? 4096 - i : 5, 0);
		}
		assert_in_range(depth(o.root), 12, 60); /* 2 ln n is 17, of a path on average */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_an_array_would),
		cmocka_unit_test(test_raised_as_if_inserted),
		cmocka_unit_test(test_stays_flat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
