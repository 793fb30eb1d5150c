/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who begins with files at their end: when that is worth bringing as a whole. */
#include "engine.h"
#include "readahead/first_read.h"

#define READ (4 * KIB)
#define SIZE (4 * MIB)

/* The plan says so of the first READ of file N, BACK bytes before the end; after which MORE come, downwards. */
static bool ends(struct engine *e, uint64_t n, uint64_t back, int more)
{
	struct readahead_plan p = engine_read(e, n, SIZE - back, READ, SIZE);
	bool first = p.ends;

	for (int i = 1; i <= more; i++) {
		p = engine_read(e, n, SIZE - back - (uint64_t)i * READ, READ, SIZE);
		assert_false(p.ends);
	}
	return first;
}

static struct engine *engine_of(uint32_t reader)
{
	struct engine *e = engine_default("cursor");

	e->reader = reader;
	return e;
}

static void test_where(void **state)
{
	struct engine *e = engine_of(1);

	assert_true(ends(e, 1, READ, 0));
	assert_true(ends(e, 2, LAST_READ, 0));
	assert_false(ends(e, 3, LAST_READ + READ, 20)); /* before it, and into it */
	assert_false(engine_read(e, 4, SIZE, READ, SIZE).ends);
	assert_false(engine_read(e, 5, SIZE + READ, READ, SIZE).ends);
	assert_false(engine_read(e, 6, 0, READ, READ).ends); /* its beginning, too */
	engine_free(e);
}

/* Who goes on has it always; who does not is found out after a few files, and again after some in which he did. */
static void test_who_goes_on(void **state)
{
	struct engine *e = engine_of(1);
	uint64_t n = 0, brought = 0;

	for (; n < 200; n++)
		assert_true(ends(e, n, READ, 1));
	for (; n < 400; n++)
		brought += ends(e, n, READ, 0);
	assert_in_range(brought, 1, 160);
	assert_false(ends(e, n++, READ, 0));
	for (int i = 0; i < 8; i++)
		ends(e, n++, READ, 1);
	assert_true(ends(e, n++, READ, 1));
	engine_free(e);
}

static void test_who_does_not(void **state)
{
	struct engine *e = engine_of(1);
	int brought = 0;

	for (uint64_t n = 0; n < 1000; n++)
		brought += ends(e, n, READ, 0);
	assert_in_range(brought, 1, 8);
	for (uint64_t n = 1000; n < 2000; n++) /* one in ten, which is worth it */
		brought += ends(e, n, READ, n % 10 == 0);
	assert_in_range(brought, 800, 1008);
	engine_free(e);
}

/* Two who look at the last bytes of the same files are two who go on nowhere. */
static void test_two_of_the_same_files(void **state)
{
	struct engine *e = engine_of(1);
	int brought = 0;

	for (uint64_t n = 0; n < 1000; n++) {
		e->reader = 1 + n % 2;
		brought += ends(e, n, READ, 0);
		e->reader = 2 - n % 2;
		assert_false(ends(e, n, READ, 0));
	}
	assert_in_range(brought, 1, 16);
	engine_free(e);
}

/* One that was told to come again is still the first. */
static void test_the_same_again(void **state)
{
	struct engine *e = engine_of(1);
	int brought = 0;

	for (uint64_t n = 0; n < 1000; n++) {
		bool first = ends(e, n, READ, 0);

		assert_int_equal(ends(e, n, READ, 0), first);
		brought += first;
	}
	assert_in_range(brought, 1, 8);
	engine_free(e);
}

/* Whoever else reads the file in between: he goes on. */
static void test_others_in_between(void **state)
{
	struct engine *e = engine_of(1);

	for (uint64_t n = 0; n < 100; n++) {
		assert_true(ends(e, n, READ, 0));
		e->reader = 2;
		for (int i = 0; i < 5; i++)
			engine_read(e, n, (uint64_t)i * READ, READ, SIZE);
		e->reader = 1;
		assert_false(engine_read(e, n, SIZE - 3 * READ, READ, SIZE).ends);
	}
	engine_free(e);
}

