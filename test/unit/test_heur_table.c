/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The nfsheur table: bounded, ejects by second chance and only when full, safe for many threads. */
#include <pthread.h>

#include "engine.h"
#include "readahead/heur_table.h"

struct fixture {
	struct cursor_pool pool;
	struct heur_table table;
};

static struct fixture *make_probed(uint32_t size, uint32_t probes)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(cursor_pool_init(&f->pool, 64, 64, NULL, NULL), 0);
	assert_int_equal(heur_table_init(&f->table, size, probes, &f->pool), 0);
	return f;
}

static struct fixture *make(uint32_t size)
{
	return make_probed(size, 0);
}

static void destroy(struct fixture *f)
{
	heur_table_fini(&f->table);
	cursor_pool_fini(&f->pool);
	free(f);
}

static bool has(struct fixture *f, uint64_t key)
{
	struct heur_file *file = heur_file_get(&f->table, &key, sizeof(key), false);

	if (file)
		heur_file_put(file);
	return file;
}

static void use(struct fixture *f, uint64_t key)
{
	struct heur_file *file = heur_file_get(&f->table, &key, sizeof(key), true);

	assert_non_null(file);
	assert_int_equal(file->key_len, sizeof(key));
	assert_memory_equal(file->key, &key, sizeof(key));
	heur_file_put(file);
}

static void test_nothing_is_ejected_before_it_is_full(void **state)
{
	struct fixture *f = make(1000);

	for (int turn = 0; turn < 3; turn++)
		for (uint64_t key = 0; key < 1000; key++)
			use(f, key);
	assert_int_equal(f->table.entries, 1000);
	assert_int_equal(f->table.evictions, 0);
	for (uint64_t key = 0; key < 1000; key++)
		assert_true(has(f, key));
	assert_false(has(f, 1000));
	destroy(f);
}

static void test_keys_of_any_length(void **state)
{
	struct fixture *f = make(600);
	uint8_t key[300];

	memset(key, 7, sizeof(key));
	for (size_t len = 1; len <= sizeof(key); len++) { /* prefixes of each other: all differ */
		struct heur_file *file = heur_file_get(&f->table, key, len, true);

		assert_non_null(file);
		assert_int_equal(file->key_len, len);
		heur_file_put(file);
	}
	assert_int_equal(f->table.entries, sizeof(key));
	destroy(f);
}

static void test_second_chance(void **state)
{
	struct fixture *f = make(4);

	for (uint64_t key = 0; key < 4; key++)
		use(f, key);
	use(f, 4); /* all were used: one turn forgets that, and 0 goes */
	assert_false(has(f, 0));
	use(f, 1); /* 1 is used again, 2 and 3 are not */
	use(f, 5);
	assert_true(has(f, 1));
	assert_false(has(f, 2));
	assert_true(has(f, 3));
	assert_true(has(f, 4));
	assert_int_equal(f->table.entries, 4);
	assert_int_equal(f->table.evictions, 2);
	destroy(f);
}

static void test_forget_keeps_the_clock_whole(void **state)
{
	struct fixture *f = make(50);
	uint64_t seed = 9;

	for (int i = 0; i < 20000; i++) {
		uint64_t key = random_below(&seed, 80);

		if (random_below(&seed, 3))
			use(f, key);
		else
			heur_table_forget(&f->table, &key, sizeof(key));
		assert_true(f->table.entries == f->table.used && f->table.used <= 50);
		assert_true(f->table.hand < 50);
	}
	for (uint32_t i = 0; i < f->table.used; i++)
		assert_int_equal(f->table.place[i]->slot, i);
	destroy(f);
}

static void test_a_table_of_one(void **state)
{
	struct fixture *f = make(1);

	for (uint64_t key = 0; key < 100; key++) {
		use(f, key);
		assert_true(has(f, key));
	}
	assert_int_equal(f->table.entries, 1);
	assert_int_equal(f->table.evictions, 99);
	destroy(f);
}

/* Section 6.3: "the least recently used file handle from among those probed is ejected". */
static void test_probes_all_over_the_table_are_lru(void **state)
{
	struct fixture *f = make_probed(4, 4);

	for (uint64_t key = 0; key < 4; key++)
		use(f, key);
	assert_int_equal(f->table.entries, 4);
	use(f, 0);
	use(f, 2);
	use(f, 4); /* 1 was used first, then 3, 0, 2 */
	assert_false(has(f, 1));
	use(f, 5);
	assert_false(has(f, 3));
	use(f, 0);
	use(f, 6);
	assert_false(has(f, 2));
	assert_true(has(f, 0) && has(f, 4) && has(f, 5) && has(f, 6));
	assert_int_equal(f->table.entries, 4);
	assert_int_equal(f->table.evictions, 3);
	destroy(f);
}

