/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Groups that halt, in a closed loop with a server whose price is made by the group and by others: alone it
 * runs, beside others it yields, it never starves, and it goes on when prices end.
 */
#include "support.h"

#include <math.h>

#include "halt.h"

#define BID  0.005
#define STEP 0.25 /* s */
#define ASK  1	  /* s */

struct world {
	double now, asked, told; /* s; s; the price that was told then */
	double price;		 /* the server's, averaged over a second */
	double own, others;	 /* prices that they make */
	bool jumps;    /* own jumps about, as the price of a disk with turns of write-back does */
	uint32_t draw; /* random numbers: the state */
	double ran, seconds; /* since begin() */
	double longest;	     /* s in a row that it was halted */
	struct halt halt;
};

/* What was told second by second while the backup of bench/papers a6 ran, beside a reader who thinks. */
static double jumping(struct world *w)
{
	static const double told[] = {0.107, 0.0458, 0.149, 0.0797, 1,	    0.177,
				      0.139, 0.0981, 0.171, 0.121,  0.0107, 1};

	w->draw = w->draw * 1664525 + 1013904223;
	return told[(w->draw >> 16) % (sizeof(told) / sizeof(told[0]))];
}

/* The server's price follows what is made now; one that jumps is made each second, of the half second before it,
 * and what was written is on the disk half a second after it came. */
static void follow(struct world *w)
{
	const double made = fmax(w->halt.halted ? 0 : w->own, w->others);

	if (!w->jumps) {
		w->price += (made - w->price) * STEP / 0.5;
		if (fabs(w->price - made) < 0.1 * made || w->price < 0.001)
			w->price = made;
	} else if (fmod(w->now, 1) < STEP) {
		w->price = w->halt.halted && w->now - w->halt.since >= 1 ? w->others : jumping(w);
	}
}

static void runs(struct world *w, double seconds)
{
	for (double end = w->now + seconds; w->now < end; w->now += STEP) {
		follow(w);
		if (w->now - w->asked >= ASK) {
			w->asked = w->now;
			w->told = w->price;
		}
		halt_judge(&w->halt, true, w->told, BID, w->asked, w->now);
		w->ran += w->halt.halted ? 0 : STEP;
		w->seconds += STEP;
		if (w->halt.halted)
			w->longest = fmax(w->longest, w->now + STEP - w->halt.since);
	}
}

static double share(struct world *w, double seconds)
{
	w->ran = w->seconds = 0;
	runs(w, seconds);
	return w->ran / w->seconds;
}

static void test_alone_it_runs(void **state)
{
	struct world w = {.now = 100, .own = 0.4};

	runs(&w, 120);
	assert_true(share(&w, 600) > 0.9);
}

/*
 * Beside somebody who hardly uses the disk it runs, from the first minute on, however the price that it makes itself
 * jumps: looking how dear the server is without it costs a fifteenth of the time, a tenth of the first minute.
 */
static void test_beside_who_uses_little_it_runs(void **state)
{
	for (unsigned int seed = 1; seed <= 20; seed++) {
		struct world w = {
			.now = 100 + 0.05 * seed, .others = BID / 2.5, .jumps = true, .draw = seed};

		runs(&w, 5);
		assert_true(share(&w, 60) > 0.87);
		assert_true(share(&w, 600) > 0.92);
		assert_true(w.longest <= HALT_OWN);
	}
}

static void test_beside_others_it_yields(void **state)
{
	struct world w = {.now = 100, .own = 0.4, .others = 0.2};

	runs(&w, 60);
	assert_true(share(&w, 600) < 0.15);
	assert_true(share(&w, 600) > 0.05); /* and is not starved */
	assert_true(w.longest <= HALT_MOST + 2 * STEP);
}

/* A little above its bid is not much worse than a little below: its part of the time is bid / price. */
static void test_as_much_as_it_would_pay(void **state)
{
	struct world near = {.now = 100, .own = 0.4, .others = BID * 1.1},
		     twice = {.now = 100, .own = 0.4, .others = BID * 2},
		     five = {.now = 100, .own = 0.4, .others = BID * 5};

	runs(&near, 60);
	assert_in_range((int)(100 * share(&near, 600)), 60, 95);
	runs(&twice, 60);
	assert_in_range((int)(100 * share(&twice, 600)), 35, 60);
	runs(&five, 60);
	assert_in_range((int)(100 * share(&five, 600)), 15, 30);
}

/* Who comes while it runs is seen before the run's end, where the price says so. */
static void test_somebody_comes_and_goes(void **state)
{
	struct world w = {.now = 100, .own = 0.05};

	runs(&w, 200);
	while (w.halt.halted || w.now - w.halt.since < 4)
		runs(&w, STEP);
	w.others = 0.5;
	assert_true(share(&w, 6) < 0.9);
	assert_true(share(&w, 120) < 0.15);
	w.others = 0;
	runs(&w, 60);
	assert_true(share(&w, 300) > 0.9);
}

static void test_a_cheap_server(void **state)
{
	struct world w = {.now = 100, .own = 0.001};

	assert_true(share(&w, 600) == 1);
	assert_int_equal(w.halt.why, HALT_CHEAP);
}

static void test_prices_end(void **state)
{
	struct world w = {.now = 100, .own = 0.4, .others = 1};

	runs(&w, 30);
	while (!w.halt.halted)
		runs(&w, STEP);
	assert_false(halt_judge(&w.halt, false, 1, BID, w.now, w.now));
	assert_int_equal(w.halt.why, HALT_NO_PRICES);
	for (int i = 0; i < HALT_WHYS; i++)
		assert_non_null(halt_why_texts[i]);
}

/* A price that does not move, whatever it is: never halted for longer, always let run between. */
static void test_a_frozen_price(void **state)
{
	struct halt h = {0};
	double halted = 0, ran = 0;

	for (double now = 100; now < 1100; now += STEP) {
		halt_judge(&h, true, 1, BID, 99, now); /* and no answer is new */
		ran += h.halted ? 0 : STEP;
		halted = h.halted ? fmax(halted, now - h.since) : halted;
	}
	assert_true(ran > 50 && halted <= HALT_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone_it_runs),
		cmocka_unit_test(test_beside_who_uses_little_it_runs),
		cmocka_unit_test(test_beside_others_it_yields),
		cmocka_unit_test(test_as_much_as_it_would_pay),
		cmocka_unit_test(test_somebody_comes_and_goes),
		cmocka_unit_test(test_a_cheap_server),
		cmocka_unit_test(test_prices_end),
		cmocka_unit_test(test_a_frozen_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
