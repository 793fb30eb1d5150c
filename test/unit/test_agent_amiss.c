/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A mount looked after while something is amiss: answers that come late. On a machine of files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <string.h>

#include "agent_watched.h"

static bool untouched(void)
{
	return files_number(RATIO) == 0 && files_number(READAHEAD) == 128;
}

/* For so many s nothing happens but rounds. */
static void passes(double seconds)
{
	for (double end = now + seconds; now < end;) {
		now += host.settings.interval;
		watch_tick(&host, host.watches, now);
	}
}

/* ---- answers that come late ---------------------------------------------------------------- */

/* Whoever asks from now on waits. */
static void server_hangs(void)
{
	unlink(replies);
	assert_int_equal(mkfifo(replies, 0600), 0);
}

/* Who waits is answered, and who asks from now on. */
static void server_answers(double write, double readahead)
{
	char text[64] = "";
	FILE *waits = fopen(replies, "w"), *in; /* when somebody reads it */

	assert_non_null(waits);
	state_prices(write, readahead);
	in = fopen(replies, "r");
	assert_true(in && fgets(text, sizeof(text), in));
	fclose(in);
	fputs(text, waits);
	fclose(waits);
}

/* What a server said a minute ago is a minute old when it comes. */
static void test_a_late_answer_is_old(void **state)
{
	struct watch *w = host.watches;
	uint64_t heard;
	double asked;

	rounds(20, 0.9, 1.0);
	assert_int_equal(files_number(RATIO), 50);
	server_hangs();
	while (!w->calls.ask.worker)
		passes(host.settings.interval);
	asked = now;
	heard = w->totals.replies;
	passes(60);
	assert_int_equal(w->news, NEWS_NO_ANSWER);
	assert_true(untouched());
	server_answers(0.9, 1.0);
	while (w->totals.replies == heard) {
		wakeup_wait(&wakeup, wakeup_now() + 10);
		watch_tick(&host, w, now);
	}
	assert_true(w->answered == asked && watch_stale(&host, w, now));
	assert_true(untouched());
	rounds(1, 0.9, 1.0); /* what it says now counts */
	assert_false(untouched());
	watch_release(&host, w);
}

/* ------------------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_a_late_answer_is_old),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
