/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients that do several things at once: each of these goes on, whatever the others of the same client
 * and those of others take of the disk.
 */
#include "client_loop.h"
#include "sched/parts.h"

/* No request of C, done or not, has waited for longer than NS. */
static void check_waits(const struct loop *l, const struct client *c, uint64_t ns)
{
	uint64_t longest = c->wait_max;

	for (unsigned int n = 0; n < l->n_items; n++) {
		const struct item *i = &l->items[n];
		uint64_t wait = l->disk.now - i->req.submitted;

		if (i->client == c && i->req.state != REQ_IDLE && wait > longest)
			longest = wait;
	}
	if (longest > ns)
		fail_msg("a request of client %d waited %.0f ms", (int)c->id.client,
			 (double)longest / 1e6);
}

static struct loop *loop_of(const struct sched_policy *policy, struct client *c, unsigned int n)
{
	struct loop *l = loop_new(policy->name, c, n);

	l->q->limits.prefetch_max_age = 1000 * SEC; /* nothing is to be dropped */
	run(l, 20 * SEC);
	show(policy->name, c, n);
	return l;
}

static void test_a_writer_leaves_its_own_client_its_reads(void **state)
{
	static const enum work others[] = {STREAM, RANDOM};

	for (unsigned int p = 0; sched_policy_nth(p); p++)
		for (unsigned int o = 0; o < 2; o++) {
			struct client c[] = {{{.client = 1}, WRITER, 1},
					     {{.client = 1}, STREAM, 2},
					     {{.client = 2}, others[o], 2 - o}};
			struct loop *l = loop_of(sched_policy_nth(p), c, 3);

			check_waits(l, &c[1], 3 * SEC);
			assert_true(share(c, 3, 1) > 0.09);
			assert_true(share(c, 3, 2) > 0.45 && share(c, 3, 2) < 0.55);
			loop_free(l);
		}
}

static void test_random_reads_beside_commits_of_the_same_client(void **state)
{
	for (unsigned int p = 0; sched_policy_nth(p); p++) {
		struct client c[] = {{{.client = 1}, WRITER, 1},
				     {{.client = 1}, RANDOM, 1},
				     {{.client = 2}, STREAM, 2}};
		struct loop *l = loop_of(sched_policy_nth(p), c, 3);

		check_waits(l, &c[1], 2 * SEC);
		assert_true(share(c, 3, 1) > 0.05);
		loop_free(l);
	}
}

/*
 * A read that took seconds is charged to its client, for the disk was not the others' meanwhile. That is paid for by
 * fewer reads, not by one that waits for as long, be the others streams or a flood of reads.
 */
static void test_who_has_had_much_has_a_read_now_and_then(void **state)
{
	static const enum work others[] = {STREAM, RANDOM};

	for (unsigned int o = 0; o < 2; o++) {
		struct client c[] = {{{.client = 1}, others[o], o ? 1000 : 2},
				     {{.client = 2}, RANDOM, 1}};
		struct loop *l = loop_new(sched_turns.name, c, 2);

		l->q->limits.prefetch_max_age = 1000 * SEC; /* nothing is to be dropped */
		run(l, 2 * SEC);
		c[1].stall = 10 * SEC;
		run(l, 10 * SEC);
		show(sched_turns.name, c, 2);
		check_waits(l, &c[1], 500 * MSEC);
		assert_true(share(c, 2, 0) > 0.85);
		loop_free(l);
	}
}

/* C's client has had NS more than it was due, and then runs beside the others: no read of it waits for longer than MOST. */
static void check_promise(struct client *c, unsigned int n, const struct sched_shares *shares,
			  uint64_t most)
{
	struct loop *l = loop_new(sched_turns.name, c, n);

	l->q->limits.prefetch_max_age = 1000 * SEC;
	if (shares)
		assert_int_equal(sched_set_shares(l->q, shares, l->disk.now), 0);
	run(l, 2 * SEC);
	flow_charge(l->q, flow_get(l->q, &c[1].id), 100 * SEC);
	run(l, 10 * SEC);
	show("ahead", c, n);
	check_waits(l, &c[1], most);
	loop_free(l);
}

