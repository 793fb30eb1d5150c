/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flows: who gets how much of the disk, and who waits for how long. Clients in a closed loop, see
 * client_loop.h.
 */
#include "client_loop.h"

static void test_a_flood_delays_nobody_else(void **state)
{
	for (unsigned int p = 0; sched_policy_nth(p); p++) {
		struct client c[] = {{{.client = 1}, RANDOM, 4000}, {{.client = 2}, RANDOM, 1}};
		struct loop *l = loop_new(sched_policy_nth(p)->name, c, 2);

		run(l, 20 * SEC);
		show(sched_policy_nth(p)->name, c, 2);
		assert_true(c[1].wait_max < 150 * MSEC);
		assert_true(share(c, 2, 1) > 0.4 && share(c, 2, 1) < 0.55);
		loop_free(l);
	}
}

static void test_streams_of_one_are_one(void **state)
{
	struct client c[] = {{{.client = 1}, STREAM, 32}, {{.client = 2}, STREAM, 2}};
	struct loop *l = loop_new("turns", c, 2);

	run(l, 20 * SEC);
	show("32 streams, and one", c, 2);
	assert_true(share(c, 2, 1) > 0.45 && share(c, 2, 1) < 0.55);
	loop_free(l);
}

static void test_streams_beside_random_readers(void **state)
{
	for (unsigned int n = 1; n <= 4; n += 3) {
		struct client c[12];
		struct loop *l;
		double mb_s = 0;

		for (unsigned int i = 0; i < 8 + n; i++)
			c[i] = (struct client){
				{.client = i + 1}, i < 8 ? STREAM : RANDOM, i < 8 ? 2 : 1};
		l = loop_new("turns", c, 8 + n);
		run(l, 20 * SEC);
		show("8 streams beside random readers", c, 8 + n);
		for (unsigned int i = 0; i < 8; i++)
			mb_s += (double)c[i].bytes / 20e6;
		print_message("  %.1f MB/s\n", mb_s);
		assert_true(mb_s > (n == 1 ? 80 : 65));
		for (unsigned int i = 8; i < 8 + n; i++)
			assert_true(c[i].wait_max < 150 * MSEC);
		loop_free(l);
	}
}

static void test_a_commit_beside_many_readers_has_half(void **state)
{
	struct client c[] = {{{.client = 1}, WRITER, 1}, {{.client = 2}, RANDOM, 16}};
	struct loop *l = loop_new("turns", c, 2);

	run(l, 20 * SEC);
	show("COMMITs beside 16 readers", c, 2);
	assert_true(share(c, 2, 0) > 0.45 && share(c, 2, 0) < 0.55);
	loop_free(l);
}

static void test_weights(void **state)
{
	static struct sched_shares s = {.n_rules = 3, .rules = {{100}, {200}, {400}}};
	struct client c[] = {{{.client = 1, .rule = 0}, STREAM, 6},
			     {{.client = 2, .rule = 1}, RANDOM, 8},
			     {{.client = 3, .rule = 2}, WRITER, 3}};
	struct loop *l = loop_new("turns", c, 3);

	assert_int_equal(sched_set_shares(l->q, &s, l->disk.now), 0);
	run(l, 20 * SEC);
	show("1 : 2 : 4", c, 3);
	for (unsigned int i = 0; i < 3; i++) {
		double fair = (double)(1 << i) / 7;

		assert_true(share(c, 3, i) > 0.95 * fair - 0.01 &&
			    share(c, 3, i) < 1.05 * fair + 0.01);
	}
	loop_free(l);
}

/* ---- one step at a time ------------------------------------------------------------------ */

static struct sched_req read_of(uint64_t client, uint64_t file, enum sched_class class)
{
	return (struct sched_req){.flow = {.client = client},
				  .class = class,
				  .file = file,
				  .len = class == SCHED_DEMAND ? 8 * KIB : 4 * MIB,
				  .block = file * 64 * MIB,
				  .owner = class == SCHED_DEMAND ? 0 : file};
}

static void done_at(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(q, r, now, &woken);
	assert_null(sched_check(q));
}

