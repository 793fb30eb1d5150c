/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a turn of write-back costs: its rate, its drain, and how many bytes and which steps follow. */
#include "sched/writeback_cost.h"

#include "disk.h"

#define SLICE (120 * MSEC)

static void test_nothing_is_known_at_first(void **state)
{
	struct writeback_cost c = {0};

	assert_int_equal(writeback_cost_bytes(&c, SLICE), UINT64_MAX);
	assert_int_equal(writeback_cost_step(&c, SLICE), MIB);
	assert_int_equal(writeback_cost_read(&c, 50 * MSEC, 9e6, true), 0); /* after no turn */
	assert_int_equal(writeback_cost_bytes(&c, SLICE), UINT64_MAX);
}

/* A turn is as many bytes as fit, and of steps that are a part of it, on fast and slow disks. */
static void test_bytes_follow_from_the_rate(void **state)
{
	static const struct {
		uint64_t mb_s, step;
	} disk[] = {{130, MIB}, {60, MIB}, {25, 512 * KIB}, {6, 128 * KIB}, {1, 64 * KIB}};

	for (unsigned int i = 0; i < 5; i++) {
		struct writeback_cost c = {0};
		uint64_t rate = disk[i].mb_s * 1000000, bytes;

		for (int k = 0; k < 20; k++)
			writeback_cost_turn(&c, 4 * MIB, 4 * MIB * SEC / rate);
		bytes = writeback_cost_bytes(&c, SLICE);
		assert_true(bytes > rate / 1000 * 119 && bytes < rate / 1000 * 121);
		assert_int_equal(writeback_cost_step(&c, SLICE), disk[i].step);
	}
}

/* However dear writing was, beside others' say: a turn is worth the way there, or it is all seek. */
static void test_a_turn_is_worth_its_seek(void **state)
{
	struct writeback_cost c = {0};

	assert_int_equal(writeback_cost_turn_bytes(&c, SLICE), UINT64_MAX);
	for (int k = 0; k < 20; k++)
		writeback_cost_turn(&c, 256 * KIB, SEC);
	assert_true(writeback_cost_bytes(&c, SLICE) < 64 * KIB);
	assert_int_equal(writeback_cost_turn_bytes(&c, SLICE), 256 * KIB);
}

/* Some while nobody else writes; returns the bytes of the next one. */
static uint64_t turns_alone(struct writeback_cost *c)
{
	for (int k = 0; k < 20; k++)
		writeback_cost_turn(c, 12 * MIB, DISK_NS(12 * MIB));
	return writeback_cost_bytes(c, SLICE);
}

/*
 * Beside fsyncs each turn waits 250 ms for what the kernel has at the drive, however short it is: it stays as long
 * as the disk alone would have it, and goes with what was not so dear.
 */
static void test_waiting_for_others_makes_no_turn_shorter(void **state)
{
	struct writeback_cost c = {0};
	uint64_t bytes = turns_alone(&c);

	for (int k = 0; k < 20; k++)
		writeback_cost_crowded(&c, bytes, 250 * MSEC + DISK_NS(bytes));
	assert_int_equal(writeback_cost_bytes(&c, SLICE), bytes);
	assert_int_equal(writeback_cost_read(&c, 50 * MSEC, 9e6, true), 0);
	for (int k = 0; k < 20; k++)
		writeback_cost_crowded(&c, bytes, DISK_NS(bytes) / 2); /* on an outer zone */
	assert_in_range(writeback_cost_bytes(&c, SLICE), bytes * 18 / 10, bytes * 2);
}

/*
 * A drive with a write cache says beside fsyncs too that it has what it has not written: no read shows the drain
 * then, but it is as long as ever. A turn that took less than its bytes cost, but for that, has cost no less.
 */
static void test_beside_others_a_drives_cache_is_counted(void **state)
{
	struct writeback_cost c = {0};
	uint64_t bytes;

	for (int k = 0; k < 50; k++) {
		writeback_cost_turn(&c, 12 * MIB, DISK_NS(4 * MIB));
		writeback_cost_read(&c, DISK_NS(8 * MIB) + DISK_SEEK, DISK_SEEK, true);
	}
	bytes = writeback_cost_bytes(&c, SLICE);
	for (int k = 0; k < 50; k++)
		writeback_cost_crowded(&c, 12 * MIB, DISK_NS(4 * MIB) + 10 * MSEC);
	assert_in_range(writeback_cost_bytes(&c, SLICE), bytes * 99 / 100, bytes * 101 / 100);
}

/* A burst into a drive's cache made bytes cheap: what the disk alone needs for them they cost again soon. */
static void test_a_burst_beside_others_is_forgotten(void **state)
{
	struct writeback_cost c = {0};
	uint64_t bytes = turns_alone(&c);

	for (int k = 0; k < 30; k++)
		writeback_cost_crowded(&c, 12 * MIB, DISK_NS(12 * MIB) / 4);
	assert_in_range(writeback_cost_bytes(&c, SLICE), bytes * 7 / 2, bytes * 4);
	for (int k = 0; k < 30; k++)
		writeback_cost_crowded(&c, 12 * MIB, 250 * MSEC + DISK_NS(12 * MIB));
	assert_in_range(writeback_cost_bytes(&c, SLICE), bytes, bytes * 11 / 10);
}

/* Of turns beside others alone nothing is known: their length follows from their time, as at first. */
static void test_beside_others_only_nothing_is_known(void **state)
{
	struct writeback_cost c = {0};

	writeback_cost_crowded(&c, 2 * MIB, 250 * MSEC);
	assert_int_equal(writeback_cost_bytes(&c, SLICE), UINT64_MAX);
	assert_int_equal(writeback_cost_step(&c, SLICE), MIB);
}

