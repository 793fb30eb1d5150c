/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* No memory: the engine is not made, or does not know a file; reads go on as without it. */
#include "engine.h"
#include "faults.h"

static const struct readahead_limits limits = {
	.table_size = 16, .cursors = 16, .cursors_per_file = 16, .memory = MIB, .idle_time = SEC};

static void test_an_engine_is_made_whole_or_not(void **state)
{
	struct readahead *ra;

	for (int n = 1; n <= 4; n++) { /* itself, its accounts, its budget, its table */
		fail_calloc = n;
		assert_null(readahead_create(&limits));
		assert_int_equal(fail_calloc, 0);
	}
	for (int n = 1; n <= 2; n++) { /* its cursors, its readers */
		fail_aligned_alloc = n;
		assert_null(readahead_create(&limits));
		assert_int_equal(fail_aligned_alloc, 0);
	}
	ra = readahead_create(&limits);
	assert_non_null(ra);
	readahead_destroy(ra);
	readahead_destroy(NULL);
}

static void test_a_file_that_cannot_be_remembered_is_just_read(void **state)
{
	struct engine *e = engine_default("always");

	fail_calloc = 1;
	assert_int_equal(engine_read(e, 1, 0, 32 * KIB, MIB).len, 0);
	assert_int_equal(fail_calloc, 0);
	assert_int_equal(engine_counted(e, READAHEAD_READS), 1);
	assert_true(engine_read(e, 1, 32 * KIB, 32 * KIB, MIB).len > 0);
	engine_check_account(e);
	engine_free(e);
}

/* NFS allows a READ of nothing, and one at the end of all numbers. */
static void test_reads_of_nothing(void **state)
{
	struct engine *e = engine_default("always");

	assert_int_equal(engine_read(e, 1, 0, 0, MIB).count, 0);
	assert_int_equal(engine_read(e, 1, UINT64_MAX, 1, MIB).count, 0);
	assert_int_equal(engine_read(e, 1, UINT64_MAX - 1, UINT32_MAX, UINT64_MAX).count, 0);
	assert_int_equal(engine_counted(e, READAHEAD_READS), 3);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_engine_is_made_whole_or_not),
		cmocka_unit_test(test_a_file_that_cannot_be_remembered_is_just_read),
		cmocka_unit_test(test_reads_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
