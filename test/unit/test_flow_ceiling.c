/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Ceilings in the dispatch queue: held, live, at no cost to others, and not at the end. */
#include "limited_loop.h"

static void test_whether_anybody_has_a_share_of_its_own(void **state)
{
	static struct sched_shares s;

	s = (struct sched_shares){.n_rules = 1};
	s.rules[0].weight = SHARE_WEIGHT_DEFAULT;
	assert_false(sched_shares_differ(&s));
	s.rules[0].ceiling.iops = 1;
	assert_true(sched_shares_differ(&s));
	s.rules[0].ceiling.iops = 0;
	s.rules[0].floor.time = 1;
	assert_true(sched_shares_differ(&s));
	s.rules[0].floor.time = 0;
	s.n_rules = 2;
	assert_true(sched_shares_differ(&s));
	s.n_rules = s.n_exports = 1;
	assert_true(sched_shares_differ(&s));
}

static void test_a_ceiling_is_held_in_every_window(void **state)
{
	for (unsigned int others = 0; others < 3; others++) {
		struct loop *l = loop_new();
		struct client *c = add(l, STREAM, 1, 2);

		for (unsigned int i = 0; i < others; i++)
			add(l, i ? RANDOM : STREAM, 0, 2);
		l->shares.rules[1].ceiling.bandwidth = 10 * MB;
		set_shares(l);
		run(l, 31 * SEC);
		assert_true(windows_within(c, 2 * SEC, 31 * SEC, 2 * SEC, 19 * MB, 21 * MB) == 100);
		assert_true(others || l->looks < 2000); /* it waits, it does not spin */
		loop_free(l);
	}
}

static void test_ceilings_of_requests_and_of_time(void **state)
{
	struct loop *l = loop_new();
	struct client *iops = add(l, RANDOM, 1, 4), *time = add(l, RANDOM, 2, 4),
		      *chunks = add(l, STREAM, 3, 2);

	add(l, RANDOM, 0, 4);
	l->shares.rules[1].ceiling.iops = 20;
	l->shares.rules[2].ceiling.time = 10;
	l->shares.rules[3].ceiling.time = 20;
	set_shares(l);
	run(l, 51 * SEC);
	print_message("%lu requests, %.1f %% and %.1f %% of the disk\n", iops->requests,
		      (double)time->disk_time / 50e7, (double)chunks->disk_time / 50e7);
	assert_in_range(iops->requests, 990, 1010);
	assert_in_range(time->disk_time / MSEC, 4950, 5050);
	assert_in_range(chunks->disk_time / MSEC, 9900, 10100);
	loop_free(l);
}

/* What one may not have the others get: no time is lost. */
static void test_ceilings_cost_the_others_nothing(void **state)
{
	struct loop *l = loop_new();
	struct client *other;

	add(l, STREAM, 1, 2);
	add(l, RANDOM, 1, 16);
	add(l, WRITER, 1, 2);
	other = add(l, STREAM, 0, 2);
	l->shares.rules[1].ceiling.time = 5;
	set_shares(l);
	run(l, 31 * SEC);
	print_message("the other: %.1f MB/s\n", (double)bytes_between(other, SEC, 31 * SEC) / 30e6);
	assert_true(l->idle < 100 * MSEC);
	assert_true(bytes_between(other, SEC, 31 * SEC) > 30 * 90 * MB);
	loop_free(l);
}

