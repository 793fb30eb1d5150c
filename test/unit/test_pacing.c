/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pacing of writers, and what dirty memory bids for the disk. */
#include "writeback/share.h"
#include "writeback/pacing.h"

#include "support.h"

#define BUDGET	  (24.0 * MIB)
#define DISK_RATE (50.0 * 1000 * 1000)
#define MAX	  (200 * MSEC)

static void test_nobody_waits_while_little_is_dirty(void **state)
{
	struct pacing *p = calloc(1, sizeof(*p));

	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(pacing_delay(p, i % 3, MIB, 0.7, DISK_RATE, MAX, SEC + i), 0);
	assert_int_equal(pacing_delay(p, 1, MIB, 5, DISK_RATE, 0, 2 * SEC), 0); /* switched off */
	assert_int_equal(pacing_delay(p, 1, MIB, 5, 0, MAX, 2 * SEC), 0);	/* rate unknown */
	free(p);
}

static void test_no_wait_is_longer_than_the_bound(void **state)
{
	struct pacing *p = calloc(1, sizeof(*p));

	for (uint64_t i = 0; i < 1000; i++)
		assert_true(pacing_delay(p, i % 7, 4 * MIB, 3, DISK_RATE, MAX, SEC + i) <= MAX);
	/* and the debt is forgotten as soon as the level is low again */
	assert_int_equal(pacing_delay(p, 1, MIB, 0.1, DISK_RATE, MAX, SEC + 2000), 0);
	free(p);
}

/*
 * CLIENTS with OUTSTANDING writes of 256 KiB each against a disk, for 20 s of virtual time; WEIGHT:
 * of client 0, how many times the outstanding writes of the others. Returns the highest level after
 * the first second; *slowest_fastest is of bytes.
 */
static double run(unsigned int clients, unsigned int outstanding, unsigned int weight,
		  double *written, double *slowest_fastest)
{
	struct pacing *p = calloc(1, sizeof(*p));
	uint64_t due[8][64], bytes[8] = {0}, now;
	double dirty = 0, high = 0, least = 1e18, most = 0, out = 0;

	memset(due, 0, sizeof(due));
	for (now = SEC; now < 21 * SEC; now += MSEC) {
		double go = dirty < DISK_RATE / 1000 ? dirty : DISK_RATE / 1000;

		dirty -= go;
		out += go;
		for (unsigned int c = 0; c < clients; c++)
			for (unsigned int i = 0; i < outstanding * (c ? 1 : weight); i++) {
				if (due[c][i] > now)
					continue;
				dirty += 256 * KIB;
				bytes[c] += 256 * KIB;
				due[c][i] = now + pacing_delay(p, 100 + c, 256 * KIB,
							       dirty / BUDGET, DISK_RATE, MAX, now);
			}
		if (now > 2 * SEC && dirty / BUDGET > high)
			high = dirty / BUDGET;
	}
	for (unsigned int c = 0; c < clients; c++) {
		least = (double)bytes[c] < least ? (double)bytes[c] : least;
		most = (double)bytes[c] > most ? (double)bytes[c] : most;
	}
	*slowest_fastest = least / most;
	*written = out / 20;
	free(p);
	return high;
}

static void test_level_settles_below_the_budget_at_full_speed(void **state)
{
	double written, fair;

	assert_true(run(1, 4, 1, &written, &fair) < 1);
	assert_true(written > 0.97 * DISK_RATE);
	assert_true(run(4, 4, 1, &written, &fair) < 1);
	assert_true(written > 0.97 * DISK_RATE);
	assert_true(fair > 0.95);
}

static void test_fair_among_unequal_clients(void **state)
{
	double written, fair;

	run(3, 4, 3, &written, &fair); /* one has 12 outstanding, two have 4 */
	assert_true(written > 0.95 * DISK_RATE);
	assert_true(fair > 0.8);
}

static void test_what_memory_buys(void **state)
{
	struct share_limits l = {.share_max = 0.5, .price_min = 1e-3, .age_max = 20 * SEC};

	assert_true(share_bought(&l, 0, 0, 0) == 0);
	assert_true(share_bought(&l, 5e-4, 0.01, SEC) == 0); /* too little dirty: defer */
	assert_true(share_bought(&l, 0.2, 0, 0) == 0.5);     /* an idle disk asks nothing */
	assert_true(share_bought(&l, 0.2, 0.2, 0) == 0.25);
	assert_true(share_bought(&l, 1, 1, 0) == 0.25);
	assert_true(share_bought(&l, 0, 1, 10 * SEC) == 0);
	assert_true(share_bought(&l, 0, 1, 15 * SEC) == 0.25); /* age bids too */
	assert_true(share_bought(&l, 0, 1, 20 * SEC) == 0.5);
	assert_true(share_bought(&l, 0, 1, 3600 * SEC) == 0.5);
	for (double m = 0; m < 1; m += 0.01)
		assert_true(share_bought(&l, m + 0.01, 0.3, 0) >= share_bought(&l, m, 0.3, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_waits_while_little_is_dirty),
		cmocka_unit_test(test_no_wait_is_longer_than_the_bound),
		cmocka_unit_test(test_level_settles_below_the_budget_at_full_speed),
		cmocka_unit_test(test_fair_among_unequal_clients),
		cmocka_unit_test(test_what_memory_buys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
