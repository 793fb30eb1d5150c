/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the agent is told: settings of files and of the command line. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_texts.h"
#include "settings.h"

static void refused(const char *name, const char *value, const char *text)
{
	struct settings s;
	char error[256] = "";

	settings_init(&s);
	assert_false(settings_set(&s, name, value, error, sizeof(error)));
	assert_string_equal(error, text);
	settings_free(&s);
}

static void test_wrong_settings(void **state)
{
	refused("interval", "20", "interval = 20: must be a number from 0.25 to 10 seconds");
	refused("interval", "", "interval = : must be a number from 0.25 to 10 seconds");
	refused("interval", "2x", "interval = 2x: must be a number from 0.25 to 10 seconds");
	refused("interval", "nan", "interval = nan: must be a number from 0.25 to 10 seconds");
	refused("readahead-min", "16.5",
		"readahead-min = 16.5: must be a whole number from 4 to 65536 KiB");
	refused("defer", "true", "defer = true: must be yes or no");
	refused("speed", "1", "speed: there is no such setting");
	refused("dry-run", "yes", "dry-run: there is no such setting");
	refused("wait", "yes", "wait: there is no such setting");
	refused("mount", "data", "mount = data: must be an absolute path");
	refused("metrics", "a.prom",
		"metrics = a.prom: must be an absolute path of at most 255 bytes");
}

static void test_metrics(void **state)
{
	struct settings s;
	char error[256], path[SETTINGS_FILE + 1];

	settings_init(&s);
	assert_string_equal(s.metrics, "");
	memset(path, 'a', SETTINGS_FILE);
	path[0] = path[1] = '/';
	path[SETTINGS_FILE] = 0;
	assert_false(settings_set(&s, "metrics", path, error, sizeof(error)));
	assert_true(settings_set(&s, "metrics", path + 1, error, sizeof(error)));
	assert_string_equal(s.metrics, path + 1);
	assert_true(settings_set(&s, "metrics", "/var//lib/./a.prom", error, sizeof(error)));
	assert_string_equal(s.metrics, "/var/lib/a.prom");
	settings_free(&s);
}

static void test_mounts_of_settings(void **state)
{
	struct settings s;
	char error[256], path[32];

	settings_init(&s);
	assert_true(settings_set(&s, "mount", "/a//", error, sizeof(error)));
	assert_string_equal(s.mounts[0], "/a");
	assert_false(settings_set(&s, "mount", "/a", error, sizeof(error)));
	assert_false(settings_set(&s, "mount", "//./a/.", error, sizeof(error)));
	assert_true(settings_has_mount(&s, "/.//a") && !settings_has_mount(&s, "/.a"));
	assert_true(settings_set(&s, "weight", "3 //a/./", error, sizeof(error)));
	assert_true(weights_of(&s.weights, "/a") == 3 && weights_has(&s.weights, "/./a"));
	for (int i = 1; i < MOUNTS_MAX; i++) {
		snprintf(path, sizeof(path), "/b%d", i);
		assert_true(settings_set(&s, "mount", path, error, sizeof(error)));
	}
	assert_false(settings_set(&s, "mount", "/c", error, sizeof(error)));
	assert_string_equal(error, "mount = /c: more than 512 mounts");
	settings_free(&s);
}

/* As the kernel has them, as far as the text says: else they would never be found there. */
static void test_ways_to_write_a_path(void **state)
{
	static const char *const ways[][2] = {
		{"/", "/"},
		{"//", "/"},
		{"/.", "/"},
		{"/a/./b", "/a/b"},
		{"/srv//data", "/srv/data"},
		{"/a/..b/.c/", "/a/..b/.c"},
		{"/a/../b", "/a/../b"}, /* a link in it may say otherwise */
	};
	char error[256];

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct settings s;

		settings_init(&s);
		assert_true(settings_set(&s, "mount", ways[i][0], error, sizeof(error)));
		assert_string_equal(s.mounts[0], ways[i][1]);
		settings_free(&s);
	}
}

static bool parse(struct settings *s, char *error, size_t size, ...)
{
	char *argv[16] = {"ca-nfs-agent"};
	int argc = 1;
	va_list args;

	va_start(args, size);
	while ((argv[argc] = va_arg(args, char *)))
		argc++;
	va_end(args);
	settings_init(s);
	return settings_parse(s, argc, argv, error, size) && settings_check(s, error, size);
}

