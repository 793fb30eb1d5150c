/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Readers who walk in three orders or in none, leave, come again and open files by chance, in directories that change, with
 * little memory, which loses files: what is counted of a directory is what its entries say, and what is held is somebody's.
 */
#define DIRS  24
#define FILES 200
#include "dir_world.h"

#include "readahead/dir_follow.h"

#define READERS 5
#define STEPS	6000

enum order { AS_LISTED, BY_NAME, BY_CHANCE, ORDERS };

static struct walker {
	uint32_t dir, at;
	enum order order;
} walkers[READERS];

static uint32_t by_name[FILES]; /* the file at a place */
static uint64_t draw;

static uint32_t below(uint32_t n)
{
	draw = drawn(draw);
	return (uint32_t)((draw >> 20) % n);
}

static void check_part(const struct dir_part *p, uint64_t *held)
{
	uint32_t n = p != NULL ? dir_list_count(p->list) : 0, ahead = 0, left = 0, there = 0;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		ahead += p->state[i] == DIR_ASKED;
		left += p->state[i] == 0;
		there += (p->state[i] & DIR_READ) != 0;
		if (p->held == NULL || p->held[i] == 0)
			continue;
		assert_int_equal(p->state[i], DIR_ASKED);
		bytes += p->held[i];
	}
	if (n == 0)
		return;
	assert_int_equal(p->n_ahead, ahead);
	assert_int_equal(p->n_left, left);
	assert_int_equal(p->n_there, there);
	assert_int_equal(p->bytes, bytes);
	assert_true(p->n_there <= p->n_read && p->at < n);
	for (uint32_t i = 0; i < DIR_AXES * p->cursors.n; i++)
		assert_true(p->cursors.of[i].at < n);
	held[p->payer] += bytes;
}

static void check(void)
{
	uint64_t held[READERS_MAX + 1] = {0};

	for (uint32_t i = 0; i < DIRS_MAX; i++) {
		check_part(t.w->table.dirs[i].files, held);
		check_part(t.w->table.dirs[i].dirs, held);
	}
	for (uint32_t reader = 0; reader <= READERS + 1; reader++)
		assert_int_equal(atomic_load(&t.ra->budget.of[reader].held), held[reader]);
}

/* The next file of the walk of READER. */
static void walk_on(uint32_t reader)
{
	struct walker *w = &walkers[reader];
	uint32_t file;

	if (w->at >= t.files) {
		w->dir = (w->dir + 1) % DIRS;
		w->at = 0;
	}
	file = w->order == BY_CHANCE ? below(t.files) : w->at;
	file = w->order == BY_NAME ? by_name[file] : file;
	w->at++;
	t.reader = 1 + reader;
	if (!t.removed[w->dir][file])
		read_file(w->dir, file);
}

static void sweep(void)
{
	if (below(20) == 0)
		t.now += 40 * SEC;
	t.now += below(3) * SEC;
	dir_walks_sweep(t.w, NULL, t.now, 10 * SEC);
	readahead_sweep(t.ra, t.now);
}

static void change(void)
{
	bool *removed = &t.removed[below(DIRS)][below(t.files)];

	*removed = !*removed;
	t.stamp += below(2) * SEC;
}

static void step(void)
{
	uint32_t what = below(40), reader = below(READERS);

	if (what == 0)
		walkers[reader] = (struct walker){.dir = below(DIRS),
						  .at = below(2) * below(t.files),
						  .order = below(ORDERS)};
	else if (what == 1)
		sweep();
	else if (what == 2)
		change();
	else if (what == 3 && below(4) == 0)
		memset(t.there[below(DIRS)], 0, sizeof(t.there[0]));
	else if (what == 4)
		assert_false(budget_hold(&t.ra->budget, READERS + 1, 2 * MEMORY));
	else
		walk_on(reader);
}

static void test_what_is_counted_is_there(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		draw = seed * 88172645463325252u;
		start(DIRS, 20 + below(FILES - 20), (1 + below(64)) * 64 * KIB,
		      below(2) != 0 ? 24 * KIB : 16 * MIB);
		memset(walkers, 0, sizeof(walkers));
		for (uint32_t i = 0; i < t.files; i++)
			by_name[name_of(i)] = i;
		for (uint32_t k = 0; k < STEPS; k++) {
			step();
			if (k % 16 == 0)
				check();
		}
		assert_true(t.fetched != 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_counted_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
