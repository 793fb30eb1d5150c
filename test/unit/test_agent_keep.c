/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Cached data that stays: when, and memory.low of a group and of those above it on a machine of files, which
 * is put back at the end, after kill -9, and never where somebody else has turned it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "agent_files.h"
#include "keep.h"
#include "metrics.h"
#include "recorder.h"
#include "state.h"
#include "watch.h"

#define V2	      "/sys/fs/cgroup"
#define SLICE	      V2 "/slice/memory.low"
#define DB	      V2 "/slice/db/memory.low"
#define WEB	      V2 "/slice/web/memory.low"
#define TOTAL	      1024000 /* KiB */
#define PART(percent) (TOTAL / 100 * 1024 * (percent))

static struct watch_host host;
static double now;

static void keeps(const char *const values[], unsigned int count)
{
	struct settings s;
	char error[256];

	settings_init(&s);
	s.root = files_root;
	assert_true(settings_set(&s, "mount", "/mnt/n", error, sizeof(error)));
	for (unsigned int i = 0; i < count; i++)
		assert_true(settings_set(&s, "keep", values[i], error, sizeof(error)));
	host = (struct watch_host){.hand = {{record_kept, NULL}, false}};
	machine_init(&host.machine, files_root, 0, false);
	host.machine.total = TOTAL * 1024.0;
	watch_list(&host, &s);
	host.watches[0].mount.kind = MOUNT_NFS3;
	host.watches[0].detector.believed = true;
	host.watches[0].use.last.there = true;
}

static int begin_one(void **state)
{
	static const char *const parts[] = {"/sys/fs", V2, V2 "/slice", V2 "/slice/db",
					    V2 "/slice/web"};

	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_true(mkdir(files_path(parts[i]), 0700) == 0 || errno == EEXIST);
	files_put(SLICE, "0\n");
	files_put(DB, "0\n");
	files_put(WEB, "0\n");
	now = 1000;
	return 0;
}

/* A moment later; programs read, and lose cached data or not. */
static void passes(bool lost, double pressed)
{
	now += 2;
	host.watches[0].answered = host.watches[0].use.read_at = now;
	host.cache_lost = lost;
	host.machine.pressed = pressed;
	watch_keep_tick(&host, now);
}

static void end(void)
{
	watch_keep_release(&host);
	settings_free(&host.settings);
}

static void test_when(void **state)
{
	struct keep_input in = {.priced = true, .used = true, .pressed = 1};

	assert_false(keep_judge(false, &in));
	in.lost = true;
	assert_true(keep_judge(false, &in));
	in.lost = false; /* it works: no reason to end */
	assert_true(keep_judge(true, &in));
	in.pressed = 0.2;
	assert_false(keep_judge(true, &in));
	in = (struct keep_input){.priced = false, .used = true, .lost = true, .pressed = 1};
	assert_false(keep_judge(true, &in));
	in = (struct keep_input){.priced = true, .used = false, .lost = true, .pressed = 1};
	assert_false(keep_judge(true, &in));
}

static void test_a_group_and_those_above_it(void **state)
{
	static const char *const values[] = {"40 /slice/db", "20 /slice/web/"};

	keeps(values, 2);
	passes(false, 1);
	assert_true(files_number(SLICE) == 0 && files_number(DB) == 0);
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	assert_int_equal(files_number(WEB), PART(20));
	assert_int_equal(files_number(SLICE), PART(60));
	assert_non_null(strstr(files_said, "/slice/web: its cached data: kept"));
	passes(false, 1);
	assert_int_equal(files_number(DB), PART(40));
	passes(false, 0);
	assert_true(files_number(SLICE) == 0 && files_number(DB) == 0 && files_number(WEB) == 0);
	passes(true, 1);
	host.watches[0].detector.believed = false;
	passes(true, 1);
	assert_int_equal(files_number(DB), 0);
	end();
}

static void test_what_others_set(void **state)
{
	static const char *const values[] = {"40 /slice/db"};

	keeps(values, 1);
	files_put(SLICE, "max\n"); /* no number: it keeps all */
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	files_put(DB, "4096\n");
	passes(true, 1);
	assert_int_equal(files_number(DB), 4096);
	passes(false, 0);
	assert_int_equal(files_number(DB), 4096);
	files_put(SLICE, "%d\n", PART(90));
	passes(true, 1);
	assert_int_equal(files_number(SLICE), PART(90));
	files_put(SLICE, "0\n");
	passes(false, 0);
	passes(true, 1);
	assert_int_equal(files_number(SLICE), PART(40));
	files_put(SLICE, "8192\n");
	end(); /* before it was looked at again */
	assert_non_null(strstr(files_said, "/slice/memory.low: stays as it is: somebody else"));
	assert_true(files_number(DB) == 4096 && files_number(SLICE) == 8192);
}

static void list(struct settings s)
{
	watch_list(&host, &s);
}

static struct settings with(const char *name, const char *value)
{
	struct settings s = host.settings;
	char error[256];

	assert_true(settings_set(&s, name, value, error, sizeof(error)));
	return s;
}

