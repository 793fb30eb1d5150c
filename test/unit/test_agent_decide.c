/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The client's auction: who wins, hysteresis, the bounds on deferral, and how far to read ahead. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <math.h>

#include "decide.h"
#include "pricing/price.h"

static const struct decide_limits limits = {
	.defer = true,
	.accelerate = true,
	.readahead = true,
	.k = 10000,
	.price_min = 0.05,
	.defer_max = 24,
	.readahead_min = 16,
	.readahead_max = 1024,
};

static enum write_way way_at(struct decision *a, double write, double dirty, double now)
{
	struct decide_input view = {.priced = true, .write = write, .dirty = dirty};

	decide(a, &limits, &view, now);
	return a->way;
}

static void test_our_price(void **state)
{
	assert_true(decide_price(&limits, 0) == 0.05);
	assert_true(decide_price(&limits, 0.5) == 0.05);
	assert_true(decide_price(&limits, 0.9) == price_of(10000, 0.9));
	assert_true(decide_price(&limits, 1) > 1);
	assert_true(decide_price(&limits, 7) > 1);
	assert_true(decide_price(&limits, NAN) == 0.05);
}

static enum decide_why why_at(struct decision *a, const struct decide_limits *l, double write,
			      double dirty, double now)
{
	struct decide_input view = {.priced = write >= 0, .write = write, .dirty = dirty};

	decide(a, l, &view, now);
	return a->why;
}

static void test_each_way_has_its_reason(void **state)
{
	struct decide_limits timid = limits;
	struct decision a = {0};

	timid.defer = false;
	assert_int_equal(why_at(&a, &limits, -1, 0, 100), WHY_NO_PRICES);
	assert_int_equal(why_at(&a, &limits, 0.05, 0, 101), WHY_EVEN);
	assert_int_equal(why_at(&a, &timid, 0.9, 0, 102), WHY_NOT_WANTED);
	assert_int_equal(why_at(&a, &limits, 0.01, 0, 103), WHY_CHEAP);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 104), WHY_DEARER);
	assert_int_equal(why_at(&a, &limits, 0.03, 0, 105), WHY_DWELL);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 106), WHY_DEARER);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 104 + 24), WHY_REST);
	assert_int_equal(a.way, WRITE_NORMAL);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 104 + 24 + DECIDE_REST), WHY_DEARER);
	assert_int_equal(why_at(&a, &limits, 0.9, 1, 140), WHY_MEMORY);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 141), WHY_REST);
	for (int i = 0; i < DECIDE_WHYS; i++)
		assert_non_null(decide_why_texts[i]);
}

static void test_idle_server_gets_the_writes(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 0, 0, 100), WRITE_ACCELERATE);
	assert_int_equal(way_at(&a, 0, 1, 101), WRITE_ACCELERATE);
}

static void test_dear_server_and_memory_to_spare(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 0.9, 0.1, 100), WRITE_DEFER);
	assert_true(a.since == 100);
}

static void test_both_dear_the_server_writes(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 1, 1, 100), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 1, 0.2, 101), WRITE_DEFER);
	assert_int_equal(way_at(&a, 1, 1, 101.5), WRITE_NORMAL);
	/* and it goes on for a while, or we would change with every page */
	assert_int_equal(way_at(&a, 1, 0.2, 102), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 1, 0.2, 101.5 + DECIDE_REST), WRITE_DEFER);
}

/* Ours is 0.05 throughout. */
static void test_hysteresis(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 0.06, 0, 100), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.063, 0, 101), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0.045, 0, 110), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0.039, 0, 111), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.06, 0, 112), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.021, 0, 113), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.019, 0, 114), WRITE_ACCELERATE);
	assert_int_equal(way_at(&a, 0.030, 0, 115), WRITE_ACCELERATE);
	assert_int_equal(way_at(&a, 0.032, 0, 116), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.2, 0, 117), WRITE_DEFER);
}

static void test_deferral_lasts_a_moment(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 0.5, 0, 100), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0, 0, 101), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0, 0, 100 + DECIDE_DWELL), WRITE_ACCELERATE);
}

