/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One mount looked after, on a machine of files: from a reply to the knobs and back, mounts that
 * come, go, hang and are another kind, and settings that change. Times are made up; the test waits
 * for a child's end only.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "wakeup.h"
#include "watch.h"

#define NFS  "36 35 0:47 / /mnt/n rw - nfs s:/e rw,vers=3,x\n"
#define NFS2 "37 35 0:47 / /mnt/o rw - nfs s:/e rw,vers=3,x\n"

static char root[] = "/tmp/ra-watch-XXXXXX";
static char replies[64];
static struct wakeup wakeup;
static struct watch_host host;
static double now; /* s */
static bool recordable;

/* ---- the machine ------------------------------------------------------------------------- */

static void put(const char *name, const char *format, ...)
{
	char path[128], made[140];
	va_list args;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	snprintf(made, sizeof(made), "%s.new", path);
	f = fopen(made, "w");
	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
	assert_int_equal(rename(made, path), 0);
}

static int knob(const char *name)
{
	char path[128];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/class/bdi/0:47/%s", root, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &value), 1);
	fclose(f);
	return value;
}

static void state_prices(double write, double readahead)
{
	static uint32_t turn;
	struct fsstat_files files = {6553600, 6000000, 6000000};
	struct fsstat_prices prices = {write, readahead, turn++};

	assert_true(fsstat_price_encode(&files, &prices));
	put("replies", "%" PRIu64 " %" PRIu64 "\n", files.total, files.avail);
}

static void quiet(enum log_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
}

static bool record(void *arg)
{
	(void)arg;
	return recordable;
}

static struct settings settings_of(const char *mount, const char *other)
{
	struct settings s;
	char error[64];

	settings_init(&s);
	s.interval = 0.25; /* so that twenty replies take less than a deferral */
	s.root = root;
	s.replies = replies;
	assert_true(settings_set(&s, "mount", mount, error, sizeof(error)));
	if (other)
		assert_true(settings_set(&s, "mount", other, error, sizeof(error)));
	return s;
}

static void list(struct settings s)
{
	struct settings old = host.settings;

	watch_list(&host, &s);
	settings_free(&old);
}

static int machine(void **state)
{
	host = (struct watch_host){.hand = {{record, NULL}, false}};
	now = 1000;
	recordable = true;
	put("proc/self/mountinfo", NFS);
	put("sys/class/bdi/0:47/min_ratio", "0\n");
	put("sys/class/bdi/0:47/read_ahead_kb", "128\n");
	machine_init(&host.machine, root, 0, false);
	list(settings_of("/mnt/n", NULL));
	return 0;
}

static int machine_ends(void **state)
{
	for (unsigned int i = 0; i < host.settings.mount_count; i++)
		mount_calls_adopt(&host.watches[i].calls, 0, &host.stuck);
	for (async_stuck_reap(&host.stuck); host.stuck.count; async_stuck_reap(&host.stuck))
		wakeup_wait(&wakeup, wakeup_now() + 10);
	settings_free(&host.settings);
	return 0;
}

/* Asks, with the answer taken: N times. */
static void rounds(unsigned int n, double write, double readahead)
{
	struct watch *w = host.watches;

	for (unsigned int i = 0; i < n; i++) {
		const double answered = w->answered;

		state_prices(write, readahead);
		now += host.settings.interval;
		watch_tick(&host, w, now);
		while (w->calls.ask.child && w->answered == answered) {
			wakeup_wait(&wakeup, wakeup_now() + 10);
			now += 0.001;
			watch_tick(&host, w, now);
		}
	}
}

/* ------------------------------------------------------------------------------------------ */

static void test_prices_turn_the_knobs(void **state)
{
	struct watch *w = host.watches;

	rounds(40, 0.9, 1.0);
	assert_true(w->detector.believed);
	assert_int_equal(w->decision.way, WRITE_DEFER);
	assert_int_equal(knob("min_ratio"), 50);
	assert_int_equal(knob("read_ahead_kb"), 16);
	now += host.settings.answer; /* no answer */
	watch_tick(&host, w, now);
	assert_int_equal(knob("min_ratio"), 0);
	assert_int_equal(knob("read_ahead_kb"), 128);
}

static void test_a_new_mount_is_asked_while_the_old_one_hangs(void **state)
{
	struct watch *w = host.watches;
	char path[128];

	unlink(replies);
	assert_int_equal(mkfifo(replies, 0600), 0); /* who opens it waits for a writer */
	watch_tick(&host, w, now);
	assert_true(w->calls.ask.child != 0);
	now += host.settings.answer;
	watch_tick(&host, w, now);
	assert_int_equal(w->news, NEWS_NO_ANSWER);
	snprintf(path, sizeof(path), "%s/fifo", root);
	rename(replies, path);
	put("proc/self/mountinfo", "40%s", &NFS[2]); /* umount -l, mount */
	rounds(20, 0.9, 1.0);
	assert_int_equal(w->mount.id, 40);
	assert_true(w->detector.believed);
	assert_int_equal(knob("read_ahead_kb"), 16);
	watch_release(&host, w);
}

