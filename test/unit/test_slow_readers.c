/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who reads slowly keeps what was fetched for him while nobody else wants the memory, and no longer. */
#include "engine.h"
#include "readahead/engine.h"

#define MEMORY	(256 * MIB)
#define SIZE	(4096 * MIB)
#define STREAMS 16

static uint64_t next[64]; /* of each file */

static struct engine *begin(void)
{
	struct engine *e = engine_make("cursor", 1024, 4096, MEMORY);

	memset(next, 0, sizeof(next));
	e->seek = 1100 * KIB;
	e->chunk = 12 * MIB;
	e->reader = e->account = 1;
	return e;
}

/* LEN bytes more of FILE; returns how many were asked for ahead. */
static uint64_t take(struct engine *e, uint64_t file, uint32_t len)
{
	struct readahead_plan p = engine_read(e, file, next[file], len, SIZE);

	next[file] += len;
	return engine_fetch(e, p, SIZE);
}

static void sweep_after(struct engine *e, uint64_t time)
{
	e->now += time;
	engine_sweep(e, e->now);
}

static uint64_t held(const struct engine *e)
{
	return budget_held(&e->ra->budget, 1);
}

/* Bytes of reader 1 that were given up unread since this was asked last. */
static uint64_t given_up(struct engine *e)
{
	uint64_t before = engine_counted(e, READAHEAD_WASTED);

	readahead_collect(e->ra, 1, &e->counters);
	return engine_counted(e, READAHEAD_WASTED) - before;
}

static void end(struct engine *e)
{
	readahead_collect(e->ra, 1, &e->counters);
	readahead_collect(e->ra, 2, &e->counters);
	engine_check_account(e);
	engine_free(e);
}

/* Reader 1 begins with N files, so that a window is fetched of each. */
static void begin_with(struct engine *e, uint64_t n)
{
	for (int i = 0; i < 40; i++)
		for (uint64_t f = 0; f < n; f++)
			take(e, f, 64 * KIB);
	assert_true(held(e) > n * 8 * MIB);
}

/* Another reader takes memory until he is refused some; all that he has is gone before anybody looks. */
static void take_all_as_another(struct engine *e)
{
	uint64_t refused = engine_counted(e, READAHEAD_REFUSED);

	e->reader = e->account = 2;
	for (uint64_t f = 32; f < 64; f++)
		for (next[f] = 0; next[f] < 4 * MIB;)
			take(e, f, 64 * KIB);
	assert_true(engine_counted(e, READAHEAD_REFUSED) > refused);
	for (uint64_t f = 32; f < 64; f++)
		readahead_forget(e->ra, &f, sizeof(f));
	e->reader = e->account = 1;
}

/* Four other readers are refused what they ask for: a fifth of all is reader 1's part. */
static void refuse_others(struct engine *e)
{
	for (uint32_t reader = 2; reader < 6; reader++)
		assert_false(budget_hold(&e->ra->budget, reader, MEMORY));
}
#define PART (MEMORY / 5)

/* For TIME reader 1 takes a byte of each stream, each time that EVERY is over. */
static void drip(struct engine *e, uint64_t time, uint64_t every)
{
	uint64_t end = e->now + time, due = e->now;

	while (e->now < end) {
		for (uint64_t f = 0; e->now >= due && f < STREAMS; f++)
			take(e, f, 1);
		if (e->now >= due)
			due += every;
		sweep_after(e, SEC / 2);
	}
}

static void test_a_byte_now_and_then_holds_no_memory_that_others_want(void **state)
{
	static const uint64_t every[] = {9 * SEC, SEC / 2};

	for (int i = 0; i < 2; i++) {
		struct engine *e = begin();

		begin_with(e, STREAMS);
		drip(e, 60 * SEC, every[i]);
		assert_true(held(e) > MEMORY / 2);
		take_all_as_another(e);
		drip(e, 3 * SEC, every[i]);
		if (held(e) > MEMORY / 2)
			fail_msg("a byte each %ju ms: %ju MiB held",
				 (uintmax_t)(every[i] / 1000000), (uintmax_t)(held(e) / MIB));
		end(e);
	}
}

