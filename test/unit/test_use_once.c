/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bytes that are given once: never after a drop, never unvouched for, never beyond the bound. */
#include "remote/use_once.h"

#include "support.h"

#define MAX    (4 * MIB)
#define AGE    (5 * SEC)
#define FILE_A 7u
#define FILE_B 8u
#define BLOCK  USE_ONCE_BLOCK

static unsigned char data[8 * MIB], got[8 * MIB];

static int set_up(void **state)
{
	uint64_t seed = 1;

	for (size_t i = 0; i < sizeof(data); i += 8)
		memcpy(data + i, &(uint64_t){random_next(&seed)}, 8);
	*state = use_once_new(MAX, AGE);
	return *state == NULL;
}

static int tear_down(void **state)
{
	use_once_free(*state);
	return 0;
}

/* A cache that vouches for both files at 1 s. */
static struct use_once *vouching(void **state)
{
	for (uint64_t file = FILE_A; file <= FILE_B; file++) {
		assert_true(use_once_asks(*state, file, SEC));
		use_once_told(*state, file, 100, true, SEC);
	}
	return *state;
}

static void put(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len, uint64_t now)
{
	use_once_put(c, file, use_once_mark(c, file), offset, data + offset, len, 0, now);
}

/* Whether it was there, in which case the bytes are right, in two parts of a reply. */
static bool take(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len, uint64_t now)
{
	struct iovec iov[2] = {{got, len / 3}, {got + len / 3, len - len / 3}};
	bool has = use_once_has(c, file, offset, len, now);

	memset(got, 0, len);
	assert_int_equal(use_once_take(c, file, iov, 2, offset, len, now), has);
	if (has)
		assert_memory_equal(got, data + offset, len);
	return has;
}

static void test_bytes_leave_when_read(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, MIB, SEC);
	assert_in_range(use_once_held(c), MIB, MIB + MIB / 16);
	assert_true(take(c, FILE_A, 0, 32 * KIB, SEC));
	assert_true(take(c, FILE_A, 32 * KIB, 32 * KIB, SEC));
	assert_false(take(c, FILE_A, 0, 32 * KIB, SEC));
	assert_true(take(c, FILE_A, 64 * KIB, MIB - 64 * KIB, SEC));
	assert_int_equal(use_once_held(c), 0);
	assert_false(take(c, FILE_B, 0, 4096, SEC));
}

static void test_all_or_nothing(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 128 * KIB, SEC);
	assert_false(take(c, FILE_A, 64 * KIB, 128 * KIB, SEC));
	assert_true(take(c, FILE_A, 64 * KIB, 64 * KIB, SEC)); /* it is still there */
	assert_false(use_once_take(c, FILE_A, &(struct iovec){got, 100}, 1, 0, 4096, SEC));
	assert_false(take(c, FILE_A, 0, 0, SEC));
	assert_false(use_once_has(c, FILE_A, UINT64_MAX - 10, 4096, SEC));
	assert_false(use_once_has(c, FILE_A, 0, UINT64_MAX, SEC));
}

static void test_reads_of_any_offset(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 128 * KIB, SEC);
	for (uint64_t at = 0; at < 128 * KIB; at += 1000)
		assert_true(
			take(c, FILE_A, at, at + 1000 > 128 * KIB ? 128 * KIB - at : 1000, SEC));
	assert_int_equal(use_once_held(c), 0);
}

static void test_strips_of_one_block_come_one_by_one(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 8 * KIB, SEC);
	put(c, FILE_A, 16 * KIB, 8 * KIB, SEC);
	assert_false(take(c, FILE_A, 0, 24 * KIB, SEC));
	put(c, FILE_A, 8 * KIB, 8 * KIB, SEC);
	assert_true(take(c, FILE_A, 0, 24 * KIB, SEC));
	assert_int_equal(use_once_held(c), 0);
}

static void test_the_end_of_the_file(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 70001, SEC);
	assert_true(use_once_has(c, FILE_A, 65536, 70001 - 65536, SEC));
	assert_false(use_once_has(c, FILE_A, 65536, 70002 - 65536, SEC));
	/* Another client's append, fetched in another part of the block: the old end does not hide it. */
	put(c, FILE_A, 72 * KIB, 8 * KIB, SEC);
	assert_true(use_once_has(c, FILE_A, 72 * KIB, 8 * KIB, SEC));
	assert_false(use_once_has(c, FILE_A, 64 * KIB, 16 * KIB, SEC));
	assert_true(take(c, FILE_A, 64 * KIB, 4 * KIB, SEC));
}

