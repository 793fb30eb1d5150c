/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Several readers of one file: what was asked for ahead of one is not asked for again ahead of another. */
#include "engine.h"
#include "readahead/beside.h"

#define READ (32 * KIB)
#define SIZE (256 * MIB)

/* What was fetched, by READ: how often. */
static uint8_t fetched[SIZE / READ];

struct result {
	uint64_t asked_to; /* offset: nothing was asked for behind it */
	uint64_t reads, hits;
};

static void note(struct result *r, const struct readahead_plan *p)
{
	uint64_t step = p->record ? p->step : READ;

	for (uint64_t at = p->offset; at < p->offset + p->len; at += step)
		fetched[at / READ]++;
	if (p->offset + p->len > r->asked_to)
		r->asked_to = p->offset + p->len;
}

/* One read, and all that is planned for it, at once. */
static void read_one(struct engine *e, uint64_t offset, struct result *r)
{
	struct readahead_plan p = engine_read(e, 1, offset, READ, SIZE);

	r->reads++;
	r->hits += fetched[offset / READ] != 0;
	for (; p.len; p = engine_carry_out(e, &p, SIZE))
		note(r, &p);
}

static void read_on(struct engine *e, uint64_t from, uint64_t to, struct result *r)
{
	for (uint64_t at = from; at < to; at += READ)
		read_one(e, at, r);
}

static struct engine *begin(const struct readahead_rules *rules)
{
	struct engine *e = engine_default("cursor");

	memset(fetched, 0, sizeof(fetched));
	e->tuning.rules = rules;
	e->seek = MIB;
	return e;
}

/* A reads from the beginning; B, who began a little further on before anything was asked for, then goes on. */
static struct result two_readers(struct engine *e, uint64_t b)
{
	struct result r = {0};

	read_one(e, b, &r);
	read_on(e, 0, 2 * MIB, &r);
	assert_true(r.asked_to > b + 2 * READ);
	read_on(e, b + READ, b + 2 * MIB, &r);
	return r;
}

static void test_nothing_is_asked_for_twice(void **state)
{
	struct engine *e = begin(&rules_extended);
	struct result r = two_readers(e, 4 * MIB);

	for (uint64_t i = 0; i < r.asked_to / READ; i++)
		assert_int_equal(fetched[i], 1);
	assert_true(r.asked_to >= 8 * MIB);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	/* what B read of A's is used, and what was read before it was asked for was never charged */
	assert_true(engine_counted(e, READAHEAD_USED) >= 3 * MIB);
	engine_check_account(e);
	engine_free(e);
}

static void test_each_for_itself_as_before(void **state)
{
	struct engine *e = begin(&rules_apart);
	struct result r = two_readers(e, 4 * MIB);
	int twice = 0;

	for (uint64_t i = 0; i < r.asked_to / READ; i++)
		twice += fetched[i] > 1;
	assert_true(twice > 0);
	engine_check_account(e);
	engine_free(e);
}

/* 64 readers have PARTS sequential parts of a file, of which they take a request of each in turn. */
static struct result read_parts(struct engine *e, uint64_t parts)
{
	uint64_t blocks = SIZE / READ, readers = 64, most = blocks / parts + 1;
	struct result r = {0};

	for (uint64_t round = 0; round < most; round++)
		for (uint64_t turn = 0; turn < parts / readers + 1; turn++)
			for (uint64_t reader = 0; reader < readers; reader++) {
				uint64_t part = reader * parts / readers + turn;
				uint64_t block = part * blocks / parts + round;

				if (part < (reader + 1) * parts / readers &&
				    block < (part + 1) * blocks / parts)
					read_one(e, block * READ, &r);
			}
	assert_int_equal(r.reads, blocks);
	return r;
}

static void test_two_thousand_parts(void **state)
{
	struct engine *e = begin(&rules_extended);
	struct result r;
	struct readahead_stats s;

	e->chunk = 12 * MIB;
	r = read_parts(e, 2000);
	readahead_stats(e->ra, &s);
	print_message("of %llu reads %llu were there, %.2f x the file's bytes asked for, %llu "
		      "refused, %.2f "
		      "unread\n",
		      (unsigned long long)r.reads, (unsigned long long)r.hits,
		      (double)engine_counted(e, READAHEAD_PLANNED) / SIZE,
		      (unsigned long long)engine_counted(e, READAHEAD_REFUSED),
		      (double)s.unread / SIZE);
	assert_true(engine_counted(e, READAHEAD_PLANNED) <= SIZE + SIZE / 10);
	assert_true(r.hits > r.reads / 2);
	assert_int_equal(engine_counted(e, READAHEAD_REFUSED), 0);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	assert_true(s.unread < SIZE / 50);
	engine_check_account(e);
	engine_free(e);
}

/* What was asked for for B lies beyond the end of a file that has become smaller: A's ends with the file. */
static void test_nothing_is_asked_for_beyond_the_end(void **state)
{
	const uint64_t b = 4 * MIB, end = b - READ;
	struct engine *e = begin(&rules_extended);
	struct readahead_plan p = {0};
	struct result r = {0};

	read_one(e, 3 * MIB, &r);
	read_on(e, b, b + MIB, &r);
	for (uint64_t at = 3 * MIB + READ; at < end && !p.len; at += READ)
		p = engine_read(e, 1, at, READ, end);
	assert_true(p.len > 0);
	assert_int_equal(p.offset + p.len, end);
	for (; p.len; p = engine_carry_out(e, &p, end))
		assert_true(p.offset + p.len <= end);
	engine_check_account(e);
	engine_free(e);
}

