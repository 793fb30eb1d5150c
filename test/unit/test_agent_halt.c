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
	double ran, seconds;	 /* since begin() */
	double longest;		 /* s in a row that it was halted */
	struct halt halt;
};

static void runs(struct world *w, double seconds)
{
	for (double end = w->now + seconds; w->now < end; w->now += STEP) {
		const double made = fmax(w->halt.halted ? 0 : w->own, w->others);

		w->price += (made - w->price) * STEP / 0.5;
		if (fabs(w->price - made) < 0.1 * made || w->price < 0.001)
			w->price = made;
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

static void test_beside_others_it_yields(void **state)
{
	struct world w = {.now = 100, .own = 0.4, .others = 0.008};

	runs(&w, 60);
	assert_true(share(&w, 600) < 0.15);
	assert_true(share(&w, 600) > 0.05); /* and is not starved */
	assert_true(w.longest <= HALT_MOST + 2 * STEP);
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
		cmocka_unit_test(test_beside_others_it_yields),
		cmocka_unit_test(test_somebody_comes_and_goes),
		cmocka_unit_test(test_a_cheap_server),
		cmocka_unit_test(test_prices_end),
		cmocka_unit_test(test_a_frozen_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
