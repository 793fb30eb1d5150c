/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records one by one or together: what a drive is faster with is found, and the search costs little. */
#include "sched/access_together.h"
#include "support.h"

/* RUNS of pieces STEP apart on a drive that takes so long for one; returns how many went together. */
static unsigned int run(struct access_together *a, unsigned int runs, uint64_t step, uint64_t alone,
			uint64_t together)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < runs; i++) {
		bool now = access_together_next(a, step);

		n += now;
		access_together_observe(a, step, now, ACCESS_RUN,
					ACCESS_RUN * (now ? together : alone));
	}
	return n;
}

static void test_one_arm(void **state)
{
	struct access_together a = {0};

	/* its own order is the better: a trial in the second run, and few afterwards */
	assert_int_equal(run(&a, 2, MIB, 3 * MSEC, 8 * MSEC), 1);
	assert_in_range(run(&a, 1000, MIB, 3 * MSEC, 8 * MSEC), 1, 10);
	assert_false(a.together);
}

static void test_several_arms(void **state)
{
	struct access_together a = {0};

	assert_in_range(run(&a, 1000, MIB, 8 * MSEC, 2 * MSEC), 985, 999);
	assert_true(a.together);
	/* ... until that changes */
	assert_in_range(run(&a, 1000, MIB, 2 * MSEC, 8 * MSEC), 1, 300);
	assert_false(a.together);
}

/* One by one is slow while its order is being learnt: what won against that is soon tried again. */
static void test_a_win_by_chance(void **state)
{
	struct access_together a = {0};

	run(&a, 1, MIB, 9 * MSEC, 4 * MSEC);
	assert_in_range(run(&a, 100, MIB, 2 * MSEC, 4 * MSEC), 2, 10);
	assert_false(a.together);
}

static void test_a_little_is_no_gain(void **state)
{
	struct access_together a = {0};

	run(&a, 1000, MIB, 10 * MSEC, 9 * MSEC);
	assert_false(a.together);
}

/* Runs of other steps are not compared with each other. */
static void test_another_step(void **state)
{
	struct access_together a = {0};

	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(run(&a, 1, MIB << i % 2, MSEC << i % 2, MSEC / 8), 0);
	assert_false(a.together);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_arm),		cmocka_unit_test(test_several_arms),
		cmocka_unit_test(test_a_win_by_chance), cmocka_unit_test(test_a_little_is_no_gain),
		cmocka_unit_test(test_another_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
