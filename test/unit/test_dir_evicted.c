/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Walks whose files memory loses: they are fetched once more, and only then. */
#include "dir_world.h"

/* Memory loses what was fetched ahead: it is fetched again, and that is not held against the walk. */
static void test_evicted_ones_are_fetched_again(void **state)
{
	uint32_t before;

	start(1, 2000, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 1000; i++) {
		if (i % 200 == 100)
			t.there[0][i] = false; /* late: the window grows */
		read_file(0, i);
	}
	assert_true(t.fetched > 1000 + 8 * DIR_WINDOW_MIN);
	before = t.demand;
	memset(t.there, 0, sizeof(t.there));
	for (uint32_t i = 1000; i < 2000; i++)
		read_file(0, i);
	assert_true(t.demand <= before + 2 * DIR_WINDOW_MIN);
	end();
}

/* Now and then a file is gone, or was longer than what was fetched of it: nothing is fetched twice. */
static void test_one_that_is_gone_is_no_eviction(void **state)
{
	start(1, 2000, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 2000; i++) {
		if (i > 100 && i % 10 < 2)
			t.there[0][i] = false;
		read_file(0, i);
	}
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evicted_ones_are_fetched_again),
		cmocka_unit_test(test_one_that_is_gone_is_no_eviction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
