/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* COMMITs that were told to come again: their time goes on, and no more of them are known than may be. */
#include "writeback/refused.h"

#include "support.h"

#define WAIT (60 * SEC)

static void test_the_first_try_counts(void **state)
{
	struct refused r = {0};

	assert_int_equal(refused_until(&r, 1, 7, SEC + WAIT, SEC), SEC + WAIT);
	refused_note(&r, 1, 7, SEC + WAIT, SEC);
	assert_int_equal(refused_until(&r, 1, 7, 6 * SEC + WAIT, 6 * SEC), SEC + WAIT);
	refused_note(&r, 1, 7, SEC + WAIT, 6 * SEC);
	assert_int_equal(refused_until(&r, 1, 8, 6 * SEC + WAIT, 6 * SEC), 6 * SEC + WAIT);
	assert_int_equal(refused_until(&r, 2, 7, 6 * SEC + WAIT, 6 * SEC), 6 * SEC + WAIT);
	refused_forget(&r, 1, 8);
	assert_int_equal(refused_until(&r, 1, 7, 9 * SEC + WAIT, 9 * SEC), SEC + WAIT);
	refused_forget(&r, 1, 7);
	assert_int_equal(refused_until(&r, 1, 7, 9 * SEC + WAIT, 9 * SEC), 9 * SEC + WAIT);
	assert_int_equal(r.n, 0);
	refused_forget(&r, 1, 7);
	assert_int_equal(r.n, 0);
}

/* Who has not come for long comes anew. */
static void test_who_is_gone(void **state)
{
	uint64_t later = SEC + WAIT + REFUSED_GONE + 1;
	struct refused r = {0};

	refused_note(&r, 1, 7, SEC + WAIT, SEC);
	assert_int_equal(refused_until(&r, 1, 7, later, later - 1), SEC + WAIT);
	assert_int_equal(refused_until(&r, 1, 7, later + WAIT, later), later + WAIT);
	refused_note(&r, 1, 7, later + WAIT, later);
	assert_int_equal(refused_until(&r, 1, 7, later + 2 * WAIT, later + 1), later + WAIT);
	assert_int_equal(r.n, 1);
}

/* Those that wait for longest keep their places. */
static void test_more_than_may_be(void **state)
{
	struct refused r = {0};

	for (uint64_t c = 1; c <= 2 * REFUSED_MAX; c++)
		refused_note(&r, 1, c, WAIT + (c + 1) / 2, 1);
	assert_int_equal(r.n, REFUSED_MAX);
	for (uint64_t c = 1; c <= REFUSED_MAX; c++)
		assert_int_equal(refused_until(&r, 1, c, 9 * WAIT, 2), WAIT + (c + 1) / 2);
	refused_note(&r, 2, 1, WAIT, 2);
	assert_int_equal(refused_until(&r, 2, 1, 9 * WAIT, 2), WAIT);
	assert_int_equal(r.n, REFUSED_MAX);
	refused_note(&r, 3, 1, WAIT, WAIT + 64 + REFUSED_GONE); /* all but one or two are gone */
	assert_int_equal(r.n, REFUSED_MAX);
	for (uint64_t c = 0; c <= 2 * REFUSED_MAX; c++)
		for (uint64_t f = 1; f <= 3; f++)
			refused_forget(&r, f, c);
	assert_int_equal(r.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_try_counts),
		cmocka_unit_test(test_who_is_gone),
		cmocka_unit_test(test_more_than_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
