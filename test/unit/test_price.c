/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pricing function at its ends, at its limits, and which resource makes the price. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <float.h>
#include <math.h>

#include "pricing/price.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const double ks[] = {1, 1 + DBL_EPSILON, 1 + 1e-12, 1.001, 2, 10, 1e3, 1e6, 1e9};

static void test_exact_at_the_ends(void **state)
{
	for (unsigned int i = 0; i < LEN(ks); i++) {
		assert_true(price_of(ks[i], 0) == 0);
		assert_true(price_of(ks[i], 1) == 1);
	}
}

static void test_clamps(void **state)
{
	assert_true(price_of(10, -0.1) == 0);
	assert_true(price_of(10, 1.1) == 1);
	assert_true(price_of(10, INFINITY) == 1);
	assert_true(price_of(10, -INFINITY) == 0);
	assert_true(price_of(10, NAN) == 0);
	assert_true(price_of(NAN, 0.3) == 0.3);
	assert_true(price_of(0, 0.3) == 0.3);
	assert_true(price_of(-5, 0.3) == 0.3);
	assert_true(price_of(INFINITY, 0.3) == price_of(PRICE_K_MAX, 0.3));
}

static void test_never_falls(void **state)
{
	for (unsigned int i = 0; i < LEN(ks); i++) {
		double last = 0;

		for (int step = 0; step <= 100000; step++) {
			double p = price_of(ks[i], step / 100000.0);

			assert_true(p >= last && p <= 1);
			last = p;
		}
	}
	for (double u = DBL_MIN; u < 1; u *= 1.7)
		assert_true(price_of(1e9, u) <= price_of(1e9, u * 1.7));
}

static void test_linear_towards_one(void **state)
{
	for (double u = 0; u <= 1; u += 0.01) {
		assert_true(price_of(1, u) == u);
		assert_true(fabs(price_of(1 + DBL_EPSILON, u) - u) < 1e-15);
		assert_true(fabs(price_of(1 + 1e-9, u) - u) < 1e-9);
	}
}

/* Against the formula as it stands, where that is harmless. */
static void test_the_formula(void **state)
{
	for (unsigned int i = 4; i < LEN(ks); i++)
		for (double u = 0.01; u <= 1; u += 0.01) {
			double naive = (pow(ks[i], u) - 1) / (ks[i] - 1);

			assert_true(fabs(price_of(ks[i], u) - naive) <= 1e-12 * naive);
		}
}

/* A larger k is never dearer at the same utilization. */
static void test_larger_k_later(void **state)
{
	for (unsigned int i = 1; i < LEN(ks); i++)
		for (double u = 0; u <= 1; u += 0.01)
			assert_true(price_of(ks[i], u) <= price_of(ks[i - 1], u) + 1e-15);
}

static void test_the_dearest_makes_the_price(void **state)
{
	static const double k[PRICE_RESOURCES] = {10, 100, 2, 1000};
	struct price_snapshot s = {.utilization = {0.5, 0.5, 0.5, 0.5}};

	price_combine(&s, k);
	assert_int_equal(s.write_by, PRICE_DISK);
	assert_int_equal(s.readahead_by, PRICE_DISK);
	assert_true(s.write == price_of(2, 0.5) && s.readahead == s.write);

	s.utilization[PRICE_MEMORY] = 1;
	price_combine(&s, k);
	assert_int_equal(s.write_by, PRICE_MEMORY);
	assert_int_equal(s.readahead_by, PRICE_DISK); /* read-ahead does not pay for memory */
	assert_true(s.write == 1);
	assert_true(s.readahead == price_of(2, 0.5));
	for (int i = 0; i < PRICE_RESOURCES; i++)
		assert_true(s.price[i] == price_of(k[i], s.utilization[i]));
}

static void test_idle(void **state)
{
	static const double k[PRICE_RESOURCES] = {10, 100, 2, 1000};
	struct price_snapshot s = {0};

	price_combine(&s, k);
	assert_true(s.write == 0 && s.readahead == 0);
	assert_int_equal(s.write_by, PRICE_CPU);
}

static void test_names(void **state)
{
	assert_string_equal(price_resource_names[PRICE_CPU], "cpu");
	assert_string_equal(price_resource_names[PRICE_NETWORK], "network");
	assert_string_equal(price_resource_names[PRICE_DISK], "disk");
	assert_string_equal(price_resource_names[PRICE_MEMORY], "memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_at_the_ends),
		cmocka_unit_test(test_clamps),
		cmocka_unit_test(test_never_falls),
		cmocka_unit_test(test_linear_towards_one),
		cmocka_unit_test(test_the_formula),
		cmocka_unit_test(test_larger_k_later),
		cmocka_unit_test(test_the_dearest_makes_the_price),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
