/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What walks hold of Readahead_Memory: not for ever, and not what others need. */
#include "dir_world.h"

#include "readahead/dir_follow.h"
#include "readahead/dir_held.h"

#define BIG (256 * MIB)
#define FAR 6 /* a directory that is not fetched as a sibling of the first two */

static uint64_t held_by(uint32_t reader)
{
	return atomic_load(&t.ra->budget.of[reader].held);
}

/* Reader 1 walks two directories, and reads one file of a third, of which much is fetched then: large files. */
static void hold_much(void)
{
	start(8, 600, BIG, 16 * MIB);
	t.reader = 1;
	for (uint32_t d = 0; d < 2; d++)
		for (uint32_t i = 0; i < t.files; i++)
			read_file(d, i);
	t.bytes = MIB;
	memset(t.there, 0, sizeof(t.there));
	read_file(FAR, 0);
	assert_true(held_by(1) >= BIG / 4);
}

/* Seconds pass; in each that is the NTH the file FILE of directory FAR is read. */
static void pass(uint32_t seconds, uint32_t nth, uint32_t file)
{
	for (uint32_t s = 1; s <= seconds; s++) {
		t.now += SEC;
		if (s % nth == 0)
			read_file(FAR, file);
		dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	}
}

/* To read one file again and again is not to walk on: what was fetched of the others is given up as in silence. */
static void test_who_reads_one_file_again_holds_nothing(void **state)
{
	hold_much();
	pass(60, 9, 0);
	assert_int_equal(held_by(1), 0);
	end();
}

/* Where memory is short a second is enough; not for one who reads on. */
static void test_a_second_where_memory_is_short(void **state)
{
	hold_much();
	while (dir_held_take(t.ra, &t.counters, 2, MIB)) /* another one takes what he may */
		;
	assert_true(budget_is_short(&t.ra->budget));
	for (uint32_t i = 1; i < 10; i++) {
		t.now += SEC / 2;
		read_file(FAR, i);
		dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	}
	assert_true(held_by(1) >= BIG / 8);
	pass(2, 1, 0);
	assert_int_equal(held_by(1), 0);
	dir_held_returned(t.ra, &t.counters, 2, held_by(2));
	end();
}

/* A directory holds no more than one stream of its reader would have, if all hold as much. */
static void test_no_more_than_a_share(void **state)
{
	struct cursor *c;
	uint32_t r;

	start(8, 600, BIG, 16 * MIB);
	c = t.ra->pool.cursors;
	for (r = 2; r <= 4; r++) {
		c[r].reader = (uint16_t)r;
		assert_true(budget_charge(&t.ra->budget, &c[r], MIB));
		readahead_count(&t.counters, READAHEAD_PLANNED, MIB);
	}
	t.reader = 1;
	t.bytes = 64 * KIB;
	for (uint32_t d = 0; d < 2; d++)
		for (uint32_t i = 0; i < t.files; i++)
			read_file(d, i);
	t.bytes = MIB;
	read_file(FAR, 0);
	assert_in_range(held_by(1), BIG / 8, BIG / 4);
	for (uint32_t i = 1; i < t.files; i++)
		read_file(FAR, i);
	assert_true(t.demand <= 600 / 8); /* and goes on */
	for (r = 2; r <= 4; r++)
		readahead_count(&t.counters, READAHEAD_USED,
				budget_discharge(&t.ra->budget, &c[r], MIB));
	end();
}

/* Another one is refused some in each of SECONDS, in which reader 1 walks on over so many files of FAR. */
static void walk_beside_others(uint32_t seconds, uint32_t files)
{
	uint32_t file = 1;

	for (uint32_t s = 0; s < seconds; s++) {
		assert_false(budget_hold(&t.ra->budget, 2, BIG));
		for (uint32_t i = 0; i < files; i++) {
			t.now += SEC / files - MSEC;
			read_file(FAR, file++);
		}
		readahead_sweep(t.ra, t.now);
		dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	}
}

/* Who holds nearly all of it for a walk that goes slowly keeps his part when others want some, and takes no more. */
static void test_a_slow_walk_keeps_its_part(void **state)
{
	uint32_t demand;

	hold_much();
	demand = t.demand;
	assert_true(held_by(1) >= BIG / 10 * 9);
	walk_beside_others(3, 4);
	assert_in_range(held_by(1), BIG / 4, BIG / 2);
	walk_beside_others(3, 4);
	assert_in_range(held_by(1), BIG / 4, BIG / 2);
	assert_int_equal(t.demand, demand); /* it lies there still */
	end();
}

