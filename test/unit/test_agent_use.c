/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How a mount is used, out of counters: hit rates, worth, effectiveness, what is mmap, what makes a question. */
#include "support.h"

#include <math.h>

#include "mount_use.h"

static struct mountstats counters;
static struct mount_use use;
static double now;

static int begin(void **state)
{
	counters = (struct mountstats){.there = true};
	use = (struct mount_use){0};
	now = 1000;
	mount_use_feed(&use, &counters, now);
	return 0;
}

/* For SECONDS programs read READ bytes a second, of which FETCHED come from the server. */
static void reads(double seconds, double read, double fetched)
{
	for (double end = now + seconds; now < end;) {
		now += 1;
		counters.programs_read += (uint64_t)read;
		counters.server_read += (uint64_t)fetched;
		counters.reads += 1;
		mount_use_feed(&use, &counters, now);
	}
}

static bool near(double a, double b)
{
	return fabs(a - b) < 0.02;
}

static void test_hit_rate_and_its_change(void **state)
{
	reads(300, 10e6, 3e6);
	assert_true(near(use_hit_rate(&use.soon), 0.7));
	assert_true(near(use_hit_rate(&use.late), 0.7));
	assert_true(near(use_worth(&use.soon, &use.late), 0.7));
	reads(10, 10e6, 10e6); /* what was cached is lost: it is worth what it was */
	assert_true(use_hit_rate(&use.soon) < 0.15);
	assert_true(use_worth(&use.soon, &use.late) > 0.55);
	reads(300, 10e6, 10e6);
	assert_true(use_worth(&use.soon, &use.late) < 0.02);
	reads(20, 10e6, 1e6); /* and one that has become good counts at once */
	assert_true(use_worth(&use.soon, &use.late) > 0.85);
}

static void test_what_is_lost(void **state)
{
	reads(300, 10e6, 10e6); /* once each: nothing is read again */
	assert_false(use_lost(&use.soon, false));
	reads(300, 10e6, 5e6);
	assert_true(use_lost(&use.soon, false));
	reads(300, 10e6, 0.5e6); /* once it was so it is until all fits */
	assert_true(use_lost(&use.soon, true));
	assert_false(use_lost(&use.soon, false));
	reads(300, 10e6, 0.1e6);
	assert_false(use_lost(&use.soon, true));
	reads(300, 0.5 * USE_READS_MIN, 0.25 * USE_READS_MIN); /* too little to matter */
	assert_false(use_lost(&use.soon, true));
}

static void test_few_reads_are_worth_little(void **state)
{
	reads(300, 0.1 * USE_READS_MIN, 0);
	assert_true(near(use_hit_rate(&use.soon), 1));
	assert_true(near(use_worth(&use.soon, &use.late), 0.1));
	reads(300, 0, 0);
	assert_true(use_worth(&use.soon, &use.late) < 0.01);
}

