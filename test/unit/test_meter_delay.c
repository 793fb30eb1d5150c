/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A cluster's use, by made-up delays. */
#include "pricing/meter_delay.h"

#include "support.h"

static struct meter_delay m;
static uint64_t now;

static int setup(void **state)
{
	m = (struct meter_delay){.begun = 0};
	now = SEC;
	meter_delay_sample(&m, now);
	return 0;
}

/* A window with N requests of KIND that took NS each. */
static double window(enum delay_kind kind, unsigned int n, uint64_t ns)
{
	for (unsigned int i = 0; i < n; i++)
		meter_delay_add(&m, kind, ns);
	now += DELAY_WINDOW;
	return meter_delay_sample(&m, now);
}

static void test_calm_is_idle(void **state)
{
	for (int i = 0; i < 100; i++)
		assert_true(window(DELAY_SMALL, 20, 2 * MSEC) < 0.02);
}

static void test_longer_is_busier(void **state)
{
	window(DELAY_LARGE, 20, 2 * MSEC);
	assert_true(window(DELAY_LARGE, 20, 4 * MSEC) > 0.48);
	assert_true(window(DELAY_LARGE, 20, 40 * MSEC) > 0.94);
	assert_true(window(DELAY_LARGE, 20, 2 * MSEC) < 0.05); /* over */
}

static void test_nothing_waits(void **state)
{
	window(DELAY_SMALL, 20, 2 * MSEC);
	window(DELAY_SMALL, 20, 200 * MSEC);
	for (int i = 1; i < DELAY_SILENT; i++)
		assert_true(window(DELAY_SMALL, 0, 0) > 0.9); /* one may be under way */
	assert_true(window(DELAY_SMALL, 0, 0) == 0);
	for (int i = 0; i < DELAY_WINDOWS; i++) /* too few */
		assert_true(window(DELAY_SMALL, i % 2, SEC) == 0);
}

/* Behind a long queue one reader gets few answers in a window. */
static void test_few_that_take_long(void **state)
{
	window(DELAY_SMALL, 20, 10 * MSEC);
	assert_true(window(DELAY_SMALL, 2, 300 * MSEC) < 0.05); /* not judged yet */
	assert_true(window(DELAY_SMALL, 2, 300 * MSEC) > 0.9);
	assert_true(window(DELAY_SMALL, 1, 300 * MSEC) > 0.9); /* as before */
	assert_true(window(DELAY_SMALL, 20, 10 * MSEC) < 0.7); /* the one as well */
	assert_true(window(DELAY_SMALL, 20, 10 * MSEC) < 0.05);
}

static void test_kinds_do_not_compare(void **state)
{
	window(DELAY_SMALL, 20, MSEC);
	assert_true(window(DELAY_LARGE, 20, 20 * MSEC) == 0);
	assert_true(window(DELAY_WRITE, 20, 200 * MSEC) == 0);
	assert_int_equal(delay_kind_of_read(64 * KIB), DELAY_SMALL);
	assert_int_equal(delay_kind_of_read(64 * KIB + 1), DELAY_MIDDLE);
	assert_int_equal(delay_kind_of_read(512 * KIB), DELAY_LARGE);
	assert_int_equal(delay_kind_of_read(MIB), DELAY_LARGER);
	assert_int_equal(delay_kind_of_read(2 * MIB), DELAY_LARGEST);
	assert_int_equal(delay_kind_of_read(UINT64_MAX), DELAY_LARGEST);
}

/* Into memory that has room, with more or less of a processor for it; then it is full. */
static void test_writes_wait_when_memory_is_full(void **state)
{
	enum delay_kind large = delay_kind_of_write(MIB, false);

	window(large, 20, MSEC / 50);
	assert_true(window(large, 20, MSEC / 2) < 0.01);
	assert_true(window(large, 20, 40 * MSEC) > 0.9);
	assert_true(window(large, 20, MSEC / 50) < 0.01);
}

static void test_stable_writes_do_not_compare_with_others(void **state)
{
	window(delay_kind_of_write(4 * KIB, false), 20, MSEC / 50);
	assert_true(window(delay_kind_of_write(4 * KIB, true), 20, 10 * MSEC) < 0.01);
	assert_true(window(delay_kind_of_write(MIB, true), 20, 50 * MSEC) < 0.01);
	assert_true(window(delay_kind_of_write(4 * KIB, true), 20, 100 * MSEC) > 0.85);
	assert_true(delay_kind_of_write(UINT64_MAX, true) < DELAY_KINDS);
	assert_int_equal(delay_kind_of_write(0, true), DELAY_STABLE);
	assert_int_equal(delay_kind_of_write(UINT64_MAX, false), DELAY_STABLE - 1);
}