/* B looks at one block again and again, in what A asked for who has gone: that is read once. */
static void test_a_block_is_used_once(void **state)
{
	const uint64_t b = 3 * MIB;
	struct engine *e = begin(&rules_extended);
	struct result r = {0};
	uint64_t used;

	read_one(e, b, &r);
	read_on(e, 0, 2 * MIB, &r);
	assert_true(r.asked_to > b + READ);
	read_one(e, b, &r);
	used = engine_counted(e, READAHEAD_USED);
	for (int i = 0; i < 100; i++) {
		e->now += SEC;
		read_one(e, b, &r);
	}
	assert_true(engine_counted(e, READAHEAD_USED) <= used + READ);
	engine_sweep(e, e->now += SEC); /* it does not keep what A left behind */
	assert_true(engine_counted(e, READAHEAD_WASTED) > 0);
	engine_check_account(e);
	engine_free(e);
}

/* A's was there and is gone: B, who meets that, asks for it himself. */
static void test_what_is_gone_is_asked_for_again(void **state)
{
	struct engine *e = begin(&rules_extended);
	struct readahead_plan p = {0};
	struct result r = {0};
	uint64_t at = 4 * MIB;

	read_one(e, at, &r);
	read_on(e, 0, 2 * MIB, &r);
	for (int i = 0; i < 8 && !(p.len && p.offset <= at && p.offset + p.len > at); i++) {
		at += READ;
		p = engine_read(e, 1, at, READ, SIZE);
		if (p.len)
			engine_fetch(e, p, SIZE);
		else
			readahead_lost(e->ra, &e->tuning, &e->counters, &p.cursor, at);
	}
	assert_true(p.len && p.offset <= at && p.offset + p.len > at);
	engine_check_account(e);
	engine_free(e);
}

/* B meets what A asked for before it has come: it is still on its way. */
static void test_what_has_not_come_yet_is_not_gone(void **state)
{
	struct engine *e = begin(&rules_extended);
	struct readahead_plan p = {0};
	struct result r = {0};
	uint64_t at = 3 * MIB, asked_to;

	read_one(e, at, &r);
	for (uint64_t a = 0; !p.len; a += READ)
		p = engine_read(e, 1, a, READ, SIZE);
	asked_to = p.offset + p.len;
	assert_true(asked_to > at + 16 * READ);
	engine_start(e, &p, SIZE);
	for (int i = 0; i < 16; i++) {
		struct readahead_plan q;

		at += READ;
		q = engine_read(e, 1, at, READ, SIZE);
		assert_true(!q.len || q.offset >= asked_to);
		if (!q.len)
			readahead_lost(e->ra, &e->tuning, &e->counters, &q.cursor, at);
		else
			engine_start(e, &q, SIZE);
	}
	engine_check_account(e);
	engine_free(e);
}

/* Many chunks of one stream do not push out what others asked for. */
static void test_a_stream_is_one_range(void **state)
{
	struct engine *e = begin(&rules_extended);
	struct result r = {0};
	uint64_t asked_to;

	e->chunk = 512 * KIB;
	e->tuning.window_init = MIB;
	read_on(e, 128 * MIB, 128 * MIB + 8 * READ, &r);
	asked_to = r.asked_to;
	assert_true(asked_to > 128 * MIB + 16 * READ);
	read_on(e, 0, (BESIDE_MAX + 8) * e->chunk, &r);
	read_on(e, 128 * MIB + 10 * READ, asked_to, &r);
	for (uint64_t i = 128 * MIB / READ; i < asked_to / READ; i++)
		assert_int_equal(fetched[i], 1);
	engine_check_account(e);
	engine_free(e);
}

/* What will not come is asked for again. */
static void test_what_was_dropped_is_asked_for_again(void **state)
{
	struct engine *e = begin(&rules_extended);
	struct readahead_plan p = {0}, q = {0};
	struct result r = {0};
	uint64_t at = 4 * MIB;

	read_one(e, at, &r);
	for (uint64_t a = 0; !p.len; a += READ)
		p = engine_read(e, 1, a, READ, SIZE);
	while (p.len && p.offset + p.len <= at + 32 * READ) {
		struct readahead_plan next = engine_start(e, &p, SIZE);

		readahead_finished(e->ra, &e->counters, &p, p.offset + p.len, true, false);
		p = next;
	}
	assert_true(p.len > 0);
	readahead_finished(e->ra, &e->counters, &p, p.offset, false, false);
	for (int i = 0; i < 64 && !q.len; i++) {
		at += READ;
		q = engine_read(e, 1, at, READ, SIZE);
	}
	assert_true(q.len > 0 && q.offset <= p.offset && q.offset + q.len > p.offset);
	engine_check_account(e);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_asked_for_twice),
		cmocka_unit_test(test_each_for_itself_as_before),
		cmocka_unit_test(test_two_thousand_parts),
		cmocka_unit_test(test_nothing_is_asked_for_beyond_the_end),
		cmocka_unit_test(test_a_block_is_used_once),
		cmocka_unit_test(test_what_is_gone_is_asked_for_again),
		cmocka_unit_test(test_what_has_not_come_yet_is_not_gone),
		cmocka_unit_test(test_a_stream_is_one_range),
		cmocka_unit_test(test_what_was_dropped_is_asked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
