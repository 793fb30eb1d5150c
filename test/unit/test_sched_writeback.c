/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When write-backs get the disk: idle, deferred, their share, a COMMIT's wish, the end. */
#include "disk.h"

#define IDLE (20 * MSEC)

static struct sched_queue *make(void)
{
	struct sched_limits l = default_limits();

	l.writeback_idle = IDLE;
	l.writeback_share = 0.5;
	l.writeback_turn = 80 * MSEC;
	return queue_new(sched_policy_find("turns"), &l);
}

static struct sched_req writeback(uint64_t file)
{
	return (struct sched_req){
		.class = SCHED_WRITEBACK, .file = file, .len = 4 * MIB, .block = file * 1024 * MIB};
}

static struct sched_req demand(uint64_t file)
{
	return (struct sched_req){
		.class = SCHED_DEMAND, .file = file, .len = 8 * KIB, .block = file * 1024 * MIB};
}

/* R runs from NOW for NS. */
static void done(struct sched_queue *q, struct sched_req *r, uint64_t at)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(q, r, at, &woken);
}

static void test_idle_disk_writes_at_once(void **state)
{
	struct sched_queue *q = make();
	struct sched_req a = writeback(1), b = writeback(2);

	sched_submit(q, &a, SEC);
	sched_submit(q, &b, SEC);
	assert_ptr_equal(sched_next(q, SEC), &a);
	done(q, &a, SEC + 50 * MSEC);
	assert_ptr_equal(sched_next(q, SEC + 50 * MSEC), &b);
	done(q, &b, SEC + 100 * MSEC);
	assert_null(sched_next(q, SEC + 100 * MSEC));
	assert_int_equal(sched_hold_until(q, SEC), UINT64_MAX);
	assert_int_equal(q->stats.served[SCHED_WRITEBACK], 2);
	queue_free(q);
}

static void test_deferred_while_reads_use_the_disk(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);

	sched_submit(q, &w, SEC);
	sched_submit(q, &r, SEC);
	assert_ptr_equal(sched_next(q, SEC), &r);
	assert_null(sched_next(q, SEC)); /* another worker: the read is running */
	assert_int_equal(sched_hold_until(q, SEC), UINT64_MAX);
	done(q, &r, SEC + 8 * MSEC);
	/* the reader is expected back */
	assert_null(sched_next(q, SEC + 9 * MSEC));
	assert_int_equal(sched_hold_until(q, SEC + 9 * MSEC), SEC + 8 * MSEC + IDLE);
	assert_ptr_equal(sched_next(q, SEC + 8 * MSEC + IDLE), &w);
	done(q, &w, 2 * SEC);
	queue_free(q);
}

/* From NOW a reader reads for 8 ms, thinks for NS, so many times. Returns when it has begun to think again. */
static uint64_t think(struct sched_queue *q, struct sched_req *r, uint64_t ns, int times,
		      uint64_t now)
{
	while (times--) {
		sched_submit(q, r, now);
		assert_ptr_equal(sched_next(q, now), r);
		done(q, r, now + 8 * MSEC);
		now += 8 * MSEC + ns;
	}
	return now - ns;
}

/* W goes at NOW, and may last so long. */
static uint64_t slice_of(struct sched_queue *q, struct sched_req *w, uint64_t now)
{
	sched_submit(q, w, now);
	assert_ptr_equal(sched_next(q, now), w);
	return sched_writeback_turn(q, now).slice;
}

/* While a reader thinks a write-back goes at once, and is over when the next read comes, or soon after. */
static void test_one_fits_into_the_time_in_which_readers_think(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = think(q, &r, 30 * MSEC, 20, SEC), slice = slice_of(q, &w, now);

	assert_true(slice > 30 * MSEC && slice < 40 * MSEC);
	done(q, &w, now + 12 * MSEC);
	/* what is left of it is too little for another; then the read should come */
	sched_submit(q, &w, now + 22 * MSEC);
	assert_null(sched_next(q, now + 22 * MSEC));
	assert_true(sched_hold_until(q, now + 22 * MSEC) > now + 30 * MSEC);
	/* it does not: nobody thinks any more */
	assert_ptr_equal(sched_next(q, now + 60 * MSEC), &w);
	assert_int_equal(sched_writeback_turn(q, now + 60 * MSEC).slice, 80 * MSEC);
	done(q, &w, now + 140 * MSEC);
	queue_free(q);
}