/* Nor patience: many that are held, with reads that wait for long, and a small reader beside streams. */
static void test_who_is_held_keeps_nobody_waiting(void **state)
{
	uint64_t waits[2];

	for (unsigned int with = 0; with < 2; with++) {
		struct loop *l = loop_new();
		struct client *small;

		add(l, STREAM, 0, 2);
		add(l, STREAM, 0, 2);
		small = add(l, RANDOM, 0, 1);
		small->id.client = 1; /* the first stream's: ahead of the other client */
		small->id.export_id = 2;
		small->think = 5 * MSEC;
		for (unsigned int i = 0; i < 12 * with; i++)
			add(l, RANDOM, 1, 4);
		l->shares.rules[1].ceiling = (struct share_limit){.bandwidth = 1};
		set_shares(l);
		run(l, 4 * SEC); /* each of them has had one read, and no other for hours */
		small->wait_max = 0;
		run(l, 34 * SEC);
		waits[with] = small->wait_max;
		loop_free(l);
	}
	print_message("waits for %.0f ms at most, beside those that are held %.0f\n",
		      (double)waits[0] / 1e6, (double)waits[1] / 1e6);
	assert_true(waits[1] * 10 < waits[0] * 12);
}

/* Who has less than his ceiling anyway, because others are about, is not cut short by it. */
static void test_a_ceiling_that_is_not_reached_costs_nothing(void **state)
{
	uint64_t had[2];

	for (unsigned int with = 0; with < 2; with++) {
		struct loop *l = loop_new();
		struct client *c = add(l, STREAM, 1, 2);

		for (unsigned int i = 0; i < 9; i++)
			add(l, STREAM, 0, 2);
		l->shares.rules[1].ceiling.bandwidth = with ? 12 * MB : 0;
		set_shares(l);
		run(l, 21 * SEC);
		had[with] = bytes_between(c, SEC, 21 * SEC);
		loop_free(l);
	}
	print_message("%.1f MB/s, with a ceiling of 12 %.1f\n", (double)had[0] / 20e6,
		      (double)had[1] / 20e6);
	assert_true(had[1] * 100 > had[0] * 95);
}

static void test_a_ceiling_changes_live(void **state)
{
	struct loop *l = loop_new();
	struct client *c = add(l, STREAM, 1, 2);

	add(l, STREAM, 0, 2);
	for (uint64_t i = 0; i < 5; i++) {
		static const uint64_t mb[] = {20, 2, 0, 5, 40};
		uint64_t from = l->disk.now / SLOT * SLOT + SLOT, had; /* after what is under way */

		l->shares.rules[1].ceiling.bandwidth = mb[i] * MB;
		set_shares(l);
		run(l, from + 10 * SEC);
		had = bytes_between(c, from, from + 10 * SEC);
		print_message("%lu MB/s: %.1f\n", mb[i], (double)had / 10e6);
		if (mb[i])
			assert_in_range(had, 10 * mb[i] * MB * 94 / 100,
					10 * mb[i] * MB * 106 / 100);
		else
			assert_true(had > 10 * 40 * MB);
	}
	loop_free(l);
}

/* Whose ceiling goes after a long time has no claim to what it could not have before. */
static void test_a_ceiling_earns_nothing(void **state)
{
	const uint64_t held = 80 * SEC;
	struct loop *l = loop_new();
	struct client *c = add(l, STREAM, 1, 2), *too = add(l, STREAM, 1, 2),
		      *other = add(l, STREAM, 0, 2);
	uint64_t had;

	too->id.client = c->id.client; /* through another export */
	too->id.export_id = 2;
	l->shares.rules[1].ceiling.bandwidth = 2 * MB;
	set_shares(l);
	run(l, held);
	l->shares.rules[1].ceiling.bandwidth = 0;
	set_shares(l);
	run(l, held + 6 * SEC);
	had = bytes_between(other, held + SEC, held + 5 * SEC);
	print_message("the other has %.1f MB/s, who was held %.1f\n", (double)had / 4e6,
		      (double)(bytes_between(c, held + SEC, held + 5 * SEC) +
			       bytes_between(too, held + SEC, held + 5 * SEC)) /
			      4e6);
	assert_true(had > 4 * 30 * MB);
	loop_free(l);
}

static void test_a_ceiling_of_a_writer(void **state)
{
	struct loop *l = loop_new();
	struct client *c = add(l, WRITER, 1, 1);

	add(l, STREAM, 0, 2);
	l->shares.rules[1].ceiling.bandwidth = 8 * MB;
	set_shares(l);
	run(l, 31 * SEC);
	/* its COMMITs end, as soon as the ceiling allows */
	assert_true(c->wait_max < 1000 * MSEC);
	assert_in_range(bytes_between(c, SEC, 31 * SEC), 30 * 78 * MB / 10, 30 * 82 * MB / 10);
	loop_free(l);
}

