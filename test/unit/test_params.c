/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table made of params.def, values in the structures, what is wrong with them; and what a device's
 * exports, its DEVICE block and an operator come to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "device_params.h"
#include "disk/device.h"
#include "params_table.h"
#include "sched/policy.h"

static char said[PARAMETER_WHY];

static void keep(void *arg, const char *line)
{
	snprintf(said, sizeof(said), "%s", line);
}

/* All at their defaults. */
static void fill(void *params, bool of_server)
{
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);
	struct parameter_value v;

	for (unsigned int i = 0; i < n; i++)
		if ((p[i].of == PARAMETER_OF_SERVER) == of_server) {
			parameter_default(&p[i], &v);
			assert_true(ra_params_put(&p[i], params, &v));
		}
}

static const struct parameter *param(const char *name)
{
	unsigned int n;
	const struct parameter *all = ra_parameters(&n), *p = parameter_find(all, n, name);

	assert_non_null(p);
	return p;
}

static void test_the_table(void **state)
{
	unsigned int n, admin = 0;
	const struct parameter *p = ra_parameters(&n);

	for (unsigned int i = 0; i < n; i++) {
		admin += p[i].class == PARAMETER_ADMIN;
		assert_true(p[i].live || p[i].of == PARAMETER_OF_SERVER);
		assert_true((device_param_find(p[i].name) < DEVICE_PARAMS) ==
			    (p[i].of == PARAMETER_OF_DEVICE));
	}
	assert_in_range(admin, 8, 12);
	assert_true(param("k_disk")->live);
	assert_false(param("Table_Size")->live);
}

static void test_defaults_are_right(void **state)
{
	struct ra_export_params e = {0};
	struct ra_module_params m = {0};

	fill(&e, false);
	fill(&m, true);
	said[0] = '\0';
	assert_int_equal(ra_params_check_export(&e, keep, NULL), 0);
	assert_int_equal(ra_params_check_module(&m, keep, NULL), 0);
	assert_string_equal(said, "");
	ra_export_params_drop(&e);
	ra_module_params_drop(&m);
	assert_null(m.control_socket);
}

static void test_what_is_wrong_is_named(void **state)
{
	struct ra_export_params e = {0};
	struct ra_module_params m = {0};

	fill(&e, false);
	fill(&m, true);
	e.chunk_min = e.chunk_max + 1;
	assert_int_equal(ra_params_check_export(&e, keep, NULL), 1);
	assert_string_equal(said, "Chunk_Min = 16777217 is above Chunk_Max = 16777216");
	e.chunk_min = 65536;
	e.seek_share = 91;
	assert_int_equal(ra_params_check_export(&e, keep, NULL), 1);
	assert_string_equal(said, "Seek_Share = 91 is out of range: 1 to 90 percent");
	e.seek_share = 10;
	free(e.scheduler);
	e.scheduler = strdup("lift");
	assert_int_equal(ra_params_check_export(&e, keep, NULL), 1);
	assert_string_equal(said, "Scheduler = lift is none of fifo, elevator, ncscan, turns");
	m.ghost_memory = 5;
	assert_int_equal(ra_params_check_module(&m, keep, NULL), 1);
	assert_string_equal(said, "Ghost_Memory = 5 is too small: 0 for none, or at least 65536 "
				  "bytes");
	ra_export_params_drop(&e);
	ra_module_params_drop(&m);
}

static void test_copies_own_their_names(void **state)
{
	struct ra_export_params a = {0}, b;

	fill(&a, false);
	assert_true(ra_export_params_copy(&b, &a));
	assert_ptr_not_equal(a.heuristic, b.heuristic);
	assert_string_equal(a.heuristic, b.heuristic);
	ra_export_params_drop(&a);
	ra_export_params_drop(&b);
}

/* ---- devices ---------------------------------------------------------------------------- */

static struct device_settings base(uint64_t max_wait)
{
	struct ra_export_params e = {0};
	struct export_settings s;

	fill(&e, false);
	e.max_wait = max_wait;
	ra_settings_of(&e, &s);
	ra_export_params_drop(&e);
	return s.device;
}

