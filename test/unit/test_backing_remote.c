/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Backings without a descriptor: a made-up cluster's files, whose client keeps what is read or does not. */
#include "cluster_host.h"
#include "disk/prefetch.h"
#include "faults.h"
#include "remote/overdue.h"

#define FILE_SIZE (4 * MIB + 100)

static int begin(void **state)
{
	return cluster_start(state, FILE_SIZE);
}

static int end(void **state)
{
	cluster_close_file();
	host_later = 0;
	return stop(state);
}

static void test_what_was_fetched_is_resident(void **state)
{
	struct backing *b = get_remote();

	assert_false(backing_resident(b, 0, MIB));
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_true(backing_resident(b, 0, MIB));
	assert_int_equal(cluster.reads, 1);
	assert_int_equal(fetch(b, 0, MIB), MIB); /* not once more */
	assert_int_equal(cluster.reads, 1);
	assert_int_equal(fetch(b, 4 * MIB, MIB), 100); /* to the end */
	assert_true(backing_resident(b, 4 * MIB, 100));
	assert_true(backing_resident(b, 5 * MIB, 100)); /* nothing to read there */
	backing_put(b);
}

/* What of a range is there from its beginning on, in units. */
static void test_what_is_there_from_the_beginning_on(void **state)
{
	struct backing *b = get_remote();

	assert_int_equal(demand_there(b, 0, MIB), 0);
	fetch(b, 0, 640 * KIB);
	for (uint64_t at = 0; at < 640 * KIB; at += 64 * KIB)
		for (uint64_t end = 641 * KIB; end <= 2 * MIB; end += 61 * KIB)
			assert_int_equal(demand_there(b, at, end - at), 640 * KIB - at);
	assert_int_equal(demand_there(b, 600 * KIB, MIB), 40 * KIB);
	assert_int_equal(demand_there(b, 600 * KIB + 1, MIB), 40 * KIB - 1);
	assert_int_equal(demand_there(b, 640 * KIB, MIB), 0);
	assert_int_equal(demand_there(b, 577 * KIB, 63 * KIB), 0); /* one unit is not asked about */
	fetch(b, MIB, MIB); /* what lies behind a hole does not count */
	assert_int_equal(demand_there(b, 0, 2 * MIB), 640 * KIB);
	backing_put(b);
}

static void test_a_device_of_its_own(void **state)
{
	struct backing *b = get_remote();

	assert_true(device_joins_only(b->device));
	assert_false(device_queues_demand(b->device));
	assert_false(device_queues_writeback(b->device));
	assert_false(device_is_plain(b->device));
	assert_int_equal(major(b->device->dev), DEVICE_CLUSTER_MAJOR);
	assert_true(backing_block(b, 5) < backing_block(b, 6)); /* the order of the file */
	assert_non_null(strstr(host_log, "a cluster"));
	backing_put(b);
}

static void test_writes_and_the_ends_of_pauses(void **state)
{
	struct backing *b = get_remote();

	fetch(b, 0, MIB);
	backing_invalidate(&cluster.slot, 0, 10);
	assert_false(backing_resident(b, 0, 1));
	assert_true(backing_resident(b, 64 * KIB, MIB - 64 * KIB));
	backing_invalidate(&cluster.slot, 0, UINT64_MAX);
	assert_false(backing_resident(b, 64 * KIB, 1));
	backing_put(b);
}

static void test_a_client_that_keeps_nothing(void **state)
{
	struct backing *b = get_remote();

	for (int i = 0; i < 20; i++) /* what the cluster takes is known */
		host_observe(b->device, (uint64_t)i * 50 * MIB, 64 * KIB, 5 * MSEC);
	fetch(b, 0, MIB);
	for (int i = 0; i < 32; i++)
		backing_answered(b, 0, 64 * KIB, true, 5 * MSEC);
	assert_false(backing_prefetches(b, clock_now(), true));
	assert_false(backing_resident(b, 0, MIB));
	assert_non_null(strstr(host_log, "is not kept"));
	assert_true(backing_prefetches(b, clock_now() + 6 * SEC, true));
	backing_put(b);
}

/* Each read of the cluster takes 400 ms, beside which what a busy machine adds is little. */
static void take_time(void)
{
	host_later += 400 * MSEC;
}

