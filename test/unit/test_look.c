/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What operators see of the engine's files and cursors: which, in which order, bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "readahead/look.h"

#define KIB 1024u

static struct readahead *ra;
static struct readahead_counters *counters;
static struct readahead_tuning tuning;
static uint64_t now;

static int setup(void **state)
{
	const struct readahead_limits limits = {.table_size = 1000,
						.cursors = 4096,
						.cursors_per_file = 1024,
						.memory = 64 << 20,
						.idle_time = 10000000000};

	ra = readahead_create(&limits);
	counters = aligned_alloc(64, (sizeof(*counters) + 63) / 64 * 64);
	memset(counters, 0, sizeof(*counters));
	tuning = (struct readahead_tuning){.heuristic = heuristic_find("cursor"),
					   .rules = rules_find("extended"),
					   .match_window = 64 * KIB,
					   .match_requests = 8,
					   .seq_max = 127,
					   .seq_threshold = 4,
					   .window_init = 8 << 20,
					   .window_max = 32 << 20,
					   .chunk_min = 512 * KIB};
	now = 1000000000;
	return 0;
}

static int teardown(void **state)
{
	readahead_destroy(ra);
	free(counters);
	return 0;
}

static void read_file(uint64_t file, uint64_t offset)
{
	struct readahead_plan plan;
	struct readahead_read read = {.key = &file,
				      .key_len = sizeof(file),
				      .offset = offset,
				      .size = UINT64_C(1) << 40,
				      .len = 32 * KIB,
				      .now = now++,
				      .chunk = 4 << 20,
				      .streams = 1,
				      .file = file};

	readahead_observe(ra, &tuning, counters, &read, &plan);
}

static void test_the_latest_first(void **state)
{
	struct readahead_file_look f[8];

	for (uint64_t file = 1; file <= 500; file++)
		read_file(file, 0);
	read_file(17, 32 * KIB);
	assert_int_equal(readahead_files(ra, f, 8), 500);
	assert_int_equal(f[0].file, 17);
	assert_int_equal(f[0].count, 2);
	assert_int_equal(f[1].file, 500);
	assert_int_equal(f[7].file, 494);
	assert_int_equal(readahead_files(ra, f, 0), 500);
}

static void test_streams_of_a_file(void **state)
{
	struct readahead_cursor_look c[4];
	struct readahead_file_look f;

	for (uint64_t i = 0; i < 8; i++)
		read_file(5, i * 32 * KIB);
	read_file(5, UINT64_C(1) << 30);
	assert_int_equal(readahead_cursors(ra, 5, &f, c, 4), 2);
	assert_int_equal(f.cursors, 2);
	assert_int_equal(f.streams, 1);
	assert_int_equal(c[0].next, 8 * 32 * KIB);
	assert_int_equal(c[0].run, 8 * 32 * KIB);
	assert_true(c[0].asked > 0 && c[0].queued && c[0].taken < c[0].run);
	assert_int_equal(f.unread, c[0].unread);
	assert_int_equal(c[1].count, 1);
	assert_int_equal(readahead_cursors(ra, 5, &f, c, 1), 1);
	assert_int_equal(readahead_cursors(ra, 6, &f, c, 4), -1);
}

/* What was fetched ahead of a stream and read counts for it, all in all. */
static void test_used_in_all(void **state)
{
	struct readahead_cursor_look c[1];
	struct readahead_file_look f;
	uint64_t before;

	for (uint64_t i = 0; i < 8; i++)
		read_file(5, i * 32 * KIB);
	readahead_cursors(ra, 5, &f, c, 1);
	before = c[0].taken;
	for (uint64_t i = 8; i < 12; i++)
		read_file(5, i * 32 * KIB);
	readahead_cursors(ra, 5, &f, c, 1);
	assert_int_equal(c[0].taken, before + 4 * 32 * KIB);
	assert_true(c[0].taken < c[0].run);
}

static void test_a_stream_that_goes_backward(void **state)
{
	struct readahead_cursor_look c[1];
	struct readahead_file_look f;
	uint64_t begin = 1024 * 32 * KIB;

	for (uint64_t i = 1; i <= 16; i++)
		read_file(5, begin - i * 32 * KIB);
	assert_int_equal(readahead_cursors(ra, 5, &f, c, 1), 1);
	assert_int_equal(c[0].way, WAY_BACKWARD);
	assert_int_equal(c[0].next, begin - 16 * 32 * KIB);
	assert_int_equal(c[0].run, 16 * 32 * KIB);
	assert_true(c[0].asked > 0 && c[0].asked <= c[0].next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_latest_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_streams_of_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_in_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_stream_that_goes_backward, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