/* Where the disk takes many at once, they count when they go, not when they are over. */
static void test_many_at_once_keep_to_it(void **state)
{
	struct loop *l = loop_new();
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *r, *last = NULL;
	unsigned int n = 0;

	add(l, RANDOM, 1, 32);
	add(l, RANDOM, 2, 16);
	l->shares.rules[1].ceiling.iops = 20;
	l->shares.rules[2].ceiling.bandwidth = MB;
	set_shares(l);
	ask_all(l);
	for (; (r = sched_next(l->q, l->disk.now)); n++)
		last = r;
	assert_int_equal(n, 2);				    /* nothing was saved: one each */
	sched_done(l->q, last, l->disk.now + MSEC, &woken); /* and not again */
	assert_in_range(sched_hold_until(l->q, l->disk.now), l->disk.now, l->disk.now + 50 * MSEC);
	assert_null(sched_check(l->q));
	loop_free(l);
}

/* A write-back's turn writes what fits into it: that counts, not what it might have written. */
static void test_what_was_not_written_does_not_count(void **state)
{
	struct loop *l = loop_new();
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *r;

	add(l, WRITER, 1, 2);
	l->shares.rules[1].ceiling.bandwidth = MB;
	set_shares(l);
	ask_all(l);
	r = sched_next(l->q, l->disk.now);
	assert_non_null(r);
	r->io_len = MB / 2; /* of 4 MiB, as the host says when it is over */
	sched_done(l->q, r, l->disk.now + 10 * MSEC, &woken);
	assert_null(sched_next(l->q, l->disk.now + 11 * MSEC));
	assert_in_range(sched_hold_until(l->q, l->disk.now + 11 * MSEC), l->disk.now + 400 * MSEC,
			l->disk.now + 510 * MSEC);
	loop_free(l);
}

/* What a chunk had is known when it is over: C has the disk for a while, and AGAIN has to wait so long for that. */
static void assert_counts(struct loop *l, struct sched_req *c, uint64_t bytes)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req again = *c;
	uint64_t begun = l->disk.now, over = begun + 100 * MSEC, opens = begun + bytes * SEC / MB;

	assert_int_equal(sched_submit(l->q, c, begun), SCHED_ADDED);
	assert_ptr_equal(sched_next(l->q, begun), c);
	if (c->counts)
		c->io_len = bytes;
	sched_done(l->q, c, over, &woken);
	assert_int_equal(l->q->stats.bytes[SCHED_PREFETCH], bytes);
	assert_int_equal(sched_submit(l->q, &again, over), SCHED_ADDED);
	assert_null(sched_next(l->q, over));
	assert_in_range(sched_hold_until(l->q, over), opens - 50 * MSEC, opens + 50 * MSEC);
	assert_null(sched_check(l->q));
}

/* Of records a step apart only they count, and of a walk's turn what it says: not their length. */
static void test_what_a_chunk_did_not_read_does_not_count(void **state)
{
	struct sched_req records = {.class = SCHED_PREFETCH,
				    .file = 1,
				    .len = 30 * MIB,
				    .record = 64 * KIB,
				    .step = 4 * MIB,
				    .flow = {1, 1, 1}};
	struct sched_req turn = {.class = SCHED_PREFETCH,
				 .file = 1,
				 .len = 30 * MIB,
				 .counts = true,
				 .flow = {1, 1, 1}};

	for (int i = 0; i < 2; i++) {
		struct loop *l = loop_new();

		l->shares.rules[1].ceiling.bandwidth = MB;
		set_shares(l);
		assert_counts(l, i ? &turn : &records, 8 * 64 * KIB);
		loop_free(l);
	}
}

