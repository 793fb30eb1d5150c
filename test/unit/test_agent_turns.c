/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Turns: two clients with the table of decide.h write beside a reader, one disk, one price for both. In every
 * minute, wherever it begins, both have had as much time in which nothing was held back, and wrote as much,
 * 10 % apart at most. In virtual time; data is counted in seconds of the disk.
 *
 *   application --> memory --[ held back? ]--> queue --> disk <-- reader
 *                                ^                        |
 *                                '------- price <---------'   once a second; asked at moments of their own
 *
 * That is without the price for each client that the server states too (test_price_auction), and without
 * what the table cannot know: that the kernel's flusher looks every 5 s only.
 */
#include "support.h"

#include <math.h>

#include "decide.h"
#include "pricing/price.h"

#define STEP	0.1   /* s */
#define MINUTE	600   /* steps */
#define LONG	12000 /* steps: two minutes to begin, then eighteen that count */
#define BEGIN	1200
#define REQUEST 0.01 /* s of disk */
#define FULL	8    /* requests that saturate the disk */
#define SENDING 0.9  /* s of disk a second that one client can send */
#define MEMORY	60   /* s of disk that a client's memory holds */
#define EVEN	0.1
#define JITTER	0.6 /* by so much of it prices differ that are asked for at other moments */

static const struct decide_limits limits = {
	.defer = true, .k = 10000, .k_cache = 10, .price_min = 0.05, .defer_max = 24};

struct client {
	double writing, weight; /* s of disk a second */
	double dirty, queued, written;
	double ask_at, told;
	struct decision decision;
	double turns[LONG], wrote[LONG]; /* s so far, at each step */
};

static struct world {
	struct client clients[2];
	double reading, length, price; /* requests; requests, averaged */
	double jitter;
	uint64_t seed;
} world;

static double uniform(void)
{
	return (double)random_below(&world.seed, 1000) / 1000;
}

static void act(struct client *c, double now)
{
	struct decide_input in = {.priced = true, .weight = c->weight};

	if (now >= c->ask_at) {
		c->told = world.price * (1 + world.jitter * (uniform() - 0.5));
		c->ask_at = now + 1.5 + 0.5 * uniform();
	}
	c->dirty = fmin(c->dirty + c->writing * STEP, MEMORY);
	in.write = c->told;
	in.dirty = c->dirty / MEMORY;
	decide(&c->decision, &limits, &in, now);
	if (c->decision.way != WRITE_DEFER) {
		const double sent = fmin(c->dirty, SENDING * STEP);

		c->dirty -= sent;
		c->queued += sent;
	}
}

/* The disk gives all that want it the same; the reader asks again at once. */
static void serve(void)
{
	struct client *c = world.clients;
	const double share = STEP / (1 + (c[0].queued > 0) + (c[1].queued > 0));

	for (int i = 0; i < 2; i++) {
		const double got = fmin(c[i].queued, share);

		c[i].queued -= got;
		c[i].written += got;
	}
}

static void run(double writing, double reading, double weight, double jitter)
{
	struct client *c = world.clients;
	double turn[2] = {0};

	memset(&world, 0, sizeof(world));
	world.reading = reading;
	world.jitter = jitter;
	world.seed = 7;
	for (int i = 0; i < 2; i++)
		c[i].writing = writing;
	c[1].weight = weight;
	for (unsigned int n = 0; n < LONG; n++) {
		const double now = 1 + n * STEP;
		double length = reading;

		for (int i = 0; i < 2; i++) {
			act(&c[i], now);
			turn[i] += c[i].decision.way == WRITE_DEFER ? 0 : STEP;
			c[i].turns[n] = turn[i];
			c[i].wrote[n] = c[i].written;
			length += c[i].queued / REQUEST;
		}
		world.length += (length - world.length) * STEP / 0.5;
		serve();
		if (n % 10 == 0)
			world.price = price_of(100, world.length / FULL);
	}
}

/* How far apart two have grown in the minute before step N, as part of their mean. */
static double apart(const double *a, const double *b, unsigned int n)
{
	const double in_a = a[n] - a[n - MINUTE], in_b = b[n] - b[n - MINUTE];

	return in_a + in_b > 0 ? fabs(in_a - in_b) / (in_a + in_b) * 2 : 0;
}

/* The worst minute of this load. */
static void check(double writing, double reading, double jitter)
{
	const struct client *c = world.clients;
	double turns = 0, wrote = 0;

	run(writing, reading, 0, jitter);
	for (unsigned int n = BEGIN + MINUTE; n < LONG; n++) {
		turns = fmax(turns, apart(c[0].turns, c[1].turns, n));
		wrote = fmax(wrote, apart(c[0].wrote, c[1].wrote, n));
	}
	if (turns >= EVEN || wrote >= EVEN)
		fail_msg(
			"writing %g beside %g reads: turns %.1f %% apart, what was written %.1f %%",
			writing, reading, 100 * turns, 100 * wrote);
}

static void test_every_minute_is_even(void **state)
{
	static const double writings[] = {0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9},
			    readings[] = {1, 2, 4, 8};
	bool held = false;

	for (unsigned int i = 0; i < sizeof(writings) / sizeof(writings[0]); i++)
		for (unsigned int j = 0; j < sizeof(readings) / sizeof(readings[0]); j++) {
			check(writings[i], readings[j], 0);
			held |= world.clients[0].turns[LONG - 1] < (LONG - 1) * STEP;
		}
	assert_true(held);
}

/* Near the edge, where one is told more than what makes it hold back, and the other less. Where the price is
 * hardly ever that high there are no turns, and a deferral once in a while makes a minute uneven; not here. */
static void test_prices_at_the_edge(void **state)
{
	check(0.05, 3, JITTER);
	check(0.05, 3.25, JITTER);
	check(0.1, 2.5, JITTER);
	check(0.1, 2.75, JITTER);
}

/* Who would pay less waits, while the other need not. */
static void test_weights(void **state)
{
	const struct client *c = world.clients;

	run(0.1, 1, 0.1, 0);
	assert_true(c[1].turns[LONG - 1] < c[0].turns[LONG - 1]);
	run(0.1, 1, 10, 0);
	assert_true(c[1].turns[LONG - 1] >= c[0].turns[LONG - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_minute_is_even),
		cmocka_unit_test(test_prices_at_the_edge),
		cmocka_unit_test(test_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