/* What a walk comes to soon is not given up. */
static void test_a_fast_walk_keeps_what_it_comes_to(void **state)
{
	hold_much();
	walk_beside_others(4, 60);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	assert_in_range(held_by(1), 0, BIG / 2 + MIB);
	end();
}

/* The furthest place of P of which something is held. */
static uint32_t last_held(const struct dir_part *p)
{
	uint32_t place = dir_list_count(p->list) - 1;

	while (p->held[dir_list_at(p->list, p->axis, place)] == 0)
		place--;
	return place;
}

/* What is too much goes from the end: what was passed over just now is read next, out of order. */
static void test_what_was_just_passed_over_stays(void **state)
{
	const struct dir_part *p;
	uint32_t last;

	hold_much();
	for (uint32_t i = 1; i <= 100; i++)
		if (i != 97)
			read_file(FAR, i);
	p = dir_table_find(&t.w->table, dir_id(FAR))->files;
	assert_int_equal(p->at, 100);
	last = last_held(p);
	assert_true(last > 101);
	for (int i = 0; i < 40; i++) /* he is slow now */
		dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	assert_int_equal(last_held(p), last);
	assert_false(budget_hold(&t.ra->budget, 2, BIG));
	readahead_sweep(t.ra, t.now);
	assert_true(budget_surplus(&t.ra->budget, p->payer) != 0);
	dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	assert_true(last_held(p) < last);
	assert_int_equal(p->held[dir_list_at(p->list, p->axis, 97)], MIB);
	end();
}

/* The file that is the PLACE-th by name. */
static uint32_t by_name(uint32_t place)
{
	uint32_t file = 0;

	while (name_of(file) != place)
		file++;
	return file;
}

static uint32_t as_listed(uint32_t place)
{
	return place;
}

/* Another one reads a file by chance far behind a walk that goes in ORDER: what that comes to next is not what goes first. */
static void the_end_goes(uint32_t (*order)(uint32_t))
{
	const struct dir_part *p;
	uint32_t first, last = 0;

	hold_much();
	for (uint32_t i = 1; i <= 100; i++)
		read_file(FAR, order(i));
	p = dir_table_find(&t.w->table, dir_id(FAR))->files;
	first = order(101); /* its index: all are there */
	for (uint32_t i = 101; i < t.files; i++)
		last = p->held[order(i)] != 0 ? order(i) : last;
	assert_true(p->held[first] != 0 && last != 0);
	for (int i = 0; i < 40; i++) /* he is slow now */
		dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	assert_false(budget_hold(&t.ra->budget, 2, BIG));
	readahead_sweep(t.ra, t.now);
	t.reader = 2;
	read_file(FAR, order(t.files - 50));
	assert_true(budget_surplus(&t.ra->budget, p->payer) != 0);
	dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	assert_int_equal(p->held[first], MIB);
	assert_int_equal(p->held[last], 0);
	end();
}

static void test_a_read_by_chance_turns_no_walk_round(void **state)
{
	the_end_goes(as_listed);
}

static void test_nor_one_by_name(void **state)
{
	the_end_goes(by_name);
}

/* Two walks of one directory: where all beyond the second goes, what that passed over just now does not. */
static void test_what_two_passed_over_stays(void **state)
{
	const struct dir_part *p;

	hold_much();
	for (uint32_t i = 1; i <= 50; i++)
		read_file(FAR, i);
	for (uint32_t i = 220; i <= 230; i++)
		if (i != 227)
			read_file(FAR, i);
	p = dir_table_find(&t.w->table, dir_id(FAR))->files;
	assert_true(p->held[227] != 0 && p->held[231] != 0);
	for (int i = 0; i < 40; i++)
		dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	for (uint32_t reader = 2; reader <= 5; reader++)
		assert_false(budget_hold(&t.ra->budget, reader, BIG));
	readahead_sweep(t.ra, t.now);
	dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	for (uint32_t i = 200; i < t.files; i++)
		assert_int_equal(p->held[i], i == 227 ? MIB : 0);
	assert_int_equal(p->held[51], MIB);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_reads_one_file_again_holds_nothing),
		cmocka_unit_test(test_a_second_where_memory_is_short),
		cmocka_unit_test(test_no_more_than_a_share),
		cmocka_unit_test(test_a_slow_walk_keeps_its_part),
		cmocka_unit_test(test_a_fast_walk_keeps_what_it_comes_to),
		cmocka_unit_test(test_what_was_just_passed_over_stays),
		cmocka_unit_test(test_what_two_passed_over_stays),
		cmocka_unit_test(test_a_read_by_chance_turns_no_walk_round),
		cmocka_unit_test(test_nor_one_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
