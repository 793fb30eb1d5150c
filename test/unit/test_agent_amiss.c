/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A mount looked after while something is amiss: answers that come late, many that hang, what autofs would unmount, knobs that the
 * kernel refuses. On a machine of files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "agent_watched.h"
#include "metrics.h"

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

static void hang(const void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (;;)
		pause();
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

/* It is answered 0.3 s after each question, and was asked when that was due. */
static void never_silent(double interval, double answer)
{
	struct watch *w = host.watches;

	host.settings.interval = interval;
	host.settings.answer = answer;
	for (double end = now + 60 * interval; now < end; now += 0.3) {
		state_prices(0.5, 0.5);
		watch_round(&host, now);
		watch_tick(&host, w, now);
		assert_int_not_equal(w->news, NEWS_NO_ANSWER);
		if (mount_calls_asks(&w->calls))
			wakeup_wait(&wakeup, wakeup_now() + 10);
	}
	assert_int_equal(w->news, NEWS_BELIEVED);
	watch_release(&host, w);
}

/* Where prices count no longer than an interval they would be old whenever the next answer comes. */
static void test_answers_that_count_for_an_interval(void **state)
{
	never_silent(1, 1);
}

/* And of a mount that nobody uses, which is asked less often, where they count for two. */
static void test_an_unused_mount_is_asked_in_time(void **state)
{
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/n with fstype nfs statvers=1.1\n"
		  "\tbytes:\t0 0 0 0 0 0 0 0\n");
	never_silent(5, 10);
	never_silent(10, 10);
	unlink(files_path("/proc/self/mountstats"));
}

/* A mount is let go whose question hangs, while as many others hang as may: its child is not lost. */
static void test_a_mount_is_let_go_while_many_hang(void **state)
{
	static struct async_pool other;
	struct async_worker *w = host.pool.workers;
	struct async_call lasting = {0};
	unsigned int lost = 0;

	server_hangs();
	assert_true(async_call_start(&lasting, &other, 1, hang, NULL, 0));
	for (unsigned int i = 0; i < ASYNC_STUCK_MAX; i++) {
		w[i] = *lasting.worker;
		w[i].state = ASYNC_STUCK;
	}
	passes(1);
	assert_true(mount_calls_asks(&host.watches[0].calls));
	list(settings_of("/mnt/o", NULL));
	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++)
		lost += w[i].child && w[i].state == ASYNC_BUSY;
	memset(w, 0, ASYNC_STUCK_MAX * sizeof(*w));
	assert_true(async_call_drop(&lasting, &other));
	for (async_pool_reap(&other); async_pool_stuck(&other); async_pool_reap(&other))
		wakeup_wait(&wakeup, wakeup_now() + 0.01);
	assert_int_equal(lost, 0);
}

/* ---- what autofs would unmount ----------------------------------------------------------------- */

#define AUTOFS "30 35 0:40 / /mnt/n rw - autofs auto rw,fd=6\n"
#define BELOW  "36 30 0:47 / /mnt/n rw - nfs s:/e rw,vers=3,x\n"

/* So much was read and written by now, and so many READs sent. */
static void count(unsigned int bytes, unsigned int reads)
{
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/n with fstype nfs statvers=1.1\n"
		  "\tbytes:\t%u %u 0 0 %u %u 7 8\n\t  READ: %u 5\n\t  WRITE: 6 6\n",
		  bytes, bytes, bytes, bytes, reads);
}

/* How often the server answered meanwhile. */
static uint64_t answers_in(double seconds)
{
	const uint64_t heard = host.watches[0].totals.replies;

	for (double end = now + seconds; now < end;) {
		watch_round(&host, now);
		rounds(1, 0.9, 1.0);
	}
	return host.watches[0].totals.replies - heard;
}

/* A question goes by the path, and autofs takes that for use: who is not used is not asked. */
static void test_autofs_may_unmount_it(void **state)
{
	struct watch *w = host.watches;

	files_put("/proc/self/mountinfo", AUTOFS BELOW);
	host.settings.interval = 1;
	count(1000, 5);
	assert_true(answers_in(ASK_USED) > 5);
	assert_int_equal(w->news, NEWS_BELIEVED);
	answers_in(DECIDE_UNUSED); /* what is held back is in use */
	assert_int_equal(answers_in(120), 0);
	assert_int_equal(w->news, NEWS_UNUSED);
	assert_true(untouched());
	count(100000, 50); /* somebody is there */
	assert_true(answers_in(ASK_USED) > 2);
	assert_int_equal(w->news, NEWS_BELIEVED);
	assert_null(strstr(files_said, "no answer"));
	watch_release(&host, w);
}

static unsigned int lines;

