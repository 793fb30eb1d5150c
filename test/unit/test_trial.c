/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is tried in a child: it passes, complains, crashes, hangs or babbles, and the host goes on. */
#include "gate/trial.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char why[256];
static int changed;

static bool passes(FILE *says, void *arg)
{
	changed = 1;
	fprintf(says, "ok   all of it\n");
	return true;
}

static bool complains(FILE *says, void *arg)
{
	fprintf(says, "ok   this\nFAIL %s\n     expected 3\n", (const char *)arg);
	return false;
}

static bool crashes(FILE *says, void *arg)
{
	fprintf(says, "ok   this\nFAIL that\n");
	raise(SIGSEGV);
	return true;
}

static bool hangs(FILE *says, void *arg)
{
	for (;;)
		pause();
	return true;
}

static bool babbles(FILE *says, void *arg)
{
	for (int i = 0; i < TRIAL_SAYS_MAX; i++)
		fprintf(says, "ok %d\n", i);
	return true;
}

static bool leaves(FILE *says, void *arg)
{
	_exit(0);
}

static bool tried(bool (*body)(FILE *, void *), void *arg)
{
	return trial(body, arg, TRIAL_MS, why, sizeof(why));
}

static void passes_in_a_child_of_its_own(void **unused)
{
	assert_true(tried(passes, NULL));
	assert_int_equal(changed, 0);
}

static void complaints_in_one_line(void **unused)
{
	assert_false(tried(complains, "struct that"));
	assert_string_equal(why, "FAIL struct that; expected 3");
}

static void a_long_complaint_is_cut(void **unused)
{
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(tried(complains, text));
	assert_int_equal(strlen(why), sizeof(why) - 1);
}

static void a_crash_is_told_with_what_was_said_before(void **unused)
{
	assert_false(tried(crashes, NULL));
	assert_non_null(strstr(why, "FAIL that; the check was ended by signal 11"));
}

static void no_verdict_is_none(void **unused)
{
	assert_false(tried(leaves, NULL));
	assert_string_equal(why, "the check said nothing");
}

static void the_wait_is_bounded(void **unused)
{
	assert_false(trial(hangs, NULL, 1, why, sizeof(why)));
	assert_string_equal(why, "the check came to no end");
}

static void what_it_says_is_bounded(void **unused)
{
	assert_false(tried(babbles, NULL));
	assert_string_equal(why, "the check came to no end");
}

static void a_host_may_ignore_its_children(void **unused)
{
	signal(SIGCHLD, SIG_IGN);
	assert_true(tried(passes, NULL));
	assert_false(tried(crashes, NULL));
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_in_a_child_of_its_own),
		cmocka_unit_test(complaints_in_one_line),
		cmocka_unit_test(a_long_complaint_is_cut),
		cmocka_unit_test(a_crash_is_told_with_what_was_said_before),
		cmocka_unit_test(no_verdict_is_none),
		cmocka_unit_test(the_wait_is_bounded),
		cmocka_unit_test(what_it_says_is_bounded),
		cmocka_unit_test(a_host_may_ignore_its_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
