/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients that do nothing but begin streams: that these go before their turn takes nothing from others, be it by
 * weight, floor or ceiling, from who was promised a read now and then, or from who comes later.
 */
#include "client_loop.h"

/* C asks for nothing any more, once what it has asked for is over. */
static void leave(struct loop *l, struct client *c)
{
	for (unsigned int n = 0; n < l->n_items; n++)
		if (l->items[n].client == c)
			l->items[n].gone = true;
}

static struct loop *loop_with(struct client *c, unsigned int n, const struct sched_shares *s)
{
	struct loop *l = loop_new("turns", c, n);

	l->q->limits.prefetch_max_age = 1000 * SEC; /* nothing is to be dropped */
	if (s)
		assert_int_equal(sched_set_shares(l->q, s, l->disk.now), 0);
	return l;
}

/* Three have begun streams for a minute, and another comes: it begins where they are. */
static void test_who_comes_later_has_no_more(void **state)
{
	struct client c[] = {{{.client = 1}, BEGIN, 2},
			     {{.client = 2}, BEGIN, 2},
			     {{.client = 3}, BEGIN, 2},
			     {{.client = 4}, STREAM, 1}};
	struct loop *l = loop_with(c, 4, NULL);

	l->items[6].ready = 60 * SEC;
	run(l, 30 * SEC);
	run(l, 5 * SEC);
	show("three who begin, and later another", c, 4);
	assert_in_range((uint64_t)(100 * share(c, 4, 3)), 20, 30);
	loop_free(l);
}

/* ... nor after one has been alone, whose visit was for a beginning while others were there. */
static void test_a_visit_for_a_beginning_ends(void **state)
{
	for (uint64_t until = 4 * SEC; until < 6 * SEC; until += 37 * MSEC) {
		struct client c[] = {{{.client = 1}, STREAM, 2},
				     {{.client = 1}, BEGIN, 2},
				     {{.client = 2}, RANDOM, 1},
				     {{.client = 4}, STREAM, 1}};
		struct loop *l = loop_with(c, 4, NULL);

		l->items[5].ready = 30 * SEC;
		run(l, until / 2);
		leave(l, &c[1]);
		leave(l, &c[2]);
		run(l, 15 * SEC);
		run(l, 5 * SEC);
		assert_in_range((uint64_t)(100 * share(c, 4, 3)), 45, 55);
		loop_free(l);
	}
}

static void test_weights(void **state)
{
	static const struct sched_shares s = {.n_rules = 2, .rules = {{100}, {10}}};
	static const enum work works[] = {STREAM, BEGIN};

	for (int how = 1; how < 4; how++) {
		struct client c[] = {{{.client = 1, .rule = 1}, works[how & 1], 8},
				     {{.client = 2}, works[how / 2], 4}};
		struct loop *l = loop_with(c, 2, &s);

		run(l, 10 * SEC);
		show("10 : 100", c, 2);
		assert_in_range((uint64_t)(100 * share(c, 2, 0)), 7, 12);
		loop_free(l);
	}
}

static void test_a_floor_and_a_ceiling(void **state)
{
	static const struct sched_shares s = {.n_rules = 3,
					      .rules = {{100},
							{100, .floor = {.bandwidth = 40000000}},
							{100, .ceiling = {.bandwidth = 20000000}}}};
	struct client c[] = {
		{{.client = 1, .rule = 1}, BEGIN, 8}, {{.client = 2, .rule = 2}, BEGIN, 4},
		{{.client = 3}, STREAM, 2},	      {{.client = 4}, STREAM, 2},
		{{.client = 5}, STREAM, 2},	      {{.client = 6}, STREAM, 2}};
	struct loop *l = loop_with(c, 6, &s);

	run(l, 20 * SEC);
	show("a floor of 40 MB/s, a ceiling of 20", c, 6);
	assert_true((double)c[0].bytes / 20e6 > 38);
	assert_true((double)c[1].bytes / 20e6 < 21);
	loop_free(l);
}

/* One small read in Demand_Wait (65 ms), about, whatever begins. */
static void test_who_was_promised_a_read(void **state)
{
	for (unsigned int n = 8; n <= 48; n += 40) {
		struct client c[49] = {{{.client = 100}, RANDOM, 1}};
		struct loop *l;

		for (unsigned int i = 1; i <= n; i++)
			c[i] = (struct client){{.client = i}, BEGIN, 1};
		l = loop_with(c, n + 1, NULL);
		run(l, 20 * SEC);
		show("a random reader beside who begin", c, 1);
		assert_true(c[0].wait_max < 100 * MSEC);
		assert_true((double)c[0].served / 20 > 14);
		loop_free(l);
	}
}

/* Of one client, a stream that goes on beside many that begin has its turns too; streams are fair by bytes. */
static void test_a_stream_beside_beginnings_of_its_client(void **state)
{
	for (unsigned int n = 4; n <= 16; n *= 2) {
		struct client c[] = {{{.client = 1}, STREAM, 1}, {{.client = 1}, BEGIN, n}};
		struct loop *l = loop_with(c, 2, NULL);

		run(l, 20 * SEC);
		show("a stream beside beginnings of its client", c, 2);
		assert_true((double)c[0].bytes > 0.7 / (n + 1) * (double)(c[0].bytes + c[1].bytes));
		loop_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_comes_later_has_no_more),
		cmocka_unit_test(test_a_visit_for_a_beginning_ends),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_a_floor_and_a_ceiling),
		cmocka_unit_test(test_who_was_promised_a_read),
		cmocka_unit_test(test_a_stream_beside_beginnings_of_its_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
