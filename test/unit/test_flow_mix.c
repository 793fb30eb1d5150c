/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients that do several things at once: each of these goes on, whatever the others of the same client
 * and those of others take of the disk.
 */
#include "client_loop.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_writer_leaves_its_own_client_its_reads),
		cmocka_unit_test(test_random_reads_beside_commits_of_the_same_client),
		cmocka_unit_test(test_random_readers_of_one_client_on_many_exports),
		cmocka_unit_test(test_an_export_weighs_as_much_as_its_clients),
		cmocka_unit_test(test_nobody_is_kept_from_the_disk_for_long),
		cmocka_unit_test(test_nobody_looks_again_when_no_reads_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
