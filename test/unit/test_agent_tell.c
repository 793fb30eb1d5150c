/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is said, and where: of a change that comes again and again not each, however many mounts there are. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <fcntl.h>
#include <string.h>

#include "agent_watched.h"
#include "log_sink.h"
#include "tell.h"

#define MANY	   4
#define BACKGROUND "/proc/sys/vm/dirty_background_ratio"
#define LIMIT	   "/proc/sys/vm/dirty_ratio"

static unsigned int said; /* lines, but those for who looks on */
static unsigned int halts, calms;

static void count_line(enum log_level level, const char *format, va_list args)
{
	if (level > LOG_LEVEL_EVENT)
		return;
	files_keep_line(level, format, args);
	said++;
	calms += strstr(files_said, ": writes: normal by now (") != NULL;
	halts += strstr(files_said, "/backup: halted") != NULL;
}

static void test_a_change_and_back(void **state)
{
	struct tell t = {0};

	assert_int_equal(tell_change(&t, false, 5),
			 LOG_LEVEL_EVENT); /* a machine just booted, too */
	assert_int_equal(tell_change(&t, false, 7), LOG_LEVEL_DEBUG); /* a step more */
	assert_int_equal(tell_change(&t, true, 9), LOG_LEVEL_EVENT);
	assert_false(tell_calm(&t, 10 * TELL_CALM));
	assert_int_equal(tell_change(&t, false, 10 * TELL_CALM), LOG_LEVEL_EVENT);
	assert_int_equal(tell_change(&t, true, 20 * TELL_CALM), LOG_LEVEL_EVENT);
}

static void test_to_and_fro(void **state)
{
	struct tell t = {0};
	double at = 1000;

	tell_change(&t, false, at);
	tell_change(&t, true, at += 24);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(tell_change(&t, i % 2, at += 9), LOG_LEVEL_DEBUG);
		assert_false(tell_calm(&t, at + 8));
	}
	assert_false(tell_calm(&t, at + TELL_CALM - 1));
	assert_true(tell_calm(&t, at + TELL_CALM));
	assert_false(tell_calm(&t, at + TELL_CALM + 1));
	assert_int_equal(tell_change(&t, false, at + TELL_CALM + 2), LOG_LEVEL_EVENT);
}

/* Their servers state these prices. */
static void passes(double seconds, double write, double readahead)
{
	for (double end = now + seconds; now < end;) {
		bool defers = false;

		host.machine.now = ++now;
		for (unsigned int i = 1; i <= MANY; i++) {
			struct watch *w = &host.watches[i];

			w->detector.believed = true;
			w->detector.prices.write = write;
			w->detector.prices.readahead = readahead;
			w->answered = now;
			watch_act(&host, w, now);
			defers |= watch_way(&host, w) == WRITE_DEFER;
		}
		machine_flush_follow(&host.machine, defers, &host.hand.recorder);
	}
}

static void many_mounts(void)
{
	static char lines[64 * 1024], name[64], path[32], error[64];
	struct settings s = settings_of("/mnt/n", NULL);
	size_t length = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/mnt/m%u", i);
		assert_true(settings_set(&s, "mount", path, error, sizeof(error)));
		length += (size_t)snprintf(lines + length, sizeof(lines) - length,
					   "%u 35 0:%u / %s rw - nfs s:/e%u rw,vers=3,x\n", 100 + i,
					   100 + i, path, i);
		snprintf(name, sizeof(name), "/sys/class/bdi/0:%u", 100 + i);
		mkdir(files_path(name), 0700);
		snprintf(name, sizeof(name), "/sys/class/bdi/0:%u/min_ratio", 100 + i);
		files_put(name, "0\n");
		snprintf(name, sizeof(name), "/sys/class/bdi/0:%u/read_ahead_kb", 100 + i);
		files_put(name, "128\n");
	}
	files_put("/proc/self/mountinfo", "%s", lines);
	files_put(BACKGROUND, "10\n");
	files_put(LIMIT, "20\n");
	list(s);
	machine_set_flush_point(&host.machine, 60);
	for (unsigned int i = 1; i <= MANY; i++) {
		watch_look(&host, &host.watches[i], now);
		host.watches[i].readahead_found = 128;
	}
}

