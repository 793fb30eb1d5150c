/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The dispatch queue: joining, promotion, absorbing, merging, refusal, the bound on waiting. */
#include <time.h>

#include "disk.h"

static struct sched_queue *make(const char *policy)
{
	struct sched_limits l = default_limits();

	return queue_new(sched_policy_find(policy), &l);
}

static struct sched_req demand(uint64_t file, uint64_t offset, uint64_t len)
{
	return (struct sched_req){.class = SCHED_DEMAND,
				  .file = file,
				  .offset = offset,
				  .len = len,
				  .block = file * 1024 * MIB + offset};
}

static struct sched_req chunk(uint64_t file, uint64_t offset, uint64_t len)
{
	struct sched_req r = demand(file, offset, len);

	r.class = SCHED_PREFETCH;
	return r;
}

static void assert_woken(struct sched_list *woken, struct sched_req *r)
{
	assert_ptr_equal(TAILQ_FIRST(woken), r);
	assert_int_equal(r->state, REQ_IDLE);
	TAILQ_REMOVE(woken, r, link);
}

static void test_a_demand_joins_a_queued_chunk(void **state)
{
	struct sched_queue *q = make("fifo");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(1, 0, 4 * MIB), r = demand(1, MIB, 32 * KIB);
	struct sched_req other = demand(2, MIB, 32 * KIB);

	assert_int_equal(sched_submit(q, &c, 100), SCHED_ADDED);
	assert_false(c.wanted);
	assert_int_equal(sched_submit(q, &r, 200), SCHED_WAITS);
	assert_true(c.wanted); /* promoted: the bound on waiting counts from now */
	assert_int_equal(c.arrival, 200);
	assert_int_equal(sched_submit(q, &other, 300), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, 400), &c);
	sched_done(q, &c, 500, &woken);
	assert_woken(&woken, &r);
	assert_true(TAILQ_EMPTY(&woken));
	assert_int_equal(q->stats.joined, 1);
	assert_int_equal(q->stats.served[SCHED_DEMAND], 1);
	queue_free(q);
}

static void test_a_demand_joins_a_running_chunk(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(1, 0, 4 * MIB), near = demand(1, MIB - 32 * KIB, 32 * KIB);
	struct sched_req far = demand(1, 2 * MIB, 32 * KIB), late = demand(1, MIB / 2, 32 * KIB);

	sched_submit(q, &c, 100);
	assert_ptr_equal(sched_next(q, 200), &c);
	assert_int_equal(sched_submit(q, &near, 300), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &far, 300), SCHED_WAITS);
	sched_progress(q, &c, MIB, 400, &woken);
	assert_woken(&woken, &near);
	assert_true(TAILQ_EMPTY(&woken));
	assert_int_equal(sched_submit(q, &late, 500), SCHED_RESIDENT); /* came meanwhile */
	sched_done(q, &c, 600, &woken);
	assert_woken(&woken, &far);
	assert_int_equal(q->queued + q->running, 0);
	queue_free(q);
}

/* A walk's job: it is charged as a turn, and what can join it is not as long. */
static void test_a_chunk_that_covers_more_than_its_length(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(1, 0, MIB), near = demand(1, 5 * MIB, 32 * KIB);
	struct sched_req far = demand(1, 90 * MIB, 32 * KIB), out = demand(1, 100 * MIB, 32 * KIB);

	c.span = 100 * MIB;
	sched_submit(q, &c, 100);
	assert_ptr_equal(sched_next(q, 200), &c);
	assert_int_equal(sched_submit(q, &near, 300), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &far, 300), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &out, 300), SCHED_ADDED);
	sched_progress(q, &c, 6 * MIB, 400, &woken);
	assert_woken(&woken, &near);
	assert_true(TAILQ_EMPTY(&woken));
	sched_done(q, &c, 600, &woken);
	assert_woken(&woken, &far);
	assert_int_equal(q->stats.bytes[SCHED_PREFETCH], MIB);
	assert_ptr_equal(sched_next(q, 700), &out);
	sched_done(q, &out, 800, &woken);
	queue_free(q);
}

