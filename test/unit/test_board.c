/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is posted is what is read, also while it is posted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <pthread.h>
#include <stdbool.h>

#include "pricing/board.h"

#define PUBLISHED 20000

static void test_empty(void **state)
{
	static struct price_board board;
	struct price_snapshot s = {.time = 5, .write = 1};

	board_read(&board, &s);
	assert_true(s.time == 0 && s.write == 0 && s.readahead == 0);
	assert_true(board_write_price(&board) == 0 && board_readahead_price(&board) == 0);
}

static void test_the_last_one_counts(void **state)
{
	static struct price_board board;
	struct price_snapshot in = {.unknown = 1u << PRICE_NETWORK,
				    .utilization = {0.1, 0, 0.9, 0.4},
				    .price = {0.01, 0, 0.8, 0.1},
				    .write = 0.8,
				    .readahead = 0.7,
				    .write_by = PRICE_DISK,
				    .readahead_by = PRICE_MEMORY},
			      out;

	for (uint64_t t = 1; t < 5; t++) {
		in.time = t;
		in.write = 0.1 * (double)t;
		board_publish(&board, &in);
		board_read(&board, &out);
		assert_memory_equal(&in, &out, sizeof(in));
		assert_true(board_write_price(&board) == in.write);
		assert_true(board_readahead_price(&board) == in.readahead);
	}
}

/* A snapshot all of whose fields tell the same number. */
static struct price_snapshot uniform(uint64_t n)
{
	double x = (double)n;

	return (struct price_snapshot){.time = n,
				       .utilization = {x, x, x, x},
				       .price = {x, x, x, x},
				       .write = x,
				       .readahead = x};
}

static bool is_uniform(const struct price_snapshot *s)
{
	double x = (double)s->time;

	for (int i = 0; i < PRICE_RESOURCES; i++)
		if (s->utilization[i] != x || s->price[i] != x)
			return false;
	return s->write == x && s->readahead == x;
}

struct reader {
	pthread_t thread;
	const struct price_board *board;
	uint64_t torn, backwards;
};

static void *read_until_the_last(void *arg)
{
	struct reader *r = arg;
	struct price_snapshot s = {0};

	while (s.time < PUBLISHED) {
		uint64_t before = s.time;

		board_read(r->board, &s);
		r->torn += !is_uniform(&s);
		r->backwards += s.time < before;
	}
	return NULL;
}

static void test_never_torn(void **state)
{
	static struct price_board board;
	struct reader readers[2] = {{.board = &board}, {.board = &board}};

	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_until_the_last, &readers[i]),
			0);
	for (uint64_t n = 1; n <= PUBLISHED; n++) {
		struct price_snapshot s = uniform(n);

		board_publish(&board, &s);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].torn, 0);
		assert_int_equal(readers[i].backwards, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_the_last_one_counts),
		cmocka_unit_test(test_never_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
