/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What it takes to believe that a disk does not seek, and that it does after all. */
#include "disk/seek_evidence.h"
#include "support.h"

static struct seek_evidence e;
static uint64_t at;

/* One read of LEN bytes, 100 MiB further on, that took NS among READERS. */
static enum device_learns read_one(uint64_t len, uint64_t ns, uint32_t readers)
{
	struct seek_sample s = {
		.block = at += 100 * MIB, .len = len, .service = ns, .readers = readers};

	s.end = s.block + len;
	s.ns_per_byte = 8;
	return seek_evidence_add(&e, &s);
}

/* How many small reads of NS it takes to learn anything, at most MAX; what is learnt. */
static int reads_until(enum device_learns *what, uint64_t ns, int max)
{
	for (int i = 1; i <= max; i++) {
		*what = read_one(4 * KIB, ns, 1);
		if (*what != DEVICE_LEARNS_NOTHING)
			return i;
	}
	return 0;
}

static int start(void **state)
{
	e = (struct seek_evidence){0};
	at = 0;
	return 0;
}

static void test_most_must_be_free(void **state)
{
	enum device_learns what;

	assert_int_equal(reads_until(&what, 50000, 100), SEEKS_JUDGED);
	assert_int_equal(what, DEVICE_LEARNS_FREE);
	assert_in_range((uint64_t)e.mean, 1, 50000);
	/* one in four that seeks is enough */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(read_one(4 * KIB, i % 4 ? 1000 : 9 * MSEC, 1),
				 DEVICE_LEARNS_NOTHING);
}

static void test_a_disk_is_found_out_soon(void **state)
{
	enum device_learns what;

	assert_int_equal(reads_until(&what, 9 * MSEC, 100), SEEKS_DEAR);
	assert_int_equal(what, DEVICE_LEARNS_DEAR);
	/* also while the drive's cache answers every other one */
	for (int i = 0; i < SEEKS_JUDGED; i++) {
		what = read_one(4 * KIB, i % 2 ? 1000 : 9 * MSEC, 1);
		if (what != DEVICE_LEARNS_NOTHING)
			break;
	}
	assert_int_equal(what, DEVICE_LEARNS_DEAR);
}

