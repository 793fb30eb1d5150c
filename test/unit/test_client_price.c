/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a client is told for what it used and what it is entitled to: the rule's promises, one each. */
#include "support.h"

#include <math.h>

#include "pricing/client_price.h"

static const double k[PRICE_RESOURCES] = {1000, 1000, 100, 10};

static struct price_snapshot busy(double disk, double memory)
{
	struct price_snapshot s = {.utilization = {[PRICE_DISK] = disk, [PRICE_MEMORY] = memory}};

	price_combine(&s, k);
	return s;
}

static double ratio_of(double use, double entitled, double weight)
{
	struct client_standing s = {.use = use, .entitled = entitled, .weight = weight};

	return client_ratio(&s);
}

static double price_at(double u, double ratio)
{
	struct price_snapshot s = busy(u, 0);

	return client_price(&s, k, ratio).readahead;
}

static void test_alone_it_is_the_plain_price(void **state)
{
	for (double doubt = 0; doubt <= 1; doubt += 0.01) {
		struct client_standing s = {.use = 1, .entitled = 1, .weight = 1, .doubt = doubt};

		assert_true(client_ratio(&s) == 1);
	}
	for (double u = 0; u <= 1; u += 0.01) {
		struct price_snapshot s = busy(u, u / 2);
		struct client_prices p = client_price(&s, k, 1);

		assert_true(p.write == s.write && p.readahead == s.readahead);
	}
}

/* ... within five percent, and without a step there. */
static void test_equal_clients_pay_the_plain_price(void **state)
{
	assert_true(ratio_of(1.0 / 3, 1.0 / 3, 1) == 1);
	assert_true(ratio_of(0.104, 0.1, 1) == 1 && ratio_of(0.096, 0.1, 1) == 1);
	assert_true(ratio_of(0.1051, 0.1, 1) < 1.01 && ratio_of(0.095, 0.1, 1) > 0.99);
	assert_true(ratio_of(0.1051, 0.1, 1) > 1 && ratio_of(0.095, 0.1, 1) < 1);
	assert_true(ratio_of(0.5, 0.5, 1 + 1e-12) == 1);
}

static void test_dearer_with_use(void **state)
{
	double last = 0;

	for (double use = 0; use <= 1; use += 0.001) {
		double ratio = ratio_of(use, 0.3, 1.2);

		assert_true(ratio >= last);
		last = ratio;
	}
	assert_true(ratio_of(0.15, 0.1, 1) > 1.4 && ratio_of(0.05, 0.1, 1) < 0.6);
	assert_true(ratio_of(0, 0.3, 1) == CLIENT_RATIO_MIN);
	assert_true(ratio_of(1, 0.3, 1) == CLIENT_RATIO_MAX);
}

/* With the same use, and also where each uses what it is entitled to. */
static void test_cheaper_with_weight(void **state)
{
	double last = CLIENT_RATIO_MAX, last_even = CLIENT_RATIO_MAX;

	for (double weight = 0.1; weight < 20; weight *= 1.1) {
		double entitled = weight / (weight + 2);
		double ratio = ratio_of(0.5, entitled, weight * 2 / (weight + 1));
		double at_share = ratio_of(entitled, entitled, weight * 2 / (weight + 1));

		assert_true(ratio <= last && at_share <= last_even);
		last = ratio;
		last_even = at_share;
	}
	assert_true(ratio_of(0.2, 0.2, 0.4) > 1.2 && ratio_of(0.8, 0.8, 1.6) < 0.9);
}

static void test_little_seen_is_little_believed(void **state)
{
	struct client_standing s = {.use = 0.9, .entitled = 0.5, .weight = 1, .doubt = 1};

	assert_true(client_ratio(&s) == 1);
	s.doubt = 0.5;
	assert_true(client_ratio(&s) > 1.2 && client_ratio(&s) < 1.5);
}