static struct device_block block(dev_t dev, enum device_param which, uint64_t value)
{
	struct device_block b = {.dev = dev};

	device_choice_set(&b.choice, which, value, sched_policy_find("ncscan"));
	return b;
}

/* Units: each setting comes back as the parameter that it was made of. */
static void test_device_settings_as_parameters(void **state)
{
	struct ra_export_params e = {0};
	struct parameter_value v;
	struct export_settings s;
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);

	fill(&e, false);
	ra_settings_of(&e, &s);
	for (unsigned int i = 0; i < n; i++)
		if (p[i].of == PARAMETER_OF_DEVICE && p[i].kind == PARAMETER_NUMBER) {
			ra_params_get(&p[i], &e, &v);
			assert_int_equal(device_param_get(&s.device, device_param_find(p[i].name)),
					 v.number);
		}
	ra_export_params_drop(&e);
}

static void test_block_over_export_and_operator_over_both(void **state)
{
	struct device_block blocks[] = {block(makedev(8, 1), DEVICE_Max_Wait, 500)};
	struct device_settings s = base(3000), b, file, now;
	char why[PARAMETER_WHY];

	device_params_configure(blocks, 1);
	device_params_adjust(makedev(8, 1), &s);
	assert_int_equal(device_param_get(&s, DEVICE_Max_Wait), 500);
	assert_true(device_params_turn(makedev(8, 1), DEVICE_Max_Wait, 70, NULL, why, sizeof(why)));
	assert_true(device_params_turn(makedev(8, 1), DEVICE_Scheduler, 0,
				       sched_policy_find("fifo"), why, sizeof(why)));
	assert_true(device_params_look(makedev(8, 1), &b, &file, &now));
	assert_int_equal(device_param_get(&b, DEVICE_Max_Wait), 3000);
	assert_int_equal(device_param_get(&file, DEVICE_Max_Wait), 500);
	assert_int_equal(device_param_get(&now, DEVICE_Max_Wait), 70);
	assert_string_equal(now.policy->name, "fifo");
	device_params_adjust(makedev(8, 1), &b);
	assert_int_equal(device_param_get(&b, DEVICE_Max_Wait), 70);
	device_params_forget();
	assert_true(device_params_look(makedev(8, 1), &b, &file, &now));
	assert_int_equal(device_param_get(&now, DEVICE_Max_Wait), 500);
	s = base(3000);
	device_params_adjust(makedev(8, 2), &s);
	assert_int_equal(device_param_get(&s, DEVICE_Max_Wait), 3000);
	device_params_configure(NULL, 0);
}

/* Others come and go, more than the table has places for. */
static void test_a_device_in_use_is_not_forgotten(void **state)
{
	static const struct dispatcher_ops ops = {.now = clock_now};
	struct device_settings s = base(3000), b, file, now;
	_Atomic uint64_t used = 0, gone;
	char why[PARAMETER_WHY];
	int err = 0;

	device_start(&ops, "/nowhere");
	device_set_adjust(device_params_adjust);
	assert_non_null(device_use(makedev(251, 0), &s, &used, &err));
	assert_true(
		device_params_turn(makedev(251, 0), DEVICE_Max_Wait, 70, NULL, why, sizeof(why)));
	for (unsigned int i = 0; i < 3 * DEVICES_MAX; i++) {
		gone = 0;
		assert_non_null(device_use(makedev(252, i), &s, &gone, &err));
		device_unuse(gone);
	}
	assert_true(device_params_look(makedev(251, 0), &b, &file, &now));
	assert_int_equal(device_param_get(&now, DEVICE_Max_Wait), 70);
	assert_true(device_params_look(makedev(252, 3 * DEVICES_MAX - 1), &b, &file, &now));
	assert_false(device_params_look(makedev(252, 0), &b, &file, &now));
	device_set_adjust(NULL);
	device_stop_all();
	device_params_forget();
}

