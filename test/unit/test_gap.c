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

/* A read, before which nothing was saved, and two chunks of one stream; returns the time a step into the second. */
static uint64_t begin(struct sched_queue *q, struct sched_req c[2], uint64_t first_lasts)
{
	struct sched_req r = small(9);
	uint64_t now = SEC;

	start(q, &r, now);
	done(q, &r, now);
	q->gap_credit.since = now;
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
	struct sched_req c = chunk(0), first = small(9), r = small(1);
	uint64_t now = SEC, slice = slice_of(q, 1);

	start(q, &first, now);
	done(q, &first, now);
	start(q, &c, now);
	sched_submit(q, &r, now += STEP); /* soon after its last one */
	assert_null(sched_next_in_gap(q, &c, STEP, true, now));
	now += slice - STEP;
	assert_null(sched_next_in_gap(q, &c, slice - 1, true, now - 1));
	assert_ptr_equal(sched_next_in_gap(q, &c, slice, true, now), &r);
	done(q, &r, now);
	done(q, &c, now);
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

/* R comes STEP after the beginning of the next chunk C; whether it breaks in. */
static struct sched_req *comes(struct sched_queue *q, struct sched_req *c, struct sched_req *r,
			       uint64_t *now)
{
	start(q, c, *now);
	sched_submit(q, r, *now += STEP);
	return sched_next_in_gap(q, c, STEP, true, *now);
}

/*
 * Who comes once in a while does not wait for a slice of the chunk that has just begun, again and again, while
 * there is credit; who asks for one read after the other does.
 */
static void test_who_comes_rarely(void **state)
{
	struct sched_queue *q = make();
	struct sched_req c[8], r[8];
	uint64_t now = SEC;
	unsigned int at_once = 0;

	for (unsigned int i = 0; i < 8; i++) {
		struct sched_req *got;

		c[i] = chunk(i);
		r[i] = small(10 + i);
		r[i].flow.client = 1 + i; /* each a client's first one */
		got = comes(q, &c[i], &r[i], &now);
		if (got) {
			assert_ptr_equal(got, &r[i]);
			done(q, &r[i], now += 8 * MSEC);
			assert_null(sched_next_in_gap(q, &c[i], 0, false, now));
			at_once++;
		}
		done(q, &c[i], now += STEP);
		if (!got) {
			assert_ptr_equal(sched_next(q, now), &r[i]);
			done(q, &r[i], now += 8 * MSEC);
		}
	}
	/* four slices were saved, and each of the gaps, between chunks too, takes one */
	assert_int_equal(at_once, GAP_CREDIT_MOST);
	queue_free(q);
}

/* The same of one client that asks for the next one as soon as it has an answer: not for long yet. */
static void test_who_comes_often(void **state)
{
	struct sched_queue *q = make();
	struct sched_req c[4], r[4];
	uint64_t now = SEC;

	for (unsigned int i = 0; i < 4; i++) {
		c[i] = chunk(i);
		r[i] = small(10 + i);
		r[i].flow.client = 1;
		assert_int_equal(comes(q, &c[i], &r[i], &now) != NULL, !i);
		done(q, i ? &c[i] : &r[i], now += i ? STEP : 8 * MSEC);
		if (i)
			assert_ptr_equal(sched_next(q, now), &r[i]);
		done(q, i ? &r[i] : &c[i], now += 8 * MSEC);
	}
	queue_free(q);
}

/*
 * A gap in a chunk of who floods the disk, opened for somebody else's read: the flood goes with it for a slice, not
 * until it is over, though nobody else has small reads left. The other's next read has joined a chunk of its own.
 */
static void test_a_flood_goes_for_a_slice(void **state)
{
	static struct sched_req flood[512];
	struct sched_queue *q = make();
	struct sched_req c = chunk(0), r = small(1), joined = chunk(512), *next;
	uint64_t now = SEC, opened;
	unsigned int served = 0;

	c.flow.client = 1;
	r.flow.client = joined.flow.client = 2;
	start(q, &c, now);
	for (unsigned int i = 0; i < 512; i++) {
		flood[i] = small(0);
		flood[i].flow.client = 1;
		flood[i].file = 100 + i;
		flood[i].block += i * MIB;
		sched_submit(q, &flood[i], now);
	}
	sched_submit(q, &r, now);
	opened = now += 4 * slice_of(q, 2);
	next = sched_next_in_gap(q, &c, now - SEC, true, now);
	assert_non_null(next);
	sched_submit(q, &joined, now);
	for (; next; next = sched_next_in_gap(q, &c, 0, false, now), served++)
		done(q, next, now += 8 * MSEC);
	assert_int_not_equal(r.started, 0);
	assert_true(now - opened <= 2 * slice_of(q, 2));
	assert_true(served > 1);
	done(q, &c, now);
	while ((next = sched_next(q, now)))
		done(q, next, now += 8 * MSEC);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_had_broken_in_for_long),
		cmocka_unit_test(test_a_slice_of_each),
		cmocka_unit_test(test_who_comes_meanwhile),
		cmocka_unit_test(test_who_comes_again),
		cmocka_unit_test(test_who_comes_rarely),
		cmocka_unit_test(test_who_comes_often),
		cmocka_unit_test(test_a_flood_goes_for_a_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
