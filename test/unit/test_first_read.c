/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a read brings along: small files whole, and never more than the kernel would. */
#include "readahead/first_read.h"

#include "support.h"

static uint64_t length(uint64_t offset, uint64_t len, uint64_t size, uint32_t count)
{
	struct first_read r = {
		.offset = offset, .len = len, .size = size, .window = 128 * KIB, .count = count};

	return first_read_length(&r);
}

static void test_the_first(void **state)
{
	assert_int_equal(length(0, 4 * KIB, MIB, 1), 16 * KIB);
	assert_int_equal(length(0, 8 * KIB, MIB, 1), 16 * KIB);
	assert_int_equal(length(0, 32 * KIB, MIB, 1), 64 * KIB);
	assert_int_equal(length(0, 64 * KIB, MIB, 1), 128 * KIB);
	assert_int_equal(length(0, 128 * KIB, MIB, 1), 128 * KIB);
	assert_int_equal(length(0, MIB, 4 * MIB, 1), MIB);
	assert_int_equal(length(0, 32 * KIB, 40 * KIB, 1), 40 * KIB); /* to its end */
	assert_int_equal(length(0, 32 * KIB, 300, 1), 32 * KIB);
}

static void test_what_goes_on(void **state)
{
	/* 64 and the rest of FIRST_READS, whichever of four comes last, and 16, 32, 64 ... */
	assert_int_equal(length(0, 32 * KIB, MIB, 3), 256 * KIB);
	assert_int_equal(length(32 * KIB, 32 * KIB, MIB, 4), 224 * KIB);
	assert_int_equal(length(64 * KIB, 32 * KIB, MIB, 3), 192 * KIB);
	assert_int_equal(length(16 * KIB, 4 * KIB, MIB, 5), 32 * KIB);
	assert_int_equal(length(48 * KIB, 4 * KIB, MIB, 13), 64 * KIB);
	assert_int_equal(length(112 * KIB, 4 * KIB, MIB, 29), 144 * KIB);
	assert_int_equal(length(128 * KIB, 32 * KIB, MIB, 5), 128 * KIB);
	assert_int_equal(length(256 * KIB, 32 * KIB, MIB, 9), 128 * KIB);
	assert_int_equal(length(64 * KIB, 32 * KIB, 100 * KIB, 3), 36 * KIB);
}

/* The first of the file has not come to the disk yet: those behind it bring that too, as far as they bring FIRST_READS. */
static void test_what_is_missing_before(void **state)
{
	struct first_read r = {
		.offset = 32 * KIB, .len = 32 * KIB, .size = MIB, .window = 128 * KIB, .count = 2};

	assert_int_equal(first_read_before(&r), 0);
	r.missing = true;
	assert_int_equal(first_read_before(&r), 32 * KIB);
	r.offset = 224 * KIB;
	r.count = 8;
	assert_int_equal(first_read_before(&r), 224 * KIB);
	r.offset = 256 * KIB;
	r.count = 9;
	assert_int_equal(first_read_before(&r), 0);
	r.offset = 32 * KIB;
	r.window = 64 * KIB;
	assert_int_equal(first_read_before(&r), 0);
}

/* Of a stream: the kernel's window of by default, however large it was made. */
static void test_a_late_one_of_a_stream(void **state)
{
	struct first_read r = {.offset = 2 * MIB,
			       .len = 32 * KIB,
			       .size = 64 * MIB,
			       .window = 4 * MIB,
			       .count = 65};

	assert_int_equal(first_read_length(&r), 2 * MIB + 128 * KIB);
	r.followed = true;
	assert_int_equal(first_read_length(&r), 128 * KIB);
	r.window = 64 * KIB;
	assert_int_equal(first_read_length(&r), 64 * KIB);
	r.len = MIB;
	r.window = 4 * MIB;
	assert_int_equal(first_read_length(&r), MIB);
}

