/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How far readers go: what is learnt of it, and what is fetched of their next files. */
#include "readahead/run_lengths.h"

#include <pthread.h>

#include "engine.h"
#include "readahead/engine.h"

#define READ (32 * KIB)
#define BIG  (64 * MIB)
#define MS   UINT64_C(1000000)
#define ALL  UINT64_MAX

/* ---- the table --------------------------------------------------------------------------- */

static void note(struct run_lengths *l, uint32_t reader, int n, uint64_t length, bool ended)
{
	for (int i = 0; i < n; i++)
		run_lengths_note(l, reader, length, ended);
}

static void test_nothing_known_is_no_limit(void **state)
{
	static const uint32_t nobody[] = {0, 1, READERS_MAX, READERS_MAX + 1, UINT32_MAX};
	struct run_lengths *l = run_lengths_new();

	for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
		assert_true(run_lengths_reach(l, nobody[i], 128 * KIB, 0) == ALL);
		assert_false(run_lengths_go_on(l, nobody[i], MIB));
	}
	note(l, 0, 9, MIB, true);
	note(l, READERS_MAX + 1, 9, MIB, true);
	assert_true(run_lengths_reach(l, 0, 0, 0) == ALL);
	assert_true(run_lengths_reach(l, READERS_MAX + 1, 0, 0) == ALL);
	run_lengths_free(l);
}

/* Exactly to where they ended, from wherever they are; who is beyond that is another matter. */
static void test_up_to_where_runs_end(void **state)
{
	for (uint64_t end = RUN_END_FIRST; end <= RUN_END_FIRST << (RUN_ENDS - 1); end *= 2) {
		struct run_lengths *l = run_lengths_new();

		note(l, 7, 20, end, true);
		assert_true(run_lengths_reach(l, 7, 0, MIB) == end);
		assert_true(run_lengths_reach(l, 7, end / 2, MIB) == end);
		assert_true(run_lengths_reach(l, 7, end, MIB) == end);
		/* of who is beyond that nothing is known */
		assert_true(run_lengths_reach(l, 7, end + 1, MIB) == (end < 256 * KIB  ? 512 * KIB
								      : end < MIB      ? MIB
								      : end < 16 * MIB ? 2 * end
										       : ALL));
		assert_true(run_lengths_reach(l, 8, 0, MIB) == ALL);
		run_lengths_free(l);
	}
}

/* A little behind an end is worth the seek that it may save, much is not. */
static void test_the_more_it_costs_the_surer(void **state)
{
	struct run_lengths *l = run_lengths_new();

	note(l, 1, 5, 256 * KIB, true);
	note(l, 1, 15, BIG, false);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, MIB) == 4 * MIB);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, 0) == 4 * MIB);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, 64 * KIB) == MIB);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, 8 * MIB) == ALL);
	assert_true(run_lengths_reach(l, 1, 257 * KIB, MIB) == ALL);
	assert_true(run_lengths_go_on(l, 1, 256 * KIB));
	run_lengths_free(l);
}

/* What is not over says only how far it came. */
static void test_what_goes_on_is_no_end(void **state)
{
	struct run_lengths *l = run_lengths_new();

	note(l, 1, 9, 300 * KIB, false);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, MIB) == ALL);
	assert_false(run_lengths_go_on(l, 1, MIB));
	assert_true(run_lengths_go_on(l, 1, 128 * KIB));
	run_lengths_free(l);
}

static void test_the_old_fades(void **state)
{
	struct run_lengths *l = run_lengths_new();

	note(l, 1, 1000, 256 * KIB, true);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, MIB) == 256 * KIB);
	note(l, 1, 200, BIG, false);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, MIB) == ALL);
	note(l, 1, 60, 256 * KIB, true);
	assert_true(run_lengths_reach(l, 1, 128 * KIB, MIB) == 256 * KIB);
	run_lengths_free(l);
}

/* ---- the engine -------------------------------------------------------------------------- */

/* READER reads the first LENGTH bytes of a new FILE, and is silent for a while; returns what was fetched. */
static uint64_t preview(struct engine *e, uint32_t reader, uint64_t file, uint64_t length)
{
	uint64_t fetched = 0;

	e->reader = reader;
	for (uint64_t at = 0; at < length; at += READ)
		fetched += engine_fetch(e, engine_read(e, file, at, READ, BIG), BIG);
	e->now += 250 * MS;
	return fetched;
}

