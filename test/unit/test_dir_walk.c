/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Walks over directories: recognised in any order, not where there is none; bounded, and all accounted for. */
#include "dir_world.h"

#include "readahead/dir_follow.h"

/* The file at a place by name, by inode. */
static uint32_t find(uint32_t place, uint32_t (*order)(uint32_t))
{
	for (uint32_t i = 0; i < t.files; i++)
		if (order(i) == place)
			return i;
	fail();
	return 0;
}

static uint32_t by_name(uint32_t file)
{
	return name_of(file);
}

static uint32_t by_inode(uint32_t file)
{
	return scrambled(file, t.files, 7);
}

static uint32_t as_listed(uint32_t file)
{
	return file;
}

static void test_each_order_is_recognised(void **state)
{
	uint32_t (*const orders[])(uint32_t) = {as_listed, by_name, by_inode};

	for (int o = 0; o < 3; o++) {
		start(1, 500, MEMORY, 16 * MIB);
		for (uint32_t i = 0; i < t.files; i++)
			assert_true(read_file(0, find(i, orders[o])) || t.demand <= 4);
		assert_true(t.demand >= 4);
		assert_int_equal(t.fetched + t.demand, t.files);
		assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
		end();
	}
}

/* Half of the files in no order at all: the others too. */
static void test_no_order_but_most(void **state)
{
	start(1, 101, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++)
		read_file(0, scrambled(i, t.files, 37));
	assert_true(t.demand <= 55);
	end();
}

static void test_skips_are_tolerated(void **state)
{
	start(1, 500, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++)
		if (i % 4 != 3)
			read_file(0, i);
	assert_true(t.demand <= 20);
	end();
}

/* Clients in several parts of a directory: a job fetches for each of them. */
static void test_parts_are_fetched_together(void **state)
{
	static const uint32_t parts[] = {0, 100, 200, 300};
	uint32_t indices[DIR_WINDOW_MAX], n, of[4] = {0};
	const struct dir_list *list;
	struct dir_handle h;
	bool wanted = false;

	start(1, 400, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 8 && !wanted; i++)
		for (uint32_t k = 0; k < 4; k++) {
			struct dir_read read = {.dir = dir_id(0), .now = t.now};

			read.inode = inode_of(0, parts[k] + i);
			read.reader = k + 1;
			if (dir_walks_read(t.w, &t.counters, &read, &h)) {
				know_files(0); /* now they are known, and nothing is fetched yet */
				dir_walks_end(t.w, dir_id(0));
				wanted = i >= 4;
			}
		}
	assert_true(wanted &&
		    dir_walks_begin(t.w, &(struct dir_name){.id = dir_id(0)}, dir_id(0), t.now));
	n = dir_walks_pick(t.w, dir_id(0), false, indices, DIR_WINDOW_MAX, &list);
	for (uint32_t i = 0; i < n; i++)
		of[indices[i] / 100]++;
	for (uint32_t k = 0; k < 4; k++)
		assert_true(of[k] >= DIR_WINDOW_MIN / 2);
	dir_walks_end(t.w, dir_id(0));
	end();
}

/* Four clients, each a quarter of the directory, and another walk elsewhere. */
static void test_several_walks(void **state)
{
	start(2, 800, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 200; i++) {
		for (uint32_t client = 0; client < 4; client++)
			read_file(0, client * 200 + i);
		read_file(1, i);
	}
	assert_true(t.demand <= 60);
	end();
}

/* One client goes by name, another one as listed: neither gives up what was fetched for the other. */
static void test_two_orders(void **state)
{
	start(1, 2000, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files / 3; i++) {
		t.reader = 1;
		read_file(0, find(i, by_name));
		t.reader = 2;
		read_file(0, t.files / 2 + i);
	}
	assert_true(t.demand <= 20);
	assert_in_range(readahead_counted(&t.counters, READAHEAD_WASTED), 0, 64 * FILE_KB);
	end();
}

static void test_one_in_ten_is_no_walk(void **state)
{
	start(20, 20, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < t.dirs; d++)
		for (uint32_t i = 0; i < t.files; i += 10)
			read_file(d, i);
	assert_int_equal(t.fetched, 0);
	end();
	start(1, 1500, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i += 10)
		read_file(0, i);
	assert_int_equal(t.fetched, 0);
	end();
}

