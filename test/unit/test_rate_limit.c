/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Floors and ceilings: when one may go, when it is behind, whatever it is charged. */
#include "sched/rate_limit.h"

#include "support.h"

#define MB UINT64_C(1000000)

static const struct share_limit none;

static struct rate_limit with_ceiling(struct share_limit ceiling)
{
	struct rate_limit l = {0};

	rate_limit_set(&l, &none, &ceiling, SEC);
	return l;
}

static struct rate_limit with_floor(struct share_limit floor)
{
	struct rate_limit l = {0};

	rate_limit_set(&l, &floor, &none, SEC);
	return l;
}

static void take(struct rate_limit *l, uint64_t bytes, uint64_t start)
{
	rate_limit_charge(l, &(struct rate_cost){bytes, 1, 10 * MSEC}, start, true);
}

static void test_without_limits_nothing_holds(void **state)
{
	struct rate_limit l = {0};

	take(&l, UINT64_MAX, SEC);
	assert_true(rate_limit_may_go(&l, 0));
	assert_false(rate_limit_is_behind(&l, UINT64_MAX - 1));
	assert_int_equal(rate_limit_units(&l.ceiling[RATE_BYTES], SEC), UINT64_MAX);
}

static void test_each_resource_has_its_ceiling(void **state)
{
	struct rate_limit l = with_ceiling((struct share_limit){.bandwidth = 10 * MB});

	take(&l, MB, SEC); /* of nothing saved: 100 ms of 10 MB/s */
	assert_int_equal(rate_limit_opens(&l), SEC + 100 * MSEC);
	assert_false(rate_limit_may_go(&l, SEC + 99 * MSEC));
	assert_true(rate_limit_may_go(&l, SEC + 100 * MSEC));
	assert_int_equal(rate_limit_units(&l.ceiling[RATE_BYTES], 50 * MSEC), MB / 2);
	l = with_ceiling((struct share_limit){.iops = 20});
	take(&l, MB, SEC);
	assert_int_equal(rate_limit_opens(&l), SEC + 50 * MSEC);
	l = with_ceiling((struct share_limit){.time = 5}); /* 10 ms of the disk */
	take(&l, MB, SEC);
	assert_int_equal(rate_limit_opens(&l), SEC + 200 * MSEC);
	assert_int_equal(rate_limit_units(&l.ceiling[RATE_TIME], SEC), 50 * MSEC);
	l = with_ceiling((struct share_limit){.bandwidth = 10 * MB, .iops = 20, .time = 5});
	take(&l, MB, SEC);
	assert_int_equal(rate_limit_opens(&l), SEC + 200 * MSEC); /* the strictest */
}

static void test_no_more_than_a_burst_is_saved(void **state)
{
	struct rate_limit l = with_ceiling((struct share_limit){.bandwidth = 10 * MB});
	uint64_t now = 1000 * SEC, n = 0;

	for (; rate_limit_may_go(&l, now); n++)
		take(&l, 50000, now);
	assert_int_equal(n, RATE_BURST / (5 * MSEC) + 1); /* and the one that goes beyond it */
}

/* What passes during a long request is not lost: it is charged when it is over. */
static void test_a_long_request_loses_nothing(void **state)
{
	struct rate_limit l = with_ceiling((struct share_limit){.time = 90});
	uint64_t now = SEC, busy = 0;

	for (int i = 0; i < 100; i++) {
		rate_limit_charge(&l, &(struct rate_cost){.time = 900 * MSEC}, now, false);
		busy += 900 * MSEC;
		now += 900 * MSEC;
		if (!rate_limit_may_go(&l, now))
			now = rate_limit_opens(&l);
	}
	assert_in_range(busy * 1000 / (now - SEC), 899, 901);
}

