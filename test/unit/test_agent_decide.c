/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of decisions: who wins, hysteresis, least times, weights, and how far to read ahead. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decide.h"
#include "pricing/price.h"

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

static enum write_way way_at(struct decision *a, double write, double dirty, double now)
{
	struct decide_input view = {.priced = true, .write = write, .dirty = dirty, .pressed = 1};

	decide(a, &limits, &view, now);
	return a->way;
}

static double price_at(double dirty, double worth)
{
	struct decide_input view = {.dirty = dirty, .worth = worth};
	struct decision a = {0};

	decide(&a, &limits, &view, 100);
	return a.ours;
}

static void test_our_price(void **state)
{
	assert_true(price_at(0, 0) == 0.05);
	assert_true(price_at(0.5, 0) == 0.05);
	assert_true(price_at(0.9, 0) == price_of(10000, 0.9));
	assert_true(price_at(1, 0) > 1);
	assert_true(price_at(7, 0) > 1);
	assert_true(price_at(NAN, NAN) == 0.05);
	assert_true(price_at(0.5, 0.7) == price_of(10, 0.7)); /* the dearer */
	assert_true(price_at(0.99, 0.1) == price_of(10000, 0.99));
}

static enum decide_why why_at(struct decision *a, const struct decide_limits *l, double write,
			      double dirty, double now)
{
	struct decide_input view = {
		.priced = write >= 0, .write = write, .dirty = dirty, .pressed = 1};

	decide(a, l, &view, now);
	return a->why;
}

static void test_each_way_has_its_reason(void **state)
{
	struct decide_limits timid = limits;
	struct decide_input odd = {.priced = true, .write = 0.9};
	struct decision a = {0};

	timid.defer = false;
	assert_int_equal(why_at(&a, &limits, -1, 0, 100), WHY_NO_PRICES);
	assert_int_equal(why_at(&a, &limits, 0.05, 0, 101), WHY_EVEN);
	assert_int_equal(why_at(&a, &timid, 0.9, 0, 102), WHY_NOT_WANTED);
	assert_int_equal(why_at(&a, &limits, 0.01, 0, 103), WHY_EVEN);
	assert_int_equal(why_at(&a, &limits, 0.01, 0, 103 + AUCTION_CALM), WHY_CHEAP);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 107), WHY_DEARER);
	assert_int_equal(why_at(&a, &limits, 0.03, 0, 108), WHY_DWELL);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 109), WHY_DEARER);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 107 + 24), WHY_LONG);
	assert_int_equal(a.way, WRITE_NORMAL);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 107 + 25), WHY_REST);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 107 + 24 + AUCTION_REST), WHY_DEARER);
	assert_int_equal(why_at(&a, &limits, 0.9, 1, 140), WHY_MEMORY);
	assert_int_equal(why_at(&a, &limits, 0.9, 0, 141), WHY_REST);
	odd.writes_unused = true;
	decide(&a, &limits, &odd, 150);
	assert_int_equal(a.why, WHY_UNUSED);
	odd.doubted = true;
	decide(&a, &limits, &odd, 151);
	assert_int_equal(a.why, WHY_DOUBT);
	for (int i = 0; i < DECIDE_RULES; i++)
		assert_true(decide_texts[i].when && decide_texts[i].then && decide_texts[i].why);
}

static void test_idle_server_gets_the_writes(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 0, 0, 100), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0, 0, 100 + AUCTION_CALM), WRITE_ACCELERATE);
	assert_int_equal(way_at(&a, 0, 1, 104), WRITE_ACCELERATE);
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
	assert_int_equal(way_at(&a, 1, 0.2, 101.5 + AUCTION_REST), WRITE_DEFER);
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
	assert_int_equal(way_at(&a, 0.021, 0, 120), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.019, 0, 121), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.019, 0, 124), WRITE_ACCELERATE);
	assert_int_equal(way_at(&a, 0.030, 0, 125), WRITE_ACCELERATE);
	assert_int_equal(way_at(&a, 0.032, 0, 126), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0.2, 0, 127), WRITE_DEFER);
}

