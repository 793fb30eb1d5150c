/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who begins with files: up to where they are worth bringing at once. */
#include "engine.h"

#include "readahead/file_begin.h"

#define READ (32 * KIB)
#define SIZE (4 * MIB)

/* What the first READ of file N, of SIZE bytes, says of it; which is then read up to UPTO. */
static uint64_t begins(struct engine *e, uint64_t n, uint64_t size, uint64_t upto)
{
	uint64_t says = engine_read(e, n, 0, READ, size).comes_to;

	for (uint64_t at = READ; at < upto; at += READ)
		engine_read(e, n, at, READ, size);
	return says;
}

/* ... of FILES of them, the first one N: what that of the last one says. */
static uint64_t begin_all(struct engine *e, uint64_t n, int files, uint64_t size, uint64_t upto)
{
	uint64_t says = 0;

	for (int i = 0; i < files; i++)
		says = begins(e, n + (uint64_t)i, size, upto);
	return says;
}

static struct engine *engine_of(uint32_t reader)
{
	struct engine *e = engine_default("cursor");

	e->reader = reader;
	return e;
}

static void test_marks(void **state)
{
	assert_int_equal(file_mark(0), 128 * KIB);
	assert_int_equal(file_mark(1), 192 * KIB);
	assert_int_equal(file_mark(2), 256 * KIB);
	assert_int_equal(file_mark(FILE_MARKS - 1), MIB);
	assert_int_equal(FILE_MARK_LAST, MIB);
}

/* After a few files it is known, and not before. */
static void test_the_first_part(void **state)
{
	struct engine *e = engine_of(1);

	assert_int_equal(begin_all(e, 0, 7, SIZE, 256 * KIB), 0);
	assert_int_equal(begin_all(e, 100, 20, SIZE, 256 * KIB), 256 * KIB);
	assert_int_equal(begin_all(e, 200, 100, SIZE, 224 * KIB), 192 * KIB);
	assert_int_equal(begin_all(e, 400, 100, SIZE, SIZE), UINT64_MAX);
	engine_free(e);
}

/* Up to there his READs bring it by themselves, and nothing is fetched behind it; of who comes further it is. */
static void test_nothing_behind_it(void **state)
{
	struct engine *e = engine_of(1);
	uint64_t behind;

	e->brings = true;
	begin_all(e, 0, 20, SIZE, 256 * KIB);
	e->counters = (struct readahead_counters){0};
	begin_all(e, 100, 20, SIZE, 256 * KIB);
	assert_int_equal(readahead_counted(&e->counters, READAHEAD_CHUNKS), 0);
	engine_read(e, 100, 256 * KIB, READ, SIZE);
	engine_read(e, 100, 256 * KIB + READ, READ, SIZE);
	assert_int_equal(readahead_counted(&e->counters, READAHEAD_CHUNKS), 1);
	begin_all(e, 200, 100, SIZE, 512 * KIB);
	behind = readahead_counted(&e->counters, READAHEAD_CHUNKS);
	begin_all(e, 400, 10, SIZE, 512 * KIB);
	assert_true(readahead_counted(&e->counters, READAHEAD_CHUNKS) >= behind + 10);
	engine_free(e);
}

/* Only where it begins, and only up to there. */
static void test_where(void **state)
{
	struct engine *e = engine_of(1);

	begin_all(e, 0, 20, SIZE, 256 * KIB);
	engine_read(e, 100, 0, READ, SIZE);
	assert_int_equal(engine_read(e, 100, READ, READ, SIZE).comes_to, 256 * KIB);
	assert_int_equal(engine_read(e, 101, MIB, READ, SIZE).comes_to, 0);
	begins(e, 102, SIZE, 256 * KIB);
	assert_int_equal(engine_read(e, 102, 256 * KIB, READ, SIZE).comes_to, 0);
	engine_free(e);
}

/* Who reads the first bytes only, or comes from file to file as far as that every other time. */
static void test_who_does_not(void **state)
{
	struct engine *e = engine_of(1);

	assert_int_equal(begin_all(e, 0, 200, SIZE, READ), 0);
	for (uint64_t n = 1000; n < 1200; n++)
		assert_int_equal(begins(e, n, SIZE, n % 2 ? MIB : READ), 0);
	engine_free(e);
}

