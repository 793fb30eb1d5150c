/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Knobs, which are recorded, turned and put back; and the reader of records. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_texts.h"
#include "knob.h"
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

/* ---- records ----------------------------------------------------------------------------- */

static char recorded[256]; /* the last one */

static bool keep(void *arg)
{
	FILE *out = fmemopen(recorded, sizeof(recorded), "w");

	state_knob(out, arg);
	fclose(out);
	return true;
}

static bool full(void *arg)
{
	(void)arg;
	return false;
}

static bool nothing(void *arg)
{
	(void)arg;
	return true;
}

static const struct knob_recorder good = {nothing, NULL};

static void test_no_record_no_turning(void **state)
{
	struct knob k;
	struct knob_recorder r = {full, &k};

	set_file(7);
	knob_init(&k, directory, "/sys/class/bdi/%s", "knob");
	assert_false(knob_turn(&k, 50, &r));
	assert_int_equal(k.error, ECANCELED);
	assert_true(!k.held && stands_at(&k) == 7);
	r.record = nothing;
	assert_true(knob_turn(&k, 50, &r));
	r.record = full;
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

static int make_directory(void **state)
{
	char path[64];

	if (!mkdtemp(directory))
		return -1;
	for (const char *const *part =
		     (const char *const[]){"/sys", "/sys/class", "/sys/class/bdi", NULL};
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
		cmocka_unit_test(test_knob_that_is_not_there),
		cmocka_unit_test(test_no_record_no_turning),
		cmocka_unit_test(test_record_comes_first),
		cmocka_unit_test(test_lines_that_are_no_record),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
