/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The modelled disk's mechanics and queue, in the model's own time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "unit_cmocka.h"
#include <string.h>

#include "disk_array.h"
#include "disk_queue.h"
#include "disk_selftest.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define MS  INT64_C(1000000)

static struct disk_params defaults(void)
{
	struct disk_params params;

	disk_params_default(&params);
	return params;
}

static struct disk_service serve(struct disk_model *model, enum disk_op op, uint64_t offset,
				 uint64_t length, int64_t now_ns)
{
	struct disk_service service;

	disk_model_serve(model, op, offset, length, now_ns, &service);
	return service;
}

static void test_self_test_passes(void **state)
{
	struct disk_params params = defaults();

	assert_int_equal(disk_selftest(&params, stdout), 0);
}

static void test_self_test_of_an_array_passes(void **state)
{
	struct disk_params params = defaults();

	params.spindles = 4;
	assert_int_equal(disk_selftest(&params, stdout), 0);
	params.solid = 1;
	params.overhead_us = 100;
	assert_int_equal(disk_selftest(&params, stdout), 0);
}

/* Each byte of the host's is on one spindle, and is found again. */
static void test_an_array_holds_each_byte_once(void **state)
{
	static const uint64_t length[] = {1, 4096, 64 * KIB, 100 * KIB, MIB, 3 * MIB + 5};
	struct disk_array array = {.spindles = 5, .stripe = 64 * KIB};

	for (uint64_t offset = 0; offset < 2 * MIB; offset += 12345) {
		for (size_t n = 0; n < sizeof(length) / sizeof(length[0]); n++) {
			uint64_t sum = 0;

			for (uint32_t i = 0; i < array.spindles; i++) {
				struct disk_part part =
					disk_array_part(&array, i, offset, length[n]);
				uint64_t host = disk_array_host(&array, i, part.offset);

				sum += part.length;
				if (part.length) {
					assert_in_range(host, offset, offset + length[n] - 1);
					host = disk_array_host(&array, i,
							       part.offset + part.length - 1);
					assert_in_range(host, offset, offset + length[n] - 1);
				}
			}
			assert_int_equal(sum, length[n]);
		}
	}
}

static void test_an_array_needs_whole_stripes(void **state)
{
	struct disk_params params = defaults();
	char err[256];

	params.spindles = 4;
	assert_int_equal(disk_params_check(&params, err, sizeof(err)), 0);
	assert_true(disk_array_spindle(&params).size_mb == 1024);
	params.spindles = 3;
	assert_int_equal(disk_params_check(&params, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "--size"));
	params.spindles = 2.5;
	assert_int_equal(disk_params_check(&params, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "--spindles"));
}

static void test_options_have_ranges(void **state)
{
	struct disk_params params = defaults();
	char err[256];

	assert_int_equal(disk_params_set(&params, "rpm", "5400", err, sizeof(err)), 0);
	assert_true(params.rpm == 5400);
	assert_int_equal(disk_params_set(&params, "rpm", "0", err, sizeof(err)), -1);
	assert_non_null(strstr(err, "rpm"));
	assert_non_null(strstr(err, "1000 to 30000"));
	assert_int_equal(disk_params_set(&params, "rpm", "fast", err, sizeof(err)), -1);
	assert_int_equal(disk_params_set(&params, "rpm", "nan", err, sizeof(err)), -1);
	assert_int_equal(disk_params_set(&params, "rpm", "7200x", err, sizeof(err)), -1);
	assert_int_equal(disk_params_set(&params, "warp", "9", err, sizeof(err)), -1);
	params.seek_max_ms = 0.1;
	assert_int_equal(disk_params_check(&params, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "seek-max"));
}

static void test_seek_curve(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	uint64_t track = disk_model_bytes_per_track(model, 0), size = disk_model_size(model);
	int64_t last = 0;

	assert_int_equal(disk_model_seek_ns(model, 0, track - 1), 0);
	assert_int_equal(disk_model_seek_ns(model, 0, track), 800000);
	assert_in_range(disk_model_seek_ns(model, 0, size - 1), 14900000, 15000000);
	for (uint64_t to = 0; to < size; to += size / 997) {
		int64_t seek = disk_model_seek_ns(model, 0, to);

		assert_true(seek >= last);
		assert_int_equal(seek, disk_model_seek_ns(model, to, 0));
		last = seek;
	}
	disk_model_free(model);
}

