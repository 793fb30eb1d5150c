/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfsbench over datagrams: the paper's rules of waiting (Macklem, section 4) and Jacobson's estimator,
 * one call answered once whatever is lost, and the size of READs by what is lost of fragments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "calls.h"
#include "prng.h"
#include "read_size.h"

#define MS UINT64_C(1000000)

enum { GETATTR = 1, SETATTR = 2, LOOKUP = 3, READ = 6, WRITE = 7, CREATE = 8, READDIR = 16 };

static const struct calls_policy dynamic = {
	.dynamic = true,
	.constant = 1000 * MS,
	.least = 1 * MS,
	.most = 60000 * MS,
	.tick = 10 * MS,
	.window_first = 4,
	.window_most = 32,
};

static struct calls table;

static struct calls *begin(bool is_dynamic)
{
	struct calls_policy p = dynamic;

	p.dynamic = is_dynamic;
	assert_int_equal(calls_init(&table, &p, 64), 0);
	return &table;
}

/* Adds, sends and answers a call whose round trip takes so long. */
static void round_trip(struct calls *c, uint32_t xid, uint32_t procedure, uint64_t at, uint64_t rtt)
{
	struct call done;

	assert_non_null(calls_add(c, xid, procedure, at));
	assert_int_equal(calls_next(c, at)->xid, xid);
	assert_int_equal(calls_answered(c, xid, at + rtt, &done), ANSWER_FIRST);
}

static void test_jacobsons_estimator(void **state)
{
	struct rto r = {0};

	rto_measured(&r, 100 * MS);
	assert_true(r.a == 100.0 * MS && r.d == 50.0 * MS);
	rto_measured(&r, 180 * MS); /* err 80: A 100 + 80/8, D 50 + (80 - 50)/4 */
	assert_true(r.a == 110.0 * MS && r.d == 57.5 * MS);
	for (int i = 0; i < 200; i++)
		rto_measured(&r, 30 * MS);
	assert_in_range((uint64_t)r.a, 29 * MS, 31 * MS);
	assert_true(r.d < 0.1 * MS);
}

static void test_big_calls_wait_for_4d_small_ones_for_2d_others_for_the_constant(void **state)
{
	struct rto r = {0};

	rto_measured(&r, 100 * MS);
	assert_int_equal(rto_value(&r, RPC_READ, 1000 * MS, MS), 300 * MS);
	assert_int_equal(rto_value(&r, RPC_WRITE, 1000 * MS, MS), 300 * MS);
	assert_int_equal(rto_value(&r, RPC_GETATTR, 1000 * MS, MS), 200 * MS);
	assert_int_equal(rto_value(&r, RPC_LOOKUP, 1000 * MS, MS), 200 * MS);
	assert_int_equal(rto_value(&r, RPC_OTHER, 1000 * MS, MS), 1000 * MS);
	assert_int_equal(rto_value(&r, RPC_LOOKUP, 1000 * MS, 250 * MS), 250 * MS);
	assert_int_equal(rpc_class_of(CREATE), RPC_OTHER);
	assert_int_equal(rpc_class_of(READDIR), RPC_OTHER);
	assert_int_equal(rpc_class_of(SETATTR), RPC_OTHER);
}

static void test_each_class_has_an_estimate_of_its_own(void **state)
{
	struct calls *c = begin(true);

	round_trip(c, 1, READ, 0, 400 * MS);
	round_trip(c, 2, LOOKUP, 1000 * MS, 10 * MS);
	assert_int_equal(calls_rto(c, RPC_READ), 1200 * MS);
	assert_int_equal(calls_rto(c, RPC_LOOKUP), 20 * MS);
	assert_int_equal(calls_rto(c, RPC_GETATTR), 1000 * MS);
	calls_free(c);
}

static void test_fixed_waits_one_second_then_twice_as_long(void **state)
{
	struct calls *c = begin(false);
	uint64_t sent[4], at = 0;

	round_trip(c, 9, READ, 0, MS); /* measured, and of no influence */
	assert_non_null(calls_add(c, 1, READ, 0));
	for (int i = 0; i < 4; at += 10 * MS) {
		if (calls_next(c, at))
			sent[i++] = at;
	}
	assert_int_equal(sent[1] - sent[0], 1000 * MS);
	assert_int_equal(sent[2] - sent[1], 2000 * MS);
	assert_int_equal(sent[3] - sent[2], 4000 * MS);
	calls_free(c);
}

