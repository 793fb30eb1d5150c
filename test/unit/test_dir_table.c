/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is known of directories, in bytes a file: of small and of large ones, and as the allocator counts it. */
#include "readahead/dir_table.h"

#include <malloc.h>

#include "support.h"

static struct dir_table table;

static bool never_walked(void *arg, const struct dir *d, uint64_t now)
{
	return false;
}

static void no_drop(void *arg, struct dir *d, struct dir_part *p)
{
}

static void no_carry(void *arg, struct dir *d, struct dir_part *old, struct dir_part *new)
{
}

static const struct dir_owner nobody = {
	.is_walked = never_walked, .drop = no_drop, .carry = no_carry};

/* FILES names of 15 letters, as many as most trees have, whose inodes lie APART from each other. */
static struct dir_list *list_of(uint32_t files, uint32_t apart)
{
	struct dir_list *l = dir_list_new();
	char name[24];

	for (uint32_t i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "file%06u.html", i);
		assert_true(dir_list_add(l, name, (UINT64_C(1) << 40) + i * apart));
	}
	assert_true(dir_list_end(l));
	return l;
}

static struct dir *enlisted(uint64_t id, struct dir_list *files, struct dir_list *dirs)
{
	struct dir *d = dir_table_get(&table, id, 1, &nobody, NULL);

	assert_true(dir_table_enlist(&table, d, files, dirs, &nobody, NULL));
	return d;
}

static void forget_all(void)
{
	for (uint32_t i = 0; i < DIRS_MAX; i++) {
		dir_table_delist(&table, &table.dirs[i], &nobody, NULL);
		dir_table_forget(&table.dirs[i]);
	}
	assert_int_equal(table.parts, 0);
}

/* Bytes a file of DIRS directories of FILES files, with their records and their places in the one above. */
static double bytes_a_file(uint32_t dirs, uint32_t files, uint32_t apart)
{
	uint64_t bytes;

	memset(&table, 0, sizeof(table));
	table.memory = UINT64_C(1) << 30;
	(void)enlisted(1, list_of(0, 1), list_of(dirs, 1));
	for (uint32_t i = 0; i < dirs; i++)
		(void)enlisted(2 + i, list_of(files, apart), NULL);
	bytes = table.parts + (1 + dirs) * sizeof(struct dir);
	forget_all();
	return (double)bytes / ((double)dirs * files);
}

static void test_bytes_a_file(void **state)
{
	static const uint32_t dirs[] = {1000, 50, 14, 1}, files[] = {20, 400, 1500, 20000};

	for (int i = 0; i < 4; i++)
		for (uint32_t apart = 1; apart < 2000000; apart += 999999) {
			double bytes = bytes_a_file(dirs[i], files[i], apart);

			print_message("%u files, %u apart: %.1f bytes\n", files[i], apart, bytes);
			assert_true(bytes < 64);
		}
}

static void enlist_some(uint64_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		(void)enlisted(from + i, list_of(20 + i % 7, 3), list_of(5, 3));
}

/* What the table says that parts take is what the allocator gave for them, where that can be asked. */
static void test_it_is_counted(void **state)
{
	uint64_t before, counted;
	double given;

	memset(&table, 0, sizeof(table));
	table.memory = UINT64_C(1) << 30;
	enlist_some(1, 500); /* what building them leaves with the allocator is there now */
	before = mallinfo2().uordblks;
	counted = table.parts;
	enlist_some(501, 500);
	given = (double)(mallinfo2().uordblks - before);
	counted = table.parts - counted;
	if (given != 0) /* no sanitizer's own */
		assert_true(given > 0.98 * (double)counted && given < 1.02 * (double)counted);
	forget_all();
}

static bool even_is_walked(void *arg, const struct dir *d, uint64_t now)
{
	return d->id % 2 == 0;
}

static const struct dir_owner evens = {
	.is_walked = even_is_walked, .drop = no_drop, .carry = no_carry};

/* The directories 1 to 4 have a list each, and there is no room for more. */
static void fill(void)
{
	memset(&table, 0, sizeof(table));
	table.memory = UINT64_C(1) << 30;
	for (uint32_t i = 1; i <= 4; i++)
		(void)enlisted(i, list_of(1000, 3), NULL);
	table.memory = table.parts;
}

/* Where those that may go are not enough none goes; else as many as are needed. */
static void test_none_goes_for_nothing(void **state)
{
	struct dir *d;

	fill();
	d = dir_table_get(&table, 5, 2, &evens, NULL);
	assert_false(dir_table_enlist(&table, d, list_of(3000, 3), NULL, &evens, NULL));
	assert_true(d->crowded && d->files == NULL);
	assert_int_equal(table.parts, table.memory);
	assert_true(dir_table_enlist(&table, d, list_of(900, 3), NULL, &evens, NULL));
	assert_false(d->crowded);
	assert_int_equal((dir_table_find(&table, 1)->files != NULL) +
				 (dir_table_find(&table, 3)->files != NULL),
			 1);
	forget_all();
}

/* Who has a list keeps it where there is no room for a larger one. */
static void test_the_old_one_stays(void **state)
{
	const struct dir_part *files;
	struct dir *d;

	fill();
	d = dir_table_find(&table, 2);
	files = d->files;
	assert_false(dir_table_enlist(&table, d, list_of(4000, 3), list_of(5, 3), &evens, NULL));
	assert_true(d->files == files && d->dirs == NULL && !d->crowded);
	assert_int_equal(table.parts, table.memory);
	forget_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_a_file),
		cmocka_unit_test(test_it_is_counted),
		cmocka_unit_test(test_none_goes_for_nothing),
		cmocka_unit_test(test_the_old_one_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