/* Of who is new what others did is known. */
static void test_a_stranger(void **state)
{
	struct engine *e = engine_of(1);

	for (uint64_t n = 0; n < 40; n++)
		ends(e, n, READ, 0);
	e->reader = 2;
	assert_false(ends(e, 100, READ, 1));
	assert_true(ends(e, 101, READ, 1));
	e->reader = 0;
	assert_false(ends(e, 102, READ, 0));
	engine_free(e);
}

/* A file that was left alone may have left memory: who comes then begins with it, and is counted. */
static void test_after_a_pause(void **state)
{
	struct engine *e = engine_of(1);
	int brought = 0;

	assert_true(ends(e, 1, READ, 100));
	e->now += SEC;
	assert_false(ends(e, 1, READ, 0));
	for (int i = 0; i < 100; i++) {
		e->now += 60 * SEC;
		assert_true(ends(e, 1, READ, 1));
	}
	for (uint64_t n = 2; n < 1000; n++)
		engine_read(e, n, 0, READ, SIZE);
	e->now += 60 * SEC;
	for (uint64_t n = 2; n < 1000; n++)
		brought += ends(e, n, READ, 0);
	assert_in_range(brought, 1, 160);
	engine_free(e);
}

/* One whose archives have their ends brought still, and a newcomer's too. */
static void check_trusted(struct engine *e, uint64_t n)
{
	assert_true(ends(e, n, READ, 1));
	e->reader = 2;
	assert_true(ends(e, n + 1, READ, 1));
	engine_free(e);
}

/* Who looks for new lines of a file each minute, and reads its last bytes, which are all new or not, goes on in no file once. */
static void test_who_polls_one_file(void **state)
{
	static const uint64_t grows[] = {0, 100, READ, 10 * READ};

	for (int i = 0; i < 4; i++) {
		struct engine *e = engine_of(1);
		uint64_t size = SIZE;

		for (int n = 0; n < 100; n++, e->now += 60 * SEC, size += grows[i])
			engine_read(e, 1, size - READ, READ, size);
		check_trusted(e, 2);
	}
}

/* A player that was stopped before the end of each of its films goes on with a stream, and does not begin with a file. */
static void test_a_stream_goes_on_after_a_pause(void **state)
{
	struct engine *e = engine_of(1);

	for (uint64_t n = 0; n < 100; n++) {
		for (uint64_t at = 0; at < SIZE - LAST_READ; at += LAST_READ)
			engine_read(e, n, at, LAST_READ, SIZE);
		e->now += 11 * SEC;
		assert_false(engine_read(e, n, SIZE - LAST_READ, LAST_READ, SIZE).ends);
	}
	check_trusted(e, 100);
}

/* Another's stream that stopped there says nothing of who comes; nor what was read behind the first READ, to where that was. */
static void test_where_a_stream_stopped(void **state)
{
	struct engine *e = engine_of(1);

	for (int i = 0; i < 3; i++, e->now += 60 * SEC) {
		assert_true(ends(e, 1, READ, 0));
		for (uint64_t at = SIZE / 2; at < SIZE - READ; at += READ)
			assert_false(engine_read(e, 1, at, READ, SIZE).ends);
	}
	for (uint64_t at = SIZE / 2; at < SIZE - READ; at += READ)
		engine_read(e, 2, at, READ, SIZE);
	e->now += 60 * SEC;
	e->reader = 2;
	assert_true(ends(e, 2, READ, 0));
	engine_free(e);
}

static void test_the_papers_rules_bring_none(void **state)
{
	struct engine *e = engine_of(1);

	e->tuning.rules = &rules_paper;
	assert_false(ends(e, 1, READ, 3));
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_who_goes_on),
		cmocka_unit_test(test_who_does_not),
		cmocka_unit_test(test_two_of_the_same_files),
		cmocka_unit_test(test_the_same_again),
		cmocka_unit_test(test_others_in_between),
		cmocka_unit_test(test_a_stranger),
		cmocka_unit_test(test_after_a_pause),
		cmocka_unit_test(test_who_polls_one_file),
		cmocka_unit_test(test_a_stream_goes_on_after_a_pause),
		cmocka_unit_test(test_where_a_stream_stopped),
		cmocka_unit_test(test_the_papers_rules_bring_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