static void test_command_line(void **state)
{
	struct settings s;
	char error[256];

	assert_true(parse(&s, error, sizeof(error), "--interval", "1.5", "/a", "--defer=no",
			  "--dry-run", "--", "/-b", NULL));
	assert_true(s.interval == 1.5 && !s.decide.defer && s.decide.accelerate && s.dry_run);
	assert_int_equal(s.mount_count, 2);
	assert_string_equal(s.mounts[1], "/-b");
	settings_free(&s);
	assert_false(parse(&s, error, sizeof(error), "/a", "--interval", NULL));
	assert_string_equal(error, "--interval: wants a value");
	settings_free(&s);
	assert_false(parse(&s, error, sizeof(error), "--dry-run=1", "/a", NULL));
	assert_string_equal(error, "--dry-run: takes no value");
	assert_false(parse(&s, error, sizeof(error), "--speed", "1", NULL));
	assert_string_equal(error, "--speed: there is no such option; --help lists them");
	assert_false(parse(&s, error, sizeof(error), "-x", NULL));
	assert_false(parse(&s, error, sizeof(error), "--", NULL));
	assert_string_equal(error, "which mounts? name them, or a file with --config");
	assert_false(parse(&s, error, sizeof(error), "--config", "/nowhere", NULL));
	assert_string_equal(error, "/nowhere: No such file or directory");
	assert_false(parse(&s, error, sizeof(error), "--readahead-min=2048", "/a", NULL));
	assert_string_equal(error, "readahead-min = 2048: must not be above readahead-max = 1024");
	settings_free(&s);
}

static bool read_text(struct settings *s, const char *text, char *error, size_t size)
{
	char path[] = "/tmp/ra-settings-XXXXXX";
	int fd = mkstemp(path);
	bool good;

	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	settings_init(s);
	good = settings_read(s, path, error, size);
	unlink(path);
	return good;
}

static void test_file(void **state)
{
	struct settings s;
	char error[512];

	assert_true(read_text(&s,
			      "# a comment\n\n  interval\t1\nmount  /a b \nmount /c\n"
			      "accelerate no",
			      error, sizeof(error)));
	assert_true(s.interval == 1 && !s.decide.accelerate);
	assert_int_equal(s.mount_count, 2);
	assert_string_equal(s.mounts[0], "/a b");
	settings_free(&s);
	assert_false(read_text(&s, "interval 1\nspeed 3\n", error, sizeof(error)));
	assert_non_null(strstr(error, ", line 2: speed: there is no such setting"));
	assert_false(read_text(&s, "interval", error, sizeof(error)));
	assert_non_null(strstr(error, ", line 1: interval: has no value"));
}

static void test_wrong_together(void **state)
{
	struct settings s;
	char error[256];

	assert_false(parse(&s, error, sizeof(error), "--answer=1", "--interval", "2", "/a", NULL));
	assert_string_equal(error, "answer = 1: must not be below interval = 2");
	settings_free(&s);
	assert_false(parse(&s, error, sizeof(error), "/a", "b", NULL));
	assert_string_equal(error, "mount = b: must be an absolute path");
	settings_free(&s);
	assert_true(parse(&s, error, sizeof(error), "-h", "--stop", "--once", "/", NULL));
	assert_true(s.help && s.stop && s.once && strcmp(s.mounts[0], "/") == 0);
	settings_free(&s);
}

static void test_files_of_the_command_line(void **state)
{
	char path[] = "/tmp/ra-settings-XXXXXX", error[512];
	int fd = mkstemp(path);
	struct settings s;

	assert_true(write(fd, "mount /a\nfstab yes\n", 19) == 19);
	close(fd);
	assert_true(parse(&s, error, sizeof(error), "--config", path, "--fstab=no", NULL));
	assert_string_equal(s.mounts[0], "/a");
	settings_free(&s);
	assert_true(parse(&s, error, sizeof(error), "--config", path, "--root=/nowhere", NULL));
	assert_int_equal(s.mount_count, 1); /* no fstab there: no mount more */
	assert_string_equal(s.root, "/nowhere");
	settings_free(&s);
	assert_true(parse(&s, error, sizeof(error), "--replies", path, "/b", NULL));
	assert_string_equal(s.replies, path);
	settings_free(&s);
	unlink(path);
}

/* A line as long as may be, and one longer. */
static void test_long_lines(void **state)
{
	struct settings s;
	char text[SETTINGS_LINE + 2], error[SETTINGS_LINE + 512];

	memset(text, 'x', sizeof(text));
	memcpy(text, "mount /", 7);
	text[SETTINGS_LINE - 2] = '\n';
	text[SETTINGS_LINE - 1] = '\0';
	assert_true(read_text(&s, text, error, sizeof(error)));
	assert_int_equal(strlen(s.mounts[0]), SETTINGS_LINE - 2 - 6);
	settings_free(&s);
	text[SETTINGS_LINE - 2] = text[SETTINGS_LINE - 1] = 'x';
	text[SETTINGS_LINE] = '\n';
	text[SETTINGS_LINE + 1] = '\0';
	assert_false(read_text(&s, text, error, sizeof(error)));
	assert_non_null(strstr(error, ", line 1: longer than 4350 bytes"));
	settings_free(&s);
}

static void test_help(void **state)
{
	settings_help("ca-nfs-agent");
}

static void test_the_fuzzers_short_run(void **state)
{
	static const char *const seeds[] = {
		"# a comment\n\n  interval\t1\nmount  /a b \nmount /c\naccelerate no",
		"readahead-min 16\nreadahead-max 1024\nk-memory 1e4\ndefer-max 24\nmount /\n",
	};

	fuzz_texts(seeds, 2, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_settings),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_mounts_of_settings),
		cmocka_unit_test(test_ways_to_write_a_path),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_wrong_together),
		cmocka_unit_test(test_files_of_the_command_line),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