static void test_a_demand_that_spans_two_chunks(void **state)
{
	struct sched_queue *q = make("fifo");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req a = chunk(1, 0, MIB), b = chunk(1, MIB, MIB);
	struct sched_req r = demand(1, MIB - 16 * KIB, 32 * KIB);
	struct sched_req beyond = demand(1, 2 * MIB - 16 * KIB, 32 * KIB);

	sched_submit(q, &a, 1);
	sched_submit(q, &b, 2);
	assert_int_equal(sched_submit(q, &r, 3), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &beyond, 4), SCHED_ADDED); /* its end is in none */
	assert_ptr_equal(sched_next(q, 5), &a);
	sched_done(q, &a, 6, &woken);
	assert_true(TAILQ_EMPTY(&woken));
	assert_ptr_equal(sched_next(q, 7), &b);
	sched_progress(q, &b, MIB + 16 * KIB, 8, &woken);
	assert_woken(&woken, &r);
	sched_done(q, &b, 9, &woken);
	assert_true(TAILQ_EMPTY(&woken));
	queue_free(q);
}

/* A chunk of records brings no more than those: what lies between goes to the disk by itself. */
static void test_a_demand_between_records_joins_none(void **state)
{
	struct sched_queue *q = make("fifo");
	struct sched_req c = chunk(1, 0, 4 * MIB), in = demand(1, MIB + 32 * KIB, 32 * KIB),
			 between = demand(1, MIB + 64 * KIB, 32 * KIB);

	c.record = 64 * KIB;
	c.step = MIB;
	assert_int_equal(sched_submit(q, &c, 100), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &in, 200), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &between, 200), SCHED_ADDED);
	assert_int_equal(q->queued, 2);
	queue_free(q);
}

static void test_a_chunk_absorbs_the_demands_it_covers(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req in[3], out = demand(1, 4 * MIB - 16 * KIB, 32 * KIB),
				other = demand(2, 0, MIB);
	struct sched_req c = chunk(1, 0, 4 * MIB);

	for (int i = 0; i < 3; i++) {
		in[i] = demand(1, (uint64_t)i * 32 * KIB, 32 * KIB);
		sched_submit(q, &in[i], 10 + (uint64_t)i);
	}
	sched_submit(q, &out, 20);
	sched_submit(q, &other, 20);
	assert_int_equal(sched_submit(q, &c, 30), SCHED_ADDED);
	assert_int_equal(q->stats.absorbed, 3);
	assert_int_equal(q->queued, 3);
	assert_true(c.wanted);
	assert_int_equal(c.arrival, 10); /* of the one that has waited longest */
	while (sched_next(q, 40))
		;
	sched_done(q, &c, 50, &woken);
	for (int i = 0; i < 3; i++)
		assert_woken(&woken, &in[i]);
	queue_free(q);
}

/* Who has just begun has its first bytes as soon as any small read; what lies behind them comes with the chunk. */
static void test_reads_where_a_stream_begins_go_before_its_chunk(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(1, MIB, 4 * MIB), before = demand(1, MIB + 32 * KIB, 32 * KIB),
			 in = demand(1, MIB + 96 * KIB, 32 * KIB),
			 behind = demand(1, MIB + 128 * KIB, 32 * KIB),
			 late = demand(1, MIB + 64 * KIB, 32 * KIB);

	c.by_reads = 128 * KIB;
	assert_int_equal(sched_submit(q, &before, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &c, 2), SCHED_ADDED);
	assert_int_equal(q->stats.absorbed, 0);
	assert_int_equal(sched_submit(q, &in, 3), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &behind, 3), SCHED_WAITS);
	assert_ptr_equal(sched_next(q, 4), &before);
	assert_ptr_equal(sched_next(q, 5), &in);
	assert_ptr_equal(sched_next(q, 6), &c);
	assert_int_equal(sched_submit(q, &late, 7), SCHED_WAITS); /* it is on its way */
	sched_done(q, &c, 8, &woken);
	assert_woken(&woken, &behind);
	assert_woken(&woken, &late);
	queue_free(q);
}

/* ... and if it goes first all the same it brings theirs. */
static void test_a_chunk_that_goes_takes_along_who_would_go_before(void **state)
{
	struct sched_queue *q = make("fifo");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(1, 0, 4 * MIB), in = demand(1, 96 * KIB, 32 * KIB);

	c.by_reads = 128 * KIB;
	assert_int_equal(sched_submit(q, &c, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &in, 2), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, 3), &c);
	assert_null(sched_check(q));
	sched_progress(q, &c, 256 * KIB, 4, &woken);
	assert_woken(&woken, &in);
	sched_done(q, &c, 5, &woken);
	assert_null(sched_next(q, 6));
	queue_free(q);
}

