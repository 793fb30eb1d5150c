/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who used how much lately: fed with made-up counters of flows, a second at a time. */
#include "support.h"

#include <math.h>

#include "pricing/ledger.h"

#define MEMORY (60 * SEC)
#define FLOWS  8

static const double k[PRICE_RESOURCES] = {1000, 1000, 100, 10};

/* A disk whose flows use some share of each second: what a scheduler would count. */
struct shop {
	struct ledger *ledger;
	uint64_t now, step;
	struct flow_use flows[FLOWS];
	double rate[FLOWS];
	unsigned int n;
};

static struct shop open_shop(unsigned int n)
{
	struct shop s = {.ledger = ledger_new(), .now = SEC, .step = SEC, .n = n};

	assert_non_null(s.ledger);
	for (unsigned int i = 0; i < n; i++)
		s.flows[i] = (struct flow_use){.client = i + 1, .weight = 100, .group_weight = 100};
	return s;
}

static void run(struct shop *s, double seconds)
{
	for (uint64_t end = s->now + (uint64_t)(seconds * 1e9); s->now < end; s->now += s->step) {
		for (unsigned int i = 0; i < s->n; i++) {
			s->flows[i].disk_time += (uint64_t)(s->rate[i] * (double)s->step);
			s->flows[i].backlogged = s->rate[i] > 0;
		}
		ledger_feed(s->ledger, s->flows, s->n, s->now, MEMORY);
	}
}

/* All zero: it is not known. */
static struct ledger_entry entry(const struct shop *s, uint64_t client, uint32_t place)
{
	static struct ledger_entry all[LEDGER_ENTRIES];
	unsigned int n = ledger_top(s->ledger, all, LEDGER_ENTRIES);

	for (unsigned int i = 0; i < n; i++)
		if (all[i].client == client && all[i].place == place)
			return all[i];
	return (struct ledger_entry){0};
}

static double ratio(const struct shop *s, uint64_t client)
{
	return entry(s, client, PLACE_ALL).ratio;
}

static unsigned int quotes_of(const struct shop *s)
{
	static struct client_quote quotes[LEDGER_ENTRIES];
	struct price_snapshot snapshot = {.utilization = {[PRICE_DISK] = 0.7}};

	price_combine(&snapshot, k);
	return ledger_quotes(s->ledger, &snapshot, k, quotes);
}

/* At any time, also at the first; nothing is posted for it. */
static void test_a_client_alone(void **state)
{
	struct shop s = open_shop(1);

	s.rate[0] = 0.37;
	for (int i = 0; i < 300; i++) {
		run(&s, 1);
		assert_true(ratio(&s, 1) == 1);
		assert_int_equal(quotes_of(&s), 0);
	}
	ledger_free(s.ledger);
}

static void test_equal_clients(void **state)
{
	struct shop s = open_shop(FLOWS);

	for (int i = 0; i < FLOWS; i++)
		s.rate[i] = 1.0 / FLOWS;
	for (int i = 0; i < 120; i++) {
		run(&s, 1);
		assert_int_equal(quotes_of(&s), 0);
	}
	ledger_free(s.ledger);
}

/* The disk's time is divided by weight: nobody is over his share, and the heavier pays less. */
static void test_weights(void **state)
{
	struct shop s = open_shop(2);

	s.flows[1].weight = s.flows[1].group_weight = 400;
	s.rate[0] = 0.2;
	s.rate[1] = 0.8;
	run(&s, 120);
	assert_true(fabs(entry(&s, 1, PLACE_ALL).standing.entitled - 0.2) < 0.01);
	assert_true(fabs(entry(&s, 2, PLACE_ALL).standing.use - 0.8) < 0.01);
	assert_true(ratio(&s, 1) > 1.15 && ratio(&s, 2) < 0.95);
	/* the same use: much less */
	s.rate[1] = 0.2;
	run(&s, 300);
	assert_true(ratio(&s, 1) > 1.8 && ratio(&s, 2) < 0.65);
	ledger_free(s.ledger);
}