/* What was held back is not sent all at once, for a price that was low for a moment. */
static void test_least_times(void **state)
{
	struct decision a = {0};

	assert_int_equal(way_at(&a, 0.5, 0, 100), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0, 0, 101), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0.5, 0, 102), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0, 0, 102.5), WRITE_DEFER);
	assert_int_equal(way_at(&a, 0, 0, 100 + AUCTION_DWELL), WRITE_NORMAL);
	assert_int_equal(way_at(&a, 0, 0, 102.5 + AUCTION_CALM), WRITE_ACCELERATE);
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

/* ---- worth, network, weight --------------------------------------------------------------- */

/* A cache that hits is worth more than a server that is half busy asks: written data goes out. */
static void test_cached_data_is_worth_something(void **state)
{
	struct decide_input view = {.priced = true, .write = 0.2, .pressed = 1};
	struct decision a = {0};

	decide(&a, &limits, &view, 100);
	assert_int_equal(a.way, WRITE_DEFER);
	view.worth = 0.9;
	decide(&a, &limits, &view, 104);
	assert_int_equal(a.way, WRITE_NORMAL);
	decide(&a, &limits, &view, 104 + AUCTION_CALM);
	assert_int_equal(a.way, WRITE_ACCELERATE);
	assert_true(a.ours == price_of(10, 0.9));
}

static void test_the_network_is_on_the_way(void **state)
{
	struct decide_input view = {.priced = true, .network = 0.9};
	struct decision a = {0};

	decide(&a, &limits, &view, 100);
	assert_int_equal(a.way, WRITE_DEFER);
	assert_true(a.theirs == price_of(AUCTION_K_NETWORK, 0.9));
}

static void test_weights(void **state)
{
	struct decide_input view = {.priced = true, .write = 0.03, .weight = 0.1};
	struct decision light = {0}, heavy = {0};

	decide(&light, &limits, &view, 100);
	assert_int_equal(light.way, WRITE_DEFER); /* it would pay 0.005 */
	view.weight = 4;
	view.write = 0.2;
	decide(&heavy, &limits, &view, 100);
	assert_int_equal(heavy.way, WRITE_NORMAL);
	view.weight = 0.1; /* a full memory is full */
	view.write = 0.9;
	view.dirty = 1;
	decide(&light, &limits, &view, 110);
	assert_int_equal(light.why, WHY_MEMORY);
}

/* ---- read-ahead --------------------------------------------------------------------------- */

#define FOUND 128

static const struct decide_input reading = {
	.priced = true, .evidence = USE_KNOWN, .effectiveness = 1, .readahead_found = FOUND};

/* Steps until it stays, a step's time apart; what it comes to: as found is FOUND. */
static uint32_t settles(struct decision *a, const struct decide_input *in)
{
	static double now = 1000;

	for (int i = 0; i < 20; i++) {
		decide(a, &limits, in, now += AUCTION_STEP);
		assert_true(!a->readahead || (a->readahead >= limits.readahead_min &&
					      a->readahead <= limits.readahead_max));
	}
	return a->readahead ? a->readahead : FOUND;
}

static uint32_t settles_at(double price, double effectiveness)
{
	struct decide_input in = reading;
	struct decision a = {0};

	in.readahead = price;
	in.effectiveness = effectiveness;
	return settles(&a, &in);
}

static void test_readahead_by_price_and_effectiveness(void **state)
{
	assert_int_equal(settles_at(0, 1), 1024);
	assert_int_equal(settles_at(1, 1), FOUND); /* no more of a dear server than without us */
	assert_int_equal(settles_at(1, 0.96), FOUND);
	assert_int_equal(settles_at(1, 0.9), 16);
	assert_int_equal(settles_at(0.3, 0.9), FOUND);
	assert_int_equal(settles_at(0.3, 0.5), 16);
	assert_int_equal(settles_at(0, 0.5),
			 FOUND); /* an idle server: never less than without us */
	assert_int_equal(settles_at(0, 0), FOUND);
	assert_int_equal(settles_at(0.05, 0), FOUND);
}

