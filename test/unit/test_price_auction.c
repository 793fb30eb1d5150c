/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The closed loop: clients with agents (client/decide.h) beside a reader without, a disk that divides
 * its time by weight, and prices of their own. In virtual time, a tenth of a second at a time.
 *
 *   application --> client's memory --[ agent: defer? ]--> queue at the server --> disk
 *                        ^                                      |                   |
 *                        '---- price for this client <----- utilization, ledger <---'
 *
 * Data is counted in seconds of disk time.
 */
#include "support.h"

#include <math.h>

#include "decide.h"
#include "pricing/ledger.h"

#define STEP	0.1 /* s */
#define MEMORY	(60 * SEC)
#define REQUEST 0.01 /* s of disk: one request */
#define FULL	8    /* requests that saturate the disk */
#define SENDING 0.9  /* disk seconds a second: what one client can send */
#define CLIENTS 3    /* two with agents, and a reader */
#define READER	2

static const double k[PRICE_RESOURCES] = {1000, 1000, 100, 10};
static const struct decide_limits limits = {
	.defer = true, .k = 10000, .price_min = 0.05, .defer_max = 24};

struct agent {
	double writing;	      /* its application, disk seconds a second */
	double memory, dirty; /* disk seconds */
	double ask_at, told;  /* s; the price then */
	struct decision decision;
	/* What came out. */
	double served, deferred; /* s */
	unsigned int changes;
};

struct world {
	double now, length; /* s; requests, averaged */
	double reading;	    /* requests that the reader has outstanding */
	uint64_t seed;
	double weight[CLIENTS], queued[CLIENTS], used[CLIENTS];
	struct agent agents[READER];
	struct ledger *ledger;
	double price[CLIENTS];
	bool plain; /* all are told the same */
};

static void serve(struct world *w)
{
	double left = STEP;

	w->queued[READER] = w->reading * REQUEST;
	for (int round = 0; round < CLIENTS && left > 1e-9; round++) {
		double sum = 0, part = left;

		for (int i = 0; i < CLIENTS; i++)
			sum += w->queued[i] > 1e-9 ? w->weight[i] : 0;
		for (int i = 0; i < CLIENTS && sum > 0; i++) {
			double got = w->queued[i] > 1e-9 ? part * w->weight[i] / sum : 0;

			/* the reader asks again at once */
			if (i != READER)
				got = fmin(got, w->queued[i]);
			w->queued[i] -= i == READER ? 0 : got;
			w->used[i] += got;
			left -= got;
		}
	}
}

static void state_prices(struct world *w)
{
	struct price_snapshot s = {.utilization = {[PRICE_DISK] = fmin(w->length / FULL, 1)}};
	struct flow_use flows[CLIENTS];
	struct ledger_entry all[CLIENTS];
	unsigned int n;

	price_combine(&s, k);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		flows[i] = (struct flow_use){.client = i + 1,
					     .disk_time = (uint64_t)(w->used[i] * 1e9),
					     .weight = (uint32_t)w->weight[i],
					     .backlogged = w->queued[i] > 1e-9};
		w->price[i] = s.write;
	}
	ledger_feed(w->ledger, flows, CLIENTS, (uint64_t)(w->now * 1e9), MEMORY);
	n = ledger_top(w->ledger, all, CLIENTS);
	for (unsigned int i = 0; i < n && !w->plain; i++)
		w->price[all[i].client - 1] = client_price(&s, k, all[i].ratio).write;
}

static void act(struct world *w, int i)
{
	struct agent *a = &w->agents[i];
	struct decide_input in = {.priced = true, .dirty = a->dirty / a->memory};
	enum write_way before = a->decision.way;
	double sent;

	a->dirty = fmin(a->dirty + a->writing * STEP, a->memory);
	if (w->now >= a->ask_at) {
		a->told = w->price[i];
		a->ask_at = w->now + 1.5 + (double)random_below(&w->seed, 500) / 1000;
	}
	in.write = a->told;
	decide(&a->decision, &limits, &in, w->now);
	a->changes += a->decision.way != before;
	if (a->decision.way == WRITE_DEFER) {
		a->deferred += STEP;
		return;
	}
	sent = fmin(a->dirty, SENDING * STEP);
	a->dirty -= sent;
	w->queued[i] += sent;
}

static void run(struct world *w, double seconds)
{
	for (double end = w->now + seconds; w->now < end; w->now += STEP) {
		double length = 0;

		for (int i = 0; i < READER; i++)
			act(w, i);
		for (int i = 0; i < CLIENTS; i++)
			length += w->queued[i] / REQUEST;
		w->length += (length - w->length) * STEP / 0.5;
		serve(w);
		if (fmod(w->now, 1) < STEP)
			state_prices(w);
	}
}