/* One read outstanding, held for long, and of little weight: when it may go it is not forgotten. */
static void test_who_was_held_is_not_forgotten(void **state)
{
	uint64_t waits[2];

	for (int with = 0; with < 2; with++) {
		struct loop *l = loop_new();
		struct client *c = add(l, RANDOM, 1, 1);

		for (int i = 0; i < 4; i++)
			add(l, STREAM, 0, 2);
		l->shares.rules[1].weight = 1;
		l->shares.rules[1].ceiling.iops = with ? 2 : 0;
		c->think = with ? 0 : 500 * MSEC;
		set_shares(l);
		run(l, 30 * SEC);
		waits[with] = c->wait_max;
		print_message("%lu reads, one waits for %.0f ms at most\n", c->requests,
			      (double)c->wait_max / 1e6);
		loop_free(l);
	}
	assert_true(waits[1] < waits[0] + 700 * MSEC);
}

/* The server ends: what is queued goes, whatever the ceilings say. */
static void test_the_end_knows_no_ceiling(void **state)
{
	struct loop *l = loop_new();
	uint64_t now;

	add(l, RANDOM, 1, 8);
	add(l, WRITER, 1, 4);
	add(l, STREAM, 2, 2);
	l->shares.rules[1].ceiling.iops = 1;
	l->shares.rules[2].ceiling.bandwidth = 1;
	set_shares(l);
	run(l, 20 * SEC);
	for (int i = 0; i < 100; i++) {
		struct sched_req *r = sched_next(l->q, l->disk.now);

		ask_all(l);
		if (!r)
			break;
		serve(l, (struct item *)r);
	}
	assert_null(sched_next(l->q, l->disk.now));
	assert_true(l->q->queued > 10);
	l->q->writeback.hurry = true;
	now = l->disk.now;
	while (l->q->queued) {
		struct sched_req *r = sched_next(l->q, l->disk.now);

		assert_non_null(r);
		if (!r->dropped)
			disk_read(&l->disk, r->block, r->io_len);
		end(l, (struct item *)r);
	}
	assert_true(l->disk.now - now < SEC);
	loop_free(l);
}

/* ---- joins ------------------------------------------------------------------------------- */

/* R, which runs, is done at NOW. */
static void end_one(struct loop *l, struct sched_req *r, uint64_t now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(l->q, r, now, &woken);
	assert_null(sched_check(l->q));
}

/* R is submitted at NOW, and done NS later. */
static void serve_for(struct loop *l, struct sched_req *r, uint64_t ns, uint64_t now)
{
	assert_int_equal(sched_submit(l->q, r, now), SCHED_ADDED);
	assert_ptr_equal(sched_next(l->q, now), r);
	end_one(l, r, now + ns);
}

static void serve_one(struct loop *l, struct sched_req *r, uint64_t now)
{
	serve_for(l, r, 10 * MSEC, now);
}

/* A read of another client's inside the chunk of one that is held: the chunk goes, as that client's. */
static void test_a_held_chunk_goes_for_who_waits(void **state)
{
	struct loop *l = loop_new();
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req one = {.class = SCHED_DEMAND, .file = 9, .len = MIB, .flow = {1, 1, 1}};
	struct sched_req chunk = {
		.class = SCHED_PREFETCH, .file = 1, .len = 4 * MIB, .owner = 1, .flow = {1, 1, 1}};
	struct sched_req read = {.class = SCHED_DEMAND, .file = 1, .len = 4 * KIB};

	read.flow = (struct flow_id){2, 1, 0};
	l->shares.rules[1].ceiling.bandwidth = MB;
	set_shares(l);
	assert_int_equal(sched_submit(l->q, &one, 10 * SEC), SCHED_ADDED);
	assert_ptr_equal(sched_next(l->q, 10 * SEC), &one);
	sched_done(l->q, &one, 10 * SEC + 10 * MSEC, &woken);
	assert_int_equal(sched_submit(l->q, &chunk, 10 * SEC + 10 * MSEC), SCHED_ADDED);
	assert_null(sched_next(l->q, 10 * SEC + 20 * MSEC));
	assert_in_range(sched_hold_until(l->q, 10 * SEC + 20 * MSEC), 10 * SEC + 900 * MSEC,
			11 * SEC + 50 * MSEC);
	assert_int_equal(sched_submit(l->q, &read, 10 * SEC + 20 * MSEC), SCHED_WAITS);
	assert_null(sched_check(l->q));
	assert_ptr_equal(sched_next(l->q, 10 * SEC + 20 * MSEC), &chunk);
	assert_int_equal(chunk.in->id.client, 2);
	sched_done(l->q, &chunk, 10 * SEC + 60 * MSEC, &woken);
	assert_ptr_equal(TAILQ_FIRST(&woken), &read);
	assert_null(sched_check(l->q));
	loop_free(l);
}