static void test_who_changes(void **state)
{
	struct engine *e = engine_of(1);
	int still = 0;

	begin_all(e, 0, 200, SIZE, MIB);
	for (uint64_t n = 1000; n < 1100; n++)
		still += begins(e, n, SIZE, READ) != 0;
	assert_in_range(still, 1, 24);
	engine_free(e);
}

/* What the first READ brings whole anyway says nothing of longer ones; who came to an end would have gone on. */
static void test_whole_files(void **state)
{
	struct engine *e = engine_of(1);

	begin_all(e, 0, 100, 100 * KIB, 100 * KIB);
	assert_int_equal(begins(e, 200, SIZE, READ), 0);
	assert_int_equal(begin_all(e, 300, 20, 150 * KIB, 160 * KIB), UINT64_MAX);
	engine_free(e);
}

/* The same file again says nothing new, and others' are theirs. */
static void test_whose(void **state)
{
	struct engine *e = engine_of(1);

	for (int i = 0; i < 100; i++)
		engine_read(e, 1, 0, READ, SIZE);
	begin_all(e, 2, 20, SIZE, 256 * KIB);
	assert_int_equal(begins(e, 100, SIZE, READ), 256 * KIB);
	e->reader = 2;
	assert_int_equal(begins(e, 101, SIZE, READ), 0);
	e->reader = 0; /* nobody */
	assert_int_equal(begin_all(e, 200, 20, SIZE, 256 * KIB), 0);
	engine_free(e);
}

/* Of a file that is in memory as a whole the READs are not told: it says nothing. */
static void test_unseen(void **state)
{
	struct engine *e = engine_of(1);

	begin_all(e, 0, 40, MIB, MIB);
	for (uint64_t n = 100; n < 300; n++) {
		assert_int_equal(begins(e, n, MIB, 512 * KIB), UINT64_MAX);
		readahead_unseen(e->ra, &n, sizeof(n), e->now);
	}
	engine_free(e);
}

/* The same files are read another way, much later. */
static void test_again_another_way(void **state)
{
	struct engine *e = engine_of(1);

	begin_all(e, 0, 40, SIZE, MIB);
	e->now += 3600 * SEC;
	assert_int_equal(begin_all(e, 0, 40, SIZE, READ), 0);
	begin_all(e, 1000, 40, SIZE, MIB);
	e->now += 3600 * SEC;
	for (int hour = 0; hour < 100; hour++) { /* of one of them he polls the header */
		begins(e, 1000, SIZE, READ);
		e->now += 3600 * SEC;
	}
	assert_int_equal(begins(e, 2000, SIZE, READ), UINT64_MAX);
	engine_free(e);
}

/* Who reads the same files as another, right behind him, finds them in memory. */
static void test_others_of_the_same_files(void **state)
{
	struct engine *e = engine_of(1);

	begin_all(e, 0, 20, SIZE, 256 * KIB);
	for (int i = 0; i < 60; i++) {
		e->reader = 1 + (uint32_t)i % 2;
		begins(e, 500, SIZE, READ);
	}
	e->reader = 1;
	assert_int_equal(begins(e, 501, SIZE, READ), 256 * KIB);
	engine_free(e);
}

/* Its number is another one's. */
static void test_forgotten(void **state)
{
	struct file_begins b = {0};

	for (int i = 0; i < FILE_MARKS; i++)
		b.of[7].came[i] = 9;
	b.of[7].begun = 9;
	file_begins_forget(&b, 7);
	assert_int_equal(b.of[7].begun, 0);
	assert_int_equal(b.of[7].came[FILE_MARKS - 1], 0);
}

/* The paper's rules know of none of it. */
static void test_paper(void **state)
{
	struct engine *e = engine_of(1);

	e->tuning.rules = &rules_paper;
	assert_int_equal(begin_all(e, 0, 50, SIZE, MIB), 0);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_the_first_part),
		cmocka_unit_test(test_nothing_behind_it),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_who_does_not),
		cmocka_unit_test(test_who_changes),
		cmocka_unit_test(test_whole_files),
		cmocka_unit_test(test_whose),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_paper),
		cmocka_unit_test(test_again_another_way),
		cmocka_unit_test(test_others_of_the_same_files),
		cmocka_unit_test(test_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