static void test_behind_from_the_tag_on(void **state)
{
	struct rate_limit l = with_floor((struct share_limit){.bandwidth = 40 * MB});

	assert_true(rate_limit_is_behind(&l, SEC));
	take(&l, 4 * MB, SEC); /* 100 ms of it */
	assert_false(rate_limit_is_behind(&l, SEC + 100 * MSEC - 1));
	assert_true(rate_limit_is_behind(&l, SEC + 100 * MSEC));
	assert_int_equal(rate_limit_deadline(&l), SEC + 100 * MSEC);
	assert_true(rate_limit_may_go(&l, SEC)); /* a floor is no ceiling */
	l = with_floor((struct share_limit){.bandwidth = 40 * MB, .iops = 100});
	take(&l, 4 * MB, SEC);
	assert_int_equal(rate_limit_deadline(&l), SEC + 10 * MSEC); /* the strictest */
}

static void test_idleness_earns_no_floor(void **state)
{
	struct rate_limit l = with_floor((struct share_limit){.bandwidth = 40 * MB});
	uint64_t now = 100 * SEC;

	rate_limit_wakes(&l, now);
	assert_int_equal(rate_limit_deadline(&l), now - RATE_IDLE_CREDIT);
	take(&l, 4 * MB, now);
	rate_limit_wakes(&l, now + 10 * MSEC); /* and it costs none */
	assert_int_equal(rate_limit_deadline(&l), now - RATE_IDLE_CREDIT + 100 * MSEC);
}

static void test_what_the_disk_could_not_give_is_soon_forgotten(void **state)
{
	struct rate_limit l = with_floor((struct share_limit){.bandwidth = 40 * MB});

	take(&l, 4 * MB, 100 * SEC); /* waited all the time */
	assert_int_equal(rate_limit_deadline(&l), 100 * SEC - RATE_LAG_MAX + 100 * MSEC);
}

static void test_what_was_left_over_is_not_held_against_a_floor(void **state)
{
	struct rate_limit l = with_floor((struct share_limit){.bandwidth = MB});
	const struct rate_cost cost = {.bytes = 4 * MB, .requests = 1};

	for (uint64_t i = 0; i < 100; i++)
		rate_limit_charge(&l, &cost, SEC + i * MSEC, false);
	assert_int_equal(rate_limit_deadline(&l), SEC + 99 * MSEC + RATE_LEAD_MAX);
	rate_limit_charge(&l, &cost, SEC + 100 * MSEC, true); /* what it had as its floor is */
	assert_int_equal(rate_limit_deadline(&l), SEC + 99 * MSEC + RATE_LEAD_MAX + 4 * SEC);
	rate_limit_charge(&l, &cost, SEC + 101 * MSEC, false); /* and that does not go back */
	assert_int_equal(rate_limit_deadline(&l), SEC + 99 * MSEC + RATE_LEAD_MAX + 4 * SEC);
}

static void test_a_new_ceiling_keeps_the_debt_in_bytes(void **state)
{
	struct rate_limit l = with_ceiling((struct share_limit){.bandwidth = MB});

	take(&l, 100 * MB, SEC);
	assert_int_equal(rate_limit_opens(&l), 101 * SEC);
	rate_limit_set(&l, &none, &(struct share_limit){.bandwidth = 90 * MB}, 11 * SEC);
	assert_int_equal(rate_limit_opens(&l), 12 * SEC); /* 90 MB are owed */
	rate_limit_set(&l, &none, &(struct share_limit){.bandwidth = 90 * MB}, 11 * SEC + 1);
	assert_int_equal(rate_limit_opens(&l), 12 * SEC);
	rate_limit_set(&l, &none, &none, 11 * SEC);
	assert_true(rate_limit_may_go(&l, 11 * SEC));
	rate_limit_set(&l, &none, &(struct share_limit){.bandwidth = MB}, 20 * SEC);
	assert_int_equal(rate_limit_opens(&l), 20 * SEC); /* begins with nothing owed or saved */
}

