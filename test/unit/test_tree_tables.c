/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where inodes are, by superblocks and descriptors of made-up devices; what lies together is one run. */
#include "disk/tree_tables.h"

#include <endian.h>
#include <unistd.h>

#include "support.h"

#define INODES	 30000
#define OF_GROUP 8192
#define BLOCK	 4096
#define SIZE	 256
#define TABLE_0	 1000		     /* blocks */
#define TABLE_1	 (UINT64_C(5) << 32) /* what needs the high half, too */
#define TABLE_2	 (TABLE_0 + OF_GROUP * SIZE / BLOCK)

static FILE *device;

static void put(long at, size_t len, uint64_t value)
{
	uint64_t little = htole64(value);

	assert_int_equal(fseek(device, at, SEEK_SET), 0);
	assert_int_equal(fwrite(&little, len, 1, device), 1);
	assert_int_equal(fflush(device), 0);
}

static void put_descriptor(unsigned int group, uint64_t block)
{
	put(BLOCK + 64 * group + 0x08, 4, block & UINT32_MAX);
	put(BLOCK + 64 * group + 0x28, 4, block >> 32);
}

/* As mkfs.ext4 has it by default. */
static int make(void **state)
{
	device = tmpfile();
	assert_non_null(device);
	put(1024 + 0x00, 4, INODES);
	put(1024 + 0x18, 4, 2);
	put(1024 + 0x28, 4, OF_GROUP);
	put(1024 + 0x38, 2, 0xef53);
	put(1024 + 0x4c, 4, 1);
	put(1024 + 0x58, 2, SIZE);
	put(1024 + 0x60, 4, 0x80);
	put(1024 + 0xfe, 2, 64);
	put_descriptor(0, TABLE_0);
	put_descriptor(1, TABLE_1);
	put_descriptor(2, TABLE_2);
	put_descriptor(3, 0);
	return 0;
}

static int discard(void **state)
{
	fclose(device);
	return 0;
}

static void test_places(void **state)
{
	struct tree_tables t;

	assert_true(tree_tables_read(&t, fileno(device)));
	assert_int_equal(tree_tables_place(&t, 1), TABLE_0 * BLOCK);
	assert_int_equal(tree_tables_place(&t, 17), (TABLE_0 + 1) * BLOCK);
	assert_int_equal(tree_tables_place(&t, OF_GROUP), TABLE_2 * BLOCK - SIZE);
	assert_int_equal(tree_tables_place(&t, OF_GROUP + 2), TABLE_1 * BLOCK + SIZE);
	assert_int_equal(tree_tables_place(&t, 2 * OF_GROUP + 1), TABLE_2 * BLOCK);
	assert_int_equal(tree_tables_place(&t, 2), TABLE_0 * BLOCK + SIZE);
}

static void test_no_such_inode(void **state)
{
	struct tree_tables t;

	assert_true(tree_tables_read(&t, fileno(device)));
	assert_int_equal(tree_tables_place(&t, 0), 0);
	assert_int_equal(tree_tables_place(&t, INODES + 1), 0);
	assert_int_equal(tree_tables_place(&t, UINT64_MAX), 0);
	assert_int_equal(tree_tables_place(&t, 3 * OF_GROUP + 1), 0);
}

/* Where a group has its table is asked once for all of its inodes, also if nobody knows: the device may be slow. */
static void test_a_group_is_asked_for_once(void **state)
{
	struct tree_tables t;

	put(2 * BLOCK, 4, 0); /* more of the device */
	assert_true(tree_tables_read(&t, fileno(device)));
	assert_int_equal(tree_tables_place(&t, 3 * OF_GROUP + 1), 0);
	assert_int_equal(tree_tables_place(&t, OF_GROUP + 1), TABLE_1 * BLOCK);
	put_descriptor(1, TABLE_2);
	put_descriptor(3, TABLE_0);
	assert_int_equal(tree_tables_place(&t, OF_GROUP + 1), TABLE_1 * BLOCK);
	assert_int_equal(tree_tables_place(&t, 3 * OF_GROUP + 1), TABLE_0 * BLOCK);
	put_descriptor(3, 0);
	assert_int_equal(tree_tables_place(&t, 1), TABLE_0 * BLOCK);
	assert_int_equal(tree_tables_place(&t, 3 * OF_GROUP + 1), 0);
	put_descriptor(3, TABLE_0);
	assert_int_equal(tree_tables_place(&t, 3 * OF_GROUP + 2), 0);
}

/* Descriptors and inodes of the first version. */
static void test_an_old_file_system(void **state)
{
	struct tree_tables t;

	put(1024 + 0x4c, 4, 0);
	put(1024 + 0x60, 4, 0);
	put(BLOCK + 0x08, 4, 10);
	put(BLOCK + 32 + 0x08, 4, 3000);
	assert_true(tree_tables_read(&t, fileno(device)));
	assert_int_equal(tree_tables_place(&t, 9), 10 * BLOCK + 8 * 128);
	assert_int_equal(tree_tables_place(&t, OF_GROUP + 1), 3000 * BLOCK);
}

