/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Dirty ranges of a file: joining, the bound, steps in order; never less dirty than it was. */
#include "writeback/dirty_set.h"

#include "support.h"

static void test_a_sequential_writer_is_one_range(void **state)
{
	struct dirty_set s = {0};

	for (uint64_t i = 0; i < 1000; i++)
		dirty_add(&s, i * 64 * KIB, 64 * KIB, i + 1);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.range[0].runs, 1);
	assert_int_equal(dirty_bytes(&s), 1000 * 64 * KIB);
	assert_int_equal(dirty_since(&s), 1);
	dirty_add(&s, 0, 0, 5);
	assert_int_equal(s.n, 1);
}

static void test_ranges_are_sorted_and_joined(void **state)
{
	struct dirty_set s = {0};

	dirty_add(&s, 8 * MIB, MIB, 30);
	dirty_add(&s, 0, MIB, 20);
	dirty_add(&s, 4 * MIB, MIB, 10);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.range[1].offset, 4 * MIB);
	assert_int_equal(dirty_longest(&s), MIB);
	dirty_add(&s, MIB, 3 * MIB, 40); /* closes the gap of the first two */
	assert_int_equal(s.n, 2);
	assert_int_equal(s.range[0].end, 5 * MIB);
	assert_int_equal(s.range[0].since, 10);
	dirty_add(&s, 2 * MIB, UINT64_MAX, 50); /* to the end, whatever that is */
	assert_int_equal(s.n, 1);
	assert_int_equal(s.range[0].end, UINT64_MAX);
}

static void test_when_full_the_nearest_are_joined(void **state)
{
	struct dirty_set s = {0};

	for (uint64_t i = 0; i < DIRTY_RANGES; i++)
		dirty_add(&s, i * i * MIB, 4 * KIB, 7);
	assert_int_equal(s.n, DIRTY_RANGES);
	dirty_add(&s, 5000 * MIB, 4 * KIB, 8);
	assert_int_equal(s.n, DIRTY_RANGES);
	assert_int_equal(s.range[0].end, MIB + 4 * KIB); /* 0 and 1 were nearest */
	assert_int_equal(s.range[0].runs, 2);
}

static void test_a_long_gap_is_never_dirty(void **state)
{
	struct dirty_set s = {0};
	struct dirty_range step;
	unsigned int steps = 0;

	dirty_add(&s, UINT64_C(7) << 58, MIB, 1);
	for (uint64_t i = 0; i < 4 * DIRTY_RANGES; i++) {
		dirty_add(&s, i << 48, 4 * KIB, i + 1);
		assert_in_range(dirty_bytes(&s), 4 * KIB, MIB + (DIRTY_RANGES - 1) * 4 * KIB);
	}
	assert_int_equal(s.n, DIRTY_RANGES);
	assert_int_equal(dirty_longest(&s), MIB); /* what is worth a turn is still known */
	assert_int_equal(s.range[0].offset, UINT64_C(97) << 48); /* the oldest are the kernel's */
	while (dirty_take(&s, 2 * MIB, 4, &step)) {
		assert_true(step.end - step.offset <= MIB);
		steps++;
	}
	assert_int_equal(steps, DIRTY_RANGES);
}

static void test_short_gaps_are_not_counted(void **state)
{
	struct dirty_set s = {0}, sync = {0};

	for (uint64_t i = 0; i < 4 * DIRTY_RANGES; i++)
		dirty_add(&s, i * MIB, 4 * KIB, 1);
	assert_int_equal(s.n, DIRTY_RANGES);
	assert_int_equal(dirty_bytes(&s), 4 * DIRTY_RANGES * 4 * KIB);
	dirty_move(&s, &sync, 0, UINT64_MAX);
	assert_int_equal(s.n, 0);
	assert_int_equal(dirty_bytes(&sync), 4 * DIRTY_RANGES * 4 * KIB);
	dirty_remove(&sync, 0, 2 * DIRTY_RANGES * MIB); /* about half of it */
	assert_in_range(dirty_bytes(&sync), 2 * DIRTY_RANGES * 2 * KIB, 2 * DIRTY_RANGES * 8 * KIB);
}

static void test_steps_go_one_way_round(void **state)
{
	struct dirty_set s = {0};
	struct dirty_range step;

	dirty_add(&s, 0, 3 * MIB, 1);
	assert_true(dirty_take(&s, 2 * MIB, 4, &step));
	assert_int_equal(step.offset, 0);
	assert_int_equal(step.end, 2 * MIB);
	dirty_add(&s, 0, MIB, 2); /* dirty again, behind the cursor */
	assert_int_equal(dirty_where(&s), 2 * MIB);
	assert_true(dirty_take(&s, 2 * MIB, 4, &step));
	assert_int_equal(step.offset, 2 * MIB);
	assert_true(dirty_take(&s, 2 * MIB, 4, &step));
	assert_int_equal(step.offset, 0);
	assert_int_equal(step.since, 2);
	assert_false(dirty_take(&s, 2 * MIB, 4, &step));
	assert_int_equal(dirty_since(&s), UINT64_MAX);
}

static void test_steps_through_scattered_writes_are_short(void **state)
{
	struct dirty_set s = {0};
	struct dirty_range step;
	uint64_t seed = 3;

	for (int i = 0; i < 1000; i++)
		dirty_add(&s, random_below(&seed, 1000) * MIB, 8 * KIB, 1);
	while (dirty_take(&s, 1024 * MIB, 4, &step))
		assert_true(step.runs <= 5);
}

