/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When a file is not fetched ahead of any more. */
#include "remote/self_check.h"

#include "support.h"

#define USEC	 UINT64_C(1000)
#define EXPECTED (4 * MSEC)
#define QUICKLY	 (20 * USEC)
#define SLOWLY	 (3 * MSEC)

static struct self_check c;

static int setup(void **state)
{
	c = (struct self_check){0};
	return 0;
}

/* SLOW of CHECK_READS reads at NOW; whether one of them stopped it. */
static bool window(unsigned int slow, uint64_t now)
{
	bool stopped = false;

	for (unsigned int i = 0; i < CHECK_READS; i++)
		stopped |= self_check_read(&c, i < slow ? SLOWLY : QUICKLY, EXPECTED, now);
	return stopped;
}

static void test_most_must_be_slow(void **state)
{
	assert_false(window(CHECK_SLOW - 1, SEC));
	assert_false(self_check_stopped(&c, SEC));
	assert_true(window(CHECK_SLOW, SEC));
	assert_true(self_check_stopped(&c, SEC));
	assert_true(self_check_stopped(&c, SEC + CHECK_PAUSE_MIN - 1));
	assert_false(self_check_stopped(&c, SEC + CHECK_PAUSE_MIN));
}

static void test_nothing_is_slow_while_the_cluster_is_not_known(void **state)
{
	for (int i = 0; i < 100; i++)
		assert_false(self_check_read(&c, SEC, 0, SEC));
}

static void test_what_is_quick_is_never_slow(void **state)
{
	for (int i = 0; i < 100; i++)
		assert_false(self_check_read(&c, CHECK_QUICK, CHECK_QUICK, SEC));
}

static void test_pauses_grow_and_are_bounded(void **state)
{
	uint64_t now = SEC, pause = CHECK_PAUSE_MIN;

	for (int i = 0; i < 10; i++) {
		assert_true(window(CHECK_READS, now));
		assert_true(self_check_stopped(&c, now + pause - 1));
		assert_false(self_check_stopped(&c, now + pause));
		now += pause;
		pause = pause * 2 < CHECK_PAUSE_MAX ? pause * 2 : CHECK_PAUSE_MAX;
	}
	assert_false(window(0, now)); /* it goes well */
	assert_true(window(CHECK_READS, now) || window(CHECK_READS, now));
	assert_false(self_check_stopped(&c, now + CHECK_PAUSE_MIN));
}

static void test_how_chunks_come(void **state)
{
	assert_int_equal(self_check_expected(&c, 64 * KIB), 0);
	self_check_came(&c, CHECK_CHUNK - 1, SEC);
	assert_int_equal(self_check_expected(&c, 64 * KIB), 0);
	self_check_came(&c, 512 * KIB, 4 * MSEC);
	assert_int_equal(self_check_expected(&c, 64 * KIB), MSEC);
	assert_int_equal(self_check_expected(&c, 256 * KIB), 4 * MSEC);
	/* as long as a chunk's read, and longer: no request of theirs is a part of one's */
	assert_int_equal(self_check_expected(&c, 512 * KIB), 4 * MSEC);
	assert_int_equal(self_check_expected(&c, 1024 * KIB), 8 * MSEC);
	self_check_came(&c, 512 * KIB, 400 * USEC); /* copied */
	assert_int_equal(self_check_expected(&c, 64 * KIB), MSEC);
	for (int i = 0; i < 100; i++)
		self_check_came(&c, 512 * KIB, 8 * MSEC);
	assert_in_range(self_check_expected(&c, 64 * KIB), 1900 * USEC, 2 * MSEC);
}

/* It costs the more the longer it goes on, and there was reason for doubt. */
static void test_a_trial_is_short(void **state)
{
	uint64_t now = SEC + CHECK_PAUSE_MIN;

	assert_true(window(CHECK_READS, SEC));
	for (unsigned int i = 1; i < CHECK_TRIAL; i++)
		assert_false(self_check_read(&c, SLOWLY, EXPECTED, now));
	assert_true(self_check_read(&c, SLOWLY, EXPECTED, now));
	now += 2 * CHECK_PAUSE_MIN;
	for (unsigned int i = 0; i < CHECK_TRIAL; i++)
		assert_false(self_check_read(&c, i < 2 ? QUICKLY : SLOWLY, EXPECTED, now));
	assert_false(window(CHECK_SLOW - 1, now)); /* it was no trial any more */
}

static void test_a_failure_stops_at_once_and_once(void **state)
{
	self_check_failed(&c, SEC);
	self_check_failed(&c, SEC);
	assert_true(self_check_stopped(&c, SEC));
	assert_false(self_check_stopped(&c, SEC + CHECK_PAUSE_MIN));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_most_must_be_slow),
		TEST(test_nothing_is_slow_while_the_cluster_is_not_known),
		TEST(test_what_is_quick_is_never_slow),
		TEST(test_pauses_grow_and_are_bounded),
		TEST(test_a_trial_is_short),
		TEST(test_how_chunks_come),
		TEST(test_a_failure_stops_at_once_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
