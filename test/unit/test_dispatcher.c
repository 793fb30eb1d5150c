/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Threads around the queue: each request completes exactly once, whatever is changed meanwhile. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/log.h"
#include "disk.h"
#include "sched/dispatcher.h"

#define SUBMITTERS 4
#define EACH	   5000
#define ALL	   (SUBMITTERS * EACH)

struct item {
	struct sched_req req; /* first */
	atomic_uint completed, executed;
	bool chunk;
};

static struct item items[ALL];
static struct dispatcher dispatcher;
static atomic_ulong ticks, finished, refused;
static atomic_uint threads_started;
static atomic_bool all_in;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;

static uint64_t tick(void)
{
	return atomic_fetch_add(&ticks, 1000) + 1000;
}

static void count(struct item *i)
{
	atomic_fetch_add(&i->completed, 1);
	if (atomic_fetch_add(&finished, 1) + 1 == ALL) {
		pthread_mutex_lock(&done_lock);
		pthread_cond_broadcast(&done_cond);
		pthread_mutex_unlock(&done_lock);
	}
}

static void execute(struct dispatcher *d, struct sched_req *r)
{
	struct item *i = (struct item *)r;

	if (atomic_fetch_add(&i->executed, 1) == 0 && r->sequence % 20 == 0)
		for (int n = 1; n <= 200; n++) { /* a while, in which it may count as stalled */
			tick();
			if (n % 50 == 0) /* on a busy machine each of these takes milliseconds */
				sched_yield();
		}
	dispatcher_observe(d, r->block, r->io_len, 1000);
	if (r->class != SCHED_PREFETCH || r->dropped)
		return;
	for (uint64_t at = r->offset; at < r->offset + r->len; at += r->len / 4) {
		dispatcher_progress(d, r, at);
		dispatcher_gap(d, r, SEC);
	}
}

static void complete(struct sched_req *r)
{
	count((struct item *)r);
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	count((struct item *)r);
}

static void thread_start(unsigned int n)
{
	atomic_fetch_add(&threads_started, 1);
}

static const struct dispatcher_ops ops = {
	.now = tick,
	.thread_start = thread_start,
};

static const struct sched_req_ops item_ops = {
	.execute = execute,
	.complete = complete,
	.finish = finish,
};

static void submit(struct item *i, uint64_t *seed)
{
	struct sched_req *r = &i->req;
	enum sched_verdict verdict;

	r->ops = &item_ops;
	r->class = random_below(seed, 4) ? SCHED_DEMAND : SCHED_PREFETCH;
	r->file = random_below(seed, 8);
	r->len = r->class == SCHED_DEMAND ? 8 * KIB : 256 * KIB;
	r->offset = random_below(seed, 4 * MIB / r->len) * r->len;
	r->flow.client = 1 + random_below(seed, 3);
	r->block = r->file * 64 * MIB + r->offset;
	verdict = dispatcher_submit(&dispatcher, r);
	if (verdict == SCHED_FULL) {
		atomic_fetch_add(&refused, 1);
		verdict = dispatcher_wait_room(&dispatcher, r, SEC);
	}
	if (verdict == SCHED_RESIDENT || verdict == SCHED_FULL) /* the queue does not have it */
		count(i);
}

static void *submitter(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg, seed = n;

	for (uint64_t i = 0; i < EACH; i++)
		submit(&items[n * EACH + i], &seed);
	return NULL;
}

static void *meddler(void *arg)
{
	struct sched_limits l = default_limits();
	uint64_t seed = 99;

	l.queue_max = 200;
	l.stall_time = 20 * MSEC / 1000;
	for (unsigned int i = 0; !atomic_load(&all_in); i++) {
		dispatcher_set_policy(&dispatcher, sched_policy_nth(i % 4));
		if (random_below(&seed, 20) == 0)
			dispatcher_set_depth(&dispatcher, (uint32_t)random_below(&seed, 5));
		if (random_below(&seed, 20) == 0)
			dispatcher_set_limits(&dispatcher, &l);
	}
	return NULL;
}

static void no_line(enum log_level level, const char *format, va_list args)
{
}

static void reset(void)
{
	memset(items, 0, sizeof(items));
	atomic_store(&finished, 0);
	atomic_store(&refused, 0);
	atomic_store(&all_in, false);
	atomic_store(&threads_started, 0);
}

static void check_once_each(void)
{
	assert_int_equal(finished, ALL);
	for (int i = 0; i < ALL; i++) {
		assert_int_equal(items[i].completed, 1);
		assert_true(items[i].executed <= 1);
	}
	assert_int_equal(dispatcher.queue.queued + dispatcher.queue.running, 0);
}