/* Much used lately: dearer, and after Price_Memory without a third of it is left. */
static void test_decay(void **state)
{
	struct shop s = open_shop(2);
	double after;

	s.rate[0] = 0.9;
	s.rate[1] = 0.1;
	run(&s, 600);
	assert_true(ratio(&s, 1) > 1.6 && ratio(&s, 2) < 0.3);
	assert_true(fabs(entry(&s, 1, PLACE_ALL).use / 1e9 - 0.9 * 60) < 1);
	s.rate[0] = s.rate[1] = 0;
	run(&s, 60);
	after = entry(&s, 1, PLACE_ALL).use / 1e9;
	assert_true(fabs(after - 0.9 * 60 * exp(-1)) < 1);
	s.rate[0] = s.rate[1] = 0.5;
	run(&s, 240);
	assert_true(ratio(&s, 1) == 1 && ratio(&s, 2) == 1);
	ledger_free(s.ledger);
}

/* When one comes or goes the other's price moves little, by and by. */
static void test_coming_and_going(void **state)
{
	struct shop s = open_shop(2);
	double last = 1;

	s.rate[0] = 1;
	run(&s, 120);
	s.rate[0] = s.rate[1] = 0.5; /* the newcomer pays less for a while */
	for (int i = 0; i < 300; i++) {
		run(&s, 1);
		assert_true(fabs(ratio(&s, 1) - last) < 0.05 && ratio(&s, 2) <= 1);
		last = ratio(&s, 1);
	}
	assert_true(ratio(&s, 1) == 1 && ratio(&s, 2) == 1);
	s.rate[0] = 1;
	s.rate[1] = 0;
	for (int i = 0; i < 600; i++) {
		run(&s, 1);
		assert_true(ratio(&s, 1) < 1.15);
		s.n = i < 60 ? 2 : 1; /* the scheduler forgets it sooner */
	}
	assert_true(ratio(&s, 1) == 1);
	assert_int_equal(entry(&s, 2, PLACE_ALL).client, 0); /* forgotten */
	ledger_free(s.ledger);
}

/* The second client uses RATE of the disk for so many seconds, and nothing for as many as PAUSE; so N times. */
static void run_bursts(struct shop *s, int n, double rate, int seconds, int pause)
{
	for (int i = 0; i < n; i++) {
		s->rate[1] = rate;
		run(s, seconds);
		s->rate[1] = 0;
		run(s, pause);
	}
}

/* One that asks for a moment each minute takes next to nothing from what others are entitled to. */
static void test_who_asks_seldom(void **state)
{
	struct shop s = open_shop(2);

	s.rate[0] = 0.95;
	run_bursts(&s, 5, 0.05, 1, 59);
	assert_true(ratio(&s, 1) == 1 && ratio(&s, 2) <= 1);
	ledger_free(s.ledger);
}

/* Two write the same, one a little all the time, the other what it has held back for nine seconds of fifteen: both
 * are there all the time, and pay the same. */
static void test_who_holds_back(void **state)
{
	struct shop s = open_shop(3);

	s.rate[0] = 0.6;
	s.rate[1] = 0.1;
	for (int turn = 0; turn < 20; turn++) {
		s.rate[2] = 0;
		run(&s, 9);
		s.rate[2] = 0.1 * 15 / 6;
		run(&s, 6);
	}
	/* just after its turn, of which more is remembered than of what was before */
	assert_true(ratio(&s, 3) < ratio(&s, 2) * 1.15 && ratio(&s, 3) > ratio(&s, 2) * 0.85);
	assert_true(fabs(entry(&s, 3, PLACE_ALL).standing.entitled - 1.0 / 3) < 0.02);
	ledger_free(s.ledger);
}

