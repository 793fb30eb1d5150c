/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A disk's speed, and how much of a turn a step is, by times alone. */
#include "sched/access_phase.h"

#include <math.h>

#include "support.h"

#define PERIOD_7200 8333333.0
#define PERIOD_5400 11111111.0

static struct access_phase p;

static int setup(void **state)
{
	p = (struct access_phase){.known = false};
	return 0;
}

/* ns that a disk takes to go so far, on which a step is TURN of a revolution, and whose arm needs ARM ns. */
static double disk(int distance, double turn, double period, double arm)
{
	double turns = distance * turn, ns = (turns - floor(turns)) * period;

	return ns < arm ? ns + period : ns;
}

/* It goes to and fro at random. True: it was told once at least that the pieces lie elsewhere. */
static bool run(double turn, double period, double arm, int pieces, uint64_t *seed)
{
	bool elsewhere = false;

	for (int i = 0; i < pieces; i++) {
		int distance = (int)random_below(seed, 40) - 20;

		if (distance != 0)
			elsewhere |= access_phase_observe(
				&p, distance, (uint64_t)disk(distance, turn, period, arm));
	}
	return elsewhere;
}

static void expect_all(double turn, double period, double arm)
{
	for (int distance = -10; distance <= 10; distance++) {
		double is = disk(distance, turn, period, arm), near = 0.15 * period;

		/* what hardly is reached, or hardly missed, may be either */
		if (distance == 0 || (is < arm + near || is > period + arm - near))
			continue;
		assert_true(fabs(access_phase_expect(&p, distance) - is) < near);
	}
}

static void test_a_few_pieces_tell(void **state)
{
	uint64_t seed = 3;

	assert_true(access_phase_expect(&p, 1) == 0.0);
	run(0.84, PERIOD_7200, 2e6, 8, &seed);
	assert_true(p.known);
	run(0.84, PERIOD_7200, 2e6, 60, &seed);
	expect_all(0.84, PERIOD_7200, 2e6);
}

static void test_other_speeds(void **state)
{
	uint64_t seed = 5;

	run(0.3, PERIOD_5400, 3e6, 60, &seed);
	expect_all(0.3, PERIOD_5400, 3e6);
}

static void test_another_zone(void **state)
{
	uint64_t seed = 7;

	run(0.84, PERIOD_7200, 2e6, 60, &seed);
	assert_false(run(0.84, PERIOD_7200, 2e6, 60, &seed));
	assert_true(run(0.9, PERIOD_7200, 2e6, 20, &seed));
	run(0.9, PERIOD_7200, 2e6, 40, &seed);
	expect_all(0.9, PERIOD_7200, 2e6);
}

/* What the arm cannot reach in time is known after a few misses. */
static void test_an_arm(void **state)
{
	uint64_t seed = 9;

	run(0.07, PERIOD_7200, 4e6, 200, &seed);
	assert_true(access_phase_expect(&p, 5) > PERIOD_7200); /* 2.9 ms: too soon */
	assert_true(access_phase_expect(&p, 10) < PERIOD_7200);
}

/* Of an arm that was not late yet it is not thought that it gets far at once: that would cost a turn to find out. */
static void test_an_arm_that_was_not_tried(void **state)
{
	const double turn = 3.0 / PHASE_BINS;

	for (int distance = 32; distance < 40; distance++) /* 3.1 ms and more: in time */
		assert_false(access_phase_observe(
			&p, distance, (uint64_t)disk(distance, turn, PERIOD_7200, 2e6)));
	assert_true(access_phase_expect(&p, 40) < PERIOD_7200);
	assert_true(access_phase_expect(&p, 16) > PERIOD_7200); /* 1.6 ms */
}

/* Times that say nothing of angles. */
static void test_chance_is_not_believed(void **state)
{
	uint64_t seed = 11;
	int known = 0;

	for (int i = 0; i < 2000; i++) {
		int distance = (int)random_below(&seed, 40) - 20;

		if (distance != 0)
			access_phase_observe(&p, distance, 1000000 + random_below(&seed, 20000000));
		known += p.known;
	}
	assert_true(known < 2000 / 4);
}

/* All that can come: the longest times, and distances. */
static void test_bounds(void **state)
{
	access_phase_observe(&p, PHASE_DISTANCES - 1, 0);
	access_phase_observe(&p, 1 - PHASE_DISTANCES, UINT64_C(60) * SEC);
	for (int i = 1; i < PHASE_DISTANCES; i++) {
		access_phase_observe(&p, i, 100);
		access_phase_observe(&p, -i, 100);
		assert_true(access_phase_expect(&p, i) >= 0);
		assert_true(access_phase_expect(&p, -i) < 1e9);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_a_few_pieces_tell),
		TEST(test_other_speeds),
		TEST(test_another_zone),
		TEST(test_an_arm),
		TEST(test_an_arm_that_was_not_tried),
		TEST(test_chance_is_not_believed),
		TEST(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
