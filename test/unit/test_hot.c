/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When a file is taken to be in memory as a whole, and for how long. */
#include "disk/hot.h"

#include "support.h"

/* READS of them at NOW; whether one was told to look. */
static bool read_some(struct hot *h, unsigned int reads, uint64_t now)
{
	bool look = false;

	for (unsigned int i = 0; i < reads; i++)
		look |= hot_read(h, now);
	return look;
}

static void test_a_file_read_again_and_again_is_looked_at(void **state)
{
	struct hot h = {0};

	assert_false(read_some(&h, HOT_READS - 1, SEC));
	assert_true(hot_read(&h, SEC + HOT_TIME));
	assert_false(hot_read(&h, SEC + HOT_TIME)); /* one thread looks */
	assert_false(hot_is(&h, SEC + HOT_TIME));
}

static void test_one_read_seldom_is_not(void **state)
{
	struct hot h = {0};

	for (uint64_t i = 1; i < 1000; i++)
		assert_false(hot_read(&h, i * HOT_TIME / 8));
}

static void test_it_is_hot_for_a_while(void **state)
{
	struct hot h = {0};

	assert_true(read_some(&h, HOT_READS, SEC));
	hot_looked(&h, true, 1000, SEC);
	assert_true(hot_is(&h, SEC));
	assert_true(hot_is(&h, SEC + HOT_TIME - 1));
	assert_false(hot_is(&h, SEC + HOT_TIME));
	assert_true(hot_read(&h, SEC + HOT_TIME)); /* and then looked at again */
	assert_false(hot_read(&h, SEC + HOT_TIME));
	hot_looked(&h, true, 1000, SEC + HOT_TIME);
	assert_true(hot_is(&h, SEC + HOT_TIME));
	assert_false(hot_read(&h, SEC + 3 * HOT_TIME)); /* long ago: as any other */
}

/* The longer it takes, the longer it is believed, and the seldomer it is done. */
static void test_looking_takes_a_small_part_of_the_time(void **state)
{
	struct hot h = {0};
	uint64_t took = 20 * MSEC, now = SEC, looking = 0;

	while (now < 101 * SEC) {
		if (hot_read(&h, now)) {
			hot_looked(&h, false, took, now);
			looking += took;
			assert_false(hot_is(&h, now));
		}
		now += MSEC;
	}
	assert_true(looking > 0 && looking <= 100 * SEC / HOT_SHARE + took);
	hot_looked(&h, true, took, now);
	assert_true(hot_is(&h, now + took * HOT_SHARE - 1));
	assert_false(hot_is(&h, now + took * HOT_SHARE));
}

static void test_what_is_gone_is_not_hot(void **state)
{
	struct hot h = {0};

	hot_looked(&h, true, 0, SEC);
	hot_forget(&h);
	assert_false(hot_is(&h, SEC));
	assert_false(read_some(&h, 2 * HOT_READS, SEC)); /* nor looked at again at once */
	assert_true(read_some(&h, HOT_READS, SEC + HOT_TIME));
	hot_never(&h);
	assert_false(read_some(&h, 2 * HOT_READS, 100 * SEC));
	hot_looked(&h, false, 0, 100 * SEC); /* one that had begun */
	assert_false(read_some(&h, 2 * HOT_READS, 200 * SEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_read_again_and_again_is_looked_at),
		cmocka_unit_test(test_one_read_seldom_is_not),
		cmocka_unit_test(test_it_is_hot_for_a_while),
		cmocka_unit_test(test_looking_takes_a_small_part_of_the_time),
		cmocka_unit_test(test_what_is_gone_is_not_hot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