/* "Entries can be ejected from the table even when it is less than full." */
static void test_few_probes_eject_before_it_is_full(void **state)
{
	struct fixture *one = make_probed(64, 1), *four = make_probed(64, 4), *all = make(64);

	for (uint64_t key = 0; key < 64; key++) {
		use(one, key);
		use(four, key);
		use(all, key);
	}
	assert_true(one->table.evictions > 10 && one->table.entries < 54);
	assert_true(four->table.evictions > 0 && four->table.evictions < one->table.evictions);
	assert_int_equal(all->table.evictions, 0);
	assert_int_equal(one->table.entries + one->table.evictions, 64);
	assert_int_equal(four->table.entries + four->table.evictions, 64);
	destroy(one);
	destroy(four);
	destroy(all);
}

/* Section 6.3: "in the worst case a small number of active files can thrash nfsheur". */
static void test_two_files_can_thrash_a_large_table(void **state)
{
	struct fixture *f = make_probed(64, 1);
	uint64_t other = 1;

	use(f, 0);
	for (; has(f, 0); other++) /* until one hashes to the same place */
		use(f, other);
	for (uint64_t before = f->table.evictions, i = 1; i <= 10; i++) {
		use(f, i % 2 ? 0 : other - 1);
		assert_int_equal(f->table.evictions, before + i);
	}
	destroy(f);
}

static void test_forget_leaves_a_hole_for_probes(void **state)
{
	struct fixture *f = make_probed(50, 5);
	uint64_t seed = 9;

	for (int i = 0; i < 20000; i++) {
		uint64_t key = random_below(&seed, 80);
		uint32_t entries = 0;

		if (random_below(&seed, 3))
			use(f, key);
		else
			heur_table_forget(&f->table, &key, sizeof(key));
		for (uint32_t slot = 0; slot < 50; slot++) {
			struct heur_file *file = f->table.place[slot];

			assert_true(!file || file->slot == slot);
			entries += file != NULL;
		}
		assert_int_equal(f->table.entries, entries);
	}
	destroy(f);
}

/* N files read in turn, one block each: do their counts ever rise? */
static uint32_t count_after_interleaving(uint32_t table_size, uint64_t files, uint64_t *evictions)
{
	struct engine *e = engine_make("default", table_size, 1024, 64 * MIB);
	struct readahead_stats s;
	uint32_t count = 0;

	for (uint64_t i = 0; i < 10; i++)
		for (uint64_t file = 0; file < files; file++)
			count = engine_read(e, file, i * 8 * KIB, 8 * KIB, 64 * MIB).count;
	readahead_stats(e->ra, &s);
	*evictions = s.evictions;
	engine_free(e);
	return count;
}

/* Section 6.3: a table too small undoes any heuristic; one large enough never does. */
static void test_a_small_table_thrashes(void **state)
{
	uint64_t evictions;

	assert_int_equal(count_after_interleaving(15, 32, &evictions), 1);
	assert_true(evictions > 300 - 15);
	assert_int_equal(count_after_interleaving(32, 32, &evictions), 10);
	assert_int_equal(evictions, 0);
	assert_int_equal(count_after_interleaving(65536, 1000, &evictions), 10);
	assert_int_equal(evictions, 0);
}

#define THREADS 4
#define ROUNDS	30000

static void *hammer(void *arg)
{
	struct fixture *f = arg;
	uint64_t seed = (uint64_t)(uintptr_t)&seed;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t key = random_below(&seed, 200);
		struct heur_file *file;

		if (i % 16 == 0) {
			heur_table_forget(&f->table, &key, sizeof(key));
			continue;
		}
		file = heur_file_get(&f->table, &key, sizeof(key), true);
		if (!file)
			continue; /* ejected each time it was looked up: allowed when thrashing */
		if (file->dead || memcmp(file->key, &key, sizeof(key)))
			abort();
		if (!file->set.n)
			cursor_new(&f->pool, file, key, (uint64_t)i);
		heur_file_put(file);
	}
	return NULL;
}

static void run_threads(struct fixture *f)
{
	pthread_t threads[THREADS];
	uint64_t used = 0;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, f), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(f->table.entries <= 100);
	for (uint32_t i = 0; i < f->table.size; i++)
		used += f->table.place[i] ? f->table.place[i]->set.n : 0;
	assert_int_equal(used, f->pool.n_probation + f->pool.n_proven);
	destroy(f);
}

static void test_threads(void **state)
{
	run_threads(make(100));
}

static void test_threads_with_probes(void **state)
{
	run_threads(make_probed(100, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_ejected_before_it_is_full),
		cmocka_unit_test(test_keys_of_any_length),
		cmocka_unit_test(test_second_chance),
		cmocka_unit_test(test_forget_keeps_the_clock_whole),
		cmocka_unit_test(test_a_table_of_one),
		cmocka_unit_test(test_a_small_table_thrashes),
		cmocka_unit_test(test_probes_all_over_the_table_are_lru),
		cmocka_unit_test(test_few_probes_eject_before_it_is_full),
		cmocka_unit_test(test_two_files_can_thrash_a_large_table),
		cmocka_unit_test(test_forget_leaves_a_hole_for_probes),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_with_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
