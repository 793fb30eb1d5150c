/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Walks where not all goes well: clients that stop, many at a time, directories that change or cannot be listed,
 * memory that is full.
 */
#include "dir_world.h"

#include "readahead/dir_follow.h"
#include "readahead/dir_held.h"

/* Clients begin with the files of DIRS directories from FIRST on, and go away. */
static void begin_and_stop(uint32_t first, uint32_t dirs)
{
	for (uint32_t d = first; d < first + dirs; d++)
		for (uint32_t i = 0; i < 8; i++)
			read_file(d, i);
	t.now += 11 * SEC;
	dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
}

/* All files of DIR are read in turn; how many had to be waited for. */
static uint32_t walk(uint32_t dir)
{
	uint32_t before = t.demand;

	for (uint32_t i = 0; i < t.files; i++)
		read_file(dir, i);
	return t.demand - before;
}

/* However many stopped before: who goes on is believed again, in time, and those after him at once. */
static void test_who_goes_on_after_others_stopped(void **state)
{
	uint32_t fetched;

	start(60, 400, MEMORY, 16 * MIB);
	t.bytes = 256 * KIB;
	for (int i = 0; i < 20; i++)
		begin_and_stop(2 * (uint32_t)i, 2);
	fetched = t.fetched;
	begin_and_stop(40, 2);
	assert_int_equal(t.fetched, fetched); /* nothing more for such as these */
	t.bytes = 16 * KIB;
	assert_in_range(walk(50), 21, 200);
	assert_in_range(walk(51), 4, 40);
	assert_in_range(walk(0), 0, 300); /* where one stopped */
	end();
}

/* Who reads the first files of each directory spoils it for nobody else: neither who is known, nor who comes new. */
static void test_who_stops_beside_others_who_go_on(void **state)
{
	start(400, 64, 256 * MIB, 16 * MIB);
	for (uint32_t d = 0; d < 200; d++) {
		t.reader = 1;
		t.bytes = MIB;
		for (uint32_t i = 0; i < 8; i++)
			read_file(2 * d + 1, i);
		t.now += 11 * SEC;
		dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
		t.reader = d < 100 ? 2 : 3 + d;
		t.bytes = 16 * KIB;
		assert_in_range(walk(2 * d), 0, 12);
	}
	end();
}

/* The same client at the same place: what he left there once is no longer held against him when he comes again. */
static void test_a_directory_left_once(void **state)
{
	start(2, 1500, MEMORY, 16 * MIB);
	t.bytes = 256 * KIB;
	for (uint32_t i = 0; i < 8; i++)
		read_file(0, i);
	t.now += 200 * SEC;
	dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
	t.bytes = 16 * KIB;
	memset(t.there, 0, sizeof(t.there));
	assert_in_range(walk(0), 4, 500);
	end();
}

/* A directory that was found to be left again and again is not fetched as a sibling either. */
static void test_a_sibling_that_is_left(void **state)
{
	uint32_t there = 0;

	start(12, 100, MEMORY, 16 * MIB);
	for (int i = 0; i < 6; i++) {
		t.bytes = 512 * KIB;
		begin_and_stop(6, 1);
		t.now += 31 * SEC;
		memset(t.there, 0, sizeof(t.there));
	}
	t.bytes = 4 * KIB;
	for (uint32_t d = 0; d < 6; d++)
		walk(d);
	for (uint32_t i = 0; i < t.files; i++)
		there += t.there[6][i];
	assert_int_equal(there, 0);
	end();
}

/* As many clients as there may be at once, each in a directory of his own, and one file after the other. */
static void test_many_clients(void **state)
{
	start(200, 60, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++)
		for (uint32_t d = 0; d < t.dirs; d++) {
			t.reader = d + 1;
			read_file(d, i);
		}
	assert_true(t.demand <= 8 * t.dirs);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	end();
}

/* Two of three files are read and moved away: what is left is no more than fits in memory. */
static void test_most_are_read_and_go(void **state)
{
	start(1, 1999, 4 * MIB, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++) {
		if (i % 3 == 2)
			continue;
		read_file(0, i);
		t.removed[0][i] = true;
		t.stamp += SEC;
	}
	assert_true(t.demand <= 20);
	end();
}

/* One walks a directory; another one, who reads much elsewhere, looks into it now and then: the walk goes on. */
static void test_a_walk_that_another_looks_into(void **state)
{
	start(2, 2000, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files / 2; i++) {
		t.reader = 1;
		for (int k = 0; i % 7 == 6 && k < 65; k++)
			read_file(1, 0);
		if (i % 7 == 6)
			read_file(0, t.files - 1);
		t.reader = 2;
		read_file(0, i);
	}
	assert_true(t.demand <= 40);
	end();
}

