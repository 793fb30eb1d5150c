/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pure parts of nfsbench: orders are permutations, percentiles are right, content differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "blocks.h"
#include "content.h"
#include "latency.h"
#include "pace.h"
#include "pattern.h"
#include "pieces.h"
#include "steady.h"
#include "turns.h"

#define MANY 5000

static void assert_distinct(const uint32_t *order, uint32_t count, uint32_t blocks)
{
	uint8_t *seen = calloc(blocks, 1);

	assert_non_null(seen);
	for (uint32_t i = 0; i < count; i++) {
		assert_in_range(order[i], 0, blocks - 1);
		assert_false(seen[order[i]]);
		seen[order[i]] = 1;
	}
	free(seen);
}

static void test_sequential_wraps(void **state)
{
	uint32_t order[5];
	const uint32_t want[5] = {3, 4, 0, 1, 2};

	pattern_sequential(order, 5, 3);
	assert_memory_equal(order, want, sizeof(want));
}

static void test_stride_is_the_papers(void **state)
{
	uint32_t order[8];
	const uint32_t two[8] = {0, 4, 1, 5, 2, 6, 3, 7};
	const uint32_t four[8] = {0, 2, 4, 6, 1, 3, 5, 7};

	pattern_stride(order, 8, 2);
	assert_memory_equal(order, two, sizeof(two));
	pattern_stride(order, 8, 4);
	assert_memory_equal(order, four, sizeof(four));
}

static void test_stride_permutes(void **state)
{
	static uint32_t order[MANY];

	for (uint32_t blocks = 1; blocks < 70; blocks++) {
		for (uint32_t stride = 1; stride <= blocks; stride++) {
			pattern_stride(order, blocks, stride);
			assert_distinct(order, blocks, blocks);
		}
	}
}

static void test_backward_and_records(void **state)
{
	uint32_t order[8];
	const uint32_t backward[5] = {4, 3, 2, 1, 0}, records[5] = {0, 1, 3, 4, 6};
	const uint32_t from_end[4] = {3, 4, 0, 1};

	pattern_backward(order, 5);
	assert_memory_equal(order, backward, sizeof(backward));
	assert_int_equal(pattern_records(order, 7, 2, 3), 5);
	assert_memory_equal(order, records, sizeof(records));
	pattern_groups_from_end(order, 4, 2);
	assert_memory_equal(order, from_end, sizeof(from_end));
}

/* Two by two tiles of two by two blocks; three columns and rows in tiles of one are the same. */
static void test_tiles_are_visited_in_turn(void **state)
{
	uint32_t order[16];
	const uint32_t want[16] = {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15};

	assert_int_equal(pattern_tiles(order, 16, 4, 2), 16);
	assert_memory_equal(order, want, sizeof(want));
	assert_int_equal(pattern_tiles(order, 9, 3, 3), 9);
	assert_distinct(order, 9, 9);
}

/* The readers' parts are all of the file together, whatever the numbers. */
static void test_cursors_are_divided_among_readers(void **state)
{
	static uint32_t order[MANY];
	const uint32_t second[4] = {4, 6, 5, 7};

	assert_int_equal(pattern_cursors(order, 8, 4, 1, 2), 4);
	assert_memory_equal(order, second, sizeof(second));
	for (uint32_t readers = 1; readers <= 7; readers++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < readers; i++)
			n += pattern_cursors(order + n, 61, 13, i, readers);
		assert_int_equal(n, 61);
		assert_distinct(order, 61, 61);
	}
}

static void test_reorder(void **state)
{
	static uint32_t order[MANY];
	struct prng prng;

	for (uint32_t percent = 0; percent <= 50; percent += 10) {
		uint32_t displaced = 0, reported;

		prng_init(&prng, percent);
		reported = pattern_reorder(order, MANY, percent, 4, &prng);
		assert_distinct(order, MANY, MANY);
		for (uint32_t i = 0; i < MANY; i++) {
			displaced += order[i] != i;
			assert_true(abs((int)order[i] - (int)i) <= 4);
		}
		assert_int_equal(displaced, reported);
		assert_int_equal(displaced, MANY * percent / 100 / 2 * 2);
	}
}

