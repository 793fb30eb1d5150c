/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Readers of some files of each directory: how much is fetched beside those, and in vain. */
#include "dir_world.h"

/* Which files one reads, one in so many: each so-manieth, or by chance; these in order, or all over the tree. */
enum order { EVERY, BY_CHANCE, IN_NO_ORDER };

static const char *const orders[] = {"every", "by chance", "in no order"};

static bool wanted[DIRS][FILES];
static uint64_t draw = 88172645463325252u;

static uint32_t below(uint32_t n)
{
	draw = drawn(draw);
	return (uint32_t)((draw >> 16) % n);
}

static void choose(uint32_t step, enum order order)
{
	for (uint32_t d = 0; d < t.dirs; d++)
		for (uint32_t i = 0; i < t.files; i++)
			wanted[d][i] = order == EVERY ? i % step == 0 : below(step) == 0;
}

/* The files wanted, by CLIENTS in turn, of whom each has a part of the tree. A disk takes 8 ms for one. */
static uint32_t read_wanted(uint32_t clients, enum order order)
{
	uint32_t n = 0, all = t.dirs * t.files;
	uint64_t swept = t.now;

	for (uint32_t k = 0; k < all; k++) {
		uint32_t at = order == IN_NO_ORDER ? (uint32_t)((uint64_t)k * 7919 % all) : k;

		at = at % clients * (all / clients) + at / clients;
		t.reader = 1 + at / (all / clients);
		if (!wanted[at / t.files][at % t.files])
			continue;
		if (!read_file(at / t.files, at % t.files))
			t.now += 8 * MSEC;
		if (t.now > swept + SEC) {
			dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
			swept = t.now;
		}
		n++;
	}
	return n;
}

/* Files fetched from the disk for each that is read. */
static double files_a_read(uint32_t step, enum order order, uint32_t clients)
{
	uint32_t n;
	double files;

	choose(step, order);
	n = read_wanted(clients, order);
	files = (double)(t.demand + t.fetched) / n;
	print_message("%u x %u, one in %u, %s, %u clients: %.2f\n", t.dirs, t.files, step,
		      orders[order], clients, files);
	end();
	return files;
}

struct share {
	uint32_t step;
	double most;
};

/* Of trees of all shapes no more than that comes, in any order, for one reader and for two. */
static void no_more(const struct share *shares, int n)
{
	static const uint32_t trees[][2] = {{400, 20}, {4, 1500}, {40, 200}};

	for (int k = 0; k < 3; k++)
		for (int s = 0; s < n; s++)
			for (enum order o = EVERY; o <= IN_NO_ORDER; o++)
				for (uint32_t clients = 1; clients <= 2; clients++) {
					start(trees[k][0], trees[k][1], MEMORY, 16 * MIB);
					assert_true(files_a_read(shares[s].step, o, clients) <
						    shares[s].most);
				}
}

/* Of a large directory a part is looked at in each job, and all of it in some: what walks left behind is given up. */
static void test_what_is_left_in_a_large_directory(void **state)
{
	struct readahead_stats s;
	uint64_t wasted;

	start(1, FILES, MEMORY, 16 * MIB);
	for (uint32_t walk = 0; walk < 32; walk++)
		for (uint32_t i = 0; i < 8; i++)
			read_file(0, FILES / 2 + walk * 64 + i);
	readahead_stats(t.ra, &s);
	wasted = readahead_counted(&t.counters, READAHEAD_WASTED);
	assert_true(s.unread >= 128 * FILE_KB);
	for (uint32_t i = 0; i < FILES / 4; i++)
		read_file(0, i);
	wasted = readahead_counted(&t.counters, READAHEAD_WASTED) - wasted;
	assert_true(wasted > s.unread / 2);
	end();
}

/*
 * Of few files hardly more than those come, whoever reads them; of more some, for they do lie in a row now and then. Not
 * where others in between are left out regularly in one order: there those that are read may be all in another.
 */
static void test_shares(void **state)
{
	static const struct share shares[] = {{4, 1.35}, {5, 1.3}, {7, 1.25}, {10, 1.1}};

	no_more(shares, 4);
}

/*
 * Of half of the files in no order it is known only that they are half of them when the last are read: all come, as for any
 * walk in no order. None comes twice. Of a third there never are so many.
 */
static void test_large_shares(void **state)
{
	static const struct share shares[] = {{2, 2.05}, {3, 1.4}};

	no_more(shares, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_left_in_a_large_directory),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_large_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