static void test_what_carries_no_prices_is_not_asked(void **state)
{
	static const char *const lines[] = {
		"",
		"36 35 0:47 / /mnt/n rw - nfs4 s:/e rw,vers=4.2,x\n",
		"36 35 0:47 / /mnt/n rw - autofs auto rw,fd=6\n",
		"36 35 0:47 / /mnt/n rw - ext4 /dev/sda1 rw\n",
	};
	struct watch *w = host.watches;

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put("proc/self/mountinfo", "%s", lines[i]);
		now += host.settings.interval;
		watch_tick(&host, w, now);
		assert_int_equal(w->news, NEWS_NOT_MOUNTED);
		assert_int_equal(w->calls.ask.child, 0);
	}
	put("proc/self/mountinfo", NFS);
	rounds(20, 0.9, 1.0);
	assert_true(w->detector.believed);
	watch_release(&host, w);
}

static void test_autofs_below_the_mount(void **state)
{
	put("proc/self/mountinfo", "30 35 0:40 / /mnt/n rw - autofs auto rw,fd=6\n" NFS);
	rounds(20, 0.9, 1.0);
	assert_true(host.watches[0].detector.believed);
	watch_release(&host, host.watches);
}

static void test_no_record_no_knob(void **state)
{
	recordable = false;
	rounds(20, 0.9, 1.0);
	assert_int_equal(host.watches[0].decision.way, WRITE_DEFER);
	assert_int_equal(knob("min_ratio"), 0);
	assert_int_equal(knob("read_ahead_kb"), 128);
	recordable = true;
	rounds(1, 0.9, 1.0);
	assert_int_equal(knob("min_ratio"), 50);
	watch_release(&host, host.watches);
	assert_int_equal(knob("min_ratio"), 0);
}

static void test_settings_change(void **state)
{
	struct settings s = settings_of("/mnt/o", "/mnt/n");

	rounds(20, 0.9, 1.0);
	assert_int_equal(knob("min_ratio"), 50);
	s.decide.readahead_min = 64;
	list(s); /* one more, and it is the first now */
	assert_string_equal(host.watches[1].path, "/mnt/n");
	assert_true(host.watches[1].detector.believed);
	assert_false(host.watches[0].detector.believed);
	watch_tick(&host, &host.watches[1], now);
	assert_int_equal(knob("min_ratio"), 45);
	assert_int_equal(knob("read_ahead_kb"), 64);
	list(settings_of("/mnt/o", NULL)); /* the other is let go */
	assert_int_equal(knob("min_ratio"), 0);
	assert_int_equal(knob("read_ahead_kb"), 128);
}

static void test_mounts_of_one_export(void **state)
{
	put("proc/self/mountinfo", NFS NFS2);
	list(settings_of("/mnt/n", "/mnt/o"));
	watch_look(&host, &host.watches[0], now);
	watch_look(&host, &host.watches[1], now);
	assert_true(host.watches[0].knobs.owns && !host.watches[1].knobs.owns);
	put("proc/self/mountinfo", NFS2);
	watch_look(&host, &host.watches[0], now);
	watch_look(&host, &host.watches[1], now);
	assert_true(!host.watches[0].knobs.owns && host.watches[1].knobs.owns);
}

/* Two clients that were started together do not go on asking together. */
static void test_questions_come_at_moments_of_their_own(void **state)
{
	struct watch *w = host.watches;
	double least = 1, most = 0;

	host.settings.interval = 1;
	put("proc/self/mountinfo", "");
	for (unsigned int i = 0; i < 100; i++) {
		watch_tick(&host, w, now);
		least = w->ask_at - now < least ? w->ask_at - now : least;
		most = w->ask_at - now > most ? w->ask_at - now : most;
		now = w->ask_at;
	}
	assert_true(least >= 1 - ASK_EARLY && least < 0.8 && most > 0.95 && most <= 1);
}

/* ------------------------------------------------------------------------------------------ */

static int make_directory(void **state)
{
	static const char *const parts[] = {
		"",	      "/proc",		"/proc/self",	      "/sys",
		"/sys/class", "/sys/class/bdi", "/sys/class/bdi/0:47"};
	char path[128];

	if (!mkdtemp(root))
		return -1;
	for (unsigned int i = 1; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, parts[i]);
		if (mkdir(path, 0700))
			return -1;
	}
	snprintf(replies, sizeof(replies), "%s/replies", root);
	log_set_writer(quiet);
	return wakeup_init(&wakeup);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *at)
{
	return remove(path);
}

static int remove_directory(void **state)
{
	return nftw(root, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine, machine_ends)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_prices_turn_the_knobs),
		ON_A_MACHINE(test_a_new_mount_is_asked_while_the_old_one_hangs),
		ON_A_MACHINE(test_what_carries_no_prices_is_not_asked),
		ON_A_MACHINE(test_autofs_below_the_mount),
		ON_A_MACHINE(test_no_record_no_knob),
		ON_A_MACHINE(test_settings_change),
		ON_A_MACHINE(test_mounts_of_one_export),
		ON_A_MACHINE(test_questions_come_at_moments_of_their_own),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