/*
 * A copy: a read of 8 ms, a COMMIT whose turn takes 60 ms, and so on. What is between its reads is no thinking: a turn
 * goes at once, as long as any.
 */
static void test_who_waits_for_his_commit_does_not_think(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = SEC;

	for (int i = 0; i < 20; i++) {
		now = think(q, &r, 0, 1, now);
		w.wanted = true;
		assert_int_equal(slice_of(q, &w, now), 80 * MSEC);
		done(q, &w, now + 60 * MSEC);
		now += 65 * MSEC;
	}
	queue_free(q);
}

/* Where another client has read lately that one's next read is waited for, whoever COMMITs. */
static void test_others_are_waited_for_beside_his_commit(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), own = demand(2), other = demand(3);
	uint64_t now = SEC;

	other.flow.client = 7;
	w.wanted = true;
	slice_of(q, &w, now);
	done(q, &w, now + 60 * MSEC);
	now = think(q, &own, 0, 1, think(q, &other, 0, 1, now + 60 * MSEC));
	sched_submit(q, &w, now);
	assert_null(sched_next(q, now));
	assert_int_equal(sched_hold_until(q, now), now + IDLE);
	assert_ptr_equal(sched_next(q, now + IDLE), &w);
	done(q, &w, now + 60 * MSEC);
	queue_free(q);
}

/* A client in a loop: reads of 10 ms, each some time after the one before; and COMMITs of turns, or none. */
struct looping {
	struct sched_req req;
	uint64_t think, next; /* ns; UINT64_MAX: it waits for REQ */
	uint64_t reads, waited;
	bool commits, is_read;
};

static void go_on(struct sched_queue *q, struct looping *c, uint64_t now)
{
	c->is_read = !c->is_read || !c->commits;
	c->req = c->is_read ? demand(1 + c->commits) : writeback(3);
	c->req.flow.client = 1 + c->commits;
	c->req.wanted = true;
	c->next = UINT64_MAX;
	assert_int_equal(sched_submit(q, &c->req, now), SCHED_ADDED);
}

static uint64_t time_of(const struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	uint64_t slice = sched_writeback_turn(q, now).slice;

	return r->class == SCHED_DEMAND ? 10 * MSEC : slice < 60 * MSEC ? slice : 60 * MSEC;
}

static void end_of(struct sched_queue *q, struct looping *c, uint64_t *seed, uint64_t now)
{
	c->reads += c->is_read;
	c->waited += c->is_read ? now - c->req.submitted : 0;
	c->next = now + c->think * (70 + random_below(seed, 61)) / 100;
	done(q, &c->req, now);
}

/* What the first of two clients waits for a read in the mean, of a minute (ns). */
static uint64_t wait_beside_commits(uint64_t think)
{
	struct looping c[2] = {{.think = think}, {.think = MSEC / 10, .commits = true}};
	struct sched_queue *q = make();
	uint64_t seed = 7, now = SEC;

	q->limits.writeback_share = 0.3;
	learn_disk(&q->cost);
	c[0].next = c[1].next = now;
	while (now < 61 * SEC) {
		struct sched_req *r = sched_next(q, now);
		uint64_t end = now + (r ? time_of(q, r, now) : MSEC);

		for (; now < end; now += MSEC)
			for (int i = 0; i < 2; i++)
				if (c[i].next <= now)
					go_on(q, &c[i], now);
		if (r)
			end_of(q, &c[r == &c[1].req], &seed, now);
	}
	queue_free(q);
	return c[0].waited / c[0].reads;
}

/* Who reads a little before each of his COMMITs does not thereby take from another the time in which that one thinks. */
static void test_who_thinks_beside_one_who_reads_and_commits(void **state)
{
	assert_in_range(wait_beside_commits(30 * MSEC), 10 * MSEC, 40 * MSEC);
}

