/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a seek costs as observed, and the size of a turn that follows. */
#include "disk.h"

static void test_learns_the_disk(void **state)
{
	struct cost_model m = {0};

	learn_disk(&m);
	assert_in_range((uint64_t)(m.ns_per_byte * 1000), 7600,
			7800); /* 130 MB/s: 7.69 ns a byte */
	assert_in_range((uint64_t)m.seek_ns, DISK_SEEK * 99 / 100, DISK_SEEK * 101 / 100);
}

static void test_the_default_until_it_knows(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	assert_int_equal(cost_chunk(&m, &l.cost, 1, false), 4 * MIB);
	/* with many streams, what a 7200 rpm disk can do in 2 s / 100: 11 ms of 8 ns a byte */
	assert_int_equal(cost_chunk(&m, &l.cost, 100, true), 5 * MIB / 4);
	for (int i = 0; i < 7; i++)
		cost_observe(&m, MIB, DISK_NS(MIB), true);
	assert_int_equal(cost_chunk(&m, &l.cost, 1, false), 4 * MIB);
	l.cost.chunk_default = 100 * MIB; /* the bounds hold for it as well */
	assert_int_equal(cost_chunk(&m, &l.cost, 1, false), 8 * MIB);
}

/* Those that go together are shorter, as observed; but what disturbs them makes none dearer than one by itself. */
static void test_seeks_among_others(void **state)
{
	struct cost_model m = {0};
	uint64_t seek;

	cost_observe_among(&m, MIB, 0, DISK_SEEK); /* says nothing */
	assert_int_equal(cost_among_bytes(&m), cost_seek_bytes(&m));
	learn_disk(&m);
	seek = cost_seek_bytes(&m);
	for (int i = 0; i < 7; i++)
		cost_observe_among(&m, MIB, 4, DISK_NS(MIB) + 4 * DISK_SEEK / 2);
	assert_int_equal(cost_among_bytes(&m), seek); /* too few to be believed */
	cost_observe_among(&m, MIB, 4, DISK_NS(MIB) + 4 * DISK_SEEK / 2);
	assert_in_range(cost_among_bytes(&m), seek * 49 / 100, seek * 51 / 100);
	for (int i = 0; i < 100; i++)
		cost_observe_among(&m, MIB, 4, DISK_NS(MIB) + 40 * DISK_SEEK);
	assert_int_equal(cost_among_bytes(&m), seek);
	for (int i = 0; i < 100; i++)
		cost_observe_among(&m, MIB, 4, DISK_NS(MIB) / 2);
	/* they came out of a cache: more that go together will tell when that is over */
	assert_in_range(cost_among_bytes(&m), seek / 17, seek / 15);
	assert_int_equal(cost_seek_bytes(&m), seek);
}

/* What came before the bandwidth was known is no cheaper for that, once it is: here 4 ns a byte, half of the guess. */
static void test_seeks_among_others_of_a_fast_disk(void **state)
{
	struct cost_model m = {0};

	for (int i = 0; i < 8; i++)
		cost_observe_among(&m, MIB, 4, 4 * MIB + 4 * 2 * MSEC);
	assert_int_equal(cost_run_bytes(&m, MSEC), 0); /* not known */
	cost_restore(&m, 4, 8e6);
	assert_int_equal(cost_run_bytes(&m, MSEC), 250000);
	assert_int_equal(cost_seek_bytes(&m), 2000000);
	assert_int_equal(cost_among_bytes(&m), 500000);
}

static void test_what_goes_into_a_slice(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};
	uint64_t bytes;

	assert_int_equal(cost_slice_bytes(&m, &l.cost), (l.cost.demand_wait - 9000000) / 8);
	learn_disk(&m);
	bytes = cost_slice_bytes(&m, &l.cost);
	assert_in_range(DISK_NS(bytes), cost_slice(&m, &l.cost, 1) * 99 / 100,
			cost_slice(&m, &l.cost, 1) * 101 / 100);
}

/* A turn of C bytes costs C/bandwidth + seek: the seek must be no more than its share of that. */
static void test_seeks_keep_to_their_share(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	learn_disk(&m);
	l.cost.chunk_max = 1024 * MIB;
	for (uint32_t share = 2; share <= 90; share++) {
		uint64_t turn;

		l.cost.seek_share = share;
		/* chunks are rounded down to 256 KiB */
		turn = DISK_NS(cost_chunk(&m, &l.cost, 1, false) + 256 * KIB) + DISK_SEEK;
		assert_true(DISK_SEEK * 100 <= turn * share * 101 / 100);
	}
}