/* A call that is looked after each 10 ms, and answered TOOK ns after it came at AT. Its sendings by then. */
static uint32_t answered_after(struct calls *c, uint32_t xid, uint32_t procedure, uint64_t at,
			       uint64_t took)
{
	struct call done;

	assert_non_null(calls_add(c, xid, procedure, at));
	for (uint64_t t = at; t < at + took; t += 10 * MS)
		calls_next(c, t);
	assert_int_equal(calls_answered(c, xid, at + took, &done), ANSWER_FIRST);
	return done.sendings;
}

/* A line so slow that a READ takes longer than the constant: each would be sent twice for ever. */
static void test_the_doubled_time_is_kept_until_a_round_trip_is_measured(void **state)
{
	struct calls *c = begin(true);
	uint64_t at = 0;

	for (uint32_t xid = 1; xid <= 3; xid++, at += 10000 * MS)
		assert_int_equal(answered_after(c, xid, READ, at, 2400 * MS), xid == 3 ? 1 : 2);
	assert_int_equal(c->counts[RPC_READ].rtt_samples, 1);
	assert_int_equal(calls_rto(c, RPC_READ), 7200 * MS); /* A + 4D, not doubled */
	assert_int_equal(calls_rto(c, RPC_LOOKUP), 1000 * MS);
	calls_free(c);
}

/* A queue that grew beyond what was measured: the estimate is too low for all calls that follow. */
static void test_the_doubled_time_is_kept_also_where_the_estimate_became_too_low(void **state)
{
	struct calls *c = begin(true);
	uint64_t at = 1000 * MS;

	round_trip(c, 1, LOOKUP, 0, 50 * MS);
	/* 100 ms, 200 ms are too short, 400 ms are not. */
	for (uint32_t xid = 2; xid <= 4; xid++, at += 1000 * MS)
		assert_int_equal(answered_after(c, xid, LOOKUP, at, 300 * MS), xid == 4 ? 1 : 2);
	assert_int_equal(c->counts[RPC_LOOKUP].rtt_samples, 2);
	calls_free(c);
}

/* It is of its class, and ends with the first answer that measures, also that of a call sent before. */
static void test_what_is_lost_by_chance_lets_others_wait_until_one_is_measured(void **state)
{
	struct calls *c = begin(true);

	round_trip(c, 1, READ, 0, 40 * MS); /* A + 4D = 120 ms */
	round_trip(c, 2, LOOKUP, 0, 10 * MS);
	assert_non_null(calls_add(c, 3, READ, 1000 * MS));
	assert_int_equal(calls_next(c, 1000 * MS)->xid, 3);
	assert_non_null(calls_add(c, 4, READ, 1100 * MS));
	assert_int_equal(calls_next(c, 1100 * MS)->xid, 4);
	assert_int_equal(calls_next(c, 1130 * MS)->xid, 3);
	assert_int_equal(calls_rto(c, RPC_READ), 240 * MS);
	assert_int_equal(calls_rto(c, RPC_LOOKUP), 20 * MS);
	assert_int_equal(calls_answered(c, 3, 1135 * MS, &(struct call){0}), ANSWER_FIRST);
	assert_int_equal(calls_rto(c, RPC_READ), 240 * MS);
	assert_int_equal(calls_answered(c, 4, 1140 * MS, &(struct call){0}), ANSWER_FIRST);
	assert_true(calls_rto(c, RPC_READ) < 120 * MS);
	calls_free(c);
}

static void test_fixed_has_no_window(void **state)
{
	struct calls *c = begin(false);

	for (uint32_t xid = 0; xid < 64; xid++)
		assert_non_null(calls_add(c, xid, READ, 0));
	assert_true(calls_full(c));
	assert_null(calls_add(c, 64, READ, 0));
	for (uint32_t xid = 0; xid < 64; xid++)
		assert_int_equal(calls_next(c, 0)->xid, xid);
	assert_null(calls_next(c, 0));
	calls_free(c);
}

static void test_the_time_to_wait_is_that_of_each_tick_not_of_the_sending(void **state)
{
	struct calls *c = begin(true);

	round_trip(c, 1, READ, 0, 20 * MS); /* A + 4D = 60 ms */
	assert_non_null(calls_add(c, 2, READ, 100 * MS));
	assert_non_null(calls_add(c, 3, READ, 100 * MS));
	assert_int_equal(calls_next(c, 100 * MS)->xid, 2);
	assert_int_equal(calls_next(c, 100 * MS)->xid, 3);
	assert_int_equal(calls_answered(c, 3, 155 * MS, &(struct call){0}), ANSWER_FIRST);
	assert_true(calls_rto(c, RPC_READ) > 80 * MS); /* the other's slow answer raised it */
	assert_null(calls_next(c, 165 * MS));
	assert_int_equal(calls_next(c, 300 * MS)->xid, 2);
	calls_free(c);
}

