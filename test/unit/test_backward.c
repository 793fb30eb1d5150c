/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Streams read from the end of their file: what is fetched for them, and that forward ones are not taken
 * for such. */
#include "engine.h"
#include "readahead/way.h"

#define READ (32 * KIB)

/* What was fetched of a file, by READs. */
static uint8_t there[256 * MIB / READ];

/* Carries out PLAN and what follows from it, marking it; returns how many bytes were there already. */
static uint64_t fetch(struct engine *e, struct readahead_plan plan, uint64_t size)
{
	uint64_t twice = 0;

	while (plan.len) {
		uint64_t end = plan.offset + plan.len;

		for (uint64_t at = plan.offset / READ; at < end / READ; at++) {
			twice += there[at] ? READ : 0;
			there[at] = 1;
		}
		plan = engine_carry_out(e, &plan, size);
	}
	return twice;
}

struct outcome {
	uint64_t hits, planned; /* bytes */
};

/* Reads the N blocks of ORDER. */
static struct outcome read_order(struct engine *e, const uint32_t *order, uint32_t n, uint64_t size)
{
	struct outcome o = {0};

	memset(there, 0, sizeof(there));
	for (uint32_t i = 0; i < n; i++) {
		o.hits += there[order[i]] ? READ : 0;
		fetch(e, engine_read(e, 1, (uint64_t)order[i] * READ, READ, size), size);
	}
	for (uint64_t at = 0; at < size / READ; at++)
		o.planned += there[at] ? READ : 0;
	return o;
}

static void backward(uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = n - 1 - i;
}

static void test_all_but_the_first_requests_are_there(void **state)
{
	static uint32_t order[64 * MIB / READ];
	struct engine *e = engine_default("cursor");
	struct outcome o;

	backward(order, 64 * MIB / READ);
	o = read_order(e, order, 64 * MIB / READ, 64 * MIB);
	assert_in_range(o.hits, 64 * MIB - 8 * READ, 64 * MIB);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	assert_true(engine_counted(e, READAHEAD_USED) >= 64 * MIB - 8 * READ);
	engine_check_account(e);
	engine_free(e);
}

/* The reader goes from 48 MiB down to 40: nothing above, and no more below than a window. */
static void test_what_lies_below_and_nothing_above(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, lowest = UINT64_MAX, highest = 0;

	for (uint64_t at = 48 * MIB; at > 40 * MIB; at -= READ) {
		struct readahead_plan p = engine_read(e, 1, at - READ, READ, size);

		for (; p.len; p = engine_start(e, &p, size)) {
			assert_true((p.way == WAY_BACKWARD));
			lowest = p.offset < lowest ? p.offset : lowest;
			highest = p.offset + p.len > highest ? p.offset + p.len : highest;
			readahead_arrived(e->ra, &p, p.offset + p.len, e->now);
		}
	}
	assert_int_equal(highest, 48 * MIB);
	assert_in_range(lowest, 40 * MIB - e->tuning.window_init - e->chunk, 40 * MIB);
	engine_free(e);
}

/* Clipped at the file's beginning, whatever the size; each byte asked for once. */
static void test_ends_at_the_beginning(void **state)
{
	static const uint64_t sizes[] = {5 * READ, 6 * READ, MIB, 9 * MIB + READ, 33 * MIB};
	static uint32_t order[33 * MIB / READ];

	for (int i = 0; i < 5; i++) {
		struct engine *e = engine_default("cursor");
		uint32_t n = (uint32_t)(sizes[i] / READ);
		struct outcome o;

		backward(order, n);
		o = read_order(e, order, n, sizes[i]);
		assert_true(o.planned <= sizes[i]);
		assert_true(o.hits + 8 * READ >= sizes[i]);
		engine_check_account(e);
		engine_free(e);
	}
}

