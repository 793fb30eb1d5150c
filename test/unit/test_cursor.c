/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pool of cursors shared by all files: matching, order, recycling, who may take from whom. */
#include "readahead/heur_table.h"
#include "support.h"

#define NEAR (64 * KIB)

struct fixture {
	struct cursor_pool pool;
	struct heur_table table;
	uint64_t now, retired;
};

static void count_retired(void *arg, struct cursor *c)
{
	struct fixture *f = arg;

	f->retired++;
}

static struct fixture *make_bounded(uint32_t cursors, uint32_t per_file)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(cursor_pool_init(&f->pool, cursors, per_file, count_retired, f), 0);
	assert_int_equal(heur_table_init(&f->table, 1024, 0, &f->pool), 0);
	return f;
}

static struct fixture *make(uint32_t cursors)
{
	return make_bounded(cursors, cursors);
}

static void destroy(struct fixture *f)
{
	heur_table_fini(&f->table);
	cursor_pool_fini(&f->pool);
	free(f);
}

static struct heur_file *get(struct fixture *f, uint64_t key)
{
	struct heur_file *file = heur_file_get(&f->table, &key, sizeof(key), true);

	assert_non_null(file);
	return file;
}

/* A read as the engine's: goes on with the cursor that matches, or makes one; returns its count. */
static uint32_t touch(struct fixture *f, uint64_t key, uint64_t offset, uint64_t len)
{
	struct heur_file *file = get(f, key);
	struct cursor *c = cursor_set_match(&file->set, offset, NEAR);
	uint32_t count;

	f->now++;
	if (c) {
		cursor_set_use(&file->set, c, c->count + 1, f->now);
	} else {
		c = cursor_new(&f->pool, file, offset, f->now);
		assert_non_null(c);
	}
	cursor_set_move(&file->set, c, offset + len);
	count = c->count;
	heur_file_put(file);
	return count;
}

/* The count of the cursor of KEY that expects OFFSET; 0 where there is none. */
static uint32_t count_at(struct fixture *f, uint64_t key, uint64_t offset)
{
	struct heur_file *file = get(f, key);
	struct cursor *c = cursor_set_match(&file->set, offset, 0);
	uint32_t count = c ? c->count : 0;

	heur_file_put(file);
	return count;
}

static void test_match_prefers_exact_then_nearest(void **state)
{
	struct fixture *f = make(16);
	struct heur_file *file = get(f, 1);
	struct cursor *at[4];

	for (int i = 0; i < 4; i++)
		at[i] = cursor_new(&f->pool, file, (uint64_t)(i + 1) * 40 * KIB, 1);
	assert_ptr_equal(cursor_set_match(&file->set, 80 * KIB, NEAR), at[1]);
	assert_ptr_equal(cursor_set_match(&file->set, 81 * KIB, NEAR), at[1]);
	assert_ptr_equal(cursor_set_match(&file->set, 79 * KIB, NEAR), at[1]);
	assert_ptr_equal(cursor_set_match(&file->set, 119 * KIB, NEAR), at[2]);
	assert_ptr_equal(cursor_set_match(&file->set, 0, NEAR), at[0]);
	assert_ptr_equal(cursor_set_match(&file->set, 160 * KIB + NEAR, NEAR), at[3]);
	assert_null(cursor_set_match(&file->set, 160 * KIB + NEAR + 1, NEAR));
	at[3]->ra_end = 10 * MIB; /* asked for already, however far */
	assert_ptr_equal(cursor_set_match(&file->set, 10 * MIB - 1, NEAR), at[3]);
	assert_null(cursor_set_match(&file->set, 10 * MIB, NEAR));
	heur_file_put(file);
	destroy(f);
}

static void test_match_in_an_empty_set(void **state)
{
	struct cursor_set set;

	cursor_set_init(&set);
	assert_null(cursor_set_match(&set, 0, UINT64_MAX));
}

/* Depth of the tree at C; asserts its order and that of the priorities. */
static uint32_t check_tree(const struct cursor *c)
{
	uint32_t left, right;

	if (!c)
		return 0;
	left = check_tree(c->left);
	right = check_tree(c->right);
	assert_true(!c->left || (c->left->next <= c->next && c->left->priority <= c->priority));
	assert_true(!c->right || (c->right->next >= c->next && c->right->priority <= c->priority));
	return 1 + (left > right ? left : right);
}

/* Tree and lists hold the same cursors, each in its order. Returns the tree's depth. */
static uint32_t check_set(const struct cursor_set *set)
{
	uint32_t n = 0, n_unproven = 0, by_age = 0;
	const struct cursor *c, *last = NULL;

	TAILQ_FOREACH(c, &set->order, order) {
		assert_true(!last || last->next <= c->next);
		n_unproven += c->count < CURSOR_PROVEN;
		last = c;
		n++;
	}
	TAILQ_FOREACH(c, &set->unproven, age)
		by_age++;
	assert_int_equal(by_age, n_unproven);
	TAILQ_FOREACH(c, &set->proven, age)
		by_age++;
	assert_int_equal(n, set->n);
	assert_int_equal(by_age, set->n);
	assert_int_equal(n_unproven, set->n_unproven);
	return check_tree(set->root);
}

