/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The time without reads: what is expected of thinking readers, of several, and after a pause. */
#include "sched/read_gap.h"

#include "support.h"

/* A read takes 8 ms after a gap of NS. Returns when it is over, and the next gap begins. */
static uint64_t gap(struct read_gap *g, uint64_t now, uint64_t ns)
{
	read_gap_begins(g, now);
	read_gap_ends(g, now + ns);
	return now + ns + 8 * MSEC;
}

static uint64_t gaps(struct read_gap *g, uint64_t now, uint64_t ns, int n)
{
	while (n--)
		now = gap(g, now, ns);
	return now;
}

static void test_nothing_is_expected_at_first(void **state)
{
	struct read_gap g = {0};

	read_gap_ends(&g, SEC); /* the first read: no gap */
	assert_int_equal(g.n, 0);
	gaps(&g, SEC, 20 * MSEC, READ_GAP_SURE - 1);
	assert_int_equal(read_gap_usual(&g), 0);
}

static void test_readers_that_think_alike(void **state)
{
	struct read_gap g = {0};
	uint64_t now = gaps(&g, SEC, 20 * MSEC, 40);

	assert_true(read_gap_usual(&g) > 19 * MSEC && read_gap_usual(&g) <= 20 * MSEC);
	read_gap_begins(&g, now);
	assert_true(read_gap_late(&g) >= now + 20 * MSEC && read_gap_late(&g) < now + 22 * MSEC);
}

/* Others' think time is another: followed within a few reads. */
static void test_it_follows(void **state)
{
	struct read_gap g = {0};
	uint64_t now = gaps(&g, SEC, 20 * MSEC, 40);

	now = gaps(&g, now, 40 * MSEC, 40);
	assert_true(read_gap_usual(&g) > 38 * MSEC);
	gaps(&g, now, 500000, 30);
	assert_true(read_gap_usual(&g) < 4 * MSEC);
}

/* One pause in many reads says nothing of the next gap; two are what it is like now. */
static void test_a_pause(void **state)
{
	struct read_gap g = {0};
	uint64_t now = gaps(&g, SEC, 20 * MSEC, 40), before = read_gap_usual(&g);

	now = gap(&g, now, 3 * SEC);
	assert_int_equal(read_gap_usual(&g), before);
	now = gap(&g, now, 20 * MSEC);
	now = gap(&g, now, 3 * SEC);
	assert_true(read_gap_usual(&g) > 19 * MSEC);
	gaps(&g, now, 3 * SEC, 20);
	assert_int_equal(read_gap_usual(&g), 0); /* too long to be one */
}

/* Gaps of 1 and of 60 ms in turns: what comes next nobody knows, and least of all a long one. */
static void test_several_readers(void **state)
{
	struct read_gap g = {0};
	uint64_t now = SEC;

	for (int i = 0; i < 40; i++)
		now = gap(&g, now, i % 4 ? MSEC : 60 * MSEC);
	assert_true(read_gap_usual(&g) < 10 * MSEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_expected_at_first),
		cmocka_unit_test(test_readers_that_think_alike),
		cmocka_unit_test(test_it_follows),
		cmocka_unit_test(test_a_pause),
		cmocka_unit_test(test_several_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
