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

static const char *about = ""; /* what a line has that counts */
static unsigned int said;      /* lines, but those for who looks on */
static unsigned int halts, calms;

static void count_line(enum log_level level, const char *format, va_list args)
{
	char line[sizeof(files_said)];

	vsnprintf(line, sizeof(line), format, args);
	if (level > LOG_LEVEL_EVENT || !strstr(line, about))
		return;
	snprintf(files_said, sizeof(files_said), "%s", line);
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

static void those_that_turn(void)
{
	struct settings s = settings_of("/mnt/n", NULL);

	many_mounts(&s, MANY);
	many_knobs(MANY, "min_ratio", "0");
	many_knobs(MANY, "read_ahead_kb", "128");
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
	those_that_turn();
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

/* ---- how it stands, when it has not changed for long ------------------------------------------- */

static void count_lines(const char *what)
{
	about = what;
	said = 0;
	log_set_writer(count_line);
}

static void count_no_more(void)
{
	about = "";
	log_set_writer(files_keep_line);
}

static void reads_cost(double price, double seconds)
{
	struct watch *w = host.watches;

	w->detector.believed = true;
	w->detector.prices.write = 0.01;
	w->detector.prices.readahead = price;
	for (double end = now + seconds; now < end;) {
		w->answered = ++now;
		watch_act(&host, w, now);
	}
}

/* Turned, as it was, turned: that it is must not be what one has to look up. */
static void test_a_knob_stays_turned(void **state)
{
	const struct mount_knob *k = &host.watches->knobs.readahead;
	char stands[64];

	watch_look(&host, host.watches, now);
	host.watches->readahead_found = 128;
	count_lines("read_ahead_kb");
	reads_cost(1, 30);
	assert_true(k->set != KNOB_AS_FOUND);
	while (k->set != KNOB_AS_FOUND)
		reads_cost(0.01, 1);
	assert_string_equal(files_said, "/mnt/n: read_ahead_kb as it was");
	assert_int_equal(said, 2);
	reads_cost(1, 60);
	assert_int_equal(said, 2);
	said = 0;
	reads_cost(1, TELL_CALM + 1);
	assert_int_equal(said, 1);
	snprintf(stands, sizeof(stands), "/mnt/n: read_ahead_kb set to %" PRIi64 " by now", k->set);
	assert_string_equal(files_said, stands);
	reads_cost(1, 2 * TELL_CALM);
	assert_int_equal(said, 1);
	count_no_more();
	watch_release(&host, host.watches);
}

static void wants_ratio(int64_t percent, double seconds)
{
	struct mount_knobs *k = &host.watches->knobs;

	for (double end = now + seconds; now < end;) {
		mount_knobs_ratio(k, percent, "why", &host.hand, ++now);
		mount_knobs_calm(k, &host.hand, now);
	}
}

/* Refused, turned, refused; and the other way. */
static void test_a_knob_stays_refused(void **state)
{
	watch_look(&host, host.watches, now);
	count_lines("/min_ratio: ");
	unlink(files_path(RATIO));
	wants_ratio(50, 10);
	assert_int_equal(said, 1);
	files_put(RATIO, "0\n");
	wants_ratio(50, 30);
	assert_int_equal(said, 2);
	assert_non_null(strstr(files_said, "min_ratio: can be turned again"));
	wants_ratio(KNOB_AS_FOUND, 1);
	unlink(files_path(RATIO));
	wants_ratio(50, 10);
	assert_int_equal(said, 2);
	wants_ratio(50, TELL_CALM + 1);
	assert_int_equal(said, 3);
	assert_non_null(strstr(files_said, "No such file or directory: not used for now"));
	files_put(RATIO, "0\n");
	wants_ratio(50, KNOB_AGAIN_MOST + 1);
	assert_int_equal(said, 4);
	wants_ratio(50, 2 * TELL_CALM);
	assert_int_equal(said, 4);
	count_no_more();
	watch_release(&host, host.watches);
}

/* That it was turned was said; so it is that it is not any more, also where the refusal is no news. */
static void test_a_knob_that_was_turned_is_refused(void **state)
{
	const struct mount_knob *k = &host.watches->knobs.ratio;

	watch_look(&host, host.watches, now);
	count_lines("min_ratio stays as it is: ");
	wants_ratio(50, 9);
	assert_true(k->told.said);
	unlink(files_path(RATIO));
	wants_ratio(60, 9);
	assert_true(k->set == KNOB_AS_FOUND);
	assert_int_equal(said, 1);
	assert_false(k->told.said);
	wants_ratio(60, 2 * TELL_CALM);
	assert_int_equal(said, 1);
	files_put(RATIO, "0\n");
	count_no_more();
	watch_release(&host, host.watches);
}

/* Somebody else's by now, which is said each time: it is not as it was. */
static void test_what_stays_as_it_is(void **state)
{
	watch_look(&host, host.watches, now);
	count_lines("min_ratio");
	wants_ratio(50, 9);
	wants_ratio(KNOB_AS_FOUND, 9);
	wants_ratio(50, 9);
	files_put(RATIO, "7\n");
	wants_ratio(KNOB_AS_FOUND, 2 * TELL_CALM);
	assert_int_equal(said, 3);
	assert_non_null(strstr(files_said, "somebody else has turned it"));
	count_no_more();
}

static void flushes(bool raise, double seconds)
{
	for (double end = now + seconds; now < end;) {
		host.machine.now = ++now;
		machine_flush_follow(&host.machine, raise, &host.hand.recorder);
	}
}

static void test_the_flushing_point_stays_raised(void **state)
{
	files_put(BACKGROUND, "10\n");
	files_put(LIMIT, "20\n");
	machine_set_flush_point(&host.machine, 60);
	count_lines("dirty memory: ");
	flushes(true, 9);
	flushes(false, 9);
	assert_int_equal(said, 2);
	flushes(true, 9);
	assert_int_equal(said, 2);
	flushes(true, TELL_CALM + 1);
	assert_int_equal(said, 3);
	assert_string_equal(files_said, "dirty memory: the flushing point is raised by now");
	flushes(true, 2 * TELL_CALM);
	assert_int_equal(said, 3);
	count_no_more();
	machine_flush_point(&host.machine, false, &host.hand.recorder);
	assert_int_equal(files_number(LIMIT), 20);
}

static void a_group(void)
{
	struct settings s = settings_of("/mnt/n", NULL);
	struct watch *w = host.watches;
	char error[64];

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
}

/* A group that is halted by turns. */
static void test_a_group_that_halts(void **state)
{
	struct watch *w = host.watches;
	unsigned int turns = 0;
	bool was = false;

	a_group();
	count_lines("");
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

static void group_passes(double seconds, double price)
{
	struct watch *w = host.watches;

	w->detector.prices.write = price;
	for (double end = now + seconds; now < end;) {
		w->answered = ++now;
		watch_groups_tick(&host, now);
	}
}

static void group_turns(bool halted)
{
	while (host.groups[0].halt.halted != halted)
		group_passes(1, halted ? 0.9 : 0.01);
}

/* Halted, goes on, halted, goes on; no halt lasts so long (HALT_MOST). */
static void test_a_group_goes_on(void **state)
{
	const double from = now;

	a_group();
	count_lines("/backup: ");
	group_turns(true);
	group_turns(false);
	assert_int_equal(said, 2);
	group_turns(true);
	group_turns(false);
	assert_int_equal(said, 2);
	assert_true(now - from < 60);
	group_passes(TELL_CALM + 1, 0.01);
	assert_int_equal(said, 3);
	assert_non_null(strstr(files_said, "/backup: goes on by now (the server's price 0.01"));
	group_passes(2 * TELL_CALM, 0.01);
	assert_int_equal(said, 3);
	watch_groups_release(&host);
	count_no_more();
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
		ON_A_MACHINE(test_a_knob_stays_turned),
		ON_A_MACHINE(test_a_knob_stays_refused),
		ON_A_MACHINE(test_a_knob_that_was_turned_is_refused),
		ON_A_MACHINE(test_what_stays_as_it_is),
		ON_A_MACHINE(test_the_flushing_point_stays_raised),
		ON_A_MACHINE(test_a_group_that_halts),
		ON_A_MACHINE(test_a_group_goes_on),
		cmocka_unit_test(test_the_journal_has_what_is_for_all),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