static void test_reorder_small(void **state)
{
	uint32_t order[2];
	struct prng prng;

	prng_init(&prng, 1);
	assert_int_equal(pattern_reorder(order, 1, 100, 4, &prng), 0);
	assert_int_equal(order[0], 0);
	pattern_reorder(order, 2, 100, 1000, &prng);
	assert_distinct(order, 2, 2);
}

static void test_random(void **state)
{
	static uint32_t order[MANY], again[MANY];
	struct prng prng;
	uint32_t in_place = 0;

	prng_init(&prng, 7);
	assert_int_equal(pattern_random(order, MANY, MANY, &prng), 0);
	assert_distinct(order, MANY, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		in_place += order[i] == i;
	assert_in_range(in_place, 0, 20);

	prng_init(&prng, 7);
	assert_int_equal(pattern_random(again, 100, MANY, &prng), 0);
	assert_memory_equal(again, order, 100 * sizeof(*order));

	pattern_random_repeat(order, MANY, 3, &prng);
	for (uint32_t i = 0; i < MANY; i++)
		assert_in_range(order[i], 0, 2);
}

/* All calls of a file by one reader and in their order, each file once, the files shuffled. */
static void test_files_are_divided_among_readers(void **state)
{
	enum { FILES = 61, CALLS = 4 };
	uint32_t order[7 * FILES * CALLS], again[FILES * CALLS], n = 0, in_place = 0;
	struct prng prng;

	for (uint32_t readers = 1; readers <= 7; readers++) {
		n = 0;
		for (uint32_t i = 0; i < readers; i++) {
			prng_init(&prng, 7);
			n += pattern_files(order + n, FILES, CALLS, i, readers, &prng);
		}
		assert_int_equal(n, FILES * CALLS);
		assert_distinct(order, n, n);
		for (uint32_t at = 0; at < n; at++)
			assert_int_equal(order[at], order[at / CALLS * CALLS] + at % CALLS);
	}
	for (uint32_t at = 0; at < n; at++)
		in_place += order[at] == at;
	assert_in_range(in_place, 0, 5 * CALLS);

	prng_init(&prng, 7);
	assert_int_equal(pattern_files(again, FILES, CALLS, 0, 1, &prng), n);
	assert_memory_equal(again, order, sizeof(again));
}

static void test_pieces(void **state)
{
	static const char *const wrong[] = {
		"",    "4K",   "@4K",	"4K@",	   "4K@4K,",  "4K@4K,,8K@8K", "12@16", "8@12",
		"0@8", "16@8", "2M@2M", "8@2048G", "4K@4K@8", "4K@4K 8K@8K",  "x@4K",  "4096@4Kx"};
	struct pieces p;
	char many[4 * MAX_PIECES + 5] = "8@8";

	assert_int_equal(pieces_parse(&p, "4K@4K,16K@24K,8K@48K"), 0);
	assert_int_equal(p.count, 3);
	assert_int_equal(p.piece[1].bytes, 16 << 10);
	assert_int_equal(p.piece[1].back, 24 << 10);
	assert_int_equal(p.largest, 16 << 10);
	assert_int_equal(p.furthest, 48 << 10);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(pieces_parse(&p, wrong[i]), -1);

	for (unsigned int i = 1; i < MAX_PIECES; i++)
		strcat(many, ",8@8");
	assert_int_equal(pieces_parse(&p, many), 0);
	assert_int_equal(p.count, MAX_PIECES);
	strcat(many, ",8@8");
	assert_int_equal(pieces_parse(&p, many), -1);
}

static void test_percentile_exact_when_small(void **state)
{
	static struct latency l;

	memset(&l, 0, sizeof(l));
	assert_int_equal(latency_percentile(&l, 0.5), 0);
	for (uint32_t v = 1; v <= 100; v++)
		latency_add(&l, v);
	assert_int_equal(latency_percentile(&l, 0), 1);
	assert_int_equal(latency_percentile(&l, 0.5), 50);
	assert_int_equal(latency_percentile(&l, 0.9), 90);
	assert_int_equal(latency_percentile(&l, 0.99), 99);
	assert_int_equal(latency_percentile(&l, 0.999), 100);
	assert_int_equal(latency_percentile(&l, 1), 100);
}

static void test_percentile_within_its_bucket(void **state)
{
	static struct latency l;

	for (uint64_t v = 1; v <= UINT32_MAX; v = v * 3 / 2 + 1) {
		memset(&l, 0, sizeof(l));
		latency_add(&l, v);
		latency_add(&l, UINT64_MAX); /* keeps the maximum from hiding the bucket's top */
		assert_true(latency_percentile(&l, 0.5) >= v);
		assert_true(latency_percentile(&l, 0.5) - v <= v / 64);
		assert_int_equal(latency_percentile(&l, 1), UINT32_MAX);
	}
}

/* Of 1 to 100 the deviation is 29.01, and the mean's error a tenth of it. */
static void test_error_of_the_mean(void **state)
{
	static struct latency l;

	memset(&l, 0, sizeof(l));
	assert_true(latency_error(&l) == 0);
	latency_add(&l, 1);
	assert_true(latency_error(&l) == 0);
	for (uint32_t v = 2; v <= 100; v++)
		latency_add(&l, v);
	assert_in_range(latency_error(&l) * 1000, 2900, 2902);
}

static void test_merge(void **state)
{
	static struct latency a, b;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	latency_add(&a, 10);
	latency_add(&b, 1000000);
	latency_merge(&a, &b);
	assert_int_equal(a.count, 2);
	assert_int_equal(a.sum, 1000010);
	assert_int_equal(latency_percentile(&a, 0.5), 10);
	assert_int_equal(latency_percentile(&a, 1), 1000000);
}

static void test_content(void **state)
{
	uint64_t start = content_start(1, 0);
	char whole[1024], part[1024];

	content_fill(start, 0, whole, sizeof(whole));
	content_fill(start, 512, part, 509);
	assert_memory_equal(part, whole + 512, 509);
	assert_int_equal(content_differences(start, 0, whole, sizeof(whole)), 0);
	assert_int_equal(content_differences(start, 512, whole + 512, 511), 0);

	/* Another file, another offset, another seed, one flipped bit: all seen. */
	assert_int_equal(content_differences(content_start(1, 1), 0, whole, 1024), 128);
	assert_int_equal(content_differences(content_start(2, 0), 0, whole, 1024), 128);
	assert_int_equal(content_differences(start, 8, whole, 1024), 128);
	whole[1000] ^= 1;
	assert_int_equal(content_differences(start, 0, whole, 1024), 1);
	part[508] ^= 0x10;
	assert_int_equal(content_differences(start, 512, part, 509), 1);
}

static void test_generations(void **state)
{
	uint64_t start = content_generation(1, 0, 0);
	char block[1024];

	assert_int_equal(start, content_start(1, 0));
	assert_int_not_equal(content_generation(1, 0, 1), start);
	assert_int_not_equal(content_generation(1, 0, 1), content_generation(1, 0, 2));
	content_fill(start, 4096, block, sizeof(block));
	assert_true(content_is(start, 4096, block, sizeof(block)));
	assert_false(content_is(start, 8192, block, sizeof(block)));
	assert_false(content_is(content_generation(1, 0, 1), 4096, block, sizeof(block)));
	block[1023] ^= 1;
	assert_false(content_is(start, 4096, block, sizeof(block)));
}

static void test_blocks_in_use_are_passed_over(void **state)
{
	struct blocks b;

	assert_int_equal(blocks_init(&b, 4), 0);
	assert_int_equal(blocks_take(&b, 3, true), 3);
	assert_int_equal(blocks_take(&b, 3, true), 0);	/* around the end */
	assert_int_equal(blocks_take(&b, 3, false), 1); /* nor read what is written */
	assert_int_equal(blocks_take(&b, 1, false), 1); /* read together */
	assert_int_equal(blocks_take(&b, 1, true), 2);
	assert_false(blocks_written(&b, 3));
	blocks_give(&b, 3, true);
	assert_true(blocks_written(&b, 3));
	assert_int_equal(blocks_take(&b, 3, false), 3);
	blocks_give(&b, 3, false);
	blocks_give(&b, 1, false);
	assert_int_equal(blocks_take(&b, 3, true), 3);
	blocks_give(&b, 1, false);
	assert_int_equal(blocks_take(&b, 1, true), 1);
	assert_false(blocks_written(&b, 1));
	blocks_free(&b);
}

/* 1 s of warm-up, 2.5 s that count: answers before and after are left out, latencies of requests
 * that were under way at its end are not. */
static void test_steady_interval(void **state)
{
	static struct steady s;

	steady_begin(&s, 1);
	steady_add(&s, 0.2, 0.9, 100);
	steady_add(&s, 0.8, 1.2, 200);
	steady_add(&s, 1.5, 2.5, 400);
	steady_end(&s, 3.5);
	steady_end(&s, 9);
	steady_add(&s, 2.0, 5.0, 800);
	steady_add(&s, 3.6, 5.0, 1600);
	assert_int_equal(s.bytes, 600);
	assert_int_equal(s.requests, 2);
	assert_int_equal(s.latency.count, 3);
	assert_in_range(s.latency.max, 2999999, 3000001);
	assert_int_equal(steady_windows(&s), 2);
	assert_int_equal(s.window[0], 200);
	assert_int_equal(s.window[1], 400);
}

/* One that ended before its warm-up did is empty. */
static void test_steady_empty(void **state)
{
	static struct steady s;

	steady_begin(&s, 1);
	steady_end(&s, 0.5);
	steady_add(&s, 0.2, 1.5, 100);
	assert_int_equal(s.bytes, 0);
	assert_int_equal(steady_windows(&s), 0);
}

/* Every 10 ms, one at a time: the second is answered after 95 ms. */
static void test_who_waits_for_a_slow_answer_has_waited_since_it_was_due(void **state)
{
	uint64_t due = 0;

	assert_int_equal(pace_take(&due, 10, 0), 0);
	assert_int_equal(pace_take(&due, 10, 10), 10);
	for (uint64_t want = 20; want <= 100; want += 10)
		assert_int_equal(pace_take(&due, 10, 105), want);
	assert_int_equal(due, 110);
	/* What waited behind a long stall is told of once. */
	assert_int_equal(pace_take(&due, 10, 5000), 110);
	assert_int_equal(pace_take(&due, 10, 5010), 5010);
}

/* Two clients with a rate, one after the other: the second does not wait while the first has its turn. */
static void test_who_has_the_second_turn_is_due_when_it_begins(void **state)
{
	struct load *load = calloc(1, sizeof(*load));
	struct flow flows[] = {{.group = 0, .interval = 10}, {.group = 1, .interval = 10}};

	assert_non_null(load);
	load->groups[0].turn = 0;
	load->groups[1].turn = 1;
	load->turns = load->flow_count = 2;
	load->flows = flows;
	turns_due(load, 1000);
	assert_int_equal(pace_take(&flows[0].due, 10, 1000), 1000);
	assert_int_equal(flows[1].due, UINT64_MAX);
	flows[0].done = true;
	load->turn = 1;
	turns_due(load, 9000);
	assert_int_equal(pace_take(&flows[1].due, 10, 9000), 9000);
	free(load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequential_wraps),
		cmocka_unit_test(test_stride_is_the_papers),
		cmocka_unit_test(test_stride_permutes),
		cmocka_unit_test(test_backward_and_records),
		cmocka_unit_test(test_tiles_are_visited_in_turn),
		cmocka_unit_test(test_cursors_are_divided_among_readers),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_reorder_small),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_files_are_divided_among_readers),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_percentile_exact_when_small),
		cmocka_unit_test(test_percentile_within_its_bucket),
		cmocka_unit_test(test_error_of_the_mean),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_blocks_in_use_are_passed_over),
		cmocka_unit_test(test_steady_interval),
		cmocka_unit_test(test_steady_empty),
		cmocka_unit_test(test_who_waits_for_a_slow_answer_has_waited_since_it_was_due),
		cmocka_unit_test(test_who_has_the_second_turn_is_due_when_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
