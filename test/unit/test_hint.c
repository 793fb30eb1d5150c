/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is remembered of a client's cache. */
#include "remote/hint.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define BLOCK	 HINT_BLOCK
#define CAPACITY (64 * MIB)

static struct hint *h;

static int setup(void **state)
{
	h = calloc(1, sizeof(*h));
	hint_init(h);
	return h == NULL;
}

static int teardown(void **state)
{
	hint_fini(h);
	free(h);
	return 0;
}

static bool has(uint64_t offset, uint64_t len)
{
	return hint_has(h, offset, len, 0, CAPACITY);
}

static void test_only_whole_blocks_count(void **state)
{
	assert_false(has(0, 1));
	hint_add(h, 100, 2 * BLOCK, false, 0);
	assert_false(has(0, 200));
	assert_true(has(BLOCK, BLOCK));
	assert_true(has(BLOCK + 5, 10));
	assert_false(has(BLOCK, BLOCK + 1));
}

static void test_the_last_part_of_a_file_is_a_block(void **state)
{
	hint_add(h, 0, BLOCK + 100, true, 0);
	assert_true(has(0, BLOCK + 100));
	assert_true(has(BLOCK, 100));
	assert_false(has(2 * BLOCK, 1));
}

static void test_segments_are_crossed(void **state)
{
	hint_add(h, HINT_SEGMENT - 2 * BLOCK, 2 * HINT_SEGMENT, false, 0);
	assert_true(has(HINT_SEGMENT - 2 * BLOCK, 2 * HINT_SEGMENT));
	assert_false(has(HINT_SEGMENT - 2 * BLOCK, 2 * HINT_SEGMENT + 1));
	assert_false(has(HINT_SEGMENT - 3 * BLOCK, BLOCK + 1));
}

/* READERS side by side, APART from each other, have 96 MiB ahead of them in all: how many segments of that are known. */
static unsigned int known_of(uint64_t readers, uint64_t apart)
{
	uint64_t each = 96 * MIB / HINT_SEGMENT / readers, came = 0;
	unsigned int known = 0;

	hint_drop(h, 0, UINT64_MAX);
	for (uint64_t n = 0; n < each * readers; n++, came += HINT_SEGMENT)
		hint_add(h, n % readers * apart + n / readers * HINT_SEGMENT, HINT_SEGMENT, false,
			 came);
	for (uint64_t n = 0; n < each * readers; n++)
		known += hint_has(h, n % readers * apart + n / readers * HINT_SEGMENT, HINT_SEGMENT,
				  came, 256 * MIB);
	return known;
}

/* At a distance of all segments together, or of any power of two, or any other. */
static void test_readers_far_from_each_other(void **state)
{
	const unsigned int all = 96 * MIB / HINT_SEGMENT;
	uint64_t seed = 1;

	for (uint64_t apart = 32 * MIB; apart < 64 * 1024 * MIB; apart *= 2) {
		assert_int_equal(known_of(4, apart), all);
		assert_int_equal(known_of(8, apart), all);
		assert_in_range(known_of(32, apart), all - all / 4, all);
	}
	for (int i = 0; i < 100; i++) {
		uint64_t apart = 32 * MIB + random_below(&seed, 1024) * HINT_SEGMENT;

		assert_int_equal(known_of(4, apart), all);
		assert_int_equal(known_of(8, apart), all);
		assert_in_range(known_of(32, apart), all - all / 4, all);
	}
}

/* There is always a place for what came last, which takes that of the oldest. */
static void test_what_came_last_is_known(void **state)
{
	for (uint64_t at = 0; at < 4 * HINT_SEGMENTS; at++) {
		hint_add(h, at * 7 * HINT_SEGMENT, HINT_SEGMENT, false, at);
		assert_true(hint_has(h, at * 7 * HINT_SEGMENT, HINT_SEGMENT, at, CAPACITY));
	}
	assert_false(hint_has(h, 0, HINT_SEGMENT, 4 * HINT_SEGMENTS, CAPACITY));
}

/* Records of any length, at any place; those beside them did not come. */
static void test_records(void **state)
{
	for (uint64_t at = 0; at < 64; at++)
		hint_add_ahead(h, at * MIB, 16 * KIB, 0);
	assert_true(has(0, 16 * KIB));
	assert_true(has(63 * MIB, 16 * KIB));
	assert_false(has(16 * KIB, 16 * KIB));
	hint_add_ahead(h, 100000000, 1000, 0);
	assert_true(has(100000000, 1000));
	assert_false(has(100000000 - BLOCK, 1000));
	hint_add_ahead(h, UINT64_MAX - 100, 50, 0);
	assert_false(has(UINT64_MAX - 100, 50));
}

