/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules of Ellard & Seltzer 2003, sections 6.2 and 7, read by read: each table is a sequence of
 * offsets in 8 KiB blocks and the sequentiality count that must follow from each.
 */
#include "engine.h"

#define BLOCK (8 * KIB)
#define SIZE  (1024 * MIB)

struct step {
	uint64_t block;
	uint32_t count;
};

#define RUN(heuristic, ...)                                                                        \
	run(heuristic, (const struct step[]){__VA_ARGS__},                                         \
	    sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

static void run(const char *heuristic, const struct step *steps, size_t n)
{
	struct engine *e = engine_default(heuristic);

	e->tuning.seq_threshold = 1000; /* what was asked for already would be no jump */
	for (size_t i = 0; i < n; i++) {
		struct readahead_plan p = engine_read(e, 1, steps[i].block * BLOCK, BLOCK, SIZE);

		if (p.count != steps[i].count)
			fail_msg("%s: step %zu (block %llu): count %u, not %u", heuristic, i,
				 (unsigned long long)steps[i].block, p.count, steps[i].count);
	}
	engine_free(e);
}

static void test_default_resets_on_any_jump(void **state)
{
	RUN("default", {0, 1}, {1, 2}, {2, 3}, {4, 1}, {5, 2}, {1000, 1}, {1001, 2});
}

static void test_default_suffers_from_reordering(void **state)
{
	RUN("default", {0, 1}, {1, 2}, {3, 1}, {2, 1}, {4, 2}, {5, 3});
}

static void test_always_is_always(void **state)
{
	RUN("always", {0, 127}, {900, 127}, {3, 127}, {3, 127}, {4, 127});
}

static void test_slowdown_ignores_jitter_and_halves_on_jumps(void **state)
{
	/*
	 * 64 KiB are eight blocks: from the expected block 5, 13 is jitter; from 14, 23 is a jump.
	 */
	RUN("slowdown", {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {13, 5}, {14, 6}, {24, 3}, {25, 4},
	    {1000, 2}, {2000, 1}, {3000, 0}, {4000, 0}, {4001, 1});
}

static void test_slowdown_survives_reordering(void **state)
{
	RUN("slowdown", {0, 1}, {1, 2}, {3, 2}, {2, 2}, {4, 3}, {5, 4}, {7, 4}, {6, 4}, {8, 5});
}

static void test_count_stops_at_127(void **state)
{
	static const char *const counting[] = {"default", "slowdown", "cursor"};

	for (int h = 0; h < 3; h++) {
		struct engine *e = engine_default(counting[h]);

		for (uint32_t i = 0; i < 300; i++) {
			struct readahead_plan p = engine_read(e, 1, i * BLOCK, BLOCK, SIZE);

			assert_int_equal(p.count, i < 127 ? i + 1 : 127);
		}
		engine_free(e);
	}
}

static void test_cursor_counts_each_run_by_itself(void **state)
{
	RUN("cursor", {0, 1}, {5000, 1}, {1, 2}, {5001, 2}, {2, 3}, {5002, 3}, {9000, 1}, {3, 4},
	    {5004, 3}, {5003, 3}, {5005, 4}, {9001, 2});
}

static void test_strict_cursors_bear_no_jitter(void **state)
{
	RUN("strict", {0, 1}, {5000, 1}, {1, 2}, {5001, 2}, {2, 3}, {5004, 1}, {3, 4}, {5005, 2},
	    {6, 1}, {7, 2});
}

static void test_repeats_and_overlaps_do_not_disturb(void **state)
{
	static const char *const counting[] = {"default", "slowdown", "cursor"};

	for (int h = 0; h < 3; h++) {
		struct engine *e = engine_default(counting[h]);

		for (uint32_t i = 0; i < 20; i++) {
			assert_int_equal(engine_read(e, 1, i * BLOCK, BLOCK, SIZE).count, i + 1);
			assert_int_equal(engine_read(e, 1, i * BLOCK, BLOCK, SIZE).count, i + 1);
			assert_int_equal(
				engine_read(e, 1, i * BLOCK + 512, BLOCK - 512, SIZE).count, i + 1);
		}
		/* one that overlaps the end goes on from its own end */
		assert_int_equal(engine_read(e, 1, 19 * BLOCK, 2 * BLOCK, SIZE).count, 20);
		assert_int_equal(engine_read(e, 1, 21 * BLOCK, BLOCK, SIZE).count, 21);
		engine_free(e);
	}
}

static void test_match_grows_with_the_request(void **state)
{
	struct readahead_tuning t = {.match_window = 64 * KIB, .match_requests = 8};
	struct cursor c = {.next = 100 * MIB};

	assert_int_equal(heuristic_near(&t, 512), 64 * KIB);
	assert_int_equal(heuristic_near(&t, 8 * KIB), 64 * KIB);
	assert_int_equal(heuristic_near(&t, 32 * KIB), 256 * KIB);
	assert_int_equal(heuristic_classify(&t, &c, c.next, 8192), HEURISTIC_EXACT);
	assert_int_equal(heuristic_classify(&t, &c, c.next + 64 * KIB, 8192), HEURISTIC_NEAR);
	assert_int_equal(heuristic_classify(&t, &c, c.next - 64 * KIB, 8192), HEURISTIC_NEAR);
	assert_int_equal(heuristic_classify(&t, &c, c.next + 64 * KIB + 1, 8192), HEURISTIC_JUMP);
	assert_int_equal(heuristic_classify(&t, &c, c.next - 64 * KIB - 1, 8192), HEURISTIC_JUMP);
	c.ra_end = c.next + MIB; /* asked for already: no jump */
	assert_int_equal(heuristic_classify(&t, &c, c.ra_end - 1, 8192), HEURISTIC_NEAR);
	assert_int_equal(heuristic_classify(&t, &c, c.ra_end, 8192), HEURISTIC_JUMP);
}

static void test_names(void **state)
{
	static const char *const names[] = {"off",	"default", "always",
					    "slowdown", "strict",  "cursor"};

	for (unsigned int i = 0; i < 6; i++) {
		assert_string_equal(heuristic_nth(i)->name, names[i]);
		assert_ptr_equal(heuristic_find(names[i]), heuristic_nth(i));
	}
	assert_null(heuristic_nth(6));
	assert_null(heuristic_find(""));
	assert_ptr_equal(heuristic_find("Cursor"),
			 heuristic_find("cursor")); /* capitals do not matter */
	assert_null(heuristic_find("curso"));
	assert_true(heuristic_find("off")->off);
}

/* A file that had several cursors must count as one stream again when the heuristic changes. */
static void test_changed_while_running(void **state)
{
	static const char *const single[] = {"default", "slowdown"};

	for (int h = 0; h < 2; h++) {
		struct engine *e = engine_default("cursor");

		for (uint64_t i = 0; i < 10; i++)
			for (uint64_t stream = 0; stream < 4; stream++)
				engine_fetch(e,
					     engine_read(e, 1, stream * 100 * MIB + i * BLOCK,
							 BLOCK, SIZE),
					     SIZE);
		e->tuning.heuristic = heuristic_find(single[h]);
		for (uint64_t i = 0; i < 20; i++)
			engine_read(e, 1, 700 * MIB + i * BLOCK, BLOCK, SIZE);
		assert_in_range(engine_read(e, 1, 700 * MIB + 20 * BLOCK, BLOCK, SIZE).count, 20,
				30);
		engine_check_account(e);
		engine_free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_resets_on_any_jump),
		cmocka_unit_test(test_default_suffers_from_reordering),
		cmocka_unit_test(test_always_is_always),
		cmocka_unit_test(test_slowdown_ignores_jitter_and_halves_on_jumps),
		cmocka_unit_test(test_slowdown_survives_reordering),
		cmocka_unit_test(test_count_stops_at_127),
		cmocka_unit_test(test_cursor_counts_each_run_by_itself),
		cmocka_unit_test(test_strict_cursors_bear_no_jitter),
		cmocka_unit_test(test_repeats_and_overlaps_do_not_disturb),
		cmocka_unit_test(test_match_grows_with_the_request),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_changed_while_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
