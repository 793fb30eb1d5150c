/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What lies next to a read that is at the drive: what that brings along, which others wait for, and what goes
 * beside it before its turn.
 */
#include "disk.h"
#include "sched/parts.h"
#include "sched/place.h"

#define ASKED (32 * KIB)

static struct sched_queue *q;
static struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
static uint64_t now;

static struct sched_req request(enum sched_class class, uint64_t client, uint64_t file,
				uint64_t offset, uint64_t len)
{
	return (struct sched_req){.class = class,
				  .file = file,
				  .offset = offset,
				  .len = len,
				  .one_step = class == SCHED_PREFETCH,
				  .block = file * 1024 * MIB + offset,
				  .flow = {.client = client}};
}

/* The first read of a file, which brings as much again. */
static struct sched_req first_read(uint64_t client, uint64_t file)
{
	struct sched_req r = request(SCHED_DEMAND, client, file, 0, 2 * ASKED);

	r.brings_more = true;
	return r;
}

static struct sched_req read_of(uint64_t client, uint64_t file, uint64_t offset)
{
	return request(SCHED_DEMAND, client, file, offset, ASKED);
}

static void start(void)
{
	struct sched_limits l = default_limits();

	now = SEC;
	q = queue_new(sched_policy_find("turns"), &l);
	learn_disk(&q->cost);
}

static void stop(void)
{
	assert_null(sched_check(q));
	assert_int_equal(q->queued + q->running + q->joined, 0);
	assert_int_equal(q->held, 0);
	assert_true(TAILQ_EMPTY(&woken));
	queue_free(q);
}

static enum sched_verdict submit(struct sched_req *r)
{
	enum sched_verdict verdict = sched_submit(q, r, now += MSEC);

	assert_null(sched_check(q));
	return verdict;
}

static struct sched_req *next(void)
{
	struct sched_req *r = sched_next(q, now += MSEC);

	assert_null(sched_check(q));
	return r;
}

/* R is over, and wakes WAITER (NULL: nobody). */
static void end(struct sched_req *r, struct sched_req *waiter)
{
	sched_done(q, r, now += MSEC, &woken);
	assert_ptr_equal(TAILQ_FIRST(&woken), waiter);
	if (waiter)
		TAILQ_REMOVE(&woken, waiter, link);
	assert_null(sched_check(q));
}

/* ---- what a read brings along ------------------------------------------------------------ */

static void test_the_second_read_waits_for_the_first(void **state)
{
	struct sched_req a = first_read(1, 1), b = read_of(1, 1, ASKED);

	start();
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_int_equal(submit(&b), SCHED_WAITS); /* queued */
	assert_ptr_equal(next(), &a);
	assert_null(next());
	end(&a, &b);
	a = first_read(1, 1);
	b = read_of(1, 1, ASKED);
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_ptr_equal(next(), &a);
	assert_int_equal(submit(&b), SCHED_WAITS); /* running */
	end(&a, &b);
	b = read_of(1, 1, ASKED);
	assert_int_equal(submit(&b), SCHED_ADDED); /* over */
	assert_ptr_equal(next(), &b);
	end(&b, NULL);
	stop();
}

static void test_it_waits_for_one_that_runs_alone(void **state)
{
	struct sched_req a = first_read(1, 1), b = read_of(1, 1, ASKED), before = read_of(1, 2, 0);

	start();
	assert_int_equal(submit(&before), SCHED_ADDED); /* the visit is this client's */
	assert_ptr_equal(next(), &before);
	end(&before, NULL);
	q->flows.visit.wait_until = 0;
	assert_true(sched_run_alone(q, &a, now += MSEC));
	assert_int_equal(submit(&b), SCHED_WAITS);
	end(&a, &b);
	stop();
}

static void test_one_that_came_before_waits_too(void **state)
{
	struct sched_req b = read_of(1, 1, ASKED), a = first_read(1, 1);

	start();
	assert_int_equal(submit(&b), SCHED_ADDED);
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_int_equal(b.state, REQ_JOINED);
	assert_ptr_equal(next(), &a);
	end(&a, &b);
	stop();
}

/* Another client has its own turn: it waits for what is on its way, not for what is queued. */
static void test_others_wait_for_what_runs(void **state)
{
	struct sched_req a = first_read(1, 1), b = read_of(2, 1, ASKED), c = read_of(3, 1, ASKED);

	start();
	assert_int_equal(submit(&b), SCHED_ADDED);
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_int_equal(b.state, REQ_QUEUED);
	while (a.state != REQ_RUNNING) {
		struct sched_req *r = next();

		assert_non_null(r);
		if (r != &a)
			end(r, NULL);
	}
	assert_int_equal(submit(&c), SCHED_WAITS);
	end(&a, &c);
	if (b.state == REQ_QUEUED) {
		assert_ptr_equal(next(), &b);
		end(&b, NULL);
	}
	stop();
}

