/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inodes that a listing needs: each block of them once, by number; windows are read as they lie. */
#include "disk/tree_inodes.h"

#include "support.h"

#define INODES	2000
#define WINDOW	32 /* blocks of inodes that ext4 reads at once */
#define BLOCKS	(INODES / TREE_INODES_BLOCK + WINDOW)
#define FIRST	12
#define MOST	4096
#define MISSING UINT64_MAX

static uint64_t asked[MOST];

/* Every EACHth inode from FIRST on; what is asked for, as numbers. */
static uint32_t ask(uint32_t each, bool windows)
{
	struct dir_list *list = dir_list_new();
	struct tree_inodes t = {0};
	const char *name;
	char text[16];
	uint32_t n = 0;

	for (uint64_t i = 0; i < INODES; i += each) {
		snprintf(text, sizeof(text), "%ju", (uintmax_t)(FIRST + i));
		assert_true(dir_list_add(list, text, FIRST + i));
	}
	assert_true(dir_list_end(list));
	while ((name = tree_inodes_next(&t, list, windows)) != NULL) {
		assert_true(n < MOST);
		asked[n++] = strtoull(name, NULL, 10);
	}
	dir_list_free(list);
	return n;
}

static void test_each_block_once(void **state)
{
	uint32_t n = ask(1, false);

	assert_int_equal(n, (FIRST + INODES - 1) / TREE_INODES_BLOCK + 1);
	for (uint32_t i = 1; i < n; i++)
		assert_int_equal(asked[i] / TREE_INODES_BLOCK,
				 asked[i - 1] / TREE_INODES_BLOCK + 1);
}

/*
 * ext4's way, with windows that begin OFFSET blocks behind inode 0: how often the block asked for comes before
 * those around it that are read with it, and so after them.
 */
static uint32_t turns(uint32_t n, uint32_t offset)
{
	bool there[BLOCKS + WINDOW] = {0};
	uint32_t lost = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t block = asked[i] / TREE_INODES_BLOCK + offset, first = MISSING;

		if (there[block])
			continue;
		for (uint64_t b = block - block % WINDOW; b <= block - block % WINDOW + WINDOW;
		     b++) {
			if (!there[b] && first == MISSING)
				first = b;
			there[b] = true;
		}
		lost += first == block;
	}
	for (uint32_t i = FIRST / TREE_INODES_BLOCK; i <= (FIRST + INODES - 1) / TREE_INODES_BLOCK;
	     i++)
		assert_true(there[i + offset]);
	return lost;
}

static void test_windows_are_read_as_they_lie(void **state)
{
	uint32_t in_order = 0, lost = 0;

	for (uint32_t offset = 0; offset < WINDOW; offset++)
		in_order += turns(ask(1, false), offset);
	for (uint32_t offset = 0; offset < WINDOW; offset++)
		lost += turns(ask(1, true), offset);
	print_message("of %d: %u, by number %u\n", WINDOW, lost, in_order);
	assert_true(lost * 4 <= in_order);
}

/* A directory's inodes need not be all that are there. */
static void test_gaps(void **state)
{
	assert_in_range(ask(3000, true), 1, 2);
	assert_in_range(ask(700, true), 3, 6);
	for (uint32_t each = 1; each < 100; each++)
		(void)turns(ask(each, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_block_once),
		cmocka_unit_test(test_windows_are_read_as_they_lie),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