/* Some cursor of the set: one near a random place. */
static struct cursor *any_of(const struct cursor_set *set, uint64_t *seed)
{
	struct cursor *c = NULL;

	while (!c)
		c = cursor_set_match(set, random_below(seed, 110), 100);
	return c;
}

static void test_order_stays_sorted(void **state)
{
	struct fixture *f = make(64);
	struct heur_file *file = get(f, 1);
	uint64_t seed = 3;

	for (int i = 0; i < 20000; i++) {
		uint64_t to = random_below(&seed, 100); /* many expect the same offset */

		if (file->set.n < 64 || random_below(&seed, 8) == 0)
			assert_non_null(cursor_new(&f->pool, file, to, (uint64_t)i));
		else
			cursor_set_move(&file->set, any_of(&file->set, &seed), to);
		if (i % 64 == 0)
			check_set(&file->set);
	}
	check_set(&file->set);
	assert_int_equal(file->set.n, 64);
	heur_file_put(file);
	destroy(f);
}

/* What an insertion or a search looks at is the depth: small whatever the order of the offsets. */
static void test_the_tree_is_shallow(void **state)
{
	static const char *const orders[] = {"rising", "falling", "all the same", "random"};
	enum { N = 131072 };

	for (int order = 0; order < 4; order++) {
		struct fixture *f = make(N);
		struct heur_file *file = get(f, 1);
		uint64_t seed = 9;
		uint32_t depth;

		for (uint64_t i = 0; i < N; i++) {
			uint64_t at[] = {i, N - i, 7, random_next(&seed) >> 1};

			assert_non_null(cursor_new(&f->pool, file, at[order] * MIB, i));
		}
		depth = check_set(&file->set);
		if (depth > 64)
			fail_msg("%s: %u", orders[order], depth);
		heur_file_put(file);
		destroy(f);
	}
}

static void test_one_file_may_have_two_thousand(void **state)
{
	struct fixture *f = make(2000);

	for (uint64_t i = 0; i < 10; i++)
		for (uint64_t run = 0; run < 2000; run++)
			assert_int_equal(touch(f, 1, run * MIB + i * 8 * KIB, 8 * KIB), i + 1);
	assert_int_equal(f->pool.made, 2000);
	assert_int_equal(f->pool.recycled, 0);
	destroy(f);
}

static void test_the_least_recently_used_goes_first(void **state)
{
	struct fixture *f = make(4);

	for (uint64_t i = 0; i < 4; i++) /* proven, one after the other, each a file of its own */
		for (uint64_t n = 0; n < 3; n++)
			touch(f, i, n * KIB, KIB);
	touch(f, 0, 3 * KIB, KIB); /* used since: file 1 is the oldest now */
	for (uint64_t n = 0; n < 3; n++)
		touch(f, 10, n * KIB, KIB);
	assert_int_equal(count_at(f, 1, 3 * KIB), 0);
	assert_int_equal(count_at(f, 0, 4 * KIB), 4);
	assert_int_equal(count_at(f, 2, 3 * KIB), 3);
	for (uint64_t n = 0; n < 3; n++)
		touch(f, 11, n * KIB, KIB);
	assert_int_equal(count_at(f, 2, 3 * KIB), 0);
	assert_int_equal(count_at(f, 0, 4 * KIB), 4);
	assert_int_equal(f->retired, 2);
	assert_int_equal(f->pool.recycled, 2);
	destroy(f);
}

static void test_a_random_scanner_takes_no_proven_cursors(void **state)
{
	struct fixture *f = make(256);
	uint64_t seed = 1;

	for (uint64_t n = 0; n < 4; n++)
		for (uint64_t run = 0; run < 200; run++)
			touch(f, 1, run * MIB + n * 8 * KIB, 8 * KIB);
	for (int i = 0; i < 100000; i++)
		touch(f, 2, random_below(&seed, 1ull << 30) * MIB, 8 * KIB);
	for (uint64_t run = 0; run < 200; run++)
		assert_int_equal(count_at(f, 1, run * MIB + 32 * KIB), 4);
	destroy(f);
}

/* Even when nothing is free and nothing on probation, the scanner makes do with a few. */
static void test_a_scanner_that_comes_late_takes_next_to_none(void **state)
{
	struct fixture *f = make(256);
	uint64_t seed = 1, left = 0;

	for (uint64_t n = 0; n < 4; n++)
		for (uint64_t run = 0; run < 256; run++)
			touch(f, 1, run * MIB + n * 8 * KIB, 8 * KIB);
	for (int i = 0; i < 100000; i++)
		touch(f, 2, random_below(&seed, 1ull << 30) * MIB, 8 * KIB);
	for (uint64_t run = 0; run < 256; run++)
		left += count_at(f, 1, run * MIB + 32 * KIB) == 4;
	assert_in_range(left, 253, 256);
	destroy(f);
}

