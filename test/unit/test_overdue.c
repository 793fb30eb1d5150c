/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which reads of a cluster are noticed while they wait. */
#include "remote/overdue.h"

#include "support.h"

static struct overdue o;
static int one, two;
static bool refuses;

static bool hold(void *file)
{
	return !refuses || file != &one;
}

static int setup(void **state)
{
	o = (struct overdue)OVERDUE_INITIALIZER(o);
	refuses = false;
	return 0;
}

static void test_named_when_it_takes_too_long_and_again(void **state)
{
	struct overdue_read r;

	overdue_begin(&o, &r, &one, 5);
	assert_null(overdue_next(&o, 4 + OVERDUE_AFTER, hold));
	assert_ptr_equal(overdue_next(&o, 5 + OVERDUE_AFTER, hold), &one);
	assert_null(overdue_next(&o, 5 + OVERDUE_AFTER, hold));
	assert_null(overdue_next(&o, 4 + OVERDUE_AFTER + OVERDUE_AGAIN, hold));
	assert_ptr_equal(overdue_next(&o, 5 + OVERDUE_AFTER + OVERDUE_AGAIN, hold), &one);
	overdue_end(&o, &r);
	assert_null(overdue_next(&o, UINT64_MAX, hold));
}

static void test_a_file_is_named_once_for_all_its_reads(void **state)
{
	struct overdue_read r[3], other;

	for (int i = 0; i < 3; i++)
		overdue_begin(&o, &r[i], &one, (uint64_t)i);
	overdue_begin(&o, &other, &two, 3);
	assert_ptr_equal(overdue_next(&o, OVERDUE_AFTER + 3, hold), &one);
	assert_ptr_equal(overdue_next(&o, OVERDUE_AFTER + 3, hold), &two);
	assert_null(overdue_next(&o, OVERDUE_AFTER + 3, hold));
	overdue_end(&o, &r[0]);
	assert_ptr_equal(overdue_next(&o, OVERDUE_AFTER + 3 + OVERDUE_AGAIN, hold), &one);
}

static void test_one_that_is_closed_keeps_no_other_back(void **state)
{
	struct overdue_read r, other;

	refuses = true;
	overdue_begin(&o, &r, &one, 0);
	overdue_begin(&o, &other, &two, 0);
	assert_ptr_equal(overdue_next(&o, OVERDUE_AFTER, hold), &two);
	assert_null(overdue_next(&o, OVERDUE_AFTER, hold));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_named_when_it_takes_too_long_and_again),
		TEST(test_a_file_is_named_once_for_all_its_reads),
		TEST(test_one_that_is_closed_keeps_no_other_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