static void test_what_came_long_ago_is_gone(void **state)
{
	hint_add(h, 0, BLOCK, false, 5 * MIB);
	assert_true(hint_has(h, 0, BLOCK, 5 * MIB + CAPACITY, CAPACITY));
	assert_false(hint_has(h, 0, BLOCK, 5 * MIB + CAPACITY + 1, CAPACITY));
	/* a thread that read the clock before another moved it on */
	assert_true(hint_has(h, 0, BLOCK, 4 * MIB, CAPACITY));
}

/* What is fetched ahead must be there when it is read: also behind as much that was read before. */
static void test_unread_bytes_fit_into_the_cache(void **state)
{
	assert_int_equal(hint_memory(256 * MIB, 1024 * MIB), 256 * MIB);
	assert_int_equal(hint_memory(256 * MIB, 512 * MIB), 256 * MIB);
	assert_int_equal(hint_memory(256 * MIB, 200 * MIB), 100 * MIB);
	assert_int_equal(hint_memory(256 * MIB, 0), 0);
}

static void test_dropped(void **state)
{
	hint_add(h, 0, 4 * HINT_SEGMENT, false, 0);
	hint_drop(h, BLOCK + 1, 1);
	assert_true(has(0, BLOCK));
	assert_false(has(BLOCK, 1));
	assert_true(has(2 * BLOCK, 3 * HINT_SEGMENT));
	hint_drop(h, 2 * HINT_SEGMENT, UINT64_MAX);
	assert_true(has(HINT_SEGMENT, HINT_SEGMENT));
	assert_false(has(2 * HINT_SEGMENT, 1));
	assert_false(has(3 * HINT_SEGMENT, 1));
	hint_drop(h, 0, UINT64_MAX);
	assert_false(has(0, 1));
}

/* Block by block, and across segments, beside what stays. */
static void test_short_ranges_are_dropped(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 1000; i++) {
		uint64_t from = random_below(&seed, 4 * HINT_BLOCKS);
		uint64_t n = 1 + random_below(&seed, 3 * HINT_BLOCKS), upto = from + n;

		hint_add(h, 0, 8 * HINT_SEGMENT, false, 0);
		hint_drop(h, from * BLOCK + 5, n * BLOCK - 5);
		for (uint64_t b = 0; b < 8 * HINT_BLOCKS; b++)
			assert_int_equal(has(b * BLOCK, 1), b < from || b >= upto);
	}
}

/* What this thread takes for many drops of LEN bytes (ns). */
static uint64_t drops_take(uint64_t len)
{
	struct timespec t[2];

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[0]);
	for (uint64_t n = 0; n < 20000; n++)
		hint_drop(h, n * MIB, len);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[1]);
	return (uint64_t)(t[1].tv_sec - t[0].tv_sec) * SEC + (uint64_t)t[1].tv_nsec -
	       (uint64_t)t[0].tv_nsec;
}

/* Each WRITE drops what it changes, twice: it does not go through all that is remembered. */
static void test_a_short_drop_takes_no_time(void **state)
{
	hint_add(h, 0, HINT_SEGMENTS / 2 * HINT_SEGMENT, false, 0);
	assert_true(drops_take(64 * KIB) * 4 < drops_take(UINT64_MAX));
}

/* Nothing is known of what no file can have, and nobody goes through all that lies before it. */
static void test_beyond_the_largest_file(void **state)
{
	alarm(10); /* it took days */
	hint_add(h, UINT64_MAX - 100, 50, false, 0);
	hint_add(h, UINT64_MAX - 100, 1000, false, 0);
	hint_add(h, BLOCK, UINT64_MAX - 10, true, 0);
	hint_add(h, UINT64_MAX, UINT64_MAX, true, 0);
	alarm(0);
	assert_false(has(0, BLOCK));
	assert_false(has(UINT64_MAX - 100, 50));
	assert_false(has(UINT64_MAX - 100, 1000));
	assert_false(has(BLOCK, UINT64_MAX - 10));
	hint_add(h, UINT64_MAX - 3 * BLOCK + 1, BLOCK, false, 0); /* the last that can be */
	assert_true(has(UINT64_MAX - 3 * BLOCK + 1, BLOCK));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_only_whole_blocks_count),
		TEST(test_the_last_part_of_a_file_is_a_block),
		TEST(test_segments_are_crossed),
		TEST(test_readers_far_from_each_other),
		TEST(test_what_came_last_is_known),
		TEST(test_records),
		TEST(test_what_came_long_ago_is_gone),
		TEST(test_unread_bytes_fit_into_the_cache),
		TEST(test_dropped),
		TEST(test_short_ranges_are_dropped),
		TEST(test_a_short_drop_takes_no_time),
		TEST(test_beyond_the_largest_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