/* One that hardly uses the disk, as a log that is written every five seconds, makes it little dearer for others. */
static void test_who_hardly_uses_it(void **state)
{
	struct shop s = open_shop(2);

	s.rate[0] = 0.95;
	run_bursts(&s, 60, 0.01, 1, 4);
	assert_true(ratio(&s, 1) < 1.25 && ratio(&s, 2) <= 1);
	ledger_free(s.ledger);
}

/* An export with a share of its own: its clients divide that, and have prices of their own there. */
static void test_exports_with_shares(void **state)
{
	struct shop s = open_shop(4);

	/* client 1 on all exports; clients 1, 2, 3 on export 7, with as much as three clients */
	for (int i = 1; i < 4; i++)
		s.flows[i] = (struct flow_use){.client = (uint64_t)i,
					       .export_id = 7,
					       .of_export = true,
					       .weight = 100,
					       .group_weight = 300};
	for (int i = 0; i < 4; i++)
		s.rate[i] = 0.25;
	run(&s, 200);
	for (uint64_t i = 1; i < 4; i++) {
		struct ledger_entry e = entry(&s, i, PLACE_OF_EXPORT(7));

		assert_true(fabs(e.standing.entitled - 0.25) < 0.01 && e.ratio == 1);
	}
	assert_true(fabs(entry(&s, 1, PLACE_ALL).standing.entitled - 0.25) < 0.01);
	/* two of them go: what they leave is the third's */
	s.rate[1] = s.rate[2] = 0;
	s.rate[3] = 0.75;
	run(&s, 1000);
	assert_true(fabs(entry(&s, 3, PLACE_OF_EXPORT(7)).standing.entitled - 0.75) < 0.01);
	ledger_free(s.ledger);
}

/* Who stands there as he should is told the device's price there, whatever he is told on all others. */
static void test_prices_on_an_export_with_a_share(void **state)
{
	static struct client_quote quotes[LEDGER_ENTRIES];
	struct price_snapshot snapshot = {.utilization = {[PRICE_DISK] = 0.7}};
	struct shop s = open_shop(4);
	struct client_board b = {0};
	struct client_prices p;

	/* client 1 has used much, 2 little; 1 and 3 have half of export 7 each */
	for (int i = 2; i < 4; i++)
		s.flows[i] = (struct flow_use){.client = i == 2 ? 1 : 3,
					       .export_id = 7,
					       .of_export = true,
					       .weight = 100,
					       .group_weight = 200};
	s.rate[0] = 0.45;
	s.rate[1] = 0.05;
	s.rate[2] = s.rate[3] = 0.25;
	run(&s, 900);
	price_combine(&snapshot, k);
	client_board_publish(&b, quotes, ledger_quotes(s.ledger, &snapshot, k, quotes));
	assert_true(entry(&s, 1, PLACE_OF_EXPORT(7)).ratio == 1);
	assert_true(client_board_find(&b, 1, 1, &p) && p.write > 1.2 * snapshot.write);
	assert_false(client_board_find(&b, 1, 7, &p));
	assert_false(client_board_find(&b, 3, 7, &p));
	assert_false(client_board_find(&b, 2, 7, &p)); /* who was never there */
	client_board_fini(&b);
	ledger_free(s.ledger);
}

/* Without a Weight it has that of its clients, as they come and go: prices do not jump with it. */
static void test_exports_with_the_weight_of_their_clients(void **state)
{
	struct shop s = open_shop(3);
	double last = 0;

	for (int i = 1; i < 3; i++) {
		s.flows[i].export_id = 7;
		s.flows[i].of_export = true;
	}
	for (int i = 0; i < 3; i++)
		s.rate[i] = 1.0 / 3;
	for (int i = 0; i < 200; i++) {
		s.flows[1].group_weight = s.flows[2].group_weight = i % 2 ? 100 : 300;
		run(&s, 1);
		assert_true(i == 0 || fabs(entry(&s, 2, PLACE_OF_EXPORT(7)).ratio - last) < 0.03);
		last = entry(&s, 2, PLACE_OF_EXPORT(7)).ratio;
	}
	assert_true(fabs(entry(&s, 2, PLACE_OF_EXPORT(7)).standing.entitled - 1.0 / 3) < 0.01);
	ledger_free(s.ledger);
}

