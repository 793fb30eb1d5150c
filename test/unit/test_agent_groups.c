/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Control groups: limits of memory that count, by texts of both versions, and one that halts on a machine
 * of files. Weights by name.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "agent_files.h"
#include "group_memory.h"
#include "recorder.h"
#include "state.h"
#include "watch.h"

#define MIB    1048576u
#define V2     "/sys/fs/cgroup"
#define V1     "/sys/fs/cgroup/memory"
#define FREEZE V2 "/backup/cgroup.freeze"
#define SHARE  0.25 /* of a memory that may be dirty */

static struct machine m;

static void make(const char *name)
{
	assert_true(mkdir(files_path(name), 0700) == 0 || errno == EEXIST);
}

static void put_v2(const char *where, unsigned int limit, unsigned int usage, unsigned int cached,
		   unsigned int dirty)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/memory.max", where);
	files_put(name, "%u\n", limit * MIB);
	snprintf(name, sizeof(name), "%s/memory.current", where);
	files_put(name, "%u\n", usage * MIB);
	snprintf(name, sizeof(name), "%s/memory.stat", where);
	files_put(name, "anon 1\nfile %u\nfile_mapped 7\nfile_dirty %u\nfile_writeback 0\n",
		  cached * MIB, dirty * MIB);
}

static int begin_one(void **state)
{
	static const char *const parts[] = {"/sys/fs", V2,	     V1,
					    V2 "/box", V2 "/box/me", V2 "/backup"};

	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		make(parts[i]);
	machine_init(&m, files_root, 0, false);
	files_put("/proc/self/cgroup", "0::/box/me\n");
	make("/proc/1");
	files_put("/proc/1/cgroup", "0::/init.scope\n");
	return 0;
}

static struct group_memory above(void)
{
	struct group_memory g = GROUP_MEMORY_NONE;

	group_memory_above(&g, &m.source, SHARE);
	return g;
}

static void test_limits_above_us(void **state)
{
	struct group_memory g = above();

	assert_true(g.dirty == 0 && g.available == 1);
	put_v2(V2 "/box/me", 10, 10, 0, 0); /* our own service's: holds nobody's data */
	g = above();
	assert_true(g.dirty == 0 && g.available == 1);
	put_v2(V2 "/box", 100, 80, 50, 10);
	g = above();
	assert_true(fabs(g.dirty - 0.4) < 1e-9); /* 10 of 25 */
	assert_true(fabs(g.available - 0.6) < 1e-9);
	files_put(V2 "/box/memory.max", "max\n");
	g = above();
	assert_true(g.dirty == 0 && g.available == 1);
}

/* In a container we see our group as the root. */
static void test_a_container(void **state)
{
	files_put("/proc/self/cgroup", "0::/\n");
	put_v2(V2, 100, 99, 5, 5);
	assert_true(fabs(above().dirty - 0.2) < 1e-9);
	assert_true(fabs(above().available - 0.01) < 1e-9);
	files_put(V2 "/memory.stat", "file nonsense\n");
	assert_true(above().dirty == 0);
	unlink(files_path(V2 "/memory.stat"));
	unlink(files_path(V2 "/memory.max"));
}