/* Where a stream begins its READs bring so much of the file in all, each its part of it, and none more. */
static void test_where_a_stream_begins(void **state)
{
	struct first_read r = {.offset = 96 * KIB,
			       .len = 32 * KIB,
			       .size = 64 * MIB,
			       .window = 128 * KIB,
			       .count = 4,
			       .followed = true};

	assert_int_equal(first_read_length(&r), 160 * KIB);
	r.window = 4 * MIB;
	assert_int_equal(first_read_length(&r), 160 * KIB);
	r.offset = 192 * KIB;
	r.count = 7;
	assert_int_equal(first_read_length(&r), 64 * KIB);
	r.offset = 224 * KIB;
	r.count = 8;
	assert_int_equal(first_read_length(&r), 32 * KIB);
	r.offset = 96 * KIB;
	r.count = 4;
	r.window = 64 * KIB; /* where the kernel's is shorter that is all */
	assert_int_equal(first_read_length(&r), 64 * KIB);
	r.window = 4 * MIB;
	r.offset = 32 * KIB;
	r.count = 2;
	assert_int_equal(first_read_length(&r), 160 * KIB);
	r.size = 70000;
	assert_int_equal(first_read_length(&r), 70000 - 32 * KIB);
	r.size = 64 * MIB;
	r.window = 0; /* nothing is to be brought along */
	assert_int_equal(first_read_length(&r), 32 * KIB);
}

/* The first of its file, BYTES before its end. */
static struct first_read before_end(uint64_t bytes)
{
	return (struct first_read){.offset = 10 * MIB - bytes,
				   .len = 4 * KIB,
				   .size = 10 * MIB,
				   .window = 128 * KIB,
				   .ends = true};
}

static void expect_end(const struct first_read *r, uint64_t before, uint64_t length)
{
	assert_true(first_read_is(r));
	assert_int_equal(first_read_before(r), before);
	assert_int_equal(first_read_length(r), length);
}

/* Who begins at a file's end goes on before it: that comes as a whole. */
static void test_the_end(void **state)
{
	struct first_read r = before_end(12 * KIB);

	expect_end(&r, 52 * KIB, 12 * KIB);
	r.seek = MIB;
	expect_end(&r, 52 * KIB, 12 * KIB);
	r.offset = 10 * MIB - 32 * KIB;
	r.len = 32 * KIB;
	expect_end(&r, 32 * KIB, 32 * KIB);
	r.len = 64 * KIB; /* beyond the end */
	expect_end(&r, 32 * KIB, 64 * KIB);
	r.len = 4 * KIB;
	r.size = r.offset + 100;
	expect_end(&r, 64 * KIB - 100, 4 * KIB);
	r.offset = 10000; /* of a small file: all of it */
	r.size = 14096;
	expect_end(&r, 10000, 4096);
}

static void expect_none(const struct first_read *r)
{
	assert_int_equal(first_read_before(r), 0);
	assert_int_equal(first_read_length(r), r->len);
}

static void test_the_end_of_no_use(void **state)
{
	struct first_read r = before_end(68 * KIB);

	expect_none(&r); /* before it */
	r.offset = 10 * MIB;
	expect_none(&r); /* beyond it */
	r.offset = 10 * MIB - 4 * KIB;
	r.ends = false;
	expect_none(&r);
	r.ends = true;
	r.seek = 50000; /* where seeks cost little */
	expect_none(&r);
	r.seek = 0;
	r.window = 0;
	expect_none(&r);
	r.window = 128 * KIB;
	r.len = 128 * KIB;
	expect_none(&r);
}

/* A read somewhere else brings nothing along; nor does any without the kernel's read-ahead. */
static void test_what_does_not(void **state)
{
	struct first_read r = {.len = 8 * KIB, .size = MIB, .window = 0, .count = 1};

	assert_int_equal(length(64 * KIB, 8 * KIB, MIB, 1), 8 * KIB);
	assert_int_equal(length(512 * KIB, 8 * KIB, MIB, 3), 8 * KIB);
	assert_int_equal(length(2 * MIB, 8 * KIB, MIB, 300), 8 * KIB);
	assert_int_equal(first_read_length(&r), 8 * KIB);
}