static void test_effectiveness(void **state)
{
	double e = -1;

	reads(1, 1000, 1000);
	assert_int_equal(mount_use_evidence(&use, &e), USE_TOO_LITTLE);
	reads(10, 1e6, 4e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	assert_true(near(e, 0.25));
	mount_use_turned(&use);
	assert_int_equal(mount_use_evidence(&use, &e), USE_TOO_LITTLE);
	reads(2, 4e6, 4e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	assert_true(e == 1);
	reads(20, 1e6, 2e6); /* old evidence fades */
	mount_use_evidence(&use, &e);
	assert_true(e < 0.55);
}

/* Beside a long stream files of which 64 KiB are read, and 160 KiB more come. */
static void test_files_that_end_early(void **state)
{
	double e;

	use.readahead = 128;
	reads(10, 35e6, 35e6 + 8 * 160 * 1024);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	assert_true(e > 0.95); /* none was opened */
	for (int i = 0; i < 100; i++) {
		counters.opens += 8;
		reads(1, 35e6, 35e6 + 8 * 160 * 1024);
	}
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	assert_true(e > 0.4 && e < 0.5);
	mount_use_turned(&use);
	use.readahead = 64;
	for (int i = 0; i < 100; i++) {
		counters.opens += 8;
		reads(1, 35e6, 35e6);
	}
	mount_use_evidence(&use, &e);
	assert_true(e == 1); /* they are read to their end */
}

/* Turned, a long stream says within a second that all is used: the next files are waited for. */
static void test_files_are_waited_for(void **state)
{
	double e;

	use.readahead = 128;
	for (int i = 0; i < 20; i++) {
		counters.opens += 8;
		reads(1, 35e6, 35e6 + 8 * 160 * 1024);
	}
	mount_use_turned(&use);
	use.readahead = 64;
	counters.opens += USE_OPENS - 1;
	reads(3, 35e6, 35e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_TOO_LITTLE);
	counters.opens += 1;
	reads(1, 35e6, 35e6 + 8 * 96 * 1024);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	assert_true(e < 0.5);
	mount_use_turned(&use); /* and not for ever */
	reads(USE_OPENS_WAIT - 1, 35e6, 35e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_TOO_LITTLE);
	reads(1, 35e6, 35e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	mount_use_turned(&use); /* where none came none is waited for */
	reads(1, 35e6, 35e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
}

static void test_mmap_is_not_known(void **state)
{
	double e;

	reads(10, 0, 4e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_TOO_LITTLE);
	assert_true(use_worth(&use.soon, &use.late) == 0);
	reads(10, 1e6, 4e6);
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
}

static void test_reads_past_the_cache_do_not_count(void **state)
{
	double e;

	for (int i = 0; i < 10; i++) {
		counters.direct_read += 10000000;
		reads(1, 12e6, 11e6);
	}
	assert_true(near(use_hit_rate(&use.soon), 0.5));
	assert_int_equal(mount_use_evidence(&use, &e), USE_KNOWN);
	assert_true(e == 1);
}

static void test_counters_that_go_back_or_end(void **state)
{
	double e;

	reads(10, 4e6, 4e6);
	counters = (struct mountstats){.there = true, .server_read = 7};
	now += 1;
	mount_use_feed(&use, &counters, now);
	assert_int_equal(mount_use_evidence(&use, &e), USE_TOO_LITTLE);
	assert_true(use.read_at == now && use.soon.read == 0);
	counters.there = false;
	mount_use_feed(&use, &counters, now + 1);
	assert_int_equal(mount_use_evidence(&use, &e), USE_NOT_COUNTED);
}

static void test_ten_calls_make_a_question(void **state)
{
	reads(9, 1, 1);
	assert_int_equal(mount_use_calls(&use), 9);
	counters.writes += 2;
	reads(1, 1, 1);
	assert_int_equal(mount_use_calls(&use), 12);
	mount_use_asked(&use);
	assert_int_equal(mount_use_calls(&use), 0);
}

static void test_when_it_was_used(void **state)
{
	reads(5, 1, 0);
	assert_true(use.read_at == now && isinf(use.written_at)); /* it never was */
	counters.server_written = 4096; /* by mmap: programs_written stays */
	now += 50;
	mount_use_feed(&use, &counters, now);
	assert_true(use.written_at == now && use.read_at == now - 50);
	use = (struct mount_use){0}; /* another agent: who wrote before may write now */
	mount_use_feed(&use, &counters, now);
	assert_true(use.written_at == now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_hit_rate_and_its_change, begin),
		cmocka_unit_test_setup(test_what_is_lost, begin),
		cmocka_unit_test_setup(test_few_reads_are_worth_little, begin),
		cmocka_unit_test_setup(test_effectiveness, begin),
		cmocka_unit_test_setup(test_files_that_end_early, begin),
		cmocka_unit_test_setup(test_files_are_waited_for, begin),
		cmocka_unit_test_setup(test_mmap_is_not_known, begin),
		cmocka_unit_test_setup(test_reads_past_the_cache_do_not_count, begin),
		cmocka_unit_test_setup(test_counters_that_go_back_or_end, begin),
		cmocka_unit_test_setup(test_ten_calls_make_a_question, begin),
		cmocka_unit_test_setup(test_when_it_was_used, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