static void test_previews_are_fetched_and_no_more(void **state)
{
	static const uint64_t lengths[] = {256 * KIB, MIB, 4 * MIB};

	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		struct engine *e = engine_default("cursor");
		uint64_t first = 0, later = 0;

		e->chunk = 12 * MIB;
		e->seek = MIB;
		for (uint64_t file = 1; file <= 8; file++)
			first += preview(e, 1, file, lengths[k]);
		for (uint64_t file = 9; file <= 108; file++)
			later += preview(e, 1, file, lengths[k]);
		assert_in_range(first, 8 * lengths[k] / 2, 60 * MIB);
		assert_in_range(later, 100 * lengths[k] / 2, 100 * lengths[k]);
		/* who reads all is another */
		assert_true(preview(e, 2, 1000, 8 * MIB) >= 12 * MIB);
		engine_check_account(e);
		engine_free(e);
	}
}

/* Who goes on after all gets twice as much each time, and once that is the rule all at once. */
static void test_who_goes_on_is_found_out(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t file = 1, before, first = 0;

	e->chunk = 4 * MIB;
	e->seek = MIB;
	e->reader = 1;
	for (; file <= 20; file++)
		preview(e, 1, file, 256 * KIB);
	before = engine_counted(e, READAHEAD_USED);
	preview(e, 1, file++, BIG);
	assert_true(engine_counted(e, READAHEAD_USED) - before > BIG - MIB);
	for (int i = 0; i < 60; i++)
		preview(e, 1, file++, BIG);
	for (uint64_t at = 0; at < 5 * READ; at += READ)
		first += engine_fetch(e, engine_read(e, file, at, READ, BIG), BIG);
	assert_true(first >= 4 * MIB);
	engine_check_account(e);
	engine_free(e);
}

/* The file is read until something is to be fetched for it: *AT, which is moved, says from where on. */
static struct readahead_plan read_until_plan(struct engine *e, uint64_t *at)
{
	struct readahead_plan p = {0};

	for (; !p.len && *at < BIG; *at += READ)
		p = engine_read(e, 1, *at, READ, BIG);
	return p;
}

/* Of one of whom nothing is known the first chunk is short, and the second waits until he has read half of that. */
static void test_a_stranger_shows_that_he_reads_on(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan p;
	uint64_t at = 0;

	e->chunk = 4 * MIB;
	e->reader = 1;
	e->streams = 2;
	p = read_until_plan(e, &at);
	assert_int_equal(p.len, MIB);
	assert_int_equal(engine_carry_out(e, &p, BIG).len, 0);
	p = read_until_plan(e, &at);
	assert_int_equal(at, MIB / 2);
	assert_int_equal(p.offset, MIB);
	assert_in_range(p.len, 3 * MIB, 4 * MIB);
	engine_free(e);
}

/*
 * Among several the first chunk is whole, but ends where its reader stops, and nothing is asked for behind it before he
 * has read a MiB. But where what is known of others says that runs go on.
 */
static void test_strangers_among_many(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan p;
	uint64_t at = 0, since;

	e->chunk = 8 * MIB;
	e->reader = 1;
	e->streams = 8;
	p = read_until_plan(e, &at);
	assert_in_range(p.len, 7 * MIB, 8 * MIB);
	assert_true(p.young);
	since = e->now;
	assert_false(readahead_reads_on(e->ra, &p, since, UINT64_MAX));
	assert_int_equal(engine_carry_out(e, &p, BIG).len, 0);
	p = read_until_plan(e, &at);
	assert_int_equal(at, MIB);
	assert_false(p.young);
	e->now += MS;
	engine_read(e, 1, at, READ, BIG);
	assert_true(readahead_reads_on(e->ra, &p, since, UINT64_MAX));
	assert_true(readahead_reads_on(e->ra, &p, e->now, at));
	assert_false(readahead_reads_on(e->ra, &p, e->now, at + READ));
	engine_free(e);

	/* others read on in what is fetched for one of several in a file */
	e = engine_default("cursor");
	e->chunk = 8 * MIB;
	e->reader = 1;
	e->streams = 8;
	at = 0;
	(void)engine_read(e, 1, BIG / 2, READ, BIG);
	assert_false(read_until_plan(e, &at).young);
	engine_free(e);

	e = engine_default("cursor");
	e->chunk = 8 * MIB;
	e->reader = 1;
	e->streams = 8;
	note(e->ra->lengths, 2, 3, BIG, false);
	at = 0;
	assert_false(read_until_plan(e, &at).young);
	engine_free(e);
}