static void test_deferral_ends(void **state)
{
	struct decision a = {0};
	double longest = 0, began = -1;

	for (double now = 0; now < 1000; now += 0.5) {
		if (way_at(&a, 1, 0.1, now) != WRITE_DEFER)
			began = -1;
		else if (began < 0)
			began = now;
		else
			longest = fmax(longest, now - began);
	}
	assert_true(longest > 20 && longest + 5 < 30);
}

static void test_no_prices_nothing_done(void **state)
{
	struct decision a = {0};
	struct decide_input view = {.write = 1, .readahead = 1};

	way_at(&a, 1, 0, 100);
	decide(&a, &limits, &view, 100.1);
	assert_int_equal(a.way, WRITE_NORMAL);
	assert_int_equal(a.readahead, 0);
}

static void test_switches(void **state)
{
	struct decide_limits l = limits;
	struct decide_input view = {.priced = true, .write = 1};
	struct decision a = {0};

	l.defer = l.accelerate = l.readahead = false;
	decide(&a, &l, &view, 100);
	assert_int_equal(a.way, WRITE_NORMAL);
	assert_int_equal(a.readahead, 0);
	view.write = 0;
	decide(&a, &l, &view, 101);
	assert_int_equal(a.way, WRITE_NORMAL);
}

static uint32_t readahead_at(struct decision *a, double price)
{
	struct decide_input view = {.priced = true, .readahead = price};

	decide(a, &limits, &view, 100);
	return a->readahead;
}

static void test_readahead_follows_the_price(void **state)
{
	struct decision a = {0};
	uint32_t last = 1024;

	assert_int_equal(readahead_at(&a, 0), 1024);
	assert_int_equal(readahead_at(&a, 0.05), 1024);
	for (double price = 0.05; price < 1; price *= 1.01) {
		uint32_t kib = readahead_at(&a, price);

		assert_true(kib == last || kib == last / 2);
		last = kib;
	}
	assert_int_equal(readahead_at(&a, 1), 16);
	assert_int_equal(readahead_at(&a, 0), 1024);
}

static void test_readahead_has_hysteresis(void **state)
{
	struct decision a = {0};
	unsigned int changes = 0;
	uint32_t last = 0;

	for (int i = 0; i < 100; i++) { /* ten per cent up and down */
		uint32_t kib = readahead_at(&a, i % 2 ? 0.22 : 0.2);

		changes += kib != last;
		last = kib;
	}
	assert_true(changes <= 2);
}

static void test_short_memory_reads_no_more_ahead_than_before(void **state)
{
	struct decision a = {0};
	struct decide_input view = {.priced = true, .memory_short = true, .readahead_found = 128};

	decide(&a, &limits, &view, 100);
	assert_int_equal(a.readahead, 128);
	view.readahead_found = 4;
	decide(&a, &limits, &view, 101);
	assert_int_equal(a.readahead, 16);
	view.memory_short = false;
	decide(&a, &limits, &view, 102);
	assert_int_equal(a.readahead, 1024);
}

/* The ends of the settings' ranges. */
static void test_extremes(void **state)
{
	struct decide_limits l = limits;
	struct decide_input view = {.priced = true, .write = 1, .readahead = 0.5};
	struct decision a = {0};

	l.price_min = 1;
	l.readahead_min = l.readahead_max = 4;
	decide(&a, &l, &view, 100);
	assert_int_equal(a.way, WRITE_NORMAL);
	assert_int_equal(a.readahead, 4);
	l.readahead_max = 65536;
	decide(&a, &l, &view, 101);
	assert_int_equal(a.readahead, 65536);
	l.price_min = 0.0002;
	l.readahead_min = 100;
	l.readahead_max = 300;
	view.readahead = 0;
	decide(&a, &l, &view, 102);
	assert_int_equal(a.readahead, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_our_price),
		cmocka_unit_test(test_each_way_has_its_reason),
		cmocka_unit_test(test_idle_server_gets_the_writes),
		cmocka_unit_test(test_dear_server_and_memory_to_spare),
		cmocka_unit_test(test_both_dear_the_server_writes),
		cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_deferral_lasts_a_moment),
		cmocka_unit_test(test_deferral_ends),
		cmocka_unit_test(test_no_prices_nothing_done),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_readahead_follows_the_price),
		cmocka_unit_test(test_readahead_has_hysteresis),
		cmocka_unit_test(test_short_memory_reads_no_more_ahead_than_before),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