/* Scanners of many files: together they may have a quarter of the pool, of the idle ones. */
static void test_many_scanners_take_a_quarter_at_most(void **state)
{
	struct fixture *f = make(256);
	uint64_t seed = 1, left = 0;

	for (uint64_t n = 0; n < 4; n++)
		for (uint64_t run = 0; run < 256; run++)
			touch(f, 1, run * MIB + n * 8 * KIB, 8 * KIB);
	for (int i = 0; i < 100000; i++)
		touch(f, 2 + random_below(&seed, 50), random_below(&seed, 1ull << 30) * MIB,
		      8 * KIB);
	for (uint64_t run = 0; run < 256; run++)
		left += count_at(f, 1, run * MIB + 32 * KIB) == 4;
	assert_in_range(left, 256 - 256 / 4 - 1, 256);
	destroy(f);
}

/* A file that has as many as it may makes do with them, its unproven ones first. */
static void test_a_file_has_no_more_than_its_bound(void **state)
{
	struct fixture *f = make_bounded(256, 16);
	struct heur_file *file;
	uint64_t seed = 4;

	for (uint64_t n = 0; n < 3; n++)
		for (uint64_t run = 0; run < 8; run++)
			touch(f, 1, run * MIB + n * 8 * KIB, 8 * KIB);
	for (int i = 0; i < 1000; i++)
		touch(f, 1, (100 + random_below(&seed, 1ull << 30)) * MIB, 8 * KIB);
	file = get(f, 1);
	assert_int_equal(file->set.n, 16);
	check_set(&file->set);
	heur_file_put(file);
	for (uint64_t run = 0; run < 8; run++)
		assert_int_equal(count_at(f, 1, run * MIB + 24 * KIB), 3);
	for (uint64_t n = 0; n < 2; n++) /* all proven: the least recently used goes */
		for (uint64_t run = 0; run < 17; run++)
			touch(f, 2, run * MIB + n * 8 * KIB, 8 * KIB);
	assert_int_equal(count_at(f, 2, 0 * MIB + 16 * KIB), 0);
	assert_int_equal(f->pool.n_probation + f->pool.n_proven, 32);
	destroy(f);
}

static void test_references_do_not_survive_recycling(void **state)
{
	struct fixture *f = make(1);
	struct heur_file *file = get(f, 1);
	struct cursor_ref ref, none = {0};
	struct cursor *c = cursor_new(&f->pool, file, 0, 1);

	ref = heur_cursor_ref(&f->table, c);
	heur_file_put(file);
	assert_null(heur_cursor_get(&f->table, none)); /* an empty reference is nobody's */
	assert_ptr_equal(heur_cursor_get(&f->table, ref), c);
	heur_file_put(c->file);

	file = get(f, 2);
	assert_ptr_equal(cursor_new(&f->pool, file, 5, 2), c);
	heur_file_put(file);
	assert_null(heur_cursor_get(&f->table, ref));
	ref = heur_cursor_ref(&f->table, c);
	heur_table_forget(&f->table, &(uint64_t){2}, sizeof(uint64_t));
	assert_null(heur_cursor_get(&f->table, ref));
	assert_int_equal(f->retired, 2);
	destroy(f);
}

static uint32_t length(const struct cursor_list *list)
{
	const struct cursor *c;
	uint32_t n = 0;

	TAILQ_FOREACH(c, list, link)
		n++;
	return n;
}

static void test_no_cursor_is_lost(void **state)
{
	struct fixture *f = make(100);
	uint64_t seed = 5, used = 0;

	for (int i = 0; i < 50000; i++) {
		uint64_t key = random_below(&seed, 20);

		if (random_below(&seed, 50) == 0)
			heur_table_forget(&f->table, &key, sizeof(key));
		else
			touch(f, key, random_below(&seed, 20) * 40 * KIB, 8 * KIB);
	}
	for (uint64_t key = 0; key < 20; key++) {
		struct heur_file *file = get(f, key);

		check_set(&file->set);
		used += file->set.n;
		heur_file_put(file);
	}
	assert_int_equal(length(&f->pool.probation), f->pool.n_probation);
	assert_int_equal(length(&f->pool.proven), f->pool.n_proven);
	assert_int_equal(used, f->pool.n_probation + f->pool.n_proven);
	assert_int_equal(used + length(&f->pool.free), 100);
	destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match_prefers_exact_then_nearest),
		cmocka_unit_test(test_match_in_an_empty_set),
		cmocka_unit_test(test_order_stays_sorted),
		cmocka_unit_test(test_the_tree_is_shallow),
		cmocka_unit_test(test_one_file_may_have_two_thousand),
		cmocka_unit_test(test_the_least_recently_used_goes_first),
		cmocka_unit_test(test_a_random_scanner_takes_no_proven_cursors),
		cmocka_unit_test(test_a_scanner_that_comes_late_takes_next_to_none),
		cmocka_unit_test(test_many_scanners_take_a_quarter_at_most),
		cmocka_unit_test(test_a_file_has_no_more_than_its_bound),
		cmocka_unit_test(test_references_do_not_survive_recycling),
		cmocka_unit_test(test_no_cursor_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
