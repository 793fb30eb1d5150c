/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads that find no room in the queue: who may wait for it, who gets it, and when they are told to come
 * again. The disk is a thread that is held until the test lets it go.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "disk.h"
#include "sched/dispatcher.h"

#define HOURS (3600 * SEC)

static struct dispatcher dispatcher;
static atomic_ulong ticks;
static atomic_int executing, finished;
static atomic_bool disk_goes_on;

static uint64_t tick(void)
{
	return atomic_fetch_add(&ticks, 1000) + 1000;
}

static const struct dispatcher_ops ops = {.now = tick};

static void execute(struct dispatcher *d, struct sched_req *r)
{
	atomic_fetch_add(&executing, 1);
	while (!atomic_load(&disk_goes_on))
		sched_yield();
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	atomic_fetch_add(&finished, 1);
}

static void complete(struct sched_req *r)
{
	atomic_fetch_add(&finished, 1);
}

static const struct sched_req_ops req_ops = {
	.execute = execute, .complete = complete, .finish = finish};

static struct sched_req read_of(uint64_t client, uint64_t file, uint64_t len)
{
	return (struct sched_req){.ops = &req_ops,
				  .class = SCHED_DEMAND,
				  .file = file,
				  .block = file * (1024 * MIB),
				  .len = len,
				  .flow = {.client = client}};
}

static void wait_until_finished(int n)
{
	while (atomic_load(&finished) < n)
		sched_yield();
}

/* The disk holds one read, and so the queue fills. */
static struct sched_req on_disk;

static void start(uint32_t queue_max, uint64_t queue_bytes)
{
	struct sched_limits l = default_limits();

	l.queue_max = queue_max;
	l.queue_bytes = queue_bytes;
	atomic_store(&executing, 0);
	atomic_store(&finished, 0);
	atomic_store(&disk_goes_on, false);
	dispatcher_set_full_threads(4);
	assert_int_equal(dispatcher_init(&dispatcher, &ops, 1, &sched_fifo, &l), 0);
	on_disk = read_of(9, 1, KIB);
	assert_int_equal(dispatcher_submit(&dispatcher, &on_disk), SCHED_ADDED);
	while (!atomic_load(&executing))
		sched_yield();
}

static struct dispatcher_stats stats(void)
{
	struct dispatcher_stats s;

	dispatcher_stats(&dispatcher, &s);
	return s;
}

/* When so many READS are through: what was counted. */
static struct dispatcher_stats end(int reads)
{
	struct dispatcher_stats s;

	atomic_store(&disk_goes_on, true);
	wait_until_finished(reads);
	s = stats();
	dispatcher_fini(&dispatcher);
	return s;
}

/* A server's thread, with a read that was refused. */
struct waiter {
	pthread_t thread;
	struct sched_req r;
	enum sched_verdict verdict;
};

static void *wait_for_room(void *arg)
{
	struct waiter *w = arg;

	w->verdict = dispatcher_wait_room(&dispatcher, &w->r, HOURS);
	return NULL;
}

static void start_waiter(struct waiter *w, uint64_t client, uint64_t file, uint64_t len)
{
	uint32_t before = stats().full_waiting;

	w->r = read_of(client, file, len);
	assert_int_equal(dispatcher_submit(&dispatcher, &w->r), SCHED_FULL);
	pthread_create(&w->thread, NULL, wait_for_room, w);
	while (stats().full_waiting == before)
		sched_yield();
}

static void assert_let_in(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	assert_int_equal(w->verdict, SCHED_ADDED);
}

/* ---- who gets it ------------------------------------------------------------------------- */

static void test_room_goes_to_who_waits(void **state)
{
	struct dispatcher_stats s;
	struct waiter a, b;
	struct sched_req first = read_of(1, 2, KIB);

	start(1, (1024 * MIB));
	assert_int_equal(dispatcher_submit(&dispatcher, &first), SCHED_ADDED);
	start_waiter(&a, 1, 3, KIB);
	start_waiter(&b, 2, 4, KIB);
	assert_int_equal(stats().counted.full_waits, 2);
	atomic_store(&disk_goes_on, true);
	assert_let_in(&a);
	assert_let_in(&b);
	s = end(4);
	assert_int_equal(s.counted.full_waits, 2);
	assert_int_equal(s.counted.full_delays, 0);
	assert_int_equal(s.full_waiting, 0);
}

