/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Change attributes that come in time, late, or not at all. */
#include "remote/vouching.h"

#include "support.h"

static struct vouching v;

static int setup(void **state)
{
	v = (struct vouching){0};
	return 0;
}

/* Asked at NOW and answered TOOK later; whether that stops read-ahead. */
static bool answer(uint64_t now, uint64_t took, bool good)
{
	assert_true(vouching_may_ask(&v, now));
	vouching_asks(&v, now);
	return vouching_told(&v, now, good, now + took);
}

static void test_in_time(void **state)
{
	assert_true(vouching_works(&v, SEC));
	for (uint64_t now = SEC; now < 20 * SEC; now += SEC) {
		assert_false(answer(now, VOUCHING_TIME, true));
		assert_true(vouching_works(&v, now + VOUCHING_TIME));
	}
}

static void test_late(void **state)
{
	assert_true(answer(SEC, VOUCHING_TIME + 1, true));
	assert_false(vouching_works(&v, 2 * SEC));
	assert_false(vouching_may_ask(&v, 2 * SEC));
	assert_true(vouching_works(&v, 2 * SEC + CHECK_PAUSE_MIN));
}

static void test_failed(void **state)
{
	assert_true(answer(SEC, 1, false));
	assert_false(vouching_works(&v, 2 * SEC));
}

static void test_overdue(void **state)
{
	vouching_asks(&v, SEC);
	assert_false(vouching_may_ask(&v, SEC + 1));
	assert_true(vouching_works(&v, SEC + VOUCHING_TIME));
	assert_false(vouching_works(&v, SEC + VOUCHING_TIME + 1));
	assert_false(vouching_works(&v, 100 * SEC)); /* as long as it takes */
	assert_true(vouching_told(&v, SEC, true, 100 * SEC));
	assert_false(vouching_works(&v, 101 * SEC));
}

/* Two may have asked at once: the first answer is not taken for the other's. */
static void test_two_questions(void **state)
{
	vouching_asks(&v, SEC);
	vouching_asks(&v, SEC + 5);
	assert_false(vouching_told(&v, SEC, true, SEC + 10));
	assert_false(vouching_may_ask(&v, SEC + 10));
	assert_false(vouching_told(&v, SEC + 5, true, SEC + 20));
	assert_true(vouching_may_ask(&v, SEC + 20));
}

static void test_pauses_grow_until_it_goes_well(void **state)
{
	uint64_t now = SEC, pause = CHECK_PAUSE_MIN;

	for (int i = 0; i < 3; i++, pause *= 2) {
		assert_true(answer(now, SEC, true));
		assert_false(vouching_works(&v, now + SEC + pause - 1));
		now += SEC + pause;
		assert_true(vouching_works(&v, now));
		assert_false(answer(now, 1, true)); /* one is not enough */
	}
	for (int i = 1; i < VOUCHING_GOOD; i++)
		assert_false(answer(now += SEC, 1, true));
	assert_true(answer(now, SEC, true));
	assert_true(vouching_works(&v, now + SEC + CHECK_PAUSE_MIN));
}

/* Another size is another file, though its change attribute is the same; so is another attribute. */
static void test_size_and_change(void **state)
{
	uint64_t one = vouching_change(7, 8 * MIB);

	assert_int_equal(one, vouching_change(7, 8 * MIB));
	assert_int_not_equal(one, vouching_change(7, 2 * MIB));
	assert_int_not_equal(one, vouching_change(7, 0));
	assert_int_not_equal(one, vouching_change(8, 8 * MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_in_time, setup),
		cmocka_unit_test_setup(test_late, setup),
		cmocka_unit_test_setup(test_failed, setup),
		cmocka_unit_test_setup(test_overdue, setup),
		cmocka_unit_test_setup(test_two_questions, setup),
		cmocka_unit_test_setup(test_size_and_change, setup),
		cmocka_unit_test_setup(test_pauses_grow_until_it_goes_well, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