static void test_version_1(void **state)
{
	files_put("/proc/self/cgroup", "12:cpu,cpuacct:/x\n7:hugetlb,memory:/\n0::/box/me\n");
	files_put(V1 "/memory.limit_in_bytes", "%u\n", 100 * MIB);
	files_put(V1 "/memory.usage_in_bytes", "%u\n", 50 * MIB);
	files_put(V1 "/memory.stat",
		  "cache 1\ntotal_cache %u\ntotal_dirty %u\ntotal_writeback %u\n", 20 * MIB,
		  3 * MIB, 2 * MIB);
	assert_true(fabs(above().dirty - 0.2) < 1e-9);
	assert_true(fabs(above().available - 0.65) < 1e-9);
	files_put(V1 "/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
	assert_true(above().dirty == 0);
}

static void test_the_machine_counts_them(void **state)
{
	files_put("/proc/vmstat",
		  "nr_free_pages 1000000\nnr_active_file 1\nnr_inactive_file 1\nnr_dirty 0\n"
		  "nr_writeback 0\nnr_dirty_threshold 400000\n"
		  "nr_dirty_background_threshold 200000\n");
	files_put("/proc/meminfo",
		  "MemTotal: %lu kB\nMemFree: 1200000 kB\nMemAvailable: 6000000 kB\n",
		  300000ul * (unsigned long)sysconf(_SC_PAGESIZE) / 1024 * 4);
	put_v2(V2 "/box", 100, 95, 5, 5);
	machine_look(&m);
	assert_true(fabs(m.dirty - 0.2) < 0.01); /* a quarter of memory may be dirty */
	assert_true(m.memory_short);
	unlink(files_path(V2 "/box/memory.max"));
	machine_look(&m);
	assert_true(m.dirty == 0 && !m.memory_short);
}

static void test_which_groups_hold_us(void **state)
{
	static const char *const holding[] = {"/", "/box", "/box/me"}, *const others[] = {
									       "/bo", "/box/m",
									       "/box/me/x",
									       "/backup"};

	for (unsigned int i = 0; i < 3; i++)
		assert_true(group_holds_us(&m.source, holding[i]));
	for (unsigned int i = 0; i < 4; i++)
		assert_false(group_holds_us(&m.source, others[i]));
}

/* ---- halting ------------------------------------------------------------------------------- */

static struct watch_host host;

static void host_of(const char *group)
{
	struct settings s;
	char error[256], value[64];

	settings_init(&s);
	s.root = files_root;
	snprintf(value, sizeof(value), "0.1 %s", group);
	assert_true(settings_set(&s, "mount", "/mnt/n", error, sizeof(error)));
	assert_true(settings_set(&s, "halt", value, error, sizeof(error)));
	host = (struct watch_host){.hand = {{record_kept, NULL}, false}};
	machine_init(&host.machine, files_root, 0, false);
	watch_list(&host, &s);
	host.watches[0].mount.kind = MOUNT_NFS3;
	host.watches[0].detector.believed = true;
	files_put(FREEZE, "0\n");
}

/* For 40 s the price is such; how long it was halted. */
static double halted_at(double price)
{
	static double now = 1000;
	double halted = 0;

	host.watches[0].detector.prices.write = price;
	for (double end = now + 40; now < end; now += 0.5) {
		host.watches[0].answered = now;
		watch_groups_tick(&host, now);
		halted += files_number(FREEZE) == 1 ? 0.5 : 0;
	}
	return halted;
}

static void test_a_group_halts_and_goes_on(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	host_of("/backup");
	assert_true(halted_at(0.001) == 0);
	assert_in_range((int)halted_at(0.9), 20, 39);
	while (files_number(FREEZE) == 0)
		halted_at(0.9);
	out = open_memstream(&text, &size);
	watch_groups_show(&host, out);
	state_knob(out, &host.groups[0].knob);
	fclose(out);
	assert_non_null(strstr(text, "group /backup: halted: "));
	assert_int_equal(state_write(files_root, text), 0);
	assert_int_equal(state_restore(files_root), 1); /* as after kill -9 */
	assert_int_equal(files_number(FREEZE), 0);
	free(text);
	watch_groups_release(&host);
	settings_free(&host.settings);
}

static void test_at_the_end_it_goes_on(void **state)
{
	host_of("/backup");
	while (files_number(FREEZE) == 0)
		halted_at(0.9);
	watch_groups_release(&host);
	assert_int_equal(files_number(FREEZE), 0);
	while (files_number(FREEZE) == 0)
		halted_at(0.9);
	host.watches[0].detector.believed = false;
	assert_true(halted_at(0.9) <= 0.5);
	settings_free(&host.settings);
}

/* What --status says of the groups. */
static const char *shown(void)
{
	static char text[512];
	FILE *out = fmemopen(text, sizeof(text), "w");

	watch_groups_show(&host, out);
	fclose(out);
	return text;
}

static void test_what_is_left_alone(void **state)
{
	host_of("/box");
	assert_true(host.groups[0].refused);
	assert_non_null(strstr(files_said, "the agent itself is in it"));
	settings_free(&host.settings);
	host_of("/backup");
	files_put(FREEZE, "1\n"); /* somebody else's */
	assert_true(halted_at(0) == 40);
	watch_groups_release(&host);
	assert_int_equal(files_number(FREEZE), 1);
	assert_string_equal(files_said, "halt /backup: somebody else has frozen it");
	assert_string_equal(shown(), "group /backup: left alone: somebody else has frozen it\n");
	unlink(files_path(FREEZE)); /* its service does not run */
	assert_true(halted_at(0.9) == 0 && !host.groups[0].refused);
	assert_string_equal(shown(), "group /backup: left alone: is not there\n");
	settings_free(&host.settings);
	host_of("/misspelt"); /* said, at first */
	assert_true(halted_at(0.9) == 0);
	assert_string_equal(files_said, "halt /misspelt: is not there");
	settings_free(&host.settings);
}

static struct rlimit files_limit;

/* The last descriptor is taken between what is found and what is written. */
static bool record_the_last(void *arg)
{
	const struct rlimit none = {0, files_limit.rlim_max};

	return setrlimit(RLIMIT_NOFILE, &none) == 0;
}

/* What a moment later can be done is not given up for good. */
static void test_for_want_of_a_descriptor(void **state)
{
	host_of("/backup");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files_limit), 0);
	host.hand.recorder.record = record_the_last;
	host.watches[0].detector.prices.write = 0.9;
	for (int i = 0; i < 80 && !strstr(files_said, strerror(EMFILE)); i++) {
		host.watches[0].answered = 10 + i;
		watch_groups_tick(&host, 10 + i);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files_limit), 0);
	host.watches[0].detector.prices.write = 0;
	watch_groups_tick(&host, 91); /* it can be read, which is not said to be all */
	assert_non_null(strstr(files_said, strerror(EMFILE)));
	host.hand.recorder.record = record_kept;
	assert_int_equal(files_number(FREEZE), 0);
	assert_string_equal(shown(), "group /backup: left alone: cannot be turned now\n");
	assert_in_range((int)halted_at(0.9), 20, 39);
	assert_null(host.groups[0].away);
	watch_groups_release(&host);
	assert_int_equal(files_number(FREEZE), 0);
	settings_free(&host.settings);
}

