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

/* Ganesha asks two or three times as one export goes. */
static void test_draining_again_waits_for_what_is_left(void **state)
{
	uint64_t begun;

	assert_true(export_io_enter(io));
	assert_int_equal(export_io_deadline(io), 0);
	assert_int_equal(export_io_drain(io, 200 * MSEC), 1);
	begun = clock_now();
	assert_int_equal(export_io_drain(io, 200 * MSEC), 1);
	assert_true(clock_now() - begun < 20 * MSEC);
	assert_true(export_io_deadline(io) <= begun);
	export_io_leave(io);
}

static struct export_io *another(uint16_t id)
{
	struct export_settings s = host_settings(1);
	struct export_io *made = export_io_new(id, NULL, &s);

	assert_non_null(made);
	assert_true(export_io_enter(made));
	return made;
}

static void gone(struct export_io *other)
{
	export_io_leave(other);
	export_io_put(other);
}

/* How long (ns) a drain takes that may take TIMEOUT, and leaves the one request. */
static uint64_t drain_takes(struct export_io *of, uint64_t timeout)
{
	uint64_t begun = clock_now();

	assert_int_equal(export_io_drain(of, timeout), 1);
	return clock_now() - begun;
}

/* The server ends, or SIGHUP removes them: one after the other. */
static void test_exports_that_go_together_share_one_deadline(void **state)
{
	struct export_io *second = another(8), *third = another(9), *fresh;

	assert_true(export_io_enter(io));
	assert_true(drain_takes(io, 800 * MSEC) >= 800 * MSEC);
	assert_true(drain_takes(second, 800 * MSEC) < 400 * MSEC);
	assert_true(export_io_hurries(second));
	assert_true(drain_takes(third, 800 * MSEC) < 400 * MSEC);
	/* the same one again, which comes after all, has nothing to do with that */
	fresh = another(8);
	assert_true(drain_takes(fresh, 400 * MSEC) >= 400 * MSEC);
	gone(fresh);
	gone(third);
	gone(second);
	export_io_leave(io);
}

/* Requests of another disk, which answers, have a moment to leave. */
static void test_each_export_has_a_moment(void **state)
{
	struct export_io *second = another(8);

	assert_true(export_io_enter(io));
	assert_int_equal(export_io_drain(io, 300 * MSEC), 1);
	assert_true(drain_takes(second, 300 * MSEC) >= DRAIN_LEAST);
	gone(second);
	export_io_leave(io);
}

/* What else ends with an export is waited for elsewhere. */
static void test_other_waits_count(void **state)
{
	assert_true(export_io_enter(io));
	export_io_waited(clock_now() - 10 * SEC);
	assert_true(drain_takes(io, SEC) < 500 * MSEC);
	export_io_leave(io);
}

/* Before the others: nothing was waited for yet. */
static void test_time_gives_back_what_was_waited(void **state)
{
	struct export_io *second = another(8);
	const struct timespec rest = {.tv_nsec = 300 * MSEC};

	assert_true(export_io_enter(io));
	assert_int_equal(export_io_drain(io, 300 * MSEC), 1);
	nanosleep(&rest, NULL);
	assert_true(drain_takes(second, 300 * MSEC) >= 250 * MSEC);
	gone(second);
	export_io_leave(io);
}

/* The server frees what its requests refer to, whether they have left or not. */
static void test_what_is_abandoned_does_not_answer(void **state)
{
	struct export_io *open = another(8);

	assert_true(export_io_enter(io));
	assert_int_equal(export_io_drain(io, 0), 1);
	assert_true(export_io_answers(io));
	assert_int_equal(exports_abandon(5 * MSEC), 1); /* it may be too late for that one */
	export_io_answered(io);
	assert_int_equal(exports_abandon(60 * SEC), 0);
	assert_false(export_io_answers(io));
	assert_int_equal(exports_abandon(0), 0);
	assert_true(export_io_answers(open)); /* it does not go */
	export_io_answered(open);
	gone(open);
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
		TEST(test_time_gives_back_what_was_waited),
		TEST(test_draining_again_waits_for_what_is_left),
		TEST(test_exports_that_go_together_share_one_deadline),
		TEST(test_each_export_has_a_moment),
		TEST(test_other_waits_count),
		TEST(test_what_is_abandoned_does_not_answer),
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
