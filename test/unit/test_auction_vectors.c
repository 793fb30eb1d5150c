/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a client does with a price, as the installed library has it, over the vectors that others test
 * their implementation with (doc/fsstat-prices.vectors).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auction_ahead.h"
#include "auction_writes.h"
#include "price.h"

static struct auction_terms terms = AUCTION_TERMS_USUAL;

static void near(double got, double meant)
{
	assert_true(fabs(got - meant) <= meant * 1e-6);
}

static void price(char *words)
{
	double k, u, meant;

	assert_int_equal(sscanf(words, "%lf %lf %lf", &k, &u, &meant), 3);
	near(price_of(k, u), meant);
}

static void bid(char *words)
{
	struct auction_terms t = terms;
	struct auction_state s = {0};
	double meant;

	assert_int_equal(sscanf(words, "%lf %lf %lf %lf", &s.dirty, &s.worth, &t.weight, &meant),
			 4);
	near(auction_bid(&t, &s), meant);
}

static void ask(char *words)
{
	struct auction_state s = {0};
	double price, meant;

	assert_int_equal(sscanf(words, "%lf %lf %lf", &price, &s.network, &meant), 3);
	near(auction_ask(&terms, &s, price), meant);
}

/* A price, or "-": there is none. */
static double price_in(const char *word)
{
	return *word == '-' ? -1 : atof(word);
}

static void writes(char *words)
{
	struct auction_may may = {true, true, strtod(words, &words)};
	struct auction_writes w = {0};
	char stated[16], way;
	double now;
	int length;

	for (; *words; words += length) {
		struct auction_state s = {0};

		assert_int_equal(sscanf(words, "%lf:%15[^:]:%lf:%lf=%c %n", &now, stated, &s.dirty,
					&s.worth, &way, &length),
				 5);
		auction_writes_hear(&w, &terms, &s, price_in(stated), now);
		auction_writes_judge(&w, &terms, &may, now);
		if (auction_way_names[w.way][0] != way)
			fail_msg("at %g: %s", now, auction_way_names[w.way]);
	}
}

static void ahead(char *words)
{
	struct auction_ahead_limits limits;
	struct auction_ahead a = {0};
	char stated[16], used[16];
	unsigned int found, wanted;
	double now;
	int length;

	assert_int_equal(sscanf(words, "%u %u %u %n", &found, &limits.least, &limits.most, &length),
			 3);
	for (words += length; *words; words += length) {
		struct auction_ahead_state s = {.found = found};

		assert_int_equal(sscanf(words, "%lf:%15[^:]:%15[^=]=%u %n", &now, stated, used,
					&wanted, &length),
				 4);
		s.price = price_in(stated);
		s.used = price_in(used);
		s.memory_short = strchr(used, 's');
		auction_ahead_hear(&a, &terms, &s);
		auction_ahead_judge(&a, &terms, &limits, &s, now);
		assert_int_equal(a.size ? a.size : found, wanted);
	}
}

static const struct kind {
	const char *name;
	void (*check)(char *words);
	unsigned int least;
} kinds[] = {
	{"price", price, 8},	{"bid", bid, 8},     {"ask", ask, 4},
	{"writes", writes, 12}, {"ahead", ahead, 8},
};

/* All vectors of this kind. */
static void check(const struct kind *kind)
{
	const size_t length = strlen(kind->name);
	unsigned int vectors = 0;
	char line[512];
	FILE *file = fopen(VECTORS, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = '\0';
		if (strncmp(line, kind->name, length) != 0 || line[length] != ' ')
			continue;
		print_message("%s\n", line);
		for (int weight = 0; weight <= 1; weight++) { /* none counts as 1 */
			terms.weight = weight;
			kind->check(line + length + 1);
		}
		vectors++;
	}
	fclose(file);
	assert_true(vectors >= kind->least);
}

static void test_vectors(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		check(&kinds[i]);
}

/* Judged when it is due, and only then, it is as if it were judged all the time. */
static void due_is_enough(double defer_most)
{
	const struct auction_may may = {true, true, defer_most};
	const struct auction_state s = {0};
	struct auction_writes often = {0}, due = {0};
	double at = 0;

	for (int i = 200; i < 800; i++) {
		const double now = i / 2.0;

		auction_writes_hear(&often, &terms, &s, 1, now);
		auction_writes_judge(&often, &terms, &may, now);
		if (now >= at) {
			auction_writes_hear(&due, &terms, &s, 1, now);
			auction_writes_judge(&due, &terms, &may, now);
			at = auction_writes_due(&due, now);
		}
		assert_int_equal(often.way, due.way);
	}
}

/* Judged when it is due, to the last bit, it is over: who goes from one such time to the next does not stand still. */
static void due_ends(double since, double defer_most)
{
	const struct auction_may may = {true, true, defer_most};
	const struct auction_state s = {0};
	struct auction_writes w = {0};
	double now = since;

	for (int i = 0; i < 2; i++) {
		auction_writes_hear(&w, &terms, &s, 1, now);
		auction_writes_judge(&w, &terms, &may, now);
		assert_int_equal(w.way, i == 0 ? AUCTION_DEFER : AUCTION_SEND);
		now = auction_writes_due(&w, now);
	}
}

static void test_due(void **state)
{
	due_is_enough(AUCTION_DEFER_MOST);
	due_is_enough(AUCTION_DWELL / 2.0); /* shorter than a deferral lasts at least */
	due_ends(1000.7, 2.9);
	assert_true(isinf(auction_writes_due(&(struct auction_writes){0}, 100)));
}

/* The client's own reasons come before prices, and a deferral that ends by them has its rest. */
static void test_own_reasons(void **state)
{
	const struct auction_may may = {true, true, AUCTION_DEFER_MOST};
	const struct auction_state s = {0};
	struct auction_writes w = {0};

	auction_writes_hear(&w, &terms, &s, 1, 100);
	assert_int_equal(auction_writes_judge(&w, &terms, &may, 100), AUCTION_WHY_DEARER);
	auction_writes_go(&w, &may, AUCTION_SEND, 101);
	auction_writes_hear(&w, &terms, &s, 1, 102);
	assert_int_equal(auction_writes_judge(&w, &terms, &may, 102), AUCTION_WHY_REST);
	assert_true(auction_writes_due(&w, 102) == 101 + AUCTION_REST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_own_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