/* Client 1 has used the disk for ten seconds alone; what client 2 did not use is no claim. */
static void test_idleness_earns_no_more_than_the_credit(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_fifo, &lim);
	struct sched_req a = read_of(1, 1, SCHED_DEMAND), b = read_of(2, 2, SCHED_DEMAND);
	uint64_t now = SEC, had[2] = {0};

	for (int i = 0; i < 2000; i++) {
		struct sched_req *r;

		if (a.state == REQ_IDLE)
			sched_submit(q, &a, now);
		if (i >= 1000 && b.state == REQ_IDLE)
			sched_submit(q, &b, now);
		while (!(r = sched_next(q, now)))
			now += MSEC;
		now += 10 * MSEC;
		done_at(q, r, now);
		if (i >= 1000)
			had[r == &b] += 10 * MSEC;
	}
	assert_true(had[1] <= had[0] + 2 * lim.cost.demand_wait);
	assert_true(had[1] + 2 * lim.cost.demand_wait >= had[0]);
	queue_free(q);
}

/* Client 2 waits for a chunk of client 1, who has had more: the chunk is its now. */
static void test_who_waits_for_a_chunk_pays_for_it(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);
	struct sched_req first = read_of(1, 1, SCHED_PREFETCH),
			 chunk = read_of(1, 2, SCHED_PREFETCH);
	struct sched_req other = read_of(1, 3, SCHED_PREFETCH), waits = read_of(2, 2, SCHED_DEMAND);
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct flow_stats stats[3];

	sched_submit(q, &first, SEC);
	assert_ptr_equal(sched_next(q, SEC), &first);
	done_at(q, &first, 2 * SEC);
	sched_submit(q, &other, 2 * SEC);
	sched_submit(q, &chunk, 2 * SEC);
	assert_int_equal(sched_submit(q, &waits, 2 * SEC), SCHED_WAITS);
	assert_null(sched_check(q));
	assert_ptr_equal(sched_next(q, 2 * SEC), &chunk);
	sched_done(q, &chunk, 3 * SEC, &woken);
	assert_ptr_equal(TAILQ_FIRST(&woken), &waits);
	assert_int_equal(sched_flows(q, stats, 3), 3);
	assert_int_equal(stats[0].id.client, 2);
	assert_int_equal(stats[0].disk_time[SCHED_PREFETCH], SEC);
	assert_null(sched_check(q));
	queue_free(q);
}

/* A COMMIT of client 2 wants what client 1 wrote: it is charged to client 2. */
static void test_a_commit_is_charged_to_who_asked(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);
	struct sched_req w = read_of(1, 1, SCHED_WRITEBACK);
	struct flow_id by = {.client = 2};

	sched_submit(q, &w, SEC);
	sched_want(q, &w, &by, SEC);
	assert_null(sched_check(q));
	assert_ptr_equal(sched_next(q, SEC), &w);
	assert_int_equal(w.in->id.client, 2);
	done_at(q, &w, 2 * SEC);
	queue_free(q);
}

/* A chunk planned before the rules changed does not bring the old one back. */
static void test_a_rule_is_that_of_the_last_read(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);
	struct sched_req read = read_of(1, 1, SCHED_DEMAND), chunk = read_of(1, 2, SCHED_PREFETCH);

	read.flow.rule = 2;
	sched_submit(q, &read, SEC);
	assert_int_equal(read.in->id.rule, 2);
	chunk.flow.rule = 1;
	sched_submit(q, &chunk, SEC);
	assert_ptr_equal(chunk.in, read.in);
	assert_int_equal(read.in->id.rule, 2);
	queue_free(q);
}

/* One may hold as much as is free; the others have room then. */
static void test_one_client_leaves_room_for_others(void **state)
{
	static struct sched_req a[16], b[16];
	struct sched_limits lim = default_limits();
	struct sched_queue *q;
	int had[2] = {0};

	lim.queue_max = 16;
	q = queue_new(&sched_turns, &lim);
	for (uint64_t i = 0; i < 16; i++) {
		a[i] = read_of(1, 1 + i, SCHED_DEMAND);
		had[0] += sched_submit(q, &a[i], SEC) == SCHED_ADDED;
	}
	for (uint64_t i = 0; i < 16; i++) {
		b[i] = read_of(2, 100 + i, SCHED_DEMAND);
		had[1] += sched_submit(q, &b[i], SEC) == SCHED_ADDED;
	}
	assert_int_equal(had[0], 8);
	assert_int_equal(had[1], 4);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flood_delays_nobody_else),
		cmocka_unit_test(test_streams_of_one_are_one),
		cmocka_unit_test(test_streams_beside_random_readers),
		cmocka_unit_test(test_a_commit_beside_many_readers_has_half),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_idleness_earns_no_more_than_the_credit),
		cmocka_unit_test(test_who_waits_for_a_chunk_pays_for_it),
		cmocka_unit_test(test_a_commit_is_charged_to_who_asked),
		cmocka_unit_test(test_a_rule_is_that_of_the_last_read),
		cmocka_unit_test(test_one_client_leaves_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