static void test_each_once_while_everything_changes(void **state)
{
	struct sched_limits l = default_limits();
	pthread_t threads[SUBMITTERS], changer;

	reset();
	l.queue_max = 200;
	l.prefetch_max_age = 2 * MSEC;
	l.stall_time = 20 * MSEC / 1000; /* often: whenever others are quick */
	dispatcher_set_full_threads(2);
	log_set_writer(no_line);
	assert_int_equal(dispatcher_init(&dispatcher, &ops, 2, &sched_turns, &l), 0);
	pthread_create(&changer, NULL, meddler, NULL);
	for (uintptr_t i = 0; i < SUBMITTERS; i++)
		pthread_create(&threads[i], NULL, submitter, (void *)i);
	for (int i = 0; i < SUBMITTERS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&all_in, true);
	pthread_join(changer, NULL);
	/*
	 * not fini: every request must come through by itself, also after the last change of depth
	 */
	pthread_mutex_lock(&done_lock);
	while (atomic_load(&finished) < ALL)
		pthread_cond_wait(&done_cond, &done_lock);
	pthread_mutex_unlock(&done_lock);
	dispatcher_fini(&dispatcher);
	check_once_each();
	assert_int_equal(dispatcher.busy + dispatcher.passed + dispatcher.queue.stalled, 0);
	assert_null(sched_check(&dispatcher.queue));
	log_set_writer(NULL);
}

static void test_fini_drains(void **state)
{
	struct sched_limits l = default_limits();
	uint64_t seed = 4;

	reset();
	l.queue_max = ALL;
	assert_int_equal(dispatcher_init(&dispatcher, &ops, 3, &sched_elevator, &l), 0);
	for (int i = 0; i < ALL; i++)
		submit(&items[i], &seed);
	dispatcher_fini(&dispatcher);
	check_once_each();
	assert_in_range(threads_started, 3, 4); /* and the spare one */
}

/* A worker above the new depth, still busy, must not keep one below it asleep. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static int gate_open, inside;

static void gated_execute(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&gate);
	inside++;
	pthread_cond_broadcast(&gate_cond);
	while (r->owner && !gate_open)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
}

static void gated_finish(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&gate);
	if (r->owner == 2 && dispatcher_submit(d, r + 1) != SCHED_ADDED)
		abort(); /* cmocka's assertions are for the test's own thread */
	inside += 100;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
}

static void await(int n)
{
	while (inside < n)
		pthread_cond_wait(&gate_cond, &gate);
}

static const struct sched_req_ops gated = {
	.execute = gated_execute, .complete = complete, .finish = gated_finish};

static void test_a_smaller_depth_leaves_nobody_asleep(void **state)
{
	struct sched_limits l = default_limits();
	struct sched_req r[2] = {{.ops = &gated, .owner = 1, .file = 1, .len = 1},
				 {.ops = &gated, .file = 3, .len = 1}};

	for (int round = 0; round < 50; round++) {
		gate_open = inside = 0;
		assert_int_equal(dispatcher_init(&dispatcher, &ops, 2, &sched_fifo, &l), 0);
		dispatcher_submit(&dispatcher, &r[0]); /* held by either worker */
		pthread_mutex_lock(&gate);
		await(1);
		pthread_mutex_unlock(&gate);
		dispatcher_set_depth(&dispatcher, 1);
		dispatcher_submit(&dispatcher, &r[1]);
		pthread_mutex_lock(&gate);
		gate_open = 1;
		pthread_cond_broadcast(&gate_cond);
		await(202);
		pthread_mutex_unlock(&gate);
		dispatcher_fini(&dispatcher);
	}
}

/* What the last one submits while the dispatcher stops is served, by whichever worker is left. */
static void test_fini_serves_what_the_last_one_submits(void **state)
{
	struct sched_limits l = default_limits();
	struct sched_req r[2] = {{.ops = &gated, .owner = 2, .len = 1}, {.ops = &gated, .len = 1}};

	for (int round = 0; round < 50; round++) {
		gate_open = inside = 0;
		assert_int_equal(dispatcher_init(&dispatcher, &ops, 2, &sched_fifo, &l), 0);
		dispatcher_submit(&dispatcher, &r[0]);
		pthread_mutex_lock(&gate);
		await(1);
		pthread_mutex_unlock(&gate);
		dispatcher_set_depth(&dispatcher, 1);
		pthread_mutex_lock(&gate);
		gate_open = 1;
		pthread_cond_broadcast(&gate_cond);
		pthread_mutex_unlock(&gate);
		dispatcher_fini(&dispatcher);
		assert_int_equal(inside, 202);
	}
}

