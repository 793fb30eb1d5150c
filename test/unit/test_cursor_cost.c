/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an unmatched read costs: the same whether the pool of cursors is empty or full, and whether
 * one file or many have filled it.
 */
#include <time.h>

#include "engine.h"

#define POOL  131072u
#define READ  (8 * KIB)
#define BIG   (1ull << 50)
#define BATCH 2000
/*
 * ns that a full pool may add to a read. It adds up to three thousand, which are cache misses; machines differ. The
 * thread sanitizer's own memory is several times as large, and misses with it: there a walk over all cursors, which
 * takes a hundred thousand without it, is told from them.
 */
#ifdef __SANITIZE_THREAD__
#define MORE_MAX 60000
#else
#define MORE_MAX 15000
#endif

static uint64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

static void scan(struct engine *e, uint64_t file, int reads, uint64_t *seed)
{
	for (int i = 0; i < reads; i++)
		engine_read(e, file, random_below(seed, BIG / MIB) * MIB, READ, BIG);
}

/* ns of an unmatched read of FILE: of several batches the fastest, for others use the machine. */
static uint64_t cost_of(struct engine *e, uint64_t file, uint64_t *seed)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t begun = cpu_now(), cost;

		scan(e, file, BATCH, seed);
		cost = (cpu_now() - begun) / BATCH;
		best = cost < best ? cost : best;
	}
	return best;
}

static struct engine *make(uint32_t per_file)
{
	const struct readahead_limits limits = {
		.table_size = 65536,
		.cursors = POOL,
		.cursors_per_file = per_file,
		.memory = 256 * MIB,
		.idle_time = 10 * SEC,
	};

	return engine_make_limited("cursor", &limits);
}

static uint64_t cost_when_empty(void)
{
	struct engine *e = make(POOL);
	uint64_t seed = 1, cost;

	cost = cost_of(e, 1, &seed);
	engine_free(e);
	return cost;
}

/* FILES take all cursors that they may; then one of them is read, then another one. */
static void check_full(uint64_t files, uint32_t per_file)
{
	struct engine *e = make(per_file);
	uint64_t seed = 2, empty = cost_when_empty(), own, others;

	for (uint64_t i = 0; i < 2 * POOL / 1024; i++)
		scan(e, i % files, 1024, &seed);
	own = cost_of(e, 0, &seed);
	others = cost_of(e, 1000, &seed);
	if (own > empty + MORE_MAX || others > empty + MORE_MAX)
		fail_msg("empty %ju ns, in a file that filled it %ju ns, in another %ju ns",
			 (uintmax_t)empty, (uintmax_t)own, (uintmax_t)others);
	engine_free(e);
}

static void test_one_hostile_file_slows_nobody(void **state)
{
	check_full(1, POOL);
}

static void test_nor_where_a_file_is_bounded(void **state)
{
	check_full(1, 4096);
}

static void test_nor_do_many(void **state)
{
	check_full(64, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_hostile_file_slows_nobody),
		cmocka_unit_test(test_nor_where_a_file_is_bounded),
		cmocka_unit_test(test_nor_do_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