/* Reads out of a cache, the client library's or a brick's, make no disk seem busy that is idle. */
static void test_reads_out_of_caches_say_nothing(void **state)
{
	for (uint64_t ns = MSEC / 50; ns < MSEC; ns *= 2) {
		assert_true(window(DELAY_LARGE, 20, ns) == 0);
		assert_true(window(DELAY_LARGE, 20, 10 * MSEC) < 0.33);
	}
	for (int i = 0; i < 100; i++) { /* some of them in each window */
		for (int n = 0; n < 15; n++)
			meter_delay_add(&m, DELAY_LARGE, MSEC / 5);
		assert_true(window(DELAY_LARGE, 5, i % 2 ? 10 * MSEC : 12 * MSEC) < 0.33);
	}
	assert_true(window(DELAY_LARGE, 20, 100 * MSEC) > 0.85);
	assert_true(meter_delay_mean(&m, DELAY_LARGE, 1) < 12 * MSEC); /* which is of all */
}

/* A window with N quick ones that took NS each, and MORE slow ones that took SLOW. */
static double mixed(unsigned int n, uint64_t ns, unsigned int more, uint64_t slow)
{
	for (unsigned int i = 0; i < n; i++)
		meter_delay_add(&m, DELAY_LARGE, ns);
	return window(DELAY_LARGE, more, slow);
}

/* Where most of the time is that of quick reads, of fast disks or out of caches, the few slow ones are not the rule. */
static void test_few_slow_ones_among_quick_ones(void **state)
{
	for (int i = 0; i < 10; i++)
		assert_true(mixed(996, 3 * MSEC / 10, 4, 6 * MSEC / 5) < 0.2);
	assert_true(mixed(996, 3 * MSEC / 10, 4, 5 * MSEC) < 0.2);
	assert_true(mixed(996, 3 * MSEC / 10, 4, 6 * MSEC / 5) < 0.2);
}

/* ... nor what is calm: the next ones a disk has to do, which may be an ordinary one. */
static void test_late_answers_out_of_caches_are_no_disks(void **state)
{
	for (int i = 0; i < 20; i++)
		mixed(996, 3 * MSEC / 10, 4, 6 * MSEC / 5);
	for (int i = 0; i < 20; i++)
		assert_true(window(DELAY_LARGE, 20, i % 2 ? 10 * MSEC : 12 * MSEC) < 0.33);
}

static void test_slow_ones_that_take_most_of_the_time(void **state)
{
	for (int i = 0; i < 10; i++)
		mixed(0, 0, 20, 10 * MSEC);
	assert_true(mixed(90, 3 * MSEC / 20, 10, 50 * MSEC) > 0.7);
}

static void test_a_slower_cluster_becomes_the_rule(void **state)
{
	double u = 1;

	window(DELAY_SMALL, 20, MSEC);
	for (int i = 0; i < 240; i++) /* two minutes */
		u = window(DELAY_SMALL, 20, 2 * MSEC);
	assert_true(u < 0.05);
}

static void test_the_mean_of_a_kind(void **state)
{
	assert_true(meter_delay_mean(&m, DELAY_SMALL, 0) == 0);
	meter_delay_add(&m, DELAY_SMALL, MSEC);
	meter_delay_add(&m, DELAY_LARGE, SEC);
	assert_true(meter_delay_mean(&m, DELAY_SMALL, 2) == 0);
	meter_delay_add(&m, DELAY_SMALL, 3 * MSEC);
	assert_true(meter_delay_mean(&m, DELAY_SMALL, 2) == 2 * MSEC);
}

/* A server that has run for weeks: 2^32 requests are no end. */
static void test_the_mean_of_very_many(void **state)
{
	m.kind[DELAY_SMALL].judged.n = UINT32_MAX - 1;
	m.kind[DELAY_SMALL].judged.sum = (UINT32_MAX - 1) * MSEC;
	for (int i = 0; i < 8; i++)
		meter_delay_add(&m, DELAY_SMALL, MSEC);
	assert_true(meter_delay_mean(&m, DELAY_SMALL, 4) == MSEC);
}

static void test_between_windows_it_stays(void **state)
{
	window(DELAY_SMALL, 20, MSEC);
	window(DELAY_SMALL, 20, 10 * MSEC);
	assert_true(meter_delay_sample(&m, now + DELAY_WINDOW - 1) > 0.8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_calm_is_idle),
		TEST(test_longer_is_busier),
		TEST(test_nothing_waits),
		TEST(test_few_that_take_long),
		TEST(test_kinds_do_not_compare),
		TEST(test_writes_wait_when_memory_is_full),
		TEST(test_stable_writes_do_not_compare_with_others),
		TEST(test_reads_out_of_caches_say_nothing),
		TEST(test_few_slow_ones_among_quick_ones),
		TEST(test_late_answers_out_of_caches_are_no_disks),
		TEST(test_slow_ones_that_take_most_of_the_time),
		TEST(test_a_slower_cluster_becomes_the_rule),
		TEST(test_the_mean_of_a_kind),
		TEST(test_the_mean_of_very_many),
		TEST(test_between_windows_it_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
