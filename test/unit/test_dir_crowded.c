/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* More walks than there is memory for their lists: each has its own or none, and none takes another's. */
#include "dir_world.h"

#include "readahead/dir_follow.h"

#define LARGE 2000 /* files */

/* Bytes of the list of one directory of FILES files, or of TOP with DIRS subdirectories. */
static uint64_t bytes_of(uint32_t dirs, uint32_t files)
{
	uint64_t bytes;

	start(dirs, files, MEMORY, MEMORY);
	if (files != 0) {
		for (uint32_t i = 0; i < DIR_COUNT; i++)
			read_file(0, i);
	} else {
		know_top();
	}
	bytes = t.w->table.parts;
	end();
	assert_true(bytes != 0);
	return bytes;
}

/* Three walks side by side where two lists fit: two are fetched ahead, and nobody is judged by the third. */
static void test_one_more_than_there_is_room_for(void **state)
{
	uint64_t two = 5 * bytes_of(1, LARGE) / 2;
	uint32_t before;

	start(4, LARGE, MEMORY, two);
	t.reader = 1;
	for (uint32_t i = 0; i < t.files; i++)
		for (uint32_t d = 0; d < 3; d++)
			read_file(d, i);
	assert_true(t.jobs < 400);
	assert_true(t.demand <= LARGE + LARGE / 10);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	before = t.demand;
	for (uint32_t i = 0; i < t.files; i++) /* now there is */
		read_file(3, i);
	assert_true(t.demand - before <= LARGE / 10);
	end();
}

/* A walk for whose list there is no room comes to it while it goes on, when the others have ended. */
static void test_room_comes_later(void **state)
{
	uint64_t two = 5 * bytes_of(1, LARGE) / 2;

	start(3, LARGE, MEMORY, two);
	for (uint32_t i = 0; i < 200; i++)
		for (t.reader = 1; t.reader <= 3; t.reader++)
			read_file(t.reader - 1, i);
	t.reader = 3;
	for (uint32_t i = 200; i < t.files; i++) {
		t.now += SEC / 5;
		read_file(2, i);
	}
	assert_in_range(t.demand, 200, 600);
	end();
}

/* The directories from FIRST on have few files. */
static void make_small(uint32_t first, uint32_t files)
{
	for (uint32_t d = first; d < t.dirs; d++)
		for (uint32_t i = files; i < t.files; i++)
			t.removed[d][i] = true;
}

/* The same of the list of a parent: its subdirectories are fetched before their turn from then on. */
static void test_room_for_a_parent_comes_later(void **state)
{
	uint64_t bytes = 2 * bytes_of(1, LARGE) + 3 * bytes_of(200, 0) / 4;
	uint32_t before = 0;

	start(200, LARGE, MEMORY, bytes);
	make_small(2, 8);
	t.reader = 2;
	for (uint32_t i = 0; i < 16; i++)
		read_file(i % 2, i / 2);
	t.reader = 1;
	for (uint32_t d = 2; d < t.dirs; d++) {
		if (d == t.dirs / 2)
			before = t.demand;
		for (uint32_t i = 0; i < 8; i++)
			read_file(d, i);
		t.now += SEC;
	}
	assert_true(before >= 64); /* one of each, without */
	assert_true(t.demand - before <= 8);
	end();
}

/* Who opens files all over some large directories has them listed less and less; but a walk of his is recognised. */
static void test_lists_in_vain(void **state)
{
	uint64_t x = 88172645463325252u, two = 5 * bytes_of(1, LARGE) / 2;
	uint32_t before;

	start(31, LARGE, MEMORY, two);
	t.reader = 1;
	for (uint32_t i = 0; i < 10000; i++) {
		x = drawn(x);
		read_file((uint32_t)(x % 30), (uint32_t)((x >> 32) % t.files));
	}
	assert_in_range(t.jobs, 4, 80);
	before = t.demand;
	for (uint32_t i = 0; i < t.files; i++)
		read_file(30, i);
	assert_in_range(t.demand - before, 4, LARGE / 10);
	end();
}

/* ... nor where two walks have all the memory, and there is no room for any of those lists. */
static void test_lists_in_vain_without_room(void **state)
{
	uint64_t x = 88172645463325252u, two = 5 * bytes_of(1, LARGE) / 2;
	uint32_t jobs = 0, before;

	start(32, LARGE, MEMORY, two);
	for (uint32_t i = 0; i < 10000; i++) {
		t.reader = 2;
		for (uint32_t d = 30; i % 6 == 0 && d < t.dirs; d++)
			read_file(d, i / 6);
		t.reader = 1;
		before = t.jobs;
		x = drawn(x);
		if (i >= 30) /* the walks are there first */
			read_file((uint32_t)(x % 30), (uint32_t)((x >> 32) % t.files));
		jobs += t.jobs - before;
	}
	assert_in_range(jobs, 4, 80);
	end();
}

/* Who reads files of two large directories by chance keeps no list from a walk, and has none read again and again. */
static void test_chance_crowds_no_walk(void **state)
{
	uint64_t x = 88172645463325252u, two = 5 * bytes_of(1, LARGE) / 2;
	uint32_t waited = 0;

	start(3, LARGE, MEMORY, two);
	for (uint32_t i = 0; i < t.files + 16; i++) {
		x = drawn(x);
		t.reader = 1;
		read_file(i % 2, (uint32_t)((x >> 32) % t.files));
		t.reader = 2;
		waited += i >= 16 && !read_file(2, i - 16);
	}
	assert_true(waited <= LARGE / 10);
	assert_true(t.jobs <= 200);
	end();
}

/* A directory grows while it is walked and all memory is walks': the walk goes on over what is known of it. */
static void test_no_room_to_grow(void **state)
{
	uint64_t two = 21 * bytes_of(1, 3 * LARGE / 4) / 10;

	start(2, LARGE, MEMORY, two);
	make_small(0, 3 * LARGE / 4);
	for (uint32_t i = 0; i < 3 * LARGE / 4; i++) {
		if (i == LARGE / 4) {
			memset(t.removed[0], 0, sizeof(t.removed[0]));
			t.stamp += SEC;
		}
		for (t.reader = 1; t.reader <= 2; t.reader++)
			read_file(t.reader - 1, i);
	}
	assert_true(t.demand <= LARGE / 10);
	assert_true(dir_walks_listed(t.w, dir_id(0), t.stamp)); /* not at each job */
	assert_true(dir_table_find(&t.w->table, dir_id(0))->files != NULL);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_more_than_there_is_room_for),
		cmocka_unit_test(test_room_comes_later),
		cmocka_unit_test(test_room_for_a_parent_comes_later),
		cmocka_unit_test(test_lists_in_vain),
		cmocka_unit_test(test_lists_in_vain_without_room),
		cmocka_unit_test(test_chance_crowds_no_walk),
		cmocka_unit_test(test_no_room_to_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