/* Neither what is between, nor a flash that many read from at once. */
static void test_what_is_no_evidence(void **state)
{
	enum device_learns what;

	assert_int_equal(reads_until(&what, 2 * MSEC, 1000), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_not_equal(read_one(MIB, 50 * 2 * MSEC, 50), DEVICE_LEARNS_DEAR);
	/* eight steps of a disk that wait for each other are dear, one by one */
	for (int i = 0; i < SEEKS_JUDGED; i++) {
		what = read_one(512 * KIB, UINT64_C(8) * 13 * MSEC, 8);
		if (what != DEVICE_LEARNS_NOTHING)
			break;
	}
	assert_int_equal(what, DEVICE_LEARNS_DEAR);
}

/* Others that hang in a failing disk must not make its seeks look shared, and free. */
static void test_readers_that_hang_make_no_seek_free(void **state)
{
	for (int i = 0; i < 1000; i++)
		assert_int_not_equal(read_one(4 * KIB, 8 * MSEC, 17), DEVICE_LEARNS_FREE);
}

/* The drive reads ahead by itself: what follows closely is in its memory. */
static void test_near_reads_do_not_count(void **state)
{
	struct seek_sample s = {.block = 1000 * MIB, .len = 4 * KIB, .service = 50000};

	for (int i = 0; i < 1000; i++) {
		s.block += i % 2 ? SEEK_FAR - s.len : 64 * KIB;
		s.end = s.block + s.len;
		assert_int_equal(seek_evidence_add(&e, &s), DEVICE_LEARNS_NOTHING);
	}
}

/* A medium taken for slow, because others disturb it, must not make every seek look free. */
static void test_a_slow_medium_hides_no_seek(void **state)
{
	struct seek_sample s = {.len = 512 * KIB, .service = 12 * MSEC, .ns_per_byte = 100};

	for (int i = 0; i < 1000; i++) {
		s.block += 100 * MIB;
		s.end = s.block + s.len;
		assert_int_not_equal(seek_evidence_add(&e, &s), DEVICE_LEARNS_FREE);
	}
}

/*
 * What is learnt of a file of which each MiB lies elsewhere, read by steps of 512 KiB so that only every other
 * one has a seek, of NS, and that within it.
 */
static enum device_learns read_in_pieces(uint64_t ns)
{
	enum device_learns what = DEVICE_LEARNS_NOTHING;

	for (int i = 0; i < 1000 && what == DEVICE_LEARNS_NOTHING; i++) {
		struct seek_sample s = {
			.block = at, .len = 512 * KIB, .readers = 1, .ns_per_byte = 8};

		s.seeks = i % 2 ? 1 : 0;
		s.service = 512 * KIB * 8 + s.seeks * ns;
		s.end = at += s.len + s.seeks * 100 * MIB;
		what = seek_evidence_add(&e, &s);
	}
	return what;
}

static void test_a_seek_within_a_read_is_that_reads(void **state)
{
	assert_int_equal(read_in_pieces(9 * MSEC), DEVICE_LEARNS_DEAR);
	start(state);
	assert_int_equal(read_in_pieces(50000), DEVICE_LEARNS_FREE);
}

/* Ten of them in a read that takes as long as two: none is dear, nor is one free because others are. */
static void test_seeks_within_a_read_share_its_time(void **state)
{
	struct seek_sample s = {.len = 512 * KIB, .readers = 1, .seeks = 9, .ns_per_byte = 8};

	s.service = 512 * KIB * 8 + 18 * MSEC;
	for (int i = 0; i < 1000; i++) {
		s.block = s.end + 100 * MIB;
		s.end = s.block + 1000 * MIB;
		assert_int_equal(seek_evidence_add(&e, &s), DEVICE_LEARNS_NOTHING);
	}
}

/*
 * A file whose every other 16 KiB were written anew, and so lie elsewhere, one behind the other: the kernel and the
 * drive sort what a read of 512 KiB asks for, and the heads go over and back once, not 31 times.
 */
static void test_what_is_sorted_makes_no_seek_free(void **state)
{
	struct seek_sample s = {.len = 512 * KIB, .readers = 1, .seeks = 31, .ns_per_byte = 8};

	s.service = 512 * KIB * 8 + 18 * MSEC;
	for (int i = 0; i < 1000; i++) {
		s.block = i * 512 * KIB;
		s.end = s.block + 100000 * MIB;
		assert_int_not_equal(seek_evidence_add(&e, &s), DEVICE_LEARNS_FREE);
	}
}

/* Of 32 places all over the disk, that a drive with a queue goes to in its own order, each costs 3.5 ms. */
static void test_many_in_the_drives_order_are_dear(void **state)
{
	struct seek_sample s = {.len = 512 * KIB, .readers = 1, .seeks = 31, .ns_per_byte = 8};
	enum device_learns what = DEVICE_LEARNS_NOTHING;

	s.service = 512 * KIB * 8 + 32 * 35 * MSEC / 10;
	for (int i = 0; i < SEEKS_JUDGED && what == DEVICE_LEARNS_NOTHING; i++) {
		s.block = s.end + 100 * MIB;
		s.end = s.block + 1000 * MIB;
		what = seek_evidence_add(&e, &s);
	}
	assert_int_equal(what, DEVICE_LEARNS_DEAR);
}

static void test_who_returned_must_show_more(void **state)
{
	enum device_learns what;

	for (int i = 0; i < 20; i++) {
		int rounds = 1 << (i < SEEKS_RETURNS_MAX ? i : SEEKS_RETURNS_MAX);

		assert_int_equal(reads_until(&what, 50000, 10000), rounds * SEEKS_JUDGED);
		assert_int_equal(what, DEVICE_LEARNS_FREE);
		assert_int_equal(reads_until(&what, 9 * MSEC, 100), SEEKS_DEAR);
		seek_evidence_returned(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_most_must_be_free, start),
		cmocka_unit_test_setup(test_a_disk_is_found_out_soon, start),
		cmocka_unit_test_setup(test_what_is_no_evidence, start),
		cmocka_unit_test_setup(test_readers_that_hang_make_no_seek_free, start),
		cmocka_unit_test_setup(test_near_reads_do_not_count, start),
		cmocka_unit_test_setup(test_a_slow_medium_hides_no_seek, start),
		cmocka_unit_test_setup(test_a_seek_within_a_read_is_that_reads, start),
		cmocka_unit_test_setup(test_seeks_within_a_read_share_its_time, start),
		cmocka_unit_test_setup(test_what_is_sorted_makes_no_seek_free, start),
		cmocka_unit_test_setup(test_many_in_the_drives_order_are_dear, start),
		cmocka_unit_test_setup(test_who_returned_must_show_more, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
