/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* COMMITs that were told to come again: their time goes on, and no more of them are known than may be. */
#include "writeback/refused.h"

#include "support.h"

#define WAIT (60 * SEC)

/* The next try of CLIENT for FILE at AT: until when it may wait; it is refused. */
static uint64_t again(struct refused *r, uint64_t file, uint64_t client, uint64_t at)
{
	uint64_t until = refused_until(r, file, client, at + WAIT, at);

	assert_true(refused_note(r, file, client, until, at));
	return until;
}

static void test_the_first_try_counts(void **state)
{
	struct refused r = {0};

	for (uint64_t t = 1; t < 60; t += 5)
		assert_int_equal(again(&r, 1, 7, t * SEC), SEC + WAIT);
	assert_int_equal(again(&r, 1, 8, 57 * SEC), 57 * SEC + WAIT); /* another client's */
	assert_int_equal(again(&r, 2, 7, 57 * SEC), 57 * SEC + WAIT); /* ... file's */
	assert_int_equal(refused_until(&r, 1, 7, 70 * SEC + WAIT, 70 * SEC), SEC + WAIT);
	/* one that was allowed less keeps that */
	assert_int_equal(refused_until(&r, 1, 7, 60 * SEC, 60 * SEC), 60 * SEC);
}

/* Two of one file, of which one is served: the other one's time does not begin anew. */
static void test_several_of_one_file(void **state)
{
	struct refused r = {0};

	for (uint64_t t = 1; t < 61; t += 5) {
		assert_int_equal(again(&r, 1, 7, t * SEC), SEC + WAIT);
		assert_int_equal(again(&r, 1, 7, (t + 2) * SEC), SEC + WAIT);
	}
	assert_true(refused_until(&r, 1, 7, 61 * SEC + WAIT, 61 * SEC) <= 61 * SEC);
	assert_true(refused_until(&r, 1, 7, 63 * SEC + WAIT, 63 * SEC) <= 61 * SEC);
}

/* Who has not come for long comes anew. */
static void test_who_is_gone(void **state)
{
	uint64_t later = SEC + REFUSED_GONE + 1;
	struct refused r = {0};

	again(&r, 1, 7, SEC);
	assert_int_equal(refused_until(&r, 1, 7, later, later - 1), SEC + WAIT);
	assert_int_equal(again(&r, 1, 7, later), later + WAIT);
	assert_int_equal(again(&r, 1, 7, later + SEC), later + WAIT);
	assert_int_equal(r.used, 1);
}

/* One more than may be known is not refused; its place comes when others are gone. */
static void test_more_than_may_be(void **state)
{
	struct refused r = {0};

	for (uint64_t c = 1; c <= REFUSED_MAX; c++)
		again(&r, 1, c, SEC + c);
	assert_false(refused_note(&r, 2, 1, 2 * SEC + WAIT, 2 * SEC));
	for (uint64_t c = 1; c <= REFUSED_MAX; c++)
		assert_int_equal(again(&r, 1, c, 2 * SEC), SEC + c + WAIT);
	assert_false(refused_note(&r, 2, 1, 2 * SEC + WAIT, 2 * SEC + REFUSED_GONE));
	assert_true(refused_note(&r, 2, 1, 2 * SEC + WAIT, 2 * SEC + REFUSED_GONE + 1));
	assert_int_equal(r.used, REFUSED_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_try_counts),
		cmocka_unit_test(test_several_of_one_file),
		cmocka_unit_test(test_who_is_gone),
		cmocka_unit_test(test_more_than_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