/* Two clients share one directory, file by file, while two hundred others read elsewhere. */
static void test_two_in_one_among_many(void **state)
{
	start(200, 400, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++) {
		uint32_t before = t.demand;

		t.reader = 1 + i % 2;
		read_file(0, i);
		assert_true(i < 12 || t.demand == before);
		for (uint32_t d = 1; d < t.dirs; d++) {
			t.reader = 2 + d;
			read_file(d, scrambled(i, t.files, 137));
		}
	}
	end();
}

/* While a directory is walked files come and others go: the walk goes on, and what is there is read. */
static void test_a_directory_that_changes(void **state)
{
	start(1, 600, MEMORY, 16 * MIB);
	for (uint32_t i = 500; i < t.files; i++)
		t.removed[0][i] = true;
	for (uint32_t i = 0; i < 500; i++) {
		read_file(0, i);
		if (i % 3 != 0)
			continue;
		t.stamp += SEC;
		t.removed[0][500 + i / 5] = false; /* is new */
		t.removed[0][i > 10 ? i - 10 : 0] = true;
	}
	assert_true(t.demand <= 16);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	end();
}

/* Each file is moved away when it has been read, as mail is. */
static void test_files_that_go_when_read(void **state)
{
	start(1, 500, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++) {
		read_file(0, i);
		t.removed[0][i] = true;
		t.stamp += SEC;
	}
	assert_true(t.demand <= 40);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	end();
}

/* Files that were fetched, and are removed unread, are wasted; the others are not. */
static void test_fetched_files_that_go(void **state)
{
	start(1, 400, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 100; i++)
		read_file(0, i);
	for (uint32_t i = 100; i < t.files; i += 2)
		t.removed[0][i] = true;
	t.stamp += SEC;
	for (uint32_t i = 101; i < t.files; i += 2)
		read_file(0, i);
	assert_in_range(readahead_counted(&t.counters, READAHEAD_WASTED), 0, 64 * FILE_KB);
	assert_true(t.demand <= 20);
	end();
}

/* One after the other walks a directory that memory loses in between, and reads elsewhere: each has a walk of his own. */
static void test_one_after_the_other(void **state)
{
	start(20, 500, MEMORY, 16 * MIB);
	for (uint32_t k = 1; k <= 5; k++) {
		t.reader = k;
		assert_in_range(walk(0), k == 1 ? 4 : 0, 24);
		for (uint32_t i = 0; i < 100; i++)
			read_file(1 + i % 10, scrambled(i, t.files, 37));
		t.now += 5 * SEC;
		memset(t.there[0], 0, sizeof(t.there[0]));
	}
	end();
}

/* Nor does who opens files by chance walk a directory again that he has walked, though siblings of it were walked, too. */
static void test_by_chance_after_a_walk(void **state)
{
	uint64_t x = 88172645463325252u;
	uint32_t before;

	start(4, 400, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < t.dirs; d++)
		walk(d);
	memset(t.there, 0, sizeof(t.there));
	before = t.fetched;
	for (uint32_t i = 0; i < 60; i++) {
		x = drawn(x);
		read_file(3, (uint32_t)(x % t.files));
	}
	assert_in_range(t.fetched, before, before + 3);
	end();
}

/* Many clients who open files by chance are no walk. */
static void test_many_by_chance(void **state)
{
	uint64_t x = 88172645463325252u;

	start(100, 200, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 30000; i++) {
		x = drawn(x);
		t.reader = 1 + (uint32_t)(x >> 48) % 100;
		read_file((uint32_t)(x % t.dirs), (uint32_t)((x >> 32) % t.files));
	}
	assert_true(t.fetched * 50 <= t.demand);
	end();
}

/* Who reads the first few files of one directory after another is soon fetched nothing for, however large they are. */
static void test_the_first_of_each(void **state)
{
	for (uint32_t bytes = 16 * KIB; bytes <= MIB; bytes *= 4) {
		start(300, 400, 256 * MIB, 16 * MIB);
		t.bytes = bytes;
		for (uint32_t d = 0; d < t.dirs; d++) {
			for (uint32_t i = 0; i < 8; i++)
				read_file(d, i);
			t.now += 11 * SEC;
			dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
		}
		assert_true(t.fetched <= 16 * 16);
		end();
	}
}