static void test_zones_slow_down_inwards(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	uint64_t size = disk_model_size(model);

	assert_true(disk_model_media_ns(model, 0, MIB) * 19 <
		    disk_model_media_ns(model, size - MIB, size) * 10);
	assert_true(disk_model_bytes_per_track(model, 0) >=
		    2 * disk_model_bytes_per_track(model, size - 1));
	disk_model_free(model);
}

static void test_successor_comes_from_the_segment(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_service service = serve(model, DISK_READ, 64 * MIB, 128 * KIB, 0);

	assert_false(service.hit);
	/* 20 ms later the drive has read some 2.7 MiB on. */
	service =
		serve(model, DISK_READ, 64 * MIB + 128 * KIB, 128 * KIB, service.end_ns + 20 * MS);
	assert_true(service.hit);
	assert_int_equal(service.seek_ns, 0);
	assert_true(service.end_ns - service.start_ns < MS);
	disk_model_free(model);
}

static void test_full_segment_pauses_the_head(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_service service = serve(model, DISK_READ, 0, 128 * KIB, 0);
	int64_t later = service.end_ns + 1000 * MS;

	service = serve(model, DISK_READ, 128 * KIB, 8 * MIB, later);
	assert_true(service.hit);
	assert_true(service.end_ns - later < 20 * MS);
	/* One byte range more than was kept: gone on after at most a revolution. */
	service = serve(model, DISK_READ, 128 * KIB + 8 * MIB, MIB, service.end_ns + 1000 * MS);
	assert_true(service.hit);
	disk_model_free(model);
}

static void test_bytes_far_behind_are_gone(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_service service = {0};

	for (uint64_t at = 0; at < 16 * MIB; at += MIB)
		service = serve(model, DISK_READ, at, MIB, service.end_ns);
	service = serve(model, DISK_READ, 12 * MIB, 64 * KIB, service.end_ns);
	assert_true(service.hit);
	service = serve(model, DISK_READ, 0, 64 * KIB, service.end_ns);
	assert_false(service.hit);
	disk_model_free(model);
}

/* Pieces of one transfer that arrive a little out of order cost no revolution. */
static void test_small_gap_is_read_through(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_service service = serve(model, DISK_READ, 0, MIB, 0);
	int64_t start = service.end_ns;

	service = serve(model, DISK_READ, MIB + 256 * KIB, MIB, start);
	assert_true(service.hit);
	service = serve(model, DISK_READ, MIB, 256 * KIB, service.end_ns);
	assert_true(service.hit);
	assert_true(service.end_ns - start < 12 * MS);
	disk_model_free(model);
}

static void test_segments_keep_several_streams(void **state)
{
	struct disk_params params = defaults();
	struct disk_service service = {0};
	struct disk_model *model;

	params.segments = 2;
	model = disk_model_new(&params);
	service = serve(model, DISK_READ, 0, MIB, 0);
	service = serve(model, DISK_READ, 1024 * MIB, MIB, service.end_ns + 50 * MS);
	service = serve(model, DISK_READ, MIB, 256 * KIB, service.end_ns);
	assert_true(service.hit);
	assert_int_equal(service.seek_ns, 0);
	disk_model_free(model);
}

static void test_writes_join_and_spoil_segments(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_service service = serve(model, DISK_READ, 0, MIB, 0);

	service = serve(model, DISK_WRITE, 512 * KIB, 64 * KIB, service.end_ns);
	assert_false(service.joined);
	service = serve(model, DISK_WRITE, 576 * KIB, 64 * KIB, service.end_ns + MS);
	assert_true(service.joined);
	service = serve(model, DISK_WRITE, 640 * KIB, 64 * KIB, service.end_ns + 100 * MS);
	assert_false(service.joined);
	service = serve(model, DISK_READ, 512 * KIB, 64 * KIB, service.end_ns);
	assert_false(service.hit);
	disk_model_free(model);
}

static void add(struct disk_queue *queue, struct disk_command *command, uint64_t offset,
		int64_t arrival_ns)
{
	*command = (struct disk_command){
		.offset = offset, .length = 8 * KIB, .arrival_ns = arrival_ns};
	disk_queue_add(queue, command);
}

