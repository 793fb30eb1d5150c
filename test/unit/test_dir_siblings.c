/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Walks over many subdirectories, and deep ones: what a READ costs, under the lock of all clients, does not grow with these. */
#define DIRS  20000
#define FILES 8
#include "dir_world.h"

#include "readahead/dir_follow.h"

/* Places of a list that a READ, with the job that it may begin, may look at. */
#define LOOKS_MAX 2048

static uint32_t looks;

uint32_t __real_dir_list_at(const struct dir_list *l, enum dir_axis axis, uint32_t place);
uint32_t __wrap_dir_list_at(const struct dir_list *l, enum dir_axis axis, uint32_t place);

uint32_t __wrap_dir_list_at(const struct dir_list *l, enum dir_axis axis, uint32_t place)
{
	looks++;
	return __real_dir_list_at(l, axis, place);
}

/* The directories come as they are looked up, not all before the first one is read. */
static void begin(void)
{
	start(0, FILES, MEMORY, 16 * MIB);
	t.dirs = DIRS;
}

/* All files of the directories from FIRST on, in order; the most places that one READ has looked at. */
static uint32_t walk(uint32_t first)
{
	static const struct dir_handle h = {.type = 1, .len = 8};
	uint32_t most = 0;

	for (uint32_t d = first; d < t.dirs; d++) {
		const struct dir_name name = {.id = dir_id(d), .parent = TOP, .inode = dir_id(d)};

		dir_walks_seen(t.w, &name, &h, t.now); /* there are more than are remembered */
		for (uint32_t i = 0; i < t.files; i++) {
			looks = 0;
			read_file(d, i);
			most = looks > most ? looks : most;
		}
	}
	return most;
}

/* Every subdirectory was read before: none is left to be fetched. */
static void test_walked_again(void **state)
{
	begin();
	walk(0);
	assert_in_range(walk(0), 1, LOOKS_MAX);
	end();
}

/* Some are left, before those that are walked. */
static void test_walked_again_in_part(void **state)
{
	begin();
	walk(5);
	assert_in_range(walk(5), 1, LOOKS_MAX);
	end();
}

/* Thousands of directories, one in the other: a READ in the last one is told to those that ask for it. */
static void test_a_deep_tree(void **state)
{
	static const struct dir_handle h = {.type = 1, .len = 8};
	struct dir_read read = {.dir = 4000, .inode = 1};
	struct dir_handle handle;
	uint32_t told = 0;

	start(0, FILES, MEMORY, 16 * MIB);
	for (uint64_t id = 2; id <= read.dir; id++) {
		const struct dir_name name = {.id = id, .parent = id - 1, .inode = id};

		dir_walks_seen(t.w, &name, &h, t.now);
	}
	read.now = t.now;
	assert_false(dir_walks_read(t.w, &t.counters, &read, &handle));
	for (uint32_t i = 0; i < DIRS_MAX; i++)
		told += t.w->table.dirs[i].n_recent[1];
	assert_in_range(told, 3, 8);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walked_again),
		cmocka_unit_test(test_walked_again_in_part),
		cmocka_unit_test(test_a_deep_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
