/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Knobs, which are recorded, turned and put back; and the reader of records. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "fuzz_texts.h"
#include "knob.h"
#include "recorder.h"
#include "state.h"

static char directory[] = "/tmp/ra-knobs-XXXXXX";

static void set_file(unsigned int value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/class/bdi/knob", directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%u\n", value);
	fclose(f);
}

static uint64_t stands_at(struct knob *k)
{
	uint64_t value = 0;

	assert_true(knob_read(k, &value));
	return value;
}

/* ---- what cannot be opened now ----------------------------------------------------------- */

static int fails_with, fails_if; /* an errno, 0: none; of which kind of open() */
static const char *fails_only;	 /* of which file; NULL: of all */

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	if (fails_with && (flags & O_ACCMODE) == fails_if &&
	    (!fails_only || strcmp(path, fails_only) == 0)) {
		errno = fails_with;
		return -1;
	}
	return __real_open64(path, flags, 0600);
}

static void failing(int error, int flags)
{
	fails_with = error;
	fails_if = flags;
}

/* ---- records ----------------------------------------------------------------------------- */

static char recorded[256]; /* the last one */
static unsigned int said;  /* lines of the log */

static void count_line(enum log_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	said++;
}

static bool keep(void *arg)
{
	FILE *out = fmemopen(recorded, sizeof(recorded), "w");

	state_knob(out, arg);
	fclose(out);
	return true;
}

static const struct knob_recorder good = {record_kept, NULL};

static void test_no_record_no_turning(void **state)
{
	struct knob k;
	struct knob_recorder r = {record_full, &k};

	set_file(7);
	knob_init(&k, directory, "/sys/class/bdi/%s", "knob");
	assert_false(knob_turn(&k, 50, &r));
	assert_int_equal(k.error, ECANCELED);
	assert_true(!k.held && stands_at(&k) == 7);
	r.record = record_kept;
	assert_true(knob_turn(&k, 50, &r));
	r.record = record_full;
	assert_false(knob_turn(&k, 60, &r));
	assert_true(k.held && stands_at(&k) == 50); /* and it is put back */
	assert_true(knob_restore(&k));
	assert_int_equal(stands_at(&k), 7);
}

/* Whenever the agent dies, its record finds what it turned. */
static void test_record_comes_first(void **state)
{
	struct knob k, after;
	struct knob_recorder r = {keep, &k};

	set_file(7);
	knob_init(&k, directory, "/sys/class/bdi/%s", "knob");
	assert_true(knob_turn(&k, 50, &r) && knob_turn(&k, 40, &r));
	assert_true(state_parse(directory, recorded, &after)); /* was written before the second */
	assert_true(after.turning && after.found == 7);
	assert_true(knob_restore(&after));
	assert_int_equal(stands_at(&k), 7);
	set_file(40);
	keep(&k);
	assert_true(state_parse(directory, recorded, &after));
	assert_true(!after.turning && after.ours == 40 && after.found == 7);
}

static void test_lines_that_are_no_record(void **state)
{
	static const char *const lines[] = {
		"",
		"knob",
		"knob /sys/class/bdi/0:47/min_ratio found 0 set",
		"knob /sys/class/bdi/0:47/min_ratio found x set 1",
		"knob /sys/class/bdi/0:47/min_ratio found 0 set 1x",
		"knob /etc/passwd found 0 set 1",
		"knob /sys/class/bdi/../../../etc/passwd found 0 set any",
		"mount /sys/class/bdi/0:47/min_ratio found 0 set 1",
	};
	struct knob k;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(state_parse("", lines[i], &k));
	assert_true(state_parse("", "knob /sys/class/bdi/0:47/min_ratio found 0 set 50\n", &k));
}

static void test_the_fuzzers_short_run(void **state)
{
	static const char *const seeds[] = {
		"agent 1234\nmount /mnt/n 0:47: believed\n"
		"knob /sys/class/bdi/0:47/min_ratio found 0 set 50\n",
		"knob /proc/sys/vm/dirty_ratio found 20 set any\n",
	};

	fuzz_texts(seeds, 2, 20000);
}

/* ------------------------------------------------------------------------------------------ */

static void turn_knob(struct knob *k)
{
	set_file(7);
	knob_init(k, directory, "/sys/class/bdi/knob");
	assert_true(knob_turn(k, 50, &good));
}