/* What a read that goes before the chunk brings along is waited for there, queued or running, with what it merged. */
static void test_what_goes_before_a_chunk_is_sooner(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(1, 0, 4 * MIB), a = demand(1, 64 * KIB, 128 * KIB),
			 b = demand(1, 96 * KIB, 160 * KIB),
			 behind = demand(1, 192 * KIB, 32 * KIB),
			 queued = demand(1, 160 * KIB, 32 * KIB);

	a.brings_more = b.brings_more = true;
	c.by_reads = 128 * KIB;
	assert_int_equal(sched_submit(q, &a, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &c, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &queued, 1), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &b, 1), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, 2), &a);
	assert_int_equal(a.io_len, 192 * KIB);
	assert_int_equal(sched_submit(q, &behind, 3), SCHED_WAITS);
	assert_false(c.wanted);
	assert_null(sched_check(q));
	sched_done(q, &a, 4, &woken);
	assert_woken(&woken, &queued);
	assert_woken(&woken, &b);
	assert_woken(&woken, &behind);
	queue_free(q);
}

/* Each of those with which a file is begun asks for what comes next, too: one request brings it once. */
static void test_demands_that_overlap_merge(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req first = demand(1, 64 * KIB, 128 * KIB),
			 second = demand(1, 96 * KIB, 160 * KIB),
			 within = demand(1, 80 * KIB, 32 * KIB),
			 moved = demand(1, 160 * KIB, 512 * KIB);

	first.brings_more = second.brings_more = true;
	moved.block += 500 * MIB; /* it goes on elsewhere on the disk */
	assert_int_equal(sched_submit(q, &within, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &second, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &moved, 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &first, 1), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, 2), &first);
	assert_int_equal(first.io_len, 192 * KIB);
	assert_int_equal(q->stats.absorbed, 1);
	assert_int_equal(q->stats.merged, 1);
	sched_done(q, &first, 3, &woken);
	assert_woken(&woken, &within);
	assert_woken(&woken, &second);
	assert_true(TAILQ_EMPTY(&woken)); /* but for what goes on elsewhere */
	assert_int_equal(q->stats.bytes[SCHED_DEMAND], 192 * KIB);
	assert_ptr_equal(sched_next(q, 4), &moved);
	queue_free(q);
}

static void test_neighbours_merge_up_to_max_io(void **state)
{
	struct sched_queue *q = make("elevator");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req r[40], elsewhere = demand(1, 64 * MIB, 32 * KIB);
	struct sched_req moved = demand(1, MIB, 32 * KIB);

	for (int i = 39; i >= 0; i--) {
		r[i] = demand(1, (uint64_t)i * 32 * KIB, 32 * KIB);
		sched_submit(q, &r[i], 1);
	}
	sched_submit(q, &elsewhere, 1);
	moved.block = 500 * MIB; /* next in the file, but not on the disk */
	assert_ptr_equal(sched_next(q, 2), &r[0]);
	assert_int_equal(r[0].io_len, MIB);
	assert_int_equal(q->stats.merged, 31);
	sched_done(q, &r[0], 3, &woken);
	for (int i = 1; i < 32; i++)
		assert_woken(&woken, &r[i]);
	assert_true(TAILQ_EMPTY(&woken));
	assert_int_equal(q->stats.served[SCHED_DEMAND], 32);
	assert_int_equal(q->stats.bytes[SCHED_DEMAND], MIB);
	assert_ptr_equal(sched_next(q, 4), &r[32]);
	assert_int_equal(r[32].io_len, 256 * KIB);
	sched_submit(q, &moved, 5);
	assert_int_equal(r[32].io_len, 256 * KIB);
	queue_free(q);
}

#define MANY 8000

