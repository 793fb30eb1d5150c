/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The client's side of the auction: what its memory is worth to it, who wins, and what is steady. */
#include "support.h"

#include "pricing/auction.h"
#include "pricing/ghost_worth.h"
#include "pricing/price.h"

static const struct auction_terms terms = {
	.k_dirty = 1e4,
	.k_worth = 10,
	.k_network = 1000,
	.price_min = 0.05,
	.hysteresis = 1.25,
	.cheap = 0.5,
};

static double bid(double dirty, double worth)
{
	const struct auction_state s = {.dirty = dirty, .worth = worth};

	return auction_bid(&terms, &s);
}

static void test_bid(void **state)
{
	assert_true(bid(0, 0) == 0.05); /* Pmin: if neither is congested the server writes */
	assert_true(bid(1, 0) == AUCTION_CEILING && bid(7, 0) == AUCTION_CEILING);
	assert_true(bid(0.9, 0) == price_of(1e4, 0.9));
	assert_true(bid(0.2, 0.5) == price_of(10, 0.5)); /* read data that is worth keeping */
	assert_true(bid(0, 1) == 1);
	for (double u = 0; u < 1; u += 0.01)
		assert_true(bid(u + 0.01, 0.3) >= bid(u, 0.3) && bid(u, 0.31) >= bid(u, 0.3));
}

static void test_ask_is_of_the_whole_way(void **state)
{
	const struct auction_state idle = {0}, busy = {.network = 0.95};

	assert_true(auction_ask(&terms, &idle, 0.2) == 0.2);
	assert_true(auction_ask(&terms, &busy, 0.2) == price_of(1000, 0.95));
	assert_true(auction_ask(&terms, &busy, 0.9) == 0.9);
}

static void test_both_full_the_server_gets_it(void **state)
{
	for (enum auction_way was = 0; was < AUCTION_WAYS; was++)
		assert_int_equal(auction_write(&terms, 1, bid(1, 0), was), AUCTION_SEND);
	assert_int_equal(auction_write(&terms, 1, bid(0, 0), AUCTION_SEND), AUCTION_DEFER);
}

static void test_idle_server_is_as_good_as_free(void **state)
{
	assert_int_equal(auction_write(&terms, 0, bid(0, 0), AUCTION_SEND), AUCTION_ACCELERATE);
	assert_int_equal(auction_write(&terms, 0.01, bid(0, 0), AUCTION_DEFER), AUCTION_ACCELERATE);
}

/* A price that moves within the band changes nothing. */
static void test_hysteresis(void **state)
{
	enum auction_way way = AUCTION_SEND;

	for (int i = 0; i < 10; i++) {
		way = auction_write(&terms, 0.05 * (i % 2 ? 0.85 : 1.2), 0.05, way);
		assert_int_equal(way, AUCTION_SEND);
	}
	way = auction_write(&terms, 0.05 * 1.3, 0.05, way);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(way, AUCTION_DEFER);
		way = auction_write(&terms, 0.05 * (i % 2 ? 0.85 : 1.2), 0.05, way);
	}
	way = auction_write(&terms, 0.05 * 0.39, 0.05, AUCTION_SEND);
	assert_int_equal(way, AUCTION_ACCELERATE);
	assert_int_equal(auction_write(&terms, 0.05 * 0.6, 0.05, way), AUCTION_ACCELERATE);
	assert_int_equal(auction_write(&terms, 0.05 * 0.63, 0.05, way), AUCTION_SEND);
}

/* Random reads of a set as large as the cache: a little less memory loses hits in proportion. */
static void test_worth(void **state)
{
	struct ghost_cache *g = ghost_new_within(1 << 20);
	struct ghost_worth w = {0};
	uint64_t seed = 1, now = 0;

	assert_non_null(g);
	ghost_resize(g, 4096);
	for (int step = 0; step < 400; step++) {
		struct ghost_counts c;

		for (int i = 0; i < 200; i++)
			ghost_read(g, 1, random_below(&seed, 5000) * GHOST_PAGE, GHOST_PAGE);
		ghost_drain(g);
		ghost_counts(g, &c);
		ghost_worth_sample(&w, 5 * SEC, 256, now += 100 * MSEC, &c);
	}
	assert_true(w.worth > 0.6 && w.hit_large > w.hit_small);
	ghost_resize(g, 65536); /* the set fits with ease */
	for (int step = 0; step < 400; step++) {
		struct ghost_counts c;

		for (int i = 0; i < 200; i++)
			ghost_read(g, 1, random_below(&seed, 5000) * GHOST_PAGE, GHOST_PAGE);
		ghost_drain(g);
		ghost_counts(g, &c);
		ghost_worth_sample(&w, 5 * SEC, 256, now += 100 * MSEC, &c);
	}
	assert_true(w.worth < 0.01 && w.hit_small > 0.99);
	ghost_free(g);
}

static void test_names(void **state)
{
	assert_string_equal(auction_way_names[AUCTION_DEFER], "defer");
	assert_string_equal(auction_way_names[AUCTION_ACCELERATE], "accelerate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bid),
		cmocka_unit_test(test_ask_is_of_the_whole_way),
		cmocka_unit_test(test_both_full_the_server_gets_it),
		cmocka_unit_test(test_idle_server_is_as_good_as_free),
		cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_worth),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
