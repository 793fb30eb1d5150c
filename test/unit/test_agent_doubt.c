/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Prices that stand still or jump, and what a server with work, an idle and a full one say. */
#include "support.h"

#include <math.h>

#include "doubt.h"

#define LOW  0.05
#define PACE 2 /* s between replies */

/* COUNT replies with the prices that PRICE makes of their number; how many of them were doubted. */
static unsigned int doubted(struct doubt *d, unsigned int count, double (*price)(unsigned int))
{
	static double now = 1000;
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct fsstat_prices p = {price(i), price(i) / 2, 1};

		n += doubt_feed(d, &p, LOW, now += PACE);
	}
	return n;
}

static double idle(unsigned int i)
{
	(void)i;
	return 0.01;
}

static double frozen(unsigned int i)
{
	(void)i;
	return 0.6;
}

static double full(unsigned int i)
{
	(void)i;
	return 1;
}

static double busy(unsigned int i)
{
	return 0.5 + 0.3 * sin(i);
}

/* A server that is dear while we send, and cheap while we do not: at least two replies each. */
static double by_turns(unsigned int i)
{
	return i / 2 % 2 ? 0.02 : 0.9;
}

static double jumping(unsigned int i)
{
	return i % 2 ? 0.02 : 0.9;
}

static void test_what_is_believed(void **state)
{
	double (*const prices[])(unsigned int) = {idle, busy, by_turns};

	for (unsigned int i = 0; i < 3; i++) {
		struct doubt d = {0};

		assert_int_equal(doubted(&d, 2000, prices[i]), 0);
	}
}

static void test_frozen(void **state)
{
	struct doubt d = {0};

	assert_int_equal(doubted(&d, DOUBT_STILL / PACE, frozen), 0);
	assert_int_equal(doubted(&d, 100, frozen), 100);
	assert_true(d.frozen);
	assert_int_equal(doubted(&d, 10, busy), 0); /* it moves again */
}

static void test_a_full_server_may_stand_still_for_longer(void **state)
{
	struct doubt d = {0};

	assert_int_equal(doubted(&d, DOUBT_FULL / PACE, full), 0);
	assert_int_equal(doubted(&d, 10, full), 10);
}

static void test_jumping(void **state)
{
	struct doubt d = {0};
	unsigned int n = doubted(&d, 100, jumping);

	assert_in_range(n, 100 - DOUBT_WINDOW, 100 - DOUBT_TURNS);
	assert_in_range(doubted(&d, 100, busy), 1, DOUBT_WINDOW);
	assert_false(d.jumping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_believed),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_a_full_server_may_stand_still_for_longer),
		cmocka_unit_test(test_jumping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
