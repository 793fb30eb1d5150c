/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What becomes of a read that waited for another request, when it is woken. */
#include "backing_host.h"
#include "disk/prefetch.h"

/* The backing of a file of two pages, F. */
static struct backing *two_pages(struct host_file *f)
{
	host_file_make(f, "a", 2 * HOST_PAGE);
	return get(f, SEC);
}

static bool is_left(struct backing *b, bool let_go)
{
	return demand_is_left(b, 0, HOST_PAGE, let_go);
}

/* Of a walk's job, whose turn was over before its file or after it. */
static void test_what_has_come_is_not_fetched_again(void **state)
{
	struct host_file f;
	struct backing *b = two_pages(&f);

	assert_false(is_left(b, false));
	assert_int_equal(truncate(f.path, MIB), 0); /* nobody has read the hole */
	backing_refresh_size(b);
	assert_true(demand_is_left(b, MIB / 2, HOST_PAGE, false));
	backing_put(b);
	backing_slot_fini(&f.slot);
}

/* Pages that the kernel is bringing count as there: who reads them waits for what hangs, on a thread that others need. */
static void test_nobody_asks_whether_what_hangs_has_come(void **state)
{
	struct host_file f;
	struct backing *b = two_pages(&f);

	assert_true(is_left(b, true));
	backing_put(b);
	backing_slot_fini(&f.slot);
}

static void test_of_a_file_that_was_closed(void **state)
{
	struct host_file f;
	struct backing *b = two_pages(&f);

	backing_hold(b);
	backing_put(b);
	backing_slot_fini(&f.slot);
	assert_false(is_left(b, false));
	assert_true(is_left(b, true)); /* the answer may hang all the same */
	backing_release(b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_what_has_come_is_not_fetched_again),
		TEST(test_nobody_asks_whether_what_hangs_has_come),
		TEST(test_of_a_file_that_was_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
