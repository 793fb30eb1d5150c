/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* READs at the FSAL below that answers later: watched, timed and waited for until it has. */
#include "cluster_host.h"

#include <time.h>

#include "disk/under_way.h"

#define FILE_SIZE (4 * MIB)

static struct under_way way;

static int begin(void **state)
{
	under_way_init(&way);
	return cluster_start(state, FILE_SIZE);
}

static int end(void **state)
{
	cluster_close_file();
	return stop(state);
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void test_nothing(void **state)
{
	under_way_end(&way, true);
	under_way_end(&way, true);
}

/* The FSAL has returned, and has not answered. */
static void test_watched_until_it_is_answered(void **state)
{
	struct backing *b = get_remote();

	(void)fetch;
	(void)get; /* of local ones */
	under_way_watch(&way, b);
	backings_wake_overdue(clock_now());
	assert_int_equal(cluster.sizes, 0); /* it is not too long yet */
	backings_wake_overdue(clock_now() + SEC);
	assert_int_equal(cluster.sizes, 1);
	under_way_end(&way, true);
	backings_wake_overdue(clock_now() + 60 * SEC);
	assert_int_equal(cluster.sizes, 1);
	backing_put(b);
}

/* Its file may be closed meanwhile: what is watched stays, and nobody asks with it. */
static void test_a_file_that_is_closed(void **state)
{
	struct backing *b = get_remote();

	under_way_watch(&way, b);
	under_way_time(&way, b, 0, 64 * KIB, false);
	backing_drop(&cluster.slot);
	backing_put(b);
	assert_int_equal(cluster.closed, 1);
	backings_wake_overdue(clock_now() + SEC);
	assert_int_equal(cluster.sizes, 0);
	under_way_end(&way, true);
}

/* What was read is in the client's cache when it has been, not before, nor where that failed. */
static void test_timed_until_it_is_answered(void **state)
{
	struct backing *b = get_remote();

	under_way_time(&way, b, 0, 64 * KIB, false);
	under_way_end(&way, false);
	assert_false(backing_resident(b, 0, 64 * KIB));
	under_way_time(&way, b, 0, 64 * KIB, false);
	nap(20 * MSEC);
	assert_false(backing_resident(b, 0, 64 * KIB));
	assert_true(clock_now() - way.begun >= 20 * MSEC);
	under_way_end(&way, true);
	assert_true(backing_resident(b, 0, 64 * KIB));
	under_way_end(&way, true); /* it does not count twice */
	backing_put(b);
}

/* An export that ends waits for the answer, though it closes meanwhile. */
static void test_entered_until_it_is_answered(void **state)
{
	assert_true(export_io_enter(io));
	under_way_enter(&way, io);
	export_io_leave(io); /* its call has returned */
	assert_int_equal(export_io_drain(io, 20 * MSEC), 1);
	under_way_end(&way, true);
	assert_int_equal(export_io_drain(io, 20 * MSEC), 0);
}

/* One that was queued when the export closed, and is sent to the FSAL after. */
static void test_entered_when_the_export_closes(void **state)
{
	assert_true(export_io_enter(io));
	export_io_close(io);
	under_way_enter(&way, io);
	export_io_leave(io);
	assert_int_equal(export_io_drain(io, 20 * MSEC), 1);
	under_way_end(&way, true);
	assert_int_equal(export_io_drain(io, 20 * MSEC), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing),
		TEST(test_watched_until_it_is_answered),
		TEST(test_a_file_that_is_closed),
		TEST(test_timed_until_it_is_answered),
		TEST(test_entered_until_it_is_answered),
		TEST(test_entered_when_the_export_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