/* Reads that come while a COMMIT of their client waits show that he thinks; once none comes he waits for it. */
static void test_who_reads_beside_his_commits_thinks(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = think(q, &r, 30 * MSEC, 20, SEC);

	w.wanted = true;
	assert_int_equal(slice_of(q, &w, now), 80 * MSEC);
	sched_submit(q, &r, now + 30 * MSEC);
	done(q, &w, now + 60 * MSEC);
	sched_submit(q, &w, now + 60 * MSEC);
	assert_ptr_equal(sched_next(q, now + 60 * MSEC), &r);
	done(q, &r, now + 68 * MSEC);
	now += 68 * MSEC;
	assert_ptr_equal(sched_next(q, now), &w);
	assert_in_range(sched_writeback_turn(q, now).slice, 30 * MSEC, 40 * MSEC);
	done(q, &w, now + 30 * MSEC);
	sched_submit(q, &w, now + 30 * MSEC);
	assert_null(sched_next(q, now + 30 * MSEC));
	now += 200 * MSEC; /* and no read */
	assert_ptr_equal(sched_next(q, now), &w);
	done(q, &w, now + 60 * MSEC);
	now = think(q, &r, 0, 1, now + 60 * MSEC);
	assert_int_equal(slice_of(q, &w, now), 80 * MSEC);
	done(q, &w, now + 60 * MSEC);
	queue_free(q);
}

/* Reads took long lately, beside an fsync: the turn is as worth its way as ever. */
static void test_seeks_that_passed_for_dear_ones(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = think(q, &r, 30 * MSEC, 20, SEC);

	for (uint64_t i = 1; i < 100; i++)
		sched_observe(q, i * 100 * MIB, 8 * KIB, 25 * MSEC);
	assert_true(q->cost.seek_ns > 20e6);
	assert_true(slice_of(q, &w, now) < 40 * MSEC);
	done(q, &w, now + 30 * MSEC);
	queue_free(q);
}

/* The time is too short for a turn: as if they did not. */
static void test_readers_that_hardly_think(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = think(q, &r, 5 * MSEC, 20, SEC);

	sched_submit(q, &w, now);
	assert_null(sched_next(q, now));
	assert_int_equal(sched_hold_until(q, now), now + IDLE);
	assert_ptr_equal(sched_next(q, now + IDLE), &w);
	assert_int_equal(sched_writeback_turn(q, now + IDLE).slice, 80 * MSEC);
	done(q, &w, now + 140 * MSEC);
	queue_free(q);
}

/* A reader that is always back at once, and always work to write: what do they get? */
static double share_reached(double share, bool wanted)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2), *next;
	uint64_t now = SEC, writing = 0;

	sched_set_writeback_share(q, share);
	sched_submit(q, &w, now);
	sched_submit(q, &r, now);
	if (wanted)
		sched_want(q, &w, &w.flow, now);
	while (now < 11 * SEC) {
		uint64_t took;

		next = sched_next(q, now);
		assert_non_null(next);
		took = next == &w ? 60 * MSEC : 8 * MSEC;
		writing += next == &w ? took : 0;
		now += took;
		done(q, next, now);
		sched_submit(q, next, now);
		if (next == &w && wanted)
			sched_want(q, &w, &w.flow, now);
	}
	queue_free(q);
	return (double)writing / (10.0 * SEC);
}

static void test_share_of_the_time(void **state)
{
	double half = share_reached(0.5, false), fifth = share_reached(0.2, false);

	assert_true(half > 0.45 && half < 0.52);
	assert_true(fifth > 0.18 && fifth < 0.22);
	assert_true(share_reached(0, false) == 0);
}

static void test_commit_gets_its_share(void **state)
{
	double share = share_reached(0, true);

	assert_true(share > 0.45 && share < 0.52);
}

/*
 * Four COMMITs of 20 ms each wait beside a stream whose chunks take so long (ns), always. How many of them a chunk is
 * followed by, in the mean.
 */