struct load {
	double weight;	/* of the second agent's client; the first's is 100 */
	double writing; /* of each, disk seconds a second */
	double reading; /* requests that the reader has outstanding */
	bool plain;
};

/* Two minutes to begin, then MINUTES that are counted. *UNEVEN: how unlike the two were in a minute. */
static struct world measured(const struct load *l, int minutes, double *uneven)
{
	struct world w = {.now = 1,
			  .seed = 7,
			  .weight = {100, l->weight, 100},
			  .reading = l->reading,
			  .ledger = ledger_new(),
			  .plain = l->plain};

	for (int i = 0; i < READER; i++)
		w.agents[i] = (struct agent){.writing = l->writing, .memory = 60, .ask_at = 20 * i};
	run(&w, 120);
	*uneven = 0;
	for (int i = 0; i < READER; i++)
		w.agents[i].served = w.agents[i].deferred = w.agents[i].changes = 0;
	for (int minute = 0; minute < minutes; minute++) {
		double used[READER] = {w.used[0], w.used[1]};

		run(&w, 60);
		for (int i = 0; i < READER; i++)
			w.agents[i].served += used[i] = w.used[i] - used[i];
		*uneven = fmax(*uneven, fabs(used[0] - used[1]) / (used[0] + used[1]) * 2);
	}
	ledger_free(w.ledger);
	return w;
}

static const double writings[] = {0.08, 0.1, 0.2, 0.3, 0.4, 0.6};
static const double readings[] = {1, 2, 4, 8};

/* All loads; what the tests look at is in W[0] with prices of clients' own, in W[1] with one price. */
static void for_each_load(double weight,
			  void (*look)(const struct world w[2], const double uneven[2]))
{
	for (unsigned int i = 0; i < sizeof(writings) / sizeof(writings[0]); i++)
		for (unsigned int j = 0; j < sizeof(readings) / sizeof(readings[0]); j++) {
			struct world w[2];
			double uneven[2];

			for (int plain = 0; plain < 2; plain++) {
				struct load l = {weight, writings[i], readings[j], plain};

				w[plain] = measured(&l, 10, &uneven[plain]);
			}
			look(w, uneven);
		}
}

/* In every minute 10 % apart at most, as they go by turns (decide.h). */
static void are_even(const struct world w[2], const double uneven[2])
{
	const struct agent *a = w[0].agents;

	assert_true(fabs(a[0].served - a[1].served) < 0.05 * (a[0].served + a[1].served));
	assert_true(uneven[0] < 0.1 && uneven[1] < 0.1);
	/* and it is not one of them alone that holds back */
	for (int plain = 0; plain < 2; plain++) {
		const double x = 600 - w[plain].agents[0].deferred,
			     y = 600 - w[plain].agents[1].deferred;

		assert_true(fabs(x - y) < 0.05 * (x + y));
	}
}

static void test_equal_weights(void **state)
{
	for_each_load(100, are_even);
}

/* Beside one that weighs 4: it is deferred less, and never gets less than with one price for all. */
static void heavier_is_deferred_less(const struct world w[2], const double uneven[2])
{
	const struct agent *a = w[0].agents, *plain = w[1].agents;

	assert_true(a[1].deferred <= a[0].deferred * 1.02);
	assert_true(a[1].served > 0.97 * a[0].served);
	assert_true(a[1].served > 0.97 * plain[1].served);
	/* what it needs is less than its share: not at all */
	if (a[1].writing <= 0.2)
		assert_true(a[1].deferred == 0);
}

static void test_weights(void **state)
{
	for_each_load(400, heavier_is_deferred_less);
}

/*
 * Agents change their mind about as often as with one price for all: prices do not swing. (Where one
 * price makes them go by their cycle of 30 s alone, up to 13 times a minute each.)
 */
static void as_steady_as_one_price(const struct world w[2], const double uneven[2])
{
	unsigned int own = w[0].agents[0].changes + w[0].agents[1].changes;
	unsigned int plain = w[1].agents[0].changes + w[1].agents[1].changes;

	assert_true(own <= plain * 1.2 || own < 2 * 13 * 10);
}

static void test_no_oscillation(void **state)
{
	for_each_load(100, as_steady_as_one_price);
	for_each_load(400, as_steady_as_one_price);
}

/* The disk as a whole is no worse used. */
static void as_much_is_done(const struct world w[2], const double uneven[2])
{
	double own = w[0].agents[0].served + w[0].agents[1].served;
	double plain = w[1].agents[0].served + w[1].agents[1].served;

	assert_true(own > 0.97 * plain);
}

static void test_throughput(void **state)
{
	for_each_load(100, as_much_is_done);
	for_each_load(400, as_much_is_done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_weights),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_no_oscillation),
		cmocka_unit_test(test_throughput),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