/* Where all is read in long chunks no seek was timed for long: who reads more slowly than they came has it from the cluster. */
static void test_a_client_that_keeps_nothing_from_the_start(void **state)
{
	struct backing *b = get_remote();

	for (int i = 0; i < 64; i++)
		backing_answered(b, 0, 64 * KIB, true, 5 * MSEC);
	assert_true(backing_prefetches(b, clock_now(), true)); /* nothing is known */
	cluster.while_read = take_time;
	fetch(b, 0, 512 * KIB);
	for (int i = 0; i < 64; i++)
		backing_answered(b, 0, 64 * KIB, true, 30 * MSEC);
	assert_true(backing_prefetches(b, clock_now(), true)); /* quick */
	for (int i = 0; i < 32; i++)
		backing_answered(b, 0, 64 * KIB, true, 200 * MSEC);
	assert_false(backing_prefetches(b, clock_now() + host_later, true));
	backing_put(b);
}

/* What is in the FSAL's own cache its READs find. */
static void test_readers_of_any_kind(void **state)
{
	struct backing *b = get_remote();

	assert_true(backing_prefetches(b, clock_now(), true));
	assert_true(backing_prefetches(b, clock_now(), false));
	backing_put(b);
}

static void test_a_failure_stops_it(void **state)
{
	struct backing *b = get_remote();

	cluster.fails = true;
	assert_int_equal(fetch(b, 0, MIB), -1);
	assert_false(backing_prefetches(b, clock_now(), true));
	assert_false(backing_resident(b, 0, 1));
	backing_put(b);
}

static void test_the_size_is_asked_for_now_and_then(void **state)
{
	struct backing *b = get_remote();

	cluster.size = 9 * MIB;
	assert_int_equal(backing_refresh_size(b), FILE_SIZE);
	assert_int_equal(cluster.sizes, 0); /* it was known a moment ago */
	backing_put(b);
}

/* One thread takes its time before another one has asked, and looks after that. */
static void test_the_size_is_asked_for_once_a_second_by_all_threads(void **state)
{
	struct backing *b = get_remote();

	host_later = 2 * SEC;
	backing_refresh_size(b);
	assert_int_equal(cluster.sizes, 1);
	host_later = 2 * SEC - 500 * MSEC;
	backing_refresh_size(b);
	assert_int_equal(cluster.sizes, 1);
	host_later = 2 * SEC + 500 * MSEC;
	backing_refresh_size(b);
	assert_int_equal(cluster.sizes, 1);
	host_later = 3 * SEC;
	backing_refresh_size(b);
	assert_int_equal(cluster.sizes, 2);
	backing_put(b);
}

/* A reader sleeps until the cluster is asked something. */
static void wake(void)
{
	backings_wake_overdue(clock_now() + SEC);
}

static void test_a_read_that_sleeps_is_woken(void **state)
{
	struct backing *b = get_remote();
	struct overdue_read r;
	struct overdue *watched;

	fetch(b, 0, MIB);
	backings_wake_overdue(clock_now() + SEC);
	assert_int_equal(cluster.sizes, 0); /* no read is under way */
	cluster.while_read = wake;
	fetch(b, MIB, MIB);
	assert_int_equal(cluster.sizes, 1);
	watched = backing_asks(b, &r); /* a client's */
	assert_non_null(watched);
	backings_wake_overdue(clock_now());
	assert_int_equal(cluster.sizes, 1);
	backings_wake_overdue(clock_now() + SEC);
	assert_int_equal(cluster.sizes, 2);
	overdue_end(watched, &r);
	backing_put(b);
}

/* What a write took says something of the cluster, of its kind. */
static void test_what_writes_took_is_the_clusters(void **state)
{
	struct backing *b = get_remote();
	struct meter_delay *m = &b->device->evidence.delay;

	export_io_wrote(io, MIB, true, 7 * MSEC);
	assert_int_equal(m->kind[delay_kind_of_write(MIB, true)].judged.n, 1);
	assert_int_equal(m->kind[delay_kind_of_write(MIB, true)].judged.sum, 7 * MSEC);
	export_io_wrote(io, 8 * KIB, false, MSEC);
	assert_int_equal(m->kind[DELAY_WRITE].judged.n, 1);
	backing_put(b);
}

