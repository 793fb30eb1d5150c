/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Mounts that have the agent's option, in fstab or in utab. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <stdio.h>
#include <string.h>

#include "agent_files.h"
#include "fstab.h"
#include "fuzz_texts.h"
#include "settings.h"

static void test_lines(void **state)
{
	static const struct {
		const char *line, *path; /* NULL: not ours */
	} cases[] = {
		{"s:/e /mnt/n nfs vers=3,x-ca-nfs 0 0\n", "/mnt/n"},
		{"s:/e\t/mnt/n\tnfs\tx-ca-nfs,vers=3", "/mnt/n"},
		{"  s:/e  /my\\040data\\134x  nfs  x-ca-nfs\n", "/my data\\x"},
		{"s:/e /mnt/n nfs vers=3,x-ca-nfsd 0 0\n", NULL},
		{"s:/e /mnt/n nfs vers=3,no-x-ca-nfs 0 0\n", NULL},
		{"s:/e /mnt/n nfs vers=3 x-ca-nfs 0\n", NULL},
		{"s:/e /mnt/x-ca-nfs nfs vers=3 0 0\n", NULL},
		{"#s:/e /mnt/n nfs x-ca-nfs 0 0\n", NULL},
		{"s:/e /mnt/n nfs\n", NULL},
		{"\n", NULL},
		{"", NULL},
		{"s:/e /longer/than/fits/into/the/path nfs x-ca-nfs\n", NULL},
	};
	char path[24];
	struct fstab_mount m = {.path = path, .size = sizeof(path)};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fstab_parse(cases[i].line, &m), cases[i].path != NULL);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
	}
}

static void test_lines_of_utab(void **state)
{
	static const struct {
		const char *line, *path; /* NULL: not ours */
	} cases[] = {
		{"SRC=s:/e TARGET=/mnt/n ROOT=/ OPTS=x-ca-nfs\n", "/mnt/n"},
		{"ID=61 UNIQID=4294969 SRC=s:/e TARGET=/my\\040data OPTS=user=a,x-ca-nfs,_netdev\n",
		 "/my data"},
		{"OPTS=x-ca-nfs TARGET=/mnt/n", "/mnt/n"},
		{"SRC=s:/e TARGET=/mnt/n ROOT=/ OPTS=user=x-ca-nfs\n", NULL},
		{"SRC=s:/e TARGET=/mnt/n ROOT=/ ATTRS=x-ca-nfs\n", NULL},
		{"SRC=s:/e TARGET=/mnt/n ROOT=/\n", NULL},
		{"SRC=s:/e ROOT=/ OPTS=x-ca-nfs\n", NULL},
		{"SRC=s:/e TARGET= ROOT=/ OPTS=x-ca-nfs\n", NULL},
		{"TARGET=/longer/than/fits/into/the/path OPTS=x-ca-nfs\n", NULL},
		{"s:/e /mnt/n nfs x-ca-nfs\n", NULL},
		{"\n", NULL},
		{"", NULL},
	};
	char path[24];
	struct fstab_mount m = {.path = path, .size = sizeof(path)};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(utab_parse(cases[i].line, &m), cases[i].path != NULL);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
	}
}

/* Said alone it is enough; the last of two counts; whatever stands there is handed on. */
static void test_weights_in_lines(void **state)
{
	static const struct {
		const char *line, *weight; /* NULL: none */
	} cases[] = {
		{"s:/e /mnt/n nfs vers=3,x-ca-nfs,x-ca-nfs.weight=0.1,hard 0 0\n", "0.1"},
		{"s:/e /mnt/n nfs x-ca-nfs.weight=10", "10"},
		{"s:/e /mnt/n nfs x-ca-nfs.weight=2,x-ca-nfs.weight=3 0 0\n", "3"},
		{"s:/e /mnt/n nfs x-ca-nfs.weight=,x-ca-nfs 0 0\n", ""},
		{"s:/e /mnt/n nfs x-ca-nfs,x-ca-nfs.weights=2 0 0\n", NULL},
		{"SRC=s:/e TARGET=/mnt/n ROOT=/ OPTS=user=a,x-ca-nfs.weight=0.5\n", "0.5"},
		{"SRC=s:/e TARGET=/mnt/n ROOT=/ OPTS=x-ca-nfs\n", NULL},
	};
	char path[24];
	struct fstab_mount m = {.path = path, .size = sizeof(path)};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		settings_mount_line parse = cases[i].line[0] == 'S' ? utab_parse : fstab_parse;

		assert_true(parse(cases[i].line, &m));
		assert_string_equal(path, "/mnt/n");
		assert_int_equal(m.weight != NULL, cases[i].weight != NULL);
		if (m.weight) {
			assert_int_equal(m.weight_length, strlen(cases[i].weight));
			assert_memory_equal(m.weight, cases[i].weight, m.weight_length);
		}
	}
}