/* Processor time (s) of N reads of 4 KiB, which are BY bytes apart, queued at once. */
static double time_of_reads(struct sched_req *r, uint32_t n, uint64_t by)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_queue *q = make("elevator");
	struct sched_req *next;
	clock_t begin = clock();

	q->limits.queue_max = 4 * n;
	q->limits.queue_bytes = 1024 * MIB;
	for (uint32_t i = 0; i < n; i++) {
		r[i] = demand(1, MIB + i * by, 4 * KIB);
		assert_int_equal(sched_submit(q, &r[i], i), SCHED_ADDED);
	}
	while ((next = sched_next(q, n)) != NULL)
		sched_done(q, next, n, &woken);
	assert_int_equal(q->stats.served[SCHED_DEMAND], n);
	queue_free(q);
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* One client may ask for the same bytes as often as it has room: each read is not looked at again for all others. */
static void test_many_of_the_same(void **state)
{
	struct sched_req *r = calloc(MANY, sizeof(*r));
	double apart, same;

	assert_non_null(r);
	apart = time_of_reads(r, MANY, 64 * KIB);
	same = time_of_reads(r, MANY, 0);
	assert_true(same < 10 * apart + 0.01);
	free(r);
}

static void test_a_full_queue_refuses(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req c = chunk(9, 0, MIB), r[3], joins = demand(9, 0, 32 * KIB);

	q->limits.queue_max = 3;
	sched_submit(q, &c, 1);
	for (int i = 0; i < 3; i++)
		r[i] = demand((uint64_t)i, 0, 32 * KIB);
	assert_int_equal(sched_submit(q, &r[0], 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &r[1], 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &r[2], 1), SCHED_FULL);
	/* who joins takes a place too */
	assert_int_equal(sched_submit(q, &joins, 1), SCHED_FULL);
	assert_int_equal(sched_submit_again(q, &r[2], 1), SCHED_FULL);
	assert_int_equal(q->stats.refused, 2); /* it waits for room: that counts once */
	assert_ptr_equal(sched_next(q, 2), &r[0]);
	sched_done(q, &r[0], 3, &woken);
	assert_int_equal(sched_submit(q, &joins, 4), SCHED_WAITS);
	assert_int_equal(sched_submit(q, &r[2], 4), SCHED_FULL);
	assert_ptr_equal(sched_next(q, 5), &r[1]);
	assert_ptr_equal(sched_next(q, 5), &c);
	assert_int_equal(sched_submit_again(q, &r[2], 5), SCHED_ADDED);
	sched_done(q, &c, 6, &woken);
	assert_woken(&woken, &joins);
	assert_int_equal(q->joined, 0);
	queue_free(q);
}

static void test_max_wait_comes_before_the_policy(void **state)
{
	static const char *const orders[] = {"elevator", "ncscan", "turns"};

	for (int p = 0; p < 3; p++) {
		struct sched_queue *q = make(orders[p]);
		struct sched_req low = demand(1, 0, 4 * KIB), high = demand(5, 0, 4 * KIB);
		struct sched_req c = chunk(6, 0, MIB), joins = demand(6, 0, 4 * KIB);

		sched_submit(q, &high, 1);
		sched_submit(q, &c, 2);
		sched_submit(q, &joins, 3);
		sched_submit(q, &low, 2 * SEC);
		assert_ptr_equal(sched_next(q, 2 * SEC + 1), &high); /* waited 2 s */
		assert_ptr_equal(sched_next(q, 2 * SEC + 3), &c);    /* a chunk someone waits for */
		assert_int_equal(q->stats.overdue, 2);
		assert_ptr_equal(sched_next(q, 2 * SEC + 4), &low);
		assert_null(sched_next(q, 2 * SEC + 5));
		queue_free(q);
	}
}

/* A batch was the last that a flow had to do. When it comes again its reads wait no longer than any. */
static void test_max_wait_holds_after_a_pause(void **state)
{
	const uint64_t pause = 8 * 3600 * SEC;
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_queue *q = make("elevator");
	struct sched_req r[4] = {demand(1, 0, 4 * KIB), demand(5, 0, 4 * KIB),
				 demand(2, 0, 4 * KIB), demand(6, 0, 4 * KIB)};

	sched_submit(q, &r[0], 1);
	sched_submit(q, &r[1], 2);
	for (int i = 0; i < 2; i++) { /* oldest first: a batch */
		assert_ptr_equal(sched_next(q, 3 * SEC), &r[i]);
		sched_done(q, &r[i], 3 * SEC + MSEC, &woken);
	}
	assert_int_equal(q->stats.overdue, 2);
	sched_submit(q, &r[2], pause);
	sched_submit(q, &r[3], pause + 2 * SEC);
	assert_ptr_equal(sched_next(q, pause + 2 * SEC), &r[2]);
	queue_free(q);
}