static void test_an_own_append_drops_the_old_end(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 70001, SEC);
	use_once_drop(c, FILE_A, MIB, 4096);
	assert_false(take(c, FILE_A, 65536, 1000, SEC));
	assert_true(take(c, FILE_A, 0, 65536, SEC));
}

static void test_a_write_drops_its_range(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 256 * KIB, SEC);
	put(c, FILE_B, 0, 256 * KIB, SEC);
	use_once_drop(c, FILE_A, 100 * KIB, 1);
	assert_false(take(c, FILE_A, 64 * KIB, 4096, SEC));
	assert_true(take(c, FILE_A, 128 * KIB, 64 * KIB, SEC));
	use_once_drop(c, FILE_A, 0, UINT64_MAX);
	assert_false(take(c, FILE_A, 0, 4096, SEC));
	assert_true(take(c, FILE_B, 64 * KIB, 4096, SEC));
}

static void test_what_was_under_way_at_a_drop_is_refused(void **state)
{
	struct use_once *c = vouching(state);
	uint64_t mark = use_once_mark(c, FILE_A);

	use_once_drop(c, FILE_A, 0, 4096);
	use_once_put(c, FILE_A, mark, MIB, data + MIB, 64 * KIB, 0, SEC);
	assert_false(take(c, FILE_A, MIB, 64 * KIB, SEC));
	assert_int_equal(use_once_held(c), 0);
	mark = use_once_mark(c, FILE_A);
	use_once_forget(c, FILE_A);
	use_once_put(c, FILE_A, mark, 0, data, 64 * KIB, 0, SEC);
	assert_int_equal(use_once_held(c), 0);
}

static void test_nothing_is_given_that_is_not_vouched_for(void **state)
{
	struct use_once *c = *state;

	put(c, FILE_A, 0, 64 * KIB, SEC);
	assert_false(take(c, FILE_A, 0, 4096, SEC)); /* nobody asked yet */
	assert_true(use_once_asks(c, FILE_A, SEC));
	assert_false(use_once_asks(c, FILE_A, SEC + 1)); /* somebody does */
	use_once_told(c, FILE_A, 100, true, SEC);
	assert_false(take(c, FILE_A, 0, 4096, SEC)); /* it came before anything was known */
	put(c, FILE_A, 0, 64 * KIB, SEC);
	assert_true(take(c, FILE_A, 0, 4096, SEC + USE_ONCE_VOUCHED - 1));
	assert_false(take(c, FILE_A, 0, 4096, SEC + USE_ONCE_VOUCHED));
	assert_true(use_once_asks(c, FILE_A, SEC + USE_ONCE_ASKS));
	use_once_told(c, FILE_A, 100, true, SEC + USE_ONCE_ASKS);
	assert_true(take(c, FILE_A, 4096, 4096, SEC + USE_ONCE_VOUCHED));
}

static void test_another_change_drops_the_file(void **state)
{
	struct use_once *c = vouching(state);
	uint64_t mark = use_once_mark(c, FILE_A);

	put(c, FILE_A, 0, 64 * KIB, SEC);
	put(c, FILE_B, 0, 64 * KIB, SEC);
	assert_true(use_once_asks(c, FILE_A, 2 * SEC));
	use_once_told(c, FILE_A, 101, true, 2 * SEC);
	use_once_put(c, FILE_A, mark, 0, data, 64 * KIB, 0, 2 * SEC);
	assert_false(take(c, FILE_A, 0, 4096, 2 * SEC));
	assert_true(take(c, FILE_B, 0, 4096, 2 * SEC));
	use_once_told(c, FILE_A, 99, true,
		      SEC); /* an answer that was long under way says nothing */
	put(c, FILE_A, 0, 64 * KIB, 2 * SEC);
	assert_true(take(c, FILE_A, 0, 4096, 2 * SEC));
}

