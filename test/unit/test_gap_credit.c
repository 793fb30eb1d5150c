/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The time that chunks have had, as a token bucket: how it fills, who takes from it, and its bound. */
#include "sched/gap_credit.h"

#include "support.h"

#define SLICE (50 * MSEC)
#define MOST  (GAP_CREDIT_MOST * SLICE)

static uint64_t left(const struct gap_credit *c, uint64_t now)
{
	return gap_credit_left(c, SLICE, now);
}

static void test_it_fills_up_to_its_bound(void **state)
{
	struct gap_credit c = {.since = SEC};

	assert_int_equal(left(&c, SEC), 0);
	assert_int_equal(left(&c, SEC + 30 * MSEC), 30 * MSEC);
	assert_int_equal(left(&c, 3600 * SEC), MOST);
}

static void test_a_gap_takes_a_slice(void **state)
{
	struct gap_credit c = {0};
	uint64_t now = SEC;

	for (uint64_t rest = MOST; rest; rest -= SLICE) {
		assert_int_equal(left(&c, now), rest);
		gap_credit_take(&c, SLICE, now);
	}
	assert_int_equal(left(&c, now), 0);
	gap_credit_take(&c, SLICE, now); /* by the rule of slices: no debt */
	assert_int_equal(left(&c, now + MSEC), MSEC);
}

/* What the disk does elsewhere is no time of chunks. */
static void test_others_time_does_not_count(void **state)
{
	struct gap_credit c = {.since = SEC};
	uint64_t now = SEC + 40 * MSEC;

	gap_credit_other(&c, 20 * MSEC, SLICE, now + 20 * MSEC);
	assert_int_equal(left(&c, now + 20 * MSEC), 40 * MSEC);
	gap_credit_other(&c, SEC, SLICE, now + 20 * MSEC); /* there is no less than nothing */
	assert_int_equal(left(&c, now + 20 * MSEC), 0);
}

/* Between two chunks there is one gap, however many reads are served in it. */
static void test_between_chunks(void **state)
{
	struct gap_credit c = {0};
	uint64_t now = SEC;

	gap_credit_chunk(&c);
	for (int i = 0; i < 3; i++) {
		gap_credit_other(&c, 8 * MSEC, SLICE, now + 8 * MSEC);
		now += 8 * MSEC;
	}
	assert_int_equal(left(&c, now), MOST - SLICE);
}

/* The reads of a gap within a chunk do not pay once more for the end of the one before. */
static void test_a_gap_within_a_chunk_pays_once(void **state)
{
	struct gap_credit c = {0};
	uint64_t now = SEC;

	gap_credit_chunk(&c);
	gap_credit_take(&c, SLICE, now);
	gap_credit_other(&c, 8 * MSEC, SLICE, now + 8 * MSEC);
	assert_int_equal(left(&c, now + 8 * MSEC), MOST - SLICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_fills_up_to_its_bound),
		cmocka_unit_test(test_a_gap_takes_a_slice),
		cmocka_unit_test(test_others_time_does_not_count),
		cmocka_unit_test(test_between_chunks),
		cmocka_unit_test(test_a_gap_within_a_chunk_pays_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