/* A read of one who is held for longer: it waits for its own ceiling, and keeps the chunk from nobody. */
static void test_a_held_chunk_stays_with_who_may_go_first(void **state)
{
	struct loop *l = loop_new();
	struct sched_req one = {
		.class = SCHED_DEMAND, .file = 9, .len = 2 * MIB, .flow = {1, 1, 1}};
	struct sched_req two = {
		.class = SCHED_DEMAND, .file = 8, .len = 64 * KIB, .flow = {2, 1, 2}};
	struct sched_req chunk = {
		.class = SCHED_PREFETCH, .file = 1, .len = 4 * MIB, .owner = 1, .flow = {1, 1, 1}};
	struct sched_req read = {
		.class = SCHED_DEMAND, .file = 1, .len = 4 * KIB, .flow = {2, 1, 2}};

	l->shares.rules[1].ceiling.bandwidth = 4 * MB;
	l->shares.rules[2].ceiling.bandwidth = MB / 1000;
	set_shares(l);
	serve_one(l, &two, 10 * SEC);
	serve_for(l, &one, 25 * MSEC, 10 * SEC + 20 * MSEC); /* he has had more */
	assert_int_equal(sched_submit(l->q, &chunk, 10 * SEC + 50 * MSEC), SCHED_ADDED);
	assert_int_equal(sched_submit(l->q, &read, 10 * SEC + 60 * MSEC), SCHED_ADDED);
	assert_int_equal(chunk.in->id.client, 1);
	assert_null(sched_next(l->q, 10 * SEC + 60 * MSEC));
	assert_ptr_equal(sched_next(l->q, 11 * SEC), &chunk);
	end_one(l, &chunk, 11 * SEC + 40 * MSEC);
	loop_free(l);
}

/* Two clients wait for the COMMIT of one file, whose data the one wrote who is held: it goes, as the other's. */
static void test_a_held_write_back_goes_for_who_commits_too(void **state)
{
	struct loop *l = loop_new();
	struct sched_req one = {.class = SCHED_DEMAND, .file = 9, .len = MIB, .flow = {1, 1, 1}};
	struct sched_req w = {.class = SCHED_WRITEBACK,
			      .file = 1,
			      .len = 4 * MIB,
			      .wanted = true,
			      .flow = {1, 1, 1}};
	struct flow_id held = {1, 1, 1}, other = {2, 1, 0};

	l->shares.rules[1].ceiling.bandwidth = MB;
	set_shares(l);
	serve_one(l, &one, 10 * SEC);
	assert_int_equal(sched_submit(l->q, &w, 10 * SEC + 30 * MSEC), SCHED_ADDED);
	sched_want(l->q, &w, &held, 10 * SEC + 30 * MSEC);
	assert_null(sched_next(l->q, 10 * SEC + 60 * MSEC));
	sched_want(l->q, &w, &other, 10 * SEC + 60 * MSEC);
	assert_null(sched_check(l->q));
	assert_int_equal(w.in->id.client, 2);
	sched_want(l->q, &w, &held, 10 * SEC + 60 * MSEC);
	assert_int_equal(w.in->id.client, 2);
	assert_ptr_equal(sched_next(l->q, 10 * SEC + 60 * MSEC), &w);
	end_one(l, &w, 10 * SEC + 100 * MSEC);
	loop_free(l);
}