/* Whether what comes is lost to another's changes before it is read: an eighth is too much. */
static void test_what_comes_in_vain(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 2 * MIB, SEC);
	assert_int_equal(use_once_judge(c, FILE_A), USE_ONCE_NONE); /* nobody has changed it */
	assert_true(take(c, FILE_A, 0, MIB + 832 * KIB, SEC));
	use_once_told(c, FILE_A, 101, true, 2 * SEC);
	assert_int_equal(use_once_judge(c, FILE_A), USE_ONCE_OF_USE);
	assert_int_equal(use_once_judge(c, FILE_A), USE_ONCE_NONE); /* it was told */
	put(c, FILE_A, 0, 2 * MIB, 2 * SEC);
	assert_true(take(c, FILE_A, 0, MIB + 640 * KIB, 2 * SEC));
	use_once_told(c, FILE_A, 102, false, 3 * SEC);
	assert_int_equal(use_once_judge(c, FILE_A), USE_ONCE_IN_VAIN);
	put(c, FILE_A, 0, 2 * MIB, 3 * SEC);
	use_once_told(c, FILE_A, 102, true, 4 * SEC); /* nobody knows: not changed */
	assert_int_equal(use_once_judge(c, FILE_A), USE_ONCE_NONE);
	use_once_drop(c, FILE_A, 0, UINT64_MAX); /* our own */
	assert_int_equal(use_once_judge(c, FILE_A), USE_ONCE_NONE);
	put(c, FILE_B, 0, 128 * KIB, SEC);
	use_once_told(c, FILE_B, 101, true, 2 * SEC);
	assert_int_equal(use_once_judge(c, FILE_B), USE_ONCE_NONE); /* it was little */
	put(c, FILE_B, 0, 128 * KIB, 2 * SEC);
	use_once_shown(c, FILE_B, &(struct use_once_attrs){102, true, .stamp = 1, .asked = SEC});
	assert_int_equal(use_once_judge(c, FILE_B), USE_ONCE_IN_VAIN);
	assert_int_equal(use_once_judge(c, FILE_B + 1), USE_ONCE_NONE); /* not known */
}

/* It vouches, and answers what would have been asked; an older one drops what may be older than it. */
static void test_what_a_client_is_shown(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 256 * KIB, SEC);
	use_once_shown(c, FILE_A,
		       &(struct use_once_attrs){100, true, .stamp = 1, .asked = 2 * SEC});
	assert_true(take(c, FILE_A, 0, 4 * KIB, 2 * SEC + USE_ONCE_VOUCHED - 1));
	assert_false(use_once_asks(c, FILE_A, 2 * SEC + USE_ONCE_ASKS - 1));
	assert_true(use_once_asks(c, FILE_A, 2 * SEC + USE_ONCE_ASKS));
	use_once_shown(c, FILE_A, &(struct use_once_attrs){100, true, .stamp = 1, .asked = SEC});
	assert_true(take(c, FILE_A, 64 * KIB, 4 * KIB, 2 * SEC));
	use_once_shown(c, FILE_A, &(struct use_once_attrs){101, true, .stamp = 2, .asked = SEC});
	assert_false(take(c, FILE_A, 128 * KIB, 4 * KIB, 2 * SEC));
	put(c, FILE_A, 0, 64 * KIB, 2 * SEC);
	assert_true(take(c, FILE_A, 0, 4 * KIB, 2 * SEC));
	use_once_shown(c, FILE_B + 1, &(struct use_once_attrs){.asked = SEC}); /* not known */
}

static void test_an_answer_that_never_comes_is_asked_for_again(void **state)
{
	struct use_once *c = *state;

	assert_true(use_once_asks(c, FILE_A, SEC));
	assert_false(use_once_asks(c, FILE_A, SEC + USE_ONCE_ASKS - 1));
	assert_true(use_once_asks(c, FILE_A, SEC + USE_ONCE_ASKS));
}

static void test_what_is_held_is_bounded(void **state)
{
	struct use_once *c = vouching(state);

	for (uint64_t at = 0; at < 2 * MAX; at += 256 * KIB) {
		put(c, FILE_A, at, 256 * KIB, SEC);
		assert_in_range(use_once_held(c), 0, MAX);
	}
	assert_false(take(c, FILE_A, 0, 4096, SEC)); /* what came first went first */
	assert_true(take(c, FILE_A, 2 * MAX - 64 * KIB, 64 * KIB, SEC));
	put(c, FILE_B, 0, MIB, SEC + 1); /* another file's go too */
	assert_true(take(c, FILE_B, 0, MIB, SEC + 1));
	use_once_limit(c, 128 * KIB);
	assert_in_range(use_once_held(c), 0, 128 * KIB);
	use_once_limit(c, 0);
	put(c, FILE_A, 0, 64 * KIB, SEC);
	assert_int_equal(use_once_held(c), 0);
}