/* Who brings no more than was asked for is waited for by nobody; a longer read is served by neither. */
static void test_what_is_not_brought_is_not_waited_for(void **state)
{
	struct sched_req a = request(SCHED_DEMAND, 1, 1, 0, 2 * ASKED);
	struct sched_req b = read_of(1, 1, ASKED), c = first_read(1, 2);
	struct sched_req beyond = request(SCHED_DEMAND, 1, 2, ASKED, 2 * ASKED);

	start();
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_ptr_equal(next(), &a);
	assert_int_equal(submit(&b), SCHED_ADDED);
	end(&a, NULL);
	assert_ptr_equal(next(), &b);
	end(&b, NULL);
	assert_int_equal(submit(&c), SCHED_ADDED);
	assert_ptr_equal(next(), &c);
	assert_int_equal(submit(&beyond), SCHED_ADDED);
	end(&c, NULL);
	assert_ptr_equal(next(), &beyond);
	end(&beyond, NULL);
	stop();
}

/* One at the disk is nearer than a chunk that is queued; one that hangs is waited for by nobody. */
static void test_the_nearest_is_waited_for(void **state)
{
	struct sched_req a = first_read(1, 1), b = read_of(1, 1, ASKED), c = read_of(1, 1, ASKED);
	struct sched_req whole = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);
	struct sched_req alone = first_read(2, 5), other = read_of(3, 5, ASKED);

	start();
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_ptr_equal(next(), &a);
	assert_int_equal(submit(&whole), SCHED_ADDED);
	assert_int_equal(submit(&b), SCHED_WAITS);
	end(&a, &b);
	assert_int_equal(submit(&c), SCHED_WAITS); /* for the chunk */
	assert_ptr_equal(next(), &whole);
	end(&whole, &c);
	assert_int_equal(submit(&alone), SCHED_ADDED);
	assert_ptr_equal(next(), &alone);
	alone.stalled = true;
	assert_null(chunk_for(q, &other));
	alone.stalled = false;
	assert_ptr_equal(chunk_for(q, &other), &alone);
	end(&alone, NULL);
	stop();
}

/* A chunk takes over what has no waiters; what has keeps them. */
static void test_a_chunk_takes_over_who_is_alone(void **state)
{
	struct sched_req a = first_read(1, 1), b = read_of(1, 1, ASKED), c = first_read(1, 2);
	struct sched_req whole = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);
	struct sched_req other = request(SCHED_PREFETCH, 1, 2, 0, 256 * KIB);

	start();
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_int_equal(submit(&b), SCHED_WAITS);
	assert_int_equal(submit(&whole), SCHED_ADDED);
	assert_int_equal(a.state, REQ_QUEUED);
	assert_ptr_equal(next(), &a);
	end(&a, &b);
	assert_ptr_equal(next(), &whole);
	end(&whole, NULL);
	assert_int_equal(submit(&c), SCHED_ADDED);
	assert_int_equal(submit(&other), SCHED_ADDED);
	assert_int_equal(c.state, REQ_JOINED);
	assert_ptr_equal(next(), &other);
	end(&other, &c);
	stop();
}

/* A is at the drive; FAR and REST are queued. */
static void start_beside(struct sched_req *a, struct sched_req *far, struct sched_req *rest)
{
	start();
	assert_int_equal(submit(a), SCHED_ADDED);
	assert_ptr_equal(next(), a);
	assert_int_equal(submit(far), SCHED_ADDED);
	assert_int_equal(submit(rest), SCHED_ADDED);
}

/* ---- before its turn --------------------------------------------------------------------- */

/* Of the same file, and of another client's with a turn before. */
static void test_who_lies_next_to_one_there_goes_before_its_turn(void **state)
{
	struct sched_req a = first_read(1, 1), far = read_of(2, 9, 0);
	struct sched_req rest = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);

	start_beside(&a, &far, &rest);
	q->scattered_only = q->short_too = true; /* the drive takes several */
	assert_ptr_equal(next(), &rest);
	assert_ptr_equal(next(), &far);
	end(&a, NULL);
	end(&rest, NULL);
	end(&far, NULL);
	stop();
}