static void test_the_window_bounds_what_is_unanswered(void **state)
{
	struct calls *c = begin(true);

	for (uint32_t xid = 0; xid < 8; xid++)
		assert_non_null(calls_add(c, xid, READ, 0));
	for (uint32_t xid = 0; xid < 4; xid++)
		assert_int_equal(calls_next(c, 0)->xid, xid);
	assert_null(calls_next(c, 0));
	assert_int_equal(calls_answered(c, 2, MS, &(struct call){0}), ANSWER_FIRST);
	assert_int_equal(calls_next(c, MS)->xid, 4);
	assert_null(calls_next(c, MS));
	calls_free(c);
}

static void test_the_window_grows_by_one_in_a_round_trip_and_is_halved(void **state)
{
	struct window w = {.size = 8, .most = 12};

	for (int i = 0; i < 8; i++)
		window_answered(&w);
	assert_true(w.size > 8.9 && w.size < 9.0);
	for (int i = 0; i < 100; i++)
		window_answered(&w);
	assert_true(w.size == 12);
	window_timed_out(&w);
	assert_true(w.size == 6);
	for (int i = 0; i < 5; i++)
		window_timed_out(&w);
	assert_true(w.size == 1);
	assert_true(window_open(&w, 0));
	assert_false(window_open(&w, 1));
}

static void test_a_call_not_answered_halves_the_window_and_keeps_its_xid(void **state)
{
	struct calls *c = begin(true);
	struct call done;

	assert_non_null(calls_add(c, 7, READ, 0));
	assert_int_equal(calls_next(c, 0)->xid, 7);
	assert_null(calls_next(c, 990 * MS));
	assert_int_equal(calls_next(c, 1000 * MS)->xid, 7);
	assert_true(c->window.size == 2);
	assert_int_equal(c->counts[RPC_READ].retransmitted, 1);
	assert_int_equal(calls_answered(c, 7, 1001 * MS, &done), ANSWER_FIRST);
	assert_int_equal(done.sendings, 2);
	/* Nobody knows which of the two was answered: nothing is learnt of it. */
	assert_int_equal(c->counts[RPC_READ].rtt_samples, 0);
	assert_int_equal(calls_rto(c, RPC_READ), 2000 * MS);
	calls_free(c);
}

static void test_late_and_unknown_answers_are_counted(void **state)
{
	struct calls *c = begin(true);
	struct call done;

	round_trip(c, 7, READ, 0, MS);
	assert_int_equal(calls_answered(c, 7, 2 * MS, &done), ANSWER_LATE);
	assert_int_equal(calls_answered(c, 8, 2 * MS, &done), ANSWER_UNKNOWN);
	assert_non_null(calls_add(c, 9, READ, 0)); /* waits: what is not sent cannot be answered */
	assert_int_equal(calls_answered(c, 9, 2 * MS, &done), ANSWER_UNKNOWN);
	assert_int_equal(c->late, 1);
	assert_int_equal(c->unknown, 2);
	assert_int_equal(c->counts[RPC_READ].answered, 1);
	calls_free(c);
}

/* An answer that comes when the call was found overdue but not sent again yet. */
static void test_an_answer_just_before_the_second_sending(void **state)
{
	struct calls *c = begin(true);
	struct call done;

	for (uint32_t xid = 1; xid <= 2; xid++)
		assert_non_null(calls_add(c, xid, READ, 0));
	assert_non_null(calls_next(c, 0));
	assert_non_null(calls_next(c, 0));
	assert_int_equal(calls_next(c, 2000 * MS)->xid, 1); /* 2 is overdue, too */
	assert_int_equal(calls_answered(c, 2, 2000 * MS, &done), ANSWER_FIRST);
	assert_null(calls_next(c, 2000 * MS));
	assert_int_equal(calls_answered(c, 1, 2000 * MS, &done), ANSWER_FIRST);
	assert_int_equal(c->used, 0);
	assert_int_equal(calls_due(c), UINT64_MAX);
	calls_free(c);
}

/* A network that loses and delays: `in_flight` answers, each at its time. */
struct answer {
	uint32_t xid;
	uint64_t at;
};