static void test_opens_by_chance_fetch_next_to_nothing(void **state)
{
	uint64_t x = 88172645463325252u;
	static const struct {
		uint32_t dirs, files;
	} trees[] = {{400, 20}, {4, 1500}, {40, 200}};

	for (int k = 0; k < 3; k++) {
		start(trees[k].dirs, trees[k].files, MEMORY, 16 * MIB);
		for (int i = 0; i < 3000; i++) {
			x = drawn(x);
			read_file((uint32_t)(x % t.dirs), (uint32_t)((x >> 32) % t.files));
		}
		assert_true(t.fetched * 50 <= t.demand);
		end();
	}
}

/* Three siblings in turn: those after them come before their client does. */
static void test_siblings(void **state)
{
	start(40, 20, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < t.dirs; d++)
		for (uint32_t i = 0; i < t.files; i++)
			read_file(d, i);
	assert_true(t.demand <= 12);
	assert_int_equal(t.fetched + t.demand, 40 * 20);
	end();
}

/* Some that were asked for are never read, as where a copy leaves them out: those after them come, and these are given up. */
static void test_siblings_left_out(void **state)
{
	start(200, 20, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < t.dirs; d++) {
		for (uint32_t i = 0; i < t.files && d % 20 < 18; i++)
			read_file(d, i);
		dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
	}
	assert_true(t.demand <= 12 + t.dirs / 20);
	assert_in_range(readahead_counted(&t.counters, READAHEAD_WASTED) / (t.files * FILE_KB),
			2 * 8, 2 * 10);
	end();
}

/* In no order of the siblings: each is known for a walk at its first read. */
static void test_siblings_in_no_order(void **state)
{
	start(40, 20, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < t.dirs; d++)
		for (uint32_t i = 0; i < t.files; i++)
			read_file(scrambled(d, t.dirs, 17), i);
	assert_true(t.demand <= 8 + t.dirs);
	end();
}

/*
 * A tree in which three of five directories have one to three files: these are read before a walk of theirs can be known, and
 * say nothing against those of their siblings, in order (by 1) or not.
 */
static void test_small_siblings(void **state)
{
	for (uint32_t by = 1; by <= 37; by += 36) {
		start(120, 20, MEMORY, 16 * MIB);
		for (uint32_t k = 0; k < t.dirs; k++) {
			uint32_t d = scrambled(k, t.dirs, by), n = k % 5 < 3 ? 1 + k % 3 : t.files;

			for (uint32_t i = n; i < t.files; i++)
				t.removed[d][i] = true;
		}
		for (uint32_t k = 0; k < t.dirs; k++) {
			uint32_t d = scrambled(k, t.dirs, by);

			for (uint32_t i = 0; i < t.files && !t.removed[d][i]; i++)
				read_file(d, i);
		}
		assert_true(t.demand <= (by == 1 ? 20 : 20 + t.dirs));
		assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
		end();
	}
}

/* Two files of every other directory, and all of those between: little is fetched in vain. */
static void test_some_left_after_two(void **state)
{
	uint32_t reads = 0;

	start(400, 20, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < t.dirs; d++) {
		for (uint32_t i = 0; i < (d % 2 ? 2 : t.files); i++, reads++)
			read_file(d, i);
		dir_walks_sweep(t.w, &t.counters, t.now += 100 * MSEC, 10 * SEC);
	}
	assert_true((t.demand + t.fetched) * 10 <= reads * 11);
	end();
}

/* Where siblings were walked by name, the files that come next by name are fetched at the first read of another one. */
static void test_in_the_order_of_the_siblings(void **state)
{
	uint32_t indices[64], n, first;
	const struct dir_list *list;
	struct dir_read read;
	struct dir_handle h;

	start(8, 200, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < 3; d++)
		for (uint32_t i = 0; i < t.files; i++)
			read_file(2 * d, find(i, by_name));
	first = find(50, by_name);
	read = (struct dir_read){.dir = dir_id(7), .inode = inode_of(7, first), .now = t.now};
	assert_true(dir_walks_read(t.w, &t.counters, &read, &h));
	know_files(7);
	n = dir_walks_pick(t.w, dir_id(7), false, indices, 64, &list);
	assert_int_equal(n, 64);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(name_of(indices[i]), 51 + i);
	dir_walks_end(t.w, dir_id(7));
	end();
}

