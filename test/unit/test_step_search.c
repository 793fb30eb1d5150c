/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which length of requests is found, above made-up clusters. */
#include "sched/step_search.h"

#include "support.h"

#define STEP (512 * KIB)

static struct step_search s;
static uint64_t seed;

static int setup(void **state)
{
	s = (struct step_search){.used = 0};
	seed = 1;
	return 0;
}

/* ns that LEN bytes take. */
static uint64_t one_disk(uint64_t len)
{
	uint64_t steps = len / STEP;

	/* what goes through the network is not read meanwhile, and is the more the longer it is */
	return len * 17 / 2 + steps * steps * 150000;
}

/* 2 ms in the mean, 400 MB/s. */
static uint64_t latency(uint64_t len)
{
	return random_below(&seed, 4000000) + len * 5 / 2;
}

/* The processor's time, which is the same a byte, and next to nothing a request. */
static uint64_t processor(uint64_t len)
{
	return 100000 + len * 3;
}

/* REQUESTS of chunks of CHUNK bytes; returns their mean length, in steps. */
static double run(uint64_t (*took)(uint64_t), unsigned int requests, uint64_t chunk)
{
	uint64_t sum = 0, left = 0;

	for (unsigned int i = 0; i < requests; i++) {
		bool first = left == 0;
		uint32_t steps = step_search_next(&s, STEP_MAX);
		uint64_t len = steps * STEP;

		left = first ? chunk : left;
		if (len <= left && !first)
			step_search_came(&s, steps, len, took(len));
		len = len < left ? len : left;
		sum += len;
		left -= len;
	}
	return (double)sum / STEP / requests;
}

/* N small reads that go there together, each EACH ns after the one before it. */
static void small_reads(unsigned int n, uint64_t each)
{
	for (unsigned int i = 1; i <= n; i++)
		step_search_small(&s, 2 * MSEC + i * each, SEC + 2 * MSEC + i * each);
}

static void test_behind_latency_they_are_long(void **state)
{
	unsigned int found = 0, longest = 0;

	for (unsigned int i = 0; i < 100; i++) {
		setup(NULL);
		seed = i + 1;
		run(latency, 32, 16 * MIB);
		found += s.used >= 2;
		run(latency, 400, 16 * MIB);
		longest += s.used == 4;
	}
	print_message("of 100: %u longer after 32 requests, %u longest after 432\n", found,
		      longest);
	assert_true(found > 70);
	assert_true(longest > 80);
}

static void test_above_one_disk_they_are_short(void **state)
{
	assert_true(run(one_disk, 1000, 8 * MIB) < 1.03);
	assert_true(s.used <= 1);
	assert_true(s.lost >= 3); /* that is certain by now */
}

static void test_of_equals_the_short_one_stays(void **state)
{
	assert_true(run(processor, 1000, 8 * MIB) < 1.08);
	s = (struct step_search){.used = 4};
	run(processor, 5000, 8 * MIB);
	assert_int_equal(s.used, 1);
}

static void test_another_cluster_is_found_out_anew(void **state)
{
	run(latency, 400, 16 * MIB);
	assert_int_equal(s.used, 4);
	run(one_disk, 5000, 16 * MIB);
	assert_int_equal(s.used, 1);
	run(latency, 10000, 16 * MIB);
	assert_int_equal(s.used, 4);
}

/* Where no two requests of the longer kind fit into one chunk nothing is learnt, and trials become rare. */
static void test_short_chunks_have_no_trials(void **state)
{
	assert_true(run(latency, 4000, MIB) < 1.1);
	assert_true(s.used <= 1);
	assert_true(s.lost >= 3);
	setup(NULL);
	small_reads(16, MSEC / 4);
	run(latency, 4000, 2 * MIB); /* whole chunks: none goes on */
	assert_int_equal(s.used, 4);
	assert_true(s.lost >= 3);
}

static void test_never_beyond_what_is_asked(void **state)
{
	s.used = 4;
	for (unsigned int i = 0; i < 100; i++) {
		assert_in_range(step_search_next(&s, 1), 1, 1);
		step_search_came(&s, 1, STEP, MSEC);
	}
	setup(NULL);
	for (unsigned int i = 0; i < 1000; i++) {
		uint32_t steps = step_search_next(&s, 2);

		assert_in_range(steps, 1, 2);
		step_search_came(&s, steps, steps * STEP, MSEC);
	}
	assert_int_equal(s.used, 2);
}

/* So they do where no request could be judged before. */
static void test_small_reads_tell_later(void **state)
{
	for (unsigned int i = 0; i < 10 * STEP_PATIENCE; i++)
		step_search_next(&s, STEP_MAX);
	assert_true(s.lost > 0);
	small_reads(16, MSEC / 4);
	assert_int_equal(s.used, 4);
}

static void test_small_reads_tell_at_once(void **state)
{
	small_reads(16, MSEC / 4);
	assert_int_equal(step_search_next(&s, STEP_MAX), 4);
	run(latency, 400, 16 * MIB);
	assert_true(s.used >= 2);
	setup(NULL);
	small_reads(16, 8 * MSEC); /* a disk's */
	assert_int_equal(step_search_next(&s, STEP_MAX), 1);
	setup(NULL);
	small_reads(3, MSEC / 4);
	assert_int_equal(step_search_next(&s, STEP_MAX), 1); /* too few */
	setup(NULL);
	for (uint64_t i = 1; i < 100; i++)
		step_search_small(&s, 20000, SEC + i * MSEC); /* out of the client's cache */
	assert_int_equal(step_search_next(&s, STEP_MAX), 1);
}

/* The first reads came out of the cluster's memory, above one disk. */
static void test_small_reads_may_be_wrong(void **state)
{
	small_reads(16, MSEC / 4);
	run(one_disk, 200, 16 * MIB);
	assert_int_equal(s.used, 1);
	small_reads(16, MSEC / 4); /* they are not asked again */
	assert_int_equal(s.used, 1);
}

/* One in eight comes out of some memory, one in eight waits for a seek: by chance that decides now and then. */
static uint64_t disturbed_disk(uint64_t len)
{
	uint64_t chance = random_below(&seed, 8);

	return chance == 0 ? 300000 : one_disk(len) + (chance == 1 ? 8 * MSEC : 0);
}

static void test_others_seldom_decide(void **state)
{
	unsigned int longer = 0;

	for (unsigned int i = 0; i < 100; i++) {
		setup(NULL);
		seed = i + 1;
		run(disturbed_disk, 200, 16 * MIB);
		longer += s.used > 1;
	}
	print_message("of 100 above a disturbed disk: %u longer\n", longer);
	assert_true(longer < 30);
}

/* Of exports whose steps differ one has its trial at a time. */
static void test_steps_of_two_lengths(void **state)
{
	for (unsigned int i = 0; i < 400; i++) {
		uint64_t step = i % 4 < 2 ? STEP : STEP / 8;
		uint32_t steps = step_search_next(&s, STEP_MAX);

		step_search_came(&s, steps, steps * step, one_disk(steps * step));
	}
	assert_true(s.used <= 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_behind_latency_they_are_long),
		TEST(test_above_one_disk_they_are_short),
		TEST(test_of_equals_the_short_one_stays),
		TEST(test_another_cluster_is_found_out_anew),
		TEST(test_short_chunks_have_no_trials),
		TEST(test_small_reads_tell_at_once),
		TEST(test_small_reads_tell_later),
		TEST(test_small_reads_may_be_wrong),
		TEST(test_others_seldom_decide),
		TEST(test_steps_of_two_lengths),
		TEST(test_never_beyond_what_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