static void lossy(bool is_dynamic, unsigned int percent, uint64_t seed)
{
	struct calls *c = begin(is_dynamic);
	static struct answer way[4096];
	static uint8_t answers[600];
	unsigned int ways = 0, done = 0, added = 0;
	struct prng prng;

	memset(answers, 0, sizeof(answers));
	prng_init(&prng, seed);
	for (uint64_t now = 0; done < 600; now += MS) {
		struct call *call, copy;

		assert_true(now < 4000000 * MS);
		for (; added < 600 && !calls_full(c); added++)
			assert_non_null(calls_add(c, added, added % 3 ? READ : LOOKUP, now));
		while ((call = calls_next(c, now))) {
			if (prng_below(&prng, 100) >= percent && ways < 4096)
				way[ways++] = (struct answer){
					call->xid, now + MS * (1 + prng_below(&prng, 40))};
		}
		for (unsigned int i = 0; i < ways;) {
			if (way[i].at > now) {
				i++;
				continue;
			}
			if (calls_answered(c, way[i].xid, now, &copy) == ANSWER_FIRST) {
				assert_int_equal(copy.xid, way[i].xid);
				assert_int_equal(answers[copy.xid]++, 0);
				done++;
			}
			way[i] = way[--ways];
		}
		assert_true(c->unanswered <= c->used);
	}
	assert_int_equal(c->used, 0);
	assert_int_equal(c->unknown, 0);
	calls_free(c);
}

static void test_each_call_is_answered_once_whatever_is_lost(void **state)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		lossy(true, 30, seed);
		lossy(false, 30, seed);
		lossy(true, 0, seed);
	}
}

/* So many READs, of them sent again and answered twice, each in that time when it was sent once. */
static void learn(struct read_size *r, uint64_t answered, uint64_t again, uint64_t needless,
		  double rtt)
{
	struct read_size_seen seen = {.answered = answered,
				      .again = again,
				      .needless = needless,
				      .rtt_samples = answered,
				      .rtt_sum = rtt * (double)answered};

	for (int i = 0; i < 20; i++)
		read_size_learn(r, &seen, 3 * rtt);
}

static void test_reads_shrink_where_fragments_are_lost(void **state)
{
	struct read_size r;

	read_size_init(&r, 8192);
	assert_int_equal(read_size_fragments(8192), 6); /* the paper's six */
	learn(&r, 20, 20, 0, 10.0 * MS);
	assert_in_range(r.size, READ_SIZE_LEAST, 4096);
}

static void test_reads_stay_where_they_were_sent_again_though_nothing_was_lost(void **state)
{
	struct read_size r;

	read_size_init(&r, 8192);
	learn(&r, 20, 20, 20, 10.0 * MS);
	assert_int_equal(r.size, 8192);
	assert_true(r.fragment_loss == 0);
}

static void test_reads_stay_and_become_large_again_without_losses(void **state)
{
	struct read_size r;

	read_size_init(&r, 8192);
	learn(&r, 100, 0, 0, 10.0 * MS);
	assert_int_equal(r.size, 8192);
	r.size = 1024;
	learn(&r, 100, 0, 0, 2.0 * MS);
	assert_int_equal(r.size, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jacobsons_estimator),
		cmocka_unit_test(
			test_big_calls_wait_for_4d_small_ones_for_2d_others_for_the_constant),
		cmocka_unit_test(test_each_class_has_an_estimate_of_its_own),
		cmocka_unit_test(test_fixed_waits_one_second_then_twice_as_long),
		cmocka_unit_test(test_the_doubled_time_is_kept_until_a_round_trip_is_measured),
		cmocka_unit_test(
			test_the_doubled_time_is_kept_also_where_the_estimate_became_too_low),
		cmocka_unit_test(
			test_what_is_lost_by_chance_lets_others_wait_until_one_is_measured),
		cmocka_unit_test(test_fixed_has_no_window),
		cmocka_unit_test(test_the_time_to_wait_is_that_of_each_tick_not_of_the_sending),
		cmocka_unit_test(test_the_window_bounds_what_is_unanswered),
		cmocka_unit_test(test_the_window_grows_by_one_in_a_round_trip_and_is_halved),
		cmocka_unit_test(test_a_call_not_answered_halves_the_window_and_keeps_its_xid),
		cmocka_unit_test(test_late_and_unknown_answers_are_counted),
		cmocka_unit_test(test_an_answer_just_before_the_second_sending),
		cmocka_unit_test(test_each_call_is_answered_once_whatever_is_lost),
		cmocka_unit_test(test_reads_shrink_where_fragments_are_lost),
		cmocka_unit_test(
			test_reads_stay_where_they_were_sent_again_though_nothing_was_lost),
		cmocka_unit_test(test_reads_stay_and_become_large_again_without_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