/* Whether the list of DIR is asked for when its file FILE is read. */
static bool asks_for_list(uint32_t dir, uint32_t file)
{
	struct dir_read read = {
		.dir = dir_id(dir), .inode = inode_of(dir, file), .now = t.now += MSEC};
	struct dir_handle h;

	return dir_walks_read(t.w, &t.counters, &read, &h);
}

/* Four files of DIR are read in turn, whose list is asked for with the last one. */
static void ask_for_list(uint32_t dir)
{
	for (uint32_t i = 0; i < DIR_COUNT; i++)
		assert_int_equal(asks_for_list(dir, i), i == DIR_COUNT - 1);
}

/* Lists that were not to be had say nothing of who asked for them. */
static void test_no_list_is_none_in_vain(void **state)
{
	start(DIR_LOOKS + 2, 100, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d <= DIR_LOOKS; d++) {
		ask_for_list(d);
		dir_walks_enlist(t.w, dir_id(d), 1, NULL, NULL, true);
		dir_walks_end(t.w, dir_id(d));
	}
	ask_for_list(DIR_LOOKS + 1);
	dir_walks_end(t.w, dir_id(DIR_LOOKS + 1));
	end();
}

/* DIRS directories from FIRST on are listed, and show no walk. */
static void list_in_vain(uint32_t first, uint32_t dirs)
{
	for (uint32_t d = first; d < first + dirs; d++) {
		for (uint32_t i = 0; i < DIR_COUNT; i++)
			assert_int_equal(asks_for_list(d, 20 * i), i == DIR_COUNT - 1);
		know_files(d);
		dir_walks_end(t.w, dir_id(d));
	}
}

/* Who had some listed in vain has a look at others now and then, by four files: one that is read twice is no other. */
static void test_a_look_is_not_spent_on_a_file_twice(void **state)
{
	start(DIR_LOOKS + 1, 100, MEMORY, 16 * MIB);
	list_in_vain(0, DIR_LOOKS);
	for (uint32_t i = 0; i < DIR_COUNT; i++)
		for (int twice = 0; twice < 2; twice++)
			assert_int_equal(asks_for_list(DIR_LOOKS, i),
					 i == DIR_COUNT - 1 && twice == 0);
	dir_walks_end(t.w, dir_id(DIR_LOOKS));
	end();
}

/* What was listed in vain long ago makes no look wait: nor does the reader's number when it is another one's. */
static void test_looks_are_forgotten(void **state)
{
	start(2 * DIR_LOOKS + 2, 100, MEMORY, 16 * MIB);
	list_in_vain(0, DIR_LOOKS + 1);
	t.now += 600 * SEC;
	list_in_vain(DIR_LOOKS + 1, DIR_LOOKS);
	ask_for_list(2 * DIR_LOOKS + 1);
	dir_walks_end(t.w, dir_id(2 * DIR_LOOKS + 1));
	end();
}

/* How many files of DIR are read, each STEP further by inode, before its list is asked for. */
static uint32_t files_before_list(uint32_t dir, uint32_t step)
{
	uint32_t n = 0, file = 0;
	bool asked = false;

	for (uint32_t place = 0; !asked; place += step, n++) {
		while (scrambled(file, t.files, 7) != place)
			file = (file + 1) % t.files;
		asked = asks_for_list(dir, file);
	}
	dir_walks_end(t.w, dir_id(dir));
	return n;
}

/* ... and files in a row show a walk of his without a list, but not ones here and there in that order. */
static void test_a_walk_shows_in_inodes(void **state)
{
	start(DIR_LOOKS + 3, 1000, MEMORY, 16 * MIB);
	list_in_vain(0, DIR_LOOKS + 1);
	assert_int_equal(files_before_list(DIR_LOOKS + 1, 1), DIR_RECENT);
	assert_in_range(files_before_list(DIR_LOOKS + 2, 3), 80, 90);
	end();
}