/* Half is read of what the previews fetch, and all of the streams': shorter until little is wasted. */
static void test_readahead_finds_its_length(void **state)
{
	struct decide_input in = reading;
	struct decision a = {0};
	double now = 100;

	in.readahead = 1;
	for (int i = 0; i < 50; i++) {
		const double size = a.readahead ? a.readahead : FOUND;

		in.effectiveness = 1000 / (1000 + 2 * size);
		decide(&a, &limits, &in, now += AUCTION_STEP);
	}
	assert_int_equal(a.readahead, 32);
}

static void test_readahead_takes_a_step_at_a_time(void **state)
{
	struct decide_input in = reading;
	struct decision a = {0};

	in.readahead = 1;
	in.effectiveness = 0.8;
	assert_true(decide(&a, &limits, &in, 100));
	assert_int_equal(a.readahead, 64);
	assert_false(decide(&a, &limits, &in, 100.5));
	in.evidence = USE_TOO_LITTLE;
	assert_false(decide(&a, &limits, &in, 105));
	in.evidence = USE_KNOWN;
	assert_true(decide(&a, &limits, &in, 108));
	a = (struct decision){0};
	in.effectiveness = 0.5; /* far dearer: two steps at once */
	assert_true(decide(&a, &limits, &in, 111));
	assert_int_equal(a.readahead, 32);
	assert_int_equal(a.ahead_why, AHEAD_FAR);
	in.readahead = 0.01; /* cheap: as without us, at once */
	assert_true(decide(&a, &limits, &in, 111.1));
	assert_int_equal(a.readahead, 0);
	assert_int_equal(a.ahead_why, AHEAD_CHEAP);
}

static void test_readahead_where_nobody_counts(void **state)
{
	struct decide_input in = {.priced = true, .readahead_found = FOUND, .readahead = 1};
	struct decision a = {0};

	assert_int_equal(settles(&a, &in), 16);
	in.readahead = 0;
	assert_int_equal(settles(&a, &in), 1024);
}

static void test_readahead_is_put_back(void **state)
{
	struct decide_input in = reading;
	struct decision a = {0};

	in.readahead = 0;
	assert_int_equal(settles(&a, &in), 1024);
	in.memory_short = true;
	assert_int_equal(settles(&a, &in), FOUND);
	assert_int_equal(a.readahead, 0);
	in.memory_short = false;
	assert_int_equal(settles(&a, &in), 1024);
	in.effectiveness = 0.1; /* not worth being long, though the server is idle */
	assert_int_equal(settles(&a, &in), FOUND);
	assert_int_equal(settles_at(1, 0.1), 16);
	in.effectiveness = 1;
	assert_int_equal(settles(&a, &in), 1024);
	in.readahead = 0.2; /* dear now */
	assert_int_equal(settles(&a, &in), FOUND);
	in.reads_unused = true;
	assert_int_equal(settles(&a, &in), FOUND);
	assert_int_equal(a.ahead_why, AHEAD_UNUSED);
}

/* What was found may lie beyond the limits: then it is never turned the wrong way. */
static void test_readahead_found_beyond_the_limits(void **state)
{
	static const uint32_t founds[] = {0, 1, 4, 15, 16, 100, 1023, 1024, 1025, 4096, 1 << 20};

	for (unsigned int i = 0; i < sizeof(founds) / sizeof(founds[0]); i++)
		for (int price = 0; price <= 1; price++)
			for (int e = 0; e <= 1; e++) {
				struct decide_input in = reading;
				struct decision a = {0};
				const uint32_t found = founds[i];

				in.readahead_found = found;
				in.readahead = price;
				in.effectiveness = e;
				settles(&a, &in);
				assert_true(!a.readahead ||
					    (e ? a.readahead > found : a.readahead < found));
				assert_true(found || !a.readahead);
			}
}

/* ---- servers that are not what they seem --------------------------------------------------- */

