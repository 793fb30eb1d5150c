/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What operators see of a flow: what it has queued, had, and whom it waited for. */
#include "disk.h"

static struct sched_queue *make(void)
{
	struct sched_limits l = default_limits();

	return queue_new(sched_policy_find("turns"), &l);
}

static struct sched_req request(uint64_t client, enum sched_class class, uint64_t file,
				uint64_t offset, uint64_t len)
{
	return (struct sched_req){.flow = {.client = client, .export_id = 7},
				  .class = class,
				  .file = file,
				  .owner = class == SCHED_PREFETCH ? file : 0,
				  .offset = offset,
				  .len = len,
				  .block = file * 1024 * MIB + offset};
}

/* The flow of CLIENT. */
static struct flow_stats figures(struct sched_queue *q, uint64_t client)
{
	struct flow_stats s[4];
	unsigned int n = sched_flows(q, s, 4);

	for (unsigned int i = 0; i < n && i < 4; i++)
		if (s[i].id.client == client)
			return s[i];
	fail_msg("no flow of client %u", (unsigned int)client);
	return s[0];
}

static void test_what_is_queued_joined_and_running(void **state)
{
	struct sched_queue *q = make();
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req chunk = request(1, SCHED_PREFETCH, 1, 0, 4 * MIB);
	struct sched_req in = request(1, SCHED_DEMAND, 1, MIB, 32 * KIB);
	struct sched_req out = request(1, SCHED_DEMAND, 2, 0, 8 * KIB);
	struct flow_stats s;

	sched_submit(q, &chunk, 100);
	assert_int_equal(sched_submit(q, &in, 200), SCHED_WAITS);
	s = figures(q, 1);
	assert_true(s.backlogged);
	assert_int_equal(s.queued[SCHED_PREFETCH], 1);
	assert_int_equal(s.queued[SCHED_DEMAND], 0);
	assert_int_equal(s.joined, 1);
	assert_int_equal(s.held, 32 * KIB);
	assert_ptr_equal(sched_next(q, 300), &chunk);
	sched_submit(q, &out, 400);
	s = figures(q, 1);
	assert_int_equal(s.queued[SCHED_PREFETCH], 0);
	assert_int_equal(s.queued[SCHED_DEMAND], 1);
	assert_int_equal(s.joined, 1);
	assert_int_equal(s.running, 1);
	sched_done(q, &chunk, 500, &woken);
	s = figures(q, 1);
	assert_int_equal(s.joined, 0);
	assert_int_equal(s.running, 0);
	assert_int_equal(s.bytes[SCHED_PREFETCH], 4 * MIB);
	assert_int_equal(s.held, 8 * KIB);
	assert_ptr_equal(sched_next(q, 600), &out);
	sched_done(q, &out, 700, &woken);
	assert_false(figures(q, 1).backlogged);
	queue_free(q);
}

/* A read of client 1 comes while OTHER has the disk, which takes TIME for it and for the read. */
static void wait_behind(struct sched_queue *q, uint64_t other, uint64_t *now, uint64_t time)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req first = request(other, SCHED_DEMAND, other, 0, 8 * KIB);
	struct sched_req r = request(1, SCHED_DEMAND, 1, *now, 8 * KIB);

	sched_submit(q, &first, *now);
	assert_ptr_equal(sched_next(q, *now), &first);
	sched_submit(q, &r, *now);
	sched_done(q, &first, *now + time, &woken);
	assert_ptr_equal(sched_next(q, *now + time), &r);
	sched_done(q, &r, *now + 2 * time, &woken);
	*now += 2 * time + SEC;
}

static void test_whom_it_waited_for_lately(void **state)
{
	struct sched_queue *q = make();
	uint64_t now = SEC;

	for (int i = 0; i < 1000; i++)
		wait_behind(q, 2, &now, 20 * MSEC);
	assert_int_equal(figures(q, 1).behind.client, 2);
	assert_int_equal(figures(q, 1).behind.export_id, 7);
	for (int i = 0; i < 10; i++)
		wait_behind(q, 3, &now, 20 * MSEC);
	assert_int_equal(figures(q, 1).behind.client, 2);
	for (int i = 0; i < 60; i++)
		wait_behind(q, 3, &now, 20 * MSEC);
	assert_int_equal(figures(q, 1).behind.client, 3); /* not 1000 reads later */
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_queued_joined_and_running),
		cmocka_unit_test(test_whom_it_waited_for_lately),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
