/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Read-ahead under a price: who is curbed, who never, and how it opens again. */
#include "readahead/effectiveness.h"

#include "engine.h"
#include "readahead/engine.h"

#define READ (32 * KIB)
#define BIG  (256 * MIB)

/* Reads [from, to) in order and fetches at once what is planned; returns the bytes fetched. */
static uint64_t read_through(struct engine *e, uint64_t file, uint64_t from, uint64_t to,
			     uint64_t size)
{
	uint64_t fetched = 0;

	for (uint64_t at = from; at < to; at += READ)
		fetched += engine_fetch(e, engine_read(e, file, at, READ, size), size);
	return fetched;
}

static void silence(struct engine *e, uint64_t ns)
{
	e->now += ns;
	engine_sweep(e, e->now);
}

static void test_the_share(void **state)
{
	for (double price = 0; price <= 1; price += 1.0 / 64) {
		assert_true(effectiveness_share(price, 1) == 1);
		assert_true(effectiveness_share(price, 0.95) == 1); /* above any price */
		assert_true(price == 0 || effectiveness_share(price, 0) < 1);
		for (double e = 0; e < 1; e += 1.0 / 64) {
			double share = effectiveness_share(price, e);

			assert_true(share >= 0 && share <= 1);
			assert_true(share >= effectiveness_share(price + 1.0 / 64, e));
			assert_true(share <= effectiveness_share(price, e + 1.0 / 64));
		}
	}
	assert_true(effectiveness_share(1, 0) == 0);
	assert_true(effectiveness_share(1, 0.5) > 0.07 && effectiveness_share(1, 0.5) < 0.08);
	assert_true(effectiveness_share(0.25, 0.5) == 1);
}

static void test_effectiveness_and_its_memory(void **state)
{
	struct effectiveness e = {0};

	assert_true(effectiveness_of(&e, 1) == 1 && effectiveness_of(&e, 0.25) == 0.25);
	effectiveness_add(&e, 0, 3 * MIB);
	assert_true(effectiveness_of(&e, 1) == 0.25);
	effectiveness_take_back(&e, 3 * MIB);
	assert_true(effectiveness_of(&e, 1) == 1);
	effectiveness_take_back(&e, MIB); /* no more than there is */
	assert_true(effectiveness_of(&e, 1) == 1);
	effectiveness_add(&e, 0, UINT64_MAX);
	assert_true(effectiveness_of(&e, 1) < 0.12);
	/* whatever it did once, as much again of the contrary tells */
	for (int i = 0; i < 3; i++)
		effectiveness_add(&e, 16 * MIB, 0);
	assert_true(effectiveness_of(&e, 0) > 0.8);
	for (int i = 0; i < 1000; i++)
		effectiveness_add(&e, MIB, 0);
	assert_true(effectiveness_of(&e, 0) > 0.88);
}

/* What is fully read loses nothing at any price: the very same plans. */
static void test_streams_lose_nothing(void **state)
{
	struct engine *dear = engine_default("cursor"), *free_ = engine_default("cursor");

	dear->price = 1;
	for (uint64_t at = 0; at < BIG / 8; at += READ)
		for (uint64_t s = 0; s < 8; s++) {
			uint64_t offset = s * (BIG / 8) + at; /* a stride of 8 */
			struct readahead_plan a = engine_read(dear, 1, offset, READ, BIG);
			struct readahead_plan b = engine_read(free_, 1, offset, READ, BIG);

			assert_true(a.offset == b.offset && a.len == b.len);
			assert_int_equal(engine_fetch(dear, a, BIG), engine_fetch(free_, b, BIG));
		}
	for (uint64_t file = 10; file < 200; file++)
		assert_int_equal(read_through(dear, file, 0, 8 * MIB, 8 * MIB), 8 * MIB);
	assert_int_equal(engine_counted(dear, READAHEAD_CURBED), 0);
	engine_check_account(dear);
	engine_free(dear);
	engine_free(free_);
}

/* Runs of 12 reads at random places of one file; the reader then thinks. Returns what was fetched. */
static uint64_t bursts(struct engine *e, uint64_t file, int n, uint64_t *seed)
{
	uint64_t fetched = 0;

	for (int i = 0; i < n; i++) {
		uint64_t at = random_below(seed, BIG / MIB - 1) * MIB;

		fetched += read_through(e, file, at, at + 12 * READ, BIG);
		silence(e, 11 * SEC);
	}
	return fetched;
}

static void test_a_file_that_wastes_is_curbed_and_others_are_not(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t seed = 1, cheap, dear, curbed;

	cheap = bursts(e, 1, 20, &seed);
	assert_int_equal(engine_counted(e, READAHEAD_CURBED), 0);
	e->price = 1;
	dear = bursts(e, 1, 20, &seed);
	assert_true(dear <= cheap / 2);
	curbed = engine_counted(e, READAHEAD_CURBED);
	assert_true(curbed >= 20);
	assert_true(read_through(e, 2, 0, BIG, BIG) == BIG); /* a stream beside it */
	e->tuning.priced = false;
	assert_true(bursts(e, 1, 20, &seed) > dear);
	engine_check_account(e);
	engine_free(e);
}

