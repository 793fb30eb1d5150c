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
	assert_true(window(CHECK_READS, now));
	assert_false(self_check_stopped(&c, now + CHECK_PAUSE_MIN));
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
		TEST(test_a_failure_stops_at_once_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
