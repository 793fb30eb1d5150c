/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is posted for a client is what is found, also while it is posted. */
#include "support.h"

#include <pthread.h>

#include "faults.h"
#include "pricing/client_board.h"

#define PUBLISHED 3000
#define CLIENTS	  64

static void publish(struct client_board *b, unsigned int clients, uint32_t place, float price)
{
	static struct client_quote quotes[CLIENT_BOARD_MAX + 8];

	for (unsigned int i = 0; i < clients; i++)
		quotes[i] = (struct client_quote){
			.client = i + 1, .place = place, .write = price, .readahead = price / 2};
	client_board_publish(b, quotes, clients);
}

static void test_nothing_posted(void **state)
{
	struct client_board b = {0};
	struct client_prices p = {.write = 7};

	assert_false(client_board_find(&b, 1, 1, &p));
	client_board_publish(&b, NULL, 0);
	assert_null(atomic_load(&b.tables)); /* where clients have no prices, no memory */
	assert_false(client_board_find(&b, 1, 1, &p));
	assert_true(p.write == 7);
	client_board_fini(&b);
}

static void test_the_last_one_counts(void **state)
{
	struct client_board b = {0};
	struct client_prices p;

	publish(&b, 3, PLACE_ALL, 0.5F);
	publish(&b, 2, PLACE_ALL, 0.25F);
	assert_true(client_board_find(&b, 1, 9, &p) && p.write == 0.25 && p.readahead == 0.125);
	assert_false(client_board_find(&b, 3, 9, &p)); /* not any more */
	publish(&b, 0, PLACE_ALL, 0);
	assert_false(client_board_find(&b, 1, 9, &p));
	client_board_fini(&b);
}

/* An export with a share of its own comes first, also one whose number is 0. */
static void test_exports(void **state)
{
	static const struct client_quote quotes[] = {
		{.client = 1, .place = PLACE_ALL, .write = 0.1F},
		{.client = 1, .place = PLACE_OF_EXPORT(0), .write = 0.2F},
		{.client = 1, .place = PLACE_OF_EXPORT(65535), .write = 0.3F},
		{.client = 2, .place = PLACE_OF_EXPORT(7), .write = 0.4F},
	};
	struct client_board b = {0};
	struct client_prices p;

	client_board_publish(&b, quotes, 4);
	assert_true(client_board_find(&b, 1, 5, &p) && p.write == 0.1F);
	assert_true(client_board_find(&b, 1, 0, &p) && p.write == 0.2F);
	assert_true(client_board_find(&b, 1, 65535, &p) && p.write == 0.3F);
	assert_true(client_board_find(&b, 2, 7, &p) && p.write == 0.4F);
	assert_false(client_board_find(&b, 2, 5, &p));
	client_board_fini(&b);
}

/* On an export with a share of its own nobody is told what he pays on all others. */
static void test_an_export_with_a_share(void **state)
{
	static const struct client_quote quotes[] = {
		{.client = 1, .place = PLACE_ALL, .write = 0.1F},
		{.place = PLACE_OF_EXPORT(7)},
		{.client = 2, .place = PLACE_OF_EXPORT(7), .write = 0.4F},
	};
	struct client_board b = {0};
	struct client_prices p = {.write = 7};

	client_board_publish(&b, quotes, 3);
	assert_false(client_board_find(&b, 1, 7, &p));
	assert_true(p.write == 7);
	assert_true(client_board_find(&b, 1, 8, &p) && p.write == 0.1F);
	assert_true(client_board_find(&b, 2, 7, &p) && p.write == 0.4F);
	client_board_fini(&b);
}

static void test_full(void **state)
{
	struct client_board b = {0};
	struct client_prices p;

	publish(&b, CLIENT_BOARD_MAX + 8, PLACE_ALL, 0.5F);
	for (uint64_t c = 1; c <= CLIENT_BOARD_MAX; c++)
		assert_true(client_board_find(&b, c, 1, &p));
	assert_false(client_board_find(&b, CLIENT_BOARD_MAX + 1, 1, &p));
	client_board_fini(&b);
}

static void test_no_memory(void **state)
{
	struct client_board b = {0};
	struct client_prices p;

	fail_calloc = 1;
	publish(&b, 1, PLACE_ALL, 0.5F);
	assert_false(client_board_find(&b, 1, 1, &p));
	publish(&b, 1, PLACE_ALL, 0.5F);
	assert_true(client_board_find(&b, 1, 1, &p));
	client_board_fini(&b);
}

struct reader {
	pthread_t thread;
	const struct client_board *board;
	uint64_t torn, missed;
};

/* Every client is posted each time, with a price that tells the time. */
static void *look(void *arg)
{
	struct reader *r = arg;
	double last = 0;

	for (uint64_t i = 0; last < PUBLISHED; i++) {
		struct client_prices p;

		if (!client_board_find(r->board, i % CLIENTS + 1, 1, &p)) {
			r->missed++;
			continue;
		}
		r->torn += p.readahead != p.write / 2 || p.write < last;
		last = p.write;
	}
	return NULL;
}

static void test_never_torn(void **state)
{
	struct client_board b = {0};
	struct reader readers[2] = {{.board = &b}, {.board = &b}};

	publish(&b, CLIENTS, PLACE_ALL, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&readers[i].thread, NULL, look, &readers[i]), 0);
	for (unsigned int n = 2; n <= PUBLISHED; n++)
		publish(&b, CLIENTS, PLACE_ALL, (float)n);
	for (int i = 0; i < 2; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].torn, 0);
		assert_int_equal(readers[i].missed, 0);
	}
	client_board_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_posted),
		cmocka_unit_test(test_the_last_one_counts),
		cmocka_unit_test(test_exports),
		cmocka_unit_test(test_an_export_with_a_share),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_never_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
