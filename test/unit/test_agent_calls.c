/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Calls that may hang: their results, what is dropped, and how many may be stuck; and the lock that
 * no hanging child keeps. Where a child must hang it reads from a pipe that nobody writes to.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async_call.h"
#include "mount_calls.h"
#include "run_lock.h"
#include "wakeup.h"

static struct wakeup wakeup;

static struct async_pool pool;

static void twice(const void *arg, void *result)
{
	*(int *)result = 2 * *(const int *)arg;
}

static void hang(const void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (;;)
		pause();
}

static bool start(struct async_call *c, async_run run, const int *arg)
{
	return async_call_start(c, &pool, 1, run, arg, arg ? sizeof(*arg) : 0);
}

/* Waits for the child. False: it had no result. */
static bool returns(struct async_call *c, int *result)
{
	while (!async_call_done(c, result, sizeof(*result))) {
		if (!c->worker)
			return false;
		wakeup_wait(&wakeup, wakeup_now() + 10);
	}
	return true;
}

static unsigned int children(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++)
		n += pool.workers[i].child != 0;
	return n;
}

static void forget_killed(void)
{
	for (async_pool_reap(&pool); async_pool_stuck(&pool); async_pool_reap(&pool))
		wakeup_wait(&wakeup, wakeup_now() + 10);
}

static void test_a_call_returns(void **state)
{
	struct async_call c = {0};
	int arg = 21, result = 0;

	assert_false(async_call_done(&c, &result, sizeof(result)));
	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 42);
	assert_false(async_call_done(&c, &result, sizeof(result))); /* once */
	assert_true(start(&c, twice, &result));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 84);
}

/* A process is made once, not for each call. */
static void test_children_are_used_again(void **state)
{
	struct async_call c = {0};
	int arg = 1, result = 0;

	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
	for (unsigned int i = 0; i < 100; i++) {
		const struct async_worker *w;

		assert_true(start(&c, twice, &arg));
		w = c.worker;
		assert_true(returns(&c, &result));
		assert_true(w->child != 0 && w->state == ASYNC_IDLE);
	}
	assert_int_equal(children(), 1);
}

static void test_one_at_a_time(void **state)
{
	struct async_call c = {0};
	int result = 7;

	assert_true(start(&c, hang, NULL));
	assert_false(start(&c, hang, NULL));
	assert_false(async_call_done(&c, &result, sizeof(result)));
	assert_true(async_call_drop(&c, &pool));
	assert_null(c.worker);
}

static void test_a_dropped_call_makes_room(void **state)
{
	struct async_call c = {0};
	int arg = 4, result = 0;

	assert_true(start(&c, hang, NULL));
	assert_true(async_call_drop(&c, &pool));
	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 8);
	forget_killed();
}

static void test_a_killed_child_has_no_result(void **state)
{
	struct async_call c = {0};
	int result = 7;

	assert_true(start(&c, hang, NULL));
	kill(c.worker->child, SIGKILL);
	assert_false(returns(&c, &result));
	assert_int_equal(result, 7);
}

/* Somebody has killed one that was idle: the next call has no result, the one after it has. */
static void test_an_idle_child_is_killed(void **state)
{
	struct async_call c = {0};
	int arg = 3, result = 0;

	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
	async_pool_end(&pool);
	assert_int_equal(children(), 0);
	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
	kill(pool.workers[0].child, SIGKILL);
	assert_true(start(&c, twice, &arg));
	returns(&c, &result);
	assert_null(c.worker);
	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
}

/* One server hangs: others are still asked, and the next call to it waits. */
static void test_a_group_leaves_room_for_others(void **state)
{
	struct async_call hung[ASYNC_GROUP_MAX] = {0}, c = {0};
	int arg = 5, result = 0;

	for (unsigned int i = 0; i < ASYNC_GROUP_MAX; i++)
		assert_true(start(&hung[i], hang, NULL));
	assert_false(start(&c, twice, &arg));
	assert_true(async_call_start(&c, &pool, 2, twice, &arg, sizeof(arg)));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 10);
	assert_true(async_call_drop(&hung[0], &pool));
	assert_true(start(&c, twice, &arg));
	assert_true(returns(&c, &result));
	for (unsigned int i = 1; i < ASYNC_GROUP_MAX; i++)
		assert_true(async_call_drop(&hung[i], &pool));
	forget_killed();
}

/* Many at once, then few are kept. */
static void test_idle_children_end(void **state)
{
	struct async_call calls[2 * ASYNC_IDLE_MAX] = {0};
	int arg = 5, result = 0;

	for (uint32_t i = 0; i < 2 * ASYNC_IDLE_MAX; i++)
		assert_true(async_call_start(&calls[i], &pool, i, hang, NULL, 0));
	assert_true(children() >= 2 * ASYNC_IDLE_MAX);
	for (uint32_t i = 0; i < 2 * ASYNC_IDLE_MAX; i++)
		while (!async_call_drop(&calls[i], &pool))
			sched_yield(); /* those killed before have not all ended yet */
	forget_killed();
	for (uint32_t i = 0; i < 2 * ASYNC_IDLE_MAX; i++)
		assert_true(async_call_start(&calls[i], &pool, i, twice, &arg, sizeof(arg)));
	assert_true(children() >= 2 * ASYNC_IDLE_MAX);
	for (uint32_t i = 0; i < 2 * ASYNC_IDLE_MAX; i++)
		assert_true(returns(&calls[i], &result));
	for (unsigned int i = 0; i < ASYNC_IDLE_MAX; i++)
		async_pool_reap(&pool);
	assert_in_range(children(), 1, ASYNC_IDLE_MAX);
	async_pool_end(&pool);
	assert_int_equal(children(), 0);
}

