/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whether data is in memory, asked both ways, of files with holes that nobody has read. */
#include "disk/residency.h"
#include "disk_host.h"

static const char *way;
static struct residency r;
static int fd;

/* 16 pages, of which the first eight and the twelfth are in the page cache. */
#define PAGES 16
static int start(void **state)
{
	char path[128];

	way = *state;
	assert_true(residency_start(way)); /* auto is mincore where there is no cachestat */
	host_make_dir();
	snprintf(path, sizeof(path), "%s/f", host_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGES * HOST_PAGE), 0);
	for (int i = 0; i < PAGES; i++)
		if (i < 8 || i == 11)
			assert_int_equal(pwrite(fd, "x", 1, (off_t)i * HOST_PAGE), 1);
	residency_init(&r);
	return 0;
}

static int stop(void **state)
{
	residency_fini(&r);
	close(fd);
	host_remove_dir();
	return 0;
}

static bool is(uint64_t offset, uint64_t len)
{
	return residency_of(&r, fd, PAGES * HOST_PAGE, offset, len);
}

static void test_ranges(void **state)
{
	assert_true(is(0, HOST_PAGE));
	assert_true(is(0, 8 * HOST_PAGE));
	assert_true(is(100, 10));
	assert_true(is(7 * HOST_PAGE + 1, HOST_PAGE - 1));
	assert_false(is(7 * HOST_PAGE + 1, HOST_PAGE));
	assert_false(is(0, 9 * HOST_PAGE));
	assert_false(is(8 * HOST_PAGE, 1));
	assert_true(is(11 * HOST_PAGE, HOST_PAGE));
	assert_false(is(10 * HOST_PAGE, 2 * HOST_PAGE));
}

static void test_the_end_of_the_file(void **state)
{
	assert_true(is(PAGES * HOST_PAGE, HOST_PAGE)); /* nothing to read there */
	assert_true(is(UINT64_MAX - 1, 100));
	assert_false(is(15 * HOST_PAGE, 100 * HOST_PAGE));
	assert_false(is(0, UINT64_MAX));
	assert_true(is(3 * HOST_PAGE, 0));
}

static void test_a_file_that_grows(void **state)
{
	uint64_t size = 40 * HOST_PAGE;

	assert_true(is(0, HOST_PAGE));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, "x", 1, 39 * HOST_PAGE), 1);
	assert_true(residency_of(&r, fd, size, 39 * HOST_PAGE, HOST_PAGE));
	assert_false(residency_of(&r, fd, size, 38 * HOST_PAGE, HOST_PAGE));
}

static void test_longer_than_a_span(void **state)
{
	uint64_t size = 9 * MIB;

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	for (uint64_t at = 0; at < 8 * MIB; at += HOST_PAGE)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)at), 1);
	assert_true(residency_of(&r, fd, size, 0, 8 * MIB));
	assert_false(residency_of(&r, fd, size, 0, 9 * MIB));
}

/* Whole files were mapped once: huge sparse ones left no address space to anybody else. */
static void test_of_a_huge_file_a_window_is_mapped(void **state)
{
	uint64_t size = UINT64_C(1) << 43, edge = 3 * RESIDENCY_WINDOW;
	void *map;

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	for (uint64_t at = edge - 2 * HOST_PAGE; at < edge + 2 * HOST_PAGE; at += HOST_PAGE)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)at), 1);
	assert_true(residency_of(&r, fd, size, edge - HOST_PAGE, HOST_PAGE));
	assert_true(r.map_len <= RESIDENCY_WINDOW);
	map = r.map;
	assert_true(residency_of(&r, fd, size, edge - 2 * HOST_PAGE, 2 * HOST_PAGE));
	assert_false(residency_of(&r, fd, size, edge - RESIDENCY_WINDOW, HOST_PAGE));
	assert_ptr_equal(r.map, map); /* a reader who goes on maps nothing */
	assert_true(residency_of(&r, fd, size, edge - 2 * HOST_PAGE, 4 * HOST_PAGE));
	assert_false(residency_of(&r, fd, size, edge - 2 * HOST_PAGE, 5 * HOST_PAGE));
	assert_false(residency_of(&r, fd, size, size - HOST_PAGE, HOST_PAGE));
	assert_true(r.map_len <= RESIDENCY_WINDOW);
}

static void test_unsure_is_no(void **state)
{
	struct residency other;

	residency_init(&other);
	assert_false(residency_of(&other, -1, MIB, 0, HOST_PAGE));
	residency_fini(&other);
}

static void test_names(void **state)
{
	assert_string_equal(residency_probe_nth(0), "auto");
	assert_string_equal(residency_probe_nth(2), "mincore");
	assert_null(residency_probe_nth(3));
	assert_true(residency_start("MinCore"));
	assert_true(residency_start("auto"));
}

int main(void)
{
#define BOTH(name)                                                                                 \
	{#name " (auto)", name, start, stop, (void *)"auto"},                                      \
	{                                                                                          \
#name " (mincore)", name, start, stop, (void *)"mincore"                           \
	}
	const struct CMUnitTest tests[] = {
		BOTH(test_ranges),
		BOTH(test_the_end_of_the_file),
		BOTH(test_a_file_that_grows),
		BOTH(test_longer_than_a_span),
		BOTH(test_of_a_huge_file_a_window_is_mapped),
		BOTH(test_unsure_is_no),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
