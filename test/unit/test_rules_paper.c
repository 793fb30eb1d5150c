/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules of Ellard & Seltzer 2003 and no others (Rules = paper), from the paper's text, sections
 * 6.2 and 7: offsets are in its 8 KiB blocks. What the extended rules add must not happen here.
 */
#include "engine.h"

#define BLOCK	(8 * KIB)
#define SIZE	(1024 * MIB)
#define CLUSTER (64 * KIB) /* the least that is fetched in one piece */

struct step {
	uint64_t block;
	uint32_t count;
};

#define RUN(heuristic, ...)                                                                        \
	run(heuristic, (const struct step[]){__VA_ARGS__},                                         \
	    sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

/* Section 7's "small and constant number" of cursors a file is CURSORS. */
static struct engine *make(const char *heuristic, uint32_t cursors)
{
	const struct readahead_limits limits = {
		.table_size = 64,
		.cursors = 1024,
		.cursors_per_file = cursors,
		.memory = 256 * MIB,
		.idle_time = 10 * SEC,
	};
	struct engine *e = engine_make_limited(heuristic, &limits);

	e->tuning.rules = &rules_paper;
	e->tuning.seq_threshold = 2;
	e->chunk = CLUSTER;
	return e;
}

static uint32_t count_of(struct engine *e, uint64_t block)
{
	struct readahead_plan p = engine_read(e, 1, block * BLOCK, BLOCK, SIZE);

	engine_fetch(e, p, SIZE);
	return p.count;
}

static void run(const char *heuristic, const struct step *steps, size_t n)
{
	struct engine *e = make(heuristic, 8);

	for (size_t i = 0; i < n; i++) {
		uint32_t count = count_of(e, steps[i].block);

		if (count != steps[i].count)
			fail_msg("%s: step %zu (block %llu): count %u, not %u", heuristic, i,
				 (unsigned long long)steps[i].block, count, steps[i].count);
	}
	engine_check_account(e);
	engine_free(e);
}

/* "If the current offset is the same as the offset after the last operation, increment." */
static void test_default_resets_on_anything_else(void **state)
{
	RUN("default", {0, 1}, {1, 2}, {2, 3}, {4, 1}, {5, 2}, {1000, 1}, {1001, 2});
	/* a repetition is not the next one, and the one behind it is */
	RUN("default", {0, 1}, {1, 2}, {2, 3}, {2, 1}, {3, 2}, {4, 3});
}

/* The last operation, whichever it was: behind a laggard the one after that is expected. */
static void test_the_offset_after_the_last_operation(void **state)
{
	RUN("default", {0, 1}, {1, 2}, {3, 1}, {2, 1}, {3, 2}, {4, 3});
	RUN("slowdown", {0, 1}, {1, 2}, {3, 2}, {2, 2}, {4, 2}, {5, 3});
	/* also where it lies before the run's first */
	RUN("slowdown", {7, 1}, {4, 1}, {5, 2}, {6, 3}, {8, 3}, {9, 4}, {2, 4}, {3, 5});
}

/* "Within 64k (eight 8k NFS blocks): unchanged"; "more than 64k: divide by 2". */
static void test_slowdown_leaves_or_halves(void **state)
{
	RUN("slowdown", {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {13, 5}, {14, 6}, {24, 3}, {25, 4},
	    {1000, 2}, {2000, 1}, {3000, 0}, {4000, 0}, {4001, 1}, {4002, 2});
}

/* "Repeatedly dividing seqCount in half will quickly chop it down to zero." */
static void test_slowdown_stops_for_random_readers(void **state)
{
	struct engine *e = make("slowdown", 8);
	uint64_t seed = 3, planned = 0;

	for (uint64_t i = 0; i < 300; i++)
		count_of(e, i);
	for (int i = 0; i < 7; i++)
		count_of(e, 1000 + 100 * random_below(&seed, 1000));
	for (int i = 0; i < 100; i++) {
		struct readahead_plan p =
			engine_read(e, 1, 100 * random_below(&seed, 1000) * BLOCK, BLOCK, SIZE);

		assert_true(p.count <= 1);
		planned += p.len;
	}
	assert_int_equal(planned, 0);
	engine_check_account(e);
	engine_free(e);
}

/* "seqCount is never allowed to grow higher than 127." */
static void test_count_stops_at_127(void **state)
{
	static const char *const counting[] = {"default", "slowdown", "cursor"};

	for (int h = 0; h < 3; h++) {
		struct engine *e = make(counting[h], 8);

		for (uint32_t i = 0; i < 300; i++)
			assert_int_equal(count_of(e, i), i < 127 ? i + 1 : 127);
		engine_free(e);
	}
}

static void test_always_is_always(void **state)
{
	struct engine *e = make("always", 8);

	for (uint64_t i = 0; i < 20; i++) {
		struct readahead_plan p = engine_read(e, 1, i * 5000 * BLOCK, BLOCK, SIZE);

		assert_int_equal(p.count, 127);
		assert_true(p.len);
		engine_fetch(e, p, SIZE);
	}
	engine_check_account(e);
	engine_free(e);
}

/* "A matching cursor (the same approximate match)"; "no cursor matching: a new cursor". */
static void test_cursors_count_each_by_itself(void **state)
{
	RUN("cursor", {0, 1}, {5000, 1}, {1, 2}, {5001, 2}, {2, 3}, {5002, 3}, {9000, 1}, {3, 4},
	    {5004, 3}, {5005, 4}, {9001, 2}, {12, 4}, {13, 5}, {23, 1}, {32, 1});
}

/* "There is a limit ..., and when it is exceeded the least recently used cursor is recycled." */
static void test_the_least_recently_used_cursor_goes(void **state)
{
	struct engine *e = make("cursor", 3);
	struct readahead_stats s;

	for (uint64_t i = 0; i < 5; i++)
		count_of(e, i); /* the surest of them, and the one used first */
	assert_int_equal(count_of(e, 1000), 1);
	assert_int_equal(count_of(e, 2000), 1);
	assert_int_equal(count_of(e, 1001), 2);
	assert_int_equal(count_of(e, 3000), 1); /* for it the first one goes */
	assert_int_equal(count_of(e, 2001), 2);
	assert_int_equal(count_of(e, 1002), 3);
	assert_int_equal(count_of(e, 3001), 2);
	assert_int_equal(count_of(e, 5), 1); /* and for this one 2000's */
	assert_int_equal(count_of(e, 1003), 4);
	assert_int_equal(count_of(e, 3002), 3);
	readahead_stats(e->ra, &s);
	assert_int_equal(s.cursors_used, 3);
	engine_check_account(e);
	engine_free(e);
}

/* "Truly random: many cursors are created, but their counts do not grow." */
static void test_random_readers_get_nothing(void **state)
{
	struct engine *e = make("cursor", 8);
	uint64_t seed = 5;

	for (int i = 0; i < 2000; i++)
		assert_int_equal(count_of(e, 100 * random_below(&seed, 1310)), 1);
	assert_int_equal(engine_counted(e, READAHEAD_CHUNKS), 0);
	engine_free(e);
}

/* Table 1: as many sequential components as there are cursors are all read ahead. */
static void test_strides(void **state)
{
	for (uint64_t n = 2; n <= 8; n *= 2) {
		struct engine *e = make("cursor", 8);

		for (uint64_t i = 0; i < 50; i++)
			for (uint64_t run = 0; run < n; run++)
				assert_int_equal(count_of(e, run * SIZE / n / BLOCK + i), i + 1);
		assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
		assert_true(engine_counted(e, READAHEAD_USED) > n * 40 * BLOCK);
		engine_check_account(e);
		engine_free(e);
	}
}

/* "The higher seqCount rises, the more aggressive": so many blocks, in whole clusters, no more. */
static void test_the_count_decides_how_far(void **state)
{
	struct engine *e = make("default", 8);
	uint64_t asked = 0, before = 0;

	assert_int_equal(engine_read(e, 1, 0, BLOCK, SIZE).len, 0);
	for (uint64_t i = 1; i < 400; i++) {
		struct readahead_plan p = engine_read(e, 1, i * BLOCK, BLOCK, SIZE);
		uint64_t next = (i + 1) * BLOCK, far = (uint64_t)p.count * BLOCK;

		if (p.len)
			asked = p.offset;
		asked += engine_fetch(e, p, SIZE);
		assert_true(asked <= next + far || asked <= next + CLUSTER);
		assert_true(asked + CLUSTER > next + far || asked >= next + far);
		before = asked;
	}
	assert_true(before > 400 * BLOCK + 100 * BLOCK);
	engine_free(e);
}

/* Nothing is learnt: neither from what came late, nor from what was lost, nor from waste. */
static void test_windows_are_not_learnt(void **state)
{
	struct engine *plain = make("slowdown", 8), *other = make("slowdown", 8);

	for (uint64_t i = 0; i < 100; i++) {
		struct readahead_plan a = engine_read(plain, 1, i * BLOCK, BLOCK, SIZE);
		struct readahead_plan b = engine_read(other, 1, i * BLOCK, BLOCK, SIZE);

		assert_int_equal(a.offset, b.offset);
		assert_int_equal(a.len, b.len);
		engine_fetch(plain, a, SIZE);
		engine_fetch(other, b, SIZE);
		readahead_late(other->ra, &other->tuning, &b.cursor);
	}
	for (int i = 0; i < 5; i++) { /* both jump, one with much wasted behind it */
		count_of(plain, 10000);
		count_of(other, 10000);
	}
	engine_free(plain);
	engine_free(other);
}

/* The first requests of a run in another order are no run yet. */
static void test_no_start_in_any_order(void **state)
{
	struct engine *paper = make("slowdown", 8), *extended = make("slowdown", 8);
	static const uint64_t order[] = {1, 3, 0, 2};
	uint64_t planned = 0;

	extended->tuning.rules = &rules_extended;
	paper->tuning.seq_threshold = extended->tuning.seq_threshold = 4;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(engine_read(paper, 1, order[i] * BLOCK, BLOCK, SIZE).len, 0);
		planned += engine_read(extended, 1, order[i] * BLOCK, BLOCK, SIZE).len;
	}
	assert_true(planned);
	engine_free(paper);
	engine_free(extended);
}

/* A streak of the file's reads proves nothing for a cursor whose own count is low. */
static void test_no_streaks(void **state)
{
	struct engine *e;

	for (unsigned int r = 0; (e = make("cursor", 64), e->tuning.rules = rules_nth(r)); r++) {
		uint64_t planned = 0;

		e->tuning.seq_threshold = 4;
		for (uint64_t i = 0; i < 96; i++) /* each of 32 runs in turn */
			planned += engine_read(e, 1, (i % 32 * (1000 + i % 32) + i / 32) * BLOCK,
					       BLOCK, SIZE)
					   .len;
		assert_int_equal(planned != 0, rules_nth(r)->streaks);
		engine_free(e);
	}
	engine_free(e);
}

/* A read into what was asked for, far ahead of the others, is as far away as it is. */
static void test_what_was_asked_for_is_no_excuse(void **state)
{
	struct engine *e = make("slowdown", 8);

	for (uint64_t i = 0; i < 100; i++)
		count_of(e, i);
	assert_int_equal(count_of(e, 130), 50);
	engine_check_account(e);
	engine_free(e);
}

/* Who reads the same blocks again and again is idle: what was asked for behind them is given up. */
static void test_a_repetition_holds_no_memory(void **state)
{
	static const char *const counting[] = {"default", "slowdown", "cursor"};

	for (int h = 0; h < 3; h++) {
		struct engine *e = make(counting[h], 8);
		struct readahead_stats s;

		for (uint64_t i = 0; i < 200; i++)
			count_of(e, i);
		for (int i = 0; i < 20; i++) {
			count_of(e, 191);
			count_of(e, 192); /* as expected behind that */
			for (int t = 0; t < 9; t++)
				engine_sweep(e, e->now += SEC);
		}
		readahead_stats(e->ra, &s);
		if (s.unread)
			fail_msg("%s: %ju KiB held", counting[h], (uintmax_t)(s.unread / KIB));
		engine_check_account(e);
		engine_free(e);
	}
}

static void test_rules_change_while_running(void **state)
{
	struct engine *e = make("cursor", 8);
	uint64_t seed = 11;

	for (int i = 0; i < 20000; i++) {
		uint64_t run = random_below(&seed, 12), jitter = random_below(&seed, 4);

		e->tuning.rules = rules_nth((uint32_t)random_below(&seed, 6));
		e->tuning.heuristic = heuristic_nth(1 + (uint32_t)(i / 4000));
		count_of(e, run * 8000 + (uint64_t)i / 20 + jitter);
	}
	engine_check_account(e);
	engine_free(e);
}

/* What a variant is called by is all that it lacks: else it would be measured as dearer than it is. */
static void test_variants_lack_what_they_say(void **state)
{
	const struct readahead_rules *all = &rules_extended;

	assert_true(all->any_order && all->streaks && all->backward && all->strides &&
		    all->beside && all->lengths);
	assert_true(rules_ordered.lengths && rules_streakless.lengths && rules_apart.lengths &&
		    rules_forward.lengths && !rules_paper.lengths);
	assert_true(!rules_endless.lengths && rules_endless.any_order && rules_endless.streaks &&
		    rules_endless.backward && rules_endless.strides && rules_endless.beside);
	assert_true(!rules_ordered.any_order && rules_ordered.streaks && rules_ordered.strides &&
		    rules_ordered.beside);
	assert_true(!rules_streakless.streaks && rules_streakless.any_order &&
		    rules_streakless.backward && rules_streakless.strides &&
		    rules_streakless.beside);
	assert_true(!rules_apart.beside && rules_apart.any_order && rules_apart.streaks &&
		    rules_apart.backward && rules_apart.strides);
	assert_true(!rules_forward.backward && !rules_forward.strides && !rules_forward.beside &&
		    rules_forward.any_order && rules_forward.streaks);
}

static void test_names(void **state)
{
	assert_ptr_equal(rules_find("extended"), &rules_extended);
	assert_ptr_equal(rules_find("PAPER"), &rules_paper);
	assert_ptr_equal(rules_nth(0), &rules_extended);
	assert_ptr_equal(rules_nth(6), &rules_paper);
	assert_null(rules_nth(7));
	assert_null(rules_find(""));
	assert_null(rules_find("papers"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_resets_on_anything_else),
		cmocka_unit_test(test_the_offset_after_the_last_operation),
		cmocka_unit_test(test_slowdown_leaves_or_halves),
		cmocka_unit_test(test_slowdown_stops_for_random_readers),
		cmocka_unit_test(test_count_stops_at_127),
		cmocka_unit_test(test_always_is_always),
		cmocka_unit_test(test_cursors_count_each_by_itself),
		cmocka_unit_test(test_the_least_recently_used_cursor_goes),
		cmocka_unit_test(test_random_readers_get_nothing),
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_the_count_decides_how_far),
		cmocka_unit_test(test_windows_are_not_learnt),
		cmocka_unit_test(test_no_start_in_any_order),
		cmocka_unit_test(test_no_streaks),
		cmocka_unit_test(test_what_was_asked_for_is_no_excuse),
		cmocka_unit_test(test_a_repetition_holds_no_memory),
		cmocka_unit_test(test_rules_change_while_running),
		cmocka_unit_test(test_variants_lack_what_they_say),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
