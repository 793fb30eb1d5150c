/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Change attributes that come in time, late, or not at all. */
#include "remote/vouching.h"

#include "support.h"

static struct vouching v;

static int setup(void **state)
{
	v = (struct vouching){0};
	return 0;
}

/* Asked at NOW and answered TOOK later; whether that stops read-ahead. */
static bool answer(uint64_t now, uint64_t took, bool good)
{
	assert_true(vouching_may_ask(&v, now));
	vouching_asks(&v, now);
	return vouching_told(&v, now, good, now + took);
}

static void test_in_time(void **state)
{
	assert_true(vouching_works(&v, SEC));
	for (uint64_t now = SEC; now < 20 * SEC; now += SEC) {
		assert_false(answer(now, VOUCHING_TIME, true));
		assert_true(vouching_works(&v, now + VOUCHING_TIME));
	}
}

static void test_late(void **state)
{
	assert_true(answer(SEC, VOUCHING_TIME + 1, true));
	assert_false(vouching_works(&v, 2 * SEC));
	assert_false(vouching_may_ask(&v, 2 * SEC));
	assert_true(vouching_works(&v, 2 * SEC + CHECK_PAUSE_MIN));
}

static void test_failed(void **state)
{
	assert_true(answer(SEC, 1, false));
	assert_false(vouching_works(&v, 2 * SEC));
}

static void test_overdue(void **state)
{
	vouching_asks(&v, SEC);
	assert_false(vouching_may_ask(&v, SEC + 1));
	assert_true(vouching_works(&v, SEC + VOUCHING_TIME));
	assert_false(vouching_works(&v, SEC + VOUCHING_TIME + 1));
	assert_false(vouching_works(&v, 100 * SEC)); /* as long as it takes */
	assert_true(vouching_told(&v, SEC, true, 100 * SEC));
	assert_false(vouching_works(&v, 101 * SEC));
}

/* Two may have asked at once: the first answer is not taken for the other's. */
static void test_two_questions(void **state)
{
	vouching_asks(&v, SEC);
	vouching_asks(&v, SEC + 5);
	assert_false(vouching_told(&v, SEC, true, SEC + 10));
	assert_false(vouching_may_ask(&v, SEC + 10));
	assert_false(vouching_told(&v, SEC + 5, true, SEC + 20));
	assert_true(vouching_may_ask(&v, SEC + 20));
}

static void test_pauses_grow_until_it_goes_well(void **state)
{
	uint64_t now = SEC, pause = CHECK_PAUSE_MIN;

	for (int i = 0; i < 3; i++, pause *= 2) {
		assert_true(answer(now, SEC, true));
		assert_false(vouching_works(&v, now + SEC + pause - 1));
		now += SEC + pause;
		assert_true(vouching_works(&v, now));
		assert_false(answer(now, 1, true)); /* one is not enough */
	}
	for (int i = 1; i < VOUCHING_GOOD; i++)
		assert_false(answer(now += SEC, 1, true));
	assert_true(answer(now, SEC, true));
	assert_true(vouching_works(&v, now + SEC + CHECK_PAUSE_MIN));
}

/* Another size is another file, though its change attribute is the same; so is another attribute. */
static void test_size_and_change(void **state)
{
	uint64_t one = vouching_change(7, 8 * MIB);

	assert_int_equal(one, vouching_change(7, 8 * MIB));
	assert_int_not_equal(one, vouching_change(7, 2 * MIB));
	assert_int_not_equal(one, vouching_change(7, 0));
	assert_int_not_equal(one, vouching_change(8, 8 * MIB));
}

/* ---- a change attribute of whole seconds --------------------------------------------------- */

#define STEP (50 * MSEC)
#define AGE  (30 * SEC)

/* Another client writes at the times WROTE, by a clock that is AHEAD of ours; what is fetched once, at FETCHED, is looked at. */
struct outside {
	uint64_t wrote[2], fetched;
	int64_t ahead;
};

/* As FSAL_GLUSTER makes it, in the moment NOW. */
static int64_t attribute(const struct outside *o, uint64_t now)
{
	int64_t latest = 0;

	for (int i = 0; i < 2; i++)
		if (o->wrote[i] <= now)
			latest = ((int64_t)o->wrote[i] + o->ahead) / (int64_t)SEC;
	return latest;
}

/* How long after its fetch, or after the second write, if that came later, it may be given. */
static uint64_t given_for(const struct outside *o)
{
	static const char bytes[USE_ONCE_BLOCK];
	struct use_once *c = use_once_new(MIB, AGE);
	uint64_t from = o->fetched > o->wrote[1] ? o->fetched : o->wrote[1], last = from;

	for (uint64_t now = o->fetched - SEC; now < from + AGE; now += STEP) {
		if (use_once_asks(c, 1, now)) {
			int64_t changed = attribute(o, now);

			use_once_told(c, 1, vouching_change((uint64_t)changed, MIB),
				      vouching_is_settled(changed, (int64_t)(now / SEC)), now);
		}
		if (now == o->fetched)
			use_once_put(c, 1, use_once_mark(c, 1), 0, bytes, sizeof(bytes), 0, now);
		if (now > from && use_once_has(c, 1, 0, sizeof(bytes), now))
			last = now;
	}
	use_once_free(c);
	return last - from;
}

/* Whenever an outside write comes, the one before and the fetch: the old bytes are not given for longer than is said. */
static void test_two_writes_in_a_second(void **state)
{
	struct outside o;

	for (o.ahead = -900 * (int64_t)MSEC; o.ahead <= 900 * (int64_t)MSEC; o.ahead += 300 * MSEC)
		for (o.fetched = 102 * SEC; o.fetched < 103 * SEC; o.fetched += 2 * STEP)
			for (o.wrote[0] = 100 * SEC; o.wrote[0] < o.fetched; o.wrote[0] += 2 * STEP)
				for (o.wrote[1] = o.fetched + STEP; o.wrote[1] < 106 * SEC;
				     o.wrote[1] += 2 * STEP)
					assert_true(given_for(&o) <= USE_ONCE_VOUCHED);
}

/* What was written a while ago is kept as long as anything. */
static void test_a_file_that_was_left(void **state)
{
	struct outside o = {.wrote = {100 * SEC, 100 * SEC + 500 * MSEC}, .fetched = 103 * SEC};

	assert_true(given_for(&o) == AGE - STEP);
}

static void test_settled(void **state)
{
	assert_false(vouching_is_settled(101, 100)); /* somebody's clock is ahead */
	assert_false(vouching_is_settled(100, 100));
	assert_false(vouching_is_settled(99, 100));
	assert_true(vouching_is_settled(98, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_in_time, setup),
		cmocka_unit_test_setup(test_late, setup),
		cmocka_unit_test_setup(test_failed, setup),
		cmocka_unit_test_setup(test_overdue, setup),
		cmocka_unit_test_setup(test_two_questions, setup),
		cmocka_unit_test_setup(test_size_and_change, setup),
		cmocka_unit_test_setup(test_two_writes_in_a_second, setup),
		cmocka_unit_test_setup(test_a_file_that_was_left, setup),
		cmocka_unit_test_setup(test_settled, setup),
		cmocka_unit_test_setup(test_pauses_grow_until_it_goes_well, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