/* A chunk goes from left to right: its right end, which the reader wants first, comes last. */
static void test_resident_when_all_of_it_has_arrived(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, at = size;
	struct readahead_plan p = {.len = 0};

	while (!p.len)
		p = engine_read(e, 1, at -= READ, READ, size);
	engine_start(e, &p, size);
	readahead_arrived(e->ra, &p, p.offset + p.len - READ, e->now);
	assert_false(engine_read(e, 1, at -= READ, READ, size).known_resident);
	readahead_arrived(e->ra, &p, p.offset + p.len, e->now);
	assert_true(engine_read(e, 1, at -= READ, READ, size).known_resident);
	engine_free(e);
}

/* A chunk that failed in the middle is of no use, and its bytes are held no longer. */
static void test_a_chunk_cut_short(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, at = size;
	struct readahead_plan p = {.len = 0};
	struct readahead_stats s;

	while (!p.len)
		p = engine_read(e, 1, at -= READ, READ, size);
	readahead_finished(e->ra, &e->counters, &p, p.offset + p.len / 2, true, true);
	readahead_stats(e->ra, &s);
	assert_int_equal(s.unread, 0);
	engine_check_account(e);
	engine_free(e);
}

/* Requests that servers' threads exchange: pairs of neighbours, and of those two apart. */
static void test_requests_out_of_order(void **state)
{
	static uint32_t order[64 * MIB / READ];
	uint32_t n = 64 * MIB / READ;

	for (uint64_t seed0 = 1; seed0 <= 20; seed0++) {
		struct engine *e = engine_default("cursor");
		uint64_t seed = seed0;
		struct outcome o;

		backward(order, n);
		for (uint32_t i = 0; i + 3 < n; i += 3)
			if (random_below(&seed, 3) == 0) {
				uint32_t j = i + 1 + (uint32_t)random_below(&seed, 2),
					 swap = order[i];

				order[i] = order[j];
				order[j] = swap;
			}
		o = read_order(e, order, n, 64 * MIB);
		if (o.hits < 63 * MIB)
			fail_msg("seed %ju: %ju KiB of 64 MiB were there", (uintmax_t)seed0,
				 (uintmax_t)(o.hits / KIB));
		engine_check_account(e);
		engine_free(e);
	}
}

/* An application's 64 KiB are two requests of a client, which come upwards; the next 64 KiB below. */
static void test_pieces_of_two_requests(void **state)
{
	static uint32_t order[64 * MIB / READ];
	uint32_t n = 64 * MIB / READ;
	struct engine *e = engine_default("cursor");
	struct outcome o;

	for (uint32_t i = 0; i < n; i++)
		order[i] = (n / 2 - 1 - i / 2) * 2 + i % 2;
	o = read_order(e, order, n, 64 * MIB);
	assert_in_range(o.hits, 63 * MIB, 64 * MIB);
	engine_free(e);
}

/* The window doubles when late, as for one that goes forwards; it halves where much was wasted. */
static void test_the_window_is_learnt(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 1024 * MIB);
	uint64_t size = 1024 * MIB, at = size, before, after;
	struct readahead_plan p = {.len = 0};

	while (!p.len)
		p = engine_read(e, 1, at -= READ, READ, size);
	before = engine_fetch(e, p, size);
	readahead_late(e->ra, &e->tuning, &p.cursor);
	after = engine_fetch(e, engine_read(e, 1, at -= READ, READ, size), size);
	assert_in_range(before, 8 * MIB - e->chunk, 8 * MIB + e->chunk);
	assert_in_range(before + after, 16 * MIB - e->chunk, 16 * MIB + e->chunk);
	readahead_lost(e->ra, &e->tuning, &e->counters, &p.cursor, at - READ);
	assert_true(engine_counted(e, READAHEAD_WASTED) > 8 * MIB);
	engine_check_account(e);
	engine_free(e);
}

