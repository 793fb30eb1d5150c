/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a device is taken for: each state, each way from one to another. */
#include "disk/device_mode.h"
#include "support.h"

static void looks(struct device_mode *m, int n, bool writing)
{
	for (int i = 0; i < n; i++)
		device_mode_look(m, writing, false);
}

static void looks_beside_fsyncs(struct device_mode *m, int n, bool writing)
{
	for (int i = 0; i < n; i++)
		device_mode_look(m, writing, true);
}

static void is(const struct device_mode *m, uint32_t depth, bool queues)
{
	assert_int_equal(device_mode_depth(m), depth);
	assert_int_equal(device_mode_queues(m), queues);
}

static void test_what_the_kernel_says(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	is(&m, 1, true);
	device_mode_init(&m, false, 32, 0);
	is(&m, DEVICE_DEPTH_FLASH, false);
}

static void test_a_configured_depth_insists(void **state)
{
	struct device_mode m;

	device_mode_init(&m, false, 32, 1);
	is(&m, 1, true);
	assert_int_equal(device_mode_learns(&m), DEVICE_LEARNS_NOTHING);
	assert_false(device_mode_learn(&m, DEVICE_LEARNS_FREE));
	is(&m, 1, true);
	device_mode_init(&m, true, 32, 5);
	assert_false(device_mode_learn(&m, DEVICE_LEARNS_FREE));
	is(&m, 5, true);
}

static void test_seeks_that_cost_nothing(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	assert_int_equal(device_mode_learns(&m), DEVICE_LEARNS_FREE);
	assert_false(device_mode_learn(&m, DEVICE_LEARNS_NOTHING));
	assert_false(device_mode_learn(&m, DEVICE_LEARNS_DEAR));
	assert_true(device_mode_learn(&m, DEVICE_LEARNS_FREE));
	is(&m, DEVICE_DEPTH_FLASH, false);
	assert_int_equal(device_mode_learns(&m), DEVICE_LEARNS_DEAR);
	assert_false(device_mode_learn(&m, DEVICE_LEARNS_FREE));
	is(&m, DEVICE_DEPTH_FLASH, false);
	assert_true(device_mode_learn(&m, DEVICE_LEARNS_DEAR));
	is(&m, 1, true);
	device_mode_init(&m, false, 32, 0);
	assert_false(device_mode_learn(&m, DEVICE_LEARNS_DEAR));
	is(&m, DEVICE_DEPTH_FLASH, false);
}

/* A drive's own queue is for the reads of a disk with seeks, while the order is ours. */
static void test_scattered_reads_may_go_together(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 31, 0);
	assert_int_equal(device_mode_scattered(&m), 31);
	is(&m, 1, true);
	looks(&m, 8, true); /* they go directly */
	assert_int_equal(device_mode_scattered(&m), 1);
	device_mode_forget(&m);
	assert_int_equal(device_mode_scattered(&m), 31);
	device_mode_configure(&m, 1); /* insists */
	assert_int_equal(device_mode_scattered(&m), 1);
	device_mode_configure(&m, 0);
	assert_true(device_mode_learn(&m, DEVICE_LEARNS_FREE));
	assert_int_equal(device_mode_scattered(&m), 1);
	device_mode_init(&m, false, 31, 0);
	assert_int_equal(device_mode_scattered(&m), 1);
	device_mode_init(&m, true, 0, 0); /* nothing is known of it */
	assert_int_equal(device_mode_scattered(&m), 1);
}

static void test_what_was_learnt_outlives_a_reload(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	device_mode_learn(&m, DEVICE_LEARNS_FREE);
	device_mode_configure(&m, 0);
	is(&m, DEVICE_DEPTH_FLASH, false);
	device_mode_configure(&m, 1);
	is(&m, 1, true);
	device_mode_configure(&m, 0);
	is(&m, DEVICE_DEPTH_FLASH, false);
}

static void test_writes_of_others(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	assert_false(device_mode_look(&m, true, false));
	is(&m, 1, true);
	looks(&m, 8, true);
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	/* what the device can do is unchanged */
	assert_int_equal(device_mode_own_depth(&m), 1);
	assert_true(device_mode_own_queues(&m));
	looks(&m, 4, false); /* a pause in their writing is no end */
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	looks(&m, 20, false);
	is(&m, 1, true);
}

/* Small synchronous writes, one after the other: reads do not wait long here one by one. */
static void test_writes_of_others_are_seen_soon(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	looks(&m, 2, true);
	is(&m, 1, true);
	looks(&m, 1, true);
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	/* half of the looks keep it so; an eighth of them does not */
	for (int i = 0; i < 30; i++)
		looks(&m, 1, i % 2 == 0);
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	looks(&m, 20, false);
	for (int i = 0; i < 30; i++)
		looks(&m, 1, i % 8 == 0);
	is(&m, 1, true);
}

