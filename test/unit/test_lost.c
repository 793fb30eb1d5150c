/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Chunks that were cut short with another behind them, and what is lost: neither is taken for more than it is. */
#include "engine.h"
#include "readahead/engine.h"

#define READ (32 * KIB)
#define SIZE (1024 * MIB)

/* Reads in order from *AT on until something is planned. */
static struct readahead_plan planned(struct engine *e, uint64_t *at)
{
	struct readahead_plan p = {0};

	for (; !p.len; *at += READ)
		p = engine_read(e, 1, *at, READ, SIZE);
	return p;
}

/* A chunk that is at the disk, the NEXT one behind it in the queue. */
static struct readahead_plan two_chunks(struct engine *e, uint64_t *at, struct readahead_plan *next)
{
	struct readahead_plan p = planned(e, at);

	*next = engine_start(e, &p, SIZE);
	while (!next->len) {
		*next = engine_read(e, 1, *at, READ, SIZE);
		*at += READ;
	}
	assert_int_equal(next->offset, p.offset + p.len);
	assert_true(*at < p.offset + p.len);
	return p;
}

static uint32_t window_of(struct engine *e, const struct readahead_plan *p)
{
	struct cursor *c = heur_cursor_get(&e->ra->table, p->cursor);
	uint32_t window;

	assert_non_null(c);
	window = c->window;
	heur_file_put(c->file);
	return window;
}

/* What did not come of the first one, from AT to END, is read, and nothing of the second one counts as lost. */
static void read_gap(struct engine *e, uint64_t at, uint64_t end)
{
	uint64_t wasted = engine_counted(e, READAHEAD_WASTED);

	for (; at < end; at += READ) {
		struct readahead_plan q = engine_read(e, 1, at, READ, SIZE);

		assert_false(q.known_resident);
		readahead_lost(e->ra, &e->tuning, &e->counters, &q.cursor, at);
		engine_fetch(e, q, SIZE);
	}
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), wasted);
	engine_check_account(e);
}

/* The first one ends early, as by an error: who comes to where it ended finds nothing, and the second one is not lost. */
static void test_a_gap_is_no_loss(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, SIZE);
	uint64_t at = 0, half;
	struct readahead_plan next, p = two_chunks(e, &at, &next);

	half = (p.offset + p.len / 2) / READ * READ;
	readahead_arrived(e->ra, &p, half, e->now);
	readahead_finished(e->ra, &e->counters, &p, half, true, true);
	while (next.len)
		next = engine_carry_out(e, &next, SIZE);
	for (; at < half; at += READ)
		engine_fetch(e, engine_read(e, 1, at, READ, SIZE), SIZE);
	read_gap(e, at, p.offset + p.len);
	engine_free(e);
}

/* The same where it is cut because its reader has paused. */
static void test_a_gap_is_no_loss_to_who_paused(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, SIZE);
	uint64_t at = 0, end;
	struct readahead_plan next, p = two_chunks(e, &at, &next);

	end = p.offset + p.len;
	readahead_arrived(e->ra, &p, at, e->now);
	readahead_shorten(e->ra, &e->counters, &p, at - p.offset);
	readahead_finished(e->ra, &e->counters, &p, at, true, false);
	while (next.len)
		next = engine_carry_out(e, &next, SIZE);
	read_gap(e, at, end);
	engine_free(e);
}

/* Memory was short once: the window is half as large, and no less for each READ that meets it. */
static void test_one_loss_is_one(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, SIZE);
	uint64_t at = 0;
	struct readahead_plan next, p = two_chunks(e, &at, &next), q;
	uint32_t before = window_of(e, &p);

	readahead_arrived(e->ra, &p, p.offset + p.len, e->now);
	readahead_finished(e->ra, &e->counters, &p, p.offset + p.len, true, false);
	for (int i = 0; i < 9; i++, at += READ) {
		q = engine_read(e, 1, at, READ, SIZE);
		readahead_lost(e->ra, &e->tuning, &e->counters, &q.cursor, at);
	}
	assert_int_equal(window_of(e, &p), before / 2);
	engine_check_account(e);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_gap_is_no_loss_to_who_paused),
		cmocka_unit_test(test_a_gap_is_no_loss),
		cmocka_unit_test(test_one_loss_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
