/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The agent's readers: mountinfo, settings; and knobs, which are put back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knob.h"
#include "mounts.h"
#include "settings.h"

/* ---- mountinfo --------------------------------------------------------------------------- */

static enum mount_kind kind_of(const char *line, const char *path, struct mount *m)
{
	*m = (struct mount){0};
	mount_parse(line, path, m);
	return m->kind;
}

static void test_mountinfo(void **state)
{
	struct mount m;

	assert_int_equal(kind_of("36 35 0:47 / /mnt/n rw,noatime shared:1 master:2 - nfs "
				 "server:/export rw,vers=3,rsize=1048576\n",
				 "/mnt/n", &m),
			 MOUNT_NFS3);
	assert_int_equal(m.id, 36);
	assert_string_equal(m.device, "0:47");
	assert_string_equal(m.type, "nfs");
	assert_int_equal(kind_of("36 35 0:47 / /mnt/n rw - nfs4 s:/ rw,vers=4.2,x\n", "/mnt/n", &m),
			 MOUNT_NFS4);
	assert_int_equal(kind_of("36 35 0:47 / /mnt/n rw - nfs s:/ rw,vers=2,x\n", "/mnt/n", &m),
			 MOUNT_NFS4);
	assert_int_equal(kind_of("36 35 8:1 / /mnt/n rw - ext4 /dev/sda1 rw\n", "/mnt/n", &m),
			 MOUNT_OTHER);
	assert_string_equal(m.type, "ext4");
	assert_int_equal(kind_of("36 35 0:47 / /mnt/n2 rw - nfs s:/ rw,vers=3,x\n", "/mnt/n", &m),
			 MOUNT_NONE);
	assert_int_equal(kind_of("36 35 0:47 / /mnt/n rw - nfs s:/ rw,vers=3,x\n", "/mnt/n2", &m),
			 MOUNT_NONE);
}

static void test_mountinfo_escapes(void **state)
{
	struct mount m;
	const char *line = "36 35 0:47 / /a\\040b\\134c rw - nfs a\\040b:/ rw,vers=3,x\n";

	assert_int_equal(kind_of(line, "/a b\\c", &m), MOUNT_NFS3);
	assert_int_equal(kind_of(line, "/a b", &m), MOUNT_NONE);
}

static void test_mountinfo_malformed(void **state)
{
	struct mount m;
	static const char *const lines[] = {
		"",
		"\n",
		"x",
		"36",
		"36 35 0:47",
		"36 35 0:47 /",
		"36 35 0:47 / /mnt/n",
		"36 35 0:47 / /mnt/n rw",
		"36 35 0:47 / /mnt/n rw -",
		"36 35 0:47 / /mnt/n rw - ",
		"36 35 0:47 / /mnt/n rw - nfs",
		"36 35 ../../etc / /mnt/n rw - nfs s rw,vers=3,x",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(kind_of(lines[i], "/mnt/n", &m), MOUNT_NONE);
}

/* ---- settings ---------------------------------------------------------------------------- */

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
	refused("mount", "data", "mount = data: must be an absolute path");
}

static void test_mounts_of_settings(void **state)
{
	struct settings s;
	char error[256], path[32];

	settings_init(&s);
	assert_true(settings_set(&s, "mount", "/a//", error, sizeof(error)));
	assert_string_equal(s.mounts[0], "/a");
	assert_false(settings_set(&s, "mount", "/a", error, sizeof(error)));
	for (int i = 1; i < MOUNTS_MAX; i++) {
		snprintf(path, sizeof(path), "/b%d", i);
		assert_true(settings_set(&s, "mount", path, error, sizeof(error)));
	}
	assert_false(settings_set(&s, "mount", "/c", error, sizeof(error)));
	assert_string_equal(error, "mount = /c: more than 32 mounts");
	settings_free(&s);
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

/* ---- knobs ------------------------------------------------------------------------------- */

static char directory[] = "/tmp/ra-knobs-XXXXXX";

static void set_file(unsigned int value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/knob", directory);
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

static void test_knob_is_put_back(void **state)
{
	struct knob k;

	set_file(7);
	knob_init(&k, directory, "/%s", "knob");
	assert_false(knob_turn(&k, 50)); /* not held */
	assert_true(knob_hold(&k) && knob_turn(&k, 50) && knob_turn(&k, 40));
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
	knob_init(&k, directory, "/%s", "knob");
	assert_true(knob_hold(&k) && knob_turn(&k, 50));
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
	return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/knob", directory);
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mountinfo),
		cmocka_unit_test(test_mountinfo_escapes),
		cmocka_unit_test(test_mountinfo_malformed),
		cmocka_unit_test(test_wrong_settings),
		cmocka_unit_test(test_mounts_of_settings),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_knob_is_put_back),
		cmocka_unit_test(test_somebody_elses_knob),
		cmocka_unit_test(test_knob_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
