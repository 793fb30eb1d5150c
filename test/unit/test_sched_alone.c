/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A read that finds nothing else goes past the orders of the queue (sched_run_alone()): whatever comes before,
 * beside and after it, the queue decides and counts as one that has it queued and picks it.
 */
#include "disk.h"

#define SEEDS	40
#define STEPS	3000
#define ITEMS	24
#define CLIENTS 3
#define FILES	3
#define BLOCK	(64 * KIB)
#define PLACES	48 /* blocks of a file */

/* The same queue twice: one has a short way for reads that are alone. */
enum { SHORT, LONG, TWO };

struct world {
	struct sched_queue *q[TWO];
	struct sched_req items[TWO][ITEMS];
	bool out[ITEMS];
	int running; /* an item; -1: none */
	uint64_t seed, now, alone;
};

static int item_of(const struct world *w, int which, const struct sched_req *r)
{
	return r ? (int)(r - w->items[which]) : -1;
}

/* What was woken in either is the same, and over. */
static void end_woken(struct world *w, struct sched_list woken[TWO])
{
	struct sched_req *r[TWO];

	while ((r[SHORT] = TAILQ_FIRST(&woken[SHORT]))) {
		r[LONG] = TAILQ_FIRST(&woken[LONG]);
		assert_int_equal(item_of(w, SHORT, r[SHORT]), item_of(w, LONG, r[LONG]));
		for (int i = 0; i < TWO; i++)
			TAILQ_REMOVE(&woken[i], r[i], link);
		w->out[item_of(w, SHORT, r[SHORT])] = false;
	}
	assert_true(TAILQ_EMPTY(&woken[LONG]));
}

static enum sched_class random_class(struct world *w)
{
	uint64_t n = random_below(&w->seed, 10);

	return n < 7 ? SCHED_DEMAND : n < 9 ? SCHED_PREFETCH : SCHED_WRITEBACK;
}

static struct sched_req random_request(struct world *w)
{
	enum sched_class class = random_class(w);
	uint64_t place = random_below(&w->seed, PLACES);
	uint64_t blocks = class == SCHED_DEMAND ? 1 : 1 + random_below(&w->seed, 8);
	struct sched_req r = {.class = class, .file = random_below(&w->seed, FILES)};

	r.offset = place * BLOCK;
	r.len = blocks * BLOCK;
	r.block = r.file * 4096 * MIB + r.offset;
	r.owner = 1 + r.file;
	r.flow.client = 1 + random_below(&w->seed, CLIENTS);
	r.wanted = class == SCHED_WRITEBACK && random_below(&w->seed, 2);
	return r;
}

/* R, as the dispatcher submits what its caller could run itself; true: it runs. */
static bool submit_or_run(struct world *w, int which, struct sched_req *r,
			  enum sched_verdict *verdict)
{
	struct sched_queue *q = w->q[which];

	*verdict = SCHED_ADDED;
	if (which == SHORT && r->class == SCHED_DEMAND && sched_run_alone(q, r, w->now)) {
		w->alone++;
		return true;
	}
	*verdict = sched_submit(q, r, w->now);
	return *verdict == SCHED_ADDED && r->class == SCHED_DEMAND && w->running < 0 &&
	       sched_next_is(q, r, w->now);
}

static void submit(struct world *w)
{
	int i = (int)random_below(&w->seed, ITEMS);
	struct sched_req r = random_request(w);
	enum sched_verdict verdict[TWO];
	bool runs[TWO];

	if (w->out[i])
		return;
	for (int k = 0; k < TWO; k++) {
		w->items[k][i] = r;
		runs[k] = submit_or_run(w, k, &w->items[k][i], &verdict[k]);
	}
	assert_int_equal(verdict[SHORT], verdict[LONG]);
	assert_int_equal(runs[SHORT], runs[LONG]);
	w->out[i] = verdict[SHORT] == SCHED_ADDED || verdict[SHORT] == SCHED_WAITS;
	if (runs[SHORT])
		w->running = i;
}

