/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The mean of what is not stable, of what may be. */
#include "fake_source.h"
#include "pricing/meter_unstable.h"

#define WINDOW (500 * MS)
#define STEP   (50 * MS)

static struct meter_unstable meter;
static uint64_t now;

static void start(void)
{
	meter = (struct meter_unstable){0};
	now = SECOND;
}

/* At the levels in turn, each for a step. */
static void run(const double *levels, unsigned int n, unsigned int steps)
{
	for (unsigned int i = 0; i < steps; i++, now += STEP)
		meter_unstable_sample(&meter, WINDOW, STEP, now, levels[i % n]);
}

static void test_nothing(void **state)
{
	static const double none[] = {0};

	start();
	run(none, 1, 1);
	assert_true(meter.utilization == 0);
	run(none, 1, 20);
	assert_true(meter.utilization == 0);
}

/* WRITEs fill it and a COMMIT empties it, several times a window: the price is of the mean, whenever it is asked for. */
static void test_a_saw_is_its_mean(void **state)
{
	static const double saw[] = {0.15, 0.3, 0.45, 0.6, 0.75};

	start();
	run(saw, 5, 20);
	for (unsigned int i = 0; i < 25; i++) {
		run(saw + i % 5, 1, 1);
		assert_near(meter.utilization, 0.45, 0.001);
	}
}

/* It follows within a window, and forgets in one. */
static void test_it_follows(void **state)
{
	static const double full[] = {1}, none[] = {0};

	start();
	run(none, 1, 40);
	run(full, 1, 11);
	assert_true(meter.utilization > 0.95);
	run(none, 1, 11);
	assert_true(meter.utilization < 0.05);
}

/* The bound is none of the kernel's: it may be exceeded, and is full then, no fuller. */
static void test_above_the_bound_is_full(void **state)
{
	static const double odd[] = {6, 0}, wrong[] = {-1};

	start();
	run(odd, 2, 40);
	assert_near(meter.utilization, 0.5, 0.06);
	run(wrong, 1, 20);
	assert_true(meter.utilization == 0);
}

/* A look after a long time speaks for its step; without one for all the time. */
static void test_a_late_look(void **state)
{
	start();
	meter_unstable_sample(&meter, WINDOW, STEP, now, 0);
	meter_unstable_sample(&meter, WINDOW, STEP, now + WINDOW, 1);
	assert_near(meter.utilization, 0.1, 0.001);
	start();
	meter_unstable_sample(&meter, WINDOW, 0, now, 0);
	meter_unstable_sample(&meter, WINDOW, 0, now + WINDOW, 1);
	assert_near(meter.utilization, 1, 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),	    cmocka_unit_test(test_a_saw_is_its_mean),
		cmocka_unit_test(test_it_follows),  cmocka_unit_test(test_above_the_bound_is_full),
		cmocka_unit_test(test_a_late_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