/* Of two who are both held it stays with the one who may go first. */
static void test_a_held_write_back_stays_with_who_may_go_first(void **state)
{
	struct loop *l = loop_new();
	struct sched_req one = {
		.class = SCHED_DEMAND, .file = 9, .len = 2 * MIB, .flow = {1, 1, 1}};
	struct sched_req two = {
		.class = SCHED_DEMAND, .file = 8, .len = 64 * KIB, .flow = {2, 1, 2}};
	struct sched_req w = {.class = SCHED_WRITEBACK,
			      .file = 1,
			      .len = 4 * MIB,
			      .wanted = true,
			      .flow = {1, 1, 1}};
	struct flow_id sooner = {1, 1, 1}, later = {2, 1, 2};

	l->shares.rules[1].ceiling.bandwidth = 4 * MB;
	l->shares.rules[2].ceiling.bandwidth = MB / 1000;
	set_shares(l);
	serve_one(l, &two, 10 * SEC);
	serve_for(l, &one, 25 * MSEC, 10 * SEC + 20 * MSEC); /* he has had more */
	assert_int_equal(sched_submit(l->q, &w, 10 * SEC + 50 * MSEC), SCHED_ADDED);
	sched_want(l->q, &w, &later, 10 * SEC + 60 * MSEC);
	assert_int_equal(w.in->id.client, 1);
	assert_null(sched_next(l->q, 10 * SEC + 60 * MSEC));
	assert_ptr_equal(sched_next(l->q, 11 * SEC), &w);
	end_one(l, &w, 11 * SEC + 40 * MSEC);
	w.flow = later;
	w.wanted = true;
	assert_int_equal(sched_submit(l->q, &w, 12 * SEC), SCHED_ADDED);
	sched_want(l->q, &w, &sooner, 12 * SEC); /* and goes over to him */
	assert_int_equal(w.in->id.client, 1);
	assert_int_equal(w.arrival, 12 * SEC);
	sched_want(l->q, &w, &later, 12 * SEC + MSEC);
	sched_want(l->q, &w, &sooner, 12 * SEC + 2 * MSEC);
	assert_int_equal(w.in->id.client, 1);
	assert_int_equal(w.arrival, 12 * SEC); /* he waits since then */
	l->q->writeback.hurry = true;
	assert_ptr_equal(sched_next(l->q, 12 * SEC + 3 * MSEC), &w);
	end_one(l, &w, 13 * SEC);
	loop_free(l);
}

/* ---- several exports --------------------------------------------------------------------- */

/* What a client was told to have holds for it, whatever an export that it has not used since was told. */
static void test_a_ceiling_outlives_an_export_that_is_idle(void **state)
{
	struct loop *l = loop_new();
	struct sched_req a = {.class = SCHED_DEMAND, .file = 1, .len = 4 * KIB, .flow = {1, 1, 0}};
	struct sched_req b = {.class = SCHED_DEMAND, .file = 2, .len = 4 * KIB, .flow = {1, 2, 0}};

	set_shares(l);
	serve_one(l, &a, 10 * SEC);
	serve_one(l, &b, 11 * SEC);
	l->shares.rules[1].ceiling.iops = 2;
	l->disk.now = 12 * SEC;
	set_shares(l);
	a.flow.rule = 1;
	serve_one(l, &a, 12 * SEC);
	assert_int_equal(a.in->group->node.limit.ceiling[RATE_REQUESTS].rate, 2);
	l->shares.rules[1].ceiling.iops = 1;
	l->disk.now = 13 * SEC;
	set_shares(l);
	assert_int_equal(a.in->group->node.limit.ceiling[RATE_REQUESTS].rate, 1);
	serve_one(l, &a, 20 * SEC);
	assert_int_equal(a.in->group->node.limit.ceiling[RATE_REQUESTS].rate, 1);
	b.flow.rule = 1;
	serve_one(l, &b, 30 * SEC);
	assert_int_equal(b.in->group->node.limit.ceiling[RATE_REQUESTS].rate, 1);
	loop_free(l);
}

