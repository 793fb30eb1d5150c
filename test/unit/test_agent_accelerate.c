/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of decisions: when written data is sent at once, and when holding it back is in vain. */
#include "support.h"

#include "decide.h"

static const struct decide_limits limits = {
	.defer = true,
	.accelerate = true,
	.readahead = true,
	.k = 10000,
	.k_cache = 10,
	.price_min = 0.05,
	.defer_max = 24,
	.readahead_min = 16,
	.readahead_max = 1024,
};

/* While memory is free for what waits nobody gains by sending it at once. */
static void test_memory_to_spare_is_not_accelerated(void **state)
{
	struct decision a = {0};
	struct decide_input view = {.priced = true, .write = 0};
	const struct {
		double pressed;
		enum write_way way;
	} steps[] = {{0, WRITE_NORMAL},	       {0.6, WRITE_NORMAL},  {0.63, WRITE_ACCELERATE},
		     {0.41, WRITE_ACCELERATE}, {0.39, WRITE_NORMAL}, {0.6, WRITE_NORMAL}};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		view.pressed = steps[i].pressed;
		decide(&a, &limits, &view, 100 + 10.0 * (double)i);
		decide(&a, &limits, &view, 105 + 10.0 * (double)i);
		assert_int_equal(a.way, steps[i].way);
	}
}

/* What programs read again has no room beside what is written: that goes out, whatever is asked for it. */
static void test_cached_data_that_is_lost(void **state)
{
	struct decide_limits l = limits;
	struct decide_input view = {.priced = true, .write = 0.9, .worth = 0.5, .pressed = 1};
	struct decision a = {0};

	decide(&a, &l, &view, 100);
	assert_int_equal(a.way, WRITE_DEFER);
	view.cache_lost = true;
	decide(&a, &l, &view, 100.5); /* at once */
	assert_int_equal(a.way, WRITE_ACCELERATE);
	assert_int_equal(a.why, WHY_LOST);
	l.accelerate = false;
	decide(&a, &l, &view, 101);
	assert_int_not_equal(a.way, WRITE_ACCELERATE);
	l.accelerate = true;
	view.writes_unused = true;
	decide(&a, &l, &view, 102);
	assert_int_equal(a.why, WHY_UNUSED);
	view.priced = false;
	decide(&a, &l, &view, 103);
	assert_int_equal(a.why, WHY_NO_PRICES);
}

/* Files that are closed as soon as they are written go out whatever we do: their programs only wait. */
static void test_deferral_in_vain(void **state)
{
	struct decide_input view = {.priced = true, .write = 0.9};
	struct decision a = {0};

	decide(&a, &limits, &view, 100);
	assert_int_equal(a.way, WRITE_DEFER);
	view.defer_vain = true;
	decide(&a, &limits, &view, 101); /* at once */
	assert_int_equal(a.why, WHY_VAIN);
	assert_int_equal(a.way, WRITE_NORMAL);
	decide(&a, &limits, &view, 150);
	assert_int_equal(a.why, WHY_VAIN);
	view.write = 0.04;
	decide(&a, &limits, &view, 151);
	assert_int_equal(a.why, WHY_EVEN);
	view.write = 0.9;
	view.defer_vain = false;
	decide(&a, &limits, &view, 161);
	assert_int_equal(a.way, WRITE_DEFER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_to_spare_is_not_accelerated),
		cmocka_unit_test(test_cached_data_that_is_lost),
		cmocka_unit_test(test_deferral_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