static void test_old_prefetches_are_dropped(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req old = chunk(1, 0, MIB), wanted = chunk(2, 0, MIB),
			 fresh = chunk(3, 0, MIB);
	struct sched_req waits = demand(2, 0, 4 * KIB), late = demand(1, 0, 4 * KIB);

	sched_submit(q, &old, 0);
	sched_submit(q, &wanted, 0);
	sched_submit(q, &waits, 1);
	sched_submit(q, &fresh, 9 * SEC);
	assert_ptr_equal(sched_next(q, 11 * SEC), &old);
	assert_true(old.dropped);
	/* it brings nothing: who comes now must not wait for it */
	assert_int_equal(sched_submit(q, &late, 11 * SEC), SCHED_ADDED);
	sched_done(q, &old, 11 * SEC, &woken);
	assert_int_equal(q->stats.bytes[SCHED_PREFETCH], 0);
	assert_ptr_equal(sched_next(q, 11 * SEC), &wanted);
	assert_false(wanted.dropped);
	assert_int_equal(q->stats.dropped, 1);
	queue_free(q);
}

static void test_files_are_told_apart(void **state)
{
	struct sched_queue *q = make("fifo");
	static struct sched_req c[1000], r;

	q->limits.queue_max = 2000;
	for (uint64_t f = 0; f < 1000; f++) { /* more than there are hash lists */
		c[f] = chunk(f, 0, MIB);
		assert_int_equal(sched_submit(q, &c[f], 1), SCHED_ADDED);
	}
	r = demand(77, 4096, 4096);
	assert_int_equal(sched_submit(q, &r, 2), SCHED_WAITS);
	assert_true(c[77].wanted);
	for (uint64_t f = 0; f < 1000; f++)
		assert_int_equal(c[f].wanted, f == 77);
	queue_free(q);
}

static void test_streams_and_chunk_sizes(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_req c[8];

	assert_int_equal(sched_streams(q), 1);
	assert_int_equal(sched_chunk(q), 4 * MIB);
	for (int i = 0; i < 8; i++) {
		c[i] = chunk((uint64_t)i, 0, MIB);
		c[i].owner = 1 + (uint64_t)i;
		sched_submit(q, &c[i], 1);
	}
	assert_int_equal(sched_streams(q), 8);
	sched_next(q, 2);
	assert_int_equal(sched_streams(q), 8); /* the running one counts */
	for (uint64_t i = 0; i < 40; i++)
		sched_observe(q, i % 2 ? (i - 1) * 100 * MIB + MIB : i * 100 * MIB, MIB,
			      DISK_NS(MIB) + (i % 2 ? 0 : DISK_SEEK));
	assert_in_range(sched_chunk(q), 6 * MIB, 8 * MIB);
	queue_free(q);
}

/* Of who has much outstanding several chunks are queued: he is one stream. */
static void test_several_chunks_of_one_are_one_stream(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_req c[8], *r;

	for (int i = 0; i < 8; i++) {
		c[i] = chunk((uint64_t)(i % 2), (uint64_t)i * MIB, MIB);
		c[i].owner = 1 + (uint64_t)(i % 2);
		assert_int_equal(sched_submit(q, &c[i], 1), SCHED_ADDED);
	}
	assert_int_equal(sched_streams(q), 2);
	assert_null(sched_check(q));
	for (int i = 0; i < 8; i++) {
		struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

		r = sched_next(q, 2);
		assert_non_null(r);
		assert_in_range(sched_streams(q), 1, 3);
		sched_done(q, r, 3, &woken);
		assert_null(sched_check(q));
	}
	assert_int_equal(q->owners.n, 0);
	assert_int_equal(sched_streams(q), 1);
	queue_free(q);
}

/* Rows of a tile, a few far from the others: what the disk passes over is no seek. */
static void test_a_hop_is_no_seek(void **state)
{
	struct sched_queue *q = make("turns");
	uint64_t at = 0;

	for (int i = 0; i < 20; i++, at += MIB)
		sched_observe(q, at, MIB, DISK_NS(MIB));
	for (int i = 0; i < 100; i++) {
		at += i % 10 ? 96 * KIB : 100 * MIB;
		sched_observe(q, at, 32 * KIB, DISK_NS(128 * KIB) + (i % 10 ? 0 : DISK_SEEK));
		at += 32 * KIB;
	}
	assert_in_range(DISK_NS(cost_seek_bytes(&q->cost)), DISK_SEEK * 9 / 10, DISK_SEEK * 5 / 4);
	queue_free(q);
}

