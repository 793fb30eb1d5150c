/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A cluster's file that others change all the time: little is fetched ahead of its readers, for what is there goes. */
#include "cluster_host.h"

#include "disk/prefetch.h"
#include "remote/use_once.h"

#define KEPT_AGE (30 * SEC)

static int begin(void **state)
{
	int err = cluster_start(state, 64 * MIB);

	(void)get; /* of local ones */
	cluster.keep = use_once_new(32 * MIB, KEPT_AGE);
	return err;
}

static int end(void **state)
{
	cluster_close_file();
	use_once_free(cluster.keep);
	host_later = 0;
	return stop(state);
}

/* What another writes, and a client is shown. */
static void change(void)
{
	struct use_once_attrs a = {.settled = true, .asked = clock_now() + host_later};

	a.change = a.stamp = ++cluster.change;
	backing_shown(&cluster.slot, &a);
}

static void show_again(void)
{
	cluster.change--;
	change();
}

/* So much of what came is read. */
static void take(struct backing *b, uint64_t bytes)
{
	static char reply[64 * KIB];
	struct iovec iov = {reply, sizeof(reply)};

	for (uint64_t at = 0; at < bytes; at += sizeof(reply))
		assert_int_equal(cached_reply(b, &iov, 1, at), sizeof(reply));
}

static void test_lost_before_it_is_read(void **state)
{
	struct backing *b = get_remote();

	show_again();
	assert_int_equal(b->kept_for, KEPT_AGE);
	fetch(b, 0, 4 * MIB);
	take(b, MIB);
	change();
	assert_in_range(b->kept_for, 1, SEC / 4);
	host_later = 5 * SEC; /* and again */
	fetch(b, 0, 4 * MIB);
	take(b, 4 * MIB - 128 * KIB);
	change();
	host_later = 12 * SEC;
	show_again();
	assert_in_range(b->kept_for, 1, SEC / 4);
	host_later = 20 * SEC; /* not any more */
	show_again();
	assert_int_equal(b->kept_for, KEPT_AGE);
	backing_put(b);
}

/* As long as its last change may not be the last one of its second, what is kept goes with the next answer. */
static void test_not_settled(void **state)
{
	struct use_once_attrs a = {.change = 8, .stamp = 8, .asked = clock_now()};
	struct backing *b = get_remote();

	cluster.change = 8;
	backing_shown(&cluster.slot, &a);
	assert_in_range(b->kept_for, 1, SEC / 4);
	host_later = 2 * SEC;
	change();
	assert_int_equal(b->kept_for, KEPT_AGE);
	backing_put(b);
}

/* Who reads much faster than others write loses little by each change. */
static void test_read_before_it_is_changed(void **state)
{
	struct backing *b = get_remote();

	show_again();
	for (int n = 0; n < 3; n++) {
		fetch(b, 0, 4 * MIB);
		take(b, 4 * MIB - 256 * KIB);
		change();
		assert_int_equal(b->kept_for, KEPT_AGE);
	}
	backing_put(b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_lost_before_it_is_read),
		TEST(test_not_settled),
		TEST(test_read_before_it_is_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
