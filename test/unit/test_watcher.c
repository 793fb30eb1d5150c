/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The thread that may be away in a cluster: waited for at the end, or left behind for good. */
#include "disk/watcher.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "common/clock.h"
#include "support.h"

static sem_t looked, answer;
static atomic_int looks, back;
static atomic_bool hangs;

/* A call into a cluster, which answers when the test says so. */
static void look(void)
{
	watcher_leaves();
	atomic_fetch_add(&looks, 1);
	sem_post(&looked);
	if (atomic_load(&hangs))
		sem_wait(&answer);
	watcher_returns();
	atomic_fetch_add(&back, 1);
}

static int setup(void **state)
{
	sem_init(&looked, 0, 0);
	sem_init(&answer, 0, 0);
	looks = back = 0;
	hangs = false;
	return 0;
}

static void test_looks_until_it_is_stopped(void **state)
{
	int n;

	assert_int_equal(watcher_start(look, 1, NULL), 0);
	assert_int_equal(watcher_start(look, 1, NULL), 0);
	sem_wait(&looked);
	sem_wait(&looked);
	assert_true(watcher_stop(UINT64_MAX / 2));
	n = atomic_load(&looks);
	assert_int_equal(atomic_load(&back), n);
	assert_true(watcher_stop(0)); /* again: nothing */
	assert_int_equal(watcher_start(look, 1, NULL), 0);
	sem_wait(&looked);
	assert_true(watcher_stop(UINT64_MAX / 2));
}

static void *answers(void *arg)
{
	atomic_store(&hangs, false);
	sem_post(&answer);
	return arg;
}

static void test_one_that_is_away_is_waited_for(void **state)
{
	pthread_t thread;

	hangs = true;
	assert_int_equal(watcher_start(look, 1, NULL), 0);
	sem_wait(&looked);
	assert_int_equal(pthread_create(&thread, NULL, answers, NULL), 0);
	assert_true(watcher_stop(UINT64_MAX / 2));
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&back), atomic_load(&looks));
}

static void test_calls_of_others_are_not_the_watchers(void **state)
{
	watcher_leaves();
	watcher_returns();
	assert_true(watcher_stop(0));
}

/* The last: what was left behind stays. */
static void test_one_that_was_left_behind_never_comes_back(void **state)
{
	hangs = true;
	assert_int_equal(watcher_start(look, 1, NULL), 0);
	sem_wait(&looked);
	assert_false(watcher_stop(0));
	sem_post(&answer);
	while (sem_getvalue(&answer, &(int){0}) != 0)
		;
	assert_int_equal(watcher_start(look, 1, NULL), 0); /* no second one beside it */
	assert_int_equal(atomic_load(&looks), 1);
	assert_int_equal(atomic_load(&back), 0);
	assert_true(watcher_stop(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_looks_until_it_is_stopped, setup),
		cmocka_unit_test_setup(test_one_that_is_away_is_waited_for, setup),
		cmocka_unit_test_setup(test_calls_of_others_are_not_the_watchers, setup),
		cmocka_unit_test_setup(test_one_that_was_left_behind_never_comes_back, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
