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
		depth_search_began(&s, depth_search_chunk(&s, 12 * MIB, 2, STEP));
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

/* The same in a crowd: windows take by turns half as long and half as long again. */
static double crowded_disk(uint32_t depth)
{
	static uint64_t brought;

	brought += STEP;
	return one_disk(depth) * (brought / SEARCH_WINDOW % 2 != 0 ? 1.5 : 0.5);
}

static void test_chance_makes_no_trial(void **state)
{
	assert_true(run(crowded_disk, 4 * GIB) < 1.05);
	assert_int_equal(s.pause, SEARCH_PAUSE_MAX);
}

static void test_trials_of_one_disk_are_rare(void **state)
{
	uint32_t trials = 0, before = 1;

	for (uint64_t at = 0; at < 256 * MIB; at += STEP) {
		run(one_disk, STEP);
		trials += depth_search_depth(&s) > before;
		before = depth_search_depth(&s);
	}
	assert_int_equal(trials, 2);
}

static void test_what_begins_in_a_trial_is_short(void **state)
{
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 2, STEP), 12 * MIB);
	while (s.coming == 0)
		run(one_disk, STEP);
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 2, STEP), SEARCH_CHUNK);
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 1, STEP), SEARCH_PIECE);
	assert_true(depth_search_began(&s, SEARCH_CHUNK));
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 2, STEP), SEARCH_CHUNK);
	assert_int_equal(depth_search_chunk(&s, MIB / 4, 2, STEP), MIB / 4);
}

static void test_a_trial_waits_for_a_short_chunk(void **state)
{
	uint64_t waited = 0;

	while (s.coming == 0)
		run(one_disk, STEP);
	assert_false(depth_search_began(&s, 12 * MIB));
	assert_int_equal(depth_search_depth(&s), 1);
	assert_true(depth_search_began(&s, SEARCH_PIECE));
	assert_int_equal(depth_search_depth(&s), 2);
	setup(NULL);
	while (s.coming == 0)
		run(one_disk, STEP);
	for (; s.tried == 0; waited += STEP) { /* none can be cut */
		now += (uint64_t)(STEP / one_disk(1));
		depth_search_brought(&s, STEP, now);
	}
	assert_in_range(waited, SEARCH_PATIENCE * SEARCH_WINDOW,
			(SEARCH_PATIENCE + 1) * SEARCH_WINDOW);
	assert_int_equal(depth_search_depth(&s), 2);
}

static void test_few_streams_are_fetched_side_by_side(void **state)
{
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 1, STEP), 12 * MIB);
	s.used = 4;
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 1, STEP), SEARCH_PIECE);
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 3, STEP), SEARCH_PIECE);
	assert_int_equal(depth_search_chunk(&s, 12 * MIB, 4, STEP), 12 * MIB);
}

/* How much came before the first trial. */
static uint64_t first_trial(void)
{
	uint64_t bytes = 0;

	for (; s.tried == 0; bytes += STEP)
		run(one_disk, STEP);
	return bytes;
}

static void test_where_seeks_are_dear_trials_wait(void **state)
{
	uint64_t early = first_trial(), late;

	setup(NULL);
	depth_search_seeks(&s, SEARCH_DEAR - 1);
	assert_int_equal(first_trial(), early);
	setup(NULL);
	depth_search_seeks(&s, SEARCH_DEAR);
	late = first_trial();
	assert_true(late > 64 * MIB && late > 3 * early);
	run(one_disk, 256 * MIB);
	assert_true(s.pause >= 32); /* lost: not soon again */
}

static void test_dear_seeks_are_found_to_be_many_disks(void **state)
{
	depth_search_seeks(&s, SEARCH_DEAR);
	run(latency, 256 * MIB);
	assert_true(s.used >= 4);
}

static void test_latency_is_given_more(void **state)
{
	run(latency, 128 * MIB);
	assert_true(s.used >= 4);
	run(latency, GIB);
	assert_true(s.used >= 4 && s.used <= 8);
}

/* Two threads read the clock, and the second one is the first to say what it brought. */
static void test_threads_that_overtake_each_other(void **state)
{
	for (uint64_t at = 0; at < 256 * MIB; at += STEP) {
		depth_search_began(&s, depth_search_chunk(&s, 12 * MIB, 2, STEP));
		now += (uint64_t)(STEP / latency(depth_search_depth(&s)));
		depth_search_brought(&s, STEP / 2, now);
		depth_search_brought(&s, STEP / 2, now - 1000);
	}
	assert_true(s.used >= 4);
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

/* Requests become longer: what was found before says nothing, and is looked for soon. */
static void test_other_requests_are_another_cluster(void **state)
{
	run(one_disk, 4 * GIB);
	assert_int_equal(s.pause, SEARCH_PAUSE_MAX);
	while (s.tried == 0)
		run(one_disk, STEP);
	assert_true(depth_search_other(&s));
	assert_int_equal(depth_search_depth(&s), 1);
	assert_false(depth_search_other(&s));
	run(latency, 128 * MIB);
	assert_true(s.used >= 4);
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
		TEST(test_chance_makes_no_trial),
		TEST(test_trials_of_one_disk_are_rare),
		TEST(test_what_begins_in_a_trial_is_short),
		TEST(test_a_trial_waits_for_a_short_chunk),
		TEST(test_few_streams_are_fetched_side_by_side),
		TEST(test_where_seeks_are_dear_trials_wait),
		TEST(test_dear_seeks_are_found_to_be_many_disks),
		TEST(test_latency_is_given_more),
		TEST(test_threads_that_overtake_each_other),
		TEST(test_a_slow_reader_leaves_the_lowest),
		TEST(test_another_cluster_is_found_out_anew),
		TEST(test_other_requests_are_another_cluster),
		TEST(test_pauses_do_not_count),
		TEST(test_never_beyond_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