/* What is known of all tells of who is not known himself, and of nobody else. */
static void test_what_others_did(void **state)
{
	struct run_lengths *l = run_lengths_new();

	note(l, 1, 9, BIG, false);
	note(l, 2, 3, 256 * KIB, true);
	assert_true(run_lengths_go_on(l, 3, MIB));
	assert_false(run_lengths_go_on(l, 2, MIB));
	assert_false(run_lengths_go_on(l, 0, MIB));
	assert_true(run_lengths_reach(l, 3, 0, MIB) == ALL);
	note(l, 2, 20, 256 * KIB, true);
	assert_false(run_lengths_go_on(l, 3, 256 * KIB));
	assert_true(run_lengths_go_on(l, 1, 256 * KIB));
	run_lengths_free(l);
}

/* Where nobody else reads, no more is fetched ahead of him than he has shown, up to a whole chunk at a time. */
static void test_alone_chunks_grow_with_the_run(void **state)
{
	static const uint64_t lengths[] = {MIB, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 16 * MIB};
	struct engine *e = engine_default("cursor");
	uint64_t at = 0, asked = 0;

	e->chunk = 16 * MIB;
	e->reader = 1;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct readahead_plan p = read_until_plan(e, &at);

		assert_int_equal(p.offset, asked);
		assert_int_equal(p.len, lengths[i]);
		assert_in_range(at, asked - asked / 4, asked + 8 * READ);
		assert_int_equal(engine_carry_out(e, &p, BIG).len, 0);
		asked += p.len;
	}
	engine_free(e);
}

/* The file is read from *AT to END by requests of LEN, and all chunks arrive; returns how many bytes were not asked for before. */
static uint64_t read_part(struct engine *e, uint64_t *at, uint64_t end, uint32_t len,
			  uint64_t *asked)
{
	uint64_t missed = 0;

	for (; *at < end; *at += len) {
		struct readahead_plan p = engine_read(e, 1, *at, len, BIG);

		missed += *at + len > *asked ? len : 0;
		for (; p.len; p = engine_carry_out(e, &p, BIG))
			*asked = p.offset + p.len;
	}
	return missed;
}

/* Large requests behind small ones, as behind a header: more than was asked for so far. */
static void test_alone_with_larger_requests(void **state)
{
	for (uint64_t chunk = 2 * MIB; chunk <= 16 * MIB; chunk *= 2) {
		for (uint32_t header = 16 * KIB; header <= 256 * KIB; header *= 4) {
			struct engine *e = engine_default("cursor");
			uint64_t at = 0, asked = 0;

			e->chunk = chunk;
			e->reader = 1;
			read_part(e, &at, header, header / 4, &asked);
			assert_true(read_part(e, &at, BIG - MIB, MIB, &asked) <= BIG * 5 / 8);
			engine_free(e);
		}
	}
}

/* Of the first chunk only LEN bytes arrived, or it was made that long: the reader is beyond it at once. */
static void test_alone_behind_a_chunk_cut_short(void **state)
{
	for (uint64_t len = 4 * KIB; len <= 512 * KIB; len *= 2) {
		for (int shortened = 0; shortened < 2; shortened++) {
			struct engine *e = engine_default("cursor");
			struct readahead_plan p, next;
			uint64_t at = 0, asked;

			e->chunk = 16 * MIB;
			e->reader = 1;
			p = read_until_plan(e, &at);
			if (shortened)
				readahead_shorten(e->ra, &e->counters, &p, len);
			next = engine_start(e, &p, BIG);
			asked = p.offset + len;
			readahead_arrived(e->ra, &p, asked, e->now);
			readahead_finished(e->ra, &e->counters, &p, asked, true, false);
			for (; next.len; next = engine_carry_out(e, &next, BIG))
				asked = next.offset + next.len;
			assert_true(read_part(e, &at, BIG, 128 * KIB, &asked) <= 4 * MIB);
			engine_check_account(e);
			engine_free(e);
		}
	}
}