/* Its line in the record would end there: after kill -9 it would stay halted. */
static void test_blanks_in_names(void **state)
{
	static const char blanks[] = " \t\n\v\f\r";
	char name[16];

	for (const char *c = blanks; *c; c++) {
		struct keep k = {0};

		snprintf(name, sizeof(name), "/back%cup", *c);
		host_of(name);
		assert_true(host.groups[0].refused);
		assert_non_null(strstr(files_said, "is no name of a control group"));
		settings_free(&host.settings);
		assert_false(keep_add(&k, files_root, name, 10));
		assert_int_equal(k.count, 0);
	}
	assert_true(group_is_name("/a-b.slice/c@d.service") && !group_is_name("a") &&
		    !group_is_name("/a/../b"));
}

/* One group has one name: another way to write it would get past the rules, and halt the agent. */
static void test_other_ways_to_write_a_name(void **state)
{
	static const char *const wrong[] = {"//box",  "/./box", "/box//me", "/box/./me",
					    "/box/.", "//",	"/.",	    "/box/"};

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(group_is_name(wrong[i]));
	assert_true(group_is_name("/") && group_is_name("/.box/b.") && group_is_name("/a/b"));
	host_of("//box");
	assert_true(host.groups[0].refused);
	settings_free(&host.settings);
}

/* Who halts process 1 halts the machine, sooner or later. */
static void test_the_group_of_process_1(void **state)
{
	bool known;

	files_put("/proc/1/cgroup", "3:memory:/\n0::/backup/init\n");
	assert_true(group_holds_init(&m.source, "/backup", &known) &&
		    group_holds_init(&m.source, "/backup/init", &known) &&
		    !group_holds_init(&m.source, "/back", &known));
	host_of("/backup");
	assert_true(host.groups[0].refused);
	assert_non_null(strstr(files_said, "process 1 is in it"));
	assert_true(halted_at(0.9) == 0);
	settings_free(&host.settings);
	/* /proc may hide it: then it is not halted for want of knowledge */
	unlink(files_path("/proc/1/cgroup"));
	host_of("/backup");
	assert_true(host.groups[0].refused);
	assert_non_null(strstr(files_said, "cannot be told"));
	assert_true(halted_at(0.9) == 0);
	settings_free(&host.settings);
}