/* Two file systems, or a snapshot, have files of one number: no READ of one waits for what is fetched of the other. */
static void test_what_files_are_called(void **state)
{
	struct {
		uint64_t inode, snapshot, system;
		uint64_t export_id;
	} key = {.inode = 17, .snapshot = UINT64_MAX, .system = 1, .export_id = 1};
	_Atomic uint64_t usual = 0;
	uint64_t name[3];

	assert_int_equal(backing_remote_name(17, &key, sizeof(key), &usual), 17);
	key.inode = 18;
	assert_int_equal(backing_remote_name(18, &key, sizeof(key), &usual), 18);
	key.inode = 17;
	key.system = 2;
	name[0] = backing_remote_name(17, &key, sizeof(key), &usual);
	key.system = 1;
	key.snapshot = 5;
	name[1] = backing_remote_name(17, &key, sizeof(key), &usual);
	key.export_id = 2;
	name[2] = backing_remote_name(17, &key, sizeof(key), &usual);
	assert_int_equal(backing_remote_name(17, &key, sizeof(key), &usual), name[2]);
	for (int i = 0; i < 3; i++) {
		assert_in_range(name[i], 0, BACKING_FILE_MAX);
		assert_int_not_equal(name[i], 17);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(name[i], name[j]);
	}
	key.inode = 18;
	assert_int_not_equal(backing_remote_name(18, &key, sizeof(key), &usual), name[2]);
}

/* The same of a volume and its snapshot above FSAL_GLUSTER: of a file's key the volume's id says it, which comes first. */
static void test_what_files_of_a_snapshot_are_called(void **state)
{
	struct {
		unsigned char volume[16], file[16];
	} key = {.volume = "a volume", .file = "a file"};
	_Atomic uint64_t usual = 0;
	uint64_t name;

	assert_int_equal(backing_remote_name(17, &key, sizeof(key.volume), &usual), 17);
	key.file[15] = 1;
	assert_int_equal(backing_remote_name(18, &key, sizeof(key.volume), &usual), 18);
	key.volume[15] = 1;
	name = backing_remote_name(18, &key, sizeof(key.volume), &usual);
	assert_int_not_equal(name, 18);
	key.file[15] = 0;
	assert_int_not_equal(backing_remote_name(17, &key, sizeof(key.volume), &usual), 17);
	assert_int_not_equal(backing_remote_name(17, &key, sizeof(key.volume), &usual), name);
}

static void test_an_export_that_goes(void **state)
{
	struct backing *b = get_remote();

	assert_int_equal(export_io_drain(io, MSEC), 0);
	backing_sweep_export(io);
	assert_int_equal(cluster.closed, 0);
	assert_int_equal(export_io_handles_closed(io, MSEC), 1);
	backing_put(b);
	assert_int_equal(cluster.closed, 1);
	assert_int_equal(export_io_handles_closed(io, MSEC), 0);
	assert_null(backing_get(&cluster.slot, io, clock_now())); /* none is opened any more */
	assert_int_equal(cluster.opened, 1);
}

static void test_others_stay(void **state)
{
	struct host_file local;
	struct backing *b;

	host_file_make(&local, "local", MIB);
	b = get(&local, SEC);
	backing_put(get_remote());
	backing_sweep_export(io);
	assert_int_equal(backing_count(), 1);
	assert_int_equal(cluster.closed, 1);
	backing_put(b);
	backing_slot_fini(&local.slot);
}

static void test_a_fsal_that_is_not_one(void **state)
{
	cluster.refuses = true;
	assert_null(backing_get(&cluster.slot, io, SEC));
	assert_non_null(strstr(host_log, "not one of local files"));
}

/* The calls are sound: it says why, and the line for other errors is still to come. */
static void test_no_memory_for_one(void **state)
{
	backing_put(get_remote());
	backing_drop(&cluster.slot);
	atomic_store(&fail_calloc, 1);
	assert_null(backing_get(&cluster.slot, io, clock_now()));
	assert_int_equal(atomic_load(&fail_calloc), 0);
	assert_non_null(strstr(host_log, "Cannot allocate memory"));
	export_io_say_degraded(io, EIO);
	assert_non_null(strstr(host_log, "Input/output error"));
	cluster.opened--; /* the handle stayed the opener's */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_fetched_is_resident),
		TEST(test_what_is_there_from_the_beginning_on),
		TEST(test_a_device_of_its_own),
		TEST(test_writes_and_the_ends_of_pauses),
		TEST(test_a_client_that_keeps_nothing),
		TEST(test_a_client_that_keeps_nothing_from_the_start),
		TEST(test_readers_of_any_kind),
		TEST(test_a_failure_stops_it),
		TEST(test_the_size_is_asked_for_now_and_then),
		TEST(test_the_size_is_asked_for_once_a_second_by_all_threads),
		TEST(test_a_read_that_sleeps_is_woken),
		TEST(test_what_writes_took_is_the_clusters),
		TEST(test_what_files_are_called),
		TEST(test_what_files_of_a_snapshot_are_called),
		TEST(test_an_export_that_goes),
		TEST(test_others_stay),
		TEST(test_a_fsal_that_is_not_one),
		TEST(test_no_memory_for_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