/* That a client reads on is seen in runs that are not over. */
static void test_reading_on_is_seen_at_once(void **state)
{
	for (uint64_t length = 96 * KIB; length <= 192 * KIB; length += 96 * KIB) {
		struct engine *e = engine_default("cursor");

		e->reader = 1;
		for (uint64_t file = 1; file <= 3; file++)
			for (uint64_t at = 0; at < length; at += READ)
				engine_fetch(e, engine_read(e, file, at, READ, BIG), BIG);
		assert_false(run_lengths_go_on(e->ra->lengths, 1, 128 * KIB));
		assert_int_equal(run_lengths_read_on(e->ra, 1, 128 * KIB), length > 128 * KIB);
		assert_false(run_lengths_read_on(e->ra, 1, 256 * KIB));
		assert_false(run_lengths_read_on(e->ra, 2, 128 * KIB));
		assert_false(run_lengths_read_on(e->ra, 0, 128 * KIB));
		assert_false(run_lengths_read_on(e->ra, 1, BIG));
		engine_free(e);
	}
}

/* Nor is one among several that stayed most of them. */
static void test_one_that_reads_on_is_not_most(void **state)
{
	struct engine *e = engine_default("cursor");

	e->reader = 1;
	for (uint64_t file = 1; file <= 4; file++)
		for (uint64_t at = 0; at < (file < 4 ? 96 : 192) * KIB; at += READ / 2)
			engine_fetch(e, engine_read(e, file, at, READ / 2, BIG), BIG);
	assert_false(run_lengths_read_on(e->ra, 1, 128 * KIB));
	engine_free(e);
}

/* Who waits for the disk has not ended, however long. */
static void test_waiting_is_no_end(void **state)
{
	struct engine *e = engine_default("cursor");

	e->reader = 1;
	for (uint64_t file = 1; file <= 8; file++) {
		struct readahead_plan p = {0};

		for (uint64_t at = 0; !p.len; at += READ)
			p = engine_read(e, file, at, READ, BIG);
	}
	engine_sweep(e, e->now + 3 * SEC);
	e->now += 5 * SEC;
	engine_sweep(e, e->now);
	for (uint64_t file = 11; file <= 14; file++)
		assert_true(preview(e, 1, file, 8 * MIB) >= 8 * MIB);
	engine_free(e);
}

/* Of files in memory most reads are never told: they say nothing. */
static void test_unseen_reads_are_no_end(void **state)
{
	struct engine *e = engine_default("cursor");

	e->chunk = 4 * MIB;
	e->reader = 1;
	for (uint64_t file = 1; file <= 20; file++) {
		for (uint64_t at = 0; at < 20 * READ; at += READ)
			engine_fetch(e, engine_read(e, file, at, READ, BIG), BIG);
		readahead_unseen(e->ra, &file, sizeof(file), e->now);
		e->now += 250 * MS;
	}
	assert_true(preview(e, 1, 100, 3 * MIB) >= 5 * MIB);
	engine_free(e);
}

/* Who reads many files in turn goes on in each: what was taken for an end is taken back. */
static void test_reading_in_turn_is_no_end(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t planned = 0, alone = 0;

	e->chunk = 4 * MIB;
	e->seek = MIB;
	for (uint32_t reader = 0; reader < 2; reader++) {
		uint64_t *sum = reader ? &planned : &alone;

		e->reader = reader;
		for (uint64_t group = 0; group < 8; group++)
			for (uint64_t at = 0; at < 8 * MIB; at += READ)
				for (uint64_t n = 0; n < 16; n++) {
					uint64_t file = 1 + n + 16 * (group + 8 * reader);
					struct readahead_plan p =
						engine_read(e, file, at, READ, 8 * MIB);

					*sum += p.len > 0;
					engine_fetch(e, p, 8 * MIB);
					e->now += at % (256 * KIB) ? 0 : 35 * MS;
				}
	}
	assert_in_range(planned, alone, alone + alone / 4);
	engine_check_account(e);
	engine_free(e);
}

/* With requests as large as chunks something is fetched all the same. */
static void test_large_requests(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t fetched = 0;

	e->chunk = 4 * MIB;
	e->reader = 1;
	for (uint64_t at = 0; at < BIG; at += MIB)
		fetched += engine_fetch(e, engine_read(e, 1, at, MIB, BIG), BIG);
	assert_true(fetched >= BIG / 2);
	engine_free(e);
}