static void test_writes_of_others_begin_and_end_once(void **state)
{
	struct device_mode m;
	int changes = 0;

	device_mode_init(&m, true, 32, 0);
	for (int i = 0; i < 40; i++)
		changes += device_mode_look(&m, i < 20, false);
	assert_int_equal(changes, 2);
	assert_false(device_mode_forget(&m));
	looks(&m, 20, true);
	assert_true(device_mode_forget(&m));
	is(&m, 1, true);
	assert_true(m.foreign_share == 0);
}

/* What fsyncs of ours write is no other program's: reads stay in the queue, many at once. */
static void test_writes_of_our_fsyncs(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	looks_beside_fsyncs(&m, 3, true);
	is(&m, DEVICE_DEPTH_FOREIGN, true);
	assert_true(device_mode_written(&m));
	assert_int_equal(device_mode_scattered(&m), 1);
	looks_beside_fsyncs(&m, 20, false); /* they have little to write */
	is(&m, 1, true);
	assert_false(device_mode_written(&m));
	assert_int_equal(device_mode_scattered(&m), 32);
	looks_beside_fsyncs(&m, 20, true);
	assert_true(device_mode_forget(&m));
	is(&m, 1, true);
}

/* They end, and others go on; then others end. */
static void test_others_go_on_after_our_fsyncs(void **state)
{
	struct device_mode m;
	int changes = 0;

	device_mode_init(&m, true, 32, 0);
	looks_beside_fsyncs(&m, 20, true);
	is(&m, DEVICE_DEPTH_FOREIGN, true);
	for (int i = 0; i < 20; i++)
		changes += device_mode_look(&m, true, false);
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	assert_int_equal(changes, 1);
	for (int i = 0; i < 40; i++) /* a few fsyncs beside them are not what writes */
		changes += device_mode_look(&m, true, i % 8 == 0);
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	assert_int_equal(changes, 1);
	looks(&m, 20, false);
	is(&m, 1, true);
}

/* While our turns have the disk nobody knows: what was seen before them does not hold for ever. */
static void test_what_was_seen_grows_old(void **state)
{
	struct device_mode m;
	int changes = 0;

	device_mode_init(&m, true, 32, 0);
	looks(&m, 8, true);
	for (int i = 0; i < 20; i++) /* a second */
		changes += device_mode_no_look(&m);
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	for (int i = 0; i < 40; i++)
		changes += device_mode_no_look(&m);
	is(&m, 1, true);
	assert_int_equal(changes, 1);
	/* who is there at each look between turns stays known, and gets known */
	for (int i = 0; i < 100; i++) {
		looks(&m, 1, true);
		for (int turn = 0; turn < 4; turn++)
			device_mode_no_look(&m);
	}
	is(&m, DEVICE_DEPTH_FOREIGN, false);
}

static void test_a_larger_depth_stays_while_others_write(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 100);
	looks(&m, 20, true);
	is(&m, 100, false);
}

static void test_a_reload_looks_anew(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	looks(&m, 20, true);
	device_mode_configure(&m, 4);
	is(&m, 4, true);
}

/* Once a saved depth brought back what was before the lesson. */
static void test_a_lesson_during_others_writes_stays(void **state)
{
	struct device_mode m;

	device_mode_init(&m, true, 32, 0);
	looks(&m, 20, true);
	assert_true(device_mode_learn(&m, DEVICE_LEARNS_FREE));
	is(&m, DEVICE_DEPTH_FLASH, false); /* no READ waits in its queue */
	looks(&m, 20, false);
	is(&m, DEVICE_DEPTH_FLASH, false);
	looks(&m, 20, true);
	assert_true(device_mode_learn(&m, DEVICE_LEARNS_DEAR));
	is(&m, DEVICE_DEPTH_FOREIGN, false);
	looks(&m, 20, false);
	is(&m, 1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_kernel_says),
		cmocka_unit_test(test_a_configured_depth_insists),
		cmocka_unit_test(test_seeks_that_cost_nothing),
		cmocka_unit_test(test_scattered_reads_may_go_together),
		cmocka_unit_test(test_what_was_learnt_outlives_a_reload),
		cmocka_unit_test(test_writes_of_others),
		cmocka_unit_test(test_writes_of_others_are_seen_soon),
		cmocka_unit_test(test_writes_of_others_begin_and_end_once),
		cmocka_unit_test(test_writes_of_our_fsyncs),
		cmocka_unit_test(test_others_go_on_after_our_fsyncs),
		cmocka_unit_test(test_what_was_seen_grows_old),
		cmocka_unit_test(test_a_larger_depth_stays_while_others_write),
		cmocka_unit_test(test_a_reload_looks_anew),
		cmocka_unit_test(test_a_lesson_during_others_writes_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