/* The client goes away: what it left is given up, and the next walk is not believed so soon. */
static void test_what_is_not_read_is_given_up(void **state)
{
	uint32_t fetched;

	start(1, 500, MEMORY, 16 * MIB);
	for (uint32_t i = 0; i < 8; i++)
		read_file(0, i);
	fetched = t.fetched;
	assert_true(fetched >= 16);
	dir_walks_sweep(t.w, &t.counters, t.now + SEC, 10 * SEC);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	dir_walks_sweep(t.w, &t.counters, t.now + 11 * SEC, 10 * SEC);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), (fetched - 4) * FILE_KB);
	end();
}

/* A sibling fetched before its turn waits for a walk that is still with those before it. */
static void test_a_sibling_waits(void **state)
{
	start(40, 40, MEMORY, 16 * MIB);
	for (uint32_t d = 0; d < 4; d++)
		for (uint32_t i = 0; i < t.files && (d < 3 || i < 2); i++)
			read_file(d, i);
	for (uint32_t i = 2; i < 12; i++) { /* a slow client */
		t.now += 2 * SEC;
		read_file(3, i);
		dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
		assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	}
	t.now += 31 * SEC; /* and then gone */
	dir_walks_sweep(t.w, &t.counters, t.now, 10 * SEC);
	assert_true(readahead_counted(&t.counters, READAHEAD_WASTED) > 0);
	end();
}

/* What is fetched of siblings is his for whose walk it is, though another one has read in one of them just now. */
static void test_whose_siblings_are(void **state)
{
	struct dir_read read = {.dir = dir_id(3), .reader = 1};
	const struct dir_part *p = NULL;
	struct dir_handle h;
	uint32_t file = 0;

	start(40, 20, MEMORY, 16 * MIB);
	t.reader = 1;
	for (uint32_t d = 0; d < 3; d++)
		for (uint32_t i = 0; i < t.files; i++)
			read_file(d, i);
	do {
		read.inode = inode_of(3, file++);
		read.now = t.now;
	} while (!dir_walks_read(t.w, &t.counters, &read, &h));
	t.reader = 2;
	read_file(2, 0);
	run_job(3);
	for (uint32_t d = 0; d < t.dirs; d++) {
		const struct dir *dir = dir_table_find(&t.w->table, dir_id(d));

		p = dir->files != NULL && dir->files->bytes != 0 ? dir->files : p;
		assert_true(p == NULL || p->payer == 1);
	}
	assert_true(p != NULL);
	end();
}

/* Another one opens a file far beyond a walk, after READS elsewhere: siblings fetched for it wait on. */
static void siblings_wait(uint32_t reads)
{
	struct dir_read read = {.dir = 5, .reader = 2};
	struct dir_handle h;

	start(15, 40, MEMORY, 16 * MIB);
	t.reader = 1;
	for (uint32_t d = 0; d < 4; d++)
		for (uint32_t i = 0; i < t.files && (d < 3 || i < 2); i++)
			read_file(d, i);
	assert_true(dir_table_find(&t.w->table, dir_id(4))->files->bytes != 0);
	read.now = t.now;
	for (uint32_t i = 0; i < reads; i++)
		assert_false(dir_walks_read(t.w, &t.counters, &read, &h));
	t.reader = 2;
	read_file(14, 0);
	dir_walks_sweep(t.w, &t.counters, t.now + SEC, 10 * SEC);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_WASTED), 0);
	end();
}

static void test_siblings_wait_though_another_looks_beyond(void **state)
{
	siblings_wait(0);
	siblings_wait(DIR_GAP + 1); /* as if a walk of his began */
}