/* A client's flows over exports without shares are one. */
static void test_flows_of_one_client(void **state)
{
	struct shop s = open_shop(3);

	s.flows[1].client = 1;
	s.flows[1].export_id = 9;
	s.rate[0] = s.rate[1] = 0.25;
	s.rate[2] = 0.5;
	run(&s, 100);
	assert_true(fabs(entry(&s, 1, PLACE_ALL).standing.use - 0.5) < 0.01);
	assert_true(ratio(&s, 1) == 1 && ratio(&s, 3) == 1);
	ledger_free(s.ledger);
}

/* The scheduler forgets a flow and knows it again: neither counts twice, nor does what was before. */
static void test_counters_that_begin_anew(void **state)
{
	struct shop s = open_shop(2);
	double before;

	s.flows[0].disk_time = 3600 * SEC; /* long before the ledger */
	s.rate[0] = s.rate[1] = 0.5;
	run(&s, 200);
	before = entry(&s, 1, PLACE_ALL).use;
	assert_true(before < 31e9);
	s.flows[0].disk_time = 0;
	run(&s, 1);
	assert_true(entry(&s, 1, PLACE_ALL).use <= before);
	run(&s, 10);
	assert_true(ratio(&s, 1) == 1);
	ledger_free(s.ledger);
}

/* A flow that was not looked at for a while, for others were more active, counts with what it used since; not with all. */
static void test_a_flow_that_comes_back(void **state)
{
	struct shop s = open_shop(3);
	double before;

	s.flows[2] = s.flows[0]; /* the first client's, on another export */
	s.flows[2].export_id = 9;
	s.flows[2].disk_time = 3600 * SEC;
	s.rate[0] = s.rate[1] = 0.25;
	run(&s, 100);
	s.n = 2;
	run(&s, 200);
	before = entry(&s, 1, PLACE_ALL).use;
	s.flows[2].disk_time += SEC / 100;
	s.n = 3;
	run(&s, 1);
	assert_true(entry(&s, 1, PLACE_ALL).use <= before + 5e7);
	assert_true(ratio(&s, 1) == 1);
	ledger_free(s.ledger);
}

/* An export is given a share and loses it again: what its clients used is not used once more. */
static void test_a_share_that_comes_and_goes(void **state)
{
	struct shop s = open_shop(2);

	s.flows[1] = s.flows[0];
	s.flows[1].export_id = 7;
	s.rate[0] = s.rate[1] = 0.25;
	run(&s, 600);
	for (int i = 0; i < 4; i++) {
		s.flows[1].of_export = i % 2 == 0;
		run(&s, 100);
		assert_true(entry(&s, 1, PLACE_ALL).use <= 0.5 * 61e9);
	}
	ledger_free(s.ledger);
}

/* Of more flows than there is room for some are forgotten: of none counts more than it can have used. */
static void test_more_flows_than_are_remembered(void **state)
{
	static struct flow_use flows[LEDGER_FLOWS];
	struct ledger *l = ledger_new();
	struct ledger_entry one;

	for (uint64_t t = 1; t < 100; t++) {
		for (uint16_t i = 0; i < LEDGER_FLOWS; i++)
			flows[i] = (struct flow_use){.client = 1,
						     .export_id = (uint16_t)(t % 50 * 256 + i),
						     .disk_time = 3600 * SEC + t,
						     .weight = 100,
						     .group_weight = 100};
		ledger_feed(l, flows, LEDGER_FLOWS, t * SEC, MEMORY);
	}
	assert_int_equal(ledger_top(l, &one, 1), 1);
	assert_true(one.use <= 1e9);
	ledger_free(l);
}