/* Not for ever: who has had more than others waits as they do. */
static void test_who_has_had_more_does_not(void **state)
{
	struct sched_req a = first_read(1, 1), far = read_of(2, 9, 0);
	struct sched_req rest = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);

	start_beside(&a, &far, &rest);
	flow_charge(q, a.in, SEC);
	q->scattered_only = q->short_too = true;
	assert_ptr_equal(next(), &far);
	end(&a, NULL);
	q->scattered_only = q->short_too = false;
	end(&far, NULL);
	assert_ptr_equal(next(), &rest);
	end(&rest, NULL);
	stop();
}

/* Nor before one of its client's own that has waited for long. */
static void test_who_waits_for_long_goes_first(void **state)
{
	struct sched_req a = first_read(1, 1), far = read_of(1, 9, 0);
	struct sched_req rest = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);

	start();
	assert_int_equal(submit(&a), SCHED_ADDED);
	assert_ptr_equal(next(), &a);
	assert_int_equal(submit(&far), SCHED_ADDED);
	now += q->limits.cost.max_wait / 2;
	assert_int_equal(submit(&rest), SCHED_ADDED);
	q->scattered_only = q->short_too = true;
	assert_null(going_on_pick(q)); /* they have their turns */
	while (q->queued)
		assert_non_null(next());
	while (q->running)
		end(TAILQ_FIRST(&q->active), NULL);
	stop();
}

/* Nor once the one it goes on from has left, and the arm with it. */
static void test_once_that_has_left_it_has_its_turn(void **state)
{
	struct sched_req a = first_read(1, 1), far = read_of(2, 9, 0), there = read_of(3, 20, 0);
	struct sched_req rest = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);

	start();
	assert_int_equal(submit(&there), SCHED_ADDED);
	assert_ptr_equal(next(), &there);
	assert_int_equal(submit(&a), SCHED_ADDED);
	q->scattered_only = true;
	assert_ptr_equal(next(), &a);
	assert_int_equal(submit(&far), SCHED_ADDED);
	assert_int_equal(submit(&rest), SCHED_ADDED);
	assert_true(rest.goes_on);
	end(&a, NULL);
	q->short_too = true;
	assert_ptr_equal(going_on_pick(q), NULL);
	assert_false(rest.goes_on);
	q->scattered_only = q->short_too = false;
	end(&there, NULL);
	while (q->queued)
		end(next(), NULL);
	stop();
}

/* Where one goes at a time there is nothing to go beside. */
static void test_one_by_one_it_has_its_turn(void **state)
{
	struct sched_req a = first_read(1, 1), far = read_of(2, 9, 0);
	struct sched_req rest = request(SCHED_PREFETCH, 1, 1, 0, 256 * KIB);

	start_beside(&a, &far, &rest);
	q->scattered_only = q->at_hand = true;
	assert_ptr_not_equal(next(), &rest);
	q->scattered_only = q->at_hand = false;
	while (q->running + q->queued) {
		while (q->running)
			end(TAILQ_FIRST(&q->active), NULL);
		next();
	}
	stop();
}

static void test_who_lies_elsewhere_waits(void **state)
{
	struct sched_req a = first_read(1, 1), far = read_of(2, 9, 0);
	struct sched_req rest = request(SCHED_PREFETCH, 1, 1, MIB, 256 * KIB);
	struct sched_req longer = request(SCHED_PREFETCH, 3, 1, 2 * ASKED, SHORT_CHUNK_MAX + 1);

	start_beside(&a, &far, &rest);
	assert_int_equal(submit(&longer), SCHED_ADDED);
	assert_false(rest.goes_on);
	assert_false(longer.goes_on);
	end(&a, NULL);
	while (q->queued)
		end(next(), NULL);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_second_read_waits_for_the_first),
		cmocka_unit_test(test_it_waits_for_one_that_runs_alone),
		cmocka_unit_test(test_one_that_came_before_waits_too),
		cmocka_unit_test(test_others_wait_for_what_runs),
		cmocka_unit_test(test_what_is_not_brought_is_not_waited_for),
		cmocka_unit_test(test_the_nearest_is_waited_for),
		cmocka_unit_test(test_a_chunk_takes_over_who_is_alone),
		cmocka_unit_test(test_who_lies_next_to_one_there_goes_before_its_turn),
		cmocka_unit_test(test_who_has_had_more_does_not),
		cmocka_unit_test(test_who_waits_for_long_goes_first),
		cmocka_unit_test(test_once_that_has_left_it_has_its_turn),
		cmocka_unit_test(test_one_by_one_it_has_its_turn),
		cmocka_unit_test(test_who_lies_elsewhere_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