static void test_an_idle_client_is_left_alone(void **state)
{
	struct decide_input in = {.priced = true,
				  .writes_unused = true,
				  .reads_unused = true,
				  .evidence = USE_TOO_LITTLE,
				  .readahead_found = FOUND};
	struct decision a = {0};
	double now = 100;

	for (int i = 0; i < 1000; i++) {
		in.write = i % 3 / 2.0;
		in.readahead = i % 5 / 4.0;
		assert_false(decide(&a, &limits, &in, now += 0.7));
		assert_true(a.way == WRITE_NORMAL && a.readahead == 0);
	}
}

/* Whatever is said and measured: within the limits, and each way for its least time. */
static void test_any_prices(void **state)
{
	uint64_t seed = 1;
	struct decision a = {0};
	double now = 100, deferred = 0, began = 0;

	for (int i = 0; i < 200000; i++) {
		const enum write_way was = a.way;
		struct decide_input in = reading;
		double *const numbers[] = {&in.write, &in.readahead, &in.effectiveness,
					   &in.dirty, &in.worth,     &in.network};

		for (unsigned int n = 0; n < 6; n++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			*numbers[n] = (double)(seed >> 40) / (1 << 24);
		}
		in.dirty = i % 50 ? in.dirty * 0.9 : 1;
		in.evidence = (enum use_evidence)(i % 3);
		in.memory_short = i / 100 % 7 == 0;
		decide(&a, &limits, &in, now += 0.25);
		assert_true(!a.readahead || (a.readahead >= 16 && a.readahead <= 1024));
		if (was != WRITE_DEFER && a.way == WRITE_DEFER)
			began = now;
		if (a.way == WRITE_DEFER)
			deferred = fmax(deferred, now - began);
		if (was == WRITE_DEFER && a.way != WRITE_DEFER && in.dirty < 1)
			assert_true(now - began >= AUCTION_DWELL);
	}
	assert_true(deferred > AUCTION_DWELL && deferred <= limits.defer_max);
}

/* The ends of the settings' ranges. */
static void test_extremes(void **state)
{
	struct decide_limits l = limits;
	struct decide_input view = {
		.priced = true, .write = 1, .readahead = 0.5, .readahead_found = 4};
	struct decision a = {0};

	l.price_min = 1;
	l.readahead_min = l.readahead_max = 4;
	decide(&a, &l, &view, 100);
	assert_int_equal(a.way, WRITE_NORMAL);
	assert_int_equal(a.readahead, 0);
	l.readahead_max = 65536;
	for (int i = 1; i < 20; i++)
		decide(&a, &l, &view, 100 + i * AUCTION_STEP);
	assert_int_equal(a.readahead, 65536);
	l.price_min = 0.0002;
	l.readahead_min = 100;
	l.readahead_max = 300;
	for (int i = 20; i < 40; i++)
		decide(&a, &l, &view, 100 + i * AUCTION_STEP);
	assert_true(a.readahead >= 100 && a.readahead <= 300);
}

/* The manual has the same table, word by word. */
static void test_the_manual_shows_the_table(void **state)
{
	static char manual[1 << 17], table[1 << 14];
	FILE *in = fopen(MANUAL, "r"), *out = fmemopen(table, sizeof(table), "w");

	assert_non_null(in);
	assert_true(fread(manual, 1, sizeof(manual) - 1, in) > 0);
	fclose(in);
	decide_print_rules(out);
	fclose(out);
	if (!strstr(manual, table))
		print_message("the manual should have:\n%s", table);
	assert_non_null(strstr(manual, table));
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
		cmocka_unit_test(test_deferral_ends),
		cmocka_unit_test(test_no_prices_nothing_done),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_least_times),
		cmocka_unit_test(test_cached_data_is_worth_something),
		cmocka_unit_test(test_the_network_is_on_the_way),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_readahead_by_price_and_effectiveness),
		cmocka_unit_test(test_readahead_finds_its_length),
		cmocka_unit_test(test_readahead_takes_a_step_at_a_time),
		cmocka_unit_test(test_readahead_where_nobody_counts),
		cmocka_unit_test(test_readahead_is_put_back),
		cmocka_unit_test(test_readahead_found_beyond_the_limits),
		cmocka_unit_test(test_an_idle_client_is_left_alone),
		cmocka_unit_test(test_any_prices),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_the_manual_shows_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