/* Nor the first of a run elsewhere; but the second one does, as the kernel has it. */
static void test_the_second_of_a_run(void **state)
{
	struct first_read r = {.offset = MIB,
			       .len = 32 * KIB,
			       .size = 64 * MIB,
			       .window = 128 * KIB,
			       .seek = 800 * KIB,
			       .count = 2};

	assert_false(first_read_is(&r));
	r.second = true;
	assert_true(first_read_is(&r));
	assert_int_equal(first_read_length(&r), 64 * KIB);
	assert_int_equal(first_read_before(&r), 0);
	r.comes_to = 2 * MIB; /* that is of who begins with the file */
	assert_int_equal(first_read_length(&r), 64 * KIB);
	r.len = 4 * KIB;
	assert_int_equal(first_read_length(&r), 16 * KIB);
	r.len = 64 * KIB;
	assert_int_equal(first_read_length(&r), 128 * KIB);
	r.len = MIB;
	assert_int_equal(first_read_length(&r), MIB);
	r.len = 32 * KIB;
	r.size = MIB + 40 * KIB;
	assert_int_equal(first_read_length(&r), 40 * KIB);
	r.size = 64 * MIB;
	r.window = 4 * MIB; /* of a large one more, of others' streams no more than by default */
	r.len = 256 * KIB;
	assert_int_equal(first_read_length(&r), 512 * KIB);
	r.followed = true;
	assert_int_equal(first_read_length(&r), 256 * KIB);
	r.window = 0;
	assert_int_equal(first_read_length(&r), 256 * KIB);
	r.window = 128 * KIB;
	r.len = 32 * KIB;
	r.comes_to = 0;
	r.offset = 32 * KIB; /* where the file begins that is known already */
	assert_int_equal(first_read_length(&r), 96 * KIB);
}

/* Who is known to come further has that by the first one, where the disk reads it in the time of a seek. */
static void test_what_its_reader_comes_to(void **state)
{
	struct first_read r = {.len = 32 * KIB,
			       .size = 4 * MIB,
			       .window = 128 * KIB,
			       .seek = 800 * KIB,
			       .comes_to = 512 * KIB,
			       .count = 1};

	assert_int_equal(first_read_length(&r), 512 * KIB);
	r.followed = true;
	assert_int_equal(first_read_length(&r), 512 * KIB);
	r.len = MIB; /* the READ itself is longer */
	assert_int_equal(first_read_length(&r), MIB);
	r.len = 128 * KIB; /* as long as the window */
	assert_int_equal(first_read_length(&r), 512 * KIB);
	r.offset = 96 * KIB; /* the one at the beginning came and went */
	r.len = 32 * KIB;
	r.count = 4;
	assert_int_equal(first_read_length(&r), 416 * KIB);
	r.offset = 0;
	r.comes_to = UINT64_MAX; /* ... or else a stream brings the rest */
	assert_int_equal(first_read_length(&r), FIRST_READS);
	r.seek = 16 * MIB; /* of an array */
	assert_int_equal(first_read_length(&r), FIRST_READS);
	r.seek = r.size = 800 * KIB;
	assert_int_equal(first_read_length(&r), 800 * KIB);
	r.size = 300000;
	assert_int_equal(first_read_length(&r), 300000);
	r.size = 4 * MIB;
	r.seek = 0; /* not known, or it costs nothing */
	assert_int_equal(first_read_length(&r), FIRST_READS);
	r.seek = 10 * KIB;
	assert_int_equal(first_read_length(&r), FIRST_READS);
	r.window = 64 * KIB; /* who wants less than by default gets it */
	assert_int_equal(first_read_length(&r), 64 * KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first),
		cmocka_unit_test(test_what_goes_on),
		cmocka_unit_test(test_what_is_missing_before),
		cmocka_unit_test(test_a_late_one_of_a_stream),
		cmocka_unit_test(test_where_a_stream_begins),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_the_end_of_no_use),
		cmocka_unit_test(test_what_does_not),
		cmocka_unit_test(test_the_second_of_a_run),
		cmocka_unit_test(test_what_its_reader_comes_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