static void test_knob_is_put_back(void **state)
{
	struct knob k;

	set_file(7);
	knob_init(&k, directory, "/sys/class/bdi/%s", "knob");
	assert_true(knob_turn(&k, 50, &good) && knob_turn(&k, 40, &good));
	assert_int_equal(stands_at(&k), 40);
	assert_true(knob_hold(&k)); /* is still what was found first */
	assert_true(knob_restore(&k));
	assert_int_equal(stands_at(&k), 7);
	assert_true(knob_restore(&k));
}

static void test_somebody_elses_knob(void **state)
{
	struct knob k;

	set_file(7);
	knob_init(&k, directory, "/sys/class/bdi/%s", "knob");
	assert_true(knob_hold(&k) && knob_turn(&k, 50, &good));
	set_file(60);
	assert_false(knob_restore(&k));
	assert_int_equal(k.error, EBUSY);
	assert_int_equal(stands_at(&k), 60);
}

/* Turned by somebody else between two turns of ours: at the end it stands where they had it. */
static void test_somebody_elses_knob_is_turned_again(void **state)
{
	struct knob k, after;
	const struct knob_recorder r = {keep, &k};

	set_file(7);
	knob_init(&k, directory, "/sys/class/bdi/%s", "knob");
	said = 0;
	assert_true(knob_turn(&k, 50, &r));
	set_file(60);
	assert_true(knob_turn(&k, 40, &r));
	assert_int_equal(stands_at(&k), 40);
	assert_true(state_parse(directory, recorded, &after)); /* also after kill -9 */
	assert_int_equal(after.found, 60);
	set_file(80);
	assert_true(knob_turn(&k, 30, &r));
	assert_int_equal(said, 1);
	assert_true(knob_restore(&k));
	assert_int_equal(stands_at(&k), 80);
}

/* A number no more, or not to be read: it is not known to be ours. */
static void test_a_held_knob_that_cannot_be_read(void **state)
{
	struct knob k;

	turn_knob(&k);
	failing(EMFILE, O_RDONLY);
	assert_false(knob_turn(&k, 40, &good));
	assert_int_equal(k.error, EMFILE);
	failing(0, 0);
	assert_true(k.held && stands_at(&k) == 50);
	assert_true(knob_restore(&k));
	assert_int_equal(stands_at(&k), 7);
}

static void test_knob_that_is_not_there(void **state)
{
	struct knob k;
	char longer[300];

	knob_init(&k, directory, "/nothing");
	assert_false(knob_hold(&k));
	assert_int_equal(k.error, ENOENT);
	assert_true(knob_restore(&k));
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	knob_init(&k, directory, "/%s", longer);
	assert_string_equal(k.path, "");
}

static void test_what_cannot_be_put_back_is_left(void **state)
{
	static const struct {
		int error, flags;
	} faults[] = {
		{EROFS, O_WRONLY}, {EACCES, O_WRONLY}, {EMFILE, O_WRONLY}, {ENFILE, O_RDONLY}};
	struct knob k;

	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		turn_knob(&k);
		failing(faults[i].error, faults[i].flags);
		assert_false(knob_restore(&k));
		assert_int_equal(k.error, faults[i].error);
		assert_non_null(knob_left(0));
		assert_null(knob_left(1));
		assert_int_equal(knob_left_restore(), 0);
		failing(0, 0);
		assert_int_equal(stands_at(&k), 50);
		assert_int_equal(knob_left_restore(), 1);
		assert_null(knob_left(0));
		assert_int_equal(stands_at(&k), 7);
	}
}

/* A turn that was refused has changed nothing: what stands there later is somebody else's. */
static void test_a_refused_turn_leaves_it(void **state)
{
	struct knob k;

	turn_knob(&k);
	failing(EINVAL, O_WRONLY);
	assert_false(knob_turn(&k, 60, &good));
	assert_int_equal(k.error, EINVAL);
	failing(0, 0);
	assert_true(knob_holds_on(&k));
	set_file(70);
	assert_false(knob_holds_on(&k));
	assert_false(knob_restore(&k));
	assert_int_equal(k.error, EBUSY);
	assert_int_equal(stands_at(&k), 70);
	set_file(7);
	failing(EINVAL, O_WRONLY);
	assert_false(knob_turn(&k, 60, &good));
	failing(0, 0);
	assert_false(knob_holds_on(&k)); /* nor had any before */
	assert_true(knob_restore(&k));
}

/* It cannot be put back for a while. */
static void leave_turned(struct knob *k)
{
	turn_knob(k);
	failing(EROFS, O_WRONLY);
	assert_false(knob_restore(k));
	failing(0, 0);
}

