/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What nfsreplay counts of an operation that was late: its user waits since it was due. */
#include "support.h"

#include "nfsreplay/times.h"

#define MS UINT64_C(1000000) /* ns */

static void test_waiting_begins_when_it_is_due(void **state)
{
	struct replay_times t = {0};

	(void)state;
	replay_times_add(&t, 10 * MS, 10 * MS, 12 * MS);
	assert_int_equal(t.waited.sum, 2000);
	assert_int_equal(t.late.sum, 0);
	/* a server that stalls for a second, which this one was not even sent in */
	replay_times_add(&t, 20 * MS, 1020 * MS, 1021 * MS);
	assert_int_equal(t.latency.max, 2000);
	assert_int_equal(t.late.max, 1000000);
	assert_int_equal(t.waited.max, 1001000);
}

static void test_times_of_kinds_come_together(void **state)
{
	struct replay_times one = {0}, all = {0};

	(void)state;
	replay_times_add(&one, 0, 1 * MS, 3 * MS);
	replay_times_merge(&all, &one);
	replay_times_merge(&all, &one);
	assert_int_equal(all.waited.count, 2);
	assert_int_equal(all.waited.sum, 6000);
	assert_int_equal(all.late.sum, 2000);
	assert_int_equal(all.latency.sum, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting_begins_when_it_is_due),
		cmocka_unit_test(test_times_of_kinds_come_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
