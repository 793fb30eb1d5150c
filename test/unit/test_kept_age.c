/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is fetched ahead where it is kept for a time only: as much as its reader comes to meanwhile. */
#include "engine.h"

#define KEPT  (30 * SEC)
#define SIZE  (1024 * MIB)
#define UNIT  (64 * KIB)
#define UNITS (SIZE / UNIT)

static uint64_t came[UNITS]; /* ns; 0: it did not */
static unsigned int found, lost, missed;
static uint64_t most; /* bytes that were ahead of the reader */

static struct engine *begin(void)
{
	struct engine *e = engine_default("cursor");

	memset(came, 0, sizeof(came));
	found = lost = missed = 0;
	most = 0;
	e->seek = 1100 * KIB;
	e->chunk = 12 * MIB;
	e->streams = 8;
	e->kept = KEPT;
	return e;
}

static void end(struct engine *e)
{
	engine_check_account(e);
	engine_free(e);
}

static void bring(struct engine *e, struct readahead_plan plan, uint64_t reader)
{
	while (plan.len != 0) {
		for (uint64_t at = plan.offset; at < plan.offset + plan.len; at += UNIT)
			came[at / UNIT] = e->now;
		if (plan.offset + plan.len - reader > most)
			most = plan.offset + plan.len - reader;
		plan = engine_carry_out(e, &plan, SIZE);
	}
}

static void take(struct engine *e, uint64_t at)
{
	struct readahead_plan plan = engine_read(e, 1, at, UNIT, SIZE);
	uint64_t since = came[at / UNIT];

	if (since != 0 && e->now - since < KEPT) {
		found++;
	} else {
		lost += since != 0;
		missed++;
		if (plan.count != 0 && plan.len == 0 && plan.followed)
			readahead_lost(e->ra, &e->tuning, &e->counters, &plan.cursor, at);
	}
	bring(e, plan, at + UNIT);
}

/* A reader from AT on, for TIME, a READ each time that PAUSE is over; returns where he stands then. */
static uint64_t go_on(struct engine *e, uint64_t at, uint64_t time, uint64_t pause)
{
	uint64_t until = e->now + time, sweep = e->now + SEC;

	for (; e->now < until && at < SIZE; at += UNIT) {
		take(e, at);
		for (e->now += pause - 1000; e->now >= sweep; sweep += SEC)
			engine_sweep(e, sweep);
	}
	return at;
}

/* Two chunks ahead of him would be there 24 to 48 s before he comes to them. */
static void test_slow_readers_find_what_was_fetched(void **state)
{
	struct engine *e = begin();

	go_on(e, 0, 300 * SEC, 128 * MSEC);
	assert_int_equal(lost, 0);
	assert_in_range(missed, 4, 40);
	end(e);
}

/* Of whom nothing is known the first chunk may be lost, once: two READs see it. */
static void test_very_slow_readers_lose_one_chunk(void **state)
{
	struct engine *e = begin();

	go_on(e, 0, 900 * SEC, SEC);
	assert_in_range(lost, 0, 2);
	assert_in_range(found, 600, 900);
	end(e);
}

static void test_fast_readers_have_two_chunks(void **state)
{
	struct engine *e = begin();
	uint64_t at = go_on(e, 0, 2 * SEC, MSEC / 2);

	assert_int_equal(lost, 0);
	assert_in_range(missed, 4, 8);
	assert_true(most >= 20 * MIB);
	at = go_on(e, at, 60 * SEC, 128 * MSEC); /* he becomes slow: what is there he finds */
	most = 0;
	at = go_on(e, at, 60 * SEC, 128 * MSEC);
	assert_in_range(lost, 0, 2);
	assert_true(most <= 16 * MIB);
	most = 0;
	go_on(e, at, SEC, MSEC / 2); /* ... and fast again */
	assert_true(most >= 20 * MIB);
	end(e);
}

/* After a pause for which all that was ahead of him was given up he is a new reader, of whom nothing is known. */
static void test_a_slow_reader_comes_back(void **state)
{
	struct engine *e = begin();
	uint64_t at = go_on(e, 0, 60 * SEC, SEC);

	for (int i = 0; i < 12; i++)
		engine_sweep(e, e->now += SEC);
	most = 0;
	go_on(e, at, SEC, MSEC / 2);
	assert_true(most >= 8 * MIB);
	end(e);
}

/* Memory keeps it for as long as it has room. */
static void test_where_it_is_kept_for_any_time(void **state)
{
	struct engine *e = begin();

	e->kept = 0;
	go_on(e, 0, 2 * SEC, 128 * MSEC);
	assert_true(most >= 20 * MIB);
	end(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_readers_find_what_was_fetched),
		cmocka_unit_test(test_very_slow_readers_lose_one_chunk),
		cmocka_unit_test(test_fast_readers_have_two_chunks),
		cmocka_unit_test(test_a_slow_reader_comes_back),
		cmocka_unit_test(test_where_it_is_kept_for_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
