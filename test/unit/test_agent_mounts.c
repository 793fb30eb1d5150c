/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The agent's reader of mountinfo. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent_files.h"
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

static void test_servers(void **state)
{
	struct mount a, b;

	kind_of("36 35 0:47 / /mnt/n rw - nfs [fe80::1]:/e rw,vers=3,x\n", "/mnt/n", &a);
	kind_of("37 35 0:48 / /mnt/n rw - nfs [fe80::1]:/f rw,vers=3,x\n", "/mnt/n", &b);
	assert_int_equal(a.server, b.server);
	kind_of("37 35 0:48 / /mnt/n rw - nfs other:/e rw,vers=3,x\n", "/mnt/n", &b);
	assert_int_not_equal(a.server, b.server);
}

/* umount and mount at once: the kernel gives the same id and device again. */
static void test_another_server_is_another_mount(void **state)
{
	static const char *const sources[] = {"other:/e", "s:/f", "s:/"};
	struct mount a, b;
	char line[80];

	kind_of("36 35 0:47 / /mnt/n rw - nfs s:/e rw,vers=3,x\n", "/mnt/n", &a);
	kind_of("36 35 0:47 / /mnt/n ro - nfs s:/e ro,vers=3,x\n", "/mnt/n", &b);
	assert_true(mount_same(&a, &b));
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(line, sizeof(line), "36 35 0:47 / /mnt/n rw - nfs %s rw,vers=3,x\n",
			 sources[i]);
		kind_of(line, "/mnt/n", &b);
		assert_false(mount_same(&a, &b));
	}
}

/* ---- the table --------------------------------------------------------------------------- */

#define LINE_N "36 35 0:47 / /mnt/n rw - nfs s:/e rw,vers=3,x\n"
#define LINE_O "37 35 0:48 / /mnt/o rw - nfs s:/f rw,vers=3,x\n"

static void test_the_table(void **state)
{
	struct mount_table t = {0};
	struct mount m;

	mount_table_find(&t, "/mnt/n", &m); /* not read yet */
	assert_int_equal(m.kind, MOUNT_NONE);
	files_put("/mountinfo", LINE_N LINE_O "40 36 0:49 / /mnt/n rw - ext4 /dev/a rw\n");
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	assert_int_equal(t.changes, 1);
	mount_table_find(&t, "/mnt/n", &m);
	assert_int_equal(m.id, 40); /* the one on top */
	mount_table_find(&t, "/mnt/o", &m);
	assert_int_equal(m.id, 37);
	mount_table_find(&t, "/mnt", &m);
	assert_int_equal(m.kind, MOUNT_NONE);
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	assert_int_equal(t.changes, 1); /* as it was */
	files_put("/mountinfo", LINE_N LINE_O);
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	assert_int_equal(t.changes, 2);
	mount_table_find(&t, "/mnt/n", &m);
	assert_int_equal(m.id, 36);
	unlink(files_path("/mountinfo"));
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), ENOENT);
	mount_table_find(&t, "/mnt/n", &m); /* what was read last */
	assert_int_equal(m.id, 36);
	mount_table_free(&t);
}

