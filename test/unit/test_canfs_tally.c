/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What counts within a window: as many operations as are answered in it, however long each takes. */
#include "support.h"

#include "tally.h"

#define RATE   40 /* operations that end in a second, evenly */
#define WARMUP 5
#define WINDOW 5

/* Operations of `ms` each, from the first second to the last; the tally of a window. */
static void offer(struct tally *t, uint64_t ms)
{
	struct span w = {.from = SEC * (1 + WARMUP), .until = SEC * (1 + WARMUP + WINDOW)};

	memset(t, 0, sizeof(*t));
	for (uint64_t i = 0; i < RATE * (WARMUP + 2 * WINDOW); i++) {
		struct op op = {.kind = OP_WRITE, .length = 100, .began = SEC + i * SEC / RATE};
		uint64_t end = op.began + ms * MSEC;

		if (end > w.until && op.began <= w.until)
			tally_under_way(t, &op, w.until);
		tally_ended(t, &w, &op, end);
	}
}

static void test_latency_changes_no_throughput(void **state)
{
	static struct tally t;

	for (uint64_t ms = 0; ms <= WARMUP * 1000; ms += 250) {
		offer(&t, ms);
		assert_in_range(t.ops[OP_WRITE], RATE * WINDOW, RATE * WINDOW + 1);
		assert_int_equal(t.bytes[OP_WRITE], 100 * t.ops[OP_WRITE]);
	}
}

static void test_latency_is_not_cut_by_the_edges(void **state)
{
	static struct tally t;

	for (uint64_t ms = 250; ms <= WARMUP * 1000; ms += 250) {
		offer(&t, ms);
		assert_int_equal(t.latency[OP_WRITE].sum / t.latency[OP_WRITE].count, ms * 1000);
		assert_int_equal(t.under_way, ms * RATE / 1000);
	}
}

/* What is longer than all of the load is not seen, and what is under way says so. */
static void test_too_long_is_told(void **state)
{
	static struct tally t;

	offer(&t, 20000);
	assert_int_equal(t.ops[OP_WRITE], 0);
	assert_in_range(t.under_way, RATE * (WARMUP + WINDOW), RATE * (WARMUP + WINDOW) + 1);
	assert_in_range(t.under_way_ns / t.under_way, SEC * 49 / 10, SEC * 51 / 10);
}

static void test_outside(void **state)
{
	struct span w = {0};
	struct op op = {.kind = OP_READ, .length = 1, .began = SEC};
	static struct tally t;

	tally_ended(&t, &w, &op, 2 * SEC);
	w.from = 3 * SEC;
	tally_ended(&t, &w, &op, 2 * SEC);
	assert_int_equal(t.ops[OP_READ], 0);
	tally_ended(&t, &w, &op, 3 * SEC);
	w.until = 4 * SEC;
	tally_ended(&t, &w, &op, 4 * SEC);
	tally_ended(&t, &w, &op, 4 * SEC + 1);
	assert_int_equal(t.ops[OP_READ], 2);
}

/* Of reads, which may wait for memory too, that is not told as a blocked write. */
static void test_blocked(void **state)
{
	struct span w = {.from = SEC};
	struct op op = {.kind = OP_READ, .blocked = SEC, .began = SEC};
	static struct tally t;

	tally_ended(&t, &w, &op, 2 * SEC);
	assert_int_equal(t.blocked, 0);
	op.kind = OP_APPEND;
	tally_ended(&t, &w, &op, 2 * SEC);
	assert_int_equal(t.blocked, 1);
	assert_int_equal(t.blocked_ns, SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latency_changes_no_throughput),
		cmocka_unit_test(test_latency_is_not_cut_by_the_edges),
		cmocka_unit_test(test_too_long_is_told),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
