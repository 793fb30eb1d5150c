/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A hop of the emulated link: its rate, its queue, what it loses, and what others take of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "unit_cmocka.h"

#include "hop.h"

#define MS	UINT64_C(1000000)
#define SECOND	(1000 * MS)
#define PACKETS 20000

static struct hop hop_of(struct hop_params p)
{
	struct hop h;

	hop_init(&h, &p, 1, 0);
	return h;
}

static void test_a_packet_takes_its_time_on_the_line_and_the_delay(void **state)
{
	struct hop h = hop_of((struct hop_params){.rate = 8e6, .delay = 5 * MS, .queue = 65536});
	uint64_t leaves;

	assert_true(hop_pass(&h, 1000, 0, &leaves)); /* 1 MB/s */
	assert_int_equal(leaves, 6 * MS);
	assert_true(hop_pass(&h, 1000, 0, &leaves)); /* behind the first */
	assert_int_equal(leaves, 7 * MS);
	assert_true(hop_pass(&h, 1000, 100 * MS, &leaves)); /* the line was idle */
	assert_int_equal(leaves, 106 * MS);
}

static void test_without_a_rate_there_is_the_delay_only(void **state)
{
	struct hop h = hop_of((struct hop_params){.delay = MS, .queue = 1500});
	uint64_t leaves;

	for (int i = 0; i < 100; i++) {
		assert_true(hop_pass(&h, 1500, 0, &leaves));
		assert_int_equal(leaves, MS);
	}
}

static void test_a_full_queue_loses(void **state)
{
	struct hop h = hop_of((struct hop_params){.rate = 8e6, .queue = 3000});
	uint64_t leaves;

	for (int i = 0; i < 3; i++)
		assert_true(hop_pass(&h, 1000, 0, &leaves));
	assert_false(hop_pass(&h, 1000, 0, &leaves));
	assert_true(hop_pass(&h, 1000, MS, &leaves)); /* one has left */
	assert_int_equal(h.lost_in_queue, 1);
	assert_int_equal(h.packets, 5);
}

static void test_a_queue_of_so_many_packets_loses_small_ones_too(void **state)
{
	struct hop h = hop_of((struct hop_params){.rate = 8e6, .queue = 1 << 20, .slots = 3});
	uint64_t leaves;

	for (int i = 0; i < 3; i++)
		assert_true(hop_pass(&h, 1000, 0, &leaves));
	assert_false(hop_pass(&h, 40, 0, &leaves));
	assert_true(hop_pass(&h, 40, MS, &leaves)); /* one has left */
	assert_false(hop_pass(&h, 40, MS, &leaves));
	assert_true(hop_pass(&h, 40, 4 * MS, &leaves));
	assert_int_equal(h.lost_in_queue, 2);
}

static void test_loss_is_the_share_that_was_asked_for(void **state)
{
	struct hop h = hop_of((struct hop_params){.loss = 0.05, .queue = 1500});
	uint64_t leaves;

	for (uint64_t i = 0; i < PACKETS; i++)
		hop_pass(&h, 1000, i * MS, &leaves);
	assert_in_range(h.lost_by_chance, PACKETS * 4 / 100, PACKETS * 6 / 100);
}

static void test_others_take_their_share_and_delay_ours(void **state)
{
	struct hop h = hop_of(
		(struct hop_params){.rate = 8e6, .queue = 1 << 20, .cross = 0.5, .burst = 10});
	uint64_t leaves, waited = 0, last = 0;

	for (uint64_t i = 0; i < PACKETS; i++) {
		assert_true(hop_pass(&h, 100, i * 10 * MS, &leaves));
		assert_true(leaves >= last);
		last = leaves;
		waited += leaves - i * 10 * MS;
	}
	/* half of 1 MB/s, for 200 s, in packets of 1,000 bytes */
	assert_in_range(h.others, 95000, 105000);
	assert_true(waited / PACKETS > 3 * MS); /* alone it would be 0.1 ms */
}

static void test_bursts_of_others_lose_ours_where_the_queue_is_short(void **state)
{
	struct hop h =
		hop_of((struct hop_params){.rate = 8e6, .queue = 20000, .cross = 0.7, .burst = 30});
	uint64_t leaves;

	for (uint64_t i = 0; i < PACKETS; i++)
		hop_pass(&h, 1000, i * 10 * MS, &leaves);
	assert_true(h.lost_in_queue > PACKETS / 100);
	assert_true(h.lost_in_queue < PACKETS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_packet_takes_its_time_on_the_line_and_the_delay),
		cmocka_unit_test(test_without_a_rate_there_is_the_delay_only),
		cmocka_unit_test(test_a_full_queue_loses),
		cmocka_unit_test(test_a_queue_of_so_many_packets_loses_small_ones_too),
		cmocka_unit_test(test_loss_is_the_share_that_was_asked_for),
		cmocka_unit_test(test_others_take_their_share_and_delay_ours),
		cmocka_unit_test(test_bursts_of_others_lose_ours_where_the_queue_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