/* A list that cannot be had is not asked for again at each read, but by the next walk. */
static void test_no_list(void **state)
{
	start(1, 100, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(read_on(i));
	assert_true(read_on(3));
	dir_walks_enlist(t.w, dir_id(0), 1, NULL, NULL, true);
	dir_walks_end(t.w, dir_id(0));
	for (uint32_t i = 4; i < 50; i++)
		assert_false(read_on(i));
	t.now += 31 * SEC;
	for (uint32_t i = 0; i < 3; i++)
		assert_false(read_on(i));
	assert_true(read_on(3));
	know_files(0);
	assert_false(dir_walks_listed(t.w, dir_id(0), 2 * SEC)); /* has changed, */
	dir_walks_enlist(t.w, dir_id(0), 2 * SEC, NULL, NULL, true);
	assert_true(dir_walks_listed(t.w, dir_id(0),
				     2 * SEC)); /* ... and is not to be had: the old one must do */
	dir_walks_end(t.w, dir_id(0));
	end();
}

/* What there is no memory for now is fetched when there is some, and not asked for at each read until then. */
static void test_full_memory(void **state)
{
	uint32_t jobs;

	start(1, 1000, 128 * KIB, 16 * MIB);
	assert_true(dir_held_take(t.ra, &t.counters, 1, 127 * KIB)); /* all that one may have */
	for (uint32_t i = 0; i < 200; i++)
		read_file(0, i);
	assert_int_equal(t.fetched, 0);
	assert_in_range(t.jobs, 10, 30);
	dir_held_returned(t.ra, &t.counters, 1, 127 * KIB);
	jobs = t.jobs;
	for (uint32_t i = 200; i < t.files; i++)
		read_file(0, i);
	assert_true(t.fetched >= 780);
	assert_true(t.jobs - jobs <= 200);
	end();
}

/* One client walks through many directories, and leaves them: another one finds memory, and may have half of it. */
static void test_one_leaves_memory_for_others(void **state)
{
	uint64_t mine = 0, others = 0;

	start(64, 200, 2 * MIB, 16 * MIB);
	t.reader = 1;
	for (uint32_t d = 0; d < t.dirs; d++)
		for (uint32_t i = 0; i < 8; i++)
			read_file(d, i);
	while (dir_held_take(t.ra, &t.counters, 1, 8 * KIB)) /* all that he may have */
		mine += 8 * KIB;
	assert_in_range(mine, 0, MIB / 2);
	assert_true(dir_held_take(t.ra, &t.counters, 2, 8 * KIB));
	for (uint32_t d = 0; d < t.dirs; d++) { /* as he reads on */
		for (uint32_t i = 8; i < 16; i++)
			read_file(d, i);
		while (others < MIB && dir_held_take(t.ra, &t.counters, 2, 8 * KIB))
			others += 8 * KIB;
	}
	assert_true(others >= MIB / 2);
	dir_held_returned(t.ra, &t.counters, 1, mine);
	dir_held_returned(t.ra, &t.counters, 2, others + 8 * KIB);
	end();
}

/* A large directory that changes all the time is not listed at each job; a small one is. */
static void test_a_large_one_that_changes_is_listed_seldom(void **state)
{
	static const uint32_t files[] = {100, 1900};

	for (int large = 0; large < 2; large++) {
		start(1, files[large], MEMORY, 16 * MIB);
		for (uint32_t i = 0; i < 4; i++)
			(void)read_on(i);
		know_files(0);
		assert_true(dir_walks_listed(t.w, dir_id(0), t.stamp));
		assert_int_equal(dir_walks_listed(t.w, dir_id(0), t.stamp + SEC / 40), large);
		assert_false(dir_walks_listed(t.w, dir_id(0), t.stamp + SEC));
		assert_false(dir_walks_listed(t.w, dir_id(0), t.stamp - 1)); /* set back */
		dir_walks_end(t.w, dir_id(0));
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_large_one_that_changes_is_listed_seldom),
		cmocka_unit_test(test_who_goes_on_after_others_stopped),
		cmocka_unit_test(test_who_stops_beside_others_who_go_on),
		cmocka_unit_test(test_a_directory_left_once),
		cmocka_unit_test(test_a_sibling_that_is_left),
		cmocka_unit_test(test_many_clients),
		cmocka_unit_test(test_a_walk_that_another_looks_into),
		cmocka_unit_test(test_two_in_one_among_many),
		cmocka_unit_test(test_a_directory_that_changes),
		cmocka_unit_test(test_files_that_go_when_read),
		cmocka_unit_test(test_most_are_read_and_go),
		cmocka_unit_test(test_fetched_files_that_go),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_by_chance_after_a_walk),
		cmocka_unit_test(test_many_by_chance),
		cmocka_unit_test(test_the_first_of_each),
		cmocka_unit_test(test_no_list),
		cmocka_unit_test(test_no_list_is_none_in_vain),
		cmocka_unit_test(test_a_look_is_not_spent_on_a_file_twice),
		cmocka_unit_test(test_looks_are_forgotten),
		cmocka_unit_test(test_a_walk_shows_in_inodes),
		cmocka_unit_test(test_one_leaves_memory_for_others),
		cmocka_unit_test(test_full_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
