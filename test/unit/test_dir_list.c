/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A directory's entries: found by inode, in three orders, in bounded memory. */
#include "readahead/dir_list.h"

#include "support.h"

static void test_an_empty_one(void **state)
{
	struct dir_list *l = dir_list_new();

	assert_true(dir_list_end(l));
	assert_int_equal(dir_list_count(l), 0);
	assert_int_equal(dir_list_find(l, 7), DIR_NOWHERE);
	dir_list_free(l);
	dir_list_free(NULL);
}

static void test_three_orders(void **state)
{
	static const struct {
		const char *name;
		uint64_t inode;
	} entries[] = {{"delta", 11}, {"alpha", 44}, {"charlie", 22}, {"bravo", 33}};
	static const uint32_t by_name[] = {1, 3, 2, 0}, by_inode[] = {0, 2, 3, 1};
	struct dir_list *l = dir_list_new();

	for (int i = 0; i < 4; i++)
		assert_true(dir_list_add(l, entries[i].name, entries[i].inode));
	assert_true(dir_list_end(l));
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(dir_list_name(l, i), entries[i].name);
		assert_int_equal(dir_list_inode(l, i), entries[i].inode);
		assert_int_equal(dir_list_find(l, entries[i].inode), i);
		assert_int_equal(dir_list_at(l, DIR_LISTED, i), i);
		assert_int_equal(dir_list_at(l, DIR_BY_NAME, i), by_name[i]);
		assert_int_equal(dir_list_at(l, DIR_BY_INODE, i), by_inode[i]);
		for (enum dir_axis axis = 0; axis < DIR_AXES; axis++)
			assert_int_equal(dir_list_place(l, axis, dir_list_at(l, axis, i)), i);
	}
	assert_int_equal(dir_list_find(l, 12), DIR_NOWHERE);
	assert_int_equal(dir_list_find(l, 45), DIR_NOWHERE);
	dir_list_free(l);
}

/* Two names of one file: one of them is found. */
static void test_links(void **state)
{
	struct dir_list *l = dir_list_new();

	assert_true(dir_list_add(l, "a", 5) && dir_list_add(l, "b", 5) && dir_list_end(l));
	assert_true(dir_list_find(l, 5) < 2);
	dir_list_free(l);
}

static void test_memory(void **state)
{
	struct dir_list *l = dir_list_new();
	char name[32];

	for (uint32_t i = 0; i < DIR_LIST_MAX; i++) {
		snprintf(name, sizeof(name), "file%08u", i);
		assert_true(dir_list_add(l, name, 1000 + i));
	}
	assert_false(dir_list_add(l, "one more", 1)); /* never fetched ahead, and no harm */
	assert_true(dir_list_end(l));
	dir_list_free(l);
}

/* Names of any length: the bytes are bounded, too. */
static void test_long_names(void **state)
{
	struct dir_list *l = dir_list_new();
	char name[256];
	uint32_t n = 0;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (;; n++) {
		snprintf(name, 9, "%08u", n);
		name[8] = 'x';
		assert_int_equal(dir_list_full(l), n == DIR_LIST_NAMES / 256);
		if (!dir_list_add(l, name, 1000 + n))
			break;
	}
	assert_int_equal(n, DIR_LIST_NAMES / 256);
	assert_true(dir_list_end(l));
	assert_true(dir_list_bytes(l) <= DIR_LIST_NAMES + 24 * n);
	assert_int_equal(dir_list_find(l, 1000 + n - 1), n - 1);
	dir_list_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_one), cmocka_unit_test(test_three_orders),
		cmocka_unit_test(test_links),	     cmocka_unit_test(test_memory),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
