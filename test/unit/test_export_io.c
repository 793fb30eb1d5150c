/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An export's requests, its end, its settings and counters. */
#include <pthread.h>

#include "disk_host.h"
#include "faults.h"

static struct export_io *io;

static int start(void **state)
{
	struct export_settings s = host_settings(1);

	log_set_writer(host_log_write);
	device_start(&host_dispatcher_ops, NULL);
	io = export_io_new(7, NULL, &s);
	return io == NULL;
}

static int stop(void **state)
{
	if (io != NULL)
		export_io_put(io);
	io = NULL;
	device_stop_all();
	log_set_writer(NULL);
	return 0;
}

/* ---- the end ----------------------------------------------------------------------------- */

static void test_closing_refuses(void **state)
{
	assert_true(export_io_enter(io));
	export_io_close(io);
	assert_false(export_io_enter(io));
	export_io_leave(io);
	assert_int_equal(export_io_drain(io, 0), 0);
}

/* The last reference of an export may go on a thread that its prefetches need. */
static void test_closing_waits_for_nothing(void **state)
{
	uint64_t begun = clock_now();

	assert_true(export_io_enter(io));
	export_io_close(io);
	assert_true(clock_now() - begun < SEC);
	export_io_leave(io);
}

static void test_draining_is_bounded_and_late_leavers_are_harmless(void **state)
{
	assert_true(export_io_enter(io));
	assert_true(export_io_enter(io));
	assert_false(export_io_hurries(io));
	assert_int_equal(export_io_drain(io, MSEC), 2);
	assert_true(export_io_hurries(io)); /* since half of it was over */
	export_io_leave(io);
	assert_int_equal(export_io_drain(io, 0), 1);
	/* the export's own part is gone before the last request leaves */
	export_io_ref(io);
	export_io_put(io);
	export_io_leave(io);
}

static void *drain(void *arg)
{
	return (void *)(uintptr_t)export_io_drain(arg, 60 * SEC);
}

static void test_the_last_leaver_ends_the_drain(void **state)
{
	pthread_t thread;
	void *left;

	export_io_enter(io);
	export_io_enter(io);
	pthread_create(&thread, NULL, drain, io);
	export_io_leave(io);
	export_io_leave(io);
	pthread_join(thread, &left);
	assert_null(left);
	assert_false(export_io_hurries(io));
}

static void test_a_read_waits_for_room_unless_its_export_goes(void **state)
{
	struct export_settings s = host_settings(1);

	s.full_wait = 7 * MSEC;
	assert_int_equal(export_io_configure(io, &s), 0);
	assert_int_equal(export_io_full_wait(io), 7 * MSEC);
	export_io_close(io);
	assert_int_equal(export_io_full_wait(io), 0);
}

/* ---- settings ---------------------------------------------------------------------------- */

static void test_settings_are_replaced_as_a_whole(void **state)
{
	struct export_settings s = host_settings(1), now;
	struct writeback_settings w;
	struct readahead_tuning t;

	s.prefetch_step = 128 * KIB;
	s.tuning.seq_max = 99;
	s.writeback.commit_wait = 5;
	s.fsstat_rule = FSSTAT_NEVER;
	assert_int_equal(export_io_configure(io, &s), 0);
	memset(&s, 0xff, sizeof(s)); /* copied */
	assert_int_equal(export_io_tuning(io, &t), 128 * KIB);
	assert_int_equal(t.seq_max, 99);
	export_io_writeback(io, &w);
	assert_int_equal(w.commit_wait, 5);
	assert_int_equal(export_io_fsstat_rule(io), FSSTAT_NEVER);
	export_io_settings(io, &now);
	assert_int_equal(now.device.depth, 1);
}

static void test_without_memory_the_old_settings_stay(void **state)
{
	struct export_settings s = host_settings(1);
	struct readahead_tuning t;

	s.tuning.seq_max = 99;
	atomic_store(&fail_malloc, 1);
	assert_int_equal(export_io_configure(io, &s), ENOMEM);
	export_io_tuning(io, &t);
	assert_int_equal(t.seq_max, 127);
	atomic_store(&fail_malloc, 1);
	assert_null(export_io_new(8, NULL, &s));
	atomic_store(&fail_aligned_alloc, 1);
	assert_null(export_io_new(8, NULL, &s));
}