static void assert_refused(long at, size_t len, uint64_t value, uint64_t sound)
{
	struct tree_tables t;

	put(1024 + at, len, value);
	assert_false(tree_tables_read(&t, fileno(device)));
	put(1024 + at, len, sound);
	assert_true(tree_tables_read(&t, fileno(device)));
}

static void test_what_is_otherwise_has_none(void **state)
{
	struct tree_tables t;

	assert_refused(0x00, 4, 0, INODES);
	assert_refused(0x18, 4, 7, 2);
	assert_refused(0x18, 4, 0, 2); /* smaller than a page */
	assert_refused(0x28, 4, 0, OF_GROUP);
	assert_refused(0x38, 2, 0xef52, 0xef53);
	assert_refused(0x58, 2, 0, SIZE);
	assert_refused(0x58, 2, 100, SIZE);
	assert_refused(0x58, 2, 2 * BLOCK, SIZE);
	assert_refused(0x60, 4, 0x90, 0x80);
	assert_refused(0xfe, 2, 0, 64);
	assert_refused(0xfe, 2, 48, 64);
	assert_false(tree_tables_read(&t, -1));
	assert_int_equal(ftruncate(fileno(device), 2000), 0);
	assert_false(tree_tables_read(&t, fileno(device)));
}

/* The runs of a list of every EACHth inode from FIRST to LAST; each inode is in one of them. */
static uint32_t runs(uint64_t first, uint64_t last, uint64_t each, uint64_t *bytes)
{
	struct dir_list *list = dir_list_new();
	uint32_t place = 0, before = 0, n = 0;
	struct tree_tables t;
	struct tree_run run;
	char name[32];

	for (uint64_t i = first; i <= last; i += each) {
		snprintf(name, sizeof(name), "%ju", (uintmax_t)i);
		assert_true(dir_list_add(list, name, i));
	}
	assert_true(dir_list_end(list));
	assert_true(tree_tables_read(&t, fileno(device)));
	for (*bytes = 0; tree_tables_run(&t, list, &place, &run); *bytes += run.upto - run.from) {
		assert_true(++n < 1000 && place > before);
		assert_true(run.upto > run.from &&
			    run.upto - run.from <= TREE_RUN_MAX + TREE_RUN_GAP);
		for (; before < place; before++) {
			uint64_t inode = dir_list_inode(list,
							dir_list_at(list, DIR_BY_INODE, before)),
				 at = tree_tables_place(&t, inode);

			assert_true(at == 0 || (at >= run.from && at + SIZE <= run.upto));
		}
	}
	assert_int_equal(place, dir_list_count(list));
	dir_list_free(list);
	return n;
}

static void test_what_lies_together_is_one_run(void **state)
{
	uint64_t bytes;

	assert_int_equal(runs(12, 12, 1, &bytes), 1);
	assert_int_equal(bytes, BLOCK);
	assert_int_equal(runs(12, 4000, 1, &bytes), 1);
	assert_int_equal(bytes, (4000 + 15) / 16 * BLOCK);
	assert_int_equal(runs(1, OF_GROUP, 256, &bytes), 1);
}

static void test_what_does_not_is_several(void **state)
{
	uint64_t bytes;

	assert_int_equal(runs(1, OF_GROUP, 512, &bytes), OF_GROUP / 512);
	assert_int_equal(bytes, OF_GROUP / 512 * BLOCK);
	/* three tables, of which the third lies right behind the first */
	assert_int_equal(runs(1, 3 * OF_GROUP, 1, &bytes), 3);
	assert_int_equal(bytes, UINT64_C(3) * OF_GROUP * SIZE);
}

/* Between the last inode in use of a group and the next group's first may be what was never written. */
static void test_a_run_ends_with_its_group(void **state)
{
	uint64_t bytes;

	put_descriptor(1, TABLE_2);
	assert_int_equal(runs(OF_GROUP - 40, OF_GROUP + 100, 100, &bytes), 2);
	assert_int_equal(bytes, 2 * BLOCK);
}

/* Of a group without a table nothing is known: others are found as ever. */
static void test_inodes_that_are_not_found(void **state)
{
	uint64_t bytes;

	assert_int_equal(runs(3 * OF_GROUP - 15, INODES, 1, &bytes), 1);
	assert_int_equal(bytes, BLOCK);
	assert_int_equal(runs(3 * OF_GROUP + 1, INODES, 1, &bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_places, make, discard),
		cmocka_unit_test_setup_teardown(test_no_such_inode, make, discard),
		cmocka_unit_test_setup_teardown(test_a_group_is_asked_for_once, make, discard),
		cmocka_unit_test_setup_teardown(test_an_old_file_system, make, discard),
		cmocka_unit_test_setup_teardown(test_what_is_otherwise_has_none, make, discard),
		cmocka_unit_test_setup_teardown(test_what_lies_together_is_one_run, make, discard),
		cmocka_unit_test_setup_teardown(test_what_does_not_is_several, make, discard),
		cmocka_unit_test_setup_teardown(test_a_run_ends_with_its_group, make, discard),
		cmocka_unit_test_setup_teardown(test_inodes_that_are_not_found, make, discard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
