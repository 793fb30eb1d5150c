/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What hangs at the disk, as the queue sees it: who is let go by a chunk, and what when it goes on. */
#include <time.h>

#include "disk.h"
#include "sched/parts.h"

#define READ  (64 * KIB)
#define READS 2

static struct sched_queue *q;
static struct sched_req chunk, reads[READS];
static struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

static struct sched_req request(enum sched_class class, uint64_t client, uint64_t offset,
				uint64_t len)
{
	return (struct sched_req){.class = class,
				  .file = 1,
				  .offset = offset,
				  .len = len,
				  .block = offset,
				  .flow = {.client = client}};
}

static void check_woken(unsigned int n)
{
	struct sched_req *r;

	for (; (r = TAILQ_FIRST(&woken)); n--)
		TAILQ_REMOVE(&woken, r, link);
	assert_int_equal(n, 0);
	assert_null(sched_check(q));
}

/* A chunk hangs whose readers ask for their own, and are queued when it goes on, at 3 s. */
static void hang(void)
{
	struct sched_limits l = default_limits();

	l.stall_time = SEC;
	q = queue_new(sched_policy_find("turns"), &l);
	chunk = request(SCHED_PREFETCH, 1, 0, MIB);
	assert_int_equal(sched_submit(q, &chunk, SEC), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, SEC), &chunk);
	for (unsigned int i = 0; i < READS; i++) {
		reads[i] = request(SCHED_DEMAND, 1 + i, 2 * i * READ, READ);
		assert_int_equal(sched_submit(q, &reads[i], SEC), SCHED_WAITS);
	}
	assert_ptr_equal(sched_stall(q, 2 * SEC), &chunk);
	sched_let_go(q, &chunk, 2 * SEC, &woken);
	check_woken(READS);
	for (unsigned int i = 0; i < READS; i++)
		assert_int_equal(sched_submit(q, &reads[i], 2 * SEC), SCHED_ADDED);
}

static void stop(void)
{
	assert_null(sched_check(q));
	assert_int_equal(q->queued + q->running + q->stalled + q->joined, 0);
	assert_int_equal(q->held, 0);
	queue_free(q);
}

static void test_a_chunk_that_goes_on_takes_its_readers_back(void **state)
{
	hang();
	assert_true(sched_sign(q, &chunk, 3 * SEC));
	assert_null(sched_check(q));
	for (unsigned int i = 0; i < READS; i++)
		assert_int_equal(reads[i].state, REQ_JOINED);
	sched_progress(q, &chunk, READ, 3 * SEC, &woken);
	check_woken(1);
	sched_done(q, &chunk, 3 * SEC, &woken);
	check_woken(1);
	stop();
}

/* ... and when it is over, its bytes are there. */
static void test_a_chunk_that_ends_takes_its_readers_back(void **state)
{
	hang();
	sched_done(q, &chunk, 3 * SEC, &woken);
	check_woken(READS);
	stop();
}

/* One that was only to be tidied up brings nothing. */
static void test_a_chunk_that_was_dropped_takes_nobody_back(void **state)
{
	hang();
	chunk.dropped = true;
	assert_true(sched_sign(q, &chunk, 3 * SEC));
	assert_int_equal(q->by_class[SCHED_DEMAND], READS);
	sched_done(q, &chunk, 3 * SEC, &woken);
	check_woken(0);
	for (unsigned int i = 0; i < READS; i++) {
		struct sched_req *r = sched_next(q, 3 * SEC);

		assert_non_null(r);
		sched_done(q, r, 3 * SEC, &woken);
		check_woken(0);
	}
	stop();
}

/* A read that goes on is over, and may have failed: those that were parked for it are not answered behind its back. */
static void test_a_read_that_goes_on_takes_nobody(void **state)
{
	struct sched_limits l = default_limits();
	struct sched_req slow = request(SCHED_DEMAND, 1, 0, 4 * READ);

	l.stall_time = SEC;
	q = queue_new(sched_policy_find("turns"), &l);
	slow.brings_more = true;
	assert_int_equal(sched_submit(q, &slow, SEC), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, SEC), &slow);
	assert_ptr_equal(sched_stall(q, 2 * SEC), &slow);
	reads[0] = request(SCHED_DEMAND, 1, READ, READ);
	assert_int_equal(sched_submit(q, &reads[0], 2 * SEC), SCHED_ADDED);
	assert_int_equal(q->parked.n, 1);
	assert_true(sched_sign(q, &slow, 3 * SEC));
	assert_int_equal(reads[0].state, REQ_QUEUED);
	assert_int_equal(q->parked.n, 0);
	sched_done(q, &slow, 3 * SEC, &woken);
	check_woken(0);
	assert_ptr_equal(sched_next(q, 3 * SEC), &reads[0]);
	sched_done(q, &reads[0], 3 * SEC, &woken);
	check_woken(0);
	stop();
}

#define PARKED 2000
#define ROUNDS 50

/* Processor time (s) of rounds in which one of N reads of a file that are stuck goes on, and gets stuck again. */
static double time_of_rounds(struct sched_req *r, unsigned int n)
{
	struct sched_limits l = default_limits();
	uint64_t now = SEC;
	clock_t began;
	double took;

	l.stall_time = SEC;
	q = queue_new(sched_policy_find("turns"), &l);
	for (unsigned int i = 0; i < n + PARKED; i++) {
		r[i] = request(SCHED_DEMAND, 1, 2 * i * READ, KIB);
		assert_int_equal(sched_submit(q, &r[i], now), SCHED_ADDED);
		if (i < n)
			assert_ptr_equal(sched_next(q, now), &r[i]);
		else if (i == n)
			for (now += SEC; sched_stall(q, now);)
				;
	}
	assert_int_equal(q->stalled, n);
	assert_int_equal(q->parked.n, PARKED);
	began = clock();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sched_req *next = TAILQ_FIRST(&q->stuck);

		assert_true(sched_sign(q, next, now));
		now += SEC;
		assert_ptr_equal(sched_stall(q, now), next);
	}
	took = (double)(clock() - began) / CLOCKS_PER_SEC;
	assert_int_equal(q->parked.n, PARKED);
	for (unsigned int i = 0; i < n; i++)
		sched_done(q, &r[i], now, &woken);
	for (struct sched_req *next; (next = sched_next(q, now));)
		sched_done(q, next, now, &woken);
	stop();
	return took;
}

/* Whether their file hangs is not asked for each of those parked: all wait for the lock that long. */
static void test_many_that_hang_cost_no_more_than_a_few(void **state)
{
	struct sched_req *r = calloc(SCHED_STALLED_MAX + PARKED, sizeof(*r));
	double few;

	assert_non_null(r);
	few = time_of_rounds(r, 5);
	assert_true(time_of_rounds(r, SCHED_STALLED_MAX) < 4 * few + 0.01);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chunk_that_goes_on_takes_its_readers_back),
		cmocka_unit_test(test_a_chunk_that_ends_takes_its_readers_back),
		cmocka_unit_test(test_a_chunk_that_was_dropped_takes_nobody_back),
		cmocka_unit_test(test_a_read_that_goes_on_takes_nobody),
		cmocka_unit_test(test_many_that_hang_cost_no_more_than_a_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