/* A child of ours that lives takes each place: what the table holds when none of them ends. */
static void test_so_many_may_be_stuck(void **state)
{
	struct async_call lasting = {0}, c = {0};
	struct async_pool full = {0};

	assert_true(start(&lasting, hang, NULL));
	for (unsigned int i = 0; i < ASYNC_STUCK_MAX; i++) {
		full.workers[i] = *lasting.worker;
		full.workers[i].state = ASYNC_STUCK;
	}
	assert_int_equal(async_pool_stuck(&full), ASYNC_STUCK_MAX);
	assert_true(async_call_start(&c, &full, 1, hang, NULL, 0));
	if (!async_call_drop(&c, &full)) { /* else it had ended already: no place needed */
		assert_non_null(c.worker);
		assert_int_equal(async_pool_stuck(&full), ASYNC_STUCK_MAX);
		while (!async_call_drop(&c, &full))
			wakeup_wait(&wakeup, wakeup_now() + 0.01);
	}
	assert_true(async_call_drop(&lasting, &pool));
	forget_killed();
}

static unsigned int of_state(const struct async_pool *p, int state)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++)
		n += p->workers[i].child && (int)p->workers[i].state == state;
	return n;
}

/* Its owner goes while so many are stuck: its child is not lost, and its group has its places again. */
static void test_a_call_is_left(void **state)
{
	struct async_call lasting = {0}, left[ASYNC_GROUP_MAX] = {0}, c = {0};
	struct async_pool full = {0};
	int arg = 5, result = 0;

	assert_true(start(&lasting, hang, NULL));
	for (unsigned int i = 0; i < ASYNC_STUCK_MAX; i++) {
		full.workers[i] = *lasting.worker;
		full.workers[i].state = ASYNC_STUCK;
	}
	for (unsigned int i = 0; i < ASYNC_GROUP_MAX; i++)
		assert_true(async_call_start(&left[i], &full, 1, hang, NULL, 0));
	for (unsigned int i = 0; i < ASYNC_GROUP_MAX; i++) {
		async_call_leave(&left[i], &full);
		assert_null(left[i].worker);
	}
	assert_int_equal(of_state(&full, ASYNC_BUSY), 0);
	assert_int_equal(async_pool_stuck(&full), ASYNC_STUCK_MAX);
	for (async_pool_reap(&full); of_state(&full, ASYNC_LEFT); async_pool_reap(&full))
		wakeup_wait(&wakeup, wakeup_now() + 0.01);
	assert_true(async_call_start(&c, &full, 1, twice, &arg, sizeof(arg)));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 10);
	async_pool_end(&full);
	assert_true(async_call_drop(&lasting, &pool));
	forget_killed();
}

/* Where there is a place among the stuck ones it takes that, and its group has room at once. */
static void test_what_is_left_becomes_stuck(void **state)
{
	struct async_call lasting = {0};
	struct async_pool one = {0};

	assert_true(start(&lasting, hang, NULL));
	one.workers[0] = *lasting.worker;
	one.workers[0].state = ASYNC_LEFT;
	async_pool_reap(&one);
	assert_int_equal(of_state(&one, ASYNC_STUCK), 1);
	assert_true(async_call_drop(&lasting, &pool));
	forget_killed();
}

/* Calls of GROUP that hang, as many as there can be; those that may be are stuck. Returns how many. */
static unsigned int hang_all(struct async_pool *p, uint32_t group)
{
	unsigned int n = 0;

	for (;;) {
		struct async_call c = {0};

		if (!async_call_start(&c, p, group, hang, NULL, 0))
			return n;
		n++;
		if (async_pool_stuck(p) < ASYNC_STUCK_MAX)
			c.worker->state = ASYNC_STUCK;
	}
}

static void kill_all(struct async_pool *p)
{
	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++)
		if (p->workers[i].child) {
			kill(p->workers[i].child, SIGKILL);
			p->workers[i].state = ASYNC_STUCK;
		}
	for (async_pool_reap(p); async_pool_stuck(p); async_pool_reap(p))
		wakeup_wait(&wakeup, wakeup_now() + 0.01);
}