/* N streams in turn wait N turns: together no longer than Max_Wait. */
static void test_turns_fit_into_max_wait(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	learn_disk(&m);
	for (uint32_t n = 1; n < 200; n++) {
		uint64_t chunk = cost_chunk(&m, &l.cost, n, false);

		assert_in_range(chunk, l.cost.chunk_min, l.cost.chunk_max);
		if (chunk > l.cost.chunk_min)
			assert_true(n * (DISK_NS(chunk) + DISK_SEEK) <=
				    l.cost.max_wait * 101 / 100);
	}
}

static void test_small_demands_make_chunks_short(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	learn_disk(&m);
	assert_true(DISK_NS(cost_chunk(&m, &l.cost, 8, true)) + DISK_SEEK <= l.cost.demand_wait);
	assert_true(cost_chunk(&m, &l.cost, 8, true) < cost_chunk(&m, &l.cost, 8, false));
	l.cost.demand_wait = MSEC; /* cannot be had: the least */
	assert_int_equal(cost_chunk(&m, &l.cost, 8, true), l.cost.chunk_min);
	assert_true(cost_slice(&m, &l.cost, 1) > 0);
}

static void test_odd_observations_do_no_harm(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};
	uint64_t before;

	cost_observe(&m, 0, SEC, true);
	assert_int_equal(m.runs, 0);
	learn_disk(&m);
	before = cost_chunk(&m, &l.cost, 8, false);
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 7; k++) {
			cost_observe(&m, MIB, 60 * SEC, true); /* a pause is no bandwidth */
			cost_observe(&m, 4096, 10 * SEC, true);
			cost_observe(&m, 0, 10 * SEC, false);
			cost_observe(&m, 8192, 5000, false); /* out of memory: no seek of 0 */
		}
		learn_disk(&m);
	}
	assert_int_equal(cost_chunk(&m, &l.cost, 8, false), before);
}

/* Eight fast reads (holes, a cache below us) once made every one of a disk an accident for ever. */
static void test_a_fast_burst_is_not_believed_for_ever(void **state)
{
	struct cost_model m = {0};

	for (int i = 0; i < 20; i++)
		cost_observe(&m, MIB, MIB / 5, true);
	for (int i = 0; i < 20; i++)
		cost_observe(&m, MIB, DISK_NS(MIB), true);
	assert_in_range((uint64_t)(m.ns_per_byte * 1000), 7600, 7800);
}

/* Bandwidth learnt in a bad minute must not keep seeks from being learnt. */
static void test_a_slow_spell_is_not_believed_for_ever(void **state)
{
	struct cost_model m = {0};

	for (int i = 0; i < 20; i++)
		cost_observe(&m, MIB, SEC, true);
	for (int i = 0; i < 20; i++)
		cost_observe(&m, 64 * KIB, 10 * MSEC, false);
	assert_in_range((uint64_t)m.seek_ns, 9 * MSEC, 11 * MSEC);
}

static void seeks(struct cost_model *m, int n, uint64_t ns)
{
	for (int i = 0; i < n; i++)
		cost_observe(m, 4 * KIB, ns, false);
}

/* A drive that retries for half a minute, or a path that is lost so long, has made no seek of that. */
static void test_a_read_that_hung_is_no_seek(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};
	uint64_t before;

	learn_disk(&m);
	seeks(&m, 100, 8 * MSEC);
	before = cost_chunk(&m, &l.cost, 8, false);
	seeks(&m, 1, 30 * SEC);
	assert_in_range((uint64_t)m.seek_ns, 7 * MSEC, 9 * MSEC);
	assert_int_equal(cost_chunk(&m, &l.cost, 8, false), before);
	for (int i = 0; i < 20; i++) {
		seeks(&m, 1, 8 * MSEC);
		seeks(&m, 7, 120 * SEC);
	}
	assert_in_range((uint64_t)m.seek_ns, 7 * MSEC, 9 * MSEC);
}

/* What most reads take it is, however long. */
static void test_seeks_that_became_dear_are_believed(void **state)
{
	struct cost_model m = {0};

	seeks(&m, 100, 8 * MSEC);
	seeks(&m, 16, SEC);
	assert_in_range((uint64_t)m.seek_ns, SEC * 99 / 100, SEC * 101 / 100);
}