/* A run whose chunk is dropped again and again is one run. */
static void test_what_is_dropped_is_watched_once(void **state)
{
	struct engine *e = engine_default("cursor");

	e->chunk = 4 * MIB;
	e->reader = 1;
	for (uint64_t at = 0; at < 2 * MIB; at += READ) {
		struct readahead_plan p = engine_read(e, 1, at, READ, BIG);

		if (p.len)
			readahead_finished(e->ra, &e->counters, &p, p.offset, false, false);
	}
	e->now += 3 * SEC;
	engine_sweep(e, e->now);
	for (int i = 2; i < 6; i++)
		assert_true(preview(e, 1, (uint64_t)i, 8 * MIB) >= 8 * MIB);
	engine_free(e);
}

static void test_the_papers_rules_know_none(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t first = 0, last = 0;

	e->tuning.rules = &rules_paper;
	for (uint64_t file = 1; file <= 20; file++) {
		last = preview(e, 1, file, 256 * KIB);
		first = file == 1 ? last : first;
	}
	assert_int_equal(first, last);
	engine_free(e);
}

/* ---- threads ----------------------------------------------------------------------------- */

struct opener {
	struct engine *e;
	uint64_t first;
};

/* Opens many runs of one reader. */
static void *open_many(void *arg)
{
	const struct opener *o = arg;
	struct readahead_counters *counters = aligned_alloc(64, sizeof(*counters));

	memset(counters, 0, sizeof(*counters));
	for (uint64_t n = 0; n < 400; n++) {
		uint64_t file = o->first + n;
		struct readahead_plan plan;

		for (uint64_t at = 0; at < 8 * READ; at += READ) {
			struct readahead_read read = {.key = &file,
						      .key_len = sizeof(file),
						      .offset = at,
						      .size = BIG,
						      .len = READ,
						      .now = SEC + n * 50 * MS + at,
						      .chunk = MIB,
						      .streams = 1,
						      .reader = 1};

			readahead_observe(o->e->ra, &o->e->tuning, counters, &read, &plan);
			if (plan.len)
				readahead_finished(o->e->ra, counters, &plan, plan.offset, false,
						   false);
		}
	}
	free(counters);
	return NULL;
}

static void test_many_at_once(void **state)
{
	struct engine *e = engine_default("cursor");
	struct opener openers[3];
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		openers[i] = (struct opener){e, 1000 * (uint64_t)(i + 1)};
		assert_int_equal(pthread_create(&threads[i], NULL, open_many, &openers[i]), 0);
	}
	for (uint64_t i = 0; i < 50; i++)
		readahead_sweep(e->ra, SEC + i * SEC / 2);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	readahead_sweep(e->ra, 100 * SEC);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known_is_no_limit),
		cmocka_unit_test(test_up_to_where_runs_end),
		cmocka_unit_test(test_the_more_it_costs_the_surer),
		cmocka_unit_test(test_what_goes_on_is_no_end),
		cmocka_unit_test(test_the_old_fades),
		cmocka_unit_test(test_previews_are_fetched_and_no_more),
		cmocka_unit_test(test_who_goes_on_is_found_out),
		cmocka_unit_test(test_a_stranger_shows_that_he_reads_on),
		cmocka_unit_test(test_strangers_among_many),
		cmocka_unit_test(test_what_others_did),
		cmocka_unit_test(test_alone_chunks_grow_with_the_run),
		cmocka_unit_test(test_alone_with_larger_requests),
		cmocka_unit_test(test_alone_behind_a_chunk_cut_short),
		cmocka_unit_test(test_reading_on_is_seen_at_once),
		cmocka_unit_test(test_one_that_reads_on_is_not_most),
		cmocka_unit_test(test_waiting_is_no_end),
		cmocka_unit_test(test_unseen_reads_are_no_end),
		cmocka_unit_test(test_reading_in_turn_is_no_end),
		cmocka_unit_test(test_large_requests),
		cmocka_unit_test(test_what_is_dropped_is_watched_once),
		cmocka_unit_test(test_the_papers_rules_know_none),
		cmocka_unit_test(test_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
