/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ceilings with threads: whoever is held is looked for again when its time has come, when shares change,
 * and at the end. Nothing here would ever finish if nobody looked.
 */
#include <pthread.h>
#include <time.h>

#include "common/clock.h"
#include "disk.h"
#include "sched/dispatcher.h"

#define MANY 50

static struct dispatcher dispatcher;
static struct sched_req reqs[MANY];
static int finished;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void execute(struct dispatcher *d, struct sched_req *r)
{
}

static void count(void)
{
	pthread_mutex_lock(&lock);
	finished++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static void complete(struct sched_req *r)
{
	count();
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	count();
}

static void wait_until_finished(int n)
{
	pthread_mutex_lock(&lock);
	while (finished < n)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static const struct dispatcher_ops ops = {.now = clock_now};
static const struct sched_req_ops req_ops = {
	.execute = execute, .complete = complete, .finish = finish};

/* Of client 1. */
static void set_limit(struct share_limit ceiling)
{
	struct sched_shares *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->n_rules = 2;
	s->rules[0].weight = s->rules[1].weight = SHARE_WEIGHT_DEFAULT;
	s->rules[1].ceiling = ceiling;
	assert_int_equal(dispatcher_set_shares(&dispatcher, s), 0);
	free(s);
}

/* At most IOPS requests a second for client 1; 0: as many as it likes. */
static void set_ceiling(uint32_t iops)
{
	set_limit((struct share_limit){.iops = iops});
}

static void start(uint32_t depth, uint32_t iops)
{
	struct sched_limits limits = default_limits();

	finished = 0;
	assert_int_equal(dispatcher_init(&dispatcher, &ops, depth, &sched_turns, &limits), 0);
	set_ceiling(iops);
}

static void submit(int n)
{
	struct sched_req *r = &reqs[n];

	*r = (struct sched_req){.ops = &req_ops,
				.class = n % 5 == 4 ? SCHED_WRITEBACK : SCHED_DEMAND,
				.wanted = true,
				.file = (uint64_t)n,
				.block = (uint64_t)n * MIB,
				.len = 8 * KIB,
				.flow = {.client = 1, .rule = 1}};
	assert_int_equal(dispatcher_submit(&dispatcher, r), SCHED_ADDED);
}

static void test_one_after_the_other(void **state)
{
	for (uint32_t depth = 1; depth < 4; depth++) {
		start(depth, 2000);
		for (int n = 0; n < MANY; n++) {
			submit(n);
			wait_until_finished(n + 1);
		}
		dispatcher_fini(&dispatcher);
	}
}

static void test_all_at_once(void **state)
{
	for (uint32_t depth = 1; depth < 4; depth++) {
		start(depth, 5000);
		for (int n = 0; n < MANY; n++)
			submit(n);
		wait_until_finished(MANY);
		dispatcher_fini(&dispatcher);
	}
}

/* Two minutes of requests, and the ceiling goes. */
static void test_no_ceiling_any_more(void **state)
{
	struct flow_stats stats[4];
	unsigned int n;

	start(2, 1);
	for (int i = 0; i < MANY; i++)
		submit(i);
	wait_until_finished(1);
	n = dispatcher_flows(&dispatcher, stats, 4);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(stats[i].throttled, stats[i].id.client == 1);
	set_ceiling(0);
	wait_until_finished(MANY);
	dispatcher_fini(&dispatcher);
}

/* Client 1 is held for a minute, and so is its chunk: until a read of client 2 takes that over. */
static void test_a_chunk_that_another_takes_over(void **state)
{
	struct sched_req chunk = {.ops = &req_ops,
				  .class = SCHED_PREFETCH,
				  .file = MANY,
				  .block = MANY * MIB,
				  .len = MIB,
				  .flow = {.client = 1, .rule = 1}};
	struct sched_req read = chunk, spent = chunk;
	uint64_t begun = clock_now();

	start(1, 0);
	set_limit((struct share_limit){.bandwidth = 16 * KIB});
	spent.class = SCHED_DEMAND;
	assert_int_equal(dispatcher_submit(&dispatcher, &spent), SCHED_ADDED);
	wait_until_finished(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* they look, and sleep again */
	read.class = SCHED_DEMAND;
	read.len = 8 * KIB;
	read.flow = (struct flow_id){.client = 2};
	assert_int_equal(dispatcher_submit_or_run(&dispatcher, &read), SCHED_WAITS);
	wait_until_finished(3);
	assert_true(clock_now() - begun < 10 * SEC);
	dispatcher_fini(&dispatcher);
}

static void test_the_end(void **state)
{
	start(2, 1);
	for (int i = 0; i < MANY; i++)
		submit(i);
	dispatcher_fini(&dispatcher);
	assert_int_equal(finished, MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_no_ceiling_any_more),
		cmocka_unit_test(test_a_chunk_that_another_takes_over),
		cmocka_unit_test(test_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