/* All orders in which four threads can bring the first four of a forward run, in the middle of a file. */
static void test_forward_runs_stay_so(void **state)
{
	static const uint32_t first[24][4] = {
		{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1},
		{1, 0, 2, 3}, {1, 0, 3, 2}, {1, 2, 0, 3}, {1, 2, 3, 0}, {1, 3, 0, 2}, {1, 3, 2, 0},
		{2, 0, 1, 3}, {2, 0, 3, 1}, {2, 1, 0, 3}, {2, 1, 3, 0}, {2, 3, 0, 1}, {2, 3, 1, 0},
		{3, 0, 1, 2}, {3, 0, 2, 1}, {3, 1, 0, 2}, {3, 1, 2, 0}, {3, 2, 0, 1}, {3, 2, 1, 0},
	};
	uint64_t size = 256 * MIB;

	for (int i = 0; i < 24; i++) {
		struct engine *e = engine_default("cursor");
		uint64_t planned = 0;

		for (uint64_t k = 0; k < 8; k++) {
			uint64_t at = k < 4 ? first[i][k] : k;
			struct readahead_plan p =
				engine_read(e, 1, 16 * MIB + at * READ, READ, size);

			assert_false((p.way == WAY_BACKWARD));
			planned += p.len;
		}
		assert_true(planned >= e->chunk);
		engine_free(e);
	}
}

/* Forwards again over what was read backward, and backward over what was read forwards. */
static void test_there_and_back(void **state)
{
	static uint32_t order[2 * 32 * MIB / READ];
	uint32_t n = 32 * MIB / READ;

	for (int way = 0; way < 2; way++) {
		struct engine *e = engine_default("cursor");
		uint64_t missed = 0;

		backward(order, n);
		for (uint32_t i = 0; i < n; i++)
			order[n + i] = i;
		for (uint32_t i = 0; i < 2 * n; i++) {
			uint64_t at = way ? order[2 * n - 1 - i] : order[i];
			struct readahead_plan p = engine_read(e, 1, at * READ, READ, 32 * MIB);

			missed += !p.known_resident;
			fetch(e, p, 32 * MIB);
		}
		assert_true(missed <= 40);
		engine_check_account(e);
		engine_free(e);
	}
}

/* Blocks in random order, also of a small file, are not taken for streams. */
static void test_random_reads(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct engine *e = engine_default("cursor");
		uint64_t state_ = seed, planned = 0, size = 16 * MIB;

		for (int i = 0; i < 4000; i++) {
			uint64_t at = random_below(&state_, size / (8 * KIB)) * 8 * KIB;
			struct readahead_plan p = engine_read(e, 1, at, 8 * KIB, size);

			planned += (p.way == WAY_BACKWARD) ? p.len : 0;
			engine_fetch(e, p, size);
		}
		assert_int_equal(planned, 0);
		engine_free(e);
	}
}

static void test_only_where_the_rules_say_so(void **state)
{
	for (unsigned int r = 0; rules_nth(r); r++) {
		struct engine *e = engine_default("cursor");
		uint64_t at = 64 * MIB;
		bool any = false;

		e->tuning.rules = rules_nth(r);
		for (int i = 0; i < 100; i++)
			any |= engine_read(e, 1, at -= READ, READ, 64 * MIB).way == WAY_BACKWARD;
		assert_int_equal(any, rules_nth(r)->backward);
		engine_free(e);
	}
}

/* Many at once in one file, some of them forwards. */
static void test_many_in_one_file(void **state)
{
	struct engine *e = engine_make("cursor", 16, 4096, 1024 * MIB);
	uint64_t size = 1024 * MIB, part = MIB, hits = 0;

	e->chunk = e->tuning.window_init = 256 * KIB;
	for (uint64_t i = 0; i < part / READ; i++)
		for (uint64_t k = 0; k < 1000; k++) {
			uint64_t at = k % 3 ? i : part / READ - 1 - i;
			struct readahead_plan p =
				engine_read(e, 1, k * part + at * READ, READ, size);

			hits += p.known_resident;
			engine_fetch(e, p, size);
		}
	assert_true(hits >= 1000 * (part / READ - 10));
	engine_check_account(e);
	engine_free(e);
}