static void test_no_number_is_too_large(void **state)
{
	const struct share_limit most = {UINT64_MAX, UINT32_MAX, 100}, least = {1, 1, 1};
	const uint64_t times[] = {0, SEC, 1000000 * SEC, UINT64_MAX / 2};

	for (int t = 0; t < 4; t++) {
		struct rate_limit l = {0};

		for (int i = 0; i < 6; i++) {
			rate_limit_set(&l, i % 2 ? &most : &least, i % 3 ? &least : &most,
				       times[t]);
			rate_limit_wakes(&l, times[t]);
			for (int c = 0; c < 10; c++)
				rate_limit_charge(&l, &(struct rate_cost){UINT64_MAX, 1, SEC},
						  times[t], c % 2);
			assert_true(rate_limit_opens(&l) <= times[t] + RATE_DEBT_MAX);
		}
	}
}

/* ---- properties -------------------------------------------------------------------------- */

static uint64_t units_of(const struct rate_cost *c, int what)
{
	return what == RATE_BYTES ? c->bytes : what == RATE_REQUESTS ? c->requests : c->time;
}

/* Random requests, as one that always wants more is let through; what it got of WHAT in 1000 s. */
static double rate_had(struct rate_limit *l, int what, uint64_t seed)
{
	uint64_t now = SEC, had = 0;

	while (now < 1001 * SEC) {
		struct rate_cost c = {1 + random_below(&seed, 2 * MIB), 1,
				      1 + random_below(&seed, 20 * MSEC)};

		if (!rate_limit_may_go(l, now))
			now = rate_limit_opens(l);
		rate_limit_charge(l, &c, now, random_below(&seed, 2));
		now += c.time + random_below(&seed, 2) * random_below(&seed, 10 * MSEC);
		had += units_of(&c, what);
	}
	return (double)had / ((double)(now - SEC) / (double)SEC);
}

static void test_in_the_long_run_the_ceiling_is_the_rate(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 30; i++) { /* all below what the disk could give */
		struct share_limit s[RATE_RESOURCES] = {
			{.bandwidth = 1 + random_below(&seed, 50 * MB)},
			{.iops = 1 + (uint32_t)random_below(&seed, 50)},
			{.time = 1 + (uint32_t)random_below(&seed, 60)},
		};
		int what = i % RATE_RESOURCES;
		struct rate_limit l = with_ceiling(s[what]);
		double ceiling = (double)l.ceiling[what].rate, had = rate_had(&l, what, seed);

		/* a request at the end of a second counts in full */
		assert_true(had > 0.99 * ceiling && had < 1.01 * ceiling + 2.2e6 / 1000);
	}
}

/* In no window more than the ceiling, a burst, and the request that goes beyond it. */
static void test_in_no_window_more_than_the_ceiling(void **state)
{
	enum { N = 4000 };
	static uint64_t at[N], sum[N + 1];
	struct rate_limit l = with_ceiling((struct share_limit){.bandwidth = 10 * MB});
	uint64_t seed = 2, now = SEC;

	for (int i = 0; i < N; i++) {
		uint64_t bytes = random_below(&seed, 500000);

		if (!random_below(&seed, 50))
			now += random_below(&seed, 3 * SEC); /* idle */
		if (!rate_limit_may_go(&l, now))
			now = rate_limit_opens(&l);
		at[i] = now;
		sum[i + 1] = sum[i] + bytes;
		take(&l, bytes, now);
		now += random_below(&seed, 5 * MSEC);
	}
	for (int a = 0; a < N; a++)
		for (int b = a; b < N && b < a + 300; b++)
			assert_true(sum[b + 1] - sum[a] <=
				    (at[b] - at[a] + RATE_BURST) / 100 + 500000 + 1);
}

