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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async_call.h"
#include "run_lock.h"
#include "wakeup.h"

static struct wakeup wakeup;

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

/* Waits for the child's end. False: it had no result. */
static bool returns(struct async_call *c, void *result)
{
	while (!async_call_done(c, result)) {
		if (!c->child)
			return false;
		wakeup_wait(&wakeup, wakeup_now() + 10);
	}
	return true;
}

static void test_a_call_returns(void **state)
{
	struct async_call c = {0};
	int arg = 21, result = 0;

	assert_false(async_call_done(&c, &result));
	assert_true(async_call_start(&c, twice, &arg, sizeof(result)));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 42);
	assert_false(async_call_done(&c, &result)); /* once */
	assert_true(async_call_start(&c, twice, &result, sizeof(result)));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 84);
}

static void test_one_at_a_time(void **state)
{
	struct async_call c = {0};
	struct async_stuck stuck = {0};
	int result = 7;

	assert_true(async_call_start(&c, hang, NULL, sizeof(result)));
	assert_false(async_call_start(&c, hang, NULL, sizeof(result)));
	assert_false(async_call_done(&c, &result));
	assert_true(async_call_drop(&c, &stuck));
	assert_int_equal(c.child, 0);
}

static void test_a_dropped_call_makes_room(void **state)
{
	struct async_call c = {0};
	struct async_stuck stuck = {0};
	int arg = 4, result = 0;

	assert_true(async_call_start(&c, hang, NULL, sizeof(result)));
	assert_true(async_call_drop(&c, &stuck));
	assert_true(async_call_start(&c, twice, &arg, sizeof(result)));
	assert_true(returns(&c, &result));
	assert_int_equal(result, 8);
	for (async_stuck_reap(&stuck); stuck.count; async_stuck_reap(&stuck))
		wakeup_wait(&wakeup, wakeup_now() + 10); /* for the killed one */
}

static void test_a_killed_child_has_no_result(void **state)
{
	struct async_call c = {0};
	int result = 7;

	assert_true(async_call_start(&c, hang, NULL, sizeof(result)));
	kill(c.child, SIGKILL);
	assert_false(returns(&c, &result));
	assert_int_equal(result, 7);
}

/* A child of ours that lives takes each place: what the table holds when none of them ends. */
static void test_so_many_may_be_stuck(void **state)
{
	struct async_call lasting = {0}, c = {0};
	struct async_stuck stuck = {.count = ASYNC_STUCK_MAX};

	assert_true(async_call_start(&lasting, hang, NULL, 1));
	for (unsigned int i = 0; i < ASYNC_STUCK_MAX; i++)
		stuck.children[i] = lasting.child;
	assert_true(async_call_start(&c, hang, NULL, 1));
	if (!async_call_drop(&c, &stuck)) { /* else it had ended already: no place needed */
		assert_true(c.child != 0);
		assert_int_equal(stuck.count, ASYNC_STUCK_MAX);
	}
	stuck.count = 0;
	assert_true(async_call_drop(&c, &stuck));
	stuck.count = 0;
	assert_true(async_call_drop(&lasting, &stuck));
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
	struct async_stuck stuck = {0};
	pid_t holder, pid = fork();
	char wanted = 'n';
	int told;

	if (pid == 0) { /* nor do we: a lock of fcntl(2) is not inherited */
		run_lock_holder(root, &holder);
		_exit(holder == getppid() ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	waitpid(pid, &told, 0);
	assert_true(WIFEXITED(told) && WEXITSTATUS(told) == EXIT_SUCCESS);
	assert_true(async_call_start(&c, hang, NULL, 1));
	assert_int_equal(run_lock_holder(root, &holder), 0); /* closes it: ours is given up */
	pid = another_agent(&told);
	assert_true(read(told, &wanted, 1) == 1 && wanted == 'y');
	close(told);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(async_call_drop(&c, &stuck));
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
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_a_dropped_call_makes_room),
		cmocka_unit_test(test_a_killed_child_has_no_result),
		cmocka_unit_test(test_so_many_may_be_stuck),
		cmocka_unit_test(test_the_lock_tells_who_has_it),
		cmocka_unit_test(test_a_child_does_not_keep_the_lock),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