static void count_line(enum log_level level, const char *format, va_list args)
{
	lines += level <= LOG_LEVEL_EVENT;
}

/* Programs use it once a minute, for hours: that is said at first, not each time. */
static void test_an_automounted_one_used_now_and_then(void **state)
{
	struct watch *w = host.watches;
	unsigned int uses = 0;

	files_put("/proc/self/mountinfo", AUTOFS BELOW);
	host.settings.interval = 1;
	log_set_writer(count_line);
	lines = 0;
	for (unsigned int i = 1; i < 30; i++) {
		count(100000 * i, 50 * i);
		assert_true(answers_in(ASK_USED) > 0);
		answers_in(DECIDE_UNUSED + 60);
		uses += w->news == NEWS_UNUSED;
	}
	log_set_writer(files_keep_line);
	assert_true(uses > 20);
	assert_in_range(lines, 2, 10);
	server_hangs();
	for (unsigned int i = 100; i < 160; i++) {
		count(100000 * i, 50 * i);
		watch_round(&host, now);
		passes(host.settings.interval);
	}
	assert_int_equal(w->news, NEWS_NO_ANSWER); /* that is said */
	assert_string_equal(files_said, "/mnt/n: no answer");
	server_answers(0.9, 1.0);
	watch_release(&host, w);
}

/* Its server hangs while it is used: that is no silence of ours. */
static void test_an_automounted_one_hangs(void **state)
{
	struct watch *w = host.watches;

	files_put("/proc/self/mountinfo", AUTOFS BELOW);
	count(1000, 5);
	answers_in(ASK_USED);
	server_hangs();
	for (unsigned int i = 1; i < 60; i++) {
		count(100000 * i, 50 * i);
		watch_round(&host, now);
		passes(host.settings.interval);
	}
	assert_int_equal(w->news, NEWS_NO_ANSWER);
	server_answers(0.9, 1.0);
	unlink(files_path("/proc/self/mountstats"));
}

/* ---- umount and mount at once -------------------------------------------------------------- */

static void mounted_for(unsigned int seconds)
{
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/n with fstype nfs statvers=1.1\n\tage:\t%u\n"
		  "\tbytes:\t0 4096 0 0 0 4096 0 1\n\t  READ: 10 5\n\t  WRITE: 6 6\n",
		  seconds);
	now += 1;
	watch_round(&host, now);
}

static void knobs_are_new(void)
{
	files_put(RATIO, "0\n");
	files_put(READAHEAD, "128\n");
}

/* The kernel gives the id and the device of the old one again: mountinfo has the same text, but for the server. */
static void test_another_server_at_once(void **state)
{
	struct watch *w = host.watches;

	rounds(30, 0.9, 1.0);
	assert_int_equal(files_number(RATIO), 50);
	knobs_are_new();
	files_put("/proc/self/mountinfo", "36 35 0:47 / /mnt/n rw - nfs other:/f rw,vers=3,x\n");
	now += host.settings.interval;
	watch_tick(&host, w, now);
	assert_false(w->detector.believed);
	rounds(30, 0.9, 1.0);
	assert_true(w->detector.believed);
	assert_int_equal(files_number(RATIO), 50);
	watch_release(&host, w);
}

/* Or the same text altogether: the counters tell, which have begun anew, or were not there for a moment. */
static void test_the_same_again_at_once(void **state)
{
	struct watch *w = host.watches;

	for (unsigned int i = 0; i < 2; i++) {
		mounted_for(100);
		rounds(30, 0.9, 1.0);
		assert_int_equal(files_number(RATIO), 50);
		knobs_are_new();
		if (i)
			files_put("/proc/self/mountstats",
				  "device none mounted on / with fstype x\n");
		now += 1;
		watch_round(&host, now);
		mounted_for(i ? 200 : 1);
		watch_tick(&host, w, now);
		assert_true(!w->detector.believed && !w->knobs.ratio.knob.held);
		rounds(30, 0.9, 1.0);
		assert_int_equal(files_number(RATIO), 50);
	}
	unlink(files_path("/proc/self/mountstats")); /* not to be read now: that tells nothing */
	now += 1;
	watch_round(&host, now);
	assert_true(w->detector.believed && w->knobs.ratio.knob.held);
	watch_release(&host, w);
}

/* ---- knobs that the kernel refuses ----------------------------------------------------------- */

static const char *refused;   /* a knob; NULL: none */
static unsigned int refusals; /* so often */

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	if (refused && (flags & O_ACCMODE) == O_WRONLY && strstr(path, refused)) {
		refusals++;
		errno = EINVAL; /* as where the sum of all min_ratio would be 100 */
		return -1;
	}
	return __real_open64(path, flags, 0600);
}