/* Of a drive whose cache answers most, each that the arm went for counts, also beside a mean of those. */
static void test_a_usual_seek_is_no_accident(void **state)
{
	struct cost_model m = {0};

	for (int i = 0; i < 100; i++) {
		seeks(&m, 15, MSEC / 10);
		seeks(&m, 1, 9 * MSEC);
	}
	assert_true(m.seek_ns > MSEC);
}

/* Without seeks (a solid-state disk) nothing divides by them. */
static void test_a_seek_is_seen_before_it_is_known(void **state)
{
	struct cost_model m = {.seek_ns = 0};

	assert_int_equal(cost_seek_bytes_seen(&m, 10 * MSEC), 0);
	for (int i = 0; i < 8; i++)
		cost_observe(&m, MIB, 8 * MIB, true);
	assert_int_equal(cost_seek_bytes_seen(&m, 0), 0);
	assert_int_equal(cost_seek_bytes_seen(&m, 16 * MIB), MIB);
	for (int i = 0; i < 8; i++)
		cost_observe(&m, MIB, 12 * MIB, false);
	assert_int_equal(cost_seek_bytes_seen(&m, 16 * MIB), MIB / 2);
}

static void test_a_disk_without_seeks(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	for (int i = 0; i < 16; i++) {
		cost_observe(&m, MIB, MSEC, true);
		cost_observe(&m, MIB, MSEC, false);
	}
	assert_in_range(cost_chunk(&m, &l.cost, 8, false), l.cost.chunk_min, l.cost.chunk_max);
}

/* Where reads are served beside each other a chunk keeps them waiting for milliseconds, and no less than is worth while. */
static void test_a_turn_beside_others(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	l.cost.chunk_max = 16 * MIB;
	assert_int_equal(cost_chunk_direct(&m, &l.cost), MIB); /* nothing is known yet */
	for (int i = 0; i < 8; i++)
		cost_observe(&m, 512 * KIB, 512 * KIB, true); /* 1 GB/s */
	assert_int_equal(cost_chunk_direct(&m, &l.cost), 15 * MIB / 4);
	for (int i = 0; i < 8; i++)
		cost_observe(&m, 512 * KIB, 512 * KIB + 100000, false);
	assert_int_equal(cost_chunk_direct(&m, &l.cost), 15 * MIB / 4);
	for (int i = 0; i < 100; i++)
		cost_observe(&m, 512 * KIB, 8 * 512 * KIB, true); /* a slow card */
	assert_int_equal(cost_chunk_direct(&m, &l.cost), MIB);
	l.cost.chunk_max = 512 * KIB;
	assert_int_equal(cost_chunk_direct(&m, &l.cost), 512 * KIB);
}

/* What says that it does not rotate, and seeks: a virtual machine's disk, an array's. */
static void test_a_turn_beside_others_that_seeks(void **state)
{
	struct sched_limits l = default_limits();
	struct cost_model m = {0};

	l.cost.chunk_max = 16 * MIB;
	learn_disk(&m);
	l.cost.seek_share = 10;
	assert_in_range(cost_chunk_direct(&m, &l.cost), 9 * cost_seek_bytes(&m) - MIB,
			9 * cost_seek_bytes(&m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns_the_disk),
		cmocka_unit_test(test_the_default_until_it_knows),
		cmocka_unit_test(test_seeks_keep_to_their_share),
		cmocka_unit_test(test_turns_fit_into_max_wait),
		cmocka_unit_test(test_small_demands_make_chunks_short),
		cmocka_unit_test(test_odd_observations_do_no_harm),
		cmocka_unit_test(test_a_fast_burst_is_not_believed_for_ever),
		cmocka_unit_test(test_a_slow_spell_is_not_believed_for_ever),
		cmocka_unit_test(test_a_read_that_hung_is_no_seek),
		cmocka_unit_test(test_seeks_that_became_dear_are_believed),
		cmocka_unit_test(test_a_usual_seek_is_no_accident),
		cmocka_unit_test(test_a_seek_is_seen_before_it_is_known),
		cmocka_unit_test(test_a_disk_without_seeks),
		cmocka_unit_test(test_seeks_among_others),
		cmocka_unit_test(test_seeks_among_others_of_a_fast_disk),
		cmocka_unit_test(test_what_goes_into_a_slice),
		cmocka_unit_test(test_a_turn_beside_others),
		cmocka_unit_test(test_a_turn_beside_others_that_seeks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