static atomic_bool over;

static void *read_settings(void *arg)
{
	uintptr_t torn = 0;

	while (!atomic_load(&over)) {
		struct export_settings s;

		export_io_settings(arg, &s);
		torn += s.prefetch_step - 64 * KIB != s.writeback.chunk - MIB;
	}
	return (void *)torn;
}

static void test_no_reader_sees_half_of_a_reload(void **state)
{
	struct export_settings s = host_settings(1);
	pthread_t thread;
	void *torn;

	atomic_store(&over, false);
	pthread_create(&thread, NULL, read_settings, io);
	for (int i = 0; i < 20; i++) {
		s.prefetch_step++;
		s.writeback.chunk++;
		assert_int_equal(export_io_configure(io, &s), 0);
	}
	atomic_store(&over, true);
	pthread_join(thread, &torn);
	assert_null(torn);
}

static struct device_settings adjusted_to;

static void adjust(dev_t dev, struct device_settings *s)
{
	adjusted_to = *s;
}

static void test_tuning_leaves_devices_alone(void **state)
{
	struct export_settings s = host_settings(1), now;

	adjusted_to.depth = 99;
	device_set_adjust(adjust);
	s.tuning.window_max = 4 << 20;
	s.device.depth = 7;
	assert_int_equal(export_io_tune(io, &s), 0);
	export_io_settings(io, &now);
	assert_int_equal(now.tuning.window_max, 4 << 20);
	assert_int_equal(adjusted_to.depth, 99);
	atomic_store(&fail_malloc, 1);
	s.tuning.window_max = 8 << 20;
	assert_int_equal(export_io_tune(io, &s), ENOMEM); /* as before */
	export_io_settings(io, &now);
	assert_int_equal(now.tuning.window_max, 4 << 20);
	device_set_adjust(NULL);
}

/* ---- operators --------------------------------------------------------------------------- */

static void test_what_operators_see(void **state)
{
	struct readahead_counters *sum = aligned_alloc(64, sizeof(*sum));
	struct export_stats stats;
	uint64_t before;

	exports_sum(sum);
	before = readahead_counted(sum, READAHEAD_READS);
	readahead_count(&io->counters, READAHEAD_READS, 5);
	export_io_enter(io);
	assert_int_equal(exports_stats(&stats, 1), 1);
	assert_int_equal(stats.export_id, 7);
	assert_int_equal(stats.pending, 1);
	assert_false(stats.closing);
	assert_int_equal(stats.counted[READAHEAD_READS], 5);
	export_io_leave(io);
	export_io_put(io);
	io = NULL;
	assert_int_equal(exports_stats(&stats, 1), 0);
	exports_sum(sum); /* counts outlive their export */
	assert_int_equal(readahead_counted(sum, READAHEAD_READS), before + 5);
	readahead_count(exports_past(), READAHEAD_READS, 1);
	exports_sum(sum);
	assert_int_equal(readahead_counted(sum, READAHEAD_READS), before + 6);
	free(sum);
}

static void test_devices_belong_to_exports(void **state)
{
	struct device *d;
	int err = 0, fd = open("/", O_PATH | O_CLOEXEC);

	d = export_io_device(io, fd, SEC, &err);
	assert_non_null(d);
	assert_ptr_equal(export_io_device(io, fd, SEC, &err), d);
	assert_int_equal(d->exports, 1);
	assert_int_equal(atomic_load(&io->devices), 1);
	assert_null(export_io_device(io, -1, SEC, &err));
	assert_int_equal(err, EBADF);
	export_io_put(io);
	io = NULL;
	assert_int_equal(d->exports, 0);
	close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_closing_refuses),
		TEST(test_closing_waits_for_nothing),
		TEST(test_draining_is_bounded_and_late_leavers_are_harmless),
		TEST(test_the_last_leaver_ends_the_drain),
		TEST(test_a_read_waits_for_room_unless_its_export_goes),
		TEST(test_settings_are_replaced_as_a_whole),
		TEST(test_without_memory_the_old_settings_stay),
		TEST(test_no_reader_sees_half_of_a_reload),
		TEST(test_tuning_leaves_devices_alone),
		TEST(test_what_operators_see),
		TEST(test_devices_belong_to_exports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