/* Other mounts, as one that autofs has mounted: who still is to keep does. Other shares hold from the next look on. */
static void test_other_settings(void **state)
{
	static const char *const values[] = {"40 /slice/db", "20 /slice/web"};
	struct settings s;

	keeps(values, 2);
	passes(true, 1);
	list(with("mount", "/mnt/o"));
	assert_true(host.keep.kept && keep_holds(&host.keep));
	assert_int_equal(files_number(DB), PART(40));
	assert_int_equal(files_number(SLICE), PART(60));
	list(with("keep", "10 /slice/web"));
	assert_int_equal(files_number(DB), PART(40));
	assert_true(files_number(SLICE) == 0 && files_number(WEB) == 0);
	passes(false, 1);
	assert_true(files_number(SLICE) == PART(50) && files_number(WEB) == PART(10));
	s = host.settings;
	s.keeps.count = 1;
	list(s);
	assert_true(files_number(DB) == PART(40) && files_number(WEB) == 0);
	s.keeps.count = 0;
	list(s);
	assert_true(files_number(DB) == 0 && files_number(SLICE) == 0 && !host.keep.kept);
	end();
}

/* Back to what was found is somebody else's, too: nothing that goes back and forth. */
static void test_others_put_it_back(void **state)
{
	static const char *const values[] = {"40 /slice/db"};

	keeps(values, 1);
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	files_put(DB, "0\n");
	for (unsigned int i = 0; i < 3; i++) {
		passes(true, 1);
		assert_int_equal(files_number(DB), 0);
	}
	assert_false(keep_holds(&host.keep));
	assert_non_null(strstr(files_said, "/db/memory.low: stays as it is: somebody else"));
	passes(false, 0);
	passes(true, 1); /* the next time */
	assert_int_equal(files_number(DB), PART(40));
	end();
	assert_int_equal(files_number(DB), 0);
}

/* In another directory, made while the old one is there: another inode. */
static void new_group(void)
{
	char made[FILES_PATH];

	assert_int_equal(mkdir(files_path(V2 "/new"), 0700), 0);
	files_put(V2 "/new/memory.low", "0\n");
	unlink(files_path(DB));
	assert_int_equal(rmdir(files_path(V2 "/slice/db")), 0);
	snprintf(made, sizeof(made), "%s", files_path(V2 "/new"));
	assert_int_equal(rename(made, files_path(V2 "/slice/db")), 0);
}

/* A service that ends, and begins anew with a group of the same name. */
static void test_groups_come_and_go(void **state)
{
	static const char *const values[] = {"40 /slice/db"};

	keeps(values, 1);
	unlink(files_path(DB));
	passes(true, 1);
	assert_int_equal(files_number(SLICE), PART(40));
	files_put(DB, "0\n");
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	new_group();
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	files_put(DB, "4096\n"); /* somebody else's: but not of the next one */
	passes(true, 1);
	assert_int_equal(files_number(DB), 4096);
	new_group();
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	end();
	assert_int_equal(files_number(DB), 0);
}

/* For a moment nothing can be told of it: it is the same group all the same, and is put back. */
static void test_a_group_that_cannot_be_looked_at(void **state)
{
	static const char *const values[] = {"40 /slice/db"};
	char name[FILES_PATH], aside[FILES_PATH];

	snprintf(name, sizeof(name), "%s", files_path(V2 "/slice/db"));
	snprintf(aside, sizeof(aside), "%s", files_path(V2 "/slice/aside"));
	keeps(values, 1);
	passes(true, 1);
	assert_int_equal(rename(name, aside), 0);
	assert_int_equal(symlink(name, name), 0); /* ELOOP */
	passes(true, 1);
	unlink(name);
	assert_int_equal(rename(aside, name), 0);
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	end();
	assert_int_equal(files_number(DB), 0);
}

static void test_a_record_comes_first(void **state)
{
	static const char *const values[] = {"40 /slice/db"};
	char *text = NULL;
	size_t size;
	FILE *out;

	keeps(values, 1);
	host.hand.recorder.record = record_full;
	passes(true, 1);
	assert_int_equal(files_number(DB), 0);
	host.hand.recorder.record = record_kept;
	passes(true, 1);
	assert_int_equal(files_number(DB), PART(40));
	out = open_memstream(&text, &size);
	watch_keep_show(&host, out);
	for (unsigned int i = 0; i < host.keep.count; i++)
		state_knob(out, &host.keep.at[i].knob);
	fclose(out);
	assert_non_null(strstr(text, "group /slice/db: its cached data: kept\n"));
	assert_int_equal(state_write(files_root, text), 0);
	assert_int_equal(state_restore(files_root), 2); /* as after kill -9 */
	assert_true(files_number(DB) == 0 && files_number(SLICE) == 0);
	free(text);
	settings_free(&host.settings);
}