static double commits_after(uint64_t chunk)
{
	struct sched_queue *q = make();
	struct sched_req w[4], r = demand(2), *next;
	uint64_t now = SEC, commits = 0, chunks = 0;

	for (int i = 0; i < 4; i++) {
		w[i] = writeback(10 + i);
		sched_submit(q, &w[i], now);
		sched_want(q, &w[i], &w[i].flow, now);
	}
	r.class = SCHED_PREFETCH;
	r.len = 8 * MIB;
	sched_submit(q, &r, now);
	while (now < 11 * SEC) {
		next = sched_next(q, now);
		assert_non_null(next);
		now += next == &r ? chunk : 20 * MSEC;
		commits += next != &r;
		chunks += next == &r;
		done(q, next, now);
		sched_submit(q, next, now);
		if (next != &r)
			sched_want(q, next, &next->flow, now);
	}
	queue_free(q);
	return (double)commits / (double)chunks;
}

/* After what had the disk for long they have half of that, up to a turn of 80 ms; after small reads each is alone. */
static void test_commits_that_wait_go_together(void **state)
{
	double after_long = commits_after(200 * MSEC), after_less = commits_after(90 * MSEC),
	       after_short = commits_after(10 * MSEC);

	assert_true(after_long > 3.9 && after_long < 4.1);
	assert_true(after_less > 1.9 && after_less < 2.1);
	assert_true(after_short > 0.45 && after_short < 0.55);
}

/* What the first read after a turn waits for is the turn's: the pause is longer, the next one shorter. */
static void test_a_turn_pays_for_what_its_drive_does_later(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = SEC, bytes;

	sched_set_writeback_share(q, 0.5);
	learn_disk(&q->cost);
	sched_submit(q, &w, now);
	assert_ptr_equal(sched_next(q, now), &w);
	w.io_len = 8 * MIB;
	done(q, &w, now += 50 * MSEC);
	bytes = sched_writeback_turn(q, now).bytes;
	sched_submit(q, &r, now);
	assert_ptr_equal(sched_next(q, now), &r);
	sched_submit(q, &w, now);
	done(q, &r, now += 39 * MSEC + DISK_NS(8 * KIB)); /* 30 of these are no read's */
	sched_submit(q, &r, now);
	/* 80 ms were the turn's, and end now less a read's 9 */
	assert_ptr_equal(sched_next(q, now + 70 * MSEC), &r);
	done(q, &r, now + 71 * MSEC);
	assert_ptr_equal(sched_next(q, now + 72 * MSEC), &w);
	assert_true(sched_writeback_turn(q, now).bytes < bytes * 2 / 3);
	done(q, &w, now + 80 * MSEC);
	queue_free(q);
}

/* One that waited for what others wrote says nothing of the next one's length. */
static void test_beside_others_a_turn_stays_as_long(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1);
	uint64_t now = SEC, bytes = 0;

	for (int i = 0; i < 20; i++) {
		sched_submit(q, &w, now);
		assert_ptr_equal(sched_next(q, now), &w);
		w.io_len = 4 * MIB;
		w.crowded = i >= 10;
		done(q, &w, now += w.crowded ? 500 * MSEC : 40 * MSEC);
		bytes = i < 10 ? sched_writeback_turn(q, now).bytes : bytes;
	}
	assert_int_equal(sched_writeback_turn(q, now).bytes, bytes);
	queue_free(q);
}

/* Nor does a read that waited for them say what the drive still had to write of a turn. */
static void test_beside_others_a_read_shows_no_drain(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	uint64_t now = SEC, bytes = 0;

	learn_disk(&q->cost);
	for (int i = 0; i < 20; i++) {
		sched_submit(q, &w, now);
		assert_ptr_equal(sched_next(q, now), &w);
		w.io_len = 4 * MIB;
		done(q, &w, now += 40 * MSEC);
		sched_submit(q, &r, now);
		assert_ptr_equal(sched_next(q, now), &r);
		r.crowded = i >= 10;
		done(q, &r, now += r.crowded ? 250 * MSEC : 9 * MSEC);
		now += SEC;
		bytes = i < 10 ? sched_writeback_turn(q, now).bytes : bytes;
	}
	assert_in_range(sched_writeback_turn(q, now).bytes, bytes * 99 / 100, bytes * 101 / 100);
	queue_free(q);
}