/* Chunks are queued, but their turn does not come: the client's own are as far ahead, others' have next to no weight. */
static void test_chunks_without_turns_keep_nobody_from_a_promise(void **state)
{
	static const struct sched_shares light = {.n_rules = 2, .rules = {{100}, {1}}};
	struct client own[] = {{{.client = 1}, RANDOM, 1000},
			       {{.client = 2}, RANDOM, 1},
			       {{.client = 2}, STREAM, 1}};
	struct client other[] = {{{.client = 1}, RANDOM, 1000},
				 {{.client = 2}, RANDOM, 1},
				 {{.client = 3, .rule = 1}, STREAM, 1}};

	check_promise(own, 3, NULL, 500 * MSEC);
	check_promise(other, 3, &light, 500 * MSEC);
}

/* A few are more than one: all together they have what late reads may, and wait as long as that takes. */
static void test_promises_to_who_has_a_few(void **state)
{
	struct client six[] = {{{.client = 1}, RANDOM, 1000}, {{.client = 2}, RANDOM, 6}};

	check_promise(six, 2, NULL, 3 * SEC);
}

static struct sched_req read_at(uint64_t client, uint64_t file, uint64_t offset)
{
	return (struct sched_req){.flow = {.client = client},
				  .class = SCHED_DEMAND,
				  .file = file,
				  .offset = offset,
				  .block = file * 64 * MIB + offset,
				  .len = 8 * KIB};
}

static struct sched_req chunk_of(uint64_t client, uint64_t file)
{
	struct sched_req r = read_at(client, file, 0);

	r.class = SCHED_PREFETCH;
	r.owner = file;
	r.len = 4 * MIB;
	return r;
}

/* A queue with a flood of client 1, beside whom client 2 is far ahead. */
static struct sched_queue *queue_beside_flood(struct sched_req *flood, int n)
{
	static struct sched_limits lim;
	struct sched_queue *q;

	lim = default_limits();
	lim.prefetch_max_age = 1000 * SEC;
	q = queue_new(&sched_turns, &lim);
	learn_disk(&q->cost);
	for (int i = 0; i < n; i++) {
		flood[i] = read_at(1, 20 + (uint64_t)i, 0);
		assert_int_equal(sched_submit(q, &flood[i], SEC), SCHED_ADDED);
	}
	flow_charge(q, flow_get(q, &(struct flow_id){.client = 2}), 100 * SEC);
	return q;
}

/* Serves 5 ms each, and asks again for what client 1 had, until one of client 2 is handed out. */
static struct sched_req *first_of_two(struct sched_queue *q, uint64_t *now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	for (;;) {
		struct sched_req *r = sched_next(q, *now);

		assert_non_null(r);
		if (r->flow.client == 2)
			return r;
		*now += 5 * MSEC;
		sched_done(q, r, *now, &woken);
		*r = read_at(1, r->file, (r->offset + 8 * KIB) % MIB);
		assert_int_equal(sched_submit(q, r, *now), SCHED_ADDED);
	}
}

/* Of a client's chunks the one goes that somebody has waited for, and before Max_Wait is over. */
static void test_what_is_late_goes_itself(void **state)
{
	struct sched_req flood[40], chunk[4], r = read_at(2, 3, 0);
	struct sched_queue *q = queue_beside_flood(flood, 40);
	uint64_t now = SEC;

	for (uint64_t i = 0; i < 4; i++) {
		chunk[i] = chunk_of(2, 1 + i);
		assert_int_equal(sched_submit(q, &chunk[i], now), SCHED_ADDED);
	}
	assert_int_equal(sched_submit(q, &r, now), SCHED_WAITS);
	assert_ptr_equal(first_of_two(q, &now), &chunk[2]);
	assert_true(now - SEC < q->limits.cost.max_wait);
	queue_free(q);
}