static void refuses(const char *knob)
{
	refused = knob;
	refusals = 0;
}

static char shown[32768]; /* metrics, then what --status has */

static bool shows(const char *text)
{
	FILE *out = fmemopen(shown, sizeof(shown), "w");

	metrics_print(&host, now, out);
	watch_show(&host, host.watches, out);
	fputc('\0', out);
	fclose(out);
	return strstr(shown, text) != NULL;
}

/* The server is dear, by prices that move. */
static void dear_for(double seconds)
{
	for (double end = now + seconds; now < end;) {
		rounds(1, 0.9, 1.0);
		rounds(1, 0.95, 1.0);
	}
}

static void test_a_refused_deferral(void **state)
{
	struct watch *w = host.watches;

	refuses(RATIO);
	dear_for(8);
	assert_int_equal(w->decision.way, WRITE_DEFER);
	assert_int_equal(files_number(RATIO), 0);
	assert_true(refusals >= 2); /* nor is it given up */
	assert_int_equal(watch_way(&host, w), WRITE_NORMAL);
	assert_true(shows("normal: the server is dearer than our memory; but min_ratio cannot be "
			  "turned now\n"));
	assert_true(shows("_writes{mount=\"/mnt/n\",way=\"defer\"} 0\n"));
	assert_true(shows("_deferrals_total{mount=\"/mnt/n\"} 0\n"));
	assert_true(shows("_deferred_seconds_total{mount=\"/mnt/n\"} 0\n"));
	refuses(NULL);
	for (unsigned int i = 0; i < 400 && files_number(RATIO) != 50; i++)
		dear_for(0.5);
	assert_int_equal(files_number(RATIO), 50);
	assert_true(shows("_deferrals_total{mount=\"/mnt/n\"} 1\n") && shows(", defer: "));
	watch_release(&host, w);
}

/* The kernel refuses a larger share: the mount keeps the one that it has. */
static void test_a_refused_raise(void **state)
{
	struct mount_knobs *k = &host.watches[0].knobs;

	watch_look(&host, host.watches, now);
	mount_knobs_ratio(k, 18, "why", &host.hand, now);
	refuses(RATIO);
	mount_knobs_ratio(k, 22, "why", &host.hand, now);
	assert_true(refusals == 1 && files_number(RATIO) == 18);
	assert_non_null(strstr(files_said, "min_ratio: Invalid argument: no further for now"));
	assert_true(k->ratio.set == 18 && k->ratio.knob.held && !k->ratio.knob.turning);
	files_put(RATIO, "7\n"); /* somebody else's by now: no more ours to put back */
	mount_knobs_ratio(k, 22, "why", &host.hand, now + KNOB_AGAIN);
	assert_int_equal(k->ratio.set, KNOB_AS_FOUND);
	refuses(NULL);
	files_put(RATIO, "0\n");
	mount_knobs_ratio(k, 22, "why", &host.hand, now + 3 * KNOB_AGAIN);
	assert_int_equal(files_number(RATIO), 22);
	watch_release(&host, host.watches);
	assert_int_equal(files_number(RATIO), 0);
}

/* Tried ever less often, and said once. */
static void test_a_refused_knob_is_not_pressed(void **state)
{
	struct watch *w = host.watches;

	refuses(READAHEAD);
	dear_for(300);
	assert_in_range(refusals, 6, 12);
	assert_int_equal(files_number(READAHEAD), 128);
	assert_null(strstr(files_said, "not used"));
	assert_true(w->decision.readahead && !watch_readahead(&host, w));
	assert_true(shows("  read-ahead as found: "));
	assert_true(shows("; but read_ahead_kb cannot be turned now"));
	assert_false(shows("_readahead_bytes{"));
	refuses(NULL);
	dear_for(KNOB_AGAIN_MOST + 1);
	assert_int_equal(files_number(READAHEAD), 16);
	watch_release(&host, w);
}

/* ------------------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_a_late_answer_is_old),
		ON_A_MACHINE(test_answers_that_count_for_an_interval),
		ON_A_MACHINE(test_an_unused_mount_is_asked_in_time),
		ON_A_MACHINE(test_a_mount_is_let_go_while_many_hang),
		ON_A_MACHINE(test_autofs_may_unmount_it),
		ON_A_MACHINE(test_an_automounted_one_used_now_and_then),
		ON_A_MACHINE(test_an_automounted_one_hangs),
		ON_A_MACHINE(test_another_server_at_once),
		ON_A_MACHINE(test_the_same_again_at_once),
		ON_A_MACHINE(test_a_refused_deferral),
		ON_A_MACHINE(test_a_refused_raise),
		ON_A_MACHINE(test_a_refused_knob_is_not_pressed),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
