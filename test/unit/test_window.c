/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Windows and how they are cut into chunks. */
#include "readahead/window.h"
#include "support.h"

static struct window_limits limits(uint64_t chunk, uint32_t streams)
{
	return (struct window_limits){
		.init = 8 * MIB, .max = 32 * MIB, .chunk = chunk, .streams = streams};
}

static void test_open_grow_shrink(void **state)
{
	struct window_limits l = limits(4 * MIB, 1);

	assert_int_equal(window_open(&l, 0), 8 * MIB); /* at once, without a ramp */
	assert_int_equal(window_open(&l, 2), 2 * MIB);
	assert_int_equal(window_open(&l, 60), 64 * KIB);
	assert_int_equal(window_grow(&l, 8 * MIB), 16 * MIB);
	assert_int_equal(window_grow(&l, 32 * MIB), 32 * MIB);
	assert_int_equal(window_shrink(&l, 8 * MIB), 4 * MIB);
	assert_int_equal(window_shrink(&l, 64 * KIB), 64 * KIB);
	assert_int_equal(window_shrink(&l, 0), 64 * KIB);
	l.init = 64 * MIB;
	assert_int_equal(window_open(&l, 0), 32 * MIB); /* never above the bound */
}

static void test_nothing_at_the_end_or_when_full(void **state)
{
	struct window_limits l = limits(MIB, 1);

	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, MIB, MIB), 0);
	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, 2 * MIB, MIB), 0);
	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, 0, 0), 0);
	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, 7 * MIB, 100 * MIB), MIB);
	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, 8 * MIB, 100 * MIB), 0);
	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, 8 * MIB - 64 * KIB, 100 * MIB), 0);
	l.chunk = 0; /* not known: nothing, and no division by it */
	assert_int_equal(window_next_chunk(&l, 8 * MIB, 0, 0, 100 * MIB), 0);
}

static void test_a_small_remainder_is_joined(void **state)
{
	struct window_limits l = limits(4 * MIB, 1);

	assert_int_equal(window_next_chunk(&l, 32 * MIB, 0, 0, 6 * MIB), 6 * MIB);
	assert_int_equal(window_next_chunk(&l, 32 * MIB, 0, 0, 6 * MIB + 1), 4 * MIB);
	assert_int_equal(window_next_chunk(&l, 32 * MIB, 0, 4 * MIB, 6 * MIB + 1), 2 * MIB + 1);
}

/* Equal streams end close together: the last chunk of a medium-sized file is a small one. */
static void test_competing_streams_end_with_a_small_chunk(void **state)
{
	struct window_limits l = limits(4 * MIB, 8);
	uint64_t from = 0, len = 0, size = 32 * MIB;

	while (from < size) {
		len = window_next_chunk(&l, 32 * MIB, from, from, size);
		assert_in_range(len, 1, 6 * MIB);
		from += len;
	}
	assert_in_range(len, MIB / 2, 2 * MIB);
}

/* Whatever the numbers: chunks tile the file exactly, are aligned, sized and within the window. */
static void test_chunks_tile_any_file(void **state)
{
	uint64_t seed = 11;

	for (int i = 0; i < 20000; i++) {
		struct window_limits l = limits((1 + random_below(&seed, 128)) * 64 * KIB,
						(uint32_t)random_below(&seed, 9));
		uint64_t size = random_below(&seed, 40 * MIB), from = 0;
		uint64_t window = (1 + random_below(&seed, 512)) * 64 * KIB;
		uint64_t most = l.chunk < window ? l.chunk : window;

		if (random_below(&seed, 2))
			from = random_below(&seed, size + 1);
		while (from < size) {
			uint64_t len = window_next_chunk(&l, window, from, from, size);

			assert_in_range(len, 1, most + most / 2 + 64 * KIB);
			from += len;
			assert_true(from <= size);
			if (len < l.chunk / 4 && from < size && l.streams <= 1)
				assert_true(window < l.chunk); /* crumbs cost a seek each */
		}
	}
}

static void test_the_window_holds(void **state)
{
	uint64_t seed = 12;

	for (int i = 0; i < 100000; i++) {
		struct window_limits l = limits((1 + random_below(&seed, 128)) * 64 * KIB,
						(uint32_t)random_below(&seed, 9));
		uint64_t size = random_below(&seed, 200 * MIB), window, read_to, from, len;

		window = (1 + random_below(&seed, 512)) * 64 * KIB;
		read_to = random_below(&seed, size + 1);
		from = read_to + random_below(&seed, 40 * MIB);
		len = window_next_chunk(&l, window, read_to, from, size);
		if (len && from > read_to)
			assert_true(from + len - read_to <= window ||
				    from + len - read_to <= len + 64 * KIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_grow_shrink),
		cmocka_unit_test(test_nothing_at_the_end_or_when_full),
		cmocka_unit_test(test_a_small_remainder_is_joined),
		cmocka_unit_test(test_competing_streams_end_with_a_small_chunk),
		cmocka_unit_test(test_chunks_tile_any_file),
		cmocka_unit_test(test_the_window_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