/* Every other step of a file in pieces has a seek: within it, not before the next one. */
static void test_steps_of_a_file_in_pieces(void **state)
{
	struct sched_queue *q = make("turns");
	uint64_t at = 0;

	for (int i = 0; i < 40; i++) {
		at += i % 2 ? 100 * MIB : MIB;
		if (i % 2)
			sched_passed(q, at);
		else
			sched_observe(q, at - MIB, MIB, DISK_NS(MIB));
	}
	assert_true(cost_run_known(&q->cost));
	assert_in_range((uint64_t)(q->cost.ns_per_byte * MIB), DISK_NS(MIB) - 1, DISK_NS(MIB));
	assert_false(cost_seek_known(&q->cost)); /* and none costs nothing */
	assert_true(q->cost.jumps <= 1);
	queue_free(q);
}

static void test_wait_percentiles(void **state)
{
	struct sched_stats s = {0};

	assert_int_equal(sched_wait_percentile(&s, 99), 0);
	s.waits[10] = 99; /* 512 .. 1023 us */
	s.waits[20] = 1;
	assert_int_equal(sched_wait_percentile(&s, 50), 1024 * 1000);
	assert_int_equal(sched_wait_percentile(&s, 99), 1024 * 1000);
	assert_int_equal(sched_wait_percentile(&s, 99.5), (1ull << 20) * 1000);
	assert_int_equal(sched_wait_percentile(&s, 100), (1ull << 20) * 1000);
}

static void test_a_running_chunk_is_shortened_to_its_waiters(void **state)
{
	struct sched_queue *q = make("turns");
	struct sched_req c = chunk(1, 0, 8 * MIB), near = demand(1, 0, 32 * KIB);
	struct sched_req mid = demand(1, 3 * MIB, 32 * KIB), far = demand(1, 6 * MIB, 32 * KIB);

	sched_submit(q, &c, 1);
	sched_submit(q, &near, 2);
	sched_submit(q, &mid, 3);
	assert_ptr_equal(sched_next(q, 4), &c);
	assert_int_equal(sched_shorten(q, &c, 2 * MIB), 3 * MIB + 32 * KIB);  /* mid needs it */
	assert_int_equal(sched_shorten(q, &c, 16 * MIB), 3 * MIB + 32 * KIB); /* never longer */
	assert_int_equal(sched_submit(q, &far, 5), SCHED_ADDED); /* beyond it now: by itself */
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_demand_joins_a_queued_chunk),
		cmocka_unit_test(test_a_demand_joins_a_running_chunk),
		cmocka_unit_test(test_a_chunk_that_covers_more_than_its_length),
		cmocka_unit_test(test_a_demand_that_spans_two_chunks),
		cmocka_unit_test(test_a_demand_between_records_joins_none),
		cmocka_unit_test(test_a_chunk_absorbs_the_demands_it_covers),
		cmocka_unit_test(test_reads_where_a_stream_begins_go_before_its_chunk),
		cmocka_unit_test(test_a_chunk_that_goes_takes_along_who_would_go_before),
		cmocka_unit_test(test_what_goes_before_a_chunk_is_sooner),
		cmocka_unit_test(test_demands_that_overlap_merge),
		cmocka_unit_test(test_neighbours_merge_up_to_max_io),
		cmocka_unit_test(test_many_of_the_same),
		cmocka_unit_test(test_a_full_queue_refuses),
		cmocka_unit_test(test_max_wait_comes_before_the_policy),
		cmocka_unit_test(test_max_wait_holds_after_a_pause),
		cmocka_unit_test(test_old_prefetches_are_dropped),
		cmocka_unit_test(test_files_are_told_apart),
		cmocka_unit_test(test_streams_and_chunk_sizes),
		cmocka_unit_test(test_several_chunks_of_one_are_one_stream),
		cmocka_unit_test(test_a_hop_is_no_seek),
		cmocka_unit_test(test_steps_of_a_file_in_pieces),
		cmocka_unit_test(test_wait_percentiles),
		cmocka_unit_test(test_a_running_chunk_is_shortened_to_its_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