/* The ceiling goes up and down: what it had is what it might have had. */
static void test_a_ceiling_that_changes_all_the_time(void **state)
{
	struct rate_limit l = with_ceiling((struct share_limit){.bandwidth = MB});
	uint64_t seed = 3, now = SEC, change = SEC, rate = MB;
	double might = 0, had = 0;

	for (int i = 0; i < 20000; i++) {
		uint64_t next = now + random_below(&seed, 100 * MSEC);

		might += (double)rate * (double)(next - now) / 1e9;
		now = next;
		if (now >= change) {
			rate = MB * (1 + random_below(&seed, 100));
			rate_limit_set(&l, &none, &(struct share_limit){.bandwidth = rate}, now);
			change = now + random_below(&seed, 300 * MSEC);
		}
		while (rate_limit_may_go(&l, now)) {
			uint64_t bytes = random_below(&seed, MB);

			take(&l, bytes, now);
			had += (double)bytes;
		}
	}
	/* of up to 100 ms it has saved 50 ms at most */
	assert_true(had > 0.7 * might && had < 1.01 * might);
}

struct client {
	struct rate_limit limit;
	uint64_t floor, had; /* bytes/s; bytes */
};

#define CLIENTS	  4
#define FLOOR_REQ (500 * UINT64_C(1000))
#define DISK_RATE UINT64_C(100) /* MB/s */

/* The one furthest behind its floor; NULL: none is. */
static struct client *most_behind(struct client *c, uint64_t now)
{
	struct client *first = NULL;

	for (int i = 0; i < CLIENTS; i++)
		if (rate_limit_is_behind(&c[i].limit, now) &&
		    (!first ||
		     rate_limit_deadline(&c[i].limit) < rate_limit_deadline(&first->limit)))
			first = &c[i];
	return first;
}

/* Floors of 90 % of a disk, earliest deadline first, and a greedy one for the rest. */
static void test_floors_by_earliest_deadline(void **state)
{
	struct client c[CLIENTS] = {{.floor = 40}, {.floor = 30}, {.floor = 15}, {.floor = 5}};
	uint64_t now = SEC, window = SEC, greedy = 0, all = 0;

	for (int i = 0; i < CLIENTS; i++)
		c[i].limit = with_floor((struct share_limit){.bandwidth = c[i].floor * MB});
	while (now < 60 * SEC) {
		struct client *next = most_behind(c, now);
		uint64_t bytes = next ? FLOOR_REQ : 4 * MB, start = now;

		now += bytes * 1000 / DISK_RATE;
		all += bytes;
		if (next) {
			take(&next->limit, bytes, start);
			next->had += bytes;
		} else {
			greedy += bytes;
		}
		if (now < window + SEC)
			continue;
		for (int i = 0; i < CLIENTS; i++) { /* but for the request that is about to go */
			assert_true(c[i].had + 2 * FLOOR_REQ >= c[i].floor * MB);
			c[i].had = 0;
		}
		window += SEC;
	}
	assert_true(greedy * 100 >= all * 9); /* floors take no more than they reserve */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_limits_nothing_holds),
		cmocka_unit_test(test_each_resource_has_its_ceiling),
		cmocka_unit_test(test_no_more_than_a_burst_is_saved),
		cmocka_unit_test(test_a_long_request_loses_nothing),
		cmocka_unit_test(test_behind_from_the_tag_on),
		cmocka_unit_test(test_idleness_earns_no_floor),
		cmocka_unit_test(test_what_the_disk_could_not_give_is_soon_forgotten),
		cmocka_unit_test(test_what_was_left_over_is_not_held_against_a_floor),
		cmocka_unit_test(test_a_new_ceiling_keeps_the_debt_in_bytes),
		cmocka_unit_test(test_no_number_is_too_large),
		cmocka_unit_test(test_in_the_long_run_the_ceiling_is_the_rate),
		cmocka_unit_test(test_in_no_window_more_than_the_ceiling),
		cmocka_unit_test(test_a_ceiling_that_changes_all_the_time),
		cmocka_unit_test(test_floors_by_earliest_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
