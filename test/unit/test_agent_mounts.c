/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The agent's reader of mountinfo. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <stdio.h>
#include <string.h>

#include "fuzz_texts.h"
#include "mounts.h"

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

static void test_kinds_of_mount(void **state)
{
	static const struct {
		const char *tail, *obstacle;
		enum mount_kind kind;
	} cases[] = {
		{"nfs s:/ rw,vers=3,rsize=1\n", "", MOUNT_NFS3},
		{"nfs s:/ vers=3\n", "", MOUNT_NFS3},
		{"nfs s:/ rw,vers=3", "", MOUNT_NFS3},
		{"nfs s:/ rw,mountvers=3,vers=2,x\n",
		 "is NFS of another version: prices need vers=3", MOUNT_NFS4},
		{"nfs s:/ rw,vers=30,x\n", "is NFS of another version: prices need vers=3",
		 MOUNT_NFS4},
		{"autofs auto.direct rw,fd=6,timeout=300,direct\n",
		 "waits to be mounted (autofs): not yet", MOUNT_AUTOFS},
		{"ext4 /dev/sda1 rw\n", "is ext4, not NFS", MOUNT_OTHER},
	};
	char line[256], obstacle[64];
	struct mount m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "36 35 0:47 / /mnt/n rw - %s", cases[i].tail);
		assert_int_equal(kind_of(line, "/mnt/n", &m), cases[i].kind);
		assert_string_equal(mount_obstacle(&m, obstacle, sizeof(obstacle)),
				    cases[i].obstacle);
	}
	m = (struct mount){0};
	assert_string_equal(mount_obstacle(&m, obstacle, sizeof(obstacle)),
			    "nothing is mounted there: not yet");
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
		"36 35 0:47 / /mnt/\\ rw - nfs s rw,vers=3,x",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(kind_of(lines[i], "/mnt/n", &m), MOUNT_NONE);
}

static void test_the_fuzzers_short_run(void **state)
{
	static const char *const seeds[] = {
		"/mnt/n\n36 35 0:47 / /mnt/n rw,noatime shared:1 - nfs server:/export "
		"rw,vers=3,x\n",
		"/a b\n36 35 0:47 / /a\\040b rw - autofs a rw\n37 36 8:1 / /a\\040b rw - ext4 d "
		"rw\n",
	};

	fuzz_texts(seeds, 2, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mountinfo),
		cmocka_unit_test(test_kinds_of_mount),
		cmocka_unit_test(test_mountinfo_escapes),
		cmocka_unit_test(test_mountinfo_malformed),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