/* Of each: deferred, no more, and that it goes on so; its two knobs turned, and the one as it was; and the flushing point.
 * However long that goes on, which without this made a line and more a second. */
static void test_turns_for_long(void **state)
{
	many_mounts();
	log_set_writer(count_line);
	said = calms = 0;
	passes(120, 0.9, 1);
	assert_int_equal(said, MANY * 6 + 2);
	passes(480, 0.9, 1);
	assert_int_equal(said, MANY * 6 + 2);
	said = 0;
	passes(TELL_CALM - 30, 0.01, 0.01);
	assert_in_range(said, MANY, MANY + 1); /* read-ahead is as it was */
	assert_int_equal(calms, 0);
	passes(60, 0.01, 0.01);
	assert_int_equal(calms, MANY);
	said = 0;
	passes(2 * TELL_CALM, 0.01, 0.01);
	assert_int_equal(said, 0);
	for (unsigned int i = 1; i <= MANY; i++)
		watch_release(&host, &host.watches[i]);
	machine_flush_point(&host.machine, false, &host.hand.recorder);
	assert_int_equal(files_number("/sys/class/bdi/0:100/min_ratio"), 0);
	log_set_writer(files_keep_line);
}

/* A group that is halted by turns. */
static void test_a_group_that_halts(void **state)
{
	struct settings s = settings_of("/mnt/n", NULL);
	struct watch *w = host.watches;
	char error[64];
	unsigned int turns = 0;
	bool was = false;

	mkdir(files_path("/sys/fs"), 0700);
	mkdir(files_path("/sys/fs/cgroup"), 0700);
	mkdir(files_path("/sys/fs/cgroup/backup"), 0700);
	mkdir(files_path("/proc/1"), 0700);
	files_put("/sys/fs/cgroup/backup/cgroup.freeze", "0\n");
	files_put("/proc/1/cgroup", "0::/init.scope\n");
	assert_true(settings_set(&s, "halt", "1 /backup", error, sizeof(error)));
	list(s);
	w->mount.kind = MOUNT_NFS3;
	w->detector.believed = true;
	w->detector.prices.write = 0.9;
	log_set_writer(count_line);
	halts = 0;
	for (double end = now + 400; now < end; now += 1) {
		w->answered = now;
		watch_groups_tick(&host, now);
		turns += host.groups[0].halt.halted && !was;
		was = host.groups[0].halt.halted;
	}
	assert_in_range(turns, 10, 200);
	assert_int_equal(halts, 1);
	watch_groups_release(&host);
	log_set_writer(files_keep_line);
}

/* ---- where it goes ----------------------------------------------------------------------------- */

/* What the standard output, a file, has of a line of each kind; it is the journal or is not. */
static void prints(bool journal, char *text, size_t size)
{
	const int saved = dup(STDOUT_FILENO);
	const int file = open(files_path("/out"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char stream[64];
	struct stat st;
	ssize_t n;

	assert_true(saved >= 0 && file >= 0 && fstat(file, &st) == 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino + !journal);
	setenv("JOURNAL_STREAM", stream, 1);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	log_sink_stdout();
	log_line(LOG_LEVEL_EVENT, "for all");
	log_line(LOG_LEVEL_DEBUG, "for who looks on");
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	n = pread(file, text, size - 1, 0);
	close(file);
	assert_true(n >= 0);
	text[n] = '\0';
	log_set_writer(files_keep_line);
	unsetenv("JOURNAL_STREAM");
}

static void test_the_journal_has_what_is_for_all(void **state)
{
	char text[64];

	prints(true, text, sizeof(text));
	assert_string_equal(text, "for all\n");
	prints(false, text, sizeof(text));
	assert_string_equal(text, "for all\nfor who looks on\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_change_and_back),
		cmocka_unit_test(test_to_and_fro),
		ON_A_MACHINE(test_turns_for_long),
		ON_A_MACHINE(test_a_group_that_halts),
		cmocka_unit_test(test_the_journal_has_what_is_for_all),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