static void add_text(struct settings *s, const char *text, settings_mount_line parse)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	*files_said = '\0';
	settings_add_mounts(s, file, "tab", parse);
	fclose(file);
}

static void test_mounts_join_those_of_the_settings(void **state)
{
	struct settings s;
	char error[256] = "";

	settings_init(&s);
	assert_true(settings_set(&s, "mount", "/mnt/n", error, sizeof(error)));
	add_text(&s,
		 "/dev/sda1 / ext4 defaults 0 1\n"
		 "s:/e /mnt/n/ nfs x-ca-nfs 0 0\ns:/f /mnt/o nfs x-ca-nfs 0 0\n",
		 fstab_parse);
	assert_int_equal(s.mount_count, 2);
	assert_string_equal(s.mounts[1], "/mnt/o");
	assert_string_equal(files_said, "");
	settings_free(&s);
}

/* One that cannot be looked after never keeps the others from being. */
static void test_not_this_one(void **state)
{
	char line[64];
	struct settings s;

	settings_init(&s);
	add_text(&s, "\ns:/f none nfs x-ca-nfs 0 0\ns:/f /mnt/o nfs x-ca-nfs 0 0\n", fstab_parse);
	assert_string_equal(files_said, "tab, line 2: mount = none: must be an absolute path: "
					"not this one");
	assert_int_equal(s.mount_count, 1);
	for (int i = 0; i <= MOUNTS_MAX; i++) {
		snprintf(line, sizeof(line), "TARGET=/mnt/%d OPTS=x-ca-nfs\n", i);
		add_text(&s, line, utab_parse);
	}
	assert_int_equal(s.mount_count, MOUNTS_MAX);
	assert_string_equal(files_said, "tab: not looked after, more than 512 mounts: 1");
	settings_free(&s);
}

static void test_weights_join_those_of_the_settings(void **state)
{
	struct settings s;
	char error[256] = "";

	settings_init(&s);
	assert_true(settings_set(&s, "weight", "4 /mnt/n", error, sizeof(error)));
	assert_true(settings_set(&s, "mount", "/mnt/o", error, sizeof(error)));
	add_text(&s,
		 "s:/e /mnt/n/ nfs x-ca-nfs.weight=0.5 0 0\ns:/f /mnt/o nfs x-ca-nfs.weight=0.1 0 "
		 "0\n",
		 fstab_parse);
	assert_string_equal(files_said, "");
	assert_true(weights_of(&s.weights, "/mnt/n") == 4); /* the setting's */
	assert_true(weights_of(&s.weights, "/mnt/o") == 0.1);
	settings_free(&s);
}

/* The mount is looked after all the same. */
static void test_bad_weights(void **state)
{
	static const char *const bad[] = {"0", "101", "-1", "much", "", "0.1x", "nan", "0x1p900"};
	char line[128];
	struct settings s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		settings_init(&s);
		snprintf(line, sizeof(line), "s:/e /mnt/n nfs x-ca-nfs.weight=%s 0 0\n", bad[i]);
		add_text(&s, line, fstab_parse);
		snprintf(line, sizeof(line), "tab, line 1: x-ca-nfs.weight=%s: ", bad[i]);
		assert_int_equal(strncmp(files_said, line, strlen(line)), 0);
		assert_non_null(strstr(files_said, "a number from 0.01 to 100"));
		assert_int_equal(s.mount_count, 1);
		assert_true(weights_of(&s.weights, "/mnt/n") == 1);
		settings_free(&s);
	}
}

/* None yet is no error. */
static void test_none_is_ours(void **state)
{
	struct settings s;
	char error[256] = "";

	settings_init(&s);
	assert_true(settings_set(&s, "fstab", "yes", error, sizeof(error)));
	assert_true(settings_check(&s, error, sizeof(error)));
}

#define UTAB_O "SRC=s:/f TARGET=/mnt/o ROOT=/ OPTS=x-ca-nfs\n"

static bool others(const struct settings *s, struct settings *fresh)
{
	char error[256];

	assert_true(settings_follow(s, fresh, error, sizeof(error)));
	return !settings_same_mounts(s, fresh);
}