/* ... and has no more fetched for what it lost. */
static void test_what_was_given_up_is_not_fetched_again(void **state)
{
	struct engine *e = begin();
	uint64_t planned;

	begin_with(e, STREAMS);
	drip(e, 60 * SEC, 9 * SEC);
	refuse_others(e);
	planned = engine_counted(e, READAHEAD_CHUNKS);
	drip(e, 60 * SEC, 9 * SEC);
	assert_int_equal(engine_counted(e, READAHEAD_CHUNKS), planned);
	end(e);
}

static void test_nothing_is_taken_where_nobody_is_refused(void **state)
{
	struct engine *e = begin();
	uint64_t before;

	begin_with(e, STREAMS);
	before = held(e);
	for (int s = 0; s < 120; s++) {
		drip(e, SEC, SEC);
		e->reader = 2; /* another one, who has what he wants */
		take(e, 40, 256 * KIB);
		e->reader = 1;
	}
	assert_true(before - held(e) <= 120 * STREAMS);
	assert_int_equal(given_up(e), 0);
	assert_int_equal(engine_counted(e, READAHEAD_REFUSED), 0);
	end(e);
}

/* Reader 1 reads on in each of N files until one more chunk is asked for: P. The disk has not come to it. Returns its bytes. */
static uint64_t ask(struct engine *e, uint64_t n, struct readahead_plan *p)
{
	uint64_t bytes = 0;

	for (uint64_t f = 0; f < n; f++) {
		do {
			p[f] = engine_read(e, f, next[f], 64 * KIB, SIZE);
			next[f] += 64 * KIB;
		} while (!p[f].len);
		bytes += p[f].ahead;
	}
	return bytes;
}

/* SECONDS in which the readers of the first N files are slow, and others are refused memory. */
static void be_slow_beside_others(struct engine *e, uint64_t n, int seconds)
{
	for (int s = 0; s < seconds; s++) {
		refuse_others(e);
		sweep_after(e, SEC);
		for (uint64_t f = 0; f < n && s % 6 == 0; f++) /* so that they are not idle */
			assert_int_equal(engine_read(e, f, next[f]++, 1, SIZE).len, 0);
	}
}

/* However long the disk takes: it would come beside what the others have fetched in its place. */
static void test_what_is_to_come_is_not_given_up(void **state)
{
	struct engine *e = begin();
	struct readahead_plan p[8];
	uint64_t there, to_come, wasted;

	begin_with(e, 8);
	there = held(e);
	to_come = ask(e, 8, p);
	assert_true(to_come > PART);
	for (int i = 0; i < 20; i++) {
		be_slow_beside_others(e, 8, 1);
		assert_true(held(e) >= to_come);
	}
	wasted = given_up(e);
	assert_in_range(wasted, MIB, there);
	for (int f = 0; f < 8; f++)
		engine_carry_out(e, &p[f], SIZE);
	be_slow_beside_others(e, 8, 3);
	assert_true(held(e) <= PART); /* now it has come */
	assert_in_range(given_up(e), MIB, to_come);
	end(e);
}

/* Nor is it counted as read by who reads on through what was given up before it, however fast. */
static void test_what_is_to_come_is_not_read(void **state)
{
	struct engine *e = begin();
	struct readahead_plan p[8];
	uint64_t to_come, used;

	begin_with(e, 8);
	to_come = ask(e, 8, p);
	be_slow_beside_others(e, 8, 20);
	used = engine_counted(e, READAHEAD_USED);
	for (uint64_t f = 0; f < 8; f++)
		while (next[f] + 64 * KIB < p[f].offset) {
			engine_read(e, f, next[f], 64 * KIB, SIZE);
			next[f] += 64 * KIB;
		}
	assert_int_equal(engine_counted(e, READAHEAD_USED), used);
	assert_true(held(e) >= to_come);
	for (uint64_t f = 0; f < 8; f++) {
		engine_carry_out(e, &p[f], SIZE);
		engine_read(e, f, next[f], (uint32_t)(p[f].offset + p[f].len - next[f]), SIZE);
	}
	assert_int_equal(engine_counted(e, READAHEAD_USED), used + to_come);
	end(e);
}

