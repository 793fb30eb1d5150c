/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order in which a disk reads records: learnt on modelled drives, better than theirs in the file. */
#include "disk_model.h"
#include "sched/access_order.h"
#include "support.h"

static void test_each_once(void **state)
{
	struct access_order a = {0};
	uint64_t left = ~UINT64_C(0), seed = 4;

	for (int last = -1; left;) {
		unsigned int next = access_order_next(&a, left, last);

		assert_true(left >> next & 1);
		left &= ~(UINT64_C(1) << next);
		if (last >= 0)
			access_order_observe(&a, MIB, last, (int)next, random_below(&seed, MSEC));
		last = (int)next;
	}
}

static void test_the_cheapest_distance(void **state)
{
	struct access_order a = {0};

	for (int i = 0; i < 8; i++) {
		access_order_observe(&a, MIB, 10, 11, 8 * MSEC);
		access_order_observe(&a, MIB, 10, 7, 2 * MSEC);
	}
	assert_int_equal(access_order_next(&a, 1u << 11 | 1u << 7, 10), 7);
	/* what was learnt of another step means nothing */
	access_order_observe(&a, 2 * MIB, 1, 0, 8 * MSEC);
	assert_int_equal(access_order_next(&a, 1u << 11 | 1u << 9, 10), 11);
}

/* What lies close, as on an arm of an array, comes as fast in no other order. */
static void test_close_ones_stay_in_order(void **state)
{
	struct access_order a = {0};

	access_order_observe(&a, MIB, 0, 1, 2 * MSEC);
	assert_int_equal(access_order_next(&a, ~UINT64_C(3), 1), 2);
	for (int i = 2; i < 8; i++)
		access_order_observe(&a, MIB, i - 1, i, 2 * MSEC);
	access_order_observe(&a, MIB, 7, 8, 60 * MSEC); /* another program was in between */
	assert_int_equal(access_order_next(&a, ~UINT64_C(0x1ff), 8), 9);
}

/* A drive, and what is read of it. */
struct scene {
	const char *option, *value; /* of the drive; NULL: as shipped */
	uint64_t step;
	uint64_t chunks; /* of ACCESS_PIECES records of 64 KiB each */
};

/* ns that it takes, in the file's order or ours. */
static uint64_t time_of(const struct scene *scene, bool ordered)
{
	struct disk_params params;
	struct disk_model *disk;
	struct access_order a = {0};
	uint64_t now = SEC, begun = now;
	char error[128];

	disk_params_default(&params);
	if (scene->option != NULL)
		assert_int_equal(
			disk_params_set(&params, scene->option, scene->value, error, sizeof(error)),
			0);
	disk = disk_model_new(&params);
	assert_non_null(disk);
	for (uint64_t chunk = 0; chunk < scene->chunks; chunk++) {
		uint64_t left = ~UINT64_C(0), came = 0;

		for (int last = -1; left;) {
			unsigned int next = ordered ? access_order_next(&a, left, last)
						    : (unsigned int)__builtin_ctzll(left);
			struct disk_service s;

			disk_model_serve(disk, DISK_READ,
					 (chunk * ACCESS_PIECES + next) * scene->step, 64 * KIB,
					 (int64_t)now, &s);
			if (last >= 0)
				access_order_observe(&a, scene->step, last, (int)next,
						     (uint64_t)s.end_ns - came);
			came = (uint64_t)s.end_ns;
			now = came + 200000; /* the host's part */
			left &= ~(UINT64_C(1) << next);
			last = (int)next;
		}
	}
	disk_model_free(disk);
	return now - begun;
}

/* How many times as fast ours is. */
static double gain(const char *option, const char *value, uint64_t step, uint64_t chunks)
{
	struct scene scene = {option, value, step, chunks};
	uint64_t ordered = time_of(&scene, true), plain = time_of(&scene, false);

	print_message("%s %s, step %ju KiB: %ju ms, in order %ju\n", option ? option : "drive",
		      value ? value : "as shipped", (uintmax_t)(step / KIB),
		      (uintmax_t)(ordered / MSEC), (uintmax_t)(plain / MSEC));
	return (double)plain / (double)ordered;
}

static void test_a_drive_is_learnt(void **state)
{
	static const uint64_t steps[] = {MIB,	     2 * MIB,	3 * MIB,   8 * MIB,
					 1200 * KIB, 128 * KIB, 256 * KIB, 320 * KIB};

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		assert_true(gain(NULL, NULL, steps[i], 4) >= 0.9);
	assert_true(gain(NULL, NULL, MIB, 4) > 2);
}

/* The drive has a zone in each 256 MiB: on the next one a step is another part of a turn. */
static void test_other_zones_are_learnt_soon(void **state)
{
	assert_true(gain(NULL, NULL, MIB, 16) > 1.8);
}

static void test_other_speeds(void **state)
{
	assert_true(gain("rpm", "5400", MIB, 8) > 1.5);
	assert_true(gain("rpm", "5900", MIB, 8) > 2);
	assert_true(gain("rpm", "6300", MIB, 8) > 1.5); /* none of the usual ones */
	assert_true(gain("rpm", "15000", 3 * MIB, 8) > 0.9);
}

static void test_flash_is_not_made_slower(void **state)
{
	assert_true(gain("solid", "1", MIB, 8) > 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_the_cheapest_distance),
		cmocka_unit_test(test_close_ones_stay_in_order),
		cmocka_unit_test(test_a_drive_is_learnt),
		cmocka_unit_test(test_other_zones_are_learnt_soon),
		cmocka_unit_test(test_other_speeds),
		cmocka_unit_test(test_flash_is_not_made_slower),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
