/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scratch buffers: taken again, bounded, given back to the system. */
#include "disk/scratch.h"

#include "faults.h"
#include "support.h"

static int stop(void **state)
{
	scratch_trim(UINT64_MAX);
	assert_int_equal(scratch_free_bytes(), 0);
	return 0;
}

static void test_a_buffer_is_taken_again(void **state)
{
	char *a = scratch_take(300 * KIB), *b;

	assert_non_null(a);
	memset(a, 1, 300 * KIB);
	scratch_give(a, 300 * KIB, SEC);
	assert_int_equal(scratch_free_bytes(), 512 * KIB);
	b = scratch_take(500 * KIB); /* of the same size */
	assert_ptr_equal(a, b);
	assert_int_equal(scratch_free_bytes(), 0);
	scratch_give(b, 500 * KIB, SEC);
}

static void test_sizes(void **state)
{
	char *small = scratch_take(1), *large = scratch_take(SCRATCH_MAX);

	memset(small, 1, SCRATCH_MIN);
	memset(large, 1, SCRATCH_MAX);
	scratch_give(small, 1, SEC);
	scratch_give(large, SCRATCH_MAX, SEC);
	assert_int_equal(scratch_free_bytes(), SCRATCH_MIN + SCRATCH_MAX);
	scratch_give(NULL, 5, SEC);
}

static void test_what_is_long_unused_is_freed(void **state)
{
	void *a = scratch_take(MIB), *b = scratch_take(2 * MIB);

	scratch_give(a, MIB, 10 * SEC);
	scratch_give(b, 2 * MIB, 20 * SEC);
	scratch_trim(10 * SEC);
	assert_int_equal(scratch_free_bytes(), 3 * MIB);
	scratch_trim(10 * SEC + 1);
	assert_int_equal(scratch_free_bytes(), 2 * MIB);
	/* one that is used stays, however many there are */
	scratch_give(scratch_take(2 * MIB), 2 * MIB, 40 * SEC);
	scratch_trim(30 * SEC);
	assert_int_equal(scratch_free_bytes(), 2 * MIB);
}

static void test_free_ones_are_bounded(void **state)
{
	void *many[SCRATCH_KEPT + 8];

	for (int i = 0; i < SCRATCH_KEPT + 8; i++)
		many[i] = scratch_take(SCRATCH_MIN);
	for (int i = 0; i < SCRATCH_KEPT + 8; i++)
		scratch_give(many[i], SCRATCH_MIN, SEC);
	assert_int_equal(scratch_free_bytes(), SCRATCH_KEPT * SCRATCH_MIN);
}

static void test_no_memory(void **state)
{
	atomic_store(&fail_aligned_alloc, 1);
	assert_null(scratch_take(MIB));
	assert_int_equal(scratch_free_bytes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_buffer_is_taken_again, stop),
		cmocka_unit_test_teardown(test_sizes, stop),
		cmocka_unit_test_teardown(test_what_is_long_unused_is_freed, stop),
		cmocka_unit_test_teardown(test_free_ones_are_bounded, stop),
		cmocka_unit_test_teardown(test_no_memory, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
