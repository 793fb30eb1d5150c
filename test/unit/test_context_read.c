/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What READs bring along that lie behind what is in memory, over a made-up memory. */
#include "readahead/context_read.h"

#include "support.h"

#define PAGE  (4 * KIB)
#define PAGES 4096
#define SIZE  (PAGES * PAGE)

static bool in_memory[PAGES];
static unsigned int looks;

static bool is_there(void *arg, uint64_t offset, uint64_t len)
{
	looks++;
	assert_true(offset % PAGE == 0 && len % PAGE == 0 && len > 0);
	assert_true(offset + len <= SIZE);
	for (uint64_t i = offset / PAGE; i < (offset + len) / PAGE; i++)
		if (!in_memory[i])
			return false;
	return true;
}

static struct context_read at(uint64_t offset, uint64_t len, uint64_t size)
{
	return (struct context_read){
		.offset = offset, .len = len, .size = size, .is_there = is_there};
}

/* What a READ there brings. */
static uint64_t brings(uint64_t offset, uint64_t len, uint64_t size, uint64_t window)
{
	const struct context_read r = at(offset, len, size);

	return context_read_is(&r) ? context_read_length(&r, window) : len;
}

/* Only [from, to) is in memory. */
static void keep(uint64_t from, uint64_t to)
{
	memset(in_memory, 0, sizeof(in_memory));
	for (uint64_t i = from / PAGE; i < to / PAGE; i++)
		in_memory[i] = true;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void test_twice_as_much_as_is_there(void **state)
{
	for (uint64_t run = 0; run <= 256 * KIB; run += PAGE)
		for (uint64_t len = PAGE; len <= 128 * KIB; len *= 2) {
			uint64_t along = run > len && len <= 64 * KIB ? 2 * run : 0;

			keep(MIB - run, MIB);
			assert_int_equal(brings(MIB, len, SIZE, 128 * KIB),
					 lower(len + along, 128 * KIB));
			/* not whole pages, of which all count */
			assert_int_equal(brings(MIB + 1, len - 2, SIZE, 128 * KIB),
					 lower(len - 2 + along, 128 * KIB));
		}
}

static void test_no_more_than_the_kernel(void **state)
{
	keep(0, MIB);
	assert_int_equal(brings(MIB, 8 * KIB, SIZE, 0), 8 * KIB);
	assert_int_equal(brings(MIB, 8 * KIB, SIZE, 32 * KIB), 32 * KIB);
	assert_int_equal(brings(MIB, 8 * KIB, SIZE, 4 * MIB), 128 * KIB);
	assert_int_equal(brings(MIB, 64 * KIB, SIZE, 64 * KIB), 64 * KIB);
	/* nor beyond the end of the file, nor before its beginning */
	assert_int_equal(brings(MIB, 8 * KIB, MIB + 20 * KIB, 128 * KIB), 20 * KIB);
	assert_int_equal(brings(MIB, 8 * KIB, MIB + 8 * KIB, 128 * KIB), 8 * KIB);
	assert_int_equal(brings(MIB, 8 * KIB, MIB + 100, 128 * KIB), 8 * KIB);
	assert_int_equal(brings(MIB, 8 * KIB, MIB / 2, 128 * KIB), 8 * KIB);
	assert_int_equal(brings(0, 4 * KIB, SIZE, 128 * KIB), 4 * KIB);
	assert_int_equal(brings(8 * KIB, 4 * KIB, SIZE, 128 * KIB), 20 * KIB);
	assert_int_equal(brings(8 * KIB, 8 * KIB, SIZE, 128 * KIB), 8 * KIB);
}

/* Of a file that is not in memory one look a READ, and none where it is too long. */
static void test_what_it_costs(void **state)
{
	keep(0, 0);
	looks = 0;
	assert_int_equal(brings(MIB, 8 * KIB, SIZE, 128 * KIB), 8 * KIB);
	assert_int_equal(looks, 1);
	keep(0, SIZE);
	assert_int_equal(brings(MIB, 128 * KIB, SIZE, 128 * KIB), 128 * KIB);
	assert_int_equal(looks, 1);
	assert_int_equal(brings(MIB, 4 * KIB, SIZE, 128 * KIB), 128 * KIB);
	assert_in_range(looks, 2, 8);
}

/* READs of LEN at random places of the file, TIMES as many as it has; how many went to the disk. *BYTES: that came. */
static uint64_t warm_up(uint64_t len, double times, bool along, uint64_t *bytes)
{
	uint64_t seed = 7, requests = 0;

	keep(0, 0);
	*bytes = 0;
	for (uint64_t i = 0; (double)i < times * (double)(SIZE / len); i++) {
		uint64_t offset = random_below(&seed, SIZE / len) * len, end;

		if (is_there(NULL, offset, len))
			continue;
		requests++;
		end = offset + (along ? brings(offset, len, SIZE, 128 * KIB) : len);
		for (uint64_t p = offset / PAGE; p < end / PAGE; p++) {
			*bytes += in_memory[p] ? 0 : PAGE;
			in_memory[p] = true;
		}
	}
	return requests;
}

/* Who reads all of it in any order waits for the disk less often. */
static void test_a_file_becomes_warm(void **state)
{
	uint64_t bytes;

	for (uint64_t len = 4 * KIB; len <= 16 * KIB; len *= 2)
		assert_true(warm_up(len, 4, true, &bytes) * 4 < warm_up(len, 4, false, &bytes) * 3);
}

/* Of a file of which but a tenth is read nothing much comes that nobody asked for. */
static void test_a_file_stays_cold(void **state)
{
	uint64_t along, alone;

	warm_up(8 * KIB, 0.1, true, &along);
	warm_up(8 * KIB, 0.1, false, &alone);
	assert_in_range(along, alone, alone + alone / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twice_as_much_as_is_there),
		cmocka_unit_test(test_no_more_than_the_kernel),
		cmocka_unit_test(test_what_it_costs),
		cmocka_unit_test(test_a_file_becomes_warm),
		cmocka_unit_test(test_a_file_stays_cold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
