/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is remembered of a client's cache. */
#include "remote/hint.h"

#include <stdlib.h>
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

static void test_one_far_on_takes_anothers_place(void **state)
{
	hint_add(h, 0, BLOCK, false, 0);
	hint_add(h, HINT_SEGMENT * HINT_SEGMENTS, BLOCK, false, 0);
	assert_false(has(0, BLOCK));
	assert_true(has(HINT_SEGMENT * HINT_SEGMENTS, BLOCK));
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
		TEST(test_one_far_on_takes_anothers_place),
		TEST(test_what_came_long_ago_is_gone),
		TEST(test_unread_bytes_fit_into_the_cache),
		TEST(test_dropped),
		TEST(test_beyond_the_largest_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