/* Nor is it counted as waste when it never comes: half of each chunk is cut off, of the rest nothing is brought. */
static void test_what_never_came_is_no_waste(void **state)
{
	struct engine *e = begin();
	struct readahead_plan p[8];

	begin_with(e, 8);
	ask(e, 8, p);
	be_slow_beside_others(e, 8, 12);
	given_up(e);
	for (int f = 0; f < 8; f++) {
		readahead_shorten(e->ra, &e->counters, &p[f], p[f].len / 2);
		be_slow_beside_others(e, 0, 1);
	}
	for (uint64_t f = 0; f < 8; f++)
		readahead_forget(e->ra, &f, sizeof(f));
	assert_int_equal(given_up(e), 0);
	end(e);
}

/* Of 64 KiB of each MiB as well, where other bytes come than lie between the positions. */
static void test_records_to_come_are_not_given_up(void **state)
{
	struct engine *e = engine_make("cursor", 1024, 4096, 4 * MIB);
	struct readahead_plan p;
	uint64_t before, to_come;

	e->reader = e->account = 1;
	next[0] = 0;
	do {
		before = held(e);
		p = engine_read(e, 0, next[0], 64 * KIB, SIZE);
		next[0] += MIB;
		if (next[0] < 200 * MIB)
			engine_fetch(e, p, SIZE);
	} while (!p.len || next[0] < 200 * MIB);
	assert_true(p.record > 0);
	to_come = held(e) - (before - 64 * KIB);
	for (int i = 0; i < 60; i++) {
		be_slow_beside_others(e, 0, 1);
		assert_true(held(e) >= to_come);
	}
	assert_true(given_up(e) > 0);
	engine_carry_out(e, &p, SIZE);
	end(e);
}

/* N streams of BYTES a second each, for SECONDS, while others are refused memory. */
static void read_beside_others(struct engine *e, uint64_t n, uint32_t bytes, int seconds)
{
	for (int s = 0; s < seconds; s++) {
		refuse_others(e);
		for (int i = 0; i < 4; i++) {
			for (uint64_t at = 0; at < 4; at++)
				for (uint64_t f = 0; f < n; f++)
					take(e, f, bytes / 16);
			sweep_after(e, SEC / 4);
		}
	}
}

/* What is fetched for who reads on at once is his, however much that is. */
static void test_fast_readers_keep_what_they_have(void **state)
{
	for (uint32_t rate = 10 * MIB; rate <= 40 * MIB; rate *= 2) {
		struct engine *e = begin();

		begin_with(e, STREAMS / 2);
		for (int s = 0; s < 30; s++) {
			read_beside_others(e, STREAMS / 2, rate, 1);
			assert_int_equal(given_up(e), 0);
			assert_true(held(e) > PART);
		}
		end(e);
	}
}

/* Nor does a new one lose anything before it is known how fast he is, nor one who pauses for a second. */
static void test_a_pause_is_not_slow(void **state)
{
	struct engine *e = begin();
	uint64_t n = 7;

	for (int s = 0; s < 20; s++) {
		for (int i = 0; i < 50; i++)
			for (uint64_t f = 0; f < n; f++)
				take(e, f, 256 * KIB);
		assert_in_range(held(e), PART + MIB, MEMORY / 4 * 3);
		for (int i = 0; i < 3; i++) {
			refuse_others(e);
			sweep_after(e, SEC / 2);
		}
	}
	assert_int_equal(given_up(e), 0);
	end(e);
}