/* Records a step apart take what they are, and not the block that each lies in. */
static void test_records_take_no_more_than_they_are(void **state)
{
	struct use_once *c = vouching(state);

	use_once_limit(c, 2 * MIB);
	for (uint64_t i = 0; i < 256; i++)
		use_once_put(c, FILE_A, use_once_mark(c, FILE_A), i * MIB, data + i * 4 * KIB,
			     4 * KIB, 0, SEC);
	assert_in_range(use_once_held(c), MIB, MIB + MIB / 16);
	assert_true(use_once_has(c, FILE_A, 0, 4 * KIB, SEC));
	for (uint64_t i = 0; i < 256; i++) {
		struct iovec iov = {got, 4 * KIB};

		assert_true(use_once_take(c, FILE_A, &iov, 1, i * MIB, 4 * KIB, SEC));
		assert_memory_equal(got, data + i * 4 * KIB, 4 * KIB);
	}
	assert_int_equal(use_once_held(c), 0);
}

/* ... also where several lie in one block, which come one by one, in any order. */
static void test_records_of_one_block(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 48 * KIB, 4 * KIB, SEC);
	put(c, FILE_A, 0, 4 * KIB, SEC);
	put(c, FILE_A, 28 * KIB, 12 * KIB, SEC);
	assert_in_range(use_once_held(c), 20 * KIB, 21 * KIB);
	put(c, FILE_A, 32 * KIB, 12 * KIB, SEC);
	assert_in_range(use_once_held(c), 24 * KIB, 25 * KIB);
	assert_false(take(c, FILE_A, 0, 8 * KIB, SEC));
	assert_true(take(c, FILE_A, 28 * KIB + 100, 16 * KIB - 200, SEC));
	assert_true(take(c, FILE_A, 48 * KIB, 4 * KIB, SEC));
	assert_true(take(c, FILE_A, 0, 4 * KIB, SEC));
}

/* As often as it must be asked for, from the second FROM on to NOW. */
static void vouch(struct use_once *c, uint64_t from, uint64_t now)
{
	for (uint64_t at = from * SEC; at <= now; at += SEC) {
		assert_true(use_once_asks(c, FILE_A, at));
		use_once_told(c, FILE_A, 100, true, at);
	}
}

static void test_what_is_too_old_goes(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 64 * KIB, SEC);
	put(c, FILE_A, 64 * KIB, 64 * KIB, 3 * SEC);
	vouch(c, 2, SEC + AGE);
	assert_false(take(c, FILE_A, 0, 4096, SEC + AGE));
	use_once_sweep(c, SEC + AGE);
	assert_in_range(use_once_held(c), 64 * KIB, 66 * KIB);
	assert_true(take(c, FILE_A, 64 * KIB, 64 * KIB, SEC + AGE));
}

/* What comes into a block later does not make younger what is there. */
static void test_a_block_is_as_old_as_its_first_unit(void **state)
{
	struct use_once *c = vouching(state);
	uint64_t late = SEC + AGE / 2 - 1;

	put(c, FILE_A, 0, 4 * KIB, SEC);
	put(c, FILE_A, 64 * KIB, 64 * KIB, 2 * SEC); /* between the two, by age */
	put(c, FILE_A, 4 * KIB, 4 * KIB, late);
	vouch(c, 2, SEC + AGE);
	assert_true(use_once_has(c, FILE_A, 0, 8 * KIB, SEC + AGE - 1));
	assert_false(use_once_has(c, FILE_A, 0, 4 * KIB, SEC + AGE));
	use_once_sweep(c, SEC + AGE);
	assert_in_range(use_once_held(c), 64 * KIB, 66 * KIB);
	assert_true(take(c, FILE_A, 64 * KIB, 64 * KIB, SEC + AGE));
}

/* ... and what is there does not take with it what comes when that is old: also what nobody has swept yet. */
static void test_what_comes_is_kept_for_half_its_age(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 4 * KIB, SEC);
	put(c, FILE_A, 4 * KIB, 4 * KIB, SEC + AGE / 2);
	assert_false(use_once_has(c, FILE_A, 0, 4 * KIB, SEC + 1));
	vouch(c, 2, 3 * SEC + AGE);
	use_once_sweep(c, 3 * SEC + AGE);
	assert_true(use_once_has(c, FILE_A, 4 * KIB, 4 * KIB, 3 * SEC + AGE));
	put(c, FILE_A, 0, 4 * KIB, SEC + 2 * AGE);
	vouch(c, 9, SEC + 2 * AGE);
	assert_true(take(c, FILE_A, 0, 4 * KIB, SEC + 2 * AGE));
}

