/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names that have no address: asked for once for many clients, but not for good. */
#include "shares/client_list.h"
#include "shares/name_memory.h"
#include "support.h"

static struct name_memory m;

static int setup(void **state)
{
	m = (struct name_memory){0};
	return 0;
}

static void test_a_name_is_kept_for_a_while(void **state)
{
	int said = 1;

	assert_false(name_memory_find(&m, "gone", SEC, &said));
	name_memory_put(&m, "gone", 0, 20 * MSEC, SEC);
	assert_true(name_memory_find(&m, "gone", SEC, &said));
	assert_int_equal(said, 0);
	assert_true(name_memory_find(&m, "gone", SEC + NAME_MEMORY_LEAST - 1, &said));
	assert_false(name_memory_find(&m, "gone", SEC + NAME_MEMORY_LEAST, &said));
	assert_false(name_memory_find(&m, "gone2", SEC, &said));
	assert_false(name_memory_find(&m, "", SEC, &said));
}

static void test_what_was_said_last_counts(void **state)
{
	int said = 1;

	name_memory_put(&m, "gone", NAMES_LATER, 0, SEC);
	name_memory_put(&m, "gone", 0, 0, 2 * SEC);
	assert_true(name_memory_find(&m, "gone", SEC + NAME_MEMORY_LEAST, &said));
	assert_int_equal(said, 0);
	name_memory_put(&m, "lame", NAMES_LATER, 0, 2 * SEC);
	assert_true(name_memory_find(&m, "lame", 2 * SEC, &said));
	assert_int_equal(said, NAMES_LATER);
}

/* By their hash these had one place, and were asked for in turn for ever. */
static void test_names_that_meet_are_both_kept(void **state)
{
	int said = 1;

	name_memory_put(&m, "host52", 0, 0, SEC);
	name_memory_put(&m, "host168", NAMES_LATER, 0, SEC);
	assert_true(name_memory_find(&m, "host52", 2 * SEC, &said));
	assert_int_equal(said, 0);
	assert_true(name_memory_find(&m, "host168", 2 * SEC, &said));
	assert_int_equal(said, NAMES_LATER);
}

/* With as many names as a large block has, all but a few are kept: the last ones that came. */
static void test_who_is_over_first_makes_room(void **state)
{
	unsigned int kept = 0;
	char name[16];
	int said;

	for (unsigned int i = 0; i < NAME_MEMORY; i++) {
		snprintf(name, sizeof(name), "host%u", i);
		name_memory_put(&m, name, 0, 0, SEC + i);
		assert_true(name_memory_find(&m, name, SEC + i, &said));
	}
	for (unsigned int i = 0; i < NAME_MEMORY; i++) {
		snprintf(name, sizeof(name), "host%u", i);
		kept += name_memory_find(&m, name, SEC + NAME_MEMORY, &said);
	}
	assert_in_range(kept, NAME_MEMORY * 9 / 10, NAME_MEMORY);
}

/* Ten names that each take ten seconds do not take all of a thread's time. */
static void test_who_takes_long_is_kept_for_longer(void **state)
{
	char name[] = "lame0";
	uint64_t now = SEC;
	unsigned int asked = 0;
	int said;

	for (unsigned int client = 0; client < 1000; client++, now += 100 * MSEC)
		for (name[4] = '0'; name[4] <= '9'; name[4]++) {
			if (name_memory_find(&m, name, now, &said))
				continue;
			now += 10 * SEC;
			name_memory_put(&m, name, NAMES_LATER, 10 * SEC, now);
			asked++;
		}
	assert_in_range(asked, 10, 20);
}

/* Asks for N hosts, for each of which is waited ten seconds in vain: how many were; *NOW goes on. */
static unsigned int ask_for(unsigned int n, uint64_t *now)
{
	unsigned int asked = 0;
	char name[16];
	int said;

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "lame%u", i);
		if (name_memory_find(&m, name, *now, &said)) {
			assert_int_equal(said, NAMES_LATER);
			continue;
		}
		*now += 10 * SEC;
		name_memory_put(&m, name, NAMES_LATER, 10 * SEC, *now);
		asked++;
	}
	return asked;
}

/* The clients that come need no end of them: others' names are asked for on the same thread. */
static void test_a_silent_server_has_half_of_the_time(void **state)
{
	uint64_t now = SEC, waited;
	unsigned int asked = ask_for(50, &now);

	assert_in_range(now, SEC + 10 * SEC, SEC + 40 * SEC); /* the first client */
	for (unsigned int client = 1; client < 10000; client++, now += 100 * MSEC)
		asked += ask_for(50, &now);
	waited = asked * 10 * SEC;
	assert_true(asked >= 50);
	assert_true(waited <= now / 2 + 40 * SEC);
}

/* ... and one behind a few that are silent is asked for all the same. */
static void test_a_few_silent_hosts_cost_others_nothing(void **state)
{
	uint64_t now = SEC;
	int said;

	assert_int_equal(ask_for(3, &now), 3);
	assert_false(name_memory_find(&m, "db", now, &said));
	name_memory_put(&m, "gone", 0, 60 * SEC, now); /* an answer, though late */
	assert_false(name_memory_find(&m, "db", now, &said));
	assert_int_equal(ask_for(5, &now), 1);
	assert_true(name_memory_find(&m, "db", now, &said));
	assert_int_equal(said, NAMES_LATER);
	assert_false(name_memory_find(&m, "db", now + 40 * SEC, &said));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_name_is_kept_for_a_while, setup),
		cmocka_unit_test_setup(test_what_was_said_last_counts, setup),
		cmocka_unit_test_setup(test_names_that_meet_are_both_kept, setup),
		cmocka_unit_test_setup(test_who_is_over_first_makes_room, setup),
		cmocka_unit_test_setup(test_who_takes_long_is_kept_for_longer, setup),
		cmocka_unit_test_setup(test_a_silent_server_has_half_of_the_time, setup),
		cmocka_unit_test_setup(test_a_few_silent_hosts_cost_others_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