/* Nobody has a standing in nothing. */
static void test_what_makes_no_sense_costs_the_plain_price(void **state)
{
	assert_true(ratio_of(0, 0, 1) == 1 && ratio_of(0.5, 0, 1) == 1);
	assert_true(ratio_of(0.5, 0.5, 0) == 1 && ratio_of(0.5, NAN, 1) == 1);
	assert_true(ratio_of(0.5, 0.5, NAN) == 1);
	assert_true(isfinite(ratio_of(1, 1e-300, 1e-300)));
}

static void test_bounds_of_prices(void **state)
{
	for (double ratio = CLIENT_RATIO_MIN; ratio <= CLIENT_RATIO_MAX; ratio += 0.1) {
		double last = 0;

		assert_true(price_at(0, ratio) == 0); /* an idle server is free for all */
		for (double u = 0; u <= 1; u += 0.001) {
			double p = price_at(u, ratio);

			assert_true(p >= last && p <= 1); /* dearer with load, for anyone */
			assert_true(ratio >= 1 ? p >= price_of(100, u) : p <= price_of(100, u));
			last = p;
		}
		if (ratio >= 1)
			assert_true(price_at(1, ratio) == 1);
	}
	/* a saturated server: at least this, and more for whoever had more than his share */
	assert_true(price_at(1, CLIENT_RATIO_MIN) == price_of(100, 0.25));
	assert_true(price_at(1, ratio_of(0.2, 0.19, 1e6)) > 0.25);
}

/* What nobody else wants costs little more, whoever takes it. */
static void test_a_quiet_server_hardly_tells_clients_apart(void **state)
{
	assert_true(price_at(0.2, 2) < 0.05 && price_at(0.1, 2) < 0.02);
	assert_true(price_at(0.6, 2) > 0.5 && price_at(0.6, 0.5) < 0.07);
}

/* Data in memory waits for the disk; the processor does not. */
static void test_which_resources_know_clients(void **state)
{
	struct price_snapshot s = busy(0, 0.7);
	struct client_prices p = client_price(&s, k, 2);

	assert_true(p.write > s.write && p.readahead == s.readahead);
	s.utilization[PRICE_CPU] = 0.9;
	s.utilization[PRICE_MEMORY] = 0;
	price_combine(&s, k);
	p = client_price(&s, k, 2);
	assert_true(p.write == s.write && p.readahead == s.readahead);
	p = client_price(&s, k, 0.5);
	assert_true(p.write == s.write && p.readahead == s.readahead);
}

/*
 * Equal weights, whatever was used within the bounds of the ratio: what clients are entitled to costs
 * no more than without the rule, what they use no less; to the five percent that count as even.
 */
static void test_the_means(void **state)
{
	uint64_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		double use[8], sum = 0, by_share = 0, by_use = 0;
		double u = (double)random_below(&seed, 1000) / 1000;

		for (int i = 0; i < 8; i++)
			sum += use[i] = 1 + (double)random_below(&seed, 1000) / 1000;
		for (int i = 0; i < 8; i++) {
			double factor = pow(ratio_of(use[i] / sum, 1.0 / 8, 1), sqrt(u));

			by_share += factor / 8;
			by_use += factor * use[i] / sum;
		}
		assert_true(by_share < 1.05 && by_use > 0.95);
		assert_true(by_share > 0.9 && by_use < 1.1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone_it_is_the_plain_price),
		cmocka_unit_test(test_equal_clients_pay_the_plain_price),
		cmocka_unit_test(test_dearer_with_use),
		cmocka_unit_test(test_cheaper_with_weight),
		cmocka_unit_test(test_little_seen_is_little_believed),
		cmocka_unit_test(test_what_makes_no_sense_costs_the_plain_price),
		cmocka_unit_test(test_bounds_of_prices),
		cmocka_unit_test(test_a_quiet_server_hardly_tells_clients_apart),
		cmocka_unit_test(test_which_resources_know_clients),
		cmocka_unit_test(test_the_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