/* It goes when its first unit would have gone, where there is too much. */
static void test_a_block_keeps_its_turn_to_go(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 4 * KIB, SEC);
	put(c, FILE_A, 64 * KIB, 64 * KIB, SEC + 1);
	put(c, FILE_A, 4 * KIB, 4 * KIB, SEC + 2);
	use_once_limit(c, 70 * KIB); /* one of the two */
	assert_false(use_once_has(c, FILE_A, 4 * KIB, 4 * KIB, SEC + 2));
	assert_true(take(c, FILE_A, 64 * KIB, 64 * KIB, SEC + 2));
}

/* Of what comes once more nothing is old. */
static void test_all_of_a_block_that_comes_again_is_new(void **state)
{
	struct use_once *c = vouching(state);

	put(c, FILE_A, 0, 8 * KIB, SEC);
	put(c, FILE_A, 0, 12 * KIB, 2 * SEC);
	vouch(c, 2, SEC + AGE);
	use_once_sweep(c, SEC + AGE);
	assert_true(take(c, FILE_A, 0, 12 * KIB, SEC + AGE));
}

/* Against a model: which byte may be given at all. */
static void test_random_works(void **state)
{
	enum { UNITS = 256 };
	struct use_once *c = vouching(state);
	bool may[UNITS] = {false};
	uint64_t seed = 3, given = 0;

	for (int i = 0; i < 20000; i++) {
		uint64_t first = random_below(&seed, UNITS), n = 1 + random_below(&seed, 40);
		uint64_t len = first + n > UNITS ? (UNITS - first) * 4096 : n * 4096;

		switch (random_below(&seed, 4)) {
		case 0:
			use_once_drop(c, FILE_A, first * 4096, len);
			for (uint64_t u = first; u < first + len / 4096; u++)
				may[u] = false;
			break;
		case 1:
			put(c, FILE_A, first * 4096, len, SEC);
			for (uint64_t u = first; u < first + len / 4096; u++)
				may[u] = true;
			break;
		default:
			if (!take(c, FILE_A, first * 4096, len, SEC))
				break;
			for (uint64_t u = first; u < first + len / 4096; u++)
				assert_true(may[u]);
			given++;
		}
	}
	assert_in_range(given, 100, 20000);
}

/* ... and when each came: pieces of a block at any time, and no byte beyond its age. */
static void test_random_times(void **state)
{
	enum { UNITS = 64 };
	struct use_once *c = vouching(state);
	uint64_t came[UNITS] = {0}, seed = 5, given = 0, old = 0;

	for (uint64_t now = SEC; now < 2000 * SEC; now += random_below(&seed, AGE / 8)) {
		uint64_t first = random_below(&seed, UNITS - 8);
		uint64_t n = 1 + random_below(&seed, 8);

		if (use_once_asks(c, FILE_A, now))
			use_once_told(c, FILE_A, 100, true, now);
		if (random_below(&seed, 2)) {
			put(c, FILE_A, first * 4096, n * 4096, now);
			for (uint64_t u = first; u < first + n; u++)
				came[u] = now;
		} else if (take(c, FILE_A, first * 4096, n * 4096, now)) {
			for (uint64_t u = first; u < first + n; u++) {
				assert_true(now < came[u] + AGE);
				old += now >= came[u] + AGE / 2;
			}
			given++;
		}
	}
	assert_in_range(given, 100, 20000);
	assert_in_range(old, 10, 20000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes_leave_when_read),
		TEST(test_all_or_nothing),
		TEST(test_reads_of_any_offset),
		TEST(test_strips_of_one_block_come_one_by_one),
		TEST(test_the_end_of_the_file),
		TEST(test_an_own_append_drops_the_old_end),
		TEST(test_a_write_drops_its_range),
		TEST(test_what_was_under_way_at_a_drop_is_refused),
		TEST(test_nothing_is_given_that_is_not_vouched_for),
		TEST(test_another_change_drops_the_file),
		TEST(test_what_comes_in_vain),
		TEST(test_what_a_client_is_shown),
		TEST(test_an_answer_that_never_comes_is_asked_for_again),
		TEST(test_what_is_held_is_bounded),
		TEST(test_records_take_no_more_than_they_are),
		TEST(test_records_of_one_block),
		TEST(test_what_is_too_old_goes),
		TEST(test_a_block_is_as_old_as_its_first_unit),
		TEST(test_what_comes_is_kept_for_half_its_age),
		TEST(test_a_block_keeps_its_turn_to_go),
		TEST(test_all_of_a_block_that_comes_again_is_new),
		TEST(test_random_works),
		TEST(test_random_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
