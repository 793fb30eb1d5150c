/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When the first chunk of a run comes, and how much: where nothing seeks, and in the end of a file. */
#include "engine.h"
#include "readahead/first_read.h"
#include "readahead/way.h"

#define READ (32 * KIB)
#define SIZE (64 * MIB)

static struct engine *engine_of_flash(void)
{
	struct engine *e = engine_default("cursor");

	e->reader = 1;
	e->direct = e->brings = true;
	e->seek = 64 * KIB;
	e->chunk = MIB;
	return e;
}

/* Where the reader of FILE is who begins at FROM when something is fetched for him for the first time; UINT64_MAX: nowhere. */
static uint64_t first_at(struct engine *e, uint64_t file, uint64_t from)
{
	for (uint64_t at = from; at + READ <= from + 2 * MIB; at += READ)
		if (engine_read(e, file, at, READ, SIZE).len)
			return at - from;
	return UINT64_MAX;
}

/* FILE is read from FROM on, LEN bytes of it by READs; all that is planned is fetched. Returns how much that is. */
static uint64_t read_some(struct engine *e, uint64_t file, uint64_t from, uint64_t len)
{
	uint64_t fetched = 0;

	for (uint64_t at = from; at < from + len; at += READ) {
		fetched += engine_fetch(e, engine_read(e, file, at, READ, SIZE), SIZE);
		e->now += MSEC;
	}
	return fetched;
}

static void test_the_kernel_begins_where_nothing_seeks(void **state)
{
	struct engine *e = engine_of_flash();

	assert_in_range(first_at(e, 1, 0), 512 * KIB - READ, 512 * KIB);
	assert_in_range(first_at(e, 2, 8 * MIB), 512 * KIB - READ, 512 * KIB);
	e->direct = false;
	assert_in_range(first_at(e, 3, 0), 0, 256 * KIB);
	engine_free(e);
}

/* Previews cost what they cost without us. */
static void test_beginnings_bring_nothing_where_nothing_seeks(void **state)
{
	struct engine *e = engine_of_flash();

	for (uint64_t n = 0; n < 100; n++)
		assert_int_equal(read_some(e, n, 0, 256 * KIB), 0);
	engine_free(e);
}

/* Who reads on is known by it: then the kernel need not begin. */
static void test_who_reads_on_has_it_at_once(void **state)
{
	struct engine *e = engine_of_flash();

	for (uint64_t n = 0; n < 10; n++) {
		read_some(e, n, 0, 16 * MIB);
		e->now += SEC;
	}
	assert_in_range(first_at(e, 100, 0), 0, 256 * KIB);
	engine_free(e);
}

/* Of several in a file the kernel's read-ahead does not keep apart. */
static void test_several_in_a_file_do_not_wait(void **state)
{
	struct engine *e = engine_of_flash();
	uint64_t at = 0;

	for (; at < 512 * KIB; at += READ) {
		bool any = engine_read(e, 1, at, READ, SIZE).len;

		if (any || engine_read(e, 1, 32 * MIB + at, READ, SIZE).len)
			break;
	}
	assert_in_range(at, 0, 256 * KIB);
	engine_free(e);
}

/* From the end of FILE on LEN bytes are read backward, and what is planned fetched at once. Returns how much that is. */
static uint64_t read_back(struct engine *e, uint64_t file, uint64_t len, uint32_t each)
{
	uint64_t fetched = 0;

	for (uint64_t at = SIZE - each; at + len >= SIZE; at -= each)
		fetched += engine_fetch(e, engine_read(e, file, at, each, SIZE), SIZE);
	return fetched;
}

static void test_backward_chunks_grow_where_nothing_seeks(void **state)
{
	struct engine *e = engine_of_flash();

	assert_in_range(read_back(e, 1, 64 * KIB, 4 * KIB), 32 * KIB, 192 * KIB);
	assert_in_range(read_back(e, 2, 32 * MIB, READ), 32 * MIB - 512 * KIB, 48 * MIB);
	engine_free(e);
}

