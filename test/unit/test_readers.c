/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Readers by address: known again, told apart, bounded, forgotten when silent; what is counted for each. */
#include "readahead/readers.h"

#include <pthread.h>

#include "common/address_hash.h"
#include "engine.h"
#include "readahead/engine.h"
#include "readahead/run_lengths.h"

#define MANY	(2 * READERS_MAX)
#define THREADS 8
#define ROUNDS	20000
#define READ	(32 * KIB)

/* The Nth address: IPv4 ones for even N. */
static struct reader_address address(uint32_t n)
{
	struct reader_address a = {{[10] = 0xff, [11] = 0xff}};

	if (n % 2)
		a.byte[0] = 0x20;
	for (int i = 0; i < 4; i++)
		a.byte[12 + i] = (uint8_t)(n >> (24 - 8 * i));
	return a;
}

static void read_through(struct engine *e, uint64_t file, uint64_t from, uint64_t to, uint64_t size)
{
	for (uint64_t at = from; at < to; at += READ)
		engine_fetch(e, engine_read(e, file, at, READ, size), size);
}

static uint32_t find(struct readers *r, uint32_t n, uint64_t now)
{
	struct reader_address a = address(n);

	return readers_find(r, &a, now);
}

static void test_each_is_counted_for_itself(void **state)
{
	struct readers *r = readers_new(NULL, NULL);
	struct reader_look looks[4];
	uint32_t one = find(r, 1, SEC), other = find(r, 2, 3 * SEC);

	assert_true(one != 0 && other != 0 && one != other);
	assert_int_equal(find(r, 1, SEC), one);
	readers_count(r, one, READER_READS, 3);
	readers_count(r, one, READER_RESIDENT, 2);
	readers_count(r, other, READER_WASTED, 4096);
	readers_count(r, 0, READER_READS, 7); /* nobody's */
	assert_int_equal(readers_look(r, looks, 4), 2);
	assert_memory_equal(&looks[0].address, &(struct reader_address[]){address(2)}[0], 16);
	assert_int_equal(looks[0].value[READER_WASTED], 4096);
	assert_int_equal(looks[0].value[READER_READS], 0);
	assert_int_equal(looks[1].value[READER_READS], 3);
	assert_int_equal(looks[1].value[READER_RESIDENT], 2);
	assert_int_equal(readers_look(r, looks, 1), 2);
	readers_free(r);
	readers_free(NULL);
}

/* Addresses of one network spread over any bits of the number. */
static void test_neighbours_are_spread(void **state)
{
	bool taken[3][4096] = {{false}};
	uint32_t n[3] = {0};

	for (uint32_t i = 0; i < 4096; i++) {
		struct reader_address a = address(2 * (0x0a000000 / 2 + i));
		uint64_t hash = address_hash(a.byte);

		for (int k = 0; k < 3; k++) {
			bool *place = &taken[k][hash >> 16 * k & 4095];

			n[k] += !*place;
			*place = true;
		}
	}
	for (int k = 0; k < 3; k++) /* by chance 1 - 1/e of them */
		assert_in_range(n[k], 2300, 4096);
}

static void test_nobody_has_no_number(void **state)
{
	struct readers *r = readers_new(NULL, NULL);
	struct reader_address a = {{0}};

	assert_int_equal(readers_find(r, &a, SEC), 0);
	assert_int_equal(readers_look(r, NULL, 0), 0);
	readers_free(r);
}

/* More than there is room for: most have a place, none another's; who was silent for long makes room. */
static void test_room_is_bounded_and_found_again(void **state)
{
	static struct reader_look looks[READERS_MAX];
	struct readers *r = readers_new(NULL, NULL);
	uint64_t later = SEC + 2 * READERS_IDLE;
	uint32_t known = 0, number;

	for (uint32_t n = 1; n <= MANY; n++) {
		number = find(r, n, SEC);
		assert_true(number <= READERS_MAX);
		known += number != 0;
		readers_count(r, number, READER_READS, 1);
	}
	assert_int_equal(readers_look(r, looks, READERS_MAX), known);
	assert_true(known > READERS_MAX / 4 * 3);
	for (uint32_t i = 0; i < known; i++)
		assert_int_equal(looks[i].value[READER_READS], 1);
	for (uint32_t n = MANY + 1; n <= MANY + 100; n++) {
		number = find(r, n, later);
		assert_true(number != 0);
		readers_count(r, number, READER_READS, 5);
		assert_int_equal(find(r, n, later), number);
	}
	assert_true(readers_look(r, looks, 100) <= READERS_MAX);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(looks[i].value[READER_READS], 5);
	readers_free(r);
}

static struct readers *shared;

static void *count_some(void *arg)
{
	for (uint32_t i = 0; i < ROUNDS; i++)
		readers_count(shared, find(shared, 1 + i % 16, SEC), READER_READS, 1);
	return arg;
}

static void test_many_threads(void **state)
{
	struct reader_look looks[32];
	pthread_t threads[THREADS];

	shared = readers_new(NULL, NULL);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_some, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(readers_look(shared, looks, 32), 16);
	for (int i = 0; i < 16; i++)
		assert_int_equal(looks[i].value[READER_READS], THREADS * ROUNDS / 16);
	readers_free(shared);
}

/* One that reads in order uses what is fetched ahead; one that goes away has left it unread. */
static void test_whose_read_ahead_it_was(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readers *r = readahead_readers(e->ra);
	struct reader_look looks[2];
	uint64_t size = 64 * MIB;

	e->chunk = 16 * MIB;
	e->reader = find(r, 1, SEC);
	read_through(e, 1, 0, size, size);
	e->reader = find(r, 3, 3 * SEC);
	read_through(e, 2, 0, 8 * READ, size);
	readahead_forget(e->ra, &(uint64_t){2}, sizeof(uint64_t));
	engine_check_account(e);
	assert_int_equal(readers_look(r, looks, 2), 2);
	assert_int_equal(looks[1].value[READER_READS], size / READ);
	assert_true(looks[1].value[READER_USED] > size / 2);
	assert_int_equal(looks[1].value[READER_WASTED], 0);
	assert_int_equal(looks[0].value[READER_READS], 8);
	assert_int_equal(looks[0].value[READER_WASTED], engine_counted(e, READAHEAD_WASTED));
	assert_int_equal(looks[0].value[READER_WASTED],
			 MIB - 8 * READ); /* of a stranger's first chunk */
	engine_free(e);
}

/* Who gets the number of one who was silent for long is known for nothing that the other did. */
static void test_a_number_that_is_given_to_another(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readers *r = readahead_readers(e->ra);
	uint64_t later = SEC + 2 * READERS_IDLE;
	uint32_t first[READERS_MAX + 1] = {0}, number = 0, n;

	for (n = 1; n <= MANY; n++) {
		number = find(r, n, SEC);
		for (int i = 0; i < 8; i++)
			run_lengths_note(e->ra->lengths, number, 200 * KIB, true);
		first[number] = n;
	}
	assert_true(run_lengths_reach(e->ra->lengths, first[1] ? 1 : 2, 0, MIB) < MIB);
	number = 0;
	for (n = MANY + 1; number == 0 || first[number] == 0; n++)
		number = find(r, n, later);
	assert_int_equal(run_lengths_reach(e->ra->lengths, number, 0, MIB), UINT64_MAX);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_is_counted_for_itself),
		cmocka_unit_test(test_neighbours_are_spread),
		cmocka_unit_test(test_nobody_has_no_number),
		cmocka_unit_test(test_room_is_bounded_and_found_again),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_whose_read_ahead_it_was),
		cmocka_unit_test(test_a_number_that_is_given_to_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