/* ... and it is charged to who wrote, not to who waited for it. */
static void test_the_drain_is_the_writers(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);
	struct flow_stats flows[3];
	uint64_t now = SEC;

	learn_disk(&q->cost);
	w.flow.client = 1;
	r.flow.client = 2;
	sched_submit(q, &w, now);
	assert_ptr_equal(sched_next(q, now), &w);
	w.io_len = 8 * MIB;
	done(q, &w, now += 50 * MSEC);
	sched_submit(q, &r, now);
	assert_ptr_equal(sched_next(q, now), &r);
	done(q, &r, now += 30 * MSEC + DISK_SEEK + DISK_NS(8 * KIB));
	assert_int_equal(sched_flows(q, flows, 3), 3); /* and the server's own */
	for (int i = 0; i < 3; i++) {
		const uint64_t *had = flows[i].disk_time;

		if (flows[i].id.client == 1)
			assert_in_range(had[SCHED_WRITEBACK], 80 * MSEC - 1000, 80 * MSEC + 1000);
		if (flows[i].id.client == 2)
			assert_in_range(had[SCHED_DEMAND], DISK_SEEK, DISK_SEEK + MSEC / 5);
	}
	queue_free(q);
}

/*
 * A writer whose data has nearly filled memory, beside another client's reads: no pause of the claim
 * of many reads, while he has had less than they have; and that pause beside his own.
 */
static uint64_t pause_beside(uint64_t reader)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2), *next;
	uint64_t now = SEC, ended;

	sched_set_writeback_share(q, 0.2); /* writeback_share: 0.5 */
	w.flow.client = 1;
	r.flow.client = reader;
	for (int i = 0; i < 100; i++) { /* the reader has had a second */
		sched_submit(q, &r, now);
		assert_ptr_equal(sched_next(q, now), &r);
		done(q, &r, now += 10 * MSEC);
	}
	sched_submit(q, &r, now);
	sched_submit(q, &w, now);
	assert_ptr_equal(sched_next(q, now), &w);
	done(q, &w, ended = now += 60 * MSEC);
	sched_submit(q, &w, now);
	while ((next = sched_next(q, now)) == &r) {
		done(q, &r, now += 10 * MSEC);
		sched_submit(q, &r, now);
	}
	assert_ptr_equal(next, &w);
	done(q, &w, now);
	queue_free(q);
	return now - ended;
}

static void test_a_writer_held_back_has_his_share_beside_others(void **state)
{
	assert_in_range(pause_beside(2), 60 * MSEC, 70 * MSEC);
	assert_in_range(pause_beside(1), 240 * MSEC, 250 * MSEC);
}

/* A COMMIT may come before the turn that it waits for is queued, the first one of its file too. */
static void test_wanted_before_it_is_there(void **state)
{
	struct sched_queue *q = make();
	struct sched_req a = writeback(1);

	sched_want(q, &a, &a.flow, SEC);
	assert_true(a.wanted);
	assert_int_equal(a.arrival, SEC);
	sched_submit(q, &a, SEC);
	assert_null(sched_check(q));
	assert_ptr_equal(sched_next(q, SEC), &a);
	done(q, &a, 2 * SEC);
	queue_free(q);
}

static void test_wanted_goes_first(void **state)
{
	struct sched_queue *q = make();
	struct sched_req a = writeback(1), b = writeback(2);

	sched_submit(q, &a, SEC);
	sched_submit(q, &b, SEC);
	sched_want(q, &b, &b.flow, SEC);
	sched_want(q, &b, &b.flow, SEC);
	assert_ptr_equal(sched_next(q, SEC), &b);
	assert_int_equal(q->flows.groups.backlogged[FLOW_COMMIT].n, 0);
	done(q, &b, 2 * SEC);
	assert_ptr_equal(sched_next(q, 2 * SEC), &a);
	sched_want(q, &a, &a.flow, 2 * SEC); /* running: nothing to count */
	assert_int_equal(q->flows.groups.backlogged[FLOW_COMMIT].n, 0);
	done(q, &a, 3 * SEC);
	queue_free(q);
}

/*
 * One file is written on and on, always ahead of the heads; so that the next in the disk's order is always its.
 * What lies behind it has its turn all the same.
 */