/* Every write takes so much longer, whether it joins the one before or not. */
static void test_writes_may_take_longer(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *plain = disk_model_new(&params), *slow;
	int64_t first, extra;

	params.write_extra_ms = 2;
	slow = disk_model_new(&params);
	first = serve(plain, DISK_WRITE, MIB, MIB, 0).end_ns;
	extra = serve(slow, DISK_WRITE, MIB, MIB, 0).end_ns - first;
	assert_int_equal(extra, 2 * MS);
	extra = serve(slow, DISK_WRITE, 2 * MIB, MIB, first + 2 * MS).end_ns -
		serve(plain, DISK_WRITE, 2 * MIB, MIB, first).end_ns;
	assert_int_equal(extra, 4 * MS);
	disk_model_free(plain);
	disk_model_free(slow);
}

static void test_flash_takes_the_same_everywhere(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model;
	int64_t near, far;

	params.solid = 1;
	params.overhead_us = 100;
	model = disk_model_new(&params);
	near = serve(model, DISK_READ, 0, 8192, 0).end_ns;
	far = serve(model, DISK_READ, 4000 * MIB, 8192, near).end_ns;
	assert_int_equal(far - near, near);
	assert_in_range(near, 150000, 160000);
	assert_int_equal(disk_model_estimate(model, DISK_READ, 2000 * MIB, 8192, far), 0);
	disk_model_free(model);
}

static void test_depth_one_is_first_come_first_served(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_command c[3];
	struct disk_queue queue;

	disk_queue_init(&queue, 1, 500 * MS);
	add(&queue, &c[0], 4000 * MIB, 0);
	add(&queue, &c[1], 0, 0);
	add(&queue, &c[2], 2000 * MIB, 0);
	assert_int_equal(queue.count_max, 3);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(disk_queue_take(&queue, model, 0), &c[i]);
	assert_null(disk_queue_take(&queue, model, 0));
	add(&queue, &c[0], 0, 0);
	assert_ptr_equal(disk_queue_take(&queue, model, 0), &c[0]);
	disk_model_free(model);
}

static void test_tagged_queue_takes_the_nearest_until_one_is_old(void **state)
{
	struct disk_params params = defaults();
	struct disk_model *model = disk_model_new(&params);
	struct disk_command c[3];
	struct disk_queue queue;
	int64_t now;

	now = serve(model, DISK_READ, 2000 * MIB, MIB, 0).end_ns;
	disk_queue_init(&queue, 32, 500 * MS);
	add(&queue, &c[0], 0, now);
	add(&queue, &c[1], 4000 * MIB, now);
	add(&queue, &c[2], 2001 * MIB, now);
	assert_ptr_equal(disk_queue_take(&queue, model, now), &c[2]);
	add(&queue, &c[2], 2001 * MIB, now);
	assert_ptr_equal(disk_queue_take(&queue, model, now + 500 * MS), &c[0]);
	/* Beyond the depth nothing is seen. */
	disk_queue_init(&queue, 2, 500 * MS);
	add(&queue, &c[0], 0, now);
	add(&queue, &c[1], 4000 * MIB, now);
	add(&queue, &c[2], 2001 * MIB, now);
	assert_ptr_not_equal(disk_queue_take(&queue, model, now), &c[2]);
	disk_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self_test_passes),
		cmocka_unit_test(test_self_test_of_an_array_passes),
		cmocka_unit_test(test_an_array_holds_each_byte_once),
		cmocka_unit_test(test_an_array_needs_whole_stripes),
		cmocka_unit_test(test_options_have_ranges),
		cmocka_unit_test(test_seek_curve),
		cmocka_unit_test(test_zones_slow_down_inwards),
		cmocka_unit_test(test_successor_comes_from_the_segment),
		cmocka_unit_test(test_full_segment_pauses_the_head),
		cmocka_unit_test(test_bytes_far_behind_are_gone),
		cmocka_unit_test(test_small_gap_is_read_through),
		cmocka_unit_test(test_segments_keep_several_streams),
		cmocka_unit_test(test_writes_join_and_spoil_segments),
		cmocka_unit_test(test_writes_may_take_longer),
		cmocka_unit_test(test_flash_takes_the_same_everywhere),
		cmocka_unit_test(test_depth_one_is_first_come_first_served),
		cmocka_unit_test(test_tagged_queue_takes_the_nearest_until_one_is_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