static void test_memory_is_kept(void **state)
{
	start(1, 2000, 2 * MIB, 16 * MIB);
	for (uint32_t i = 0; i < t.files; i++)
		read_file(0, i);
	assert_true(t.fetched > 1000);
	end();
	start(512, 200, MEMORY, 64 * KIB); /* a few lists at a time */
	for (uint32_t d = 0; d < t.dirs; d++)
		for (uint32_t i = 0; i < 10; i++)
			read_file(d, i);
	end();
	start(1, 2000, MEMORY, KIB); /* not one */
	for (uint32_t i = 0; i < t.files; i++)
		read_file(0, i);
	assert_int_equal(t.fetched, 0);
	assert_int_equal(t.jobs, 1);
	end();
}

/* The first four files of directory 0 are read: a job is under way for the next ones, whose number is returned. */
static uint32_t begin_job(uint32_t *indices)
{
	const struct dir_list *list;
	uint32_t n;

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(read_on(i), i == 3);
	know_files(0);
	n = dir_walks_pick(t.w, dir_id(0), false, indices, DIR_WINDOW_MAX, &list);
	assert_int_equal(n, 16);
	return n;
}

/* What is not fetched after all is held no more. */
static void test_unheld(void **state)
{
	uint32_t indices[DIR_WINDOW_MAX];

	start(1, 100, MEMORY, 16 * MIB);
	begin_job(indices);
	assert_true(dir_walks_hold(t.w, &t.counters, dir_id(0), indices[0], FILE_KB));
	assert_true(dir_walks_hold(t.w, &t.counters, dir_id(0), indices[1], FILE_KB));
	dir_walks_unhold(t.w, &t.counters, dir_id(0), indices[0]);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_UNFETCHED), FILE_KB);
	dir_walks_end(t.w, dir_id(0));
	end();
}

/* Whose READs are longer than a long file's head reads on, though no chunk is ever planned for as few of them. */
static void test_long_reads_of_long_files(void **state)
{
	struct dir_read read = {.dir = dir_id(0), .missing = MIB, .is_long = true, .reader = 3};
	struct dir_handle h;

	start(1, 100, MEMORY, 16 * MIB);
	assert_false(dir_walks_reads_on(t.w, dir_id(0), RUN_END_FIRST));
	for (uint32_t i = 0; i < 4; i++) {
		read.now = t.now;
		read.inode = inode_of(0, i);
		if (dir_walks_read(t.w, &t.counters, &read, &h)) {
			know_files(0);
			assert_true(dir_walks_reads_on(t.w, dir_id(0), RUN_END_FIRST));
			dir_walks_end(t.w, dir_id(0));
		}
	}
	read.is_long = false; /* of short ones that says nothing */
	read.reader = 4;
	for (uint32_t i = 4; i < 6; i++) {
		read.inode = inode_of(0, i);
		if (dir_walks_read(t.w, &t.counters, &read, &h))
			dir_walks_end(t.w, dir_id(0));
	}
	assert_false(dir_walks_reads_on(t.w, dir_id(0), RUN_END_FIRST));
	end();
}

/* Which job a file comes with: for its client's reads, until it is read or the job is over. */
static void test_what_is_due(void **state)
{
	static const struct dir_job job = {.id = 77, .client = 5};
	struct dir_read read = {.dir = dir_id(0)};
	uint32_t indices[DIR_WINDOW_MAX], piece;
	uint64_t of;
	struct dir_handle h;

	start(1, 100, MEMORY, 16 * MIB);
	read.now = t.now;
	begin_job(indices);
	assert_true(dir_walks_hold(t.w, &t.counters, dir_id(0), indices[3], FILE_KB));
	read.inode = inode_of(0, indices[3]);
	assert_false(dir_walks_due(t.w, &read, 5, &of, &piece)); /* its place is not known yet */
	dir_walks_expect(t.w, dir_id(0), indices[3], &job, 11);
	assert_true(dir_walks_due(t.w, &read, 5, &of, &piece));
	assert_true(of == 77 && piece == 11);
	assert_false(dir_walks_due(t.w, &read, 6, &of, &piece)); /* another client's */
	dir_walks_read(t.w, &t.counters, &read, &h);
	assert_false(dir_walks_due(t.w, &read, 5, &of, &piece));
	assert_true(dir_walks_hold(t.w, &t.counters, dir_id(0), indices[4], FILE_KB));
	dir_walks_expect(t.w, dir_id(0), indices[4], &job, 12);
	assert_true(dir_walks_hold(t.w, &t.counters, dir_id(0), indices[5], FILE_KB));
	dir_walks_expect(t.w, dir_id(0), indices[5], &job, 13);
	dir_walks_fetched(t.w, dir_id(0), indices[5]);
	read.inode = inode_of(0, indices[5]);
	assert_false(dir_walks_due(t.w, &read, 5, &of, &piece)); /* it has come */
	dir_walks_end(t.w, dir_id(0));
	read.inode = inode_of(0, indices[4]);
	assert_false(dir_walks_due(t.w, &read, 5, &of, &piece));
	end();
}