/* Only that one: who is alone afterwards is served in the policy's order, as ever. */
static void test_after_what_was_late_the_policy_chooses(void **state)
{
	static const uint64_t places[] = {40, 10, 30, 20, 50}, order[] = {40, 50, 10, 20, 30};
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req flood, r[5];
	struct sched_queue *q = queue_beside_flood(&flood, 1);
	uint64_t now = SEC;

	assert_ptr_equal(sched_next(q, now), &flood);
	for (int i = 0; i < 5; i++) {
		r[i] = read_at(2, 1, places[i] * MIB);
		assert_int_equal(sched_submit(q, &r[i], now), SCHED_ADDED);
	}
	now += q->limits.cost.max_wait * 7 / 8;
	sched_done(q, &flood, now, &woken);
	assert_ptr_equal(sched_next(q, now), &r[0]);
	sched_done(q, &r[0], ++now, &woken);
	for (int i = 1; i < 5; i++) {
		struct sched_req *next = sched_next(q, now);

		assert_int_equal(next->offset, order[i] * MIB);
		sched_done(q, next, ++now, &woken);
	}
	queue_free(q);
}

/* Nor does one of these that takes seconds leave those after it waiting for many times as long. */
static void test_a_late_read_that_hangs_is_paid_for_but_once(void **state)
{
	struct client c[] = {{{.client = 1}, RANDOM, 1000}, {{.client = 2}, RANDOM, 1}};
	struct loop *l = loop_new(sched_turns.name, c, 2);

	run(l, 2 * SEC);
	for (int i = 0; i < 3; i++) {
		c[1].stall = 10 * SEC;
		run(l, 10 * SEC);
		check_waits(l, &c[1], 3 * SEC);
	}
	loop_free(l);
}

/* What is promised to a client goes round its exports. */
static void test_random_readers_of_one_client_on_many_exports(void **state)
{
	struct client c[9] = {[8] = {{.client = 2}, RANDOM, 1}};
	struct loop *l;

	for (unsigned int i = 0; i < 8; i++)
		c[i] = (struct client){
			{.client = 1, .export_id = (uint16_t)i}, i % 2 ? STREAM : RANDOM, 2};
	l = loop_of(&sched_turns, c, 9);
	for (unsigned int i = 0; i < 9; i++)
		check_waits(l, &c[i], 2 * SEC);
	loop_free(l);
}

/* An export with only a floor weighs what its clients do, also at the moment when none has a read queued. */
static void test_an_export_weighs_as_much_as_its_clients(void **state)
{
	for (uint32_t weight = 10; weight <= 1000; weight *= 100) {
		struct sched_shares s = {.n_rules = 1,
					 .rules = {{.weight = weight}},
					 .n_exports = 1,
					 .exports = {{7, {.floor = {.iops = 1}}}}};
		struct client c[] = {{{.client = 1, .export_id = 7}, RANDOM, 1},
				     {{.client = 2}, RANDOM, 1}};
		struct loop *l = loop_new("turns", c, 2);

		assert_int_equal(sched_set_shares(l->q, &s, l->disk.now), 0);
		run(l, 20 * SEC);
		show("an export with a floor, and a client", c, 2);
		assert_true(share(c, 2, 0) > 0.45 && share(c, 2, 0) < 0.55);
		loop_free(l);
	}
}

/* The disk waited for a read beside others' reads, and these are gone: nobody has to look again. */
static void test_nobody_looks_again_when_no_reads_are_there(void **state)
{
	struct client c[] = {{{.client = 1}, RANDOM, 1}};
	struct loop *l = loop_new("turns", c, 1);

	l->q->flows.visit.flow = l->q->flows.common;
	l->q->flows.visit.wait_until = l->disk.now + MSEC;
	assert_true(sched_hold_until(l->q, l->disk.now + 2 * MSEC) == UINT64_MAX);
	loop_free(l);
}