static void test_nobody_overtakes_a_read_of_its_client_that_waits(void **state)
{
	struct waiter large;
	struct sched_req first = read_of(1, 2, 8 * KIB);
	struct sched_req small = read_of(1, 4, KIB), others = read_of(2, 5, KIB);

	start(16, 10 * KIB);
	assert_int_equal(dispatcher_submit(&dispatcher, &first), SCHED_ADDED);
	start_waiter(&large, 1, 3, 4 * KIB);
	assert_int_equal(dispatcher_submit(&dispatcher, &small), SCHED_FULL);
	assert_int_equal(dispatcher_submit(&dispatcher, &others), SCHED_ADDED);
	atomic_store(&disk_goes_on, true);
	assert_let_in(&large);
	assert_int_equal(end(4).counted.refused, 2);
}

static void test_wider_limits_let_them_in(void **state)
{
	struct sched_limits l = default_limits();
	struct sched_req first = read_of(1, 2, KIB);
	struct waiter w;

	start(1, (1024 * MIB));
	assert_int_equal(dispatcher_submit(&dispatcher, &first), SCHED_ADDED);
	start_waiter(&w, 1, 3, KIB);
	dispatcher_set_limits(&dispatcher, &l);
	assert_let_in(&w);
	end(3);
}

/* ---- who is told to come again ----------------------------------------------------------- */

static void test_one_waits_no_longer_than_it_may(void **state)
{
	struct sched_req first = read_of(1, 2, KIB), next = read_of(1, 3, KIB);

	start(1, (1024 * MIB));
	assert_int_equal(dispatcher_submit(&dispatcher, &first), SCHED_ADDED);
	assert_int_equal(dispatcher_submit(&dispatcher, &next), SCHED_FULL);
	assert_int_equal(dispatcher_wait_room(&dispatcher, &next, 0), SCHED_FULL);
	assert_int_equal(stats().counted.full_waits, 0);
	assert_int_equal(dispatcher_wait_room(&dispatcher, &next, 1), SCHED_FULL);
	assert_int_equal(stats().counted.full_waits, 1);
	assert_int_equal(stats().counted.full_delays, 2);
	assert_int_equal(stats().full_waiting, 0);
	end(2);
}

static void test_threads_are_kept_for_others(void **state)
{
	struct sched_req first = read_of(1, 2, KIB), third = read_of(1, 5, KIB);
	struct waiter a, b, c;

	start(1, (1024 * MIB));
	assert_int_equal(dispatcher_submit(&dispatcher, &first), SCHED_ADDED);
	start_waiter(&a, 1, 3, KIB);
	start_waiter(&b, 1, 4, KIB);
	assert_int_equal(dispatcher_wait_room(&dispatcher, &third, HOURS), SCHED_FULL);
	start_waiter(&c, 2, 6, KIB);
	atomic_store(&disk_goes_on, true);
	assert_let_in(&a);
	assert_let_in(&b);
	assert_let_in(&c);
	assert_int_equal(end(5).counted.full_delays, 1);
}

/* Room came between the refusal and the wait. */
static void test_room_that_is_there_is_not_waited_for(void **state)
{
	struct sched_req first = read_of(1, 2, KIB), next = read_of(1, 3, KIB);

	start(1, (1024 * MIB));
	assert_int_equal(dispatcher_submit(&dispatcher, &first), SCHED_ADDED);
	assert_int_equal(dispatcher_submit(&dispatcher, &next), SCHED_FULL);
	atomic_store(&disk_goes_on, true);
	wait_until_finished(2);
	assert_int_equal(dispatcher_wait_room(&dispatcher, &next, HOURS), SCHED_ADDED);
	end(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_goes_to_who_waits),
		cmocka_unit_test(test_nobody_overtakes_a_read_of_its_client_that_waits),
		cmocka_unit_test(test_wider_limits_let_them_in),
		cmocka_unit_test(test_one_waits_no_longer_than_it_may),
		cmocka_unit_test(test_threads_are_kept_for_others),
		cmocka_unit_test(test_room_that_is_there_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
