/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Floors in the dispatch queue: kept under greedy others, and no dearer than what they promise. */
#include "limited_loop.h"

static struct loop *greedy(enum work work, unsigned int outstanding, struct client **c)
{
	struct loop *l = loop_new();

	*c = add(l, work, 1, outstanding);
	for (int i = 0; i < 16; i++)
		add(l, STREAM, 0, 2);
	return l;
}

static void test_a_floor_under_16_greedy_others(void **state)
{
	struct client *c;
	struct loop *l = greedy(STREAM, 2, &c);
	uint64_t others;

	l->shares.rules[1].floor.bandwidth = 40 * MB;
	set_shares(l);
	run(l, 41 * SEC);
	assert_true(windows_within(c, 2 * SEC, 41 * SEC, SEC, 40 * MB, 60 * MB) >= 95);
	others = 0;
	for (int i = 1; i < 17; i++)
		others += bytes_between(&l->clients[i], SEC, 41 * SEC);
	print_message("the others: %.1f MB/s\n", (double)others / 40e6);
	assert_true(others > 40 * 50 * MB);
	loop_free(l);
}

/* The same where the others come from their ceilings all the time: a floor is before these. */
static void test_a_floor_among_others_with_ceilings(void **state)
{
	struct client *c;
	struct loop *l = greedy(STREAM, 2, &c);

	l->shares.rules[1].floor.bandwidth = 40 * MB;
	l->shares.rules[0].ceiling.bandwidth = 30 * MB;
	set_shares(l);
	run(l, 41 * SEC);
	assert_true(windows_within(c, 2 * SEC, 41 * SEC, SEC, 40 * MB, 60 * MB) >= 95);
	loop_free(l);
}

/* Nor does who has next to no weight wait for Max_Wait because others come from their ceilings. */
static void test_little_weight_among_others_with_ceilings(void **state)
{
	struct loop *l = loop_new();
	struct client *c = add(l, RANDOM, 1, 1);

	for (int i = 0; i < 10; i++)
		add(l, RANDOM, 0, 4);
	l->shares.rules[1].weight = 1;
	l->shares.rules[0].ceiling.iops = 30;
	set_shares(l);
	run(l, 41 * SEC);
	print_message("little weight: waits for %.0f ms at most, %lu requests\n",
		      (double)c->wait_max / 1e6, c->requests);
	assert_true(c->wait_max < 2500 * MSEC);
	loop_free(l);
}

/* The same for an export, which its clients have in sum. */
static void test_a_floor_of_an_export(void **state)
{
	struct client *c, *d;
	struct loop *l = greedy(STREAM, 2, &c);
	uint64_t both;

	d = add(l, STREAM, 0, 2);
	c->id.export_id = d->id.export_id = 7;
	l->shares.n_exports = 1;
	l->shares.exports[0] =
		(struct export_share){.export_id = 7, .share.floor.bandwidth = 40 * MB};
	set_shares(l);
	run(l, 21 * SEC);
	both = bytes_between(c, SEC, 21 * SEC) + bytes_between(d, SEC, 21 * SEC);
	print_message("both: %.1f MB/s\n", (double)both / 20e6);
	assert_in_range(both, 20 * 40 * MB, 20 * 50 * MB);
	assert_true(bytes_between(c, SEC, 21 * SEC) > 8 * 40 * MB);
	assert_true(bytes_between(d, SEC, 21 * SEC) > 8 * 40 * MB);
	loop_free(l);
}

static void test_a_floor_of_requests(void **state)
{
	struct client *c;
	struct loop *l = greedy(RANDOM, 4, &c);

	l->shares.rules[1].floor.iops = 30;
	set_shares(l);
	run(l, 21 * SEC);
	print_message("%lu requests\n", c->requests);
	assert_in_range(c->requests, 600, 900);
	loop_free(l);
}

static void test_a_floor_of_time(void **state)
{
	for (enum work work = RANDOM; work <= STREAM; work++) {
		struct client *c;
		struct loop *l = greedy(work, 4, &c);

		l->shares.rules[1].floor.time = 30;
		set_shares(l);
		run(l, 21 * SEC);
		print_message("%.1f %% of the disk\n", (double)c->disk_time / 20e7);
		assert_in_range(c->disk_time / MSEC, 6000, 7500);
		loop_free(l);
	}
}

/* A floor that asks for less costs nothing; nor is it lost by that: it is there when it is wanted. */
static void test_a_floor_that_is_not_used_costs_nothing(void **state)
{
	uint64_t others[2];

	for (int with = 0; with < 2; with++) {
		struct client *c;
		struct loop *l = greedy(RANDOM, 1, &c);

		c->think = 200 * MSEC;
		l->shares.rules[1].floor.bandwidth = with ? 40 * MB : 0;
		set_shares(l);
		run(l, 21 * SEC);
		others[with] = 0;
		for (int i = 1; i < 17; i++)
			others[with] += bytes_between(&l->clients[i], SEC, 21 * SEC);
		loop_free(l);
	}
	print_message("%.1f MB/s, with a floor %.1f\n", (double)others[0] / 20e6,
		      (double)others[1] / 20e6);
	assert_true(others[1] * 100 >= others[0] * 98);
}

/* More is promised than the disk can do: the rest has what is left to it all the same. */
static void test_floors_never_have_all(void **state)
{
	struct client *c;
	struct loop *l = greedy(RANDOM, 16, &c);
	uint64_t others = 0;

	l->shares.rules[1].floor.bandwidth = 100 * MB;
	set_shares(l);
	run(l, 41 * SEC);
	for (int i = 1; i < 17; i++)
		others += l->clients[i].disk_time;
	print_message("%.1f %% of the disk for the others\n", (double)others / 40e7);
	assert_in_range(others / MSEC, 4000 * 95 / 100, 4000 * 2);
	loop_free(l);
}

/* It had its floor for long: when that goes, it has its fair share at once. */
static void test_a_floor_that_goes_leaves_no_debt(void **state)
{
	struct client *c;
	struct loop *l = greedy(STREAM, 2, &c);
	uint64_t fair;

	l->shares.rules[1].floor.bandwidth = 80 * MB;
	set_shares(l);
	run(l, 21 * SEC);
	l->shares.rules[1].floor.bandwidth = 0;
	set_shares(l);
	run(l, 46 * SEC);
	fair = bytes_between(&l->clients[3], 26 * SEC, 46 * SEC);
	print_message("fair %.1f MB/s, its %.1f\n", (double)fair / 20e6,
		      (double)bytes_between(c, 26 * SEC, 46 * SEC) / 20e6);
	assert_true(bytes_between(c, 26 * SEC, 46 * SEC) * 10 > fair * 8);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_floor_under_16_greedy_others),
		cmocka_unit_test(test_a_floor_among_others_with_ceilings),
		cmocka_unit_test(test_little_weight_among_others_with_ceilings),
		cmocka_unit_test(test_a_floor_of_an_export),
		cmocka_unit_test(test_a_floor_of_requests),
		cmocka_unit_test(test_a_floor_of_time),
		cmocka_unit_test(test_a_floor_that_is_not_used_costs_nothing),
		cmocka_unit_test(test_floors_never_have_all),
		cmocka_unit_test(test_a_floor_that_goes_leaves_no_debt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
