/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads that wait for another client's chunk: whose they may, and that they wait for no longer than Max_Wait and a turn. */
#include "disk.h"
#include "sched/parts.h"

#define STREAMS 40
#define TURN	(DISK_SEEK + DISK_NS(8 * MIB))
#define EXPORT	7

static struct sched_queue *make(const struct sched_shares *shares)
{
	struct sched_limits l = default_limits();
	struct sched_queue *q;

	l.cost.demand_wait = 65 * MSEC;
	l.prefetch_max_age = 100 * SEC;
	q = queue_new(&sched_turns, &l);
	learn_disk(&q->cost);
	if (shares)
		assert_int_equal(sched_set_shares(q, shares, SEC), 0);
	return q;
}

static struct sched_req chunk(uint64_t client, uint64_t file)
{
	return (struct sched_req){.flow = {.client = client, .export_id = EXPORT},
				  .class = SCHED_PREFETCH,
				  .file = file,
				  .owner = file,
				  .block = file * 64 * MIB,
				  .len = 8 * MIB};
}

static struct sched_req read_in(const struct sched_req *c, uint64_t client)
{
	return (struct sched_req){.flow = {.client = client, .export_id = EXPORT},
				  .class = SCHED_DEMAND,
				  .file = c->file,
				  .offset = MIB,
				  .block = c->block + MIB,
				  .len = 8 * KIB};
}

/* What becomes of a read of client 2, which has had more than client 1, in a chunk of that one that is queued. */
static enum sched_verdict submitted(const struct sched_shares *shares, uint16_t rule)
{
	struct sched_queue *q = make(shares);
	struct sched_req other = chunk(3, 99), c = chunk(1, 1), r = read_in(&c, 2);
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	enum sched_verdict verdict;

	c.flow.rule = rule;
	flow_set_rule(q, flow_get(q, &c.flow), rule);
	flow_charge(q, flow_get(q, &r.flow), SEC);
	sched_submit(q, &other, SEC);
	assert_ptr_equal(sched_next(q, SEC), &other);
	sched_submit(q, &c, SEC);
	verdict = sched_submit(q, &r, SEC);
	sched_done(q, &other, SEC, &woken);
	for (uint64_t now = SEC; q->queued; now += SEC) {
		struct sched_req *next = sched_next(q, now);

		if (next)
			sched_done(q, next, now, &woken);
	}
	assert_null(sched_check(q));
	queue_free(q);
	return verdict;
}

static void test_whose_chunk_others_wait_for(void **state)
{
	static const struct sched_shares
		floor = {.n_rules = 2, .rules = {{100}, {100, .floor = {.bandwidth = MIB}}}},
		ceiling = {.n_rules = 2,
			   .rules = {{100}, {100, .ceiling = {.bandwidth = 100 * MIB}}}},
		shared = {.n_rules = 1,
			  .rules = {{100}},
			  .n_exports = 1,
			  .exports = {{EXPORT, {100, .ceiling = {.bandwidth = 100 * MIB}}}}};

	assert_int_equal(submitted(NULL, 0), SCHED_WAITS);
	assert_int_equal(submitted(&floor, 1), SCHED_WAITS);
	assert_int_equal(submitted(&shared, 0), SCHED_WAITS); /* the ceiling is its own, too */
	assert_int_equal(submitted(&ceiling, 1), SCHED_ADDED);
}

/*
 * Client 1 has many streams, or FLOOD reads that come after the read of client 2 has joined: how long (ns) that one
 * waits for the chunk that would come last.
 */
static uint64_t wait_of_guest(const struct sched_policy *policy, unsigned int flood)
{
	static struct sched_req small[1000];
	struct sched_queue *q = make(NULL);
	struct sched_req c[STREAMS], own[STREAMS], r = {0};
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	unsigned int streams = flood ? 2 : STREAMS;
	uint64_t now = SEC;

	assert_int_equal(sched_set_policy(q, policy), 0);
	for (unsigned int i = 0; i < streams; i++) {
		c[i] = chunk(1, 1 + i);
		sched_submit(q, &c[i], now);
		own[i] = read_in(&c[i], 1);
		assert_int_equal(sched_submit(q, &own[i], now), SCHED_WAITS);
	}
	assert_ptr_equal(sched_next(q, now), &c[0]);
	r = read_in(&c[streams - 1], 2);
	flow_charge(q, flow_get(q, &r.flow), 100 * SEC);
	assert_int_equal(sched_submit(q, &r, now), SCHED_WAITS);
	for (unsigned int i = 0; i < flood; i++) {
		small[i] = read_in(&c[0], 1);
		small[i].file = 1000 + i;
		small[i].block = (1000 + (i * 7919) % flood) * 64 * MIB;
		sched_submit(q, &small[i], now);
	}
	for (struct sched_req *next = &c[0], *w; r.state != REQ_IDLE; next = sched_next(q, now)) {
		bool stream = next->class == SCHED_PREFETCH;

		now += stream ? TURN : DISK_SEEK;
		sched_done(q, next, now, &woken);
		if (stream) { /* the next of its stream, or of the flood */
			*next = chunk(1, next->file);
			next->offset = now;
		}
		sched_submit(q, next, now);
		while ((w = TAILQ_FIRST(&woken))) {
			TAILQ_REMOVE(&woken, w, link);
			if (w == &r)
				break;
			*w = read_in(next, 1);
			w->offset = next->offset;
			sched_submit(q, w, now);
		}
		assert_null(sched_check(q));
	}
	queue_free(q);
	return now - SEC;
}

static void test_a_guest_does_not_wait_for_all_that_its_host_has(void **state)
{
	static const struct sched_limits l = {.cost.max_wait = 2 * SEC};
	uint64_t most = l.cost.max_wait + 2 * TURN;
	uint64_t streams = wait_of_guest(&sched_turns, 0),
		 flood = wait_of_guest(&sched_turns, 1000);

	print_message("%.0f ms beside streams, %.0f beside a flood\n", (double)streams / 1e6,
		      (double)flood / 1e6);
	assert_true(streams <= most);
	assert_true(flood <= most);
}

/* Many are due at once, at a disk that has several requests at a time: they have a quarter of its time, and are paid for. */
static void test_guests_have_a_quarter(void **state)
{
	struct sched_queue *q = make(NULL);
	struct sched_req c[STREAMS], r[STREAMS], *at[4];
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	unsigned int guests = 0;
	uint64_t now = SEC;

	flow_charge(q, flow_get(q, &(struct flow_id){.client = 2, .export_id = EXPORT}), 100 * SEC);
	for (unsigned int i = 0; i < STREAMS; i++) {
		c[i] = chunk(1, 1 + i);
		sched_submit(q, &c[i], now);
		r[i] = read_in(&c[i], i < STREAMS / 2 ? 1 : 2);
		assert_int_equal(sched_submit(q, &r[i], now), SCHED_WAITS);
	}
	now += 1600 * MSEC;
	for (unsigned int i = 0; i < 4; i++) {
		at[i] = sched_next(q, now);
		guests += at[i]->was_guest;
	}
	assert_int_equal(guests, 1);
	for (unsigned int i = 0; i < 4; i++)
		sched_done(q, at[i], now += TURN, &woken);
	for (struct sched_req *next; (next = sched_next(q, now));)
		sched_done(q, next, now += TURN, &woken);
	assert_null(sched_check(q));
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_chunk_others_wait_for),
		cmocka_unit_test(test_a_guest_does_not_wait_for_all_that_its_host_has),
		cmocka_unit_test(test_guests_have_a_quarter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