static void test_contradictions(void **state)
{
	struct device_settings s = base(2000);
	struct device_block blocks[] = {block(makedev(8, 1), DEVICE_Chunk_Max, 65536)};
	char why[PARAMETER_WHY];

	device_params_configure(blocks, 1);
	device_params_adjust(makedev(8, 1), &s);
	assert_int_equal(s.limits.cost.chunk_min, 65536);
	assert_false(device_params_turn(makedev(8, 1), DEVICE_Chunk_Min, 131072, NULL, why,
					sizeof(why)));
	assert_string_equal(why, "Chunk_Min = 131072 is above Chunk_Max = 65536");
	assert_false(
		device_params_turn(makedev(9, 9), DEVICE_Max_Io, 65536, NULL, why, sizeof(why)));
	assert_string_equal(why, "device 9:9 is not in use");
	device_params_configure(NULL, 0);
}

/* A block names a whole disk: it holds for its partition, unless that has one of its own. */
static void test_a_disk_and_its_parts(void **state)
{
	struct device_block blocks[] = {block(makedev(8, 0), DEVICE_Queue_Depth, 4),
					block(makedev(8, 2), DEVICE_Queue_Depth, 2)};
	char dir[] = "/tmp/ra-params-XXXXXX", path[128];
	struct device_settings s = base(2000);
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/8:1", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dev", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("8:0\n", f);
	fclose(f);
	device_params_sysfs(dir);
	device_params_configure(blocks, 2);
	device_params_adjust(makedev(8, 1), &s);
	assert_int_equal(s.depth, 4);
	s = base(2000);
	device_params_adjust(makedev(8, 2), &s);
	assert_int_equal(s.depth, 2);
	unlink(path);
	snprintf(path, sizeof(path), "%s/8:1", dir);
	rmdir(path);
	rmdir(dir);
	device_params_sysfs(NULL);
	device_params_configure(NULL, 0);
}

static void test_a_serial(void **state)
{
	struct device_block blocks[] = {block(0, DEVICE_Queue_Depth, 4),
					block(makedev(8, 4), DEVICE_Queue_Depth, 2)};
	char dir[] = "/tmp/ra-params-XXXXXX", path[128];
	struct device_settings s = base(2000);
	FILE *f;

	snprintf(blocks[0].serial, sizeof(blocks[0].serial), "WD-123");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/8:3", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/8:3/serial", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("wd-123\n", f);
	fclose(f);
	device_params_sysfs(dir);
	device_params_configure(blocks, 2);
	device_params_adjust(makedev(8, 3), &s);
	assert_int_equal(s.depth, 4);
	s = base(2000);
	device_params_adjust(makedev(8, 4), &s);
	assert_int_equal(s.depth, 2);
	s = base(2000);
	device_params_adjust(makedev(8, 5), &s);
	assert_int_equal(s.depth, base(2000).depth);
	unlink(path);
	snprintf(path, sizeof(path), "%s/8:3", dir);
	rmdir(path);
	rmdir(dir);
	device_params_sysfs(NULL);
	device_params_configure(NULL, 0);
}

static void test_paths(void **state)
{
	char why[PARAMETER_WHY];
	struct stat st;
	dev_t dev;

	assert_false(device_path("sdb", &dev, why, sizeof(why)));
	assert_string_equal(why, "Path = sdb is not an absolute path");
	assert_false(device_path("/dev/none-of-ours", &dev, why, sizeof(why)));
	assert_string_equal(why, "Path = /dev/none-of-ours: No such file or directory");
	assert_int_equal(stat("/proc", &st), 0);
	assert_true(device_path("/proc", &dev, why, sizeof(why)));
	assert_int_equal(dev, st.st_dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_defaults_are_right),
		cmocka_unit_test(test_what_is_wrong_is_named),
		cmocka_unit_test(test_copies_own_their_names),
		cmocka_unit_test(test_device_settings_as_parameters),
		cmocka_unit_test(test_block_over_export_and_operator_over_both),
		cmocka_unit_test(test_a_device_in_use_is_not_forgotten),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_a_disk_and_its_parts),
		cmocka_unit_test(test_a_serial),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