/* How many files are fetched next where the client reads on to one that is asked for, and is COMING or there. */
static uint32_t asked_behind(bool coming)
{
	static const struct dir_job job = {.id = 77, .client = 5};
	uint32_t indices[DIR_WINDOW_MAX], n;
	const struct dir_list *list;
	struct dir_read read = {.dir = dir_id(0), .resident = true}; /* its pages are */
	struct dir_handle h;

	start(1, 400, MEMORY, 16 * MIB);
	read.now = t.now;
	n = begin_job(indices);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(dir_walks_hold(t.w, &t.counters, dir_id(0), indices[i], FILE_KB));
		dir_walks_expect(t.w, dir_id(0), indices[i], &job, i);
		if (!coming)
			dir_walks_fetched(t.w, dir_id(0), indices[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		read.inode = inode_of(0, indices[i]);
		dir_walks_read(t.w, &t.counters, &read, &h);
	}
	n = dir_walks_pick(t.w, dir_id(0), false, indices, DIR_WINDOW_MAX, &list);
	dir_walks_end(t.w, dir_id(0));
	end();
	return n;
}

/* A client who has come to what is still being fetched waits, though its pages are there: more is fetched at once. */
static void test_what_is_still_to_come_is_late(void **state)
{
	assert_int_equal(asked_behind(false), DIR_WINDOW_MIN);
	assert_int_equal(asked_behind(true), 4 * DIR_WINDOW_MIN);
}

/* Listed again at once: what that needs was fetched the first time. */
static void test_listings(void **state)
{
	struct dir_handle h = {0};

	start(1, 10, MEMORY, 16 * MIB);
	assert_true(dir_walks_list(t.w, dir_id(0), t.now, &h));
	assert_int_equal(h.len, 8);
	assert_false(dir_walks_list(t.w, dir_id(0), t.now + DIR_LISTING_KEPT, &h));
	/* by another thread, which read the clock before */
	assert_false(dir_walks_list(t.w, dir_id(0), t.now - 1, &h));
	assert_true(dir_walks_list(t.w, dir_id(0), t.now + DIR_LISTING_KEPT + 1, &h));
	assert_false(dir_walks_list(t.w, dir_id(1), t.now, &h)); /* not known */
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_order_is_recognised),
		cmocka_unit_test(test_no_order_but_most),
		cmocka_unit_test(test_skips_are_tolerated),
		cmocka_unit_test(test_parts_are_fetched_together),
		cmocka_unit_test(test_several_walks),
		cmocka_unit_test(test_two_orders),
		cmocka_unit_test(test_one_in_ten_is_no_walk),
		cmocka_unit_test(test_opens_by_chance_fetch_next_to_nothing),
		cmocka_unit_test(test_siblings),
		cmocka_unit_test(test_siblings_left_out),
		cmocka_unit_test(test_siblings_in_no_order),
		cmocka_unit_test(test_small_siblings),
		cmocka_unit_test(test_some_left_after_two),
		cmocka_unit_test(test_in_the_order_of_the_siblings),
		cmocka_unit_test(test_what_is_not_read_is_given_up),
		cmocka_unit_test(test_a_sibling_waits),
		cmocka_unit_test(test_siblings_wait_though_another_looks_beyond),
		cmocka_unit_test(test_whose_siblings_are),
		cmocka_unit_test(test_memory_is_kept),
		cmocka_unit_test(test_unheld),
		cmocka_unit_test(test_long_reads_of_long_files),
		cmocka_unit_test(test_what_is_due),
		cmocka_unit_test(test_what_is_still_to_come_is_late),
		cmocka_unit_test(test_listings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