/* With memory in a hierarchy of version 1, too: what is frozen is of version 2. */
static void test_our_group_in_any_hierarchy(void **state)
{
	files_put("/proc/self/cgroup", "7:memory:/\n0::/box/me\n");
	assert_true(group_holds_us(&m.source, "/box") && !group_holds_us(&m.source, "/backup"));
}

/* Other mounts, as one that autofs has mounted, or a SIGHUP: who still is to halt does. */
static void test_a_halted_group_stays_halted(void **state)
{
	struct settings s;
	char error[256];
	double since;

	host_of("/backup");
	while (files_number(FREEZE) == 0)
		halted_at(0.9);
	since = host.groups[0].halt.since;
	s = host.settings;
	assert_true(settings_set(&s, "mount", "/mnt/o", error, sizeof(error)));
	assert_true(settings_set(&s, "halt", "0.2 /backup", error, sizeof(error)));
	assert_true(settings_set(&s, "halt", "1 /other", error, sizeof(error)));
	watch_list(&host, &s);
	assert_int_equal(files_number(FREEZE), 1);
	assert_true(host.groups[0].halt.halted && host.groups[0].halt.since == since);
	assert_true(host.groups[0].knob.held && !host.groups[1].knob.held);
	assert_string_equal(host.groups[1].path, "/other");
	memmove(&s.halts.at[0], &s.halts.at[1], sizeof(s.halts.at[0])); /* without /backup */
	s.halts.count = 1;
	watch_list(&host, &s);
	assert_int_equal(files_number(FREEZE), 0);
	assert_true(!host.groups[0].halt.halted && !host.groups[0].knob.held);
	settings_free(&host.settings);
}

/* ---- weights ------------------------------------------------------------------------------- */

static void test_weights(void **state)
{
	static const char *const wrong[] = {"",	    "/x",     "0.1",	  "0.1 ",   "0.1 x",
					    "0 /x", "nan /x", "0.001 /x", "101 /x", "0.1/x"};
	struct weights w = {0};
	char error[512], name[WEIGHT_NAME + 16];

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(weights_set(&w, "weight", wrong[i], error, sizeof(error)));
	assert_non_null(strstr(error, "weight = 0.1/x: must be"));
	assert_true(weights_set(&w, "weight", "0.1 /a b//", error, sizeof(error)));
	assert_true(weights_of(&w, "/a b") == 0.1 && weights_of(&w, "/a") == 1);
	assert_true(weights_set(&w, "weight", "4 /a b", error, sizeof(error)));
	assert_true(weights_of(&w, "/a b") == 4 && w.count == 1);
	snprintf(name, sizeof(name), "1 /%0200d", 7);
	assert_false(weights_set(&w, "weight", name, error, sizeof(error)));
	for (unsigned int i = 1; i < WEIGHTS_MAX; i++) {
		snprintf(name, sizeof(name), "1 /%u", i);
		assert_true(weights_set(&w, "weight", name, error, sizeof(error)));
	}
	assert_false(weights_set(&w, "weight", "1 /more", error, sizeof(error)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_limits_above_us, begin_one),
		cmocka_unit_test_setup(test_a_container, begin_one),
		cmocka_unit_test_setup(test_version_1, begin_one),
		cmocka_unit_test_setup(test_the_machine_counts_them, begin_one),
		cmocka_unit_test_setup(test_which_groups_hold_us, begin_one),
		cmocka_unit_test_setup(test_a_group_halts_and_goes_on, begin_one),
		cmocka_unit_test_setup(test_at_the_end_it_goes_on, begin_one),
		cmocka_unit_test_setup(test_what_is_left_alone, begin_one),
		cmocka_unit_test_setup(test_for_want_of_a_descriptor, begin_one),
		cmocka_unit_test_setup(test_blanks_in_names, begin_one),
		cmocka_unit_test_setup(test_other_ways_to_write_a_name, begin_one),
		cmocka_unit_test_setup(test_the_group_of_process_1, begin_one),
		cmocka_unit_test_setup(test_our_group_in_any_hierarchy, begin_one),
		cmocka_unit_test_setup(test_a_halted_group_stays_halted, begin_one),
		cmocka_unit_test(test_weights),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