static void test_a_range_is_moved_to_be_synced(void **state)
{
	struct dirty_set s = {0}, sync = {0};

	dirty_add(&s, 0, 10 * MIB, 1);
	dirty_move(&s, &sync, 2 * MIB, 3 * MIB);
	assert_int_equal(s.n, 2);
	assert_int_equal(dirty_bytes(&s), 7 * MIB);
	assert_int_equal(sync.n, 1);
	assert_int_equal(sync.range[0].offset, 2 * MIB);
	dirty_move(&s, &sync, 0, UINT64_MAX);
	assert_int_equal(s.n, 0);
	assert_int_equal(dirty_bytes(&sync), 10 * MIB);
}

/* Against a map of pages: whatever happens, a dirty page is in the set, and sets stay sorted. */
static void test_never_less_dirty(void **state)
{
	static uint8_t page[4096];
	struct dirty_set s = {0};
	uint64_t seed = 1;

	memset(page, 0, sizeof(page));
	for (int round = 0; round < 20000; round++) {
		uint64_t at = random_below(&seed, 4096), n = 1 + random_below(&seed, 16);
		struct dirty_range step;

		if (at + n > 4096)
			n = 4096 - at;
		switch (random_below(&seed, 4)) {
		case 0:
			dirty_remove(&s, at * 4096, n * 4096);
			memset(page + at, 0, n);
			break;
		case 1:
			if (dirty_take(&s, 64 * KIB, 4, &step))
				memset(page + step.offset / 4096, 0,
				       (step.end - step.offset + 4095) / 4096);
			break;
		default:
			dirty_add(&s, at * 4096, n * 4096, (uint64_t)round);
			memset(page + at, 1, n);
		}
		assert_true(s.n <= DIRTY_RANGES);
		for (uint32_t i = 0; i < s.n; i++) {
			assert_true(s.range[i].offset < s.range[i].end);
			assert_in_range(s.range[i].since, 0, s.range[i].newest);
			assert_in_range(s.range[i].bytes, 1, s.range[i].end - s.range[i].offset);
			assert_true(!i || s.range[i - 1].end < s.range[i].offset ||
				    s.range[i - 1].end == s.range[i].offset);
		}
		for (uint32_t p = 0; round % 16 == 0 && p < 4096; p++) {
			bool in = !page[p];

			for (uint32_t i = 0; i < s.n && !in; i++)
				in = s.range[i].offset <= p * 4096ull &&
				     p * 4096ull < s.range[i].end;
			assert_true(in);
		}
	}
}

/* A MiB a second, from second 1 on, in this order; then the first PARTS of 10 MiB have had their turns. */
static uint64_t since_after(uint64_t (*place)(uint64_t nth), unsigned int parts)
{
	struct dirty_set s = {0};
	struct dirty_range step;

	for (uint64_t i = 0; i < 100; i++)
		dirty_add(&s, place(i) * MIB, MIB, (i + 1) * SEC);
	assert_int_equal(s.n, 1);
	s.cursor = 0;
	while (parts--)
		assert_true(dirty_take(&s, 10 * MIB, 100, &step));
	return dirty_since(&s);
}

static uint64_t forward(uint64_t nth)
{
	return nth;
}

/* Threads of the server overtake one another. */
static uint64_t in_disorder(uint64_t nth)
{
	return nth ^ 1;
}

static uint64_t backward(uint64_t nth)
{
	return 99 - nth;
}

/* What a stream wrote later is not as old as its first byte. */
static void test_what_is_left_of_a_stream_is_younger(void **state)
{
	for (unsigned int parts = 1; parts < 10; parts++) {
		uint64_t wrote = (parts * 10 + 1) * SEC;

		assert_in_range(since_after(forward, parts), wrote - 2 * SEC, wrote + SEC);
		assert_in_range(since_after(in_disorder, parts), wrote - 2 * SEC, wrote + SEC);
	}
}

/* Nothing passes for younger than it is, where the oldest is not in front. */
static void test_what_was_written_backward_stays_as_old(void **state)
{
	for (unsigned int parts = 0; parts < 10; parts++)
		assert_int_equal(since_after(backward, parts), SEC);
}

/* A COMMIT that does not wait for its range puts it back. */
static void test_what_comes_back_is_as_old_as_it_was(void **state)
{
	struct dirty_set s = {0}, own = {0};

	for (uint64_t i = 0; i < 100; i++)
		dirty_add(&s, i * MIB, MIB, (i + 1) * SEC);
	dirty_move(&s, &own, 0, 50 * MIB);
	assert_int_equal(dirty_since(&own), SEC);
	assert_in_range(dirty_since(&s), 49 * SEC, 52 * SEC);
	dirty_move(&own, &s, 0, UINT64_MAX);
	assert_int_equal(dirty_since(&s), SEC);
	dirty_add(&s, 80 * MIB, MIB,
		  1000 * SEC); /* again: no reason to take the others for younger */
	dirty_remove(&s, 0, 50 * MIB);
	assert_in_range(dirty_since(&s), 49 * SEC, 52 * SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sequential_writer_is_one_range),
		cmocka_unit_test(test_ranges_are_sorted_and_joined),
		cmocka_unit_test(test_when_full_the_nearest_are_joined),
		cmocka_unit_test(test_a_long_gap_is_never_dirty),
		cmocka_unit_test(test_short_gaps_are_not_counted),
		cmocka_unit_test(test_steps_go_one_way_round),
		cmocka_unit_test(test_steps_through_scattered_writes_are_short),
		cmocka_unit_test(test_a_range_is_moved_to_be_synced),
		cmocka_unit_test(test_never_less_dirty),
		cmocka_unit_test(test_what_is_left_of_a_stream_is_younger),
		cmocka_unit_test(test_what_was_written_backward_stays_as_old),
		cmocka_unit_test(test_what_comes_back_is_as_old_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