/* The lengths of the first N chunks of a backward reader, where so many streams compete. */
static void first_chunks(uint64_t *lengths, int n, uint32_t streams)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 128 * MIB;
	int k = 0;

	e->streams = streams;
	e->reader = 1;
	for (uint64_t at = size; at > 0 && k < n; at -= READ) {
		struct readahead_plan p = engine_read(e, 1, at - READ, READ, size);

		for (; p.len && k < n; p = engine_start(e, &p, size)) {
			lengths[k++] = p.len;
			readahead_arrived(e->ra, &p, p.offset + p.len, e->now);
		}
	}
	assert_int_equal(k, n);
	engine_free(e);
}

/* He waits for his first chunk as a whole; that is short where nobody else pays for the seeks, and the next ones come in time. */
static void test_the_first_chunks_of_who_is_alone_grow(void **state)
{
	uint64_t alone[12], among[12];

	first_chunks(alone, 12, 1);
	first_chunks(among, 12, 2);
	assert_in_range(alone[0], 4 * MIB / 3 - READ, 4 * MIB / 3 + 8 * READ);
	for (int i = 1; i < 12; i++)
		assert_true(alone[i] >= alone[i - 1] && 2 * alone[i] <= 3 * alone[i - 1]);
	assert_int_equal(alone[11], 4 * MIB);
	for (int i = 0; i < 12; i++)
		assert_int_equal(among[i], 4 * MIB);
}

/* READs of LEN, chunks of CHUNK: what is found in memory, in READs. */
static unsigned int found(uint32_t streams, uint64_t chunk, uint64_t len)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 128 * MIB;
	unsigned int hits = 0;

	e->streams = streams;
	e->reader = 1;
	e->chunk = chunk;
	memset(there, 0, sizeof(there));
	for (uint64_t at = size; at > 0; at -= len) {
		hits += there[(at - len) / READ];
		fetch(e, engine_read(e, 1, at - len, (uint32_t)len, size), size);
	}
	engine_free(e);
	return hits;
}

/* Who asks for much at once has as much fetched ahead alone as among others: the short chunk is longer than that. */
static void test_large_requests(void **state)
{
	for (uint64_t chunk = 512 * KIB; chunk <= 16 * MIB; chunk *= 2)
		for (uint64_t len = 64 * KIB; len <= 4 * MIB; len *= 2)
			assert_true(found(1, chunk, len) + 1 >= found(2, chunk, len));
}

/* While its reader has his last chunk to read, which he begins when all of it is there, the disk stands still. */
static void test_the_last_chunk_is_short(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, last = 0, longest = 0;

	for (uint64_t at = size; at > 0; at -= READ) {
		struct readahead_plan p = engine_read(e, 1, at - READ, READ, size);

		for (; p.len; p = engine_start(e, &p, size)) {
			last = p.len;
			longest = p.len > longest ? p.len : longest;
			readahead_arrived(e->ra, &p, p.offset + p.len, e->now);
		}
	}
	assert_in_range(last, 1, e->chunk / 8);
	assert_in_range(longest, e->chunk, e->chunk * 3 / 2);
	engine_check_account(e);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_but_the_first_requests_are_there),
		cmocka_unit_test(test_what_lies_below_and_nothing_above),
		cmocka_unit_test(test_ends_at_the_beginning),
		cmocka_unit_test(test_resident_when_all_of_it_has_arrived),
		cmocka_unit_test(test_a_chunk_cut_short),
		cmocka_unit_test(test_requests_out_of_order),
		cmocka_unit_test(test_pieces_of_two_requests),
		cmocka_unit_test(test_the_window_is_learnt),
		cmocka_unit_test(test_forward_runs_stay_so),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_random_reads),
		cmocka_unit_test(test_only_where_the_rules_say_so),
		cmocka_unit_test(test_many_in_one_file),
		cmocka_unit_test(test_the_first_chunks_of_who_is_alone_grow),
		cmocka_unit_test(test_large_requests),
		cmocka_unit_test(test_the_last_chunk_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
