/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which depth is found, above made-up clusters. */
#include "sched/depth_search.h"

#include "support.h"

#define STEP (512 * KIB)
#define GIB  (1024 * MIB)

static struct depth_search s;
static uint64_t now;

static int setup(void **state)
{
	depth_search_init(&s, SEARCH_DEPTH_MAX);
	now = SEC;
	return 0;
}

/* One disk: what several ask for at once makes it seek, 75 MB/s one by one. */
static double one_disk(uint32_t depth)
{
	return 0.075 / (1 + 0.35 * (depth - 1));
}

/* 2 ms a step, and no more than 0.4 bytes a ns. */
static double latency(uint32_t depth)
{
	double rate = depth * (double)STEP / (2e6 + STEP / 0.4);

	return rate < 0.4 ? rate : 0.4;
}

/* Whoever reads asks for no more. */
static double slow_reader(uint32_t depth)
{
	return 0.01;
}

/* BYTES arrive; returns the mean depth while they did. */
static double run(double (*rate)(uint32_t), uint64_t bytes)
{
	double sum = 0;

	for (uint64_t at = 0; at < bytes; at += STEP) {
		uint32_t depth = depth_search_depth(&s);

		sum += depth;
		now += (uint64_t)(STEP / rate(depth));
		depth_search_brought(&s, STEP, now);
	}
	return sum / ((double)bytes / STEP);
}

static void test_one_disk_is_given_one(void **state)
{
	assert_true(run(one_disk, 256 * MIB) < 1.2);
	assert_int_equal(s.used, 1);
	assert_true(run(one_disk, GIB) < 1.05);
	assert_int_equal(s.used, 1);
}

static void test_latency_is_given_more(void **state)
{
	run(latency, 128 * MIB);
	assert_true(s.used >= 4);
	run(latency, GIB);
	assert_true(s.used >= 4 && s.used <= 8);
}

static void test_a_slow_reader_leaves_the_lowest(void **state)
{
	s.used = 8;
	run(slow_reader, GIB);
	assert_int_equal(s.used, 1);
}

static void test_another_cluster_is_found_out_anew(void **state)
{
	run(one_disk, GIB);
	run(latency, GIB);
	assert_true(s.used >= 4);
	run(one_disk, GIB);
	assert_int_equal(s.used, 1);
}

static void test_pauses_do_not_count(void **state)
{
	for (int i = 0; i < 1000; i++) {
		now += 2 * SEARCH_GAP;
		assert_false(depth_search_brought(&s, STEP, now));
	}
}

static void test_never_beyond_the_bound(void **state)
{
	depth_search_init(&s, 4);
	run(latency, GIB);
	assert_true(s.used <= 4 && s.tried <= 4);
	depth_search_init(&s, 1);
	run(latency, GIB);
	assert_int_equal(depth_search_depth(&s), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_one_disk_is_given_one),
		TEST(test_latency_is_given_more),
		TEST(test_a_slow_reader_leaves_the_lowest),
		TEST(test_another_cluster_is_found_out_anew),
		TEST(test_pauses_do_not_count),
		TEST(test_never_beyond_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