static void test_what_is_mounted_so_comes_and_goes(void **state)
{
	char *argv[] = {"agent", "--fstab", "yes", "--root", files_root};
	char error[256];
	struct settings s, fresh;

	settings_init(&s);
	assert_true(settings_parse(&s, 5, argv, error, sizeof(error))); /* neither file is there */
	assert_int_equal(s.mount_count, 0);
	assert_int_equal(mkdir(files_path("/etc"), 0700), 0);
	assert_int_equal(mkdir(files_path("/run/mount"), 0700), 0);
	files_put("/etc/fstab", "s:/e /mnt/n nfs x-ca-nfs 0 0\n");
	files_put("/run/mount/utab", UTAB_O);
	assert_true(settings_parse(&s, 5, argv, error, sizeof(error)));
	assert_int_equal(s.mount_count, 2);
	assert_int_equal(s.named, 1);
	assert_false(others(&s, &fresh));
	settings_free(&fresh);
	files_put("/run/mount/utab", "SRC=s:/f TARGET=/mnt/p OPTS=x-ca-nfs\n" UTAB_O);
	assert_true(others(&s, &fresh));
	assert_int_equal(fresh.mount_count, 3);
	settings_free(&s);
	files_put("/run/mount/utab",
		  "SRC=s:/f TARGET=/mnt/p OPTS=x-ca-nfs,x-ca-nfs.weight=0.1\n" UTAB_O);
	assert_true(others(&fresh, &s)); /* mounted again, with another weight */
	assert_true(weights_of(&s.weights, "/mnt/p") == 0.1);
	settings_free(&fresh);
	assert_false(others(&s, &fresh));
	settings_free(&s);
	unlink(files_path("/run/mount/utab"));
	assert_true(others(&fresh, &s));
	assert_true(weights_of(&s.weights, "/mnt/p") == 1);
	assert_int_equal(s.mount_count, 1);
	assert_string_equal(s.mounts[0], "/mnt/n");
	settings_free(&fresh);
	settings_free(&s);
}

/* A file that cannot be read may name any mount: that is no reason to let go of those it named. */
static void test_what_cannot_be_read(void **state)
{
	static const char *const files[] = {"/etc/fstab", "/run/mount/utab"};
	char *argv[] = {"agent", "--fstab", "yes", "--root", files_root};
	char error[256] = "";
	struct settings s, fresh;

	for (unsigned int i = 0; i < 2; i++) {
		unlink(files_path(files[0]));
		assert_int_equal(mkdir(files_path(files[i]), 0700), 0);
		settings_init(&s);
		assert_false(settings_parse(&s, 5, argv, error, sizeof(error)));
		assert_non_null(strstr(error, files[i]));
		assert_non_null(strstr(error, ": cannot be read"));
		if (i)
			assert_false(settings_follow(&s, &fresh, error, sizeof(error)));
		settings_free(&s);
		rmdir(files_path(files[i]));
	}
	unlink(files_path("/etc/fstab"));
	assert_int_equal(symlink("fstab", files_path("/etc/fstab")), 0); /* ELOOP */
	settings_init(&s);
	assert_false(settings_parse(&s, 5, argv, error, sizeof(error)));
	assert_non_null(strstr(error, "/etc/fstab: Too many"));
	settings_free(&s);
	unlink(files_path("/etc/fstab"));
}

/* The end of a long line is no line. */
static void test_long_lines_of_fstab(void **state)
{
	static char text[3 * SETTINGS_LINE];
	struct settings s;

	settings_init(&s);
	memset(text, 'x', sizeof(text));
	text[0] = '#';
	snprintf(text + SETTINGS_LINE - 1, sizeof(text) - SETTINGS_LINE,
		 "s:/e /mnt/n nfs x-ca-nfs 0 0\ns:/f /mnt/o nfs x-ca-nfs 0 0\n");
	add_text(&s, text, fstab_parse);
	assert_string_equal(files_said, "tab, line 1: longer than 4350 bytes: not this one");
	assert_int_equal(s.mount_count, 1);
	assert_string_equal(s.mounts[0], "/mnt/o");
	settings_free(&s);
}

static void test_the_fuzzers_short_run(void **state)
{
	static const char *const seeds[] = {
		"s:/e /mnt/n nfs vers=3,x-ca-nfs 0 0\n# comment\ns:/f /my\\040x nfs x-ca-nfs\n",
		"SRC=s:/e TARGET=/my\\040x ROOT=/ OPTS=a,x-ca-nfs\nTARGET=/ OPTS=x-ca-nfs.weight=2",
		"/dev/sda1 / ext4 defaults 0 1\ns:/e\t/mnt/n\tnfs\tx-ca-nfs,vers=3",
	};

	fuzz_texts(seeds, 3, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_of_utab),
		cmocka_unit_test(test_weights_in_lines),
		cmocka_unit_test(test_mounts_join_those_of_the_settings),
		cmocka_unit_test(test_weights_join_those_of_the_settings),
		cmocka_unit_test(test_bad_weights),
		cmocka_unit_test(test_not_this_one),
		cmocka_unit_test(test_what_is_mounted_so_comes_and_goes),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_long_lines_of_fstab),
		cmocka_unit_test(test_none_is_ours),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