/* What is kept is no reason to send written data early, which makes its writer wait; what is lost all the same is. */
static void test_writes_beside_what_is_kept(void **state)
{
	static const char *const values[] = {"40 /slice/db"};
	struct watch *w = &host.watches[0];

	keeps(values, 1);
	w->use.soon = (struct use_bytes){10e6, 3e6};
	host.worth = 0.7;
	w->use.written_at = now + 100;
	passes(false, 1);
	watch_act(&host, w, now);
	passes(false, 1);
	passes(false, 1);
	watch_act(&host, w, now);
	assert_int_equal(w->decision.way, WRITE_ACCELERATE);
	passes(true, 1);
	assert_true(w->use.soon.read == 0); /* what was lost before says nothing of now */
	passes(false, 1);
	watch_act(&host, w, now);
	assert_int_equal(w->decision.why, WHY_EVEN);
	passes(true, 1);
	watch_act(&host, w, now);
	assert_int_equal(w->decision.why, WHY_LOST);
	end();
}

/* ---- what cannot be turned ------------------------------------------------------------------- */

static const char *refused; /* the end of a knob's name; NULL: none */

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	if (refused && (flags & O_ACCMODE) == O_WRONLY && strstr(path, refused)) {
		errno = EROFS;
		return -1;
	}
	return __real_open64(path, flags, 0600);
}

static bool shows(const char *text)
{
	static char shown[32768];
	FILE *out = fmemopen(shown, sizeof(shown), "w");

	metrics_print(&host, now, out);
	watch_keep_show(&host, out);
	fputc('\0', out);
	fclose(out);
	return strstr(shown, text) != NULL;
}

/* A group is kept where it is turned, and all above it: not before. Then written data is sent early as without. */
static void test_a_knob_that_cannot_be_turned(void **state)
{
	static const char *const values[] = {"40 /slice/db", "10 /slice/web"},
				 *const knobs[] = {"/db/memory.low", "/slice/memory.low"};

	for (unsigned int i = 0; i < 2; i++) {
		keeps(values, 2);
		refused = knobs[i];
		passes(true, 1);
		assert_non_null(strstr(files_said, "memory.low: Read-only file system: not kept"));
		assert_true(host.keep.kept && keep_holds(&host.keep) == (i == 0));
		assert_true(shows("group /slice/db: its cached data: not kept: memory.low is not"));
		assert_true(shows(i ? "kept_groups 0\n" : "kept_groups 1\n"));
		files_said[0] = '\0';
		passes(false, 1);
		assert_string_equal(files_said, ""); /* said once */
		refused = NULL;
		passes(false, 1);
		assert_int_equal(files_number(DB), PART(40));
		assert_true(keep_holds(&host.keep) && shows("kept_groups 2\n"));
		assert_true(shows("group /slice/db: its cached data: kept\n"));
		passes(false, 0);
		assert_true(files_number(DB) == 0 && files_number(SLICE) == 0);
		assert_true(!keep_holds(&host.keep) && shows("kept_groups 0\n"));
		end();
	}
}

static void test_dry_run_and_wrong_names(void **state)
{
	static const char *const values[] = {"40 /slice/db"}, *const wrong[] = {"40 /",
										"9 /a/../b"};

	keeps(values, 1);
	host.hand.dry_run = true;
	passes(true, 1);
	assert_non_null(strstr(files_said, "would be kept"));
	assert_int_equal(files_number(DB), 0);
	end();
	keeps(wrong, 2);
	assert_int_equal(host.keep.count, 0);
	assert_non_null(strstr(files_said, "no name of a control group"));
	end();
}

/* One too many is left alone, and so are those above it. */
static void test_as_many_as_may_be(void **state)
{
	struct keep k = {0};
	char name[32];

	for (unsigned int i = 0; i < KEEP_KNOBS / 3; i++) {
		snprintf(name, sizeof(name), "/%u/db/x", i);
		assert_true(keep_add(&k, files_root, name, 1));
	}
	assert_int_equal(k.count, KEEP_KNOBS - 2);
	assert_false(keep_add(&k, files_root, "/one/too/deep", 1));
	assert_int_equal(k.count, KEEP_KNOBS - 2);
	assert_false(keep_add(&k, files_root, "/0/one/too/deep", 1));
	assert_true(k.at[0].percent == 1);
	assert_true(keep_add(&k, files_root, "/0/y/z", 1) && k.count == KEEP_KNOBS);
	assert_true(keep_add(&k, files_root, "/0/y", 1));
	assert_false(keep_add(&k, files_root, "/more", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when),
		cmocka_unit_test_setup(test_a_group_and_those_above_it, begin_one),
		cmocka_unit_test_setup(test_what_others_set, begin_one),
		cmocka_unit_test_setup(test_other_settings, begin_one),
		cmocka_unit_test_setup(test_others_put_it_back, begin_one),
		cmocka_unit_test_setup(test_groups_come_and_go, begin_one),
		cmocka_unit_test_setup(test_a_group_that_cannot_be_looked_at, begin_one),
		cmocka_unit_test_setup(test_a_record_comes_first, begin_one),
		cmocka_unit_test_setup(test_writes_beside_what_is_kept, begin_one),
		cmocka_unit_test_setup(test_a_knob_that_cannot_be_turned, begin_one),
		cmocka_unit_test_setup(test_dry_run_and_wrong_names, begin_one),
		cmocka_unit_test(test_as_many_as_may_be),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
