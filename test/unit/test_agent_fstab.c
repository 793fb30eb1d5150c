/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Mounts that fstab names as the agent's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <stdio.h>
#include <string.h>

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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fstab_parse(cases[i].line, path, sizeof(path)),
				 cases[i].path != NULL);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
	}
}

static bool read_text(struct settings *s, const char *text, char *error, size_t size)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	bool good = settings_read_fstab(s, file, "fstab", error, size);

	fclose(file);
	return good;
}

static void test_mounts_join_those_of_the_settings(void **state)
{
	struct settings s;
	char error[256] = "";

	settings_init(&s);
	assert_true(settings_set(&s, "mount", "/mnt/n", error, sizeof(error)));
	assert_true(read_text(&s,
			      "/dev/sda1 / ext4 defaults 0 1\n"
			      "s:/e /mnt/n/ nfs x-ca-nfs 0 0\ns:/f /mnt/o nfs x-ca-nfs 0 0\n",
			      error, sizeof(error)));
	assert_int_equal(s.mount_count, 2);
	assert_string_equal(s.mounts[1], "/mnt/o");
	assert_false(read_text(&s, "\ns:/f none nfs x-ca-nfs 0 0\n", error, sizeof(error)));
	assert_string_equal(error, "fstab, line 2: mount = none: must be an absolute path");
	settings_free(&s);
}

static void test_none_is_ours(void **state)
{
	struct settings s;
	char error[256] = "";

	settings_init(&s);
	assert_true(settings_set(&s, "fstab", "yes", error, sizeof(error)));
	assert_true(read_text(&s, "/dev/sda1 / ext4 defaults 0 1\n", error, sizeof(error)));
	assert_false(settings_check(&s, error, sizeof(error)));
	assert_string_equal(error, "which mounts? none in /etc/fstab has the option x-ca-nfs");
}

static void test_the_fuzzers_short_run(void **state)
{
	static const char *const seeds[] = {
		"s:/e /mnt/n nfs vers=3,x-ca-nfs 0 0\n# comment\ns:/f /my\\040x nfs x-ca-nfs\n",
		"/dev/sda1 / ext4 defaults 0 1\ns:/e\t/mnt/n\tnfs\tx-ca-nfs,vers=3",
	};

	fuzz_texts(seeds, 2, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_mounts_join_those_of_the_settings),
		cmocka_unit_test(test_none_is_ours),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