/* What was found is what was found at first, not what we have left there. */
static void test_what_is_left_is_turned_again(void **state)
{
	struct knob k, again;

	leave_turned(&k);
	knob_init(&again, directory, "/sys/class/bdi/knob");
	assert_true(knob_turn(&again, 60, &good));
	assert_null(knob_left(0));
	assert_true(knob_restore(&again));
	assert_int_equal(stands_at(&k), 7);
}

/* It is not forgotten where it cannot be recorded that it is to be turned again. */
static void test_what_is_left_stays_left(void **state)
{
	const struct knob_recorder full = {record_full, NULL};
	struct knob k, again;

	leave_turned(&k);
	knob_init(&again, directory, "/sys/class/bdi/knob");
	assert_false(knob_turn(&again, 60, &full));
	assert_int_equal(again.error, ECANCELED);
	assert_true(knob_restore(&again));
	assert_int_equal(stands_at(&k), 50);
	assert_int_equal(knob_left_restore(), 1);
	assert_null(knob_left(0));
	assert_int_equal(stands_at(&k), 7);
}

static void test_what_is_left_is_let_go_of(void **state)
{
	char path[64];
	struct knob k;

	leave_turned(&k);
	set_file(60); /* somebody else's by now */
	assert_int_equal(knob_left_restore(), 0);
	assert_null(knob_left(0));
	leave_turned(&k);
	snprintf(path, sizeof(path), "%s/sys/class/bdi/knob", directory);
	unlink(path); /* and gone with its mount */
	assert_int_equal(knob_left_restore(), 0);
	assert_null(knob_left(0));
}

/* It stays in the record, for --restore and the next agent. */
static void test_what_is_left_stays_in_the_record(void **state)
{
	char text[512];
	struct knob k;

	turn_knob(&k);
	snprintf(text, sizeof(text), "agent 1\nknob %s found 7 set 50\n", k.path);
	assert_int_equal(state_write(directory, text), 0);
	failing(EROFS, O_WRONLY);
	fails_only = k.path;
	assert_int_equal(state_restore(directory), 0);
	fails_only = NULL;
	failing(0, 0);
	assert_true(state_stands(directory) && knob_left(0));
	assert_int_equal(knob_left_restore(), 1); /* as in this process; another reads the record */
	set_file(50);
	assert_int_equal(state_restore(directory), 1);
	assert_int_equal(stands_at(&k), 7);
	assert_false(state_stands(directory));
}

/* The text was cut off: what the knob was set to is not known. */
static void test_a_line_that_is_cut_off(void **state)
{
	char text[512];
	struct knob k;

	turn_knob(&k);
	k.held = false;
	snprintf(text, sizeof(text), "agent 1\nknob %s found 7 set 5", k.path);
	assert_int_equal(state_write(directory, text), 0);
	assert_int_equal(state_restore(directory), 1);
	assert_int_equal(stands_at(&k), 7);
}

static int make_directory(void **state)
{
	char path[64];

	log_set_writer(count_line);
	if (!mkdtemp(directory))
		return -1;
	for (const char *const *part =
		     (const char *const[]){"/run", "/sys", "/sys/class", "/sys/class/bdi", NULL};
	     *part; part++) {
		snprintf(path, sizeof(path), "%s%s", directory, *part);
		if (mkdir(path, 0700))
			return -1;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *at)
{
	return remove(path);
}

static int remove_directory(void **state)
{
	return nftw(directory, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knob_is_put_back),
		cmocka_unit_test(test_somebody_elses_knob),
		cmocka_unit_test(test_somebody_elses_knob_is_turned_again),
		cmocka_unit_test(test_a_held_knob_that_cannot_be_read),
		cmocka_unit_test(test_knob_that_is_not_there),
		cmocka_unit_test(test_no_record_no_turning),
		cmocka_unit_test(test_record_comes_first),
		cmocka_unit_test(test_lines_that_are_no_record),
		cmocka_unit_test(test_what_cannot_be_put_back_is_left),
		cmocka_unit_test(test_a_refused_turn_leaves_it),
		cmocka_unit_test(test_what_is_left_is_turned_again),
		cmocka_unit_test(test_what_is_left_stays_left),
		cmocka_unit_test(test_what_is_left_is_let_go_of),
		cmocka_unit_test(test_what_is_left_stays_in_the_record),
		cmocka_unit_test(test_a_line_that_is_cut_off),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