/* The disk is free: it has the next one. */
static void begin(struct world *w)
{
	struct sched_req *r[TWO];

	for (int k = 0; k < TWO; k++)
		r[k] = sched_next(w->q[k], w->now);
	w->running = item_of(w, SHORT, r[SHORT]);
	assert_int_equal(w->running, item_of(w, LONG, r[LONG]));
}

/* The disk has done what it had. */
static void end(struct world *w)
{
	struct sched_list woken[TWO];
	uint64_t service = DISK_SEEK / 2 + random_below(&w->seed, DISK_SEEK);

	w->now += service;
	for (int k = 0; k < TWO; k++) {
		struct sched_req *r = &w->items[k][w->running];

		TAILQ_INIT(&woken[k]);
		if (r->class != SCHED_WRITEBACK)
			sched_observe(w->q[k], r->block, r->io_len, service);
		sched_done(w->q[k], r, w->now, &woken[k]);
	}
	w->out[w->running] = false;
	w->running = -1;
	end_woken(w, woken);
}

static void same_flows(const struct world *w)
{
	struct flow_stats s[TWO][CLIENTS + 1];
	unsigned int n = sched_flows(w->q[SHORT], s[SHORT], CLIENTS + 1);

	assert_int_equal(n, sched_flows(w->q[LONG], s[LONG], CLIENTS + 1));
	assert_memory_equal(s[SHORT], s[LONG], n * sizeof(**s));
}

static void same(const struct world *w)
{
	const struct sched_queue *a = w->q[SHORT], *b = w->q[LONG];

	assert_null(sched_check(a));
	assert_memory_equal(&a->stats, &b->stats, sizeof(a->stats));
	assert_int_equal(a->head, b->head);
	assert_int_equal(a->sequence, b->sequence);
	assert_int_equal(a->held, b->held);
	assert_int_equal(a->flows.groups.level, b->flows.groups.level);
	assert_int_equal(a->flows.visit.used, b->flows.visit.used);
	assert_int_equal(a->flows.visit.started, b->flows.visit.started);
	assert_int_equal(a->flows.visit.wait_until, b->flows.visit.wait_until);
	assert_int_equal(sched_chunk(a), sched_chunk(b));
	assert_int_equal(sched_streams(a), sched_streams(b));
	assert_int_equal(sched_hold_until(a, w->now), sched_hold_until(b, w->now));
	same_flows(w);
}

static void step(struct world *w, uint64_t busy)
{
	w->now += random_below(&w->seed, 20 * MSEC);
	if (w->running >= 0 && random_below(&w->seed, 10) >= busy)
		end(w);
	else if (w->running < 0 && random_below(&w->seed, 4))
		begin(w);
	else
		submit(w);
	same(w);
}

/* With little and with much at a time; returns how many were alone. */
static uint64_t run(const struct sched_policy *policy, uint64_t seed)
{
	struct sched_limits l = default_limits();
	struct world *w = calloc(1, sizeof(*w));
	uint64_t alone;

	assert_non_null(w);
	*w = (struct world){.seed = seed, .running = -1, .now = SEC};
	l.queue_max = 8;
	l.writeback_turn = 20 * MSEC;
	l.writeback_idle = 30 * MSEC;
	l.writeback_share = 0.3;
	for (int k = 0; k < TWO; k++)
		w->q[k] = queue_new(policy, &l);
	for (int i = 0; i < STEPS; i++)
		step(w, i / 300 % 10);
	while (w->running >= 0) {
		end(w);
		begin(w);
	}
	alone = w->alone;
	for (int k = 0; k < TWO; k++)
		queue_free(w->q[k]);
	free(w);
	return alone;
}

static void test_as_if_it_had_been_queued(void **state)
{
	const struct sched_policy *policy;

	for (unsigned int n = 0; (policy = sched_policy_nth(n)); n++) {
		uint64_t alone = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			alone += run(policy, seed);
		assert_true(alone > SEEDS); /* it is a way that is gone */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_if_it_had_been_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