/*
 * A drive with a write cache of 4 MiB takes them in 8 ms, and lets the next read wait for the rest:
 * what the turn and that wait take together becomes the slice.
 */
static void test_a_drives_cache_is_counted(void **state)
{
	struct writeback_cost c = {0};
	uint64_t bytes = 16 * MIB, all = 0;

	for (int k = 0; k < 30; k++) {
		uint64_t cached = bytes < 4 * MIB ? bytes : 4 * MIB;
		uint64_t told = 8 * MSEC + DISK_NS(bytes - cached), drain = DISK_NS(cached);

		writeback_cost_turn(&c, bytes, told);
		assert_in_range(writeback_cost_read(&c, drain + DISK_SEEK, DISK_SEEK, true),
				drain - 1000, drain);
		all = told + drain;
		bytes = writeback_cost_bytes(&c, SLICE);
	}
	assert_in_range(all, SLICE * 95 / 100, SLICE * 105 / 100);
}

/* Only the first read shows it, and only where nothing else kept it waiting. */
static void test_the_drain_is_the_first_reads(void **state)
{
	struct writeback_cost c = {0};

	writeback_cost_turn(&c, 8 * MIB, 60 * MSEC);
	assert_int_equal(writeback_cost_read(&c, 500 * MSEC, DISK_SEEK, false), 0);
	assert_int_equal(writeback_cost_read(&c, 500 * MSEC, DISK_SEEK, true), 0);
	assert_in_range(writeback_cost_bytes(&c, 60 * MSEC), 8 * MIB - KIB, 8 * MIB + KIB);
	writeback_cost_turn(&c, 8 * MIB, 60 * MSEC);
	assert_int_equal(writeback_cost_read(&c, 4 * MSEC, DISK_SEEK, true), 0); /* by luck */
}

/* COMMITs of small files, all seek, say nothing of the next large one. */
static void test_small_turns_say_nothing(void **state)
{
	struct writeback_cost c = {0};
	uint64_t before;

	writeback_cost_turn(&c, 8 * MIB, 60 * MSEC);
	before = writeback_cost_bytes(&c, SLICE);
	for (int k = 0; k < 100; k++) {
		writeback_cost_turn(&c, 64 * KIB, 15 * MSEC);
		assert_int_equal(writeback_cost_read(&c, 50 * MSEC, DISK_SEEK, true), 0);
	}
	assert_int_equal(writeback_cost_bytes(&c, SLICE), before);
}

/* What the kernel had written already is no turn's doing: no disk is so fast. A fast one is. */
static void test_what_was_clean_says_nothing(void **state)
{
	struct writeback_cost c = {0};
	uint64_t bytes;

	writeback_cost_turn(&c, 16 * MIB, MSEC);
	assert_int_equal(writeback_cost_bytes(&c, SLICE), UINT64_MAX);
	bytes = turns_alone(&c);
	for (int k = 0; k < 20; k++) {
		writeback_cost_turn(&c, 16 * MIB, MSEC);
		writeback_cost_crowded(&c, 16 * MIB, MSEC);
	}
	assert_int_equal(writeback_cost_bytes(&c, SLICE), bytes);
	for (int k = 0; k < 50; k++)
		writeback_cost_turn(&c, 16 * MIB, 4 * MSEC); /* 4 GB/s */
	assert_true(writeback_cost_bytes(&c, SLICE) > 400 * MIB);
}

/* The zone changes, or the disk is another one: it is learnt anew within some turns. */
static void test_it_forgets(void **state)
{
	struct writeback_cost c = {0};

	for (int k = 0; k < 50; k++)
		writeback_cost_turn(&c, 16 * MIB, 120 * MSEC);
	for (int k = 0; k < 30; k++)
		writeback_cost_turn(&c, 4 * MIB, 120 * MSEC);
	assert_in_range(writeback_cost_bytes(&c, SLICE), 4 * MIB, 5 * MIB);
}

/* With nobody reading any more, what a slow disk once cost is forgotten too. */
static void test_it_forgets_without_reads(void **state)
{
	struct writeback_cost c = {0};

	for (int k = 0; k < 30; k++) {
		writeback_cost_turn(&c, MIB, 100 * MSEC);
		writeback_cost_read(&c, 500 * MSEC, DISK_SEEK, true);
	}
	assert_true(writeback_cost_bytes(&c, SLICE) < MIB / 4);
	for (int k = 0; k < 50; k++)
		writeback_cost_turn(&c, writeback_cost_bytes(&c, SLICE) + MIB, 10 * MSEC);
	assert_true(writeback_cost_bytes(&c, SLICE) > 8 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_known_at_first),
		cmocka_unit_test(test_bytes_follow_from_the_rate),
		cmocka_unit_test(test_a_turn_is_worth_its_seek),
		cmocka_unit_test(test_waiting_for_others_makes_no_turn_shorter),
		cmocka_unit_test(test_beside_others_a_drives_cache_is_counted),
		cmocka_unit_test(test_a_burst_beside_others_is_forgotten),
		cmocka_unit_test(test_beside_others_only_nothing_is_known),
		cmocka_unit_test(test_a_drives_cache_is_counted),
		cmocka_unit_test(test_the_drain_is_the_first_reads),
		cmocka_unit_test(test_small_turns_say_nothing),
		cmocka_unit_test(test_what_was_clean_says_nothing),
		cmocka_unit_test(test_it_forgets),
		cmocka_unit_test(test_it_forgets_without_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