static void idle_finish(struct dispatcher *d, struct sched_req *r)
{
}

static const struct sched_req_ops nothing = {.execute = NULL, .finish = idle_finish};

/* Whoever looks at a dispatcher sees what was set, and what is there. */
static void test_looking_and_setting(void **state)
{
	struct sched_limits l = default_limits();
	struct sched_req r = {.ops = &nothing, .len = MIB, .block = MIB};
	struct dispatcher_stats s;

	l.writeback_turn = 7 * MSEC;
	l.writeback_share = 0.3;
	assert_int_equal(dispatcher_init(&dispatcher, &ops, 2, &sched_turns, &l), 0);
	assert_true(dispatcher_limits(&dispatcher).writeback_share == 0.3);
	assert_int_equal(dispatcher_writeback_turn(&dispatcher).slice, 150 * MSEC);
	assert_int_equal(dispatcher_depth(&dispatcher), 2);
	dispatcher_set_writeback_share(&dispatcher, 0.2);
	assert_int_equal(dispatcher_set_policy(&dispatcher, &sched_ncscan), 0);
	assert_int_equal(dispatcher_submit_or_run(&dispatcher, &r), SCHED_RUN);
	assert_int_equal(dispatcher_reads(&dispatcher), 1);
	assert_int_equal(dispatcher_writes(&dispatcher), 0);
	dispatcher_observe(&dispatcher, r.block, r.len, 9 * MSEC);
	dispatcher_observe(&dispatcher, r.block + r.len, r.len, 8 * MSEC);
	dispatcher_stats(&dispatcher, &s);
	assert_ptr_equal(s.policy, &sched_ncscan);
	assert_true(s.writeback_share == 0.2);
	assert_int_equal(s.depth, 2);
	assert_int_equal(s.running, 1);
	assert_int_equal(s.counted.switches, 1);
	assert_int_equal(s.chunk, dispatcher_chunk(&dispatcher));
	assert_int_equal(dispatcher_streams(&dispatcher), 1);
	assert_true(dispatcher_cost(&dispatcher).ns_per_byte > 0);
	writeback_cost_turn(&dispatcher.queue.writeback.cost, 8 * MIB, 60 * MSEC);
	assert_true(dispatcher_writeback_turn(&dispatcher).bytes < UINT64_MAX);
	dispatcher_forget_cost(&dispatcher);
	assert_true(dispatcher_cost(&dispatcher).ns_per_byte == 0);
	assert_int_equal(dispatcher_writeback_turn(&dispatcher).bytes, UINT64_MAX);
	dispatcher_ran(&dispatcher, &r);
	assert_int_equal(dispatcher_reads(&dispatcher), 0);
	dispatcher_fini(&dispatcher);
}

static void shortening_execute(struct dispatcher *d, struct sched_req *r)
{
	if (dispatcher_shorten(d, r, MIB) != MIB)
		abort();
}

/* A COMMIT's wish, share or none: it is not held back for ever. */
static void test_a_wish_wakes_a_worker(void **state)
{
	static const struct sched_req_ops shortening = {shortening_execute, complete, finish};
	struct sched_limits l = default_limits();
	static struct item chunk, write;

	reset();
	l.writeback_idle = 1000 * SEC; /* of a clock that only moves when it is looked at */
	l.writeback_share = 0.5;
	chunk.req = (struct sched_req){
		.ops = &shortening, .class = SCHED_PREFETCH, .file = 1, .len = 4 * MIB};
	write.req = (struct sched_req){
		.ops = &item_ops, .class = SCHED_WRITEBACK, .file = 2, .len = MIB};
	assert_int_equal(dispatcher_init(&dispatcher, &ops, 1, &sched_turns, &l), 0);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk.req), SCHED_ADDED);
	assert_int_equal(dispatcher_submit(&dispatcher, &write.req), SCHED_ADDED);
	dispatcher_want(&dispatcher, &write.req, &write.req.flow);
	while (!atomic_load(&write.executed))
		sched_yield();
	dispatcher_fini(&dispatcher);
	assert_int_equal(chunk.req.len, MIB);
	assert_int_equal(dispatcher.queue.stats.served[SCHED_WRITEBACK], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once_while_everything_changes),
		cmocka_unit_test(test_fini_drains),
		cmocka_unit_test(test_a_smaller_depth_leaves_nobody_asleep),
		cmocka_unit_test(test_fini_serves_what_the_last_one_submits),
		cmocka_unit_test(test_looking_and_setting),
		cmocka_unit_test(test_a_wish_wakes_a_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