/* A film's 500 KB a second: what he comes to within ten seconds he keeps, and nothing is fetched for him twice. */
static void test_a_player_keeps_what_he_comes_to(void **state)
{
	struct engine *e = begin();
	uint64_t planned = 0, before, read, films = 16;

	begin_with(e, films);
	read_beside_others(e, films, 500000, 20);
	assert_true(given_up(e) > 0); /* he had 160 MiB */
	assert_in_range(held(e), films * 3500000, films * 6000000);
	before = next[0];
	for (int s = 0; s < 60; s++) {
		for (int i = 0; i < 4; i++)
			for (uint64_t f = 0; f < films; f++)
				planned += take(e, f, 125000);
		refuse_others(e);
		sweep_after(e, SEC);
	}
	read = films * (next[0] - before);
	assert_true(planned <= read + films * 8 * MIB);
	end(e);
}

/* ---- many streams of one client, each slow -------------------------------------------------- */

#define MANY 300

/* Streams of reader 1, read in turn a READ each PERIOD. */
struct slow_streams {
	struct engine *e;
	uint64_t period;
	uint64_t next[MANY], there[MANY]; /* bytes of each file: read, and brought by the disk */
	uint64_t reads, requests;	  /* ... with so many */
};

/* What comes up to END is a request, if not all is there. */
static void bring(struct slow_streams *s, uint64_t f, uint64_t end)
{
	s->requests += end > s->there[f];
	s->there[f] = end > s->there[f] ? end : s->there[f];
}

static void read_slowly(struct slow_streams *s, uint64_t f)
{
	struct readahead_plan p = engine_read(s->e, f, s->next[f], 32 * KIB, SIZE);

	while (p.len) {
		bring(s, f, p.offset + p.len);
		p = engine_carry_out(s->e, &p, SIZE);
	}
	s->next[f] += 32 * KIB;
	bring(s, f, s->next[f]);
	s->reads++;
}

/* For TIME. */
static void go_on_slowly(struct slow_streams *s, uint64_t time)
{
	uint64_t swept = s->e->now;

	s->reads = s->requests = 0;
	for (uint64_t end = s->e->now + time, f = 0; s->e->now < end; f = (f + 1) % MANY) {
		read_slowly(s, f);
		s->e->now += s->period / MANY;
		if (s->e->now - swept >= SEC)
			engine_sweep(s->e, swept = s->e->now);
	}
}

/* MANY streams of one client, a READ of each every PERIOD, cost the disk less than those of the kernel: 128 KiB each. */
static void check_many_slow(uint64_t period)
{
	struct slow_streams s = {.e = begin(), .period = period};

	s.e->streams = 2;
	s.e->chunk = 6 * MIB;
	go_on_slowly(&s, 20 * period);
	go_on_slowly(&s, 60 * period);
	if (s.requests * 4 > s.reads)
		fail_msg("a READ each %ju s: %ju requests for %ju READs", (uintmax_t)(period / SEC),
			 (uintmax_t)s.requests, (uintmax_t)s.reads);
	end(s.e);
}

static void test_many_slow_streams_of_one_client(void **state)
{
	check_many_slow(2 * SEC);
	check_many_slow(4 * SEC);
	check_many_slow(8 * SEC);
	check_many_slow(12 * SEC); /* idle each time */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_slow_streams_of_one_client),
		cmocka_unit_test(test_a_byte_now_and_then_holds_no_memory_that_others_want),
		cmocka_unit_test(test_what_was_given_up_is_not_fetched_again),
		cmocka_unit_test(test_what_is_to_come_is_not_given_up),
		cmocka_unit_test(test_what_is_to_come_is_not_read),
		cmocka_unit_test(test_what_never_came_is_no_waste),
		cmocka_unit_test(test_records_to_come_are_not_given_up),
		cmocka_unit_test(test_nothing_is_taken_where_nobody_is_refused),
		cmocka_unit_test(test_fast_readers_keep_what_they_have),
		cmocka_unit_test(test_a_pause_is_not_slow),
		cmocka_unit_test(test_a_player_keeps_what_he_comes_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
