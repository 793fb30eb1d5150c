/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What mounts share: how much is dirty, whether memory is short, and the flushing point. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <string.h>

#include "agent_files.h"
#include "machine.h"

#define BACKGROUND "/proc/sys/vm/dirty_background_ratio"
#define LIMIT	   "/proc/sys/vm/dirty_ratio"

static bool recordable;
static unsigned int records;

static bool record(void *arg)
{
	(void)arg;
	records++;
	return recordable;
}

static const struct knob_recorder recorder = {record, NULL};

static void set_dirty(unsigned int dirty, unsigned int writeback)
{
	files_put("/proc/vmstat",
		  "nr_free_pages 1000000\nnr_active_file 1\nnr_inactive_file 1\nnr_dirty %u\n"
		  "nr_writeback %u\nnr_dirty_threshold 400000\n"
		  "nr_dirty_background_threshold 200000\n",
		  dirty, writeback);
}

static int files(void **state)
{
	recordable = true;
	records = 0;
	files_put(BACKGROUND, "10\n");
	files_put(LIMIT, "20\n");
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n");
	set_dirty(0, 0);
	return 0;
}

static void test_dirty_memory(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 0, false);
	set_dirty(75000, 75000);
	machine_look(&m);
	assert_true(m.dirty == 0.5 && !m.memory_short);
	assert_int_equal(machine_dirty(&m, "0:47"), 150000u * (uint64_t)sysconf(_SC_PAGESIZE));
	set_dirty(600000, 0);
	machine_look(&m);
	assert_true(m.dirty >= 1);
	files_put("/proc/vmstat", "nonsense\n");
	machine_look(&m);
	assert_true(m.dirty == 0);
}

static void test_memory_is_short(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 0, false);
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 900000 kB\n");
	machine_look(&m);
	assert_true(m.memory_short);
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\n");
	machine_look(&m);
	assert_false(m.memory_short);
}

static void test_flush_point_is_raised_and_put_back(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 60);
	assert_int_equal(files_number(LIMIT), 80);
	assert_int_equal(records, 2); /* before each */
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(records, 2);
	machine_flush_point(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(files_number(LIMIT), 20);
}

static void test_flush_point_without_a_record(void **state)
{
	struct machine m;

	recordable = false;
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(files_number(LIMIT), 20);
	assert_true(!m.raised && !m.limit.held && !m.background.held);
	recordable = true;
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 60);
	machine_set_flush_point(&m, 70); /* by SIGHUP */
	assert_int_equal(files_number(LIMIT), 20);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(LIMIT), 90);
	machine_flush_point(&m, false, &recorder);
}

/* Set in bytes, higher already, not there: left alone, and said once. */
static void test_limits_that_are_left_alone(void **state)
{
	struct machine m;

	files_put(BACKGROUND, "0\n");
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(LIMIT), 20);
	assert_non_null(strstr(files_said, "left alone"));
	files_put(BACKGROUND, "70\n");
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 70);
	unlink(files_path(LIMIT));
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(m.flush_point, 0);
	assert_non_null(strstr(files_said, "cannot be read"));
	assert_int_equal(records, 0);
}

static void test_dry_run(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 60, true);
	machine_flush_point(&m, true, &recorder);
	assert_string_equal(files_said, "dirty memory: would raise the flushing point");
	machine_flush_point(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(records, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_dirty_memory, files),
		cmocka_unit_test_setup(test_memory_is_short, files),
		cmocka_unit_test_setup(test_flush_point_is_raised_and_put_back, files),
		cmocka_unit_test_setup(test_flush_point_without_a_record, files),
		cmocka_unit_test_setup(test_limits_that_are_left_alone, files),
		cmocka_unit_test_setup(test_dry_run, files),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