static void test_who_writes_on_and_on_keeps_nobody(void **state)
{
	struct sched_queue *q = make();
	struct sched_req on = writeback(1), behind[2] = {writeback(3), writeback(2)};
	uint64_t now = SEC;
	unsigned int turns = 0;

	sched_submit(q, &on, now);
	sched_submit(q, &behind[0], now);
	sched_submit(q, &behind[1], now);
	while (behind[0].state == REQ_QUEUED || behind[1].state == REQ_QUEUED) {
		struct sched_req *r = sched_next(q, now);

		assert_non_null(r);
		done(q, r, now += 50 * MSEC);
		assert_true(++turns <= 4);
		if (r != &on)
			continue;
		on.block += on.len;
		sched_submit(q, &on, now);
	}
	/* those of a batch in the order of the disk */
	assert_true(behind[1].started < behind[0].started);
	assert_ptr_equal(sched_next(q, now), &on);
	done(q, &on, now);
	queue_free(q);
}

static void test_reads_pass_a_held_one_under_every_policy(void **state)
{
	const struct sched_policy *p;

	for (unsigned int n = 0; (p = sched_policy_nth(n)); n++) {
		struct sched_queue *q = make();
		struct sched_req w = writeback(1), r = demand(2);

		sched_submit(q, &w, SEC);
		sched_set_policy(q, p); /* with a write-back queued */
		sched_submit(q, &r, SEC);
		assert_ptr_equal(sched_next(q, SEC), &r);
		done(q, &r, SEC + MSEC);
		/* age does not drop it, unlike a prefetch */
		assert_ptr_equal(sched_next(q, 100 * SEC), &w);
		assert_false(w.dropped);
		done(q, &w, 101 * SEC);
		assert_int_equal(q->queued + q->running, 0);
		queue_free(q);
	}
}

static void test_the_end_holds_nothing_back(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), r = demand(2);

	sched_submit(q, &w, SEC);
	sched_submit(q, &r, SEC);
	q->writeback.hurry = true;
	assert_ptr_equal(sched_next(q, SEC), &w);
	done(q, &w, 2 * SEC);
	assert_ptr_equal(sched_next(q, 2 * SEC), &r);
	done(q, &r, 2 * SEC);
	queue_free(q);
}

static void test_short_for_demand_reads(void **state)
{
	struct sched_queue *q = make();
	struct sched_req r = demand(2);
	uint64_t alone = sched_writeback_turn(q, SEC).slice, beside;

	sched_submit(q, &r, SEC);
	beside = sched_writeback_turn(q, SEC).slice;
	assert_true(beside < alone);
	assert_ptr_equal(sched_next(q, SEC), &r);
	done(q, &r, SEC + MSEC);
	assert_int_equal(sched_writeback_turn(q, SEC + 2 * MSEC).slice, beside);
	assert_int_equal(sched_writeback_turn(q, 10 * SEC).slice, alone);
	queue_free(q);
}

/* The small reads of a gap are no way round it: the chunk goes on, and then it is its turn. */
static void test_a_gap_ends_when_a_turn_is_due(void **state)
{
	struct sched_queue *q = make();
	struct sched_req w = writeback(1), small[3];
	struct sched_req c = {
		.class = SCHED_PREFETCH, .file = 9, .owner = 1, .len = MIB, .block = MIB};

	sched_submit(q, &c, SEC);
	assert_ptr_equal(sched_next(q, SEC), &c);
	for (uint64_t i = 0; i < 3; i++) {
		small[i] = demand(10 + i);
		sched_submit(q, &small[i], SEC);
	}
	assert_ptr_equal(sched_next_in_gap(q, &c, SEC, true, SEC), &small[0]);
	done(q, &small[0], SEC + MSEC);
	sched_submit(q, &w, SEC + MSEC);
	sched_want(q, &w, &w.flow, SEC + MSEC);
	assert_null(sched_next_in_gap(q, &c, SEC, false, SEC + MSEC));
	done(q, &c, SEC + 2 * MSEC);
	assert_ptr_equal(sched_next(q, SEC + 2 * MSEC), &w);
	done(q, &w, SEC + 3 * MSEC);
	assert_ptr_equal(sched_next(q, SEC + 3 * MSEC), &small[1]);
	queue_free(q);
}

