/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* nfsbench's offered load: mixes and arrivals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "unit_cmocka.h"

#include "offered.h"

#define MANY 100000

static void draw_many(const char *text, unsigned int *count)
{
	struct mix mix;
	struct prng prng;

	assert_int_equal(mix_parse(&mix, text), 0);
	prng_init(&prng, 1);
	for (int i = 0; i < MANY; i++)
		count[mix_draw(&mix, &prng)]++;
}

static void test_a_mix_is_drawn_by_its_weights(void **state)
{
	unsigned int half[MIX_OPS] = {0}, own[MIX_OPS] = {0};

	draw_many("read-lookup", half);
	assert_in_range(half[MIX_READ], MANY * 49 / 100, MANY * 51 / 100);
	assert_int_equal(half[MIX_READ] + half[MIX_LOOKUP], MANY);
	draw_many("lookup=3,write=1,fsstat=0", own);
	assert_in_range(own[MIX_LOOKUP], MANY * 74 / 100, MANY * 76 / 100);
	assert_int_equal(own[MIX_FSSTAT], 0);
}

static void test_the_default_mix_has_every_operation_and_the_papers_share_of_writes(void **state)
{
	unsigned int count[MIX_OPS] = {0};

	draw_many("default", count);
	for (int op = 0; op < MIX_OPS; op++)
		assert_true(count[op] > 0);
	assert_in_range(count[MIX_WRITE], MANY * 7 / 100, MANY * 10 / 100);
	assert_true(count[MIX_LOOKUP] > count[MIX_READ]);
}

static void test_what_is_no_mix_is_refused(void **state)
{
	static const char *const wrong[] = {"",		"lookup=0",   "look=1",		  "lookup",
					    "lookup=",	"read=10001", "read=1,,lookup=1", "=1",
					    "lookup=-1"};
	struct mix mix;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (i != 3) /* the one that is */
			assert_int_equal(mix_parse(&mix, wrong[i]), -1);
	}
	assert_int_equal(mix_parse(&mix, wrong[3]), 0);
}

static void test_even_arrivals(void **state)
{
	struct schedule s;

	schedule_init(&s, 1000, false, 1);
	for (uint64_t i = 1; i < 100; i++)
		assert_int_equal(schedule_next(&s), i * 1000000);
}

static void test_poisson_arrivals_have_the_rate_and_the_spread(void **state)
{
	struct schedule s;
	uint64_t last = 0, at = 0;
	unsigned int close = 0;

	schedule_init(&s, 1000, true, 1);
	for (int i = 0; i < MANY; i++, last = at) {
		at = schedule_next(&s);
		assert_true(at >= last);
		close +=
			at - last < 100000; /* a tenth of the mean: 1 - exp(-0.1) = 9.5 % of them */
	}
	assert_in_range(at, UINT64_C(99000000000), UINT64_C(101000000000));
	assert_in_range(close, MANY * 9 / 100, MANY * 10 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mix_is_drawn_by_its_weights),
		cmocka_unit_test(
			test_the_default_mix_has_every_operation_and_the_papers_share_of_writes),
		cmocka_unit_test(test_what_is_no_mix_is_refused),
		cmocka_unit_test(test_even_arrivals),
		cmocka_unit_test(test_poisson_arrivals_have_the_rate_and_the_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