/* Little weight beside much: a share of nearly nothing, but a read now and then. */
static void test_nobody_is_kept_from_the_disk_for_long(void **state)
{
	static const struct sched_shares s = {.n_rules = 2, .rules = {{1}, {10000}}};

	for (unsigned int p = 0; sched_policy_nth(p); p++)
		for (unsigned int streams = 0; streams < 2; streams++) {
			struct client c[] = {{{.client = 1}, RANDOM, 1},
					     {{.client = 2, .rule = 1}, RANDOM, 16},
					     {{.client = 3, .rule = 1}, STREAM, 2 * streams}};
			struct loop *l = loop_new(sched_policy_nth(p)->name, c, 2 + streams);

			assert_int_equal(sched_set_shares(l->q, &s, l->disk.now), 0);
			run(l, 40 * SEC);
			show(sched_policy_nth(p)->name, c, 2 + streams);
			check_waits(l, &c[0], 2500 * MSEC);
			assert_true(streams || share(c, 2, 0) < 0.06);
			loop_free(l);
		}
}

/* Within a client, one export's COMMITs and another one's many reads: neither keeps the others away. */
static void test_commits_and_reads_of_one_client_on_two_exports(void **state)
{
	for (unsigned int p = 0; sched_policy_nth(p); p++) {
		struct client c[] = {{{.client = 1, .export_id = 1}, WRITER, 1},
				     {{.client = 1, .export_id = 1}, STREAM, 2},
				     {{.client = 1, .export_id = 2}, RANDOM, 32},
				     {{.client = 2}, STREAM, 2}};
		struct loop *l = loop_of(sched_policy_nth(p), c, 4);

		check_waits(l, &c[0], 2500 * MSEC);
		check_waits(l, &c[1], 6 * SEC);
		for (unsigned int i = 0; i < 3; i++)
			assert_true(share(c, 4, i) > 0.05);
		assert_true(share(c, 4, 3) > 0.45 && share(c, 4, 3) < 0.55);
		loop_free(l);
	}
}

/* COMMITs on several exports, one of which has reads too: these are not held against its COMMITs. */
static void test_commits_of_one_client_on_several_exports(void **state)
{
	struct client c[] = {{{.client = 1, .export_id = 1}, WRITER, 1},
			     {{.client = 1, .export_id = 1}, STREAM, 2},
			     {{.client = 1, .export_id = 2}, WRITER, 1},
			     {{.client = 1, .export_id = 3}, STREAM, 2},
			     {{.client = 2, .export_id = 1}, STREAM, 2}};

	for (unsigned int p = 0; sched_policy_nth(p); p++)
		for (unsigned int n = 4; n <= 5; n++) { /* alone, and beside another */
			struct loop *l = loop_of(sched_policy_nth(p), c, n);

			for (unsigned int i = 0; i < n; i++)
				check_waits(l, &c[i], 10 * SEC); /* prefetches of a scan */
			loop_free(l);
		}
}

static struct sched_req demand(uint64_t client, uint16_t export_id, uint64_t file)
{
	return (struct sched_req){.flow = {.client = client, .export_id = export_id},
				  .class = SCHED_DEMAND,
				  .file = file,
				  .len = 8 * KIB,
				  .block = file * 64 * MIB};
}

static void done(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(q, r, now, &woken);
	assert_true(TAILQ_EMPTY(&woken));
}

/* One client may have half of the queue, over however many exports. */
static void test_one_client_has_no_more_by_more_exports(void **state)
{
	static struct sched_req r[64];
	struct sched_limits lim = default_limits();
	struct sched_queue *q;
	unsigned int had = 0;

	lim.queue_max = 64;
	q = queue_new(&sched_turns, &lim);
	for (unsigned int i = 0; i < 64; i++) {
		r[i] = demand(1, (uint16_t)i, i + 1);
		had += sched_submit(q, &r[i], SEC) == SCHED_ADDED;
	}
	assert_int_equal(had, 32);
	assert_null(sched_check(q));
	queue_free(q);
}