/* What the first one brings lies ahead of him, however long his requests are. */
static void test_the_first_backward_chunk_is_ahead(void **state)
{
	static const uint32_t each[] = {16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB};
	static const uint64_t size[] = {SIZE, SIZE + 20000};

	for (int i = 0; i < 8; i++) {
		struct engine *e = engine_of_flash();
		struct readahead_plan p = {0};
		uint64_t at = size[i % 2];
		int n = 0;

		while (!p.len && n < 8) {
			at -= each[i / 2];
			p = engine_read(e, 1, at, each[i / 2], size[i % 2]);
			n++;
		}
		assert_in_range(n, 4, 6);
		assert_true(p.offset + 4 * each[i / 2] <= at + 64 * KIB ||
			    at - p.offset >= 320 * KIB);
		engine_free(e);
	}
}

/* What the first READ brought of a file's end is not fetched behind it: who reads no more costs a seek less. */
static void test_nothing_is_fetched_behind_an_end(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan p = {0};
	uint64_t at;

	e->reader = 1;
	e->seek = MIB;
	e->tail = LAST_READ;
	assert_int_equal(read_back(e, 1, LAST_READ, 4 * KIB), 0);
	for (at = SIZE - LAST_READ; !p.len && at > SIZE / 2; at -= 4 * KIB)
		p = engine_read(e, 1, at - 4 * KIB, 4 * KIB, SIZE);
	assert_int_equal(at, SIZE - LAST_READ - 4 * KIB); /* at once, of who goes on */
	assert_int_equal(p.way, WAY_BACKWARD);
	e->tail = 0; /* where it brings no more than it asks for, all is as in the middle */
	assert_in_range(read_back(e, 2, LAST_READ, 4 * KIB), 512 * KIB, SIZE);
	engine_free(e);
}

/* Of one of eight streams whose first chunk was cut to what his first READs bring, which is there; he has asked for all of it. */
static struct engine *engine_of_beginning(void)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan p = {0};
	uint64_t at = 0;

	e->reader = 1;
	e->streams = 8;
	e->seek = MIB;
	e->chunk = 12 * MIB;
	for (; !p.len && at < MIB; at += READ)
		p = engine_read(e, 1, at, READ, 8 * MIB);
	assert_true(p.young && p.offset < FIRST_READS && p.offset + p.len > FIRST_READS);
	readahead_shorten(e->ra, &e->counters, &p, FIRST_READS - p.offset);
	assert_int_equal(engine_carry_out(e, &p, 8 * MIB).len, 0);
	for (; at < FIRST_READS; at += READ)
		assert_int_equal(engine_read(e, 1, at, READ, 8 * MIB).len, 0);
	return e;
}

/* Where he stops there, nothing else is fetched for him; who reads on has a chunk. */
static void test_a_beginning_may_be_all(void **state)
{
	struct engine *e = engine_of_beginning();
	struct readahead_plan p = engine_read(e, 1, FIRST_READS, READ, 8 * MIB);

	assert_true(p.offset <= FIRST_READS + READ && p.offset + p.len > FIRST_READS + MIB);
	engine_free(e);
}

/* Who reads on, two of whose requests change places there, misses none of what he asks for. */
static void test_behind_a_beginning_requests_change_places(void **state)
{
	struct engine *e = engine_of_beginning();
	struct readahead_plan p = engine_read(e, 1, FIRST_READS + READ, READ, 8 * MIB);

	assert_int_equal(p.offset, FIRST_READS);
	assert_true(p.len > MIB);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_begins_where_nothing_seeks),
		cmocka_unit_test(test_beginnings_bring_nothing_where_nothing_seeks),
		cmocka_unit_test(test_who_reads_on_has_it_at_once),
		cmocka_unit_test(test_several_in_a_file_do_not_wait),
		cmocka_unit_test(test_backward_chunks_grow_where_nothing_seeks),
		cmocka_unit_test(test_the_first_backward_chunk_is_ahead),
		cmocka_unit_test(test_nothing_is_fetched_behind_an_end),
		cmocka_unit_test(test_a_beginning_may_be_all),
		cmocka_unit_test(test_behind_a_beginning_requests_change_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