/* However many calls to servers hang, others are asked that have none under way. */
static void test_servers_that_hang_leave_room_for_others(void **state)
{
	struct async_pool full = {0};
	struct async_call c[2] = {0};
	int arg = 5, result = 0;
	unsigned int n = 0;

	for (uint32_t group = 1; group <= 6; group++)
		n += hang_all(&full, group);
	assert_in_range(n, 6, ASYNC_WORKERS_MAX - 1);
	for (uint32_t group = 1; group <= 6; group++)
		assert_true(async_pool_crowded(&full, group));
	assert_false(async_pool_crowded(&full, 7));
	for (uint32_t i = 0; i < 2; i++)
		assert_true(async_call_start(&c[i], &full, 7 + i, twice, &arg, sizeof(arg)));
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(returns(&c[i], &result));
		assert_int_equal(result, 10);
	}
	kill_all(&full);
	async_pool_end(&full);
}

static int pushes(const char *path, const char *device)
{
	const struct mount_place at = {.root = "", .path = path, .server = 1, .device = device};
	struct mount_calls c = {0};
	int error = -1;

	assert_true(mount_calls_push(&c, &at, &pool));
	while (!mount_calls_pushed(&c, &error))
		wakeup_wait(&wakeup, wakeup_now() + 10);
	return error;
}

/* It was unmounted just now: what stands at its path is another file system, which is not synced. */
static void test_only_the_mount_is_pushed(void **state)
{
	char device[MOUNT_DEVICE];
	struct stat st;

	assert_int_equal(stat("/proc", &st), 0);
	snprintf(device, sizeof(device), "%u:%u", major(st.st_dev), minor(st.st_dev));
	assert_int_equal(pushes("/proc", device), 0);
	assert_int_equal(pushes("/proc", "0:4095"), ENODEV);
	assert_int_equal(pushes("/proc", NULL), 0);
	assert_int_equal(pushes("/nothing-there", device), ENOENT);
}

/* ---- the lock ---------------------------------------------------------------------------- */

static char root[] = "/tmp/ra-lock-XXXXXX";

/* A process that takes the lock, tells, and lives until it is killed. */
static pid_t another_agent(int *told)
{
	int pipes[2];
	pid_t pid, holder;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		char answer = run_lock_take(root, 0, &holder) == 0 ? 'y' : 'n';

		if (write(pipes[1], &answer, 1) == 1)
			for (;;)
				pause();
		_exit(EXIT_FAILURE);
	}
	close(pipes[1]);
	*told = pipes[0];
	return pid;
}

static void test_the_lock_tells_who_has_it(void **state)
{
	pid_t holder = -2, pid;
	char answer = 0, name[64], wanted[64];
	int told;

	assert_int_equal(run_lock_holder(root, &holder), 0);
	assert_int_equal(holder, 0);
	pid = another_agent(&told);
	assert_true(read(told, &answer, 1) == 1 && answer == 'y');
	close(told);
	assert_int_equal(run_lock_holder(root, &holder), 0);
	assert_int_equal(holder, pid);
	holder = 0;
	assert_int_equal(run_lock_take(root, 0.01, &holder), EWOULDBLOCK);
	assert_int_equal(holder, pid);
	snprintf(wanted, sizeof(wanted), "process %d (test_agent_call)", (int)pid);
	assert_string_equal(run_lock_name(holder, name, sizeof(name)), wanted);
	kill(pid, SIGKILL);
	assert_int_equal(run_lock_take(root, 10, &holder), 0); /* its end gives it up */
	waitpid(pid, NULL, 0);
}

/* We have the lock, from the test above. */
static void test_a_child_does_not_keep_the_lock(void **state)
{
	struct async_call c = {0};
	pid_t holder, pid = fork();
	char wanted = 'n';
	int told;

	if (pid == 0) { /* nor do we: a lock of fcntl(2) is not inherited */
		run_lock_holder(root, &holder);
		_exit(holder == getppid() ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	waitpid(pid, &told, 0);
	assert_true(WIFEXITED(told) && WEXITSTATUS(told) == EXIT_SUCCESS);
	assert_true(start(&c, hang, NULL));
	assert_int_equal(run_lock_holder(root, &holder), 0); /* closes it: ours is given up */
	pid = another_agent(&told);
	assert_true(read(told, &wanted, 1) == 1 && wanted == 'y');
	close(told);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(async_call_drop(&c, &pool));
}

static int begin(void **state)
{
	char path[64];

	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/run", root);
	return mkdir(path, 0700) || wakeup_init(&wakeup);
}

static int end(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%s", root, RUN_LOCK);
	unlink(path);
	snprintf(path, sizeof(path), "%s/run", root);
	rmdir(path);
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_returns),
		cmocka_unit_test(test_children_are_used_again),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_a_dropped_call_makes_room),
		cmocka_unit_test(test_a_killed_child_has_no_result),
		cmocka_unit_test(test_an_idle_child_is_killed),
		cmocka_unit_test(test_a_group_leaves_room_for_others),
		cmocka_unit_test(test_idle_children_end),
		cmocka_unit_test(test_so_many_may_be_stuck),
		cmocka_unit_test(test_a_call_is_left),
		cmocka_unit_test(test_what_is_left_becomes_stuck),
		cmocka_unit_test(test_servers_that_hang_leave_room_for_others),
		cmocka_unit_test(test_only_the_mount_is_pushed),
		cmocka_unit_test(test_the_lock_tells_who_has_it),
		cmocka_unit_test(test_a_child_does_not_keep_the_lock),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