/* The price falls: the next plan is as large as if it had never been high. */
static void test_it_opens_again_at_once(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t seed = 1;

	bursts(e, 1, 4, &seed);
	e->price = 1;
	assert_int_equal(bursts(e, 1, 1, &seed), 0);
	e->price = 0.9;
	assert_true(bursts(e, 1, 4, &seed) < 4 * MIB);
	e->price = 0.001;
	assert_true(bursts(e, 1, 1, &seed) > 0);
	engine_free(e);
}

/* Read-ahead was withheld; the reader goes on in order all the same: it was wrong to. */
static void test_a_file_that_has_changed_is_found_out(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t seed = 1, fetched;

	bursts(e, 1, 20, &seed);
	e->price = 1;
	fetched = read_through(e, 1, 0, BIG, BIG);
	assert_true(fetched > BIG / 2);
	engine_check_account(e);
	engine_free(e);
}

/*
 * Many files of which the beginning only is read, as by a program that shows previews: none lives long
 * enough to be known itself, and the example of the others tells. A file that is read whole proves
 * itself within a small part of it.
 */
static void test_newcomers_are_judged_by_example(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t cheap = 0, dear = 0, fetched;

	for (uint64_t file = 100; file < 140; file++)
		cheap += read_through(e, file, 0, 8 * READ, BIG);
	silence(e, 2 * SEC); /* doubt is enough */
	e->price = 1;
	for (uint64_t file = 200; file < 240; file++) {
		dear += read_through(e, file, 0, 8 * READ, BIG);
		silence(e, 2 * SEC);
	}
	assert_true(dear < cheap / 10);
	fetched = read_through(e, 1, 0, BIG, BIG);
	assert_true(fetched > BIG / 10 * 9);
	engine_check_account(e);
	engine_free(e);
}

/* A reader who pauses and goes on takes the doubt back. */
static void test_a_pause_is_no_waste(void **state)
{
	struct engine *e = engine_default("cursor");

	e->price = 1;
	for (uint64_t at = 0; at < BIG; at += 4 * MIB) {
		read_through(e, 1, at, at + 4 * MIB, BIG);
		silence(e, 5 * SEC);
	}
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	assert_int_equal(engine_counted(e, READAHEAD_CURBED), 0);
	engine_check_account(e);
	engine_free(e);
}

/* ... also where memory is so short that what was fetched was given up meanwhile: new files are not judged by that. */
static void test_a_pause_is_no_example_where_memory_is_short(void **state)
{
	struct engine *e = engine_make("cursor", 1024, 1024, 32 * MIB);
	struct effectiveness all;

	for (uint64_t file = 1; file <= 8; file++)
		read_through(e, file, 0, 8 * READ, BIG);
	silence(e, 2 * SEC);
	readahead_collect(e->ra, 0, &e->counters);
	assert_true(engine_counted(e, READAHEAD_WASTED) >= 16 * MIB);
	all = atomic_load(&e->ra->newcomers);
	assert_true(all.wasted >= 2 * MIB);
	for (uint64_t file = 1; file <= 8; file++)
		read_through(e, file, 8 * READ, 10 * READ, BIG);
	all = atomic_load(&e->ra->newcomers);
	assert_int_equal(all.wasted, 0);
	engine_check_account(e);
	engine_free(e);
}

/* Who pauses for longer than Cursor_Idle gives up the memory; what was there for him he reads all the same. */
static void test_long_pauses_are_no_waste(void **state)
{
	struct engine *e = engine_default("cursor");
	struct effectiveness all;
	uint64_t fetched = 0;

	for (uint64_t at = 0; at < 32 * MIB; at += 2 * MIB) {
		fetched += read_through(e, 1, at, at + 2 * MIB, BIG);
		for (int i = 0; i < 11; i++)
			silence(e, SEC);
	}
	assert_true(fetched >= 32 * MIB);
	assert_true(engine_counted(e, READAHEAD_WASTED) > 0);
	e->price = 0.3;
	fetched = read_through(e, 1, 32 * MIB, 64 * MIB, BIG);
	assert_true(fetched >= 24 * MIB);
	assert_int_equal(engine_counted(e, READAHEAD_CURBED), 0);
	all = atomic_load(&e->ra->newcomers);
	assert_int_equal(all.wasted, 0);
	engine_check_account(e);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_share),
		cmocka_unit_test(test_effectiveness_and_its_memory),
		cmocka_unit_test(test_streams_lose_nothing),
		cmocka_unit_test(test_a_file_that_wastes_is_curbed_and_others_are_not),
		cmocka_unit_test(test_it_opens_again_at_once),
		cmocka_unit_test(test_a_file_that_has_changed_is_found_out),
		cmocka_unit_test(test_newcomers_are_judged_by_example),
		cmocka_unit_test(test_a_pause_is_no_waste),
		cmocka_unit_test(test_a_pause_is_no_example_where_memory_is_short),
		cmocka_unit_test(test_long_pauses_are_no_waste),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