/* Where a look may hang: by the mount point that is above the path, and on top of others. */
static void test_where_a_look_may_hang(void **state)
{
	static const struct {
		const char *path;
		bool hangs;
	} cases[] = {
		{"/var/lib/a.prom", false}, {"/mnt/n", true},	       {"/mnt/n/a/b.prom", true},
		{"/mnt/nn/a.prom", false},  {"/mnt/o/x", false},       {"/mnt/my data/x", true},
		{"/x/../mnt/n/a", true},    {"/x..y/z", false},	       {"/home/u/x", true},
		{"/media/x", false},	    {"/mnt/n/local/x", false},
	};
	struct mount_table t = {0};

	assert_false(mount_table_may_hang(&t, "/mnt/n")); /* not read yet */
	files_put("/mountinfo", "%s",
		  "20 1 8:1 / / rw - ext4 /dev/a rw\n" LINE_N LINE_O
		  "38 20 0:50 / /mnt/my\\040data rw - fuse.sshfs h: rw\n"
		  "39 20 8:2 / /media rw - fuseblk /dev/b rw\n"
		  "40 37 0:49 / /mnt/o rw - ext4 /dev/a rw\n"
		  "41 36 8:3 / /mnt/n/local rw - xfs /dev/c rw\n"
		  "42 20 0:51 / /home rw - autofs auto rw\n");
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (mount_table_may_hang(&t, cases[i].path) != cases[i].hangs)
			fail_msg("%s", cases[i].path);
	files_put("/mountinfo", "20 1 0:60 / / rw - nfs s:/root rw,vers=3\n");
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	assert_true(mount_table_may_hang(&t, "/x") && mount_table_may_hang(&t, "/"));
	mount_table_free(&t);
}

/* What lies below a mount of autofs, direct or indirect, by the way from parent to parent. */
static void test_automounted(void **state)
{
	static const struct {
		const char *path;
		bool automounted;
	} cases[] = {{"/mnt/n", true}, {"/net/s/e", true}, {"/net/s/e/f", true},
		     {"/srv", false},  {"/lost", false},   {"/loop", false}};
	struct mount_table t = {0};
	struct mount m;

	files_put("/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n"
				"30 1 0:40 / /mnt/n rw - autofs auto.direct rw,fd=6\n"
				"36 30 0:47 / /mnt/n rw - nfs s:/e rw,vers=3,x\n"
				"40 1 0:41 / /net rw shared:1 - autofs auto.net rw,fd=7,indirect\n"
				"41 40 0:48 / /net/s/e rw - nfs s:/e rw,vers=3,x\n"
				"42 41 0:49 / /net/s/e/f rw - nfs s:/e/f rw,vers=3,x\n"
				"50 1 0:50 / /srv rw - nfs s:/autofs rw,vers=3,x\n"
				"51 77 0:51 / /lost rw - nfs s:/g rw,vers=3,x\n"
				"60 61 0:51 / /loop rw - nfs s:/g rw,vers=3,x\n"
				"61 60 0:51 / /loop/a rw - nfs s:/g rw,vers=3,x\n");
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mount_table_find(&t, cases[i].path, &m);
		assert_int_equal(m.kind, MOUNT_NFS3);
		assert_int_equal(m.automounted, cases[i].automounted);
	}
	mount_table_free(&t);
}

static void test_a_long_table(void **state)
{
	struct mount_table t = {0};
	char path[32], *text = NULL;
	struct mount m;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; i < 1000; i++)
		fprintf(out, "%d 35 0:%d / /mnt/%d rw,noatime - nfs s:/e rw,vers=3,x\n", i, i, i);
	fclose(out);
	files_put("/mountinfo", "%s", text);
	free(text);
	assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
	for (int i = 0; i < 1000; i += 37) {
		snprintf(path, sizeof(path), "/mnt/%d", i);
		mount_table_find(&t, path, &m);
		assert_int_equal(m.id, i);
		assert_int_equal(m.kind, MOUNT_NFS3);
	}
	mount_table_free(&t);
}

static void test_a_damaged_table(void **state)
{
	static const char *const texts[] = {
		"", "\n", "\n\n\n", "36 35", "36 35 0:47 / ", LINE_O "36 35 0:47 / /mnt/n"};
	struct mount_table t = {0};
	struct mount m;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		files_put("/mountinfo", "%s", texts[i]);
		assert_int_equal(mount_table_read(&t, files_path("/mountinfo")), 0);
		mount_table_find(&t, "/mnt/n", &m);
		assert_int_equal(m.kind, MOUNT_NONE);
	}
	mount_table_free(&t);
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
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_another_server_is_another_mount),
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_automounted),
		cmocka_unit_test(test_where_a_look_may_hang),
		cmocka_unit_test(test_a_long_table),
		cmocka_unit_test(test_a_damaged_table),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