/* What hung was not at the disk all the time: no pause as long as that follows. */
static void test_one_that_hung_leaves_no_pause(void **state)
{
	struct sched_queue *q = make();
	struct sched_req a = writeback(1), b = writeback(2), r = demand(3);

	q->limits.stall_time = SEC;
	sched_set_writeback_share(q, 0.1);
	sched_submit(q, &a, SEC);
	sched_submit(q, &b, SEC);
	assert_ptr_equal(sched_next(q, SEC), &a);
	sched_submit(q, &r, SEC);
	assert_null(sched_stall(q, 2 * SEC - 1));
	assert_int_equal(sched_stall_at(q), 2 * SEC);
	assert_ptr_equal(sched_stall(q, 2 * SEC), &a);
	assert_ptr_equal(sched_next(q, 2 * SEC), &b); /* earned: none has had the disk */
	done(q, &b, 2 * SEC + 10 * MSEC);
	done(q, &a, 60 * SEC);
	assert_int_equal(q->writeback.lasted, 10 * MSEC);
	assert_int_equal(q->stats.served[SCHED_WRITEBACK], 2);
	assert_int_equal(q->stalled + q->writeback.running, 0);
	queue_free(q);
}

/* A queue full of those held back has a place for one that a COMMIT waits for, and no other. */
static void test_wanted_finds_a_place(void **state)
{
	struct sched_queue *q = make();
	struct sched_req a = writeback(1), b = writeback(2), w = writeback(3), r = demand(4);

	q->limits.queue_max = 2;
	sched_submit(q, &r, SEC);
	assert_ptr_equal(sched_next(q, SEC), &r);
	assert_int_equal(sched_submit(q, &a, SEC), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &b, SEC), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &w, SEC), SCHED_FULL);
	w.wanted = true;
	assert_int_equal(sched_submit(q, &w, SEC), SCHED_ADDED);
	assert_null(sched_check(q));
	assert_ptr_equal(sched_next(q, SEC), &w);
	done(q, &w, SEC + MSEC);
	done(q, &r, SEC + MSEC);
	assert_ptr_equal(sched_next(q, 2 * SEC), &a);
	assert_ptr_equal(sched_next(q, 2 * SEC), &b);
	done(q, &a, 3 * SEC);
	done(q, &b, 3 * SEC);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_disk_writes_at_once),
		cmocka_unit_test(test_deferred_while_reads_use_the_disk),
		cmocka_unit_test(test_one_fits_into_the_time_in_which_readers_think),
		cmocka_unit_test(test_seeks_that_passed_for_dear_ones),
		cmocka_unit_test(test_readers_that_hardly_think),
		cmocka_unit_test(test_who_waits_for_his_commit_does_not_think),
		cmocka_unit_test(test_who_reads_beside_his_commits_thinks),
		cmocka_unit_test(test_others_are_waited_for_beside_his_commit),
		cmocka_unit_test(test_who_thinks_beside_one_who_reads_and_commits),
		cmocka_unit_test(test_share_of_the_time),
		cmocka_unit_test(test_commit_gets_its_share),
		cmocka_unit_test(test_commits_that_wait_go_together),
		cmocka_unit_test(test_a_turn_pays_for_what_its_drive_does_later),
		cmocka_unit_test(test_beside_others_a_turn_stays_as_long),
		cmocka_unit_test(test_beside_others_a_read_shows_no_drain),
		cmocka_unit_test(test_the_drain_is_the_writers),
		cmocka_unit_test(test_a_writer_held_back_has_his_share_beside_others),
		cmocka_unit_test(test_wanted_before_it_is_there),
		cmocka_unit_test(test_wanted_goes_first),
		cmocka_unit_test(test_wanted_finds_a_place),
		cmocka_unit_test(test_who_writes_on_and_on_keeps_nobody),
		cmocka_unit_test(test_reads_pass_a_held_one_under_every_policy),
		cmocka_unit_test(test_the_end_holds_nothing_back),
		cmocka_unit_test(test_short_for_demand_reads),
		cmocka_unit_test(test_a_gap_ends_when_a_turn_is_due),
		cmocka_unit_test(test_one_that_hung_leaves_no_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
