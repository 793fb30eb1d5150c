/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When small reads break in on chunks: after a slice; at once if nobody had for long; who comes meanwhile. */
#include "disk.h"

#define STEP (4 * MSEC)

static struct sched_queue *make(void)
{
	struct sched_limits l = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &l);

	learn_disk(&q->cost);
	return q;
}

static uint64_t slice_of(const struct sched_queue *q, uint32_t reads)
{
	return cost_slice(&q->cost, &q->limits.cost, reads);
}

static struct sched_req chunk(uint64_t n)
{
	return (struct sched_req){.class = SCHED_PREFETCH,
				  .file = 99,
				  .owner = 1,
				  .offset = n * 8 * MIB,
				  .len = 8 * MIB,
				  .block = n * 8 * MIB};
}

static struct sched_req small(uint64_t n)
{
	return (struct sched_req){.class = SCHED_DEMAND,
				  .file = n,
				  .len = 8 * KIB,
				  .block = 1024 * MIB + n * 64 * MIB};
}

static void done(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(q, r, now, &woken);
	assert_true(TAILQ_EMPTY(&woken));
}

static void start(struct sched_queue *q, struct sched_req *c, uint64_t now)
{
	assert_int_equal(sched_submit(q, c, now), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, now), c);
}

/* A read and two chunks of one stream; returns the time a step into the second one. */
static uint64_t begin(struct sched_queue *q, struct sched_req c[2], uint64_t first_lasts)
{
	struct sched_req r = small(9);
	uint64_t now = SEC;

	start(q, &r, now);
	done(q, &r, now);
	for (uint64_t i = 0; i < 2; i++) {
		c[i] = chunk(i);
		start(q, &c[i], now);
		if (!i)
			done(q, &c[i], now += first_lasts);
	}
	return now + STEP;
}

/* Chunks have had the disk for long: a read does not wait for a slice of the present one. */
static void test_nobody_had_broken_in_for_long(void **state)
{
	struct sched_queue *q = make();
	struct sched_req c[2], r = small(1), later = small(2);
	uint64_t now = begin(q, c, 2 * slice_of(q, 1));

	sched_submit(q, &r, now);
	assert_ptr_equal(sched_next_in_gap(q, &c[1], STEP, true, now), &r);
	done(q, &r, now += 8 * MSEC);
	/* the next one: a slice after that, which began anew */
	sched_submit(q, &later, now);
	assert_null(sched_next_in_gap(q, &c[1], 0, false, now));
	now += slice_of(q, 1);
	assert_null(sched_next_in_gap(q, &c[1], slice_of(q, 1) - 1, true, now - 1));
	assert_ptr_equal(sched_next_in_gap(q, &c[1], slice_of(q, 1), true, now), &later);
	done(q, &later, now + MSEC);
	done(q, &c[1], now + MSEC);
	queue_free(q);
}

/* Somebody had: each chunk has its slice. */
static void test_a_slice_of_each(void **state)
{
	struct sched_queue *q = make();
	struct sched_req c[2], r = small(1);
	uint64_t now = begin(q, c, 2 * slice_of(q, 1) - 2 * STEP);

	sched_submit(q, &r, now);
	assert_null(sched_next_in_gap(q, &c[1], STEP, true, now));
	now += STEP;
	assert_ptr_equal(sched_next_in_gap(q, &c[1], 2 * STEP, true, now), &r);
	done(q, &r, now);
	done(q, &c[1], now);
	queue_free(q);
}

/* N reads come while one that opened a gap is served, after chunks of TIME; how many go before the chunk does. */
static unsigned int go_with_it(uint64_t time, unsigned int n)
{
	struct sched_queue *q = make();
	struct sched_req c[2], r[16], *next;
	uint64_t now = begin(q, c, time);
	unsigned int served = 0;

	r[0] = small(10);
	sched_submit(q, &r[0], now);
	assert_ptr_equal(sched_next_in_gap(q, &c[1], STEP, true, now), &r[0]);
	for (unsigned int i = 1; i <= n; i++) {
		r[i] = small(10 + i);
		sched_submit(q, &r[i], now);
	}
	done(q, &r[0], now += 8 * MSEC);
	for (; (next = sched_next_in_gap(q, &c[1], 0, false, now)); served++)
		done(q, next, now += 8 * MSEC);
	done(q, &c[1], now);
	while ((next = sched_next(q, now)))
		done(q, next, now += 8 * MSEC);
	queue_free(q);
	return served;
}

/* Users press their keys at the same moment: a gap that opens for the first of them is there for all. */
static void test_who_comes_meanwhile(void **state)
{
	struct sched_queue *q = make();
	uint64_t one = 2 * slice_of(q, 1), all = 2 * slice_of(q, 9);

	queue_free(q);
	assert_int_equal(go_with_it(all, 8), 8);
	assert_int_equal(go_with_it(one, 8), 0); /* it was not long enough for so many */
}

/* Who asks for one read after the other has two of them, and then chunks go on. */
static void test_who_comes_again(void **state)
{
	struct sched_queue *q = make();
	struct sched_req c[2], r[3];
	uint64_t now = begin(q, c, 8 * slice_of(q, 1));

	for (unsigned int i = 0; i < 3; i++) {
		r[i] = small(10 + i);
		sched_submit(q, &r[i], now);
		if (i == 2)
			break;
		assert_ptr_equal(sched_next_in_gap(q, &c[1], STEP, !i, now), &r[i]);
		done(q, &r[i], now += 8 * MSEC);
	}
	assert_null(sched_next_in_gap(q, &c[1], STEP, false, now));
	done(q, &c[1], now);
	assert_ptr_equal(sched_next(q, now), &r[2]);
	done(q, &r[2], now);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_had_broken_in_for_long),
		cmocka_unit_test(test_a_slice_of_each),
		cmocka_unit_test(test_who_comes_meanwhile),
		cmocka_unit_test(test_who_comes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
