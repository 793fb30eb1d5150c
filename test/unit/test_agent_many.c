/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* More mounts of one server than there are places for questions: all are asked, who waits is no silence of it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <string.h>

#include "agent_watched.h"

#define MOUNTS 40

/* /mnt/n, which is not mounted, and MOUNTS of one server. */
static int many(void **state)
{
	struct settings s;

	machine(state);
	s = settings_of("/mnt/n", NULL);
	s.interval = 1;
	many_mounts(&s, MOUNTS);
	list(s);
	state_prices(0.5, 0.5);
	return 0;
}

static unsigned int asking(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i <= MOUNTS; i++)
		count += mount_calls_asks(&host.watches[i].calls);
	return count;
}

/* All that have begun have returned, and are heard; nobody is asked meanwhile. */
static void all_return(void)
{
	for (unsigned int i = 0; i <= MOUNTS; i++) {
		struct watch *w = &host.watches[i];

		while (mount_calls_asks(&w->calls))
			if (!watch_feed(w, now) && mount_calls_asks(&w->calls))
				wakeup_wait(&wakeup, wakeup_now() + 0.01);
	}
}

static unsigned int news_of(enum news n)
{
	unsigned int count = 0;

	for (unsigned int i = 1; i <= MOUNTS; i++)
		count += host.watches[i].news == n;
	return count;
}

static unsigned int least_replies(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 1; i <= MOUNTS; i++)
		if (host.watches[i].totals.replies < least)
			least = host.watches[i].totals.replies;
	return (unsigned int)least;
}

/* However the rounds come: always the same ones would be asked otherwise. */
static void test_who_waits_longest_is_asked_first(void **state)
{
	unsigned int most = 0;

	for (unsigned int round = 0; round < 4 * MOUNTS / ASYNC_GROUP_MAX; round++) {
		now += host.settings.interval;
		assert_true(watch_tick_all(&host, now) <= now + ASK_SOON);
		assert_true(host.crowded && asking() == ASYNC_GROUP_MAX);
		all_return();
	}
	for (unsigned int i = 1; i <= MOUNTS; i++)
		if (host.watches[i].totals.replies > most)
			most = (unsigned int)host.watches[i].totals.replies;
	assert_true(least_replies() == 4 && most == 4);
	assert_int_equal(news_of(NEWS_NO_ANSWER), 0);
}

/* While one waits no place is free, whoever has returned since the last round. */
static void test_the_next_has_the_place(void **state)
{
	now += host.settings.interval;
	while (!least_replies()) {
		watch_tick_all(&host, now);
		assert_true(!host.crowded || asking() == ASYNC_GROUP_MAX);
		wakeup_wait(&wakeup, wakeup_now() + 0.1);
		now += 0.0001;
	}
	assert_false(host.crowded);
}

/* A server hangs: it is silent to those who ask it; of the others nobody knows. */
static void test_who_has_no_place_has_not_asked(void **state)
{
	unlink(replies);
	assert_int_equal(mkfifo(replies, 0600), 0); /* who opens it waits for a writer */
	for (double end = now + 3 * host.settings.answer; now < end; now++)
		watch_tick_all(&host, now);
	assert_int_equal(news_of(NEWS_NO_ANSWER), ASYNC_GROUP_MAX);
	assert_int_equal(news_of(NEWS_CROWDED), MOUNTS - ASYNC_GROUP_MAX);
	unlink(replies);
}

#define WITH_MANY(test) cmocka_unit_test_setup_teardown(test, many, machine_ends)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MANY(test_who_waits_longest_is_asked_first),
		WITH_MANY(test_the_next_has_the_place),
		WITH_MANY(test_who_has_no_place_has_not_asked),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