/* Those that have been here for longest hang; of all others no more are remembered than shall be. */
static void test_flows_are_forgotten_behind_some_that_hang(void **state)
{
	static struct sched_req hung[32];
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);

	for (unsigned int i = 0; i < 32; i++) {
		hung[i] = demand(1 + i, 0, i + 1);
		sched_submit(q, &hung[i], SEC);
		assert_ptr_equal(sched_next(q, SEC), &hung[i]);
	}
	for (unsigned int i = 0; i < 3 * FLOWS_IDLE_MAX; i++) {
		struct sched_req r = demand(1000 + i, 0, 1000);

		sched_submit(q, &r, 2 * SEC + i);
		assert_ptr_equal(sched_next(q, 2 * SEC + i), &r);
		done(q, &r, 2 * SEC + i);
	}
	assert_true(q->flows.n <= FLOWS_IDLE_MAX + 32);
	for (unsigned int i = 0; i < 32; i++)
		done(q, &hung[i], 3 * SEC);
	queue_free(q);
}

static struct sched_req chunk(uint64_t client, uint64_t stream, uint64_t n)
{
	struct sched_req r = demand(client, 0, stream);

	r.class = SCHED_PREFETCH;
	r.owner = stream;
	r.len = 4 * MIB;
	r.offset = n * r.len;
	r.block += r.offset;
	return r;
}

/* Client 2 waits for a chunk of a stream that has had much as client 1's: its own streams do not go first. */
static void test_a_chunk_taken_over_is_level_with_those_there(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);
	struct sched_req one, other = chunk(1, 3, 0), own[2], waits;
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	uint64_t now = SEC;
	unsigned int before = 0;

	for (unsigned int n = 0; n < 100; n++) {
		one = chunk(1, 1, n);
		sched_submit(q, &one, now);
		assert_ptr_equal(sched_next(q, now), &one);
		done(q, &one, now += 10 * MSEC);
	}
	sched_submit(q, &other, now);
	one = chunk(1, 1, 100);
	sched_submit(q, &one, now);
	for (unsigned int n = 0; n < 2; n++) {
		own[n] = chunk(2, 2, n);
		sched_submit(q, &own[n], now);
	}
	waits = demand(2, 0, 1);
	waits.offset = one.offset;
	assert_int_equal(sched_submit(q, &waits, now), SCHED_WAITS);
	assert_int_equal(one.in->id.client, 2);
	while (one.state == REQ_QUEUED && before < 50) {
		struct sched_req *r = sched_next(q, now);

		assert_non_null(r);
		sched_done(q, r, now += 10 * MSEC, &woken);
		if (r == &own[0] || r == &own[1]) {
			*r = chunk(2, 2, ++before + 2);
			sched_submit(q, r, now);
		}
	}
	assert_true(before <= 4);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_writer_leaves_its_own_client_its_reads),
		cmocka_unit_test(test_random_reads_beside_commits_of_the_same_client),
		cmocka_unit_test(test_who_has_had_much_has_a_read_now_and_then),
		cmocka_unit_test(test_chunks_without_turns_keep_nobody_from_a_promise),
		cmocka_unit_test(test_promises_to_who_has_a_few),
		cmocka_unit_test(test_what_is_late_goes_itself),
		cmocka_unit_test(test_after_what_was_late_the_policy_chooses),
		cmocka_unit_test(test_a_late_read_that_hangs_is_paid_for_but_once),
		cmocka_unit_test(test_random_readers_of_one_client_on_many_exports),
		cmocka_unit_test(test_commits_and_reads_of_one_client_on_two_exports),
		cmocka_unit_test(test_commits_of_one_client_on_several_exports),
		cmocka_unit_test(test_an_export_weighs_as_much_as_its_clients),
		cmocka_unit_test(test_nobody_is_kept_from_the_disk_for_long),
		cmocka_unit_test(test_one_client_has_no_more_by_more_exports),
		cmocka_unit_test(test_flows_are_forgotten_behind_some_that_hang),
		cmocka_unit_test(test_a_chunk_taken_over_is_level_with_those_there),
		cmocka_unit_test(test_nobody_looks_again_when_no_reads_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