/* ---- any order of changes ---------------------------------------------------------------- */

static struct share_limit random_limit(struct loop *l, uint32_t time)
{
	struct share_limit limit = {0};

	if (random_below(&l->seed, 2))
		limit.bandwidth = 1 + random_below(&l->seed, 50 * MB);
	if (!random_below(&l->seed, 3))
		limit.iops = 1 + (uint32_t)random_below(&l->seed, 200);
	if (!random_below(&l->seed, 3))
		limit.time = 1 + (uint32_t)random_below(&l->seed, time);
	return limit;
}

static void random_shares(struct loop *l)
{
	struct export_share *e = &l->shares.exports[0];

	for (int i = 0; i < 4; i++) {
		l->shares.rules[i].weight = 1 + (uint32_t)random_below(&l->seed, 1000);
		l->shares.rules[i].floor = random_limit(l, 20);
		l->shares.rules[i].ceiling = random_limit(l, 100);
	}
	l->shares.n_exports = (uint32_t)random_below(&l->seed, 2);
	e->export_id = 1 + (uint16_t)random_below(&l->seed, 2);
	e->share = (struct share){(uint32_t)random_below(&l->seed, 500), random_limit(l, 40),
				  random_limit(l, 100)};
	set_shares(l);
}

static void test_shares_that_change_under_any_load(void **state)
{
	for (uint64_t seed = 1; seed <= 240; seed++) {
		struct loop *l = loop_new();
		uint64_t served = 0;

		l->seed = seed;
		for (unsigned int i = 0; i < 8; i++) {
			struct client *c = add(l, i % 3, (uint16_t)(i % 4), 2);

			c->id.client = 1 + i % 5;
			c->id.export_id = (uint16_t)(1 + i % 2);
			c->think = random_below(&l->seed, 3) * 20 * MSEC;
		}
		for (int i = 0; i < 30; i++) {
			random_shares(l);
			if (!random_below(&l->seed, 3)) /* another rule for one of them */
				l->clients[i % 8].id.rule = (uint16_t)random_below(&l->seed, 4);
			run(l, l->disk.now + random_below(&l->seed, SEC));
		}
		for (unsigned int i = 0; i < 8; i++)
			served += l->clients[i].requests;
		assert_true(served > 30);
		loop_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whether_anybody_has_a_share_of_its_own),
		cmocka_unit_test(test_a_ceiling_is_held_in_every_window),
		cmocka_unit_test(test_ceilings_of_requests_and_of_time),
		cmocka_unit_test(test_ceilings_cost_the_others_nothing),
		cmocka_unit_test(test_who_is_held_keeps_nobody_waiting),
		cmocka_unit_test(test_a_ceiling_that_is_not_reached_costs_nothing),
		cmocka_unit_test(test_a_ceiling_changes_live),
		cmocka_unit_test(test_a_ceiling_earns_nothing),
		cmocka_unit_test(test_a_ceiling_of_a_writer),
		cmocka_unit_test(test_many_at_once_keep_to_it),
		cmocka_unit_test(test_what_was_not_written_does_not_count),
		cmocka_unit_test(test_what_a_chunk_did_not_read_does_not_count),
		cmocka_unit_test(test_who_was_held_is_not_forgotten),
		cmocka_unit_test(test_the_end_knows_no_ceiling),
		cmocka_unit_test(test_a_held_chunk_goes_for_who_waits),
		cmocka_unit_test(test_a_held_chunk_stays_with_who_may_go_first),
		cmocka_unit_test(test_a_held_write_back_goes_for_who_commits_too),
		cmocka_unit_test(test_a_held_write_back_stays_with_who_may_go_first),
		cmocka_unit_test(test_a_ceiling_outlives_an_export_that_is_idle),
		cmocka_unit_test(test_shares_that_change_under_any_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