/* The server's own work is nobody's. */
static void test_the_servers_own_work(void **state)
{
	struct shop s = open_shop(2);

	s.flows[1].client = 0;
	s.rate[0] = 0.1;
	s.rate[1] = 0.9;
	run(&s, 100);
	assert_true(ratio(&s, 1) == 1);
	assert_true(entry(&s, 1, PLACE_ALL).standing.use == 1);
	ledger_free(s.ledger);
}

/* Fed more or less often, and after a pause: the same. */
static void test_intervals_do_not_matter(void **state)
{
	static const uint64_t steps[] = {100 * MSEC, SEC, 7 * SEC};

	for (int i = 0; i < 3; i++) {
		struct shop s = open_shop(2);

		s.step = steps[i];
		s.rate[0] = 0.6;
		s.rate[1] = 0.3;
		run(&s, 210);
		assert_true(fabs(ratio(&s, 1) - 1.25) < 0.03);
		assert_true(fabs(ratio(&s, 2) - 0.72) < 0.03);
		ledger_feed(s.ledger, s.flows, s.n, s.now, MEMORY);
		ledger_feed(s.ledger, s.flows, s.n, s.now, MEMORY); /* no time has passed */
		assert_true(fabs(ratio(&s, 1) - 1.25) < 0.03);
		ledger_free(s.ledger);
	}
}

/* As many flows as there may be, of other clients each time: no more entries than there may be. */
static void test_bounded(void **state)
{
	static struct flow_use flows[LEDGER_FLOWS];
	struct ledger *l = ledger_new();
	static struct client_quote quotes[LEDGER_ENTRIES];
	struct price_snapshot snapshot = {.utilization = {[PRICE_DISK] = 0.7}};
	struct ledger_entry one;

	for (uint64_t t = 1; t < 100; t++) {
		for (unsigned int i = 0; i < LEDGER_FLOWS; i++)
			flows[i] = (struct flow_use){.client = t * LEDGER_FLOWS + i,
						     .disk_time = t * SEC,
						     .weight = 1 + i,
						     .group_weight = 1,
						     .export_id = (uint16_t)i,
						     .of_export = i % 3 == 0,
						     .backlogged = i % 5 == 0};
		ledger_feed(l, flows, LEDGER_FLOWS, t * SEC, 10 * SEC);
		assert_in_range(ledger_top(l, &one, 1), 1, LEDGER_ENTRIES);
		assert_in_range(ledger_quotes(l, &snapshot, k, quotes), 1, LEDGER_ENTRIES);
		assert_true(isfinite(one.standing.weight) && one.ratio >= CLIENT_RATIO_MIN);
	}
	ledger_feed(l, flows, 0, 100 * 60 * SEC, 10 * SEC);
	assert_int_equal(ledger_top(l, &one, 1), 0);
	ledger_free(l);
	ledger_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_client_alone),
		cmocka_unit_test(test_equal_clients),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_decay),
		cmocka_unit_test(test_coming_and_going),
		cmocka_unit_test(test_who_asks_seldom),
		cmocka_unit_test(test_who_holds_back),
		cmocka_unit_test(test_who_hardly_uses_it),
		cmocka_unit_test(test_exports_with_shares),
		cmocka_unit_test(test_exports_with_the_weight_of_their_clients),
		cmocka_unit_test(test_prices_on_an_export_with_a_share),
		cmocka_unit_test(test_flows_of_one_client),
		cmocka_unit_test(test_counters_that_begin_anew),
		cmocka_unit_test(test_a_flow_that_comes_back),
		cmocka_unit_test(test_a_share_that_comes_and_goes),
		cmocka_unit_test(test_more_flows_than_are_remembered),
		cmocka_unit_test(test_the_servers_own_work),
		cmocka_unit_test(test_intervals_do_not_matter),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
